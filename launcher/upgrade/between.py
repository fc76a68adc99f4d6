"""What changed between two releases of one family, out of the tables."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import Any

from pd_launch.launcher.upgrade.gone import gone
from pd_launch.schemas.core.build import UnreadError
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.words import joined, series
from pd_launch.schemas.releases.facts import Fact
from pd_launch.schemas.releases.registry import facts_of, modules
from pd_launch.schemas.releases.vllm_tables import Table, ascend_table, vllm_table

SECTIONS: dict[str, Msg] = {
    "flags": Msg("Flags", "参数"),
    "additional": Msg("Keys of additional_config", "additional_config 的键"),
    "groups": Msg("Keys inside additional_config's groups", "additional_config 各组里的键"),
    "env": Msg("Environment variables", "环境变量"),
    "connectors": Msg("Connectors", "连接器"),
    "options": Msg("Options of connectors", "连接器的选项"),
    "fields": Msg("Fields of JSON arguments", "JSON 参数的字段"),
}
TURNED = Msg("Defaults and behaviour", "默认值与行为")
LOGGED = Msg("Log lines", "日志行")
REFUSED = Msg("Refusals and other facts", "拒绝与其他事实")
_MOST_CHOICES = 8
_OF_MODULES = {"turns": "turned", "log_lines": "logged"}


@dataclass(frozen=True)
class Change:
    """One thing that is new, gone or otherwise: ``old`` and ``new`` in words, None where there is none."""

    section: str
    name: str
    old: str | None
    new: str | None
    help: Msg | None = None
    source: str = ""


def differences(a: Target, b: Target, own: bool = False) -> list[Change]:
    """Return everything that the tables say otherwise of two releases of one family.

    ``own`` leaves out what the vLLM under a vllm-ascend brings.
    """
    found: list[Change] = []
    first, second = ascend_table(a), ascend_table(b)
    pairs = [(first, second)] if first is not None and second is not None else []
    if not (own and pairs):
        pairs.append((vllm_table(a), vllm_table(b)))
    for section in SECTIONS:
        for old, new in pairs:
            found += _of_section(section, old, new)
    project = "vllm-ascend" if own and a.is_ascend else None
    return [*found, *_facts(a, b, project)]


def _of_section(section: str, old: Table, new: Table) -> Iterator[Change]:
    try:
        names = dict.fromkeys([*old.names(section), *new.names(section)])
    except (KeyError, UnreadError):
        return
    for name in sorted(names):
        if section == "fields" and name.partition(".")[2].startswith("_"):
            continue
        before, after = old.entry(section, name), new.entry(section, name)
        if before == after:
            continue
        row = gone(section, name) if after is None else None
        if row is not None and row.fate == "kept":
            continue
        if before is None or after is None:
            sides = [None if one is None else "yes" for one in (before, after)]
            help_ = row.do if row is not None else None
            yield Change(section, name, sides[0], sides[1], help_, row.source if row is not None else "")
            continue
        delta = _delta(before, after)
        if delta:
            words = joined(part for part, _, _ in delta)
            old_side, new_side = ("; ".join(one[at] for one in delta if one[at]) for at in (1, 2))  # type: ignore[misc]
            yield Change(section, name, old_side, new_side, words)


def _delta(before: Any, after: Any) -> list[tuple[Msg, str, str]]:
    """Return in what two entries of one name differ: in words, and both sides; nothing where it makes no difference."""
    if isinstance(before, list) and isinstance(after, list):
        return [_list(before, after)]
    old, new = _as_dict(before), _as_dict(after)
    found = []
    if old.get("default") != new.get("default"):
        sides = _value(old, "default"), _value(new, "default")
        said = Msg(f"default {sides[0].en} → {sides[1].en}", f"默认值 {sides[0].zh} → {sides[1].zh}")
        found.append((said, sides[0].en, sides[1].en))
    choices = [list(map(str, one.get("choices") or ())) for one in (old, new)]
    if choices[0] != choices[1] and all(choices):
        found.append(_list(*choices))
    if old.get("bounds") != new.get("bounds"):
        limits = [_bounds(one.get("bounds")) for one in (old, new)]
        must = Msg(f"must be {limits[1].en}", f"必须 {limits[1].zh}") if limits[1] else Msg("no limits", "不再限制范围")
        found.append((must, limits[0].en or "any", limits[1].en or "any"))
    kinds = [str(one.get("kind") or one.get("types") or "") for one in (old, new)]
    if kinds[0] != kinds[1] and all(kinds):
        said = Msg(f"read as {kinds[1]}, before {kinds[0]}", f"按 {kinds[1]} 读取，原来是 {kinds[0]}")
        found.append((said, kinds[0], kinds[1]))
    return found


def _value(entry: dict[str, Any], key: str) -> Msg:
    """Return a value as the tables have it; ``none`` is itself the value of some flags."""
    value = entry.get(key)
    return Msg("not set", "未设置") if value is None else Msg(str(value), str(value))


def _bounds(bounds: Any) -> Msg:
    signs = {"gt": ">", "ge": "≥", "lt": "<", "le": "≤"}
    return series(f"{signs.get(key, key)} {value}" for key, value in (bounds or {}).items())


def _list(before: Sequence[Any], after: Sequence[Any]) -> tuple[Msg, str, str]:
    less, more = (_some([x for x in a if x not in b]) for a, b in ((before, after), (after, before)))
    said = [Msg(f"no longer {less.en}", f"不再有 {less.zh}")] if less else []
    said += [Msg(f"now also {more.en}", f"新增 {more.zh}")] if more else []
    return joined(said) or Msg("another order", "顺序不同"), less.en, more.en


def _some(names: Sequence[Any]) -> Msg:
    return series(map(str, names[:_MOST_CHOICES]), more=len(names) > _MOST_CHOICES)


def _as_dict(entry: Any) -> dict[str, Any]:
    return entry if isinstance(entry, dict) else {"kind": entry}


def _facts(a: Target, b: Target, project: str | None) -> Iterator[Change]:
    seen: set[str] = set()
    first = importlib.import_module("pd_launch.schemas.releases.turns")
    for module in [first, *modules()]:
        section = _OF_MODULES.get(module.__name__.rpartition(".")[2], "refused")
        for fact in facts_of(module):
            if fact.name in seen or _is_name(fact) or project not in (None, fact.project):
                continue
            seen.add(fact.name)
            before, after = fact.holds(a), fact.holds(b)
            if before != after:
                yield Change(section, fact.meaning, "yes" if before else None, "yes" if after else None,
                             source=fact.spoken())  # fmt: skip


def _is_name(fact: Fact) -> bool:
    """Whether a fact only says that a name is there, which the tables say too."""
    return fact.name.startswith(("kv-field-", "reads-", "strict-"))


def title(section: str) -> Msg:
    """Return the heading of a section."""
    other = {"turned": TURNED, "logged": LOGGED, "refused": REFUSED}
    return SECTIONS.get(section) or other[section]


def markdown(changes: Sequence[Change], lang: str, level: int = 3) -> str:
    """Return changes as Markdown, by section."""
    parts: list[str] = []
    colon, comma = (": ", ", ") if lang == "en" else ("：", "、")
    for section in dict.fromkeys(change.section for change in changes):
        parts.append(f"{'#' * level} {title(section).text(lang)}\n")
        own = [change for change in changes if change.section == section]
        new = [c.name for c in own if c.old is None]
        lost = [c for c in own if c.new is None]
        turned = [c for c in own if c.old is not None and c.new is not None]
        if new:
            parts.append(f"{Msg('New', '新增').text(lang)}{colon}{comma.join(_code(section, name) for name in new)}\n")
        if lost:
            head = Msg("Gone", "移除").text(lang)
            lines = [
                f"- {_code(section, c.name)}{colon + c.help.text(lang) if c.help else ''}"
                + (f" ({c.source})" if c.source else "")
                for c in lost
            ]
            parts.append(f"{head}{colon.rstrip()}\n\n" + "\n".join(lines) + "\n")
        if turned:
            head = Msg("Changed", "改变").text(lang)
            lines = [f"- {_code(section, c.name)}{colon}{c.help.text(lang) if c.help else ''}" for c in turned]
            parts.append(f"{head}{colon.rstrip()}\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


def _code(section: str, name: str) -> str:
    if section in SECTIONS:
        return f"`--{name}`" if section == "flags" else f"`{name}`"
    return name


def text(changes: Sequence[Change], lang: str) -> str:
    """Return changes as text for a terminal: a mark, the name, and what to do."""
    lines: list[str] = []
    for section in dict.fromkeys(change.section for change in changes):
        lines.append(title(section).text(lang))
        for change in changes:
            if change.section != section:
                continue
            mark = "+" if change.old is None else "-" if change.new is None else "~"
            name = f"--{change.name}" if section == "flags" else change.name
            more = f": {change.help.text(lang)}" if change.help else ""
            lines.append(f"  {mark} {name}{more}")
    return "\n".join(lines) + ("\n" if lines else "")


def as_json(changes: Sequence[Change], lang: str) -> list[dict[str, Any]]:
    """Return changes as plain data."""
    return [
        {
            "section": change.section,
            "name": change.name,
            "change": "added" if change.old is None else "removed" if change.new is None else "changed",
            "before": change.old,
            "after": change.new,
            "help": change.help.text(lang) if change.help else "",
            "source": change.source,
        }
        for change in changes
    ]
