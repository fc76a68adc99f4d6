"""What a cap leaves out is said where it is met."""

from __future__ import annotations

import pytest

from pd_launch.launcher.check.ignores import MAX_COMMENTS
from pd_launch.launcher.check.listed import MOST as LISTED
from pd_launch.launcher.check.run import check
from pd_launch.launcher.logs.collect import MAX_EXCEPTIONS, MAX_LINE, Collector
from pd_launch.launcher.logs.story import MAX_EVENTS
from pd_launch.launcher.rules.pd0_reading.pd004_unknown_flag import MOST
from pd_launch.launcher.sources.read import read_texts


def found(text: str) -> list[tuple[str, int, str]]:
    return [(f.code, f.line, f.message) for f in check(read_texts({"a.sh": text}, target="vllm:0.32.0"))]


def test_unknown_flags_of_one_command() -> None:
    flags = "".join(f" \\\n  --fooo{i} 1" for i in range(MOST + 5))
    told = [(line, message) for code, line, message in found(f"vllm serve m{flags}\n") if code == "PD004"]
    assert len(told) == MOST + 1 and told[-1][0] == MOST + 2 and "are not listed" in told[-1][1]
    exact = "".join(f" --fooo{i} 1" for i in range(MOST))
    assert not any("are not listed" in message for _, _, message in found(f"vllm serve m{exact}\n"))


def test_ignore_comments_of_one_file() -> None:
    comments = "# pd-launch: ignore[PD004]\n" * (MAX_COMMENTS + 2) + "vllm serve m --fooo 1\n"
    assert [(code, line) for code, line, _ in found(comments)] == [("PD013", MAX_COMMENTS + 1)]


LINE = "ERROR 01-01 00:00:00 [x.py:1] "


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (LINE + "Engine core connector " + "x" * (MAX_LINE + 10) + "\n", "a longer line"),
        ("".join(f"{LINE}ValueError: cause {i}\n" for i in range(MAX_EXCEPTIONS + 2)), "different errors"),
    ],
)
def test_logs(log: str, said: str) -> None:
    collector = Collector()
    list(collector.feed(log.encode()))
    list(collector.close())
    assert said in " ".join(collector.not_kept())


def test_moments_of_a_request() -> None:
    collector = Collector()
    line = "INFO 01-01 00:00:00 [x.py:1] Created recompute offload state for request r\n"
    list(collector.feed((line * (MAX_EVENTS + 1)).encode()))
    assert "only the first" in " ".join(collector.not_kept())


def test_findings_of_one_rule_in_one_file() -> None:
    keys = ", ".join(f'"fooo{i}": 1' for i in range(LISTED + 50))
    findings = check(read_texts({"a.sh": f"vllm serve m --kv-transfer-config '{{{keys}}}'\n"}, target="vllm:0.32.0"))
    told = [finding for finding in findings if finding.code == "PD006"]
    assert len(told) == LISTED + 1
    last = max(told, key=lambda finding: finding.column)
    assert "are not listed" in last.message and last.help.startswith("50 more") and last.severity == "error"
