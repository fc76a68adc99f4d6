"""Secrets never appear in plans, reports or logs: where they are in an input, and how texts are shown without them.

A secret is masked at its own place, whatever it is. Elsewhere it is masked where its value cannot be anything else: a
secret that equals an ordinary word must not take that word out of every message.
"""

from __future__ import annotations

import json
import re
import shlex
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cache, cached_property
from typing import Any, NamedTuple

from pd_launch.launcher.secrets.copies import Copies, Quoted
from pd_launch.launcher.secrets.lines import MASK, MaskedLine, joined, mask_line, without
from pd_launch.launcher.secrets.names import is_secret, is_secret_flag
from pd_launch.launcher.secrets.written import Span, written_spans
from pd_launch.schemas.core.findings import Finding
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.values import Node, SourceFile, Text

__all__ = ["MASK", "Secrets", "all_secrets", "hide", "is_secret", "is_secret_flag", "mask", "mask_line", "mask_lines"]

_SHORTEST = 8
_LONGEST_ESCAPE = 10
_LONGEST_WORD = 16
"""A shorter text of letters alone may be a word of any language."""


@dataclass
class Secrets:
    """The secrets of an input.

    ``values`` are those that are masked wherever they are, the longest first; ``words`` are ordinary words, masked
    at their own places only. ``places`` are the characters of each file that are secret.
    """

    values: Sequence[str] = ()
    words: frozenset[str] = frozenset()
    places: Mapping[str, list[Span]] = field(default_factory=dict)
    sources: Mapping[str, SourceFile] = field(default_factory=dict)
    _last: tuple[SourceFile, int, MaskedLine] | None = field(default=None, repr=False, compare=False)

    def touch(self, finding: Finding) -> bool:
        """Whether a finding speaks of lines on which a secret is."""
        source = self.sources.get(finding.file)
        if source is None or finding.end_line > len(source.starts):
            return False
        first = source.starts[finding.line - 1]
        last = source.starts[finding.end_line] if finding.end_line < len(source.starts) else len(source.text)
        return bool(self._between(finding.file, first, last))

    def in_line(self, source: SourceFile, number: int) -> list[Span]:
        """Return which characters of a line are secret, in order and apart."""
        line, first = source.line(number), source.starts[number - 1]
        spans = self._between(source.path, first, first + len(line))
        own = [(max(start - first, 0), min(end - first, len(line))) for start, end in spans]
        return joined([*own, *self.copies(line)])

    def masked_line(self, source: SourceFile, number: int) -> MaskedLine:
        """Return a line without its secrets; the next that asks gets it again, as many findings may be on one."""
        if self._last is None or self._last[0] is not source or self._last[1] != number:
            self._last = (source, number, MaskedLine(source.line(number), self.in_line(source, number)))
        return self._last[2]

    def copies(self, text: str) -> Iterator[Span]:
        """Iterate over where the values are in any text, also where it shows one's beginning before an ellipsis."""
        return self._copies.spans(text)

    @cached_property
    def _copies(self) -> Copies:
        return Copies(self.values)

    def quoted(self, text: str) -> Iterator[Span]:
        """Iterate over where a message quotes one of the ordinary words."""
        return self._quoted.spans(text)

    @cached_property
    def _quoted(self) -> Quoted:
        return Quoted(self.words)

    def _between(self, path: str, first: int, last: int) -> list[Span]:
        spans = self.places.get(path, [])
        start = bisect_left(spans, (first, 0))
        while start and spans[start - 1][1] > first:
            start -= 1
        found = []
        for span in spans[start:]:
            if span[0] >= last:
                break
            if span[1] > first:
                found.append(span)
        return found


NONE = Secrets()


def together(parts: Iterable[Secrets], sources: Mapping[str, SourceFile]) -> Secrets:
    """Return the secrets of several parts of an input as one; ``sources`` are the files of all of them."""
    parts = list(parts)
    places: dict[str, list[Span]] = {}
    for part in parts:
        for file, spans in part.places.items():
            places[file] = joined([*places.get(file, ()), *spans])
    values = {value for part in parts for value in part.values}
    return Secrets(_longest_first(values), frozenset().union(*(part.words for part in parts)), places, sources)


