"""Both readers of YAML take the same files and say the same of wrong ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from pd_launch.launcher.sources.trees import yaml_loader
from pd_launch.launcher.sources.trees.yaml_loader import TabLoader, wrong_at
from pd_launch.launcher.sources.trees.yaml_tree import parse_yaml
from pd_launch.schemas.core.values import SourceFile

TAKEN = [
    "a:\tb",
    "a: b\t# c",
    "a: b\t\nc: d",
    "a:\t\n  b: c",
    "a:  \t b",
    "{a:\tb,\tc: d}",
    "[\ta\t]",
    "a: {\n\tb: c}",
    "a: 'b'\t# c",
    "a: b\n  c\td",
    "a: b c\td e",
    "a: b\n\n\n  c",
    "a: b\n \t c\n",
    "a: |\t\n  b\n",
    "a: >-\t# c\n  b\n",
    "a: &x\tb\nc: *x\t",
    "a: b\n---\nc\n...\n",
    "a: b c\n--- d\n",
    "a: !x\tb",
    "a: b\u2028  c",
    '"a"\t:\tb',
]
REFUSED = [
    "- a\t\n-\tb",
    "-\ta",
    "a: [\n\tb,\n\tc\n\t]",
    "\ta: b",
    "a:\n\tb: c",
    "a: b\n\tc: d",
    "a:\n  - b\n\t- c",
    "a: \tb\n\tc: d",
    "a: b: c",
    "a: [b",
    "a: @b",
    "a: %b",
    "- a\nb: c",
    "a: |x\n b",
    '"\\q"',
]
needs_libyaml = pytest.mark.skipif(not yaml.__with_libyaml__, reason="PyYAML has no libyaml here")


def shown(text: str, loader: type) -> list[tuple[object, ...]]:
    """Return the events of a text with their places."""
    marks = ("start_mark", "end_mark")
    return [
        (
            type(event).__name__,
            getattr(event, "value", None),
            getattr(event, "style", None) or None,
            [getattr(event, mark).index for mark in marks] if isinstance(event, yaml.ScalarEvent) else None,
        )
        for event in yaml.parse(text, Loader=loader)
    ]


@needs_libyaml
@pytest.mark.parametrize("text", TAKEN)
def test_tabs_are_taken_where_libyaml_takes_them(text: str) -> None:
    assert shown(text, TabLoader) == shown(text, yaml.CSafeLoader)


@needs_libyaml
@pytest.mark.parametrize("text", REFUSED)
def test_what_libyaml_refuses_is_refused_with_the_same_words(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said = []
    for loader in (yaml.CSafeLoader, TabLoader):
        monkeypatch.setattr(yaml_loader, "_Loader", loader)
        documents, faults = parse_yaml(SourceFile("a.yaml", text))
        assert not documents
        said.append(faults)
    assert said[0] == said[1] and len(said[0]) == 1


@needs_libyaml
def test_every_yaml_file_of_the_repository_is_read_alike() -> None:
    root = Path(__file__).parents[2]
    rows = [
        json.loads(line) for path in root.glob("tests/cases/*.jsonl") for line in path.read_text("utf-8").splitlines()
    ]
    texts = [text for row in rows for name, text in row["files"].items() if name.endswith((".yaml", ".yml"))]
    texts += [path.read_text("utf-8", "replace") for path in root.glob("tests/rules/*/*.y*ml")][::5]
    assert len(texts) > 100
    for text in texts:
        try:
            wanted = shown(text, yaml.CSafeLoader)
        except (yaml.YAMLError, ValueError):
            with pytest.raises((yaml.YAMLError, ValueError)):
                shown(text, TabLoader)
            continue
        assert shown(text, TabLoader) == wanted


def test_a_long_wrong_file_is_not_read_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_loader, "_LONGEST_AGAIN", 3)
    error = yaml.MarkedYAMLError("while reading", None, "found x", None)
    assert wrong_at("a: b: c", error) == (0, "while reading found x")


def test_a_file_of_open_brackets_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def loader(text: str) -> TabLoader:
        asked.append(text)
        return TabLoader(text)

    monkeypatch.setattr(yaml_loader, "TabLoader", loader)
    error = yaml.MarkedYAMLError("while parsing x", None, "found x", None)
    wrong_at("[" * 6000, error)
    assert asked == []
    wrong_at("[" * 50, error)
    assert asked == ["[" * 50]
