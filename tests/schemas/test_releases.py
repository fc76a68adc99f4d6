"""The tables of the releases: complete, quick to load, and equal to what an installed vLLM says of itself."""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import time
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from pd_launch.schemas.core.flag_shapes import LISTS, SHORT, SWITCHES, VALUED
from pd_launch.schemas.core.pairing import ASCEND_COMPANIONS, ASCEND_PAIRS, VLLM_RELEASES
from pd_launch.schemas.core.switches import paired
from pd_launch.schemas.core.target import ascend_target, vllm_target
from pd_launch.schemas.engine.budget import OFFLOAD_NAMES
from pd_launch.schemas.releases import vllm_tables
from pd_launch.schemas.releases.connectors import ASCEND_CONNECTORS, VLLM_CONNECTORS
from pd_launch.schemas.releases.vllm_tables import Spec, Table, ascend_table, vllm_table

DATA = Path(vllm_tables.__file__).parent / "data"
# Words that depend on the machine or are made of others, which the reader leaves open.
OPEN_CHOICES = {"mm-processor-device", "collect-detailed-traces"}
KINDS = {
    "int": "int",
    "float": "float",
    "str": "str",
    "size": "human_readable_int",
    "length": "human_readable_int_or_auto",
    "json": ("loads", "_parse_type"),
    "json-or-text": "union_dict_and_str",
    "config": "parse_dataclass",
    "any": ("<lambda>", "type", "parse_reasoning_parser"),
    "word": "<lambda>",
}


def table(version: str) -> Table:
    return vllm_table(vllm_target(version, "--target"))


@pytest.mark.parametrize("version", VLLM_RELEASES)
def test_every_vllm_release_has_its_own_table(version: str) -> None:
    found = table(version)
    assert found.release == version
    assert version in found.file
    assert len(found.flags) > 200 and {"port", "max-num-seqs", "kv-transfer-config"} <= set(found.flags)
    assert {"kv_connector", "kv_role", "kv_port"} <= set(found.fields("KVTransferConfig"))
    assert "MultiConnector" in found.names("connectors")
    assert "VLLM_PORT" in found.names("env")


@pytest.mark.parametrize("version", list(ASCEND_PAIRS))
def test_every_ascend_release_has_a_table(version: str) -> None:
    found = ascend_table(ascend_target(version, "--target"))
    assert found is not None
    assert found.release == version and version in found.file
    assert "recompute_scheduler_enable" in found.names("additional")
    assert "MooncakeConnectorV1" in found.names("connectors")


@pytest.mark.parametrize(("project", "rows"), [("vllm", VLLM_RELEASES), ("vllm-ascend", list(ASCEND_PAIRS))])
def test_rows_are_the_releases_that_were_read(project: str, rows: list[str]) -> None:
    """A row without a table would be judged by another release's, and a table without a row by nobody."""
    assert list(json.loads((DATA / f"{project}.json").read_text(encoding="utf-8"))["releases"]) == rows


def test_every_companion_is_of_a_row() -> None:
    assert set(ASCEND_COMPANIONS) <= set(ASCEND_PAIRS)
    assert set(ASCEND_PAIRS.values()) <= set(VLLM_RELEASES)


@pytest.mark.parametrize("version", list(ASCEND_PAIRS))
def test_connectors_are_those_that_the_release_registers(version: str) -> None:
    target = ascend_target(version, "--target")
    found = ascend_table(target)
    assert found is not None
    registered = {name: found.entry("connectors", name) for name in found.names("connectors")}
    ours = {name: row for name, row in ASCEND_CONNECTORS.items() if row.exists(target)}
    assert set(registered) - set(VLLM_CONNECTORS) == set(ours) - set(VLLM_CONNECTORS)
    for name, row in ours.items():
        module = [path for path, since in row.modules if target.ascend_at_least(since)][-1]
        assert registered[name] == [module, row.class_name], name


@pytest.mark.parametrize("version", VLLM_RELEASES)
def test_stock_connectors_are_those_that_the_release_registers(version: str) -> None:
    target = vllm_target(version, "--target")
    assert set(table(version).names("connectors")) == {n for n, row in VLLM_CONNECTORS.items() if row.exists(target)}


