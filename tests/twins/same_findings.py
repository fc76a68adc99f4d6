"""What is found in a fixture and in its twins: codes, severities, and the text that is meant, however it is spelled."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from fixture import Files, Fixture
from twins import FORMS

from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.read import read_texts
from pd_launch.schemas.core.values import SourceFile
from pd_launch.schemas.finding import Finding

PLAIN = "single"
"""The form that the made ones are compared with."""
ENGINE = "the engine"
"""Stands for a place that is no word of the engine's: each form has another one for the engine as a whole."""
_SPELLING = re.compile(r"[\\'\"`\s$,:=|>_-]+")
_BLANK = re.compile(r"\s")

Found = Counter[tuple[str, str, str]]


def found_in(fixture: Fixture, files: Files, words: frozenset[str]) -> Found:
    """Return what is found, each with its severity and with what it is about."""
    found = check(read_texts(files, target=fixture.target, host=fixture.host))
    return Counter((f.code, f.severity, meant(f, files, words)) for f in found)


def meant(finding: Finding, files: Files, words: frozenset[str]) -> str:
    """Return the flagged text without its spelling where it is a part of the engine's words, else ``ENGINE``."""
    source = SourceFile(finding.file, files.get(finding.file, ""))
    start, end = source.offset(finding.line, finding.column), source.offset(finding.end_line, finding.end_column)
    text = bare(source.text[start:end])
    return text if text and any(text in word for word in words) else ENGINE


def bare(text: str) -> str:
    """Return a text without what only spells it: quotes, escapes, blanks, signs of YAML and JSON between values."""
    return _SPELLING.sub("", text)


def words_of(fixture: Fixture) -> frozenset[str]:
    """Return the words of a fixture's engines as they are compared."""
    return frozenset(bare(word) for engine in fixture.engines for word in [*engine.words, *sum(engine.env, ())])


_PARTS: dict[tuple[str, str], list[tuple[str, Fixture]]] = {}


def parts(fixture: Fixture) -> list[tuple[str, Fixture]]:
    """Return each script of a fixture as one of its own, by the beginning of its name; their engines are read once."""
    key = fixture.code, fixture.name
    if key not in _PARTS:
        _PARTS[key] = [
            (name.rpartition(".")[0], Fixture(fixture.code, fixture.name, {name: text}, fixture.target, fixture.host))
            for name, text in sorted(fixture.files.items())
            if name.endswith(".sh")
        ]
    return _PARTS[key]


def made_twin(fixture: Fixture, form: str) -> Files | None:
    """Return a fixture of scripts in another form; files of several scripts are told apart by the scripts' names.

    A compose file and a description are each a deployment of their own: they hold all engines of a fixture.
    """
    scripts = parts(fixture)
    if not scripts or len(scripts) < len(fixture.files) or not all(part.engines for _, part in scripts):
        return None
    write = FORMS[form].write
    if len(scripts) == 1:
        return write(scripts[0][1])
    if is_whole(form):
        return write(whole(fixture))
    files: Files = {}
    for name, part in scripts:
        written = write(part)
        if written is None or len(written) != 1:
            return None
        files.update({_named(name, file): text for file, text in written.items()})
    return files


def _named(script: str, file: str) -> str:
    stem, dot, ending = file.partition(".")
    return f"{script}{dot}{ending}" if dot else f"{stem}.{script}"


def is_whole(form: str) -> bool:
    """Whether a file of a form is a deployment of its own."""
    return form.startswith(("compose", "e2e"))


def compared(fixture: Fixture, form: str) -> tuple[Files, Files] | None:
    """Return what a form's twin is compared with, and the twin; None where the form cannot express the fixture.

    A text that is kept is compared with the fixture. What is made is compared with a plain script of the same words.
    """
    if not FORMS[form].made:
        twin = FORMS[form].write(fixture)
        return None if twin is None else (fixture.files, twin)
    twin = made_twin(fixture, form)
    plain = FORMS[PLAIN].write(whole(fixture)) if is_whole(form) else made_twin(fixture, PLAIN)
    return None if twin is None or plain is None else (plain, twin)


def whole(fixture: Fixture) -> Fixture:
    """Return a fixture of several scripts as one that has all their engines."""
    engines = tuple(engine for _, part in parts(fixture) for engine in part.engines)
    return Fixture(fixture.code, fixture.name, fixture.files, fixture.target, fixture.host, engines)


def changes(before: Found, after: Found) -> Iterator[str]:
    """Iterate over what another form has less, and what it has more: ``-PD401 error 8000``."""
    for sign, left in (("-", before - after), ("+", after - before)):
        yield from (f"{sign}{code} {severity} {text}" for (code, severity, text) in sorted(left.elements()))
