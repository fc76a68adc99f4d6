"""What PD008 says that vLLM replaces is replaced in the engine's own configuration; all else stays as written."""

from __future__ import annotations

import importlib.util
import shlex
from importlib import metadata
from typing import NamedTuple

import pytest
from whole import Refused, configure

from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.read import read_texts

pytestmark = pytest.mark.engine
if importlib.util.find_spec("vllm") is None:
    pytest.skip("vLLM is not installed", allow_module_level=True)

INSTALLED = metadata.version("vllm").partition("+")[0]


class Line(NamedTuple):
    """A command line, an attribute of the configuration, what was written for it, and what it is."""

    words: str
    attribute: str
    written: str
    becomes: str
    env: tuple[tuple[str, str], ...] = ()


_DUMP = '--compilation-config \'{"debug_dump_path": "/tmp/a"}\''
_MODE = "--compilation-config '{\"mode\": 3}'"
LINES = {
    "dump path": Line(
        _DUMP, "compilation_config.debug_dump_path", "/tmp/a", "/tmp/b", (("VLLM_DEBUG_DUMP_PATH", "/tmp/b"),)
    ),
    "dump path alone": Line(_DUMP, "compilation_config.debug_dump_path", "/tmp/a", "/tmp/a"),
    "mode with eager": Line(f"{_MODE} --enforce-eager", "compilation_config.mode", "VLLM_COMPILE", "NONE"),
    "size 2 beside the variable": Line(
        "--data-parallel-size 2", "parallel_config.data_parallel_size", "3", "2", (("VLLM_DP_SIZE", "3"),)
    ),
}  # fmt: skip


@pytest.mark.skipif(INSTALLED != "0.32.0", reason="tried with this release")
@pytest.mark.parametrize("name", LINES)
def test_the_engine_replaces_what_the_check_says(name: str) -> None:
    line = LINES[name]
    variables = "".join(f"export {key}={value}\n" for key, value in line.env)
    script = f"{variables}vllm serve m {line.words}\n"
    said = [f for f in check(read_texts({"serve.sh": script}, target=f"vllm=={INSTALLED}")) if f.code == "PD008"]
    found = configure(shlex.split(line.words), dict(line.env), [line.attribute])[line.attribute]
    assert found == line.becomes
    assert bool(said) == (line.written != line.becomes)


@pytest.mark.skipif(INSTALLED != "0.32.0", reason="tried with this release")
def test_the_variable_decides_where_the_flag_says_one() -> None:
    script = "export VLLM_DP_SIZE=2 VLLM_DP_RANK=1\nvllm serve m --data-parallel-size 1\n"
    said = [f for f in check(read_texts({"serve.sh": script}, target=f"vllm=={INSTALLED}")) if f.code == "PD008"]
    assert [finding.line for finding in said] == [2]
    with pytest.raises(Refused, match="Offline data parallel mode"):  # the tiny model is dense, and there are two ranks
        configure(["--data-parallel-size", "1"], {"VLLM_DP_SIZE": "2", "VLLM_DP_RANK": "1"})
