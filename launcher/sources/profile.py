"""A profile file: read, validated, with every fault at its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from pd_launch.launcher.sources.yaml_tree import parse_yaml
from pd_launch.schemas.launch import Fault
from pd_launch.schemas.names import nearest
from pd_launch.schemas.profile import Profile
from pd_launch.schemas.target import TargetError
from pd_launch.schemas.values import Node, Origin, SourceFile, Text

COMMAND_LINE = "<command line>"
_OTHER_ARM = ("literal_error", "string_type")
SHIPPED = Path(__file__).resolve().parent.parent.parent / "profiles"


class ProfileNotFound(Exception):
    """No such file and no shipped profile of that name; the message names the nearest."""


class SettingError(Exception):
    """A ``--set`` that cannot be applied."""


@dataclass
class LoadedProfile:
    """A profile with its tree. ``profile`` is None where it is not valid; ``faults`` says why."""

    source: SourceFile
    tree: Node
    profile: Profile | None = None
    faults: list[Fault] = field(default_factory=list)


def shipped_names() -> list[str]:
    """Return the names of the profiles that come with pd-launch."""
    return sorted(path.stem for path in SHIPPED.glob("*.yaml"))


def find_profile(name: str) -> Path:
    """Return the path of a profile: an existing file, else the shipped one of that name with or without ``.yaml``.

    Raises:
        ProfileNotFound: there is neither.
    """
    path = Path(name)
    if path.exists() and not path.is_dir():
        return path
    if "/" not in name:
        shipped = SHIPPED / f"{name.removesuffix('.yaml')}.yaml"
        if shipped.exists():
            return shipped
    if name and path.is_dir():
        return path  # reading it says that it is a folder
    near = nearest(name.removesuffix(".yaml"), shipped_names(), 0.4)
    hint = f"; did you mean the shipped profile {near}?" if near else f"; shipped: {', '.join(shipped_names())}"
    raise ProfileNotFound(f"no profile {name}: there is no such file{hint}")


def load_profile(source: SourceFile, settings: Sequence[str] = ()) -> LoadedProfile:
    """Read a profile's text, apply ``--set`` values, and validate it.

    Raises:
        SettingError: one of ``settings`` is not KEY=VALUE, or its key leads through something that is no mapping.
    """
    documents, faults = parse_yaml(source)
    empty = Node({}, source.origin(0, 0))
    if not documents:
        if not faults:
            faults = [Fault("profile", empty.origin, "the profile is empty", "配置文件是空的")]
        return LoadedProfile(source, empty, None, faults)
    faults = [*faults, *_whole(source, documents)]
    tree = documents[0]
    if not isinstance(tree.value, dict):
        fault = Fault("profile", tree.origin, "a profile is a mapping of keys", "配置文件应当是一个映射")
        return LoadedProfile(source, tree, None, [*faults, fault])
    for setting in settings:
        _apply(tree, setting)
    return validate(source, tree, faults)


def _whole(source: SourceFile, documents: Sequence[Node]) -> list[Fault]:
    """Return faults of the file as a whole: more than one document, or text that is not UTF-8."""
    faults = []
    if len(documents) > 1:
        en, zh = "a profile is one YAML document; nothing behind this is read", "配置文件只能有一个 YAML 文档"
        faults.append(Fault("profile", documents[1].origin, en, zh))
    at = -1 if source.exact else source.text.find("\ufffd")
    if at >= 0:
        en, zh = "here the file is not valid UTF-8", "文件此处不是有效的 UTF-8"
        faults.append(Fault("profile", source.origin(at, at + 1), en, zh, help="save it as UTF-8"))
    return faults


def validate(source: SourceFile, tree: Node, faults: Sequence[Fault] = ()) -> LoadedProfile:
    """Validate a profile's tree."""
    loaded = LoadedProfile(source, tree, faults=list(faults))
    try:
        loaded.profile = Profile.model_validate(tree.plain())
        loaded.profile.release()
    except ValidationError as error:
        loaded.profile = None
        loaded.faults += _profile_faults(tree, error)
    except TargetError as error:
        loaded.profile = None
        place = tree.get("target")
        loaded.faults.append(Fault("profile", place.origin if place else tree.origin, str(error), str(error)))
    return loaded


