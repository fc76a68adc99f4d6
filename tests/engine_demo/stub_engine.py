"""Stands for ``python -m pd_launch`` in the demo's tests: an HTTP server that answers as an engine would, or fails.

What it plays is named by the variable STUB: ``dies`` (the decode engine ends at start), ``refuses`` (the decode engine
answers 500), ``stays`` (ignores SIGTERM and has a child that does), ``recomputes``, ``differs``, ``calm`` (few
preemptions), ``leaks`` (one parked request is never restored).
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

PLAYED = os.environ.get("STUB", "").split(",")
OURS = "pd_launch.connector"
NIXL = {"kv_connector": "NixlConnector", "kv_role": "kv_consumer"}
CONFIG = {
    "kv_connector": "MultiConnector",
    "kv_role": "kv_consumer",
    "kv_connector_extra_config": {
        "connectors": [
            NIXL,
            {
                "kv_connector": "RecomputeCPUOffloadConnector",
                "kv_connector_module_path": OURS,
                "kv_role": "kv_consumer",
            },
        ]
    },
}
LOCK = threading.Lock()
served = 0


class Handler(http.server.BaseHTTPRequestHandler):
    side: str
    modules: list[str]
    counter: pathlib.Path | None

    def log_message(self, *args: object) -> None:
        pass

    def reply(self, text: str, status: int = 200) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(text.encode())

    def do_GET(self) -> None:
        if self.path == "/health":
            self.reply("")
            return
        offload = any(module != "bench.step_counter" for module in self.modules)
        preempted = 2 if "calm" in PLAYED else 5
        restored = preempted - ("leaks" in PLAYED)
        lines = [f'vllm:num_preemptions_total{{engine="0",model_name="a b"}} {preempted}.0']
        if offload:
            lines += [
                f'pd_launch:preempt_offload_parked_total{{engine="0"}} {preempted}.0',
                f'pd_launch:preempt_offload_restored_total{{engine="0"}} {restored}.0',
                'pd_launch:preempt_offload_saved_bytes_total{engine="0"} 1.048576e+06',
                'pd_launch:preempt_offload_restored_bytes_total{engine="0"} 1.048576e+06',
                'pd_launch:preempt_offload_fallback_total{engine="0",reason="pool_full"} 0.0',
            ]
        self.reply("# HELP nothing\n" + "\n".join(lines) + "\n")

    def do_POST(self) -> None:
        global served
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.side == "decode" and "refuses" in PLAYED:
            self.reply("no KV", 500)
            return
        tokens = [(body["prompt"][0] + i) % 512 for i in range(body["max_tokens"])]
        with LOCK:
            served += 1
            wrong = "bench.reversed_restore" in self.modules or "differs" in PLAYED
            if self.side == "decode" and wrong and served > 1 and "blind" not in PLAYED:
                tokens[-1] += 1
            self.count(len(tokens))
        answer = {"choices": [{"token_ids": tokens}]}
        if self.side == "prefill" and "kv_transfer_params" in body:
            answer["kv_transfer_params"] = {"remote_port": 1}
        self.reply(json.dumps(answer))

    def count(self, tokens: int) -> None:
        if self.counter is None:
            return
        computed_again = OURS not in self.modules or "recomputes" in PLAYED
        extra = 100 if served > 1 and computed_again else 0
        total = json.loads(self.counter.read_text())["scheduled_tokens"] if self.counter.exists() else 0
        self.counter.write_text(
            json.dumps({"scheduled_tokens": total + tokens + extra, "preemption_seconds": extra / 1000})
        )


def main() -> None:
    side, *words = sys.argv[1:]
    if "--dry-run" in words:
        print(json.dumps({"kv_transfer_config": CONFIG}))
        return
    settings = dict(word.split("=") for word in words if word.startswith(f"{side}.port="))
    Handler.side, Handler.modules, Handler.counter = side, [], None
    if "--kv-transfer-config" in words:
        config = json.loads(words[words.index("--kv-transfer-config") + 1])
        children = config["kv_connector_extra_config"]["connectors"]
        Handler.modules = [c["kv_connector_module_path"] for c in children if "kv_connector_module_path" in c]
        Handler.counter = pathlib.Path(children[-1]["kv_connector_extra_config"]["file"])
        Handler.counter.write_text(json.dumps({"scheduled_tokens": 0, "preemption_seconds": 0.0}))
    if side == "decode" and "dies" in PLAYED:
        sys.exit("no such model: the last line of the log")
    if "stays" in PLAYED:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        subprocess.Popen([sys.executable, "-c", f"import time; time.sleep(300)  # child of {__file__}"])
    port = int(settings[f"{side}.port"])
    # All requests come at once: one that finds the queue full (of five, as a rule) is sent again after a second.
    http.server.ThreadingHTTPServer.request_queue_size = 64
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    print("up", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
