"""Runs pd-launch with a stand-in for vllm, and looks for what it leaves behind."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[2]
STUB = Path(__file__).with_name("stub_engine.py")
PATIENCE = 120.0
"""Seconds after which a machine is not merely busy."""


def wait_for(what: Callable[[], Any], why: str, seconds: float = PATIENCE) -> Any:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = what()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"{why}: not within {seconds} s")


@dataclass
class Bench:
    """A folder with a Python beside which the stand-in lies as ``vllm``, and with what the engines write."""

    folder: Path
    env: dict[str, str] = field(default_factory=dict)
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        programs = self.folder / "bin"
        programs.mkdir()
        self.log.mkdir()
        (programs / "python").symlink_to(Path(sys.executable).resolve())
        (programs / "vllm").write_text(f"#!{programs / 'python'} -S\n" + STUB.read_text())
        (programs / "vllm").chmod(0o755)

    @property
    def log(self) -> Path:
        return self.folder / "log"

    def environment(self, **more: str) -> dict[str, str]:
        paths = [str(ROOT), *(path for path in sys.path if path)]
        base = {name: os.environ[name] for name in ("HOME", "PATH", "TMPDIR") if name in os.environ}
        return {**base, "PYTHONPATH": os.pathsep.join(paths), "LANG": "C.UTF-8", "STUB_LOG": str(self.log), **more}

    def command(self, *words: str) -> list[str]:
        return [str(self.folder / "bin/python"), "-m", "pd_launch", *words]

    def start(self, *words: str, stdout: Any = None, stderr: Any = None, **env: str) -> subprocess.Popen[bytes]:
        """Start a launch; its output goes to files unless said otherwise."""
        out = (self.folder / "out").open("wb") if stdout is None else stdout
        err = (self.folder / "err").open("wb") if stderr is None else stderr
        process = subprocess.Popen(
            self.command(*words), stdout=out, stderr=err, stdin=subprocess.DEVNULL, env=self.environment(**env)
        )
        self.running.append(process)
        return process

    def run(self, *words: str, **env: str) -> int:
        return self.start(*words, **env).wait(PATIENCE)

    @property
    def out(self) -> str:
        return (self.folder / "out").read_text()

    @property
    def err(self) -> str:
        return (self.folder / "err").read_text()

    def given(self, rank: int) -> dict[str, Any]:
        """What the engine of ``rank`` was started with."""
        path = self.log / f"rank{rank}.json"
        wait_for(path.exists, f"rank {rank} starts\n{self.err}")
        found: dict[str, Any] = json.loads(path.read_text())
        return found

    def until_ready(self, count: int) -> None:
        said = "the engine is ready" if count == 1 else f"all {count} engines are ready"
        wait_for(lambda: said in self.err, f"readiness\n{self.err}")

    def pids(self) -> list[int]:
        return [int(path.stem) for path in self.log.glob("*.pid")]

    def left(self) -> list[int]:
        """Return which engines, or children of engines, still live."""
        return [pid for pid in self.pids() if psutil.pid_exists(pid) and not zombie(pid)]

    def assert_nothing_left(self, seconds: float = PATIENCE) -> None:
        assert self.pids()
        wait_for(lambda: not self.left(), f"processes {self.left()} are left\n{self.err}", seconds)

    def close(self) -> None:
        for process in self.running:
            if process.poll() is None:
                process.kill()
                process.wait()
        for pid in self.left():
            psutil.Process(pid).kill()

    def keeper(self, process: subprocess.Popen[bytes]) -> psutil.Process:
        """The process between the one that was started and the engines."""
        return psutil.Process(process.pid).children()[0]


def zombie(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.Error:
        return True


def positions(text: str, *patterns: str) -> list[int]:
    """Return where each pattern stands in ``text``; all must be there."""
    found = []
    for pattern in patterns:
        match = re.search(pattern, text)
        assert match, (pattern, text)
        found.append(match.start())
    return found
