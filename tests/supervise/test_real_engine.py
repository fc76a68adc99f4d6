"""Two ranks on one node with vLLM's CPU build, started by pd-launch, and vLLM's own reading of our plans."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import psutil
import pytest

from tests.ports import free_ports
from tests.shared_memory import left_since, present
from tests.supervise.harness import ROOT

pytestmark = pytest.mark.engine
PATIENCE = 900  # two ranks share two cores, perhaps with others
PROFILE = """
version: 1
name: cpu-dp2
hardware: cpu
model: "builtin:tiny"
engine:
  served-model-name: tiny
  host: 127.0.0.1
  dtype: float32
  enforce-eager: true
  max-model-len: 512
  block-size: 32
  max-num-seqs: 4
  num-gpu-blocks-override: 24
  seed: 0
env:
  OMP_NUM_THREADS: 1
  VLLM_CPU_OMP_THREADS_BIND: nobind
  VLLM_CPU_KVCACHE_SPACE: 1
  HF_HUB_OFFLINE: 1
  VLLM_NO_USAGE_STATS: 1
  VLLM_HOST_IP: 127.0.0.1
decode:
  port: {port}
  rpc_port: {rpc}
  parallel: {{data: 2}}
  offload: {{per_rank: 16MiB}}
"""


def get(url: str, body: dict[str, object] | None = None) -> str:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return str(answer.read().decode())


def healthy(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        assert process.poll() is None, log.read_text()[-3000:]
        try:
            get(f"{url}/health")
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
        else:
            return
    raise AssertionError(log.read_text()[-3000:])


def end_session(leader: int) -> None:
    """Kill what is left of a session, also what has lost its parent."""
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == leader:
                process.kill()
        except (OSError, psutil.Error):
            continue


def test_two_ranks_on_one_node(tmp_path: Path) -> None:
    port = free_ports(2)
    path, log = tmp_path / "p.yaml", tmp_path / "log"
    path.write_text(PROFILE.format(port=port, rpc=port + 1))
    words = [sys.executable, "-m", "pd_launch", "decode", "--profile", str(path)]
    before = present()
    with log.open("wb") as out:
        process = subprocess.Popen(words, stdout=out, stderr=out, cwd=ROOT, start_new_session=True)
    try:
        url = f"http://127.0.0.1:{port}"
        healthy(url, process, log)
        bodies = [
            {"model": "tiny", "prompt": [5, 6, 7, rank], "max_tokens": 24, "ignore_eos": True} for rank in range(6)
        ]
        answers = [json.loads(get(f"{url}/v1/completions", {**body, "temperature": 0})) for body in bodies]
        assert all(answer["usage"]["completion_tokens"] == 24 for answer in answers)
        metrics = get(f"{url}/metrics")
        for engine in (0, 1):
            assert f'vllm:num_preemptions_total{{engine="{engine}"' in metrics, "both ranks are there"
        family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
        command = Path(f"/proc/{process.pid}/cmdline").read_bytes()
        assert b"pd_launch\0decode" not in command, "the engine took our place"
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0, log.read_text()[-3000:]
        _, alive = psutil.wait_procs(family, timeout=60)
        assert not alive
    finally:
        end_session(process.pid)  # a failure leaves nothing that goes on using the machine
    assert left_since(before) == set()


READ = """
import json, sys
from vllm.entrypoints.cli import serve
from vllm.utils.argparse_utils import FlexibleArgumentParser
for words in json.load(sys.stdin):
    args = serve.make_arg_parser(FlexibleArgumentParser()).parse_args(words)
    serve.validate_parsed_serve_args(args)
    print(args.data_parallel_size, args.data_parallel_rank, args.data_parallel_multi_port_external_lb, args.port)
"""


def test_vllm_accepts_the_planned_arguments() -> None:
    plans = sorted(Path(__file__).with_name("golden").glob("*.json"))
    words = [one["argv"][3:] for path in plans for one in json.loads(path.read_text())["processes"]]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", READ], input=json.dumps(words), capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr[-3000:]
    lines = [line.split() for line in done.stdout.splitlines() if line[:1].isdigit()]
    assert len(lines) == len(words)
    assert ["4", "None", "True", "8200"] in lines
    assert ["4", "3", "False", "8201"] in lines
