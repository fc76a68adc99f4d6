"""A vllm and a vllm_ascend of a few lines, written as the real ones are, and the ways in which they lie on a disk."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

BOMB = "raise SystemExit('it was imported')\n"
"""What stands in every module that is read: nothing of a build is ever run."""

ARGS = """
from vllm.config import KVTransferConfig, ModelConfig, SchedulerConfig


def _compute_kwargs(cls):
    return {"max_num_batched_tokens", "kv_cache_memory_bytes"}


@dataclass
class EngineArgs:
    model: str = "x"
    max_num_seqs: int | None = None
    own_keyword: str = ""

    @staticmethod
    def add_cli_args(parser):
        scheduler_kwargs = get_kwargs(SchedulerConfig)
        group = parser.add_argument_group(title="SchedulerConfig")
        group.add_argument("--max-num-seqs", **scheduler_kwargs["max_num_seqs"])
        group.add_argument("--tensor-parallel-size", "-tp", type=int, default=1)
        group.add_argument("--kv-transfer-config", **get_kwargs(ModelConfig)["kv_transfer_config"])
        return parser


@dataclass
class AsyncEngineArgs(EngineArgs):
    pass
"""
SERVE = """
from vllm.engine.arg_utils import AsyncEngineArgs


class FrontendArgs:
    pass


def make_arg_parser(parser):
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--fork-flag", choices=["a", "b"], default="a")
    parser = AsyncEngineArgs.add_cli_args(parser)
    return parser
"""
CONFIG = """
@config
class KVTransferConfig:
    kv_connector: str | None = None
    kv_role: Literal["kv_producer", "kv_consumer", "kv_both"] | None = None


@config
class SchedulerConfig:
    max_num_seqs: int = Field(default=128, ge=1)


@config
class ModelConfig:
    kv_transfer_config: KVTransferConfig | None = None
"""
ENVS = """
environment_variables: dict[str, Callable[[], Any]] = {
    "VLLM_PORT": lambda: int(os.getenv("VLLM_PORT", "0")),
    "VLLM_FORK_SWITCH": lambda: bool(int(os.getenv("VLLM_FORK_SWITCH", "0"))),
}
"""
FACTORY = """
KVConnectorFactory.register_connector("ForkConnector", "vllm.distributed.fork", "ForkConnector")
"""
VLLM = {
    "vllm/__init__.py": BOMB,
    "vllm/_version.py": "__version__ = version = '0.32.0'\n",
    "vllm/engine/arg_utils.py": BOMB + ARGS,
    "vllm/entrypoints/cli/serve.py": "from vllm.entrypoints.args import make_arg_parser\n",
    "vllm/entrypoints/args.py": BOMB + SERVE,
    "vllm/entrypoints/llm.py": "class LLM:\n    def __init__(self, model, *, llm_keyword=None):\n        pass\n",
    "vllm/config/__init__.py": BOMB + CONFIG,
    "vllm/envs.py": BOMB + ENVS,
    "vllm/distributed/kv_transfer/kv_connector/factory.py": BOMB + FACTORY,
    "vllm/reasoning/__init__.py": BOMB + "_REASONING_PARSERS_TO_REGISTER = {'fork_r1': ('fork_parser', 'Parser')}\n",
    "vllm/tool_parsers/__init__.py": BOMB + "_TOOL_PARSERS_TO_REGISTER = {'hermes': ('hermes_parser', 'Parser')}\n",
    "vllm/v1/attention/backends/registry.py": BOMB + "class AttentionBackendEnum:\n    FORK_ATTN = 'x'\n",
    "vllm/distributed/fork.py": "class ForkConnector:\n    pass\n",
}
ASCEND = {
    "vllm_ascend/__init__.py": BOMB,
    "vllm_ascend/_version.py": "__version__ = version = '0.30.0rc2'\n",
    "vllm_ascend/ascend_config.py": (
        "class AscendConfig:\n    def __init__(self, c):\n"
        "        additional_config = c.additional_config\n"
        "        self.key = additional_config.get('fork_key', False)\n"
    ),
    "vllm_ascend/envs.py": "env_variables = {'VLLM_ASCEND_FORK': lambda: int(os.getenv('VLLM_ASCEND_FORK', '0'))}\n",
    "vllm_ascend/distributed/kv_transfer/__init__.py": (
        "KVConnectorFactory.register_connector('ForkAscendConnector', 'vllm_ascend.fork', 'ForkAscendConnector')\n"
    ),
}


def write(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below ``root``; return it."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return root


def wheel(path: Path, files: Mapping[str, str]) -> Path:
    """Write a wheel; return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def sdist(path: Path, files: Mapping[str, str]) -> Path:
    """Write a source package, with a folder of its own in it; return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(f"vllm-0.32.0/{name}")
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return path