def all_secrets(deployments: Iterable[Deployment]) -> Secrets:
    """Return every secret of an input."""
    found: set[str] = set()
    places: dict[str, set[Span]] = {}
    sources: dict[str, SourceFile] = {}
    for deployment in deployments:
        sources |= deployment.sources
        for source in deployment.sources.values():
            spans = written_spans(source.text)
            places.setdefault(source.path, set()).update(spans)
            found |= {source.text[start:end] for start, end in spans}
        for node in secret_nodes(deployment.nodes):
            found.add(str(node.value))
            if node.text is not None:
                places.setdefault(node.text.source.path, set()).update(_stretches(node.text))
    return Secrets(
        _spelled(found),
        frozenset(value for value in found if value and is_ordinary(value)),
        {path: joined(spans) for path, spans in places.items()},
        sources,
    )


def secret_nodes(launches: Iterable[NodeLaunch]) -> Iterator[Node]:
    """Iterate over the values of engines that their names tell to be secrets, also inside JSON."""
    for launch in launches:
        for name, variable in launch.env.items():
            yield from _leaves(variable.value, tells(name, variable.value.value))
        secret = False
        for arg in launch.args:
            secret = is_secret_flag(arg.name) if arg.name else secret  # of a misspelt flag, all words are after it
            for node in (arg.value, *arg.more) if arg.value is not None else ():
                yield from _leaves(node, secret)


def _leaves(node: Node, secret: bool) -> Iterator[Node]:
    if isinstance(node.value, dict):
        for key, child in node.items():
            yield from _leaves(child, secret or tells(key, child.value))
    elif isinstance(node.value, list):
        for child in node.elements():
            yield from _leaves(child, secret)
    elif secret and is_held(node.value):
        yield node


def tells(name: str, value: object) -> bool:
    """Whether a name tells that its value is a secret. A token that is a number is one of the model's."""
    return is_secret(name) and not (isinstance(value, int) and name.lower().endswith("token"))


def is_held(value: object) -> bool:
    """Whether a value can be a secret: a text or a number that is known."""
    return (isinstance(value, str) and bool(value)) or (isinstance(value, int) and not isinstance(value, bool))


def _stretches(text: Text) -> Iterator[Span]:
    """Iterate over the stretches of the file in which a text's characters are, what escapes them included."""
    spots = sorted(set(text.spots[: len(text.value) + 1]))
    start = before = spots[0]
    for spot in spots[1:]:
        if spot > before + _LONGEST_ESCAPE:
            yield start, before + 1
            start = spot
        before = spot
    yield start, max(before, start + 1)


def _longest_first(values: Iterable[str]) -> list[str]:
    return sorted(values, key=len, reverse=True)


def _spelled(values: Iterable[str]) -> list[str]:
    """Return the values that are no ordinary words, in all the ways in which messages, JSON and scripts spell them."""
    found: set[str] = set()
    for value in values:
        if not is_ordinary(value):
            spellings = (value, repr(value)[1:-1], json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1])
            found |= {*spellings, value.replace("_", "-"), shlex.quote(value).strip("'")}  # a flag has hyphens
    return _longest_first(found)


def is_ordinary(value: str) -> bool:
    """Whether a value may be an ordinary word or number elsewhere: short, letters alone, or made of words of ours."""
    if len(value) < _SHORTEST:
        return True
    if value.isalpha() and len(value) < _LONGEST_WORD and (value[1:].islower() or value.isupper()):
        return True
    parts = re.findall(r"[a-z0-9]+", value.casefold())
    return bool(parts) and all(part in _vocabulary() for part in parts)


@cache
def _vocabulary() -> frozenset[str]:
    """Return the words of the rules' pages and of the engine's flags, which messages are made of."""
    from pd_launch.launcher.rules.registry import all_rules
    from pd_launch.schemas.core.flag_shapes import LISTS, SWITCHES, VALUED

    pages = [text for rule in all_rules().values() for text in rule.page.values()]
    words = " ".join([*pages, *SWITCHES, *LISTS, *VALUED]).casefold()
    return frozenset(re.findall(r"[a-z0-9]+", words))


def mask(text: str, secrets: Secrets) -> str:
    """Return ``text`` with the values masked that cannot be anything else."""
    return without(text, joined(secrets.copies(text)))


def mask_lines(text: str, secrets: Secrets = NONE) -> str:
    """Return lines of an input or of a log with their secrets masked, by names and by values, also copies of these."""
    spans = written_spans(text)
    own = {text[start:end] for start, end in spans}
    copies = [*secrets.copies(text), *Secrets(_spelled(own)).copies(text)]
    return without(text, joined([*spans, *copies]))


