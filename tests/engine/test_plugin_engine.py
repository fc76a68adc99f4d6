"""The connector by its name alone, in a fresh environment that has pd-launch installed beside vLLM.

The engine's packages are seen through a path file; pd-launch is installed from a built wheel, as users have it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

if importlib.util.find_spec("vllm") is None:
    pytest.skip("needs the CPU build of vLLM", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts"))

from demo_engines import Engine, free_ports, wait_until_healthy  # noqa: E402

from pd_launch.schemas.engine.budget import OFFLOAD_NAMES  # noqa: E402
from tests.engine.harness import ENVIRONMENT, Mode, transfer_config  # noqa: E402
from tests.engine.harness import prompts as make_prompts  # noqa: E402
from tests.engine.models import model  # noqa: E402
from tests.engine.test_pair import complete, settled, token_ids  # noqa: E402

pytestmark = [pytest.mark.engine, pytest.mark.slow]
LEFT_OUT = shutil.ignore_patterns(".git", ".venv*", "build", "dist", "*.egg-info", "__pycache__", ".*_cache", "tests")
ASK = """
import sys
from vllm.plugins import load_general_plugins
load_general_plugins()
from vllm.distributed.kv_transfer.kv_connector.factory import KVConnectorFactory as factory
names = [name for name in sys.argv[1:] if name in factory._registry]
print("there:", *names, *(factory.get_connector_class_by_name(name).__module__ for name in names[:1]))
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment into which pd-launch was installed."""
    place = tmp_path_factory.mktemp("fresh")
    shutil.copytree(ROOT, place / "source", symlinks=True, ignore=LEFT_OUT)
    subprocess.run([sys.executable, "-m", "venv", place / "v"], check=True)
    fresh = place / "v" / "bin" / "python"
    (packages,) = (place / "v" / "lib").glob("python*/site-packages")
    folders = [folder for folder in sys.path if folder.endswith("site-packages") and not _is_of_pd_launch(folder)]
    (packages / "_engine.pth").write_text("".join(f"{folder}\n" for folder in folders))
    quiet = ["--disable-pip-version-check", "install", "-q", "--no-deps"]
    subprocess.run([fresh, "-m", "pip", *quiet, place / "source"], check=True, timeout=600)
    shutil.rmtree(place / "source")
    return fresh


def _is_of_pd_launch(folder: str) -> bool:
    return any(Path(folder).glob("pd_launch-*.dist-info"))


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VLLM_PLUGINS")}
    return kept | ENVIRONMENT | more


@pytest.mark.parametrize(
    ("more", "there"),
    [
        ({}, "there: RecomputeCPUOffloadConnector PreemptOffloadConnector pd_launch.connector.connector"),
        ({"VLLM_PLUGINS": "another,pd_launch"}, "there: RecomputeCPUOffloadConnector PreemptOffloadConnector pd_"),
        ({"VLLM_PLUGINS": "another"}, "there:\n"),
        ({"VLLM_PLUGINS": ""}, "there:\n"),
    ],
)
def test_the_names_are_there_unless_vllm_is_told_otherwise(
    more: dict[str, str], there: str, python: Path, tmp_path: Path
) -> None:
    run = [python, "-c", ASK, *OFFLOAD_NAMES]
    done = subprocess.run(run, env=environment(**more), cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert there in done.stdout, done.stdout + done.stderr


def test_beside_vllm_ascend_the_names_are_left_alone(python: Path, tmp_path: Path) -> None:
    (tmp_path / "vllm_ascend.py").write_text("raise SystemExit('nothing imports it')\n")
    run = [python, "-c", ASK, *OFFLOAD_NAMES]
    more = environment(PYTHONPATH=str(tmp_path), VLLM_PLUGINS="pd_launch")
    done = subprocess.run(run, env=more, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert "there:\n" in done.stdout, done.stdout + done.stderr


WORK = Mode(multi=True)


def by_name(config: Any) -> Any:
    """Return a configuration without module paths; the bystander, which nothing registers, is left out."""
    if isinstance(config, list):
        return [by_name(one) for one in config if one["kv_connector"] != "BystanderConnector"]
    if not isinstance(config, dict):
        return config
    return {key: by_name(value) for key, value in config.items() if key != "kv_connector_module_path"}


@pytest.fixture(scope="module")
def server(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Two API servers before one engine, which must preempt."""
    (port,) = free_ports(1)
    words = f"""serve {model(WORK.model)} --served-model-name cpu-tiny --host 127.0.0.1 --port {port}
        --api-server-count 2 --dtype float32 --enforce-eager --max-model-len 256 --block-size 32 --skip-tokenizer-init
        --num-gpu-blocks-override {WORK.blocks} --max-num-seqs {WORK.requests} --no-enable-prefix-caching""".split()
    command = [str(python), "-m", "vllm.entrypoints.cli.main", *words]
    command += ["--kv-transfer-config", json.dumps(by_name(transfer_config(WORK)))]
    more = {"VLLM_PLUGINS": "pd_launch", "VLLM_ENABLE_V1_MULTIPROCESSING": "1", "PYTHONPATH": ""}
    log = tmp_path_factory.mktemp("server") / "log"
    with Engine("one", command, environment(**more), port, log) as started:
        wait_until_healthy([started], lambda text: None)
        yield started


def test_two_api_servers_know_the_connector_by_its_name(server: Engine) -> None:
    work = [prompt["prompt_token_ids"] for prompt in make_prompts(WORK)]
    with ThreadPoolExecutor(len(work)) as pool:
        answers = list(pool.map(lambda prompt: token_ids(complete(server, prompt, WORK.output)), work))
    alone = [token_ids(complete(server, prompt, WORK.output)) for prompt in work]
    series = settled(server)
    assert answers == alone
    assert series["vllm:num_preemptions_total"] >= 3
    assert series["pd_launch:preempt_offload_parked_total"] >= 3
    assert series["pd_launch:preempt_offload_restored_total"] >= 3
    text = server.log.read_text(errors="replace")
    assert " ERROR " not in text and "is not registered" not in text
