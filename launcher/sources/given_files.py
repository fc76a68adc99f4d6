"""What a script gives to programs that are no shells: manifests, units, Python programs and files of other forms."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator, Sequence

from pd_launch.launcher.sources.engine.found import Found
from pd_launch.launcher.sources.engine.scripts_given import (
    INTERPRETERS,
    program_of,
    reads_scripts,
    runs_python,
    target_of,
)
from pd_launch.launcher.sources.engine.unfollowed import not_started
from pd_launch.launcher.sources.engine.wrapped import unwrap
from pd_launch.launcher.sources.engine.written import as_document, is_verbatim, raw_of
from pd_launch.launcher.sources.forms.relocate import read_inside
from pd_launch.launcher.sources.forms.systemd import read_unit
from pd_launch.launcher.sources.forms_table import text_form
from pd_launch.launcher.sources.shell.model import Command
from pd_launch.launcher.sources.shell.weight import word_matters
from pd_launch.launcher.sources.text.kinds import is_unit, may_be_yaml, opens_like_yaml
from pd_launch.launcher.sources.trees.yaml_tree import parse_yaml
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.values import HOLE, Node, SourceFile, Text

Read = Callable[[Sequence[Node], SourceFile, Found], bool]
"""Reads the documents of a file of YAML."""

_TAKES_OBJECTS = ("kubectl", "oc", "k3s", "microk8s", "minikube")
_OBJECT = lazy_pattern(r"(?:--?[\w-]{1,40}=)?\s{0,40}[\[{]")
_ARGUMENTS = lazy_pattern(r"/args\b")
"""Where an operation of a JSON patch changes the arguments of a container, which may be anywhere else an engine."""
_USUAL = {"supervisord": "supervisord.conf", "make": "Makefile", "gmake": "Makefile"}
"""The usual name of the file that a program reads, where it is given one in another way."""
_BUILDS = ("docker", "podman", "nerdctl", "buildah")


def read_given(command: Command, found: Found, documents: Read) -> bool:
    """Read what a command is given, or writes, as what it is; return whether it was of a form that is read here."""
    words, _ = unwrap(command.words)
    name = program_of(words)
    if name in _TAKES_OBJECTS and _objects(words, found, documents):
        return True
    if INTERPRETERS.fullmatch(name) and name.startswith("python") and _program(words, found):
        return True
    body = command.body
    if body is None or not word_matters(body.value):
        return False
    target = target_of(command)
    if opens_like_yaml(body.value) or (_is_yaml(target, body) and not (target == "" and reads_scripts(words))):
        _written_yaml(body, found, documents)
        return True
    if is_unit(SourceFile("", body.value)):
        if (source := _in_place(body)) is not None:
            read_unit(source, found)
        return True
    if runs_python(command):
        return _python(body, found)
    return _form(_name_of(words, target), body, found)


def _is_yaml(target: str, body: Text) -> bool:
    """Whether what a command is given, or writes into a file, is YAML of no known form: values of a chart, plays."""
    if target:
        return target.endswith((".yaml", ".yml", ".json"))
    return body.value.startswith("- ") or may_be_yaml(body.value)


def _name_of(words: Sequence[Text], target: str) -> str:
    """Return the name of the file that a command makes of what it is given; of a build, the usual one."""
    builds = program_of(words) in _BUILDS and any(word.value == "build" for word in words[1:4])
    usual = "" if target else _USUAL.get(program_of(words), "")
    return "Dockerfile" if builds else usual or target.rpartition("/")[2]


def _form(name: str, body: Text, found: Found) -> bool:
    """Read a file of another form that a script writes: a Makefile, a Dockerfile, supervisord's configuration."""
    form = text_form(SourceFile(name, body.value)) if name else None
    if form is not None:
        read_inside(body, found, lambda source, inner: form.read(source, source, inner), name)
    return form is not None


def _objects(words: Sequence[Text], found: Found, documents: Read) -> bool:
    """Read the objects that ``kubectl`` is given as words: ``--overrides='{…}'``, ``patch -p '{…}'``."""

    def read(source: SourceFile, inner: Found) -> None:
        documents(parse_yaml(source)[0], source, inner)

    before = len(found.nodes) + len(found.nested)
    for text in _objects_of(words):
        read_inside(text, found, read)
    return len(found.nodes) + len(found.nested) > before


def _objects_of(words: Sequence[Text]) -> Iterator[Text]:
    for word in words[1:]:
        opened = _OBJECT.match(word.value)
        if opened is not None and (word_matters(word.value) or _ARGUMENTS.search(word.value)):
            yield word.part(opened.end() - 1, len(word.value))


def _program(words: Sequence[Text], found: Found) -> bool:
    """Read the program after ``python -c``."""
    at = next((at for at, word in enumerate(words) if word.value in ("-c", "-uc", "-Sc", "-Bc")), len(words))
    program = next(iter(words[at + 1 : at + 2]), None)
    return program is not None and word_matters(program.value) and _python(program, found)


def _python(program: Text, found: Found) -> bool:
    """Read a Python program that a script runs or writes; return whether it has engines, or is none of Python's."""
    from pd_launch.launcher.sources.python.file import read_python

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(program.value.replace(HOLE, "_"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False  # what is filled in may make it one: it is said where it speaks of an engine
    source = _in_place(program)
    before = len(found.nodes) + len(found.nested)
    if source is not None:
        read_python(source, found)
    else:
        read_inside(program, found, read_python)
    return len(found.nodes) + len(found.nested) > before


def _written_yaml(body: Text, found: Found, documents: Read) -> None:
    """Read a manifest that a script writes or applies: a here-document, at its place in the file."""
    quoting = body.quoting(0)
    plain = quoting is not None and quoting.kind == "heredoc" and not quoting.outer and "\\" not in raw_of(body)
    if not plain and not is_verbatim(body):
        found.add_faults(list(not_started(body)))
        return
    trees, _ = parse_yaml(as_document(body))
    documents(trees, body.source, found)


def _in_place(body: Text) -> SourceFile | None:
    """Return the file with nothing but a here-document in it, at its place; None where it is not verbatim."""
    start, end = body.spots[0], body.spots[-1]
    text = body.source.text
    if text[start:end] != body.value or text[start - 1 : start] not in ("", "\n"):
        return None
    return SourceFile(body.source.path, re.sub(r"[^\n]", " ", text[:start]) + body.value)
