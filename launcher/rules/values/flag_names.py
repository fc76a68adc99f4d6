"""Which flag of a release a written name means, as the engine's own parser finds it.

The parser takes underscores for dashes, a unique beginning of a long name for the whole, ``--no-x`` for flags that can
be switched off, and ``--json-flag.key`` for one key of a JSON argument.
"""

from __future__ import annotations

from typing import NamedTuple

from pd_launch.schemas.core.launch import Arg
from pd_launch.schemas.core.switches import paired
from pd_launch.schemas.releases.vllm_tables import Spec, Table

DOTTED_KINDS = ("config", "json", "json-or-text", "any")


class Meaning(NamedTuple):
    """What a written name means: the flag's own name and its entry, or the candidates where it is not unique.

    ``negated`` is ``--no-x``. Without an entry and candidates, the release does not have the flag.
    """

    name: str = ""
    spec: Spec | None = None
    negated: bool = False
    candidates: tuple[str, ...] = ()


UNKNOWN = Meaning()


def meaning(arg: Arg, table: Table) -> Meaning:
    """Return what an argument of a command line means to the release of ``table``."""
    base, _, _ = arg.name.partition(".")
    if arg.written.startswith("-O") or base == "O":
        return Meaning("optimization-level", Spec("any"))
    if arg.written.startswith("-") and not arg.written.startswith("--"):
        return _short(arg.written, table)
    found = exact(base, table)
    return found if found is not UNKNOWN else _beginning(base, table)


def exact(name: str, table: Table) -> Meaning:
    """Return what a whole long name, without dashes, means; UNKNOWN where the release does not have it."""
    if name in ("help", "h"):
        return Meaning(name, Spec("switch"))
    spec = table.flags.get(name)
    if spec is not None:
        return Meaning(name, spec)
    other = name[3:] if name.startswith("no-") else paired(name) if table.pairs_switches else None
    spec = table.flags.get(other) if other is not None else None
    return Meaning(other or "", spec, negated=True) if spec is not None and spec.kind == "bool" else UNKNOWN


def _beginning(base: str, table: Table) -> Meaning:
    if not base:
        return UNKNOWN
    candidates = tuple(name for name in spellings(table) if name.startswith(base))
    if len(candidates) == 1:
        return exact(candidates[0], table)
    return Meaning(candidates=candidates)


def _short(written: str, table: Table) -> Meaning:
    """Return what a short name means; a beginning that fits only one is enough here too."""
    names = {short: name for name, spec in table.flags.items() for short in spec.also if short.startswith("-")}
    name = written.partition(".")[0]
    if name in names:
        return exact(names[name], table)
    candidates = sorted(short for short in names if short.startswith(name))
    if len(candidates) == 1:
        return exact(names[candidates[0]], table)
    return Meaning(candidates=tuple(candidates))


def spellings(table: Table) -> list[str]:
    """Return every long name that the release's parser knows, ``no-`` forms too, without dashes."""
    names = list(table.flags)
    switches = [name for name in names if table.flags[name].kind == "bool"]
    others = filter(None, map(paired, switches)) if table.pairs_switches else ()
    return [*names, *(f"no-{name}" for name in switches), *others, "help"]