def mask_said(message: str, words: Sequence[str]) -> str:
    """Return what is said of a command line without the secrets in its ``words``."""
    line = shlex.join(words)
    values = {line[start:end] for start, end in written_spans(line)}
    for word in words:
        name, sign, value = word.partition("=")
        if sign and value and (is_secret_flag(name) if name.startswith("-") else is_secret(name)):
            values.add(value)
            message = message.replace(word, f"{name}={MASK}")
    return mask_lines(message, Secrets(_spelled(values)))


def mask_fact(key: str, value: Any) -> Any:
    """Return a fact of a host, which its names separated by dots tell, with what is secret in it masked."""
    return Held(NONE).masked(value, any(tells(name, value) for name in key.split(".")))


def mask_file(path: str, text: str, secrets: Secrets) -> str:
    """Return a file's text with its secrets masked, on each of the lines that they take."""
    spans = joined([*secrets.places.get(path, ()), *written_spans(text), *secrets.copies(text)])
    lines = [line.span() for start, end in spans for line in re.compile(r"[^\r\n]+").finditer(text, start, end)]
    return without(text, lines)


def hide(findings: Iterable[Finding], secrets: Secrets) -> list[Finding]:
    """Return ``findings`` with secrets masked in all that they say."""
    return [_hidden(finding, secrets) for finding in findings] if secrets.values or secrets.words else list(findings)


def _hidden(finding: Finding, secrets: Secrets) -> Finding:
    touched = bool(secrets.words) and secrets.touch(finding)

    def said(text: str) -> str:
        text = mask(text, secrets)
        return without(text, joined(secrets.quoted(text))) if touched else text

    fix = finding.fix
    if fix is not None and any(mask_lines(edit.text, secrets) != edit.text for edit in fix.edits):
        fix = None  # without the secret the edit would ruin the file
    elif fix is not None:
        fix = replace(fix, message=said(fix.message))
    related = [replace(r, message=said(r.message)) for r in finding.related]
    return replace(finding, message=said(finding.message), help=said(finding.help), related=related, fix=fix)


class Held(NamedTuple):
    """What is secret in the values that engines are started with."""

    secrets: Secrets

    @classmethod
    def of(cls, launches: Iterable[NodeLaunch]) -> Held:
        """Return what the engines hold."""
        return cls.of_values({str(node.value) for node in secret_nodes(launches)})

    @classmethod
    def of_values(cls, values: Iterable[str]) -> Held:
        """Return the same for values that are known to be secrets."""
        return cls(Secrets(_spelled(values)))

    def has_copy(self, text: str) -> bool:
        """Whether a text holds one of the secrets that cannot be an ordinary word."""
        return any(True for _ in self.secrets.copies(text))

    def in_text(self, text: str) -> bool:
        """Whether a text holds a secret that its name does not tell: one that ``shown`` masks."""
        return bool(written_spans(text)) or self.has_copy(text)

    def variable(self, name: str, value: str) -> bool:
        """Whether a variable's value is not to be shown."""
        return is_secret(name) or self.in_text(value)

    def value_of(self, name: str, value: str) -> str:
        """Return a variable's value as it may be shown."""
        return MASK if is_secret(name) else self.shown(value)

    def shown(self, text: str) -> str:
        """Return a text whose name tells nothing, with what is secret in it masked."""
        return mask_lines(text, self.secrets)

    def keyed(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return a mapping with what is secret in its keys masked; each key stays one of its own."""
        found: dict[str, Any] = {}
        for key, value in values.items():
            shown = self.shown(str(key))
            while shown in found:
                shown += MASK
            found[shown] = value
        return found

    def masked(self, value: Any, secret: bool = False) -> Any:
        """Return plain data with what is secret in it masked, by names and by values."""
        if isinstance(value, dict):
            inside = {key: self.masked(inner, secret or tells(str(key), inner)) for key, inner in value.items()}
            return self.keyed(inside)
        if isinstance(value, list):
            return [self.masked(inner, secret) for inner in value]
        held = is_held(value)
        if isinstance(value, str) and not (secret and held):
            return self.shown(value)
        return MASK if held and (secret or self.has_copy(str(value))) else value
