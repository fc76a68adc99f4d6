"""Switches that are paired: ``--disable-x`` turns ``--enable-x`` off from vLLM 0.33.0 on."""

from __future__ import annotations

import pytest

from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.read import read_texts
from pd_launch.schemas.core.switches import paired, switch_of


def codes(line: str, target: str) -> list[str]:
    return [f.code for f in check(read_texts({"a.sh": f"vllm serve /m {line}\n"}, target)) if f.severity != "info"]


@pytest.mark.parametrize(
    ("flag", "known"),
    [
        ("--disable-log-requests", True),
        ("--disable-prefix-caching", True),
        ("--enable-uvicorn-access-log", True),
        ("--disable_prefix_caching", True),
        ("--no-enable-prefix-caching", True),
        ("--no-disable-log-requests", False),
        ("--disable-max-model-len", False),
    ],
)
def test_the_opposite_of_a_switch(flag: str, known: bool) -> None:
    assert ("PD004" not in codes(flag, "vllm==0.33.0")) == known
    if not flag.startswith("--no-enable"):
        assert "PD004" in codes(flag, "vllm==0.32.0")


def test_it_takes_no_value_and_counts_as_given_twice() -> None:
    assert codes("--disable-log-requests --port 8001", "vllm==0.33.0") == []
    assert "PD005" in codes("--enable-prefix-caching --disable-prefix-caching", "vllm==0.33.0")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("--enable-prefix-caching", True),
        ("--disable-prefix-caching", False),
        ("--no-enable-prefix-caching", False),
        ("--disable-prefix-caching --enable-prefix-caching", True),
        ("", None),
    ],
)
def test_what_a_launch_says_of_a_switch(line: str, expected: bool | None) -> None:
    (deployment,) = read_texts({"a.sh": f"vllm serve /m {line}\n"}, "vllm==0.33.0")
    assert deployment.nodes[0].switch("enable-prefix-caching") is expected


@pytest.mark.parametrize("flag", ["disable-log-requests", "disable-prefix-caching"])
def test_the_opposite_is_never_proposed(flag: str) -> None:
    (found,) = check(read_texts({"a.sh": f"vllm serve /m --{flag}\n"}, "vllm==0.32.0"))
    assert found.code == "PD004" and found.fix is not None and not found.fix.safe
    assert [edit.text for edit in found.fix.edits] == [f"--no-{paired(flag)}"]
    python = f"from vllm import LLM\nLLM(model='m', {flag.replace('-', '_')}=True)\n"
    (found,) = [f for f in check(read_texts({"a.py": python}, "vllm==0.32.0")) if f.code == "PD004"]
    assert found.fix is None and "mean" not in found.help


def test_names() -> None:
    assert (paired("enable-x"), paired("disable-x"), paired("max-x")) == ("disable-x", "enable-x", None)
    assert switch_of("enable-prefix-caching") == ("enable-prefix-caching", True)
    assert (
        switch_of("disable-prefix-caching") == switch_of("no-enable-prefix-caching") == ("enable-prefix-caching", False)
    )
    assert switch_of("port") is None
