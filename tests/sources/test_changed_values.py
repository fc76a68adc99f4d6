"""What operators of ``${NAME…}`` make of a value: as bash 5.2 printed it for each of these."""

from __future__ import annotations

import pytest
from reading import launch, value

MADE = (
    ("abcabc", "#a", "bcabc"),
    ("abcabc", "#b", "abcabc"),
    ("/models/Qwen/Qwen3", "##*/", "Qwen3"),
    ("/models/Qwen/Qwen3", "#*/", "models/Qwen/Qwen3"),
    ("/models/Qwen/Qwen3", "%/*", "/models/Qwen"),
    ("a/b/c", "%%/*", "a"),
    ("a.b.c", "%.*", "a.b"),
    ("a.b.c", "%%.*", "a"),
    ("abcabc", "/a/b", "bbcabc"),
    ("abcabc", "//a/", "bcbc"),
    ("abcabc", "//a", "bcbc"),
    ("abcabc", "/#a/X", "Xbcabc"),
    ("abcabc", "/%c/X", "abcabX"),
    ("abcabc", "/%a/X", "abcabc"),
    ("A-b_C", "//[-_]/+", "A+b+C"),
    ("A-b_C", "//[!a-z]/.", "..b.."),
    ("A-b_C", "^^", "A-B_C"),
    ("A-b_C", ",,", "a-b_c"),
    ("abc", "^", "Abc"),
    ("ABC", ",", "aBC"),
    ("abc", "@U", "ABC"),
    ("abcdef", ":1", "bcdef"),
    ("abcdef", ":1:3", "bcd"),
    ("abcdef", ": -3", "def"),
    ("abcdef", ":1:-2", "bcd"),
    ("abcdef", ":?", "abcdef"),
    ("x/y/", '//"/"/_', "x_y_"),
    ("x*y", '//"*"/_', "x_y"),
)
UNKNOWN = ("//$P/x", "#*(a)", "%*a*b*", "/a/&", "@Q", "^^[a-c]", "//\\//x")
"""What is not followed: patterns that are not known, of many stars, and what depends on the shell's release."""


@pytest.mark.parametrize(("given", "operator", "made"), MADE)
def test_what_an_operator_makes_of_a_value(given: str, operator: str, made: str) -> None:
    node, _ = launch(f"N='{given}'\nvllm serve m --served-model-name \"${{N{operator}}}\"\n")
    assert value(node, "served-model-name") == made


@pytest.mark.parametrize("operator", UNKNOWN)
def test_what_is_not_followed_is_unknown(operator: str) -> None:
    node, _ = launch(f'N=abab\nvllm serve m --served-model-name "${{N{operator}}}"\n')
    arg = node.arg("served-model-name")
    assert arg is not None and arg.value is not None and not arg.value.known


def test_a_default_that_is_assigned_is_the_value_from_then_on() -> None:
    node, _ = launch(': "${N:=abc}"\nvllm serve m --served-model-name "$N"\n')
    assert value(node, "served-model-name") == "abc"


def test_a_length_is_no_cut() -> None:
    node, _ = launch("N=abcd\nA=(x y z)\nvllm serve m --seed ${#N} --port ${#A[@]}\n")
    assert (value(node, "seed"), value(node, "port")) == ("4", "3")


def test_a_default_does_not_replace_a_value() -> None:
    node, _ = launch('N=x\n: "${N:=abc}"\nvllm serve m --served-model-name "$N"\n')
    assert value(node, "served-model-name") == "x"
