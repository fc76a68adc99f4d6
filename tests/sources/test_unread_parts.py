"""What a script holds is read, wherever it stands on its line; and what the parser cannot read is said."""

from __future__ import annotations

import pytest

from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.read import read_texts

WRONG = "vllm serve m --max-num-batched-tokns 64"


def codes(text: str) -> list[str]:
    return [finding.code for finding in check(read_texts({"s.sh": text}, "vllm==0.32.0"))]


@pytest.mark.parametrize(
    "redirection",
    [
        *(
            '> "$LOG/d.log" 2>&1',
            ">log",
            ">&2",
            "2>&1",
            "&>log",
            ">>x",
            "</dev/null",
            "> a < b 2> c",
            "<<EOF",
            "<<EOF >x",
        ),
        "<<< here",
    ],
)
@pytest.mark.parametrize("end", ["", " &", " \\\n  --port 8000", " | tee log"])
def test_words_behind_a_redirection_are_arguments(redirection: str, end: str) -> None:
    body = "\nhi\nEOF" if "<<EOF" in redirection else ""
    if body and "|" in end:
        pytest.skip("the parser takes the pipe for part of the redirection")
    text = f"vllm serve m --seed 1 {redirection} --max-num-batched-tokns 64{end}{body}\n"
    assert codes(text) == ["PD004"]
    nodes = read_texts({"s.sh": text}, "vllm==0.32.0")[0].nodes
    assert [arg.name for arg in nodes[0].args][:2] == ["seed", "max-num-batched-tokns"]


@pytest.mark.parametrize(
    "options", ["-c", "-ec", "-euo pipefail -c", "-o pipefail -ec", "-ceuo pipefail", "-O extglob -c", "--rcfile x -c"]
)
def test_options_of_a_shell_take_their_values(options: str) -> None:
    assert codes(f"vllm serve ok --port 1\nbash {options} '{WRONG}'\n") == ["PD004"]


@pytest.mark.parametrize(
    "before",
    [
        "cat <<EOF; echo x\nhi\nEOF\n",
        "cat <<EOF|cat\nhi\nEOF\n",
        "cat <<EOF>f\nhi\nEOF\n",
        'cat <<E"O"F\nhi\nEOF\n',
        "cat <<中文\nhi\n中文\n",
    ],
)
def test_what_the_parser_cannot_read_is_said(before: str) -> None:
    found = codes(f"vllm serve ok --port 1\n{before}{WRONG}\n")
    assert found in (["PD004"], ["PD014"])


@pytest.mark.parametrize(
    "text",
    [
        "vllm serve ok --port 1\ncat <<EOF; echo x\nrun vllm later\nEOF\necho done\n",
        "vllm serve ok --port 1\nfor x in ${a[@]/#/-e}; do echo $x; done\n",
    ],
)
def test_what_starts_no_engine_may_be_unreadable(text: str) -> None:
    assert codes(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "cat <<\\EOF\nit's\nEOF\nvllm serve m --port 1\n",
        'cat <<"END OF"\nit\'s\nEND OF\nvllm serve m --port 1\n',
        "cat <<'END-1'\nit's\nEND-1\nvllm serve m --port 1\n",
        "X=$((1<<20))\nvllm serve m --port $X\n",
    ],
)
def test_an_apostrophe_in_a_here_document_opens_no_quote(text: str) -> None:
    assert "PD003" not in codes(text)


def test_a_shift_is_no_here_document() -> None:
    assert codes("X=$((1<<FOO))\nvllm serve m \\ \n  --port 1\n")[:1] == ["PD003"]


@pytest.mark.parametrize(
    ("text", "word"),
    [("if a; then\n  b\n", "fi"), ("for x in a; do\n  b\n", "done"), ("(b\n", ")"), ("A=(x\n", ")")],
)
@pytest.mark.parametrize("first", [True, False])
def test_a_script_that_the_shell_refuses_is_no_clean_one(text: str, word: str, first: bool) -> None:
    engine = "vllm serve ok --port 1\n"
    found = check(read_texts({"s.sh": engine + text if first else text + engine}, "vllm==0.32.0"))
    told = [f for f in found if f.code == "PD003" and f"never closed with {word}" in f.message]
    assert told and told[0].line == (2 if first else 1)
