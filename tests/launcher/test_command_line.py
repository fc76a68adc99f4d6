"""A ``vllm serve`` command line: every form of a flag, the model anywhere, and JSON arguments as trees."""

from __future__ import annotations

from typing import Any

import pytest

from pd_launch.launcher.sources.engine.command_line import read_arguments
from pd_launch.launcher.sources.text.interpolate import GIVEN, expand
from pd_launch.schemas.core.flag_shapes import LISTS, SHORT, SWITCHES
from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.values import HOLE, Origin, SourceFile, Text, Unknown


def read(*words: str) -> NodeLaunch:
    texts = [Text.verbatim(SourceFile(f"word {i}", word), 0, len(word)) for i, word in enumerate(words)]
    node = NodeLaunch("command", Origin("f", 1, 1, 1, 1), "node")
    node_faults = read_arguments(expand(texts, GIVEN), node)
    assert not node_faults, node_faults
    return node


def arguments(*words: str) -> list[tuple[Any, ...]]:
    """Name and values of each argument; a bare flag has the name alone."""
    return [(arg.name, *(v.plain() for v in (arg.value, *arg.more) if v is not None)) for arg in read(*words).args]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--port", "8000"], [("port", "8000")]),
        (["--port=8000"], [("port", "8000")]),
        (["--host="], [("host", "")]),
        (["--max_num_seqs", "8"], [("max-num-seqs", "8")]),
        (["--max-num_seqs=8"], [("max-num-seqs", "8")]),
        (["-tp", "8"], [("tensor-parallel-size", "8")]),
        (["-tp=8"], [("tensor-parallel-size", "8")]),
        (["-tp8"], [("tensor-parallel-size", "8")]),
        (["-dpn", "3", "-dpa", "192.0.2.1"], [("data-parallel-rank", "3"), ("data-parallel-address", "192.0.2.1")]),
        (["-q", "ascend"], [("quantization", "ascend")]),
        (["-O3"], [("O", "3")]),
        (["-O.mode", "3"], [("O.mode", "3")]),
        (["--headless", "--port", "1"], [("headless",), ("port", "1")]),
        (["--no-enable-prefix-caching", "m"], [("no-enable-prefix-caching",)]),
        (["--trust-remote-code", "m"], [("trust-remote-code",)]),
        (["--seed", "-1"], [("seed", "-1")]),
        (["--x", "-1.5", "--y"], [("x", "-1.5"), ("y",)]),
        (["--served-model-name", "a", "b", "--port", "1"], [("served-model-name", "a", "b"), ("port", "1")]),
        (["--api-key", "a", "b"], [("api-key", "a", "b")]),
        (["--port", "1", "--port", "2"], [("port", "1"), ("port", "2")]),
        (["--url=http://a?b=c"], [("url", "http://a?b=c")]),
        (["--port", HOLE], [("port", Unknown("…"))]),
        (["--additional-config", '{"a": [1]}'], [("additional-config", {"a": [1]})]),
        (["--kv_transfer_config", '{"kv_port": 1}'], [("kv-transfer-config", {"kv_port": 1})]),
        (['--speculative-config={"n": 1}'], [("speculative-config", {"n": 1})]),
        (["-cc", '{"level": 3}'], [("compilation-config", {"level": 3})]),
        (["--kv-transfer-config", HOLE], [("kv-transfer-config", Unknown("…"))]),
        (["--kv-transfer-config", f'{{"kv_port": {HOLE}}}'], [("kv-transfer-config", {"kv_port": Unknown("…")})]),
        (["--additional-config", "path.json"], [("additional-config", "path.json")]),
    ],
)
def test_flags(words: list[str], expected: list[tuple[Any, ...]]) -> None:
    assert arguments(*words) == expected


