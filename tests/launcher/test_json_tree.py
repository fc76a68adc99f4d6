"""JSON arguments: the values of Python's reader, the exact place of each fault, and fixes that make them JSON."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pd_launch.launcher.sources.engine.command_line import read_arguments
from pd_launch.launcher.sources.shell.follow import read_shell
from pd_launch.launcher.sources.trees.json_tree import MAX_DEPTH, MAX_FAULTS, parse_json
from pd_launch.launcher.sources.trees.yaml_tree import parse_yaml
from pd_launch.schemas.core.launch import Fault, NodeLaunch
from pd_launch.schemas.core.values import HOLE, Node, Origin, SourceFile, Text, Unknown


def read(text: str) -> tuple[Node, list[Fault]]:
    return parse_json(Text.verbatim(SourceFile("f", text), 0, len(text)))


def accepted(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def fixed(text: str, faults: list[Fault]) -> str:
    """Apply all fixes, from the end, as an editor would."""
    source = SourceFile("f", text)
    edits = sorted(
        {
            (source.offset(o.line, o.column), source.offset(o.end_line, o.end_column), new)
            for fault in faults
            for o, new in fault.fix
        },
        reverse=True,
    )
    for start, end, new in edits:
        text = text[:start] + new + text[end:]
    return text


TEXTS = st.text(st.characters(exclude_characters=HOLE), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=15,
)


@given(VALUES, st.booleans(), st.sampled_from([None, 2]))
def test_any_json_is_read_without_faults(value: Any, ascii_only: bool, indent: int | None) -> None:
    whole = value.strip() if isinstance(value, str) else ""
    assume(whole[:1] + whole[-1:] not in ("{}", "[]"))  # a text that holds JSON is quoted once too often
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    node, faults = read(text)
    assert not faults
    assert json.dumps(node.plain()) == json.dumps(value)
    for part in node.walk():
        source = SourceFile("f", text)
        written = text[
            source.offset(part.origin.line, part.origin.column) : source.offset(
                part.origin.end_line, part.origin.end_column
            )
        ]
        assert json.dumps(json.loads(written)) == json.dumps(part.plain())


@st.composite
def mutated(draw: st.DrawFn) -> str:
    text = json.dumps(draw(VALUES), ensure_ascii=False)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(text)))
        cut = draw(st.integers(0, 2))
        new = draw(
            st.sampled_from(
                [
                    "",
                    ",",
                    "}",
                    "]",
                    "{",
                    "[",
                    '"',
                    "'",
                    "\\",
                    "`",
                    "#",
                    "//",
                    ":",
                    "x",
                    "True",
                    " ",
                    "\n",
                    "-",
                    "0",
                    "\t",
                    "\u201c",
                    "\uff1a",
                    "<",
                    "\xa0",
                ]
            )
        )
        text = text[:at] + new + text[at + cut :]
    return text


@given(mutated())
def test_faulty_if_and_only_if_python_refuses_it(text: str) -> None:
    _, faults = read(text)
    if text.strip()[:1] == text.strip()[-1:] == '"':
        return  # a whole object inside quotes is a JSON string, and never what was meant
    assert bool(faults) != accepted(text), (text, faults)


@given(st.text(st.sampled_from(f"{{}}[]\",:\\'`#/ \n01-+.eE\u201c{HOLE}tnNx"), max_size=30))
def test_any_text_is_read(text: str) -> None:
    node, faults = read(text)
    for part in (node, *node.walk()):
        assert part.origin.line >= 1 and part.origin.column >= 1
    for fault in faults:
        assert fault.detail.en and fault.detail.zh
    if HOLE not in text and not faults:
        assert accepted(text)


ROLE = '"kv_role": "kv_consumer"'


@pytest.mark.parametrize(
    ("text", "places", "word", "value", "safe"),
    [
        ('{"a": 1,}', [(1, 8)], "trailing comma before '}'", {"a": 1}, True),
        ('{"a": [1, 2, ]}', [(1, 12)], "trailing comma before ']'", {"a": [1, 2]}, True),
        ('{"a": 1,\n "b": 2,\n}', [(2, 8)], "trailing comma", {"a": 1, "b": 2}, True),
        ('{"a": 1,, "b": 2}', [(1, 9)], "comma with nothing before it", {"a": 1, "b": 2}, True),
        ('{,"a": 1}', [(1, 2)], "comma with nothing before it", {"a": 1}, True),
        ('{"a": 1 "b": 2}', [(1, 9)], "a comma is missing before this", {"a": 1, "b": 2}, False),
        ("{'a': 'b'}", [(1, 2), (1, 7)], "single quotes", {"a": "b"}, True),
        ("{a: 1}", [(1, 2)], "the key a has no quotes", {"a": 1}, True),
        ('{"a": True, "b": None}', [(1, 7), (1, 18)], "is Python; JSON writes", {"a": True, "b": None}, True),
        ('{"a": kv_both}', [(1, 7)], "'kv_both' is not a JSON value", {"a": "kv_both"}, False),
        ('{"a": 1} # x', [(1, 10)], "JSON has no comments", {"a": 1}, True),
        ('{"a": 1, // x\n"b": 2}', [(1, 10)], "JSON has no comments", {"a": 1, "b": 2}, True),
        ('{"a": 1} tail', [(1, 10)], "text after the end", {"a": 1}, False),
        ('{"a": 1}}', [(1, 9)], "text after the end", {"a": 1}, False),
        ('{"a": {"b": 1}', [(1, 14)], "the object opened on line 1 is never closed", {"a": {"b": 1}}, False),
        ('{"a": [1', [(1, 8), (1, 8)], "never closed", {"a": [1]}, False),
        ('{"a": \\\n 1}', [(1, 7)], "a backslash between JSON tokens", {"a": 1}, True),
        ('{"a": `1`}', [(1, 7), (1, 9)], "a backtick is not JSON", {"a": 1}, True),
        ('{\\"a\\": \\"b\\"}', [(1, 2), (1, 9)], "escaped once too often", {"a": "b"}, True),
        ("{\u201ca\u201d: \u2018b\u2019}", [(1, 2), (1, 7)], "typographic quotes", {"a": "b"}, True),
        ('{"a"\uff1a1\uff0c "b": 2}', [(1, 5), (1, 7)], "full-width character", {"a": 1, "b": 2}, True),
        ("'{\"a\": 1}'", [(1, 1)], "the quotes (') are part of the value", {"a": 1}, False),
    ],
)
def test_faults_are_placed_and_their_fixes_work(
    text: str, places: list[tuple[int, int]], word: str, value: Any, safe: bool
) -> None:
    node, faults = read(text)
    assert [(f.origin.line, f.origin.column) for f in faults] == places, faults
    assert all(f.kind == "json" and word in f.detail.en and f.fix and f.fix_is_safe == safe for f in faults), faults
    assert node.plain() == value
    assert json.loads(fixed(text, faults)) == value


@pytest.mark.parametrize(
    ("text", "place", "word"),
    [
        ('{"a": "x}', (1, 7), "this string is never closed"),
        ("", (1, 1), "the value ends too early"),
        ("  ", (1, 2), "the value ends too early"),
        ('{"a": }', (1, 7), "a value is expected here"),
        ('{"a" 1}', (1, 6), "':' is missing after the key 'a'"),
        ('{"a": 1]', (1, 8), "']' closes what was opened with '{'"),
        ('{"a": <port>}', (1, 7), "the placeholder '<port>' is not filled in"),
        ('{"a": "x\ty"}', (1, 9), "a line break or tab inside a JSON string"),
        ('{"a": "b\\q"}', (1, 9), "a wrong escape in a JSON string"),
        ("[" * (MAX_DEPTH + 1), (1, MAX_DEPTH + 1), f"nested more than {MAX_DEPTH} deep"),
        ("{" + "\\" * 10_000, (1, 2), "a backslash between JSON tokens"),
    ],
)
def test_faults_without_a_fix_of_their_own(text: str, place: tuple[int, int], word: str) -> None:
    _, faults = read(text)
    assert (faults[0].origin.line, faults[0].origin.column) == place
    assert word in faults[0].detail.en
    assert len(faults) <= MAX_FAULTS + 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (f'{{"a": {HOLE}}}', {"a": Unknown("…")}),
        (f'{{"a": "x{HOLE}"}}', {"a": Unknown("x…")}),
        (f'{{"a": 8{HOLE}, "b": 1}}', {"a": Unknown("8…"), "b": 1}),
        (f'{{"a{HOLE}": 1}}', {f"a{HOLE}": 1}),
        (f'{{"a": 1 {HOLE}}}', Unknown('{"a": 1 …}')),
        (f"{{{HOLE}}}", Unknown("{…}")),
        (f'{{"a": 1, {HOLE}}}', Unknown('{"a": 1, …}')),
        (HOLE, Unknown("…")),
        (f'{{"a": {HOLE} {HOLE}', Unknown('{"a": … …')),
    ],
)
def test_unknown_parts_are_no_faults(text: str, value: Any) -> None:
    node, faults = read(text)
    assert not faults
    assert node.plain() == value


def test_duplicate_keys_keep_the_earlier_entries() -> None:
    node, faults = read('{"a": 1, "b": 0, "a": 2, "a": 3}')
    assert not faults and node.plain() == {"a": 3, "b": 0}
    assert [n.value for n in node.value["a"].shadowed] == [1, 2]
    assert node.value["a"].key == Origin("f", 1, 26, 1, 29)


@pytest.mark.parametrize(
    ("word", "value"), [("NaN", math.nan), ("-Infinity", -math.inf), ("1e999", math.inf), ("-0.0", -0.0)]
)
def test_numbers_that_python_accepts(word: str, value: float) -> None:
    node, faults = read(word)
    assert not faults and str(node.value) == str(value)


def test_a_number_with_too_many_digits_is_a_fault() -> None:
    assert [f.kind for f in read("9" * 5000)[1]] == ["json"]


# The same trailing comma inside every kind of quoting: the place is that of the user's own file.
BAD = '{"kv_connector": "X", "kv_role": "kv_both",}'


@pytest.mark.parametrize(
    ("script", "place"),
    [
        (f"vllm serve m --kv-transfer-config '{BAD}'", (1, 78)),
        ('vllm serve m --kv-transfer-config \\\n  \'{"kv_connector": "X",\n    "kv_role": "kv_both",\n  }\'', (3, 25)),
        ('vllm serve m --kv-transfer-config "{\\"kv_connector\\": \\"X\\",}"', (1, 60)),
        ("R=kv_both\nvllm serve m --kv-transfer-config '{\"kv_role\": \"'$R'\",}'", (2, 54)),
        (f"C='{BAD}'\nvllm serve m --kv-transfer-config \"$C\"", (1, 46)),
        (f"vllm serve m --kv-transfer-config='{BAD}'", (1, 78)),
        ("# 模型\nvllm serve '模' --kv-transfer-config '{\"a\": \"ü\",}'", (2, 47)),
        ("vllm serve m --kv-transfer-config '{\"a\": 1,}'\r\n", (1, 43)),
    ],
)
def test_places_inside_shell_words(script: str, place: tuple[int, int]) -> None:
    faults: list[Fault] = []
    for command in read_shell(Text.verbatim(SourceFile("f", script), 0, len(script))).commands:
        faults += read_arguments(command.words.having(command.words[2:]), NodeLaunch("shell", command.origin, "f"))
    assert [(f.origin.line, f.origin.column, f.detail.en[:14]) for f in faults] == [(*place, "trailing comma")]
    start = SourceFile("f", script).offset(*place)
    assert script[start] == ","


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a: {}\nb: '{\"x\": 1,}'\n", (2, 12)),
        ("b: '{\"x\": ''1'',}'\n", (1, 16)),
        ('b: "{\\"x\\": 1,}"\n', (1, 14)),
        ('b: "{\\"\\u006d\\": 1,}"\n', (1, 19)),
        ('b: |\n  {"x": 1,\n   "y": 2,\n  }\n', (3, 10)),
        ('b: |-\n  {"x": 1,}\n', (2, 10)),
        ('b: >\n  {"x": 1,\n  "y":\n  2,}\n', (4, 4)),
        ('b: {"x": 1,}\n', None),
        ("b:\n  - k:\n      - '{\"ü模\": 1,}'\n", (3, 18)),
    ],
)
def test_places_inside_yaml_scalars(text: str, place: tuple[int, int] | None) -> None:
    documents, _ = parse_yaml(SourceFile("f", text))
    scalars = [n.text for n in documents[0].walk() if n.text is not None and n.text.value.startswith("{")]
    faults = [fault for scalar in scalars for fault in parse_json(scalar)[1] if "trailing" in fault.detail.en]
    assert [(f.origin.line, f.origin.column) for f in faults] == ([place] if place else [])
    if place:
        assert text[SourceFile("f", text).offset(*place)] == ","


@pytest.mark.parametrize("value", ["{it's: 1}", "{'a': 'it's'}", "{a: it's}", "{'it's': 1}", '{"a": b"c"}'])
@pytest.mark.parametrize("quote", ["yaml", "shell"])
def test_a_word_that_goes_on_behind_a_quote_is_not_quoted_in_part(value: str, quote: str) -> None:
    import json

    from pd_launch.launcher.check.run import check
    from pd_launch.launcher.sources.read import read_texts

    word = json.dumps(value)
    if quote == "yaml":
        files = {"a.yaml": f"services: {{a: {{image: i, command: [vllm, serve, m, --kv-transfer-config, {word}]}}}}\n"}
    else:
        files = {"a.sh": f"vllm serve m --kv-transfer-config {word}\n"}
    found = [f for f in check(read_texts(files)) if f.code == "PD001"]
    assert found
    for finding in found:
        for edit in finding.fix.edits if finding.fix else ():
            assert "it" not in edit.text and edit.text not in ('"', ","), edit


def test_a_script_with_an_open_quote_gets_no_json_fix() -> None:
    from pd_launch.launcher.check.run import check
    from pd_launch.launcher.sources.read import read_texts

    found = check(read_texts({"a.sh": "vllm serve m --kv-transfer-config '{it\\'s: 1}'\n"}))
    assert {f.code for f in found} >= {"PD001", "PD003"} and not any(f.fix for f in found if f.code == "PD001")


def test_what_stands_behind_a_text_is_not_taken_away() -> None:
    """A shell makes three words of an object without quotes around it: the first is a text, with the rest behind it."""
    from pd_launch.launcher.check.run import check
    from pd_launch.launcher.sources.read import read_texts

    value = r"{\"kv_connector\":\"NixlConnector\",\"kv_role\":\"kv_both\",}"
    found = check(read_texts({"a.sh": f"vllm serve m --kv-transfer-config {value}\n"}))
    assert [f.fix for f in found if "text after the end" in f.message] == [None]
