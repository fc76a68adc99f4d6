"""Words that follow from a number, and lists of names."""

from __future__ import annotations

from pathlib import Path

import pytest

from pd_launch.launcher.check.run import run_checks
from pd_launch.launcher.sources.read import Inputs, read
from pd_launch.schemas.core.msg import NOTHING, Msg
from pd_launch.schemas.core.values import SourceFile
from pd_launch.schemas.core.words import agreeing, joined, listed


@pytest.mark.parametrize(
    ("names", "en", "zh"),
    [([], "", ""), (["A"], "A", "A"), (["A", "B"], "A and B", "A、B"), (["A", "B", "C"], "A, B and C", "A、B、C")],
)
def test_names_are_listed(names: list[str], en: str, zh: str) -> None:
    assert listed(names) == Msg(en, zh)


def test_the_last_of_several_may_be_an_alternative() -> None:
    assert listed(["1", "2", "4"], "or") == Msg("1, 2 or 4", "1、2 或 4")


def test_remarks_are_joined() -> None:
    assert joined([Msg("a", "甲"), NOTHING, Msg("b", "乙")]) == Msg("a; b", "甲；乙")
    assert not joined([])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("export HCCL_IF_IP=192.0.2.1", "GLOO_SOCKET_IFNAME is not set"),
        ("export GLOO_SOCKET_IFNAME=eth0", "HCCL_IF_IP and HCCL_SOCKET_IFNAME are not set"),
        ("true", "GLOO_SOCKET_IFNAME, HCCL_IF_IP and HCCL_SOCKET_IFNAME are not set"),
    ],
)
def test_the_verb_agrees_with_what_is_missing(given: str, said: str) -> None:
    text = (
        f"{given}\nvllm serve m --data-parallel-size 4 --data-parallel-size-local 2 --data-parallel-address 192.0.2.1\n"
    )
    deployments = read(Inputs([SourceFile("a.sh", f"# pd-launch: target vllm-ascend==0.25.1rc1\n{text}")]))
    found = [finding.message for finding in run_checks(deployments).findings if finding.code == "PD703"]
    assert any(said in message for message in found), found


def test_words_that_agree() -> None:
    assert [agreeing(number, "is", "are") for number in (0, 1, 2)] == ["are", "is", "are"]


def test_no_count_is_written_with_a_plural_in_brackets() -> None:
    root = Path(__file__).parents[2]
    sources = [path for name in ("launcher", "schemas", "connector") for path in (root / name).rglob("*.py")]
    written = [path for path in sources if any(f"{word}(s)" in path.read_text() for word in ("rank", "engine", "file"))]
    assert not written
