"""What is wrong in a profile: each of the validation's complaints as a fault at its place, said for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from pd_launch.launcher.sources.profiles.reasons import missing_help, reason_of
from pd_launch.schemas.core.launch import Fault
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.names import nearest
from pd_launch.schemas.core.values import Node, Origin
from pd_launch.schemas.core.words import series
from pd_launch.schemas.profile import Profile

_OTHER_ARM = ("literal_error", "string_type")


def profile_faults(tree: Node, error: ValidationError) -> list[Fault]:
    """Return the faults that a validation found in ``tree``, one for each place."""
    problems = [(problem, *_follow(tree, problem["loc"])) for problem in error.errors(include_url=False)]
    faults: list[Fault] = []
    meant = set()
    around = {tuple(path[:depth]) for _, _, path in problems for depth in range(len(path))}
    around |= {tuple(path) for problem, _, path in problems if problem["type"] == "missing"}
    for problem, node, path in problems:
        if problem["type"] in _OTHER_ARM and isinstance(node.value, dict) and tuple(path) in around:
            continue  # the mapping's own arm of the union says what is wrong inside
        if problem["type"] == "extra_forbidden":
            fault = _unknown_key(node, path)
            meant |= {(*path[:-1], near) for near in _meant(node, path)}
        elif problem["type"] == "missing":
            fault = _missing_key(node, path, str(problem["loc"][-1]))
        else:
            fault = _wrong_value(node, path, problem)
        faults.append(fault)
    misspelt = {f"the key {'.'.join(path)} is missing" for path in meant}
    return _without_union_noise([fault for fault in faults if fault.detail.en not in misspelt])


def _without_union_noise(faults: list[Fault]) -> list[Fault]:
    """Keep one fault a place: pydantic reports every arm of a union."""
    seen: set[Origin] = set()
    kept = []
    for fault in faults:
        if fault.origin not in seen:
            seen.add(fault.origin)
            kept.append(fault)
    return kept


def _follow(tree: Node, loc: Sequence[int | str]) -> tuple[Node, list[str]]:
    """Follow an error's location as far as the tree goes; names of union arms are stepped over."""
    node, path = tree, []
    for step in loc:
        child = node.get(step)
        if child is not None:
            node = child
            path.append(str(step))
    return node, path


def _meant(node: Node, path: list[str]) -> list[str]:
    """Return the key that an unknown one is probably a slip of; nothing where there is none."""
    near = nearest(path[-1] if path else "", _fields_at(path[:-1]), 0.6)
    return [near] if near else []


def _unknown_key(node: Node, path: list[str]) -> Fault:
    known = _fields_at(path[:-1])
    near = next(iter(_meant(node, path)), None)
    place = node.key or node.origin
    en = f"unknown key {'.'.join(path)}"
    zh = f"未知的键 {'.'.join(path)}"
    if near:
        return Fault(
            "profile",
            place,
            Msg(en, zh),
            fix=(node.key_text.edit(0, len(node.key_text.value), near) or ()) if node.key_text is not None else (),
            fix_is_safe=False,
            help=Msg(f"did you mean {near}?", f"是不是想写 {near}？"),
        )
    listed = series(known)
    return Fault("profile", place, Msg(en, zh), help=Msg(f"known keys here: {listed.en}", f"这里可用的键：{listed.zh}"))


def _missing_key(node: Node, path: list[str], name: str) -> Fault:
    where = ".".join([*path, name])
    start = node.key or Origin(
        node.origin.file, node.origin.line, node.origin.column, node.origin.line, node.origin.column + 1
    )
    return Fault("profile", start, Msg(f"the key {where} is missing", f"缺少键 {where}"), help=missing_help(name))


def _wrong_value(node: Node, path: list[str], problem: Any) -> Fault:
    error = problem.get("ctx", {}).get("error")
    at = getattr(error, "at", ())
    inner = node.get(*at) if at else None
    key = problem["loc"][-1:] == ("[key]",) or inner is not None
    node = inner or node
    place = node.key if key and node.key else node.origin
    reason = reason_of(problem, path, _fields_at(path))
    where = ".".join(path)
    said = Msg(f"{where}: {reason.said.en}", f"{where}：{reason.said.zh}") if where else reason.said
    return Fault("profile", place, said, help=reason.help)


def _fields_at(path: list[str]) -> list[str]:
    model: Any = Profile
    for step in path:
        if not (isinstance(model, type) and issubclass(model, BaseModel)):
            return []
        info = model.model_fields.get(step)
        if info is None:
            continue  # an index of a list
        model = _section(info.annotation)
    return list(model.model_fields) if isinstance(model, type) and issubclass(model, BaseModel) else []


def _section(annotation: Any) -> Any:
    """Return the section that an annotation such as ``X | None`` or ``list[X]`` names."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for part in get_args(annotation):
        found = _section(part)
        if found is not None:
            return found
    return None
