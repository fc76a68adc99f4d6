"""Twins in Python: calls of the engine's classes, lists of words, command lines in all kinds of strings."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from fixture import Engine, Files, Fixture
from shell_twins import Writer, parsed
from yaml_twins import flags, typed


def literal(text: str, style: str) -> str:
    """Write a text as a Python literal: one of ``'``, ``"``, three of them, raw, of an f-string, or in pieces."""
    if style == "pieces":
        parts = re.findall(r".{1,30}", text, re.DOTALL) or [""]
        return "(\n" + "\n".join(f"    {literal(part, chr(34))}" for part in parts) + "\n)"
    prefix, mark = style.rstrip("'\""), style.lstrip("rf")
    if "r" in prefix:
        return f"{prefix}{mark}{text}{mark}"
    body = text.replace("\\", "\\\\").replace(mark[0], f"\\{mark[0]}")
    if "f" in prefix:
        body = body.replace("{", "{{").replace("}", "}}")
    return f"{prefix}{mark}{body if len(mark) == 3 else body.replace(chr(10), chr(92) + 'n')}{mark}"


def _python(lines: list[str]) -> Files | None:
    return {"engine.py": "\n".join(["import json", "import os", "import subprocess", "", *lines, ""])}


def _environ(engine: Engine, mark: str = '"') -> list[str]:
    return [f"os.environ[{literal(name, mark)}] = {literal(value, mark)}" for name, value in engine.env]


def source(value: Any, mark: str, indent: int | None = None) -> str:
    """Write plain data in Python."""
    if isinstance(value, str):
        return literal(value, mark)
    if not isinstance(value, (dict, list)) or not value:
        return repr(value)
    entries = (
        [f"{literal(key, mark)}: {source(part, mark, indent and indent + 4)}" for key, part in value.items()]
        if isinstance(value, dict)
        else [source(part, mark, indent and indent + 4) for part in value]
    )
    opening, closing = ("{", "}") if isinstance(value, dict) else ("[", "]")
    if indent is None:
        return opening + ", ".join(entries) + closing
    blanks = " " * indent
    return opening + "".join(f"\n{blanks}{entry}," for entry in entries) + f"\n{blanks[4:]}{closing}"


def called(name: str, transfer: bool, mark: str, indent: int | None) -> Callable[[Fixture], Files | None]:
    """Return the form of calls of a class with keywords; ``transfer``: KVTransferConfig is a call of its own."""

    def write(fixture: Fixture) -> Files | None:
        lines: list[str] = []
        for engine in fixture.engines:
            given = flags(engine)
            if given is None or not all(re.fullmatch(r"[a-z][a-z0-9-]*", flag) for flag in given):
                return None
            lines += [*_environ(engine, mark), f"engine = {name}("]
            for flag, value in given.items():
                plain = typed(value, objects=True)
                code = source(plain, mark, indent)
                if transfer and flag == "kv-transfer-config" and isinstance(plain, dict):
                    entries = [f"{key}={source(part, mark)}" for key, part in plain.items()]
                    code = "KVTransferConfig(" + "".join(f"\n        {e}," for e in entries) + "\n    )"
                lines.append(f"    {flag.replace('-', '_')}={code},")
            lines.append(")")
        start = [f"from vllm import {name}", "from vllm.config import KVTransferConfig"]
        return _python([*start, *lines]) if lines else None

    return write


def run_list(mark: str, dumped: bool = False, between: str = ",\n    ") -> Callable[[Fixture], Files | None]:
    """Return the form of lists of words; ``dumped``: JSON is made by json.dumps of a literal."""

    def write(fixture: Fixture) -> Files | None:
        lines: list[str] = []
        for engine in fixture.engines:
            written_words = []
            for word in ("vllm", "serve", *engine.words):
                found = parsed(word) if dumped else None
                code = literal(word, mark) if found is None else f"json.dumps({source(found, mark)})"
                written_words.append(code)
            lines += [*_environ(engine, mark), f"subprocess.Popen([{between.join(written_words)}])"]
        return _python(lines) if lines else None

    return write


def run_with_env(split: bool) -> Callable[[Fixture], Files | None]:
    """Return the form of a child with an environment of its own; ``split``: shlex makes its words."""

    def write(fixture: Fixture) -> Files | None:
        lines: list[str] = []
        for engine in fixture.engines:
            code = "[" + ", ".join(literal(word, '"') for word in ("vllm", "serve", *engine.words)) + "]"
            if split:
                code = f"shlex.split({literal(Writer(between=' ').command(engine), chr(34))})"
            given = ", ".join(f"{literal(name, chr(34))}: {literal(value, chr(34))}" for name, value in engine.env)
            lines.append(
                f"subprocess.Popen({code}, env={{**os.environ, {given}}})" if given else f"subprocess.Popen({code})"
            )
        return _python(["import shlex", *lines]) if lines else None

    return write


def run_text(call: str, style: str, **how: Any) -> Callable[[Fixture], Files | None]:
    """Return the form of command lines in a string."""

    def write(fixture: Fixture) -> Files | None:
        lines: list[str] = []
        for engine in fixture.engines:
            writer = Writer(**how)
            command = writer.command(engine)
            if style.startswith("r") and ('"""' in command or command.endswith(('"', "\\"))):
                command += " "
            if not writer.found:
                return None
            command = command.replace("%", "%%") if "%" in call else command
            lines += [*_environ(engine), call.format(literal(command, style))]
        return _python(lines) if lines else None

    return write