def _apply(tree: Node, setting: str) -> None:
    """Set one key of ``tree``. Messages name the key only: the value may be a secret."""
    key, sign, text = setting.partition("=")
    if not sign or not key.strip():
        raise SettingError("--set: write KEY=VALUE, for example decode.parallel.data=4")
    line = SourceFile(COMMAND_LINE, setting)
    documents, faults = parse_yaml(SourceFile(COMMAND_LINE, text))
    if faults or len(documents) > 1:
        detail = faults[0].detail if faults else "more than one document"
        raise SettingError(f"--set {key}: the value is {detail}")
    start = len(key) + 1
    value = documents[0] if documents else Node(None, line.origin(start, len(setting)))
    _move(value, line, start)
    value.key = line.origin(0, len(key), "--set")
    node = tree
    *steps, last = key.strip().split(".")
    for step in [*steps, None]:
        if not isinstance(node.value, dict):
            raise SettingError(f"--set {key}: {step or last!r} lies below something that is no mapping")
        if step is None:
            node.value[last] = value
            return
        child = node.value.get(step)
        if child is None or child.value is None:
            child = node.value[step] = Node({}, value.origin, key=value.key)
        node = child


def _move(node: Node, line: SourceFile, start: int) -> None:
    """Give all parts of a value, read from its own text, their places in the whole argument."""
    own = SourceFile(COMMAND_LINE, line.text[start:])
    for part in node.walk():
        first, last = part.origin, (part.origin.end_line, part.origin.end_column)
        begin, end = own.offset(first.line, first.column), own.offset(*last)
        part.origin = line.origin(begin + start, end + start, "--set")
        if part.text is not None:
            part.text = Text(part.text.value, line, [spot + start for spot in part.text.spots])


def _profile_faults(tree: Node, error: ValidationError) -> list[Fault]:
    problems = [(problem, *_follow(tree, problem["loc"])) for problem in error.errors(include_url=False)]
    faults: list[Fault] = []
    meant = set()
    for problem, node, path in problems:
        inside = any(
            other[: len(path)] == path and (len(other) > len(path) or some["type"] == "missing")
            for some, _, other in problems
        )
        if problem["type"] in _OTHER_ARM and isinstance(node.value, dict) and inside:
            continue  # the mapping's own arm of the union says what is wrong inside
        if problem["type"] == "extra_forbidden":
            fault = _unknown_key(node, path)
            meant |= {(*path[:-1], new) for _, new in fault.fix}
        elif problem["type"] == "missing":
            fault = _missing_key(node, path, str(problem["loc"][-1]))
        else:
            place = node.key if problem["loc"][-1:] == ("[key]",) and node.key else node.origin
            fault = Fault("profile", place, *_wrong_value(".".join(path), problem))
        faults.append(fault)
    misspelt = {f"the key {'.'.join(path)} is missing" for path in meant}
    return _without_union_noise([fault for fault in faults if fault.detail not in misspelt])


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


def _unknown_key(node: Node, path: list[str]) -> Fault:
    known = _fields_at(path[:-1])
    name = path[-1] if path else ""
    near = nearest(name, known, 0.6)
    place = node.key or node.origin
    en = f"unknown key {'.'.join(path)}"
    zh = f"未知的键 {'.'.join(path)}"
    if near:
        return Fault(
            "profile",
            place,
            en,
            zh,
            fix=((place, near),),
            fix_is_safe=False,
            help=f"did you mean {near}?",
            help_zh=f"是不是想写 {near}?",
        )
    listed = ", ".join(known)
    return Fault("profile", place, en, zh, help=f"known keys here: {listed}", help_zh=f"这里可用的键:{listed}")


def _missing_key(node: Node, path: list[str], name: str) -> Fault:
    where = ".".join([*path, name])
    start = node.key or Origin(
        node.origin.file, node.origin.line, node.origin.column, node.origin.line, node.origin.column + 1
    )
    return Fault("profile", start, f"the key {where} is missing", f"缺少键 {where}")


def _wrong_value(where: str, problem: Any) -> tuple[str, str]:
    message = str(problem["msg"])
    message = message.removeprefix("Value error, ")
    message = message[:1].lower() + message[1:]
    if problem["type"] == "literal_error":
        message = f"must be {problem['ctx']['expected']}, not {problem['input']!r}"
    return f"{where}: {message}" if where else message, f"{where}:{message}" if where else message


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
