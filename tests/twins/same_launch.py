"""A launch without its places and without its form: what two spellings of one engine must have in common."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from fixture import Engine, Files, Fixture

from pd_launch.launcher.sources.read import Inputs, read, read_texts
from pd_launch.schemas.core.launch import Arg, NodeLaunch
from pd_launch.schemas.core.values import HOLE, Node, Unknown

UNKNOWN = "<unknown>"
_DEFAULTS = {("tensor-parallel-size", ("1",))}
"""What a profile writes out although it is so without it."""
_FILLED = re.compile(rf"\{{\{{|\{{%|{HOLE}")
"""What stands in a text that a template fills in."""
Args = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Same:
    """What is read of one engine: its model, arguments in order, variables, role; JSON as sorted text."""

    model: str | None
    args: Args
    env: tuple[tuple[str, str], ...]
    role: str | None

    def differences(self, other: Same) -> list[str]:
        """Return what another reading has otherwise, a line each."""
        found = [] if self.model == other.model else [f"model {self.model!r} -> {other.model!r}"]
        found += [] if self.role == other.role else [f"role {self.role!r} -> {other.role!r}"]
        for name, mine, theirs in (("arguments", self.args, other.args), ("variables", self.env, other.env)):
            gone = [entry for entry in mine if entry not in theirs]
            more = [entry for entry in theirs if entry not in mine]
            found += [f"{name} {gone!r} -> {more!r}"] if gone or more else []
        return found


def same(node: NodeLaunch, own: Iterable[str] = ()) -> Same:
    """Return what is compared of a launch; ``own`` are the variables that count: a form may add some."""
    names = set(own)
    given = {(arg.name or arg.written, _values(arg)): None for arg in node.args if arg.name not in ("model", "config")}
    args = tuple(sorted(entry for entry in given if entry not in _DEFAULTS))
    env = tuple(sorted((name, text_of(found.value)) for name, found in node.env.items() if name in names))
    return Same(text_of(node.model) if node.model is not None else None, args, env, node.role)


def _values(arg: Arg) -> tuple[str, ...]:
    """Return an argument's values; a bare flag is true, as a file of flags has it."""
    return tuple(text_of(value) for value in (arg.value, *arg.more) if value is not None) or ("true",)


def text_of(node: Node) -> str:
    """Return a value as a text: a number as it is written, an object as sorted JSON, however it was given."""
    return _text(node.plain())


def _text(value: Any) -> str:
    if isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        try:
            return _text(json.loads(value))
        except ValueError:
            pass
    plain = _blurred(value)
    return plain if isinstance(plain, str) else json.dumps(plain, sort_keys=True, ensure_ascii=False)


def _blurred(value: Any) -> Any:
    """Return a value with what something may still fill in as ``UNKNOWN``, whether it was read as unknown or not."""
    if isinstance(value, dict):
        return {_blurred(key): _blurred(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_blurred(part) for part in value]
    if isinstance(value, Unknown) or (isinstance(value, str) and _FILLED.search(value)):
        return UNKNOWN
    return value


def launches(files: Files, own: Iterable[str] = ()) -> list[Same]:
    """Return what is read of the files' engines, in an order that no form decides."""
    names = list(own)
    nodes = [node for found in read_texts(files) for node in found.nodes]
    return sorted((same(node, names) for node in nodes), key=repr)


def expected(engines: Sequence[Engine]) -> list[Same]:
    """Return what must be read: the words as the engine gets them, without any spelling, and the variables."""
    found = []
    for engine in engines:
        given = Inputs([], ["vllm", "serve", *engine.words])
        (node,) = [node for deployment in read(given) for node in deployment.nodes]
        plain = same(node)
        env = tuple(sorted((name, _text(value)) for name, value in engine.env))
        found.append(Same(plain.model, plain.args, env, plain.role))
    return sorted(found, key=repr)


def differences(files: Files, engines: Sequence[Engine]) -> list[str]:
    """Return what is read otherwise of the files' engines than it is meant, a line each."""
    meant, got = expected(engines), launches(files, {name for engine in engines for name, _ in engine.env})
    if len(got) != len(meant):
        return [f"{len(got)} engines, not {len(meant)}"]
    return [line for one, other in zip(meant, got, strict=True) for line in one.differences(other)]


def of_engines(*engines: Engine) -> Fixture:
    """Return engines as the writers of twins take them."""
    return Fixture("", "", {}, None, None, engines)
