"""Edits of random documents, written in every form: refused, or the file then holds exactly what was wanted."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from fixture import Files, Fixture
from hypothesis import given, settings
from hypothesis import strategies as st
from published import apply, misread
from shell_twins import Quote, ansi, bare, double, single
from twins import FORMS, twin_of

from pd_launch.launcher.rules.edits import insert_entries, joined, remove_entry, rename_key, set_value
from pd_launch.launcher.sources.read import read_texts
from pd_launch.launcher.sources.trees.json_tree import parse_json
from pd_launch.launcher.sources.trees.yaml_tree import parse_yaml
from pd_launch.schemas.core.values import Node, SourceFile, Splice, Text
from pd_launch.schemas.finding import Edit
from tests.sampling import size

FLAG = "additional-config"
PLACES = [form for form in FORMS if not form.startswith(("itself", "kept", "profile", "yaml"))]
EXAMPLES = size(250, 3_000)
Edits = tuple[Splice, ...]

signs = st.sampled_from(
    [*"'\"\\$`%{}[]#:,;&|!*?<>()~=@^ -_.ab1é全😀", "\n", "\t", "{{", "}}", "$$", "''", "\\n", " #", ": "]
)
texts = st.lists(signs, max_size=8).map("".join) | st.sampled_from(
    ["true", "8", "1e3", "null", "~", "", "no", "a b", "x"]
)
scalars = texts | st.integers(-5, 10**6) | st.booleans() | st.none()
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6
)
documents = st.dictionaries(texts, values, min_size=1, max_size=4)


def written(document: dict[str, Any], form: str, ascii_only: bool) -> Files | None:
    """Return the files of an engine that is given a document in one form."""
    word = json.dumps(document, ensure_ascii=ascii_only)
    twin = twin_of(Fixture("edits", form, {"script.sh": f"vllm serve m --{FLAG} {single(word)}\n"}, None), form)
    return None if twin is None else twin.files


def tree_of(files: Files) -> Node | None:
    """Return the document as it is read; None where it is not."""
    nodes = [node for deployment in read_texts(files) for node in deployment.nodes]
    return nodes[0].value(FLAG) if len(nodes) == 1 else None


def mappings(node: Node, plain: Any) -> Iterator[tuple[Node, dict[str, Any]]]:
    """Iterate over the mappings of a tree, each with its plain data."""
    if isinstance(node.value, dict):
        yield node, plain
        for key, child in node.value.items():
            yield from mappings(child, plain[key])
    for child, part in zip(node.elements(), plain if isinstance(plain, list) else [], strict=False):
        yield from mappings(child, part)


def edited(files: Files, edits: Edits) -> Files:
    made = [
        Edit(
            file=place.file,
            line=place.line,
            column=place.column,
            end_line=place.end_line,
            end_column=place.end_column,
            text=text,
        )
        for place, text in edits
    ]
    return apply(files, made)


def change(data: st.DataObject, node: Node, plain: dict[str, Any]) -> Edits | None:
    """Draw a change of a mapping, make it in the plain data, and return its edits."""
    what = data.draw(st.sampled_from(["insert", "set", "rename", "remove"] if plain else ["insert"]))
    name = data.draw(texts.filter(lambda text: text not in plain))
    if what == "insert":
        new = data.draw(scalars)
        plain[name] = new
        return insert_entries(node, {name: new})
    key = data.draw(st.sampled_from(sorted(plain)))
    entry = node.value[key]
    if what == "rename":
        plain[name] = plain.pop(key)
        return rename_key(entry, name)
    if what == "remove":
        del plain[key]
        return remove_entry(entry)
    new = data.draw(texts if isinstance(plain[key], str) else st.integers(0, 99) | st.booleans())
    plain[key] = new
    return set_value(entry, new)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.data())
def test_an_edit_is_refused_or_right(data: st.DataObject) -> None:
    form = data.draw(st.sampled_from(PLACES))
    document = data.draw(documents)
    files = written(document, form, data.draw(st.booleans()))
    tree = tree_of(files) if files is not None else None
    if files is None or tree is None or tree.plain() != document or "{{" in json.dumps(document):
        return  # this form does not hold such a document: what is between braces may be a template's
    wanted = copy.deepcopy(document)
    node, plain = data.draw(st.sampled_from(list(mappings(tree, wanted))))
    edits = change(data, node, plain)
    if edits is None:
        return
    fixed = edited(files, edits)
    after = tree_of(fixed)
    assert after is not None, fixed
    assert after.plain() == wanted, fixed
    twin = twin_of(Fixture("edits", form, {"script.sh": "vllm serve m\n"}, None), form)
    if twin is not None and twin.runs and data.draw(st.integers(0, 4)) == 0:
        assert not list(misread(twin, fixed)), fixed


@pytest.mark.parametrize("form", PLACES)
def test_most_edits_are_made(form: str) -> None:
    """A plain document is read in each form, and what can be certain is changed."""
    document = {"first": "a", "second": {"deep": 1, "flag": True}, "last": "b"}
    files = written(document, form, True)
    if files is None:
        pytest.skip("this form writes other documents")
    tree = tree_of(files)
    assert tree is not None and tree.plain() == document
    made = {
        "set": set_value(tree.value["first"], 'it\'s $5 "new"'),
        "rename": rename_key(tree.value["last"], "other"),
        "remove": remove_entry(tree.value["second"]),
        "insert": insert_entries(tree.value["second"], {"more": "x"}),
    }
    wanted: dict[str, dict[str, Any]] = {
        "set": {**document, "first": 'it\'s $5 "new"'},
        "rename": {"first": "a", "second": document["second"], "other": "b"},
        "remove": {"first": "a", "last": "b"},
        "insert": {**document, "second": {"deep": 1, "flag": True, "more": "x"}},
    }
    for name, edits in made.items():
        if edits is not None:
            after = tree_of(edited(files, edits))
            assert after is not None and after.plain() == wanted[name], (name, edited(files, edits))
    refused = [name for name, edits in made.items() if edits is None]
    assert refused == REFUSED.get(form, []), "what is refused changed"


REFUSED: dict[str, list[str]] = {
    "systemd '": ["set"],
    "os.system raw": ["set", "insert"],
}
"""Changes of a plain document that are refused, by form: the fewer the better."""


def json_edit(text: str, old: str, new: str) -> str:
    """Return a script after ``new`` was written for the text ``old`` of its document."""
    tree = tree_of({"a.sh": text})
    assert tree is not None
    node = next(node for node in tree.walk() if node.value == old)
    edits = set_value(node, new)
    return text if edits is None else edited({"a.sh": text}, edits)["a.sh"]


@pytest.mark.parametrize("quote", [single, double, ansi, bare])
def test_the_quotes_of_a_place_are_kept(quote: Quote) -> None:
    command, before = f"vllm serve m --{FLAG} ", quote('{"a": "old"}')
    assert before is not None
    fixed = json_edit(command + before, "old", "n'\"$`")
    assert fixed.startswith(command + before.partition("old")[0]), fixed
    assert fixed.endswith(before.partition("old")[2]), fixed
    tree = tree_of({"a.sh": fixed})
    assert tree is not None and tree.plain() == {"a": "n'\"$`"}


def test_what_is_written_nowhere_is_not_changed() -> None:
    text = Text("abc", SourceFile("a", "xyz"), [0, 0, 0, 0])
    assert text.edit(0, 3, "new") is None
    assert text.edit(1, 1, "new") is None


def test_control_characters_are_refused() -> None:
    source = SourceFile("a", "abc")
    assert Text.verbatim(source, 0, 3).edit(0, 3, "a\x00") is None
    assert Text.verbatim(source, 0, 3).edit(0, 3, "a\rb") is None


def test_new_lines_end_as_those_of_the_file() -> None:
    source = SourceFile("a", "one\r\ntwo\r\n")
    edits = Text.verbatim(source, 0, len(source.text)).edit(5, 8, "x\ny")
    assert edits is not None and edits[0].text == "x\r\ny"


def test_an_entry_goes_with_its_lines_and_comments_stay() -> None:
    text = f'vllm serve m \\\n  --{FLAG} \'{{\n    "a": 1,\n    "b": 2,\n    "c": 3\n  }}\' # why\n# more\n'
    for key, left in (("a", ["b", "c"]), ("b", ["a", "c"]), ("c", ["a", "b"])):
        tree = tree_of({"a.sh": text})
        assert tree is not None
        edits = remove_entry(tree.value[key])
        assert edits is not None
        fixed = edited({"a.sh": text}, edits)["a.sh"]
        after = tree_of({"a.sh": fixed})
        assert after is not None and list(after.value) == left
        assert fixed.count("\n") == text.count("\n") - 1 and fixed.endswith("}' # why\n# more\n"), fixed


@pytest.mark.parametrize("before", ["&size ", "!!str ", "!!str &size ", "&size !!str "])
@pytest.mark.parametrize("written", ["old", '"old"', "'old'"])
def test_tags_and_anchors_stay(before: str, written: str) -> None:
    text = f"a: {before}{written}\nb: *size\n" if "size" in before else f"a: {before}{written}\n"
    documents, faults = parse_yaml(SourceFile("a.yaml", text))
    edits = set_value(documents[0].value["a"], "new")
    assert not faults and edits is not None
    fixed = edited({"a.yaml": text}, edits)["a.yaml"]
    assert fixed == text.replace("old", "new")


def test_an_anchored_mapping_is_written_into() -> None:
    for text in ("a: &all {x: 1}\n", "a: &all\n  x: 1\nb: 2\n"):
        documents, _ = parse_yaml(SourceFile("a.yaml", text))
        edits = insert_entries(documents[0].value["a"], {"y": 2})
        assert edits is not None
        fixed = edited({"a.yaml": text}, edits)["a.yaml"]
        again, _ = parse_yaml(SourceFile("a.yaml", fixed))
        assert again[0].plain()["a"] == {"x": 1, "y": 2} and "&all" in fixed


@given(documents, st.booleans())
def test_places_of_escapes_begin_at_their_backslash(document: dict[str, Any], ascii_only: bool) -> None:
    raw = json.dumps(document, ensure_ascii=ascii_only)
    tree, _ = parse_json(Text.verbatim(SourceFile("a", raw), 0, len(raw)))
    for text in (node.text for node in tree.walk() if isinstance(node.value, str)):
        assert text is not None
        spans = sorted({(text.spots[index], text.end_of(index)) for index in range(len(text.value))})
        assert json.loads('"' + "".join(raw[start:end] for start, end in spans) + '"') == text.value


def test_an_escape_in_two_kinds_of_quotes_is_not_torn() -> None:
    script = "bash -c " + single(f"vllm serve m --{FLAG} " + single("{'a': 'b'}"))
    found = read_texts({"a.sh": script})[0]
    assert found.faults and not any(fault.fix for fault in found.faults)


def test_changes_that_meet_are_none() -> None:
    text = "vllm serve m --" + FLAG + ' \'{"a": 1, "b": 2}\'\n'
    tree = tree_of({"a.sh": text})
    other = tree_of({"b.sh": text})
    assert tree is not None and other is not None
    first, second = tree.get("a"), tree.get("b")
    assert first is not None and second is not None
    apart = joined(set_value(first, 10), set_value(second, 20))
    assert apart is not None and len(apart) == 2
    assert joined(set_value(first, 10), set_value(first, 11)) is None
    assert joined(set_value(first, 10), None) is None
    elsewhere = joined(set_value(first, 10), set_value(other.get("a") or other, 11))
    assert elsewhere is not None and len(elsewhere) == 2
