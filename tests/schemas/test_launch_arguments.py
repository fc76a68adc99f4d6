"""The arguments of a launch: whatever is worked out from them holds after each change."""

from __future__ import annotations

import pytest

from pd_launch.launcher.sources.read import read_texts
from pd_launch.schemas.core.launch import Arg, NodeLaunch
from pd_launch.schemas.core.values import Node


def launched(script: str) -> NodeLaunch:
    return read_texts({"a.sh": script}, target="vllm==0.32.0")[0].nodes[0]


def test_engines_are_counted_anew_with_an_argument_more() -> None:
    node = launched("vllm serve m --data-parallel-size 4\n")
    assert node.local_engines == 4
    node.add(Arg("data-parallel-external-lb", "--data-parallel-external-lb", node.origin))
    assert node.local_engines == 1
    node.replace({"data-parallel-external-lb"}, [])
    assert node.local_engines == 4


def test_what_replaces_an_argument_comes_last() -> None:
    node = launched("vllm serve m --port 1 --max-num-seqs 2 --port 3\n")
    assert (node.number("port", 0), len(node.named("port"))) == (3, 2)
    node.replace({"port"}, [Arg("port", "--port", node.origin, Node("4", node.origin))])
    assert [(arg.name, arg.value.value) for arg in node.args if arg.value] == [("max-num-seqs", "2"), ("port", "4")]
    assert node.number("port", 0) == 4


def test_nothing_changes_the_arguments_behind_the_back_of_what_is_known_of_them() -> None:
    node = launched("vllm serve m --port 1\n")
    with pytest.raises(AttributeError):
        node.args.append(node.args[0])  # type: ignore[attr-defined]


def test_a_switch_of_an_unknown_value_is_unknown() -> None:
    python = "from vllm import LLM\nLLM('m', enable_prefix_caching=given(), enforce_eager=True)\n"
    node = read_texts({"a.py": python}, target="vllm==0.32.0")[0].nodes[0]
    assert node.switch("enable-prefix-caching") is None
    assert node.switch("enforce-eager") is True
