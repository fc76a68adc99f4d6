"""Two releases compared, as a maintainer's checklist in Markdown: what is new, gone or otherwise, and where."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator
from typing import Any

from release_extract import Extract, changes
from release_places import SECTIONS, place

from pd_launch.schemas.releases.registry import all_facts

_TITLES = {
    "connectors": "Connectors",
    "additional": "Keys of --additional-config",
    "groups": "Keys of groups in --additional-config",
    "flags": "Flags",
    "fields": "Fields of config classes",
    "env": "Environment variables",
    "facts": "Options",
    "keywords": "Arguments in Python",
}
_LISTS = {
    "logs": "Log lines of the scheduler, the offload and the options",
    "refusals": "Refusals",
    "options": "Options that connectors ask for",
    "flags of the platform": "Flags whose words the platform changes",
    "hooks": "What the scheduler asks of a connector",
}
_ALIKE = 0.72
_LONGEST = 220


def checklist(old: Extract, new: Extract, verdicts: Iterable[tuple[str, list[str], list[str]]] = ()) -> list[str]:
    """Return the lines of one release's part of the list; only what differs, and the evidence that broke."""
    lines = [f"## {new['project']} {new['release']}", "", f"Against {old['release']}.", ""]
    for title, part in (*_tables(old, new), *_texts(old, new), *_other(old, new)):
        items = list(part)
        if items:
            lines += [f"### {title}", "", *items, ""]
    broken = list(_broken(old, new))
    if broken:
        lines += ["### Facts that no longer hold", "", *broken, ""]
    changed = list(_verdicts(verdicts))
    if changed:
        lines += ["### Inputs of ours with another verdict", "", *changed, ""]
    return lines


def _item(text: str) -> str:
    return f"- [ ] {text if len(text) <= _LONGEST else f'{text[:_LONGEST]}…'}"


def _title(title: str, kind: str) -> str:
    return f"{title} ({SECTIONS[kind]})"


def _tables(old: Extract, new: Extract) -> Iterator[tuple[str, list[str]]]:
    found = list(changes(old["tables"], new["tables"]))
    for section, title in _TITLES.items():
        own = [change[1:] for change in found if change[0] == section]
        gone = {name: before for name, before, after in own if after is None and before is not None}
        fresh = {name: after for name, before, after in own if before is None}
        renamed = dict(_renamed(gone, fresh))
        lines = [_item(f"new: `{name}`{_entry(section, fresh[name])}") for name in fresh]
        lines += [
            _item(f"gone: `{name}`" + (f", perhaps now `{renamed[name]}`" if name in renamed else "")) for name in gone
        ]
        lines += [
            _item(f"otherwise: `{name}`: {_change(before, after)}")
            for name, before, after in own
            if before is not None and after is not None
        ]
        yield _title(title, section), lines


def _entry(section: str, entry: Any) -> str:
    if section == "connectors" and isinstance(entry, list):
        return f" (class `{entry[1]}` in `{entry[0]}`)"
    return ""


