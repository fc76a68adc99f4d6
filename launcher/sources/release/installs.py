"""Lines of an input that install an engine: ``pip install vllm==X``, ``uv run --with vllm==X``, ``FROM``.

Only an exact pin names a release; a variable does where the file sets it once, to a plain version.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from pd_launch.launcher.sources.release.image_names import image_name
from pd_launch.launcher.sources.text.per_file import is_comment, line_start, per_file
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.values import SourceFile

MAX_INSTALLS = 500
MAX_CONTINUED = 40
MAX_LOOKED_AT = 3000
MAX_BEHIND = 500
_PACKAGE = lazy_pattern(
    r"(?<![\w./@-])(?P<name>vllm[-_]ascend|vllm)(?![\w/.-])(?:\[[\w ,.-]{0,80}\])?"
    r"(?:[ \t]?(?:==|@(?=v?\d))[ \t]?(?P<version>v?\d[\w.+!-]{0,60}|\$\{?\w{1,60}\}?)(?![\w.*$]))?"
)
_TOOLS = lazy_pattern(r"(?<![\w./-])(?:pip3?(?:\.\d+)?|uv|uvx|pipx|pdm|poetry)(?![\w.-])")
_WANTS = lazy_pattern(r"(?<!\S)[\"']?(?:install|add|--with|--from|--with=\S*|--from=\S*)(?![\w-])")
_NO_INSTALL = lazy_pattern(
    r"(?:[ \t]{1,8}-\S{1,60}){0,9}[ \t]{1,8}(?:uninstall|remove|freeze|list|show|tree|check|cache|index)(?![\w-])"
)
"""What comes after a tool that does not install what it names."""
_ALONE = lazy_pattern(r"[ \t]*(?:-[ \t]+)?[\"']?")
_TALKS = lazy_pattern(r"[ \t]*(?:echo|printf|log|die)\b")
_RUNS = lazy_pattern(r"(?<![\w./-])(?:uvx|uv)(?![\w.-])(?!.*\binstall\b)", re.DOTALL)
_STARTED = lazy_pattern(r"(?<![\w./-])(?:vllm|serve|python3?)(?![\w-])")
_FROM = lazy_pattern(r"^[ \t]*FROM[ \t]+(?:--platform=\S+[ \t]+)?(?P<image>[^\s\"']+)", re.MULTILINE)
_RUNS_IMAGE = lazy_pattern(r"(?:--container-image[= ][\"']?|(?=\b(?:docker|oci)://))(?P<image>[^\s\"']+)")


@dataclass(frozen=True)
class Install:
    """One line: of which family, which version (None: not known), and where it is written, as offsets."""

    ascend: bool
    version: str | None
    start: int
    end: int
    text: str
    image: bool = False
    """Whether it names an image to run in, not one to build on or a package."""
    own: bool = False
    """Whether it is installed for the one command that it is an option of, as by ``uv run --with``."""
    line: int = 1


class CommandLine(SourceFile):
    """The command after ``--``: it has no lines to show, as each word is a text of its own."""

    def __init__(self, path: str, words: Sequence[str]) -> None:
        super().__init__(path, "")
        self.words = words


@per_file
def installs(source: SourceFile) -> list[Install]:
    """Return what the lines of a file install, in their order."""
    if isinstance(source, CommandLine):
        source = SourceFile(source.path, " ".join(source.words))
    if "vllm" not in source.text:
        return []
    found = [*islice(_packages(source), MAX_INSTALLS), *islice(_images(source, _FROM, False), MAX_INSTALLS)]
    found += islice(_images(source, _RUNS_IMAGE, True), MAX_INSTALLS)
    ordered = sorted(found, key=lambda install: install.start)
    return [replace(install, line=source.place(install.start)[0]) for install in ordered]


def _packages(source: SourceFile) -> Iterator[Install]:
    text = source.text
    if not _TOOLS.search(text) and "==" not in text:
        return
    for match in islice(_PACKAGE.finditer(text), MAX_LOOKED_AT):
        pinned = match["version"] is not None
        if is_comment(text, match.start()) or not _is_installed(text, match, pinned):
            continue
        version = _version(source, match["version"]) if pinned else None
        own = _is_of_its_command(text, match)
        yield Install(match["name"] != "vllm", version, match.start(), match.end(), match.group(), own=own)


def _is_installed(text: str, match: re.Match[str], pinned: bool) -> bool:
    """Whether a package is named where it is installed: after a tool, or pinned and alone on its line."""
    start = _line_start(text, match.start())
    before = text[start : match.start()]
    if _TALKS.match(before):
        return False
    tools = [tool.end() for tool in _TOOLS.finditer(before)]
    if tools and _NO_INSTALL.match(before, tools[-1]):
        return False
    if tools and (pinned or _WANTS.search(before)):
        return True
    end = text.find("\n", match.end())
    behind = text[match.end() : end if end >= 0 else len(text)].strip(" \t\r\"',\\")
    return pinned and not behind and _ALONE.fullmatch(before) is not None


def _is_of_its_command(text: str, match: re.Match[str]) -> bool:
    before = text[_line_start(text, match.start()) : match.start()]
    behind = text[match.end() : match.end() + MAX_BEHIND].replace("\r", "").replace("\\\n", " ")
    return _RUNS.search(before) is not None and _STARTED.search(behind.partition("\n")[0]) is not None


def _line_start(text: str, at: int) -> int:
    """Return where the line begins that goes on, after backslashes, to ``at``."""
    start = line_start(text, at)
    for _ in range(MAX_CONTINUED):
        if not text.endswith(("\\\n", "\\\r\n"), max(start - 3, 0), start):
            break
        start = line_start(text, start - 1)
    return start


def _version(source: SourceFile, written: str) -> str | None:
    if not written.startswith("$"):
        return written
    name = written.strip("${}")
    values = re.findall(rf"^[ \t]*(?:(?:ARG|ENV|export|readonly)[ \t]+)?{name}=(\S*)", source.text, re.MULTILINE)
    plain = values[0].strip("\"'") if len(values) == 1 else ""
    return plain if re.fullmatch(r"v?\d[\w.+!-]{0,60}", plain) else None


def _images(source: SourceFile, pattern: re.Pattern[str], runs: bool) -> Iterator[Install]:
    for match in pattern.finditer(source.text):
        written = match["image"]
        for variable in re.findall(r"\$\{?\w{1,60}\}?", written):
            written = written.replace(variable, _version(source, variable) or "$")
        named = image_name(written)
        if named.ascend is not None and not is_comment(source.text, match.start()):
            yield Install(named.ascend, named.version, *match.span("image"), match["image"], runs)
