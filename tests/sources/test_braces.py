"""Brace expansion is that of bash: generated words are given to both."""

from __future__ import annotations

import random
import shutil
import subprocess

import pytest

from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.read import read_texts
from pd_launch.launcher.sources.shell.braces import TooMuch, expanded
from pd_launch.launcher.sources.shell.follow import read_shell
from pd_launch.schemas.core.values import SourceFile, Text

PLAIN = ["{", "{", "}", "}", ",", ",", ",", "..", "a", "b", "z", "1", "3", "0", "-", ".", ":"]
QUOTED = ['"k"', '"a,b"', "'x y'", "\\{", "\\,", "\\}", '\\"', "$'t'", '""', "${A}", "${B:-u}", '"${A}"', "{}", "{,"]
GIVEN = "A=v\n"


def words(written: str) -> list[str]:
    """Return the words that a text stands for, as the reader sees them."""
    text = f"{GIVEN}echo {written}\n"
    (command,) = read_shell(Text.verbatim(SourceFile("a.sh", text), 0, len(text))).commands
    return [word.value for word in command.words[1:]]


def words_of_bash(written: list[str]) -> list[list[str]]:
    """Return the words that bash hands over for each text."""
    script = GIVEN + "".join(f"printf '%s\\037' . {word}; printf '\\036'\n" for word in written)
    done = subprocess.run(["bash", "-f"], input=script, capture_output=True, text=True, timeout=60, check=True)
    assert not done.stderr
    return [line.split("\037")[1:-1] for line in done.stdout.split("\036")[:-1]]


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize("signs", [PLAIN, [sign for sign in PLAIN if sign != ".."] + QUOTED], ids=["plain", "quoted"])
def test_words_are_those_of_bash(signs: list[str]) -> None:
    pick = random.Random(1)
    written = ["x" + "".join(pick.choices(signs, k=pick.randint(1, 12))) for _ in range(1500)]
    differ = [
        (word, mine, theirs)
        for word, theirs in zip(written, words_of_bash(written), strict=True)
        if "{..}" not in word and "{{" not in word and (mine := words(word)) != theirs
    ]
    assert differ == []


@pytest.mark.parametrize("word", ["{1..5000}{1,2}", "{1..99}{1..99}", "{a," * 120 + "}" * 120])
def test_what_would_be_too_many_words_is_not_made(word: str) -> None:
    with pytest.raises(TooMuch):
        expanded(list(word), 4000)
    text = f"vllm serve m --seed {word}\n"
    found = read_texts({"a.sh": text})[0]
    assert [fault.kind for fault in found.faults] == ["not-followed"]
    assert {f.code for f in check([found]) if f.severity == "error"} <= {"PD014"}


@pytest.mark.parametrize("word", ["{1..5000}", "{1..99999999999999999}", "{99999999999999999..1}"])
def test_a_long_sequence_is_cut(word: str) -> None:
    words, whole = expanded(list(word), 4000)
    assert len(words) == 4000 and not whole


@pytest.mark.parametrize(
    ("value", "codes"),
    [
        ('{"kv_connector":"NixlConnector","kv_role":"kv_both"}', ["PD001", "PD004"]),
        ("""{'"kv_connector"':'"NixlConnector"','"kv_role"':'"kv_both"'}""", ["PD001", "PD004"]),
        (r"""{\"kv_connector\":\"NixlConnector\",\"kv_role\":\"kv_both\"}""", ["PD001", "PD004"]),
        (r"""{\"kv_connector\":\"NixlConnector\"\,\"kv_role\":\"kv_both\"}""", []),
        (r"""'{"kv_connector":"NixlConnector","kv_role":"kv_both"}'""", []),
    ],
)
def test_json_that_braces_tear_apart_is_no_json(value: str, codes: list[str]) -> None:
    found = check(read_texts({"a.sh": f"vllm serve m --kv-transfer-config {value}\n"}, "vllm==0.32.0"))
    assert sorted({f.code for f in found if f.severity == "error"}) == codes
