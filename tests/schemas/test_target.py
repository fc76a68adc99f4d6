"""Targets: every form, PEP 440, rows of the tables and what lies between them."""

from __future__ import annotations

import pytest

from pd_launch.schemas.core.pairing import ASCEND_PAIRS, VLLM_RELEASES
from pd_launch.schemas.core.target import TargetError, ascend_target, newest, parse_target, release

NEWEST = list(ASCEND_PAIRS)[-1]


@pytest.mark.parametrize(
    ("text", "ascend", "vllm"),
    [
        ("vllm-ascend==0.25.1rc1", "0.25.1rc1", "0.25.1"),
        ("vllm-ascend:0.25.1rc1", "0.25.1rc1", "0.25.1"),
        ("vllm-ascend@0.25.1rc1", "0.25.1rc1", "0.25.1"),
        ("vllm_ascend == 0.25.1rc1", "0.25.1rc1", "0.25.1"),
        ("VLLM-Ascend==v0.25.1rc1", "0.25.1rc1", "0.25.1"),
        ("0.23.0", "0.23.0", "0.23.0"),
        (" v0.23.0 ", "0.23.0", "0.23.0"),
        ("0.23.0.post1", "0.23.0.post1", "0.23.0"),
        ("0.23.0.post2", "0.23.0.post1", "0.23.0"),
        ("0.23.0.dev3", "0.23.0", "0.23.0"),
        ("0.24.0rc1.post3", "0.24.0rc1", "0.24.0"),
        ("0.30.0rc1", "0.30.0rc1", "0.30.0"),
        ("0.23.0+cann9", "0.23.0", "0.23.0"),
        ("0.23.0rc1", "0.23.0rc1", "0.23.0"),
        ("0.24.0.rc1", "0.24.0rc1", "0.24.0"),
        ("0.24.0c1", "0.24.0rc1", "0.24.0"),
        ("0.23.0rc1.dev5", "0.23.0rc1", "0.23.0"),
        ("vllm==0.32.0", None, "0.32.0"),
        ("vllm:0.27.1+cpu", None, "0.27.1"),
        ("vllm@0.27.1.dev7+g1234", None, "0.27.1"),
    ],
)
def test_exact_rows(text: str, ascend: str | None, vllm: str) -> None:
    target = parse_target(text)
    assert (target.vllm_ascend, target.vllm, target.asked) == (ascend, vllm, None)
    assert target.decided_by == "--target"
    assert target.is_ascend == (ascend is not None)


@pytest.mark.parametrize(
    ("text", "ascend", "vllm"),
    [
        ("vllm-ascend==0.24.5", "0.24.0rc1", "0.24.0"),
        ("0.25.1rc2", "0.25.1rc1", "0.25.1"),
        ("0.25.1", "0.25.1rc1", "0.25.1"),
        ("0.25.1rc0", "0.24.0rc1", "0.24.0"),
        ("0.17.0", "0.18.0", "0.18.0"),
        ("1.0", NEWEST, ASCEND_PAIRS[NEWEST]),
        ("0.28.0", "0.28.0rc1", "0.28.0"),
        ("vllm==0.27.3", None, "0.27.1"),
        ("vllm==9", None, VLLM_RELEASES[-1]),
        ("vllm==0.1", None, "0.18.0"),
    ],
)
def test_between_rows_the_older_counts_and_what_was_asked_is_kept(text: str, ascend: str | None, vllm: str) -> None:
    target = parse_target(text)
    assert (target.vllm_ascend, target.vllm) == (ascend, vllm)
    assert target.asked == text.rpartition("=")[2]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "latest",
        "vllm",
        "vllm==",
        "vllm-ascend==",
        "vllm>=0.27",
        "torch==2.0",
        "0.25.x",
        "vllm==0.27==1",
        "9" * 5000,
    ],
)
def test_nonsense(text: str) -> None:
    with pytest.raises(TargetError, match=r"is not a release: write for example vllm-ascend==0\.25\.1rc1"):
        parse_target(text)


def test_comparisons_follow_pep_440() -> None:
    target = ascend_target("0.25.1rc1", "profile")
    assert target.ascend_at_least("0.25.1rc1")
    assert target.ascend_at_least("0.24.0rc1")
    assert not target.ascend_at_least("0.25.1")
    assert target.vllm_at_least("0.25.1") and not target.vllm_at_least("0.26.0")
    stock = parse_target("vllm==0.32.0")
    assert not stock.ascend_at_least("0.18.0")


@pytest.mark.parametrize("rows", [list(ASCEND_PAIRS), VLLM_RELEASES])
def test_rows_are_in_order(rows: list[str]) -> None:
    assert [release(row) for row in rows] == sorted(release(row) for row in rows)


def test_newest_are_the_last_rows() -> None:
    assert str(newest(True)) == f"vllm-ascend {NEWEST}"
    assert str(newest(False)) == f"vLLM {VLLM_RELEASES[-1]}"