def test_a_stock_target_has_no_ascend_table() -> None:
    assert ascend_table(vllm_target("0.32.0", "--target")) is None


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("swap-space", None, None),
        ("tensor-parallel-size", "0.18.0", VLLM_RELEASES[-1]),
        ("disable-frontend-multiprocessing", "0.18.0", "0.18.1"),
    ],
)
def test_releases_with_a_flag(name: str, first: str | None, last: str | None) -> None:
    releases = table("0.32.0").releases_with("flags", name)
    assert (releases[0] if releases else None, releases[-1] if releases else None) == (first, last)


@pytest.mark.parametrize(("version", "dropped"), [("0.31.0", False), ("0.32.0", True)], ids=["before", "from"])
def test_fields_that_were_dropped(version: str, dropped: bool) -> None:
    fields = table(version).fields("KVTransferConfig")
    for name in ("kv_ip", "kv_rank", "kv_parallel_size", "kv_buffer_size"):
        assert (name not in fields) is dropped, name


def test_specs() -> None:
    flags = table("0.32.0").flags
    tensor = flags["tensor-parallel-size"]
    assert (tensor.kind, tensor.bounds, tensor.default, tensor.also) == ("int", (("ge", 1),), 1, ("-tp",))
    assert flags["kv-transfer-config"] == Spec("config", optional=True, config="KVTransferConfig")
    assert flags["device-memory-utilization"] is flags["gpu-memory-utilization"]
    assert flags["max-model-len"].kind == "length" and flags["max-num-batched-tokens"].kind == "size"
    assert not flags["headless"].takes_value and flags["served-model-name"].values == "+"
    policy = table("0.32.0").fields("KVTransferConfig")["kv_load_failure_policy"]
    assert (policy.kind, policy.choices, policy.default) == ("literal", ("recompute", "fail"), "fail")


def test_strict_options_and_the_renamed_connector_come_with_their_releases() -> None:
    strict = {
        version: found.entry("facts", "strict")
        for version in ("0.26.0rc1", "0.27.1rc1", "0.28.0rc1")
        if (found := ascend_table(ascend_target(version, "--target")))
    }
    assert strict == {"0.26.0rc1": False, "0.27.1rc1": True, "0.28.0rc1": True}
    names = {
        version: set(found.names("connectors")) & {"RecomputeCPUOffloadConnector", "PreemptOffloadConnector"}
        for version in ("0.22.1rc1", "0.27.1rc1", "0.28.0rc1")
        if (found := ascend_table(ascend_target(version, "--target")))
    }
    assert names == {
        "0.22.1rc1": set(),
        "0.27.1rc1": {"RecomputeCPUOffloadConnector"},
        "0.28.0rc1": {"PreemptOffloadConnector"},
    }


def test_flag_shapes_follow_from_the_tables() -> None:
    kinds: dict[str, set[str]] = {}
    for version in VLLM_RELEASES:
        for name, spec in table(version).flags.items():
            values = "none" if not spec.takes_value else "one" if spec.values in (None, "?") else "many"
            kinds.setdefault(name, set()).add(values)
            assert all(SHORT[short] in table(version).flags for short in spec.also if short.startswith("-"))
    assert {name for name, found in kinds.items() if found == {"none"}} == SWITCHES
    assert {name for name, found in kinds.items() if "one" in found} == VALUED
    assert {name for name, found in kinds.items() if "many" in found} - VALUED == LISTS


def test_data_is_small_and_loads_quickly() -> None:
    files = sorted(DATA.glob("*.json"))
    assert [file.name for file in files] == ["vllm-ascend.json", "vllm.json"]
    assert sum(file.stat().st_size for file in files) < 300_000
    times = []
    for _ in range(5):
        start = time.perf_counter()
        found = Table(json.loads((DATA / "vllm.json").read_text(encoding="utf-8")), "0.27.1")
        assert found.flags
        times.append(time.perf_counter() - start)
    assert min(times) < 0.02, times  # 2 ms on an idle machine; the bound leaves room for a busy one


