"""Engines in texts that are no scripts: Markdown, changelogs, descriptions. Fenced blocks are read, and lines that
begin with a command; a sentence that speaks of ``vllm serve`` starts nothing.

Whether such a text is meant to be run is a guess. So each part is read by itself, and nothing about its grammar is an
error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import NamedTuple

from pd_launch.launcher.sources.engine.wrapped import SHELLS, STARTS, is_wrapper
from pd_launch.launcher.sources.text.weave import Weaver, concat
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.values import HOLE, SourceFile, Text

_SCRIPTS = (".sh", ".bash", ".zsh", ".sbatch", ".slurm", ".yaml", ".yml", ".json", ".service", "file")
_FENCE = lazy_pattern(
    r"^(?P<indent>[ \t]{0,40}(?:>[ ])?)(?P<mark>`{3,20}|~{3,20})[ ]{0,8}(?P<language>[\w+.-]{0,40})[^\n`]{0,400}$",
    re.MULTILINE,
)
_SHELLS = ("", "bash", "sh", "shell", "zsh", "console", "shell-session", "shellsession", "terminal", "cmd", "text")
"""Languages of blocks that are read as scripts."""
_OTHERS = {
    **dict.fromkeys(("yaml", "yml", "json", "jsonc"), "yaml"),
    **dict.fromkeys(("python", "py", "python3"), "python"),
    **dict.fromkeys(("dockerfile", "docker", "containerfile"), "dockerfile"),
}
"""Languages of blocks that are read as files of their own."""
_MOST_BLOCKS = 100
"""Such blocks of a text that are read."""
_PAGE = lazy_pattern(r"<(?:pre|code)\b", re.IGNORECASE)
_MARKUP = lazy_pattern(
    r"</?(?:(?P<apart>pre|p|br|div|li|ul|ol|td|tr|h[1-6])|code|span|b|i|em|strong|a|kbd|samp|tt|mark|font)"
    r"(?:[\s/][^<>]{0,400})?>|(?P<sign>&(?:amp|lt|gt|quot|apos|nbsp|#[0-9]{1,6}|#[xX][0-9a-fA-F]{1,5});)",
    re.IGNORECASE,
)
"""What a browser does not show as it is. Other words in angle brackets are placeholders: ``<model>``."""
_PROMPT = lazy_pattern(r"[ \t]{0,40}(?:\([\w.-]{1,40}\) )?(?:[\w.@:~/-]{0,80})?[$#>] (?=\S)")
_DOLLAR = lazy_pattern(r"^[ \t]{0,40}(?:\([\w.-]{1,40}\) )?(?:[\w.@:~/-]{0,80})?\$ \S", re.MULTILINE)
_BULLET = lazy_pattern(r"[ \t]{0,40}(?:[-*+] |\d{1,3}[.)] )?(?:\*\*)?")
_FIRST_WORD = lazy_pattern(r"[A-Z][a-z'’]{0,30},?")
_WORD = lazy_pattern(r"[a-z][a-z'’-]{0,40}[,.;:!?]?")
_SHELL_SIGN = lazy_pattern(r"[=|&<>$\\]")
_HEREDOC = lazy_pattern(r"<<-?[ ]?[\\'\"]?[A-Za-z_]")
_ASSIGNMENT = lazy_pattern(r"[A-Za-z_]\w{0,80}=\S*")
_CONNECTED = lazy_pattern(r"(?:&&|\|\||[;|({!'\"`]|\b(?:then|do|else|in|exec))[ \t]*\Z")
"""How the words before a command end where it is one: what a shell puts between commands, or an opened quote."""
_CARRIERS = frozenset(
    {"docker", "podman", "nerdctl", "kubectl", "ssh", "uv", "uvx", "conda", "mamba", "micromamba", "poetry", "pixi"}
    | {"torchrun", "accelerate", "mpirun", "mpiexec", "xargs", "tmux", "screen", "su", "runuser", "flock", "parallel"}
    | {"python", "python3", "ray", "pipenv", "hatch", "pdm", "singularity", "apptainer", "enroot", "eval", "source"}
    | {"sbatch", "pdsh", "systemd-run", "cd", "export", "echo", "if", "for", "while", "mkdir", "wget", "curl", "watch"}
)
"""Programs that a line with an engine in it may begin with, beside wrappers and shells."""
_RUNS_IMAGE = lazy_pattern(r"\b(?:docker|podman|nerdctl)[ \t](?:[^\n]{0,200}[ \t])?run[ \t]")
"""The start of a container, whose image may be one of vLLM."""
_PROXIES = lazy_pattern(r"\bvllm-router\b|proxy[\w-]{0,60}\.py\b")
"""Where a block of a text starts a proxy."""
_NEXT = lazy_pattern(rf"""\s{{0,40}}(?:[-\\&|>;#$"'`{{)\]{HOLE}]|\Z)""")
_PLAIN = lazy_pattern(r"\s{0,40}(?P<word>\S{1,400})")


def is_prose(source: SourceFile) -> bool:
    """Whether a file whose name says nothing is a text for people: by its blocks, or as it has sentences."""
    if source.text.startswith("#!") or source.path.endswith(_SCRIPTS):
        return False
    return reads_as_prose(source.text)


def reads_as_prose(text: str) -> bool:
    """Whether a text is one for people: one of six lines, or more, is a sentence, or it has fenced blocks."""
    if not speaks_of_engines(text):
        return False
    written, fence = _HEREDOC.search(text), _FENCE.search(text)
    if fence is not None and (written is None or fence.start() < written.start()):
        return True
    if written is not None:  # a script that writes something for people
        return False
    lines = [line for line in text.split("\n")[:400] if line.strip() and not line.lstrip().startswith("#")]
    told = sum(1 for line in lines if _is_sentence(line))
    return told > 0 and 6 * told >= len(lines)


def _is_sentence(line: str) -> bool:
    """Whether a line speaks to people: a capital letter, small words, and nothing that a shell acts on."""
    bullet = _BULLET.match(line)
    words = line[bullet.end() if bullet else 0 :].split()
    if not words or not _FIRST_WORD.fullmatch(words[0]) or _SHELL_SIGN.search(line):
        return False
    return sum(1 for word in words[1:] if _WORD.fullmatch(word)) >= 2


def speaks_of_engines(text: str) -> bool:
    """Whether a text names the start of an engine anywhere."""
    return STARTS.search(text) is not None or (_RUNS_IMAGE.search(text) is not None and "vllm" in text)


def is_script_text(text: str) -> bool:
    """Whether a text of another form is a script: a line of it begins with a command that starts an engine."""
    return any(True for _ in _calls(text, 0, len(text)))


def parts_of_prose(text: Text) -> Iterator[Text]:
    """Iterate over what a text for people may let be run: its fenced blocks, and lines that begin with a command."""
    value, at = text.value, 0
    for block in _blocks(value):
        yield from _single_lines(text, at, block.before)
        at = block.behind
        shown = value[block.start : block.end]
        if block.language in _SHELLS and (speaks_of_engines(shown) or _PROXIES.search(shown)):
            inside = _unindented(text, block.start, block.end, block.indent)
            yield from _of_console(inside) if _DOLLAR.search(inside.value) else [inside]
    yield from _single_lines(text, at, len(value))


def blocks_of(source: SourceFile) -> Iterator[tuple[str, SourceFile]]:
    """Iterate over the first blocks of other languages that speak of vLLM, each on its own lines of the file."""
    found = 0
    for block in _blocks(source.text):
        inside = source.text[block.start : block.end]
        language = _OTHERS.get(block.language)
        if language is not None and "vllm" in inside.lower() and found < _MOST_BLOCKS:
            found += 1
            line, _ = source.place(block.start)
            yield language, SourceFile(source.path, "\n" * (line - 1) + inside)


class _Block(NamedTuple):
    """A fenced block: where its fence begins, what is inside, and where the text goes on."""

    language: str
    indent: str
    before: int
    start: int
    end: int
    behind: int


def _blocks(value: str) -> Iterator[_Block]:
    at = 0
    while (fence := _FENCE.search(value, at)) is not None:
        end, at = _end_of_block(value, fence)
        start = min(fence.end() + 1, end)
        yield _Block(fence["language"].lower(), fence["indent"], fence.start(), start, end, at)


def _end_of_block(value: str, fence: re.Match[str]) -> tuple[int, int]:
    """Return where the inside of a block ends, and where the text goes on."""
    at = fence.end()
    while (closing := _FENCE.search(value, at)) is not None:
        same = closing["mark"][0] == fence["mark"][0] and len(closing["mark"]) >= len(fence["mark"])
        if same and not closing["language"]:
            return closing.start(), closing.end()
        at = closing.end()
    return len(value), len(value)


def _unindented(text: Text, start: int, end: int, indent: str) -> Text:
    """Return a block without the blanks that its fence has before it."""
    if not indent:
        return text.part(start, end)
    parts, at = [], start
    while at < end:
        stop = text.value.find("\n", at, end)
        stop = end if stop < 0 else stop + 1
        line = text.value[at:stop]
        cut = len(indent) if line.startswith(indent) else len(line) - len(line.lstrip(" \t"))
        parts.append(text.part(at + min(cut, len(line)), stop))
        at = stop
    return concat(parts, text.source, text.spots[start]) if parts else text.part(start, end)


def _of_console(block: Text) -> Iterator[Text]:
    """Iterate over the commands that a block shows after prompts, each with the lines that it goes on in."""
    for start, end in _logical_lines(block.value, 0, len(block.value)):
        prompt = _PROMPT.match(block.value, start, end)
        if prompt is not None and speaks_of_engines(block.value[prompt.end() : end]):
            yield block.part(prompt.end(), end)


def _single_lines(text: Text, start: int, end: int) -> Iterator[Text]:
    if _PAGE.search(text.value, start, end):
        text = _as_shown(text.part(start, end))
        start, end = 0, len(text.value)
    for first, last in _calls(text.value, start, end):
        yield text.part(first, last)


def _as_shown(text: Text) -> Text:
    """Return a stretch of a page as a browser shows it: no tags, and signs in place of their names."""
    weaver, at = Weaver(text), 0
    for match in _MARKUP.finditer(text.value):
        weaver.take(at, match.start(), None)
        at = match.end()
        if match["sign"]:
            weaver.fill(unescape(match["sign"]).replace("\xa0", " "), match.start())
        elif match["apart"]:
            weaver.fill("\n", match.start())
    weaver.take(at, len(text.value), None)
    return weaver.text(len(text.value))


def _calls(value: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Iterate over the lines of a text that begin with a command which starts an engine, without their prompts."""
    if not speaks_of_engines(value[start:end]):
        return
    for first, last in _logical_lines(value, start, end):
        line = value[first:last]
        prompt = _PROMPT.match(line) if line.lstrip()[:1] in ("$", "(") else None
        begun = prompt.end() if prompt is not None else 0
        if _is_call(line[begun:]):
            yield first + begun, last


def _is_call(line: str) -> bool:
    """Whether a line begins with a command that starts an engine, or a container which may be one."""
    found, image = STARTS.search(line), _RUNS_IMAGE.search(line)
    if image is not None and "vllm" in line and _is_command(line[: image.start()]):
        return True
    return found is not None and _is_command(line[: found.start()]) and _has_arguments(line[found.end() :])


def _is_command(before: str) -> bool:
    """Whether a line with this before the engine's command begins with a command, and is no sentence."""
    words = before.split()
    while words and _ASSIGNMENT.fullmatch(words[0]):
        words.pop(0)
    if not words or _CONNECTED.search(before):
        return True
    program = words[0]
    if program.startswith(("$", "{{", "(", "[", "./", "<%", HOLE)) or "/" in program:
        return True
    return program in _CARRIERS or program in SHELLS or is_wrapper(program) or program.startswith("python")


def _has_arguments(behind: str) -> bool:
    """Whether what follows the command can be its arguments: a model, then options or the end."""
    if _NEXT.match(behind):
        return True
    model = _PLAIN.match(behind)
    if model is None or model["word"].endswith((",", ".", ":")):
        return False
    return _NEXT.match(behind, model.end()) is not None


def _logical_lines(value: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Iterate over lines, one that ends with a backslash together with the next."""
    first = at = start
    while at < end:
        stop = value.find("\n", at, end)
        stop = end if stop < 0 else stop
        if stop == end or not value[at:stop].rstrip(" \t\r").endswith("\\"):
            yield first, stop
            first = stop + 1
        at = stop + 1