@pytest.mark.parametrize(
    ("words", "tree"),
    [
        (["--kv-transfer-config.kv_role", "kv_both"], {"kv_role": "kv_both"}),
        (["--kv-transfer-config.kv_port=5"], {"kv_port": 5}),
        (["--kv_transfer_config.a.b", "true", "--kv-transfer-config.a.c", "x"], {"a": {"b": True, "c": "x"}}),
        (["--kv-transfer-config.a"], {"a": True}),
        (["--kv-transfer-config.a", '{"b": 1}'], {"a": {"b": 1}}),
        (
            ["--kv-transfer-config", '{"a": 1, "b": {"c": 2}}', "--kv-transfer-config.b.d", "3"],
            {"b": {"d": 3}},
        ),
        (["--kv-transfer-config.b.d", "3", "--kv-transfer-config", '{"a": 1}'], {"b": {"d": 3}}),
    ],
)
def test_dotted_flags_are_one_tree(words: list[str], tree: dict[str, Any]) -> None:
    node = read(*words)
    assert node.kv_transfer is not None and node.kv_transfer.plain() == tree
    assert node.named("kv-transfer-config")[-1].value is node.kv_transfer


@pytest.mark.parametrize(
    "words",
    [
        ["m", "--port", "1", "--headless"],
        ["--port", "1", "m", "--headless"],
        ["--port", "1", "--headless", "m"],
        ["--headless", "m", "--port=1"],
        ["--model", "m", "--port", "1", "--headless"],
    ],
)
def test_the_model_stands_anywhere(words: list[str]) -> None:
    node = read(*words)
    assert node.model is not None and node.model.plain() == "m"
    assert node.number("port", 0) == 1 and node.switch("headless") is True


def test_places_are_those_of_the_word() -> None:
    node = read("m", "--port=8000", "-tp8", "--kv-transfer-config", '{"kv_port": 1}')
    port, tensor, config = node.args
    assert port.origin == Origin("word 1", 1, 1, 1, 7) and port.value is not None
    assert port.value.origin == Origin("word 1", 1, 8, 1, 12)
    assert tensor.origin == Origin("word 2", 1, 1, 1, 4) and tensor.value is not None
    assert tensor.value.origin == Origin("word 2", 1, 4, 1, 5)
    assert config.value is not None and config.value.get("kv_port").origin == Origin("word 4", 1, 13, 1, 14)  # type: ignore[union-attr]


@pytest.mark.parametrize("switch", sorted(SWITCHES))
def test_switches_take_no_value(switch: str) -> None:
    for flag in (f"--{switch}", f"--no-{switch}", f"--{switch.replace('-', '_')}"):
        node = read(flag, "m")
        assert node.model is not None and node.model.plain() == "m", flag
    assert read(f"--{switch}").switch(switch) is True
    assert read(f"--{switch}", f"--no-{switch}").switch(switch) is False
    assert read(f"--{switch}=false").switch(switch) is False


@pytest.mark.parametrize("name", sorted(LISTS))
def test_lists_take_all_values(name: str) -> None:
    node = read(f"--{name}", "1", "2", "3", "--port", "5")
    arg = node.arg(name)
    assert arg is not None and [v.plain() for v in (arg.value, *arg.more) if v] == ["1", "2", "3"]
    assert node.model is None


@pytest.mark.parametrize(("short", "name"), sorted(SHORT.items()))
def test_short_names(short: str, name: str) -> None:
    assert read(short, "1").args[0].name == name
    assert name not in LISTS


def test_a_blank_word_is_a_fault() -> None:
    texts = [Text.verbatim(SourceFile("f", word), 0, len(word)) for word in ("m", " ", "--port", "1")]
    node = NodeLaunch("command", Origin("f", 1, 1, 1, 1), "node")
    faults = read_arguments(expand(texts, GIVEN), node)
    assert [f.kind for f in faults] == ["blank-word"]
    assert node.number("port", 0) == 1


def test_stray_words_are_kept() -> None:
    assert arguments("m", "n", "--port", "1") == [("", "n"), ("port", "1")]
