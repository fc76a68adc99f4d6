"""The tables of environment variables and known faults: consistent, and right where a release was read by hand."""

from __future__ import annotations

import re
from urllib.parse import urlparse

import pytest

from pd_launch.launcher.rules.variables import edit_distance, nearest_name
from pd_launch.schemas.core.pairing import ASCEND_PAIRS, VLLM_RELEASES
from pd_launch.schemas.core.target import parse_target, release
from pd_launch.schemas.releases.environment import ASCEND, INSTEAD, known_names, removed, variable
from pd_launch.schemas.releases.known_issues import KNOWN_ISSUES

KINDS = {"", "flag", "int", "float", "port", "true", "one", "seed", "devices", "json"}


@pytest.mark.parametrize("target", [*ASCEND_PAIRS, *(f"vllm=={row}" for row in VLLM_RELEASES)])
def test_every_name_can_be_asked_of_every_release(target: str) -> None:
    wanted = parse_target(target)
    for name in known_names():
        found = variable(name, wanted)
        assert found is None or found.kind in KINDS, name
        assert removed(name, wanted) in (True, False)


def test_what_takes_a_variables_place_is_said_only_of_known_names() -> None:
    assert set(INSTEAD) <= known_names() and set(ASCEND) <= known_names()


@pytest.mark.parametrize(
    ("name", "target", "gone"),
    [
        ("VLLM_ASCEND_FUSION_OP_TRANSPOSE_KV_CACHE_BY_BLOCK", "0.26.0rc1", False),
        ("VLLM_ASCEND_FUSION_OP_TRANSPOSE_KV_CACHE_BY_BLOCK", "0.28.0rc1", True),
        ("VLLM_ASCEND_ENABLE_CONTEXT_PARALLEL", "0.20.2rc1", False),
        ("VLLM_ASCEND_ENABLE_CONTEXT_PARALLEL", "0.21.0rc1", True),
        ("VLLM_RPC_TIMEOUT", "vllm==0.18.0", False),
        ("VLLM_RPC_TIMEOUT", "vllm==0.32.0", True),
        ("VLLM_USE_V1", "0.23.0", True),
        ("VLLM_MOONCAKE_CONNECTOR_TIMEOUT", "vllm==0.18.0", False),
        ("HCCL_BUFFSIZE", "0.28.0rc1", False),
    ],
)
def test_what_a_release_no_longer_reads(name: str, target: str, gone: bool) -> None:
    assert removed(name, parse_target(target)) is gone


@pytest.mark.parametrize(("target", "choices"), [("0.23.0", ("0", "1", "2")), ("0.24.0rc1", ("0", "1"))])
def test_modes_of_fused_mc2(target: str, choices: tuple[str, ...]) -> None:
    found = variable("VLLM_ASCEND_ENABLE_FUSED_MC2", parse_target(target))
    assert found is not None and found.choices == choices


def test_right_names_are_hardly_ever_slips_of_each_other() -> None:
    names = known_names()
    near = [name for name in names if nearest_name(name, names - {name})]
    assert len(near) <= len(names) // 50, near


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [("ENABLE", "ENBALE", 1), ("SIZE", "SIDE", 1), ("", "abc", 3), ("a", "a", 0), ("CONF", "CONFIG", 2)],
)
def test_edit_distance(one: str, other: str, distance: int) -> None:
    assert edit_distance(one, other) == edit_distance(other, one) == distance


@pytest.mark.parametrize("issue", KNOWN_ISSUES, ids=lambda issue: issue.link.rpartition("/")[2])
def test_a_known_fault_names_releases_link_and_date(issue: object) -> None:
    row = KNOWN_ISSUES[KNOWN_ISSUES.index(issue)]  # type: ignore[arg-type]
    rows = VLLM_RELEASES if row.of == "vllm" else list(ASCEND_PAIRS)
    assert row.first in rows and row.last in rows and release(row.first) <= release(row.last)
    assert re.fullmatch(r"20\d\d-\d\d(-\d\d)?", row.date)
    assert urlparse(row.link).netloc == "github.com"
    prefix = "" if row.of == "vllm-ascend" else "vllm=="
    later = "vllm==0.31.0" if release(row.last) < release("0.31.0") else "vllm==0.33.0"
    assert row.hits(parse_target(prefix + row.first)) and not row.hits(parse_target(later))
