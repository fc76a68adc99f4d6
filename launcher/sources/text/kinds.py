"""What kind of file a text is, where no parser is needed to tell: script, Python, YAML, too large to be one."""

from __future__ import annotations

import ast
import re
import warnings

from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.values import SourceFile

_NAMED = (".sh", ".bash", ".yaml", ".yml", ".json", ".service", ".conf", ".md")
"""How names end that say what else than Python a file is."""
_MOST_PYTHON = 500_000
"""Characters of a file that is tried as Python without being named so."""
_DOCUMENT = lazy_pattern(r"^---", re.MULTILINE)
_LEADING = lazy_pattern(
    r"\ufeff?(?:[ \t]*(?:#(?!!)[^\n]*|%(?:YAML|TAG) [^\n]*|\{\{[^\n]*\}\}|\{[%#][^\n]*[%#]\}"
    r"|---(?:[ \t][^\n]*)?)?\r?\n)*"
)
"""What may be before the first line of YAML: comments, licences and modelines among them, directives, ``---``, and
lines of a template."""
_STARTED = lazy_pattern(r"^---(?:\s|\Z)", re.MULTILINE)
_ENTRY = lazy_pattern(r"(?P<indent>[ ]{0,80})(?:-[ ]+)?[\"']?[A-Za-z_$][\w./$-]{0,100}[\"']?[ ]{0,8}:(?:[ \r\n]|\Z)")
"""A line of YAML that begins an entry of a mapping. No shell has such a command."""
_JSON = lazy_pattern(r'[ \t\r\n]{0,200}(?:\{\s{0,200}"|\[\s{0,200}\{)')
_KEYS = ("version", "apiVersion", "services", "kind", "test_name", "model", "test_cases", "deployment", "templates")
_FORM = lazy_pattern(rf"^[\"']?(?:{'|'.join(_KEYS)})[\"']?:(?:[ \r]|$)", re.MULTILINE)
"""A key of a known form, at the beginning of a line."""
_OBJECT = lazy_pattern(r"^(?:apiVersion|services):(?:[ \r]|$)", re.MULTILINE)
PROSE = (".md", ".markdown", ".mdx", ".rst", ".adoc", ".asciidoc", ".html", ".htm")
_SECTION = lazy_pattern(
    r"\ufeff?(?:[ \t\r]*(?:[#;](?!!)[^\n]*)?\n)*[ \t]*\[(?:Unit|Service|Install)\][ \t\r]*$", re.MULTILINE
)
"""The first section of a unit, after comments."""
_IMPORT = lazy_pattern(r"^\ufeff?(?:import|from)[ \t]+[A-Za-z_][\w.]*", re.MULTILINE)


def is_script(source: SourceFile) -> bool:
    """Whether a file is a shell script by its name or its first line."""
    return source.path.endswith((".sh", ".bash")) or re.match(r"#!.*\b(?:ba|da|z|k)?sh\b", source.text) is not None


def is_python(source: SourceFile) -> bool:
    """Whether a file is Python: by its name or its first line, else as it imports something and Python can read it."""
    if source.path.endswith(".py"):
        return True
    if source.text.startswith("#!"):
        return "python" in source.text.split("\n", 1)[0]
    if source.path.endswith(_NAMED) or not _IMPORT.search(source.text) or len(source.text) > _MOST_PYTHON:
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(source.text.removeprefix("\ufeff"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def opens_like_yaml(text: str) -> bool:
    """Whether a text begins as a known form of YAML does, after comments and what else may be before it."""
    if text.startswith("#!"):
        return False
    leading = _LEADING.match(text)
    start = leading.end() if leading else 0
    if _STARTED.search(text, 0, start):
        return True
    first = _ENTRY.match(text, start)
    return first is not None and not first["indent"] and _FORM.search(text) is not None


def is_object(text: str) -> bool:
    """Whether a text that opens like YAML is a manifest or a compose file, also where the rest of it is wrong."""
    return opens_like_yaml(text) and _OBJECT.search(text) is not None


def may_be_yaml(text: str) -> bool:
    """Whether a text may be YAML of no known form, or JSON: its first two lines are entries of mappings."""
    if text.startswith("#!"):
        return False
    if _JSON.match(text):
        return True
    leading = _LEADING.match(text)
    entries = 0
    for line in text[leading.end() if leading else 0 :][:4000].split("\n"):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if not _ENTRY.match(f"{line}\n") and not (entries and line.lstrip().startswith("- ")):
            return False
        entries += 1
        if entries == 2:
            return True
    return False


def is_large(source: SourceFile, most: int) -> bool:
    """Whether a file is larger than it may be; of YAML each document counts alone."""
    if _bytes(source.text) <= most:
        return False
    is_yaml = source.path.endswith((".yaml", ".yml")) or opens_like_yaml(source.text)
    return not is_yaml or any(_bytes(document) > most for document in _DOCUMENT.split(source.text))


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def is_named_prose(source: SourceFile) -> bool:
    """Whether a file is a text for people by its name."""
    return source.path.lower().endswith(PROSE) and not source.text.startswith("#!")


def is_unit(source: SourceFile) -> bool:
    """Whether a file is a unit of a service of systemd, or a drop-in of one."""
    return source.path.endswith(".service") or bool(_SECTION.match(source.text))
