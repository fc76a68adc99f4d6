"""The rules' fixtures, and what their scripts start."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pd_launch.launcher.sources.engine.wrapped import unwrap
from pd_launch.launcher.sources.shell.follow import read_shell
from pd_launch.schemas.core.values import HOLE, SourceFile, Text

RULES = Path(__file__).parent.parent / "rules"
MOST_ENGINES = 4
_PLACEHOLDER = re.compile(r"<[A-Za-z]")
Files = dict[str, str]


@dataclass(frozen=True)
class Engine:
    """The words behind ``vllm serve``, and the variables that the script sets for it."""

    words: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """All that may have to be quoted: the words, and the variables' values."""
        return (*self.words, *(value for _, value in self.env))


@dataclass(frozen=True)
class Fixture:
    """An input of a rule. ``files`` are texts by name, ``host`` the facts of the host.

    ``given`` are its engines where no script says them.
    """

    code: str
    name: str
    files: Files
    target: str | None
    host: dict[str, Any] | None = None
    given: tuple[Engine, ...] = ()

    @property
    def script(self) -> str | None:
        """The text of a fixture that is one shell script."""
        name, text = next(iter(self.files.items()))
        return text if len(self.files) == 1 and name.endswith(".sh") else None

    @cached_property
    def engines(self) -> tuple[Engine, ...]:
        """What a script starts, where all of it is known; else nothing."""
        if self.given:
            return self.given
        if self.script is None or _PLACEHOLDER.search(self.script):
            return ()
        source = SourceFile("script.sh", self.script)
        found: list[Engine] = []
        for command in read_shell(Text.verbatim(source, 0, len(source.text))).commands:
            words, inline = unwrap(command.words)
            if [word.value.rpartition("/")[2] for word in words[:2]] != ["vllm", "serve"]:
                continue
            env = {name: text.value for name, (text, _) in [*command.env.items(), *inline.items()]}
            engine = Engine(tuple(word.value for word in words[2:]), tuple(env.items()))
            if HOLE in "".join([*engine.words, *env, *env.values()]):
                return ()
            if engine not in found:
                found.append(engine)
        return tuple(found) if len(found) <= MOST_ENGINES else ()


def fixtures(kind: str = "fires") -> Iterator[Fixture]:
    """Iterate over the inputs on which the rules fire, or on which they are ``silent``, in order."""
    for path in sorted(RULES.glob(f"PD[0-9]*/*.{kind}*")):
        if path.name.endswith(".host.json"):
            continue
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        texts = {file.name: _read(file) for file in files if file.is_file()}
        beside = path.with_name(f"{path.name.partition('.')[0]}.{kind}.host.json")
        host = texts.pop("host.json", None) or (_read(beside) if beside.exists() else None)
        found = re.search(r"pd-test:.*?target=(\S+)", "\n".join(texts.values()))
        target = found[1] if found else None
        yield Fixture(path.parent.name, path.name, texts, target, json.loads(host) if host else None)


def _read(path: Path) -> str:
    with path.open(encoding="utf-8", newline="") as file:
        return file.read()


def is_harmless(script: str | None) -> bool:
    """Whether bash may run a script: only assignments and engines, and nothing that a shell would do besides."""
    if script is None or re.search(r"\$\(|`|[<>|;]|\$\{[^}\w]|&&|\b(?:eval|source|kill|sudo)\b", script):
        return False
    source = SourceFile("script.sh", script)
    commands = read_shell(Text.verbatim(source, 0, len(source.text))).commands
    return all(command.words[0].value == "vllm" for command in commands)
