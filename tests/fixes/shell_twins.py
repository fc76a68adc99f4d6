"""Twins of scripts: words in all kinds of quotes, and what may be around a command."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fixture import Engine, Files, Fixture

IMAGE = "example/engine:1"
"""An image whose name says of no release or family that it holds one."""
AS_HOST = "--net=host --ipc=host -v /etc:/etc"
_PLAIN = re.compile(r"[\w@%+=:,./-]+", re.ASCII)


def needs_quotes(word: str) -> bool:
    return _PLAIN.fullmatch(word) is None


def bare(word: str) -> str | None:
    if "\n" in word or not word:
        return None
    return re.sub(r"([^\w@%+=:,./-])", r"\\\1", word, flags=re.ASCII)


def single(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


def double(word: str) -> str:
    return '"' + re.sub(r'([\\"$`])', r"\\\1", word) + '"'


def ansi(word: str) -> str:
    return "$'" + re.sub(r"([\\'])", r"\\\1", word).replace("\n", "\\n").replace("\t", "\\t") + "'"


def by_turns(word: str) -> str:
    """Write the parts of a word in other quotes each: ``'{"a": '"\\"b\\""'}'``."""
    parts = re.split(r"(?<=[:,]) ", word)
    written = [
        (single, double, ansi)[i % 3](part + (" " if i + 1 < len(parts) else "")) for i, part in enumerate(parts)
    ]
    return "".join(written)


def value_apart(word: str) -> str:
    """Write the first short text of JSON in double quotes between single ones, as a variable would stand there."""
    match = re.search(r'(?<=")[\w./:-]+(?=")', word)
    if match is None:
        return single(word)
    start, end = match.span()
    return f"{single(word[:start])}{double(word[start:end])}{single(word[end:])}"


def parsed(word: str) -> dict[str, Any] | None:
    """Return the object that a word is, if it is one whose text can be written anew."""
    if not word.lstrip().startswith("{"):
        return None
    twice = False

    def pairs(entries: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal twice
        twice = twice or len(dict(entries)) < len(entries)
        return dict(entries)

    try:
        found = json.loads(word, object_pairs_hook=pairs)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and not twice else None


def on_lines(word: str) -> str:
    """Return the JSON of a word with a line for each entry; another word as it is."""
    found = parsed(word)
    return word if found is None else json.dumps(found, indent=2, ensure_ascii=False)


def dense(word: str) -> str:
    found = parsed(word)
    return word if found is None else json.dumps(found, separators=(",", ":"), ensure_ascii=False)


def double_on_lines(word: str) -> str:
    return double(on_lines(word))


def double_continued(word: str) -> str:
    """Write JSON in double quotes over several lines whose ends are escaped: to the engine it is one line."""
    found = parsed(word)
    if found is None:
        return double(word)
    lines = json.dumps(found, indent=1, ensure_ascii=False).split("\n")
    return '"' + " \\\n".join(double(line.strip())[1:-1] for line in lines) + '"'


Quote = Callable[[str], "str | None"]


@dataclass
class Writer:
    """Writes engines as lines of a script; ``found`` is false once something cannot be written."""

    quote: Quote = single
    every: bool = False
    glued: bool = False
    between: str = " \\\n  "
    prefix: str = "vllm serve"
    inline: bool = False
    found: bool = True
    before: list[str] = field(default_factory=list)

    def word(self, word: str) -> str:
        if not self.every and not needs_quotes(word):
            return word
        flag, sign, value = word.partition("=")
        if sign and re.fullmatch(r"--?[\w.-]+", flag) and value:
            return f"{flag}={self.word(value)}"
        written = self.quote(word)
        self.found = self.found and written is not None
        return written or "''"

    def command(self, engine: Engine) -> str:
        words = glued(engine.words) if self.glued else list(engine.words)
        lines = [""]
        for index, word in enumerate(words):
            if index and word.startswith("-"):
                lines.append("")
            lines[-1] += f" {self.word(word)}" if lines[-1] else self.word(word)
        start = self.prefix
        if self.inline:
            start = "".join(f"{name}={self.word(value) or single('')} " for name, value in engine.env) + start
        return " ".join([start, self.between.join(lines)]).rstrip()

    def exports(self, engine: Engine, earlier: dict[str, str]) -> list[str]:
        changed = [(n, v) for n, v in engine.env if earlier.get(n) != v] if not self.inline else []
        earlier.update(changed)
        return [f"export {name}={self.word(value) if value else ''}" for name, value in changed]

    def script(self, engines: tuple[Engine, ...]) -> str | None:
        lines: list[str] = []
        earlier: dict[str, str] = {}
        for engine in engines:
            lines += self.exports(engine, earlier)
            lines.append("# the engine")
            command = self.command(engine)
            lines += [*self.before, command + (" &" if len(engines) > 1 else "")]
            self.before = []
        return "\n".join(lines) + "\n" if self.found and engines else None


def glued(words: tuple[str, ...]) -> list[str]:
    """Return the words with ``--flag=value`` for a flag that has one value."""
    found: list[str] = []
    for index, word in enumerate(words):
        flag = words[index - 1] if index else ""
        alone = all(w.startswith("-") for w in words[index + 1 : index + 2])
        if re.fullmatch(r"--[\w-]+", flag) and found[-1] == flag and not word.startswith("-") and alone:
            found[-1] = f"{flag}={word}"
        else:
            found.append(word)
    return found


def script_of(fixture: Fixture, **how: Any) -> str | None:
    return Writer(**how).script(fixture.engines)


def script_file(text: str | None) -> Files | None:
    return None if text is None else {"script.sh": f"#!/bin/bash\n{text}"}


def written(**how: Any) -> Callable[[Fixture], Files | None]:
    """Return the form of a script whose words are written so."""
    return lambda fixture: script_file(script_of(fixture, **how))


def words_changed(change: Callable[[str], str], **how: Any) -> Callable[[Fixture], Files | None]:
    """Return the form of a script with other words that mean the same; None where no word is another one."""

    def write(fixture: Fixture) -> Files | None:
        engines = tuple(Engine(tuple(map(change, e.words)), e.env) for e in fixture.engines)
        return script_file(Writer(**how).script(engines)) if engines != fixture.engines else None

    return write


def in_array(fixture: Fixture) -> Files | None:
    lines: list[str] = []
    earlier: dict[str, str] = {}
    writer = Writer()
    for number, engine in enumerate(fixture.engines):
        body = "\n".join(f"  {writer.word(word)}" for word in engine.words)
        lines += [
            *writer.exports(engine, earlier),
            f"ARGS{number}=(\n{body}\n)",
            f'vllm serve "${{ARGS{number}[@]}}" &',
        ]
    return script_file("\n".join(lines) + "\n") if lines else None


def in_variables(quote: Quote) -> Callable[[Fixture], Files | None]:
    """Return the form in which every value that is no flag stands in a variable."""

    def write(fixture: Fixture) -> Files | None:
        lines: list[str] = []
        earlier: dict[str, str] = {}
        writer = Writer(quote=quote, every=True)
        for engine in fixture.engines:
            words = []
            lines += writer.exports(engine, earlier)
            for word in engine.words:
                if word.startswith("-") or not word:
                    words.append(writer.word(word))
                    continue
                lines.append(f"VALUE{len(lines)}={writer.word(word)}")
                words.append(f'"$VALUE{len(lines) - 1}"')
            lines.append(f"vllm serve {' '.join(words)} &")
        return script_file("\n".join(lines) + "\n") if lines and writer.found else None

    return write


def behind_env(fixture: Fixture) -> Files | None:
    """Write engines that ``env`` gives their variables."""
    lines = []
    for engine in fixture.engines:
        writer = Writer()
        given = "".join(f" {name}={writer.word(value) if value else ''}" for name, value in engine.env)
        writer.prefix = f"env{given} vllm serve"
        lines.append(f"{writer.command(engine)} &\n")
    return script_file("".join(lines)) if lines else None


def by_function(fixture: Fixture) -> Files | None:
    """Write engines whose words are the arguments of a function."""
    lines = ['serve() {\n  vllm serve "$@"\n}']
    earlier: dict[str, str] = {}
    for engine in fixture.engines:
        writer = Writer(prefix="serve", quote=double)
        lines += [*writer.exports(engine, earlier), f"{writer.command(engine)} &"]
    return script_file("\n".join(lines) + "\n") if fixture.engines else None


def by_lines(text: str) -> list[str]:
    """Return the lines of a text, each with its end."""
    return text.splitlines(True)


def indented(text: str, by: str = "  ") -> str:
    return "".join(by + line if line.strip() else line for line in text.splitlines(True))


def _inside(text: str) -> str:
    """Return a script as it stands inside something: indented, unless a line of it begins inside a word."""
    lines = text.splitlines()
    apart = any(not (line.startswith(("  ", "export", "vllm", "#"))) for line in lines)
    return text if apart else indented(text)


def around(before: str, behind: str, **how: Any) -> Callable[[Fixture], Files | None]:
    def write(fixture: Fixture) -> Files | None:
        text = script_of(fixture, **how)
        return None if text is None else script_file(f"{before}\n{_inside(text)}{behind}\n")

    return write


def handed(start: str, quote: Quote, /, **how: Any) -> Callable[[Fixture], Files | None]:
    """Return the form in which another shell is given the script as a word."""

    def write(fixture: Fixture) -> Files | None:
        text = script_of(fixture, **how)
        word = None if text is None else quote(text.strip())
        return None if word is None else script_file(f"{start} {word}\n")

    return write


def heredoc(start: str, quoted: bool, behind: str = "", **how: Any) -> Callable[[Fixture], Files | None]:
    def write(fixture: Fixture) -> Files | None:
        text = script_of(fixture, **how)
        if text is None:
            return None
        body = text if quoted else re.sub(r"([\\$`])", r"\\\1", text)
        return script_file(f"{start} <<{single('EOF') if quoted else 'EOF'}\n{body}EOF\n{behind}")

    return write


def docker(quote: Quote | None = None, program: str = "docker") -> Callable[[Fixture], Files | None]:
    """Return the form of a container whose command is the engine, or a shell that is given it in ``quote``."""

    def write(fixture: Fixture) -> Files | None:
        lines = []
        for number, engine in enumerate(fixture.engines):
            writer = Writer()
            given = "".join(f"  -e {name}={writer.word(value) if value else ''} \\\n" for name, value in engine.env)
            command = writer.command(engine)
            if quote is not None:
                word = quote(" ".join([writer.prefix, *map(writer.word, engine.words)]))
                command = f"bash -c {word}"
            lines.append(f"{program} run --rm {AS_HOST} --name engine{number} \\\n{given}  {IMAGE} {command} &\n")
        return script_file("".join(lines)) if lines else None

    return write
