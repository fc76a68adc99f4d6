"""What a build's own files say is what counts for it; what they say in ways of their own is understood, or unknown."""

from __future__ import annotations

from pathlib import Path

import pytest

from pd_launch.launcher.builds import read_build, target_of
from pd_launch.launcher.check.run import run_checks
from pd_launch.launcher.sources.read import Inputs, read
from pd_launch.schemas.core.build import UnreadError
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.values import SourceFile
from pd_launch.schemas.finding import Finding
from pd_launch.schemas.releases.connectors import names, registered
from pd_launch.schemas.releases.vllm_tables import ascend_table, vllm_table
from tests.builds.tiny import ARGS, ASCEND, BOMB, ENVS, SERVE, VLLM, write


def target(root: Path, changes: dict[str, str] | None = None) -> Target:
    return target_of(read_build(write(root, {**VLLM, **(changes or {})})))


def found(text: str, of: Target) -> list[Finding]:
    inputs = Inputs([SourceFile("decode.sh", text)], target=of)
    return run_checks(read(inputs)).findings


def test_flags_fields_and_names_are_the_builds_own(tmp_path: Path) -> None:
    table = vllm_table(target(tmp_path))
    assert set(table.flags) == {"port", "fork-flag", "max-num-seqs", "tensor-parallel-size", "kv-transfer-config"}
    assert table.flags["fork-flag"].choices == ("a", "b") and table.flags["max-num-seqs"].bounds == (("ge", 1),)
    assert set(table.fields("KVTransferConfig")) == {"kv_connector", "kv_role"}
    assert set(table.names("env")) == {"VLLM_PORT", "VLLM_FORK_SWITCH"}
    assert set(table.names("keywords")) == {"own_keyword", "llm_keyword", "model"}
    assert table.release == "0.32.0" and table.exact and table.shown == f"0.32.0 ({tmp_path})"


def test_rules_speak_of_the_build(tmp_path: Path) -> None:
    of = target(tmp_path)
    findings = found("vllm serve /m --fork-flag b --port 8000 --gpu-memory-utilization 0.9\n", of)
    assert [f.message for f in findings if f.code == "PD004"] == [
        f"vLLM 0.32.0 ({tmp_path}) has no flag --gpu-memory-utilization"
    ]
    wrong = found("vllm serve /m --fork-flag c\n", of)
    assert any(f.code == "PD007" and "a" in f.help for f in wrong)


def test_variables_of_a_fork_are_no_slips(tmp_path: Path) -> None:
    of = target(tmp_path, {"vllm/envs.py": ENVS.replace("VLLM_FORK_SWITCH", "VLLM_PORTS")})
    text = "export VLLM_PORTS=1\nvllm serve /m\n"
    assert "PD701" not in {f.code for f in found(text, of)}
    assert "PD701" in {f.code for f in found(text, Target(None, "0.32.0", "--target"))}


def test_connectors_are_the_builds_own(tmp_path: Path) -> None:
    of = target(tmp_path, ASCEND)
    assert registered("ForkConnector", of) and registered("ForkAscendConnector", of)
    assert not registered("NixlConnector", of) and not registered("MooncakeConnectorV1", of)
    assert set(names(of)) == {"ForkConnector", "ForkAscendConnector"}


def test_keys_of_additional_config_are_the_builds_own(tmp_path: Path) -> None:
    table = ascend_table(target(tmp_path, ASCEND))
    assert table is not None and table.names("additional") == ["fork_key"] and not table.entry("facts", "strict")


HELPER = SERVE.replace("    parser = Async", "    _add_own(parser)\n    parser = Async").replace(
    "class FrontendArgs", 'def _add_own(parser):\n    parser.add_argument("--of-a-helper")\n\n\nclass FrontendArgs'
)
UPDATED = f"{ENVS}\nenvironment_variables['VLLM_LATER'] = lambda: 1\n_more = {{'VLLM_MORE': lambda: 1}}\n"
UPDATED += "environment_variables.update(_more)\n"


SPREAD = ENVS.replace("= {", "= {\n    **BASE,") + "BASE = {'VLLM_BASE': lambda: 1}\n"


@pytest.mark.parametrize(
    ("file", "text", "section", "name"),
    [
        ("vllm/entrypoints/args.py", HELPER, "flags", "of-a-helper"),
        ("vllm/envs.py", UPDATED, "env", "VLLM_LATER"),
        ("vllm/envs.py", UPDATED, "env", "VLLM_MORE"),
        ("vllm/envs.py", SPREAD, "env", "VLLM_BASE"),
    ],
)
def test_forks_add_in_ways_of_their_own(tmp_path: Path, file: str, text: str, section: str, name: str) -> None:
    assert vllm_table(target(tmp_path, {file: text})).entry(section, name) is not None


LOOP = "    for name in plugins():\n        parser.add_argument(name)\n"
UNREAD = {
    "flags": ("vllm/entrypoints/args.py", SERVE.replace('"--port"', "compute_name()")),
    "flags-loop": ("vllm/entrypoints/args.py", SERVE.replace("    parser = ", f"{LOOP}    parser = ")),
    "flags-lost": ("vllm/engine/arg_utils.py", ARGS.replace("max-num-seqs", "other")),
    "flags-syntax": ("vllm/engine/arg_utils.py", "def f(:\n"),
    "env": ("vllm/envs.py", "environment_variables = make()\n"),
    "env-syntax": ("vllm/envs.py", "x = (\n"),
    "env-spread": ("vllm/envs.py", ENVS.replace("= {", "= {\n    **made(),")),
    "connectors": ("vllm/distributed/kv_transfer/kv_connector/factory.py", BOMB),
}


@pytest.mark.parametrize("case", UNREAD)
def test_what_cannot_be_read_is_unknown_and_said(tmp_path: Path, case: str) -> None:
    file, text = UNREAD[case]
    section = case.partition("-")[0]
    build = read_build(write(tmp_path, {**VLLM, file: text}))
    assert build.unread and all(str(tmp_path) in line for line in build.unread)
    table = vllm_table(target_of(build))
    with pytest.raises(UnreadError):
        table.names(section)
    others = {"flags", "env", "connectors"} - {section}
    assert all(table.names(other) for other in others), "the rest is read"


def test_no_rule_speaks_of_what_is_unknown(tmp_path: Path) -> None:
    file, text = UNREAD["flags"]
    of = target(tmp_path, {file: text})
    assert not {"PD004", "PD007"} & {f.code for f in found("vllm serve /m --nonsense 3 --max-num-seqs x\n", of)}
    file, text = UNREAD["connectors"]
    of = target(tmp_path, {"vllm/entrypoints/args.py": SERVE, file: text})
    config = '\'{"kv_connector": "Nonsense", "kv_role": "kv_both"}\''
    assert "PD201" not in {f.code for f in found(f"vllm serve /m --kv-transfer-config {config}\n", of)}


def test_a_release_is_still_told_where_else_a_flag_is(tmp_path: Path) -> None:
    findings = found("vllm serve /m --calculate-kv-scales\n", target(tmp_path))
    assert any(f.code == "PD004" and "0.27.1" in f.help for f in findings)