def _renamed(gone: dict[str, Any], fresh: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Give pairs of names that may be one thing: written alike, or with the same end (``…OffloadConnector``)."""
    for name in gone:
        near = difflib.get_close_matches(name, fresh, 1, _ALIKE)
        ends = [other for other in fresh if _end(other) == _end(name)]
        if near or ends:
            yield name, (near or ends)[0]


def _end(name: str) -> str:
    """Return the last two words of a name of more: ``OffloadConnector`` of RecomputeCPUOffloadConnector."""
    words = "".join(f" {c}" if c.isupper() else c for c in name).replace("_", " _").split()
    return "".join(words[-2:]) if len(words) > 2 else name


def _change(before: Any, after: Any) -> str:
    """Return how an entry differs: the parts that do, and of lists what came and went."""
    if isinstance(before, dict) and isinstance(after, dict):
        keys = [key for key in {**before, **after} if before.get(key) != after.get(key)]
        return "; ".join(f"{key} {_change(before.get(key), after.get(key))}" for key in keys)
    if isinstance(before, list) and isinstance(after, list):
        came = [f"+{_short(one)}" for one in after if one not in before]
        went = [f"-{_short(one)}" for one in before if one not in after]
        return ", ".join([*came, *went]) or "in another order"
    return f"{_short(before)} → {_short(after)}"


def _short(entry: Any) -> str:
    text = "none" if entry is None else json.dumps(entry, ensure_ascii=False)
    return f"`{text if len(text) < 90 else text[:90] + '…'}`"


def _texts(old: Extract, new: Extract) -> Iterator[tuple[str, list[str]]]:
    for kind, title in _LISTS.items():
        key = "flags" if kind == "flags of the platform" else kind
        before, after = set(old[key]), set(new[key])
        fresh = [
            _item(f"new: `{text}`{_patched(text, new) if key == 'flags' else ''}") for text in sorted(after - before)
        ]
        yield _title(title, kind), [*fresh, *(_item(f"gone: `{text}`") for text in sorted(before - after))]


def _patched(flag: str, new: Extract) -> str:
    """Return the words of the module that patches the field of a flag."""
    field = flag.lstrip("-").replace("-", "_")
    words = [word for path, found in new["words"].items() if field in path for word in found if word != field]
    return f", with the words {', '.join(words[:24])}" if words else ""


def _other(old: Extract, new: Extract) -> Iterator[tuple[str, list[str]]]:
    yield (
        _title("Options that are overwritten, whatever was written", "overwritten"),
        [
            _item(f"new: `{key}` ← `{made}`")
            for key, made in new["overwritten"].items()
            if key not in old["overwritten"]
        ],
    )
    yield "Modules that patch vLLM", list(_patches(old["words"], new["words"]))
    connectors = new["tables"].get("connectors", {})
    if connectors != old["tables"].get("connectors", {}):
        yield _title("Registered names of classes that are called otherwise", "connectors"), list(_classes(connectors))
    yield (
        _title("Built with", "companions"),
        [
            _item(f"{name}: {old['companions'].get(name, 'not said')} → {value}")
            for name, value in new["companions"].items()
            if old["companions"].get(name) != value
        ],
    )


def _patches(old: dict[str, list[str]], new: dict[str, list[str]]) -> Iterator[str]:
    for path in sorted({*old, *new}):
        fresh = sorted(set(new.get(path, ())) - set(old.get(path, ())))
        if path not in old or path not in new:
            words = f" with the words {', '.join(fresh[:12])}" if fresh else ""
            yield _item(f"{'new' if path in new else 'gone'}: `{path}`{words}")
        elif fresh and len(fresh) <= 8:
            yield _item(f"`{path}`: new words {', '.join(fresh)}")


def _classes(connectors: dict[str, Any]) -> Iterator[str]:
    """Give the registered names whose class has another: to write the class's name stops the engine."""
    for name, (_, class_) in sorted(connectors.items()):
        if class_ != name and class_ not in connectors:
            yield _item(f"`{name}` is registered, not `{class_}`")


def _broken(old: Extract, new: Extract) -> Iterator[str]:
    facts = all_facts()
    for name, says in new["broken"].items():
        if name not in old["broken"] and name in facts:
            fact = facts[name]
            yield _item(f"{fact.meaning}: {says}") + f" — `{name}`, {place(fact)}"


def _verdicts(verdicts: Iterable[tuple[str, list[str], list[str]]]) -> Iterator[str]:
    """Give, for each code, how many inputs it is found in anew or no longer, with three of them."""
    sides: dict[tuple[str, str], list[str]] = {}
    for name, fresh, gone in verdicts:
        for side, codes in (("anew", fresh), ("no longer", gone)):
            for code in codes:
                sides.setdefault((code, side), []).append(name)
    for (code, side), names in sorted(sides.items()):
        shown = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
        yield f"- [ ] {code} {side} in {len(names)}: {shown}"