def test_data_names_its_source_and_no_place() -> None:
    for file in DATA.glob("*.json"):
        data = json.loads(file.read_text(encoding="utf-8"))
        assert data["format"] == 2
        for version, entry in data["releases"].items():
            assert version in entry["file"] and entry["file"].endswith((".whl", ".tar.gz"))
            assert re.fullmatch(r"\d{4}-\d\d-\d\d", entry["read"])


# With the real engine: the installed release against its table.


@pytest.fixture(scope="module")
def installed() -> Table:
    version = metadata.version("vllm").partition("+")[0]
    found = table(version)
    assert found.release == version, f"no table for the installed vLLM {version}: run scripts/read_release.py"
    return found


@pytest.fixture(scope="module")
def actions() -> dict[str, argparse.Action]:
    from vllm.entrypoints.cli import serve  # the module that makes the parser has moved three times
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    parser: Any = serve.make_arg_parser(FlexibleArgumentParser())
    return {name: action for name, action in parser._option_string_actions.items() if action.dest != "help"}


@pytest.mark.engine
def test_the_parser_has_the_same_names(installed: Table, actions: dict[str, argparse.Action]) -> None:
    flags = installed.flags
    ours = {f"--{name}" for name in flags} | set(installed.shorts)
    switches = [name for name, spec in flags.items() if spec.kind == "bool"]
    ours |= {f"--no-{name}" for name in switches}
    if installed.pairs_switches:
        ours |= {f"--{other}" for other in map(paired, switches) if other is not None}
    assert ours == set(actions)


@pytest.mark.engine
def test_the_parser_reads_values_alike(installed: Table, actions: dict[str, argparse.Action]) -> None:
    wrong = []
    for name, spec in installed.flags.items():
        action = actions[f"--{name}"]
        assert all(actions[other if other.startswith("-") else f"--{other}"] is action for other in spec.also), name
        values = spec.values if spec.takes_value else 0
        choices = list(action.choices) if action.choices is not None else None
        if values != action.nargs:
            wrong.append((name, "values", values, action.nargs))
        if (list(spec.choices) or None) != choices and name not in OPEN_CHOICES:
            wrong.append((name, "choices", spec.choices, choices))
        if spec.takes_value and not _same_kind(spec, action):
            wrong.append((name, "kind", spec.kind, action.type))
        if spec.default is not None and spec.default != action.default and list(spec.default) != list(action.default):
            wrong.append((name, "default", spec.default, action.default))
    assert not wrong


def _same_kind(spec: Spec, action: argparse.Action) -> bool:
    name = getattr(action.type, "__name__", None)
    if spec.optional:
        return name == "_optional_type"
    expected = KINDS[spec.kind]
    return name is None if action.type is None else name in ((expected,) if isinstance(expected, str) else expected)


@pytest.mark.engine
@pytest.mark.parametrize("config", ["KVTransferConfig", "ParallelConfig", "SchedulerConfig", "CacheConfig"])
def test_config_classes_have_the_same_fields(installed: Table, config: str) -> None:
    import vllm.config

    theirs = {entry.name: entry for entry in dataclasses.fields(getattr(vllm.config, config))}
    ours = installed.fields(config)
    assert set(ours) - {name for name in ours if name not in theirs} == set(theirs)
    for name, spec in ours.items():
        if spec.default is not None and theirs[name].default is not dataclasses.MISSING:
            default = getattr(theirs[name].default, "default", theirs[name].default)
            made = getattr(theirs[name].default, "default_factory", None)
            assert (made() if made else default) == spec.default, name


@pytest.mark.engine
def test_the_factory_has_the_same_connectors(installed: Table) -> None:
    from vllm.distributed.kv_transfer.kv_connector.factory import KVConnectorFactory

    known = set(installed.names("connectors"))
    ours = set(OFFLOAD_NAMES) - known  # registered by the plugin, if an engine ran in this process before
    assert known == set(KVConnectorFactory._registry) - ours


@pytest.mark.engine
def test_the_same_environment_variables(installed: Table) -> None:
    from vllm import envs

    assert set(installed.names("env")) == set(envs.environment_variables)
