"""Stands for ``vllm``: answers /health on its --port, or does what STUB names (for the rank in STUB_RANK, or for all).

``exit:N`` ends at once with N, ``later:N`` once it has answered and both ranks run, ``dies`` kills itself then,
``deaf`` ignores TERM and INT, ``child`` has a child in a session of its own that ignores everything and keeps our
output open, ``orphan`` leaves such a child behind and ends, ``shm`` holds a segment of shared memory, ``loud`` writes
without end, ``slow`` needs a second to end, ``status:N`` ends with N on TERM, ``bar`` draws a progress bar, ``quiet``
serves nothing.
STUB_LOG names a folder where each engine writes what it was given; every process writes its pid there.
"""

from __future__ import annotations

import http.server
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
from multiprocessing import shared_memory

LOG = pathlib.Path(os.environ["STUB_LOG"])
WORDS = sys.argv[1:]
SLEEPER = (
    "import os, signal, sys, time, pathlib\n"
    "for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(s, signal.SIG_IGN)\n"
    "pathlib.Path(sys.argv[1], f'{os.getpid()}.pid').write_text('child')\n"
    "time.sleep(600)\n"
)


def option(name: str, default: str = "") -> str:
    return WORDS[WORDS.index(name) + 1] if name in WORDS else default


RANK = option("--data-parallel-rank", option("--data-parallel-start-rank", "0"))
played = dict.fromkeys(os.environ.get("STUB", "").split(","), "")
if os.environ.get("STUB_RANK", RANK) != RANK:
    played = {}
played = {word.partition(":")[0]: word.partition(":")[2] for word in played}


class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/health" else 404)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def say(text: str) -> None:
    os.write(1, f"{text}\n".encode())


def on_signal(number: int, _: object) -> None:
    say(f"rank {RANK} got {signal.Signals(number).name}")
    if "deaf" in played:
        return
    if "slow" in played:
        time.sleep(1)
    os._exit(int(played["status"]) if "status" in played else 0)


def spawn_child() -> None:
    child = subprocess.Popen([sys.executable, "-c", SLEEPER, str(LOG)], start_new_session=True)
    while not (LOG / f"{child.pid}.pid").exists():
        time.sleep(0.01)


def until_others_run() -> None:
    """Wait for the other rank where one is played: on a busy machine its Python may not have begun after a second."""
    while "STUB_RANK" in os.environ and len(list(LOG.glob("rank*.json"))) < 2:
        time.sleep(0.01)


def serve(port: int) -> None:
    http.server.ThreadingHTTPServer(("127.0.0.1", port), Health).serve_forever()


def main() -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, on_signal)
    signal.signal(signal.SIGUSR1, lambda *_: say("ping"))
    pid = os.getpid()
    (LOG / f"{pid}.pid").write_text("engine")
    given = {"argv": WORDS, "env": dict(os.environ), "pid": pid, "group": os.getpgid(0), "ppid": os.getppid()}
    (LOG / f"rank{RANK}.tmp").write_text(json.dumps(given))
    (LOG / f"rank{RANK}.tmp").rename(LOG / f"rank{RANK}.json")
    say(f"hello from rank {RANK}")
    os.write(2, f"warning from rank {RANK}\n".encode())
    if "bar" in played:
        os.write(2, b"10%\r20%\r\n" + b"x" * 200_000 + b"\nno newline")
        os._exit(0)
    if "child" in played or "orphan" in played:
        spawn_child()
    if "shm" in played:
        held = shared_memory.SharedMemory(create=True, size=4096)
        (LOG / "segment").write_text(held.name)
    if "exit" in played:
        os._exit(int(played["exit"]))
    if "orphan" in played:
        os._exit(0)
    if "--headless" not in WORDS and "quiet" not in played:
        threading.Thread(target=serve, args=(int(option("--port", "8000")),), daemon=True).start()
    if "loud" in played:
        while True:
            say("x" * 4000)
    if "later" in played:
        until_others_run()
        time.sleep(0.7)
        os._exit(int(played["later"]))
    if "dies" in played:
        until_others_run()
        time.sleep(0.5)
        os.kill(pid, signal.SIGKILL)
    while True:
        time.sleep(60)


main()
