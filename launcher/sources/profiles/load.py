"""A profile file: read, validated, with every fault at its place."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import field
from functools import cache

from pydantic import ValidationError

from pd_launch.launcher.sources.engine.named import COMMAND_LINE
from pd_launch.launcher.sources.profiles.faults import profile_faults
from pd_launch.launcher.sources.profiles.reasons import FILL_IN, missing_help
from pd_launch.launcher.sources.profiles.shown_secrets import shown_secrets
from pd_launch.launcher.sources.trees.yaml_tree import parse_yaml
from pd_launch.schemas.core.launch import Fault
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.target import TargetError
from pd_launch.schemas.core.values import HOLE, Node, Origin, SourceFile, Text
from pd_launch.schemas.profile import Profile

_START = "pd-launch profiles copy a3-dp2tp8 my.yaml"
_SKELETON = Msg(
    f"write version, hardware, model and a side; start with `{_START}`",
    f"请写 version、hardware、model 和其中一侧；可以从 `{_START}` 开始",
)
_PLUGINS = "PYDANTIC_DISABLE_PLUGINS"


class SettingError(Exception):
    """A ``--set`` that cannot be applied."""


@dataclass
class LoadedProfile:
    """A profile with its tree. ``profile`` is None where it is not valid; ``faults`` says why."""

    source: SourceFile
    tree: Node
    profile: Profile | None = None
    faults: list[Fault] = field(default_factory=list)


def load_profile(source: SourceFile, settings: Sequence[str] = ()) -> LoadedProfile:
    """Read a profile's text, apply ``--set`` values, and validate it.

    Raises:
        SettingError: one of ``settings`` is not KEY=VALUE, or its key leads through something that is no mapping.
    """
    documents, faults = parse_yaml(source)
    empty = Node({}, source.origin(0, 0))
    if not documents:
        if not faults:
            faults = [
                Fault(
                    "profile",
                    empty.origin,
                    Msg("the profile is empty", "配置文件是空的"),
                    help=_SKELETON,
                )
            ]
        return LoadedProfile(source, empty, None, faults)
    faults = [*faults, *_whole(source, documents)]
    tree = documents[0]
    if not isinstance(tree.value, dict):
        said = Msg("a profile must be a mapping", "配置文件应当是一个映射")
        fault = Fault("profile", tree.origin, said, help=_SKELETON)
        return LoadedProfile(source, tree, None, [*faults, fault])
    for setting in settings:
        _apply(tree, setting)
    return validate(source, tree, faults)


def _whole(source: SourceFile, documents: Sequence[Node]) -> list[Fault]:
    """Return faults of the file as a whole: more than one document, or text that is not UTF-8."""
    faults = beside_profile(documents)
    at = -1 if source.exact else source.text.find("\ufffd")
    if at >= 0:
        said = Msg("the file is not valid UTF-8 here", "文件此处不是有效的 UTF-8")
        faults.append(
            Fault("profile", source.origin(at, at + 1), said, help=Msg("save it as UTF-8", "请用 UTF-8 保存"))
        )
    return faults


def beside_profile(documents: Sequence[Node]) -> list[Fault]:
    """Return a fault at the second document of a profile's file, for which a launch refuses it."""
    written = [tree for tree in documents if tree.value is not None]
    if len(written) < 2:
        return []
    said = Msg(
        "a profile must be the only YAML document in its file; this is another",
        "配置文件只能有一个 YAML 文档，这里是另一个",
    )
    help = Msg("put it into a separate file", "把它放到另一个文件里")
    return [Fault("profile", written[1].origin, said, help=help)]


@cache
def _model() -> type[Profile]:
    """Return the model of profiles, built without looking for plugins of pydantic: that reads all installed packages.

    The variable is as it was before an engine is given any.
    """
    before = os.environ.get(_PLUGINS)
    os.environ[_PLUGINS] = "__all__"
    try:
        Profile.model_rebuild()
    finally:
        os.environ.pop(_PLUGINS)
        os.environ.update({} if before is None else {_PLUGINS: before})
    return Profile


def validate(source: SourceFile, tree: Node, faults: Sequence[Fault] = ()) -> LoadedProfile:
    """Validate a profile's tree."""
    loaded = LoadedProfile(source, tree, faults=[*faults, *_no_text(tree)])
    if len(loaded.faults) > len(faults):
        return loaded
    try:
        loaded.profile = _model().model_validate(tree.plain())
        loaded.profile.release()
    except ValidationError as error:
        loaded.profile = None
        loaded.faults += profile_faults(tree, error)
    except TargetError as error:
        loaded.profile = None
        place = tree.get("target")
        spot = place.origin if place else tree.origin
        loaded.faults.append(Fault("profile", spot, error.said, help=missing_help("target")))
    left = [*_left_open(tree), *shown_secrets(tree)]
    if left:
        loaded.profile = None
        places = {fault.origin for fault in left}
        loaded.faults = [*(fault for fault in loaded.faults if fault.origin not in places), *left]
    return loaded


MAX_KEYS = 50
_UNUSABLE = lazy_pattern("[\0\ud800-\udfff]")


def _no_text(tree: Node) -> list[Fault]:
    """Return the values that no argument, variable or file can hold: NUL characters and halves of pairs."""
    found = {id(node): node for node in tree.walk() if isinstance(node.value, str) and _UNUSABLE.search(node.value)}
    named = {id(n): n for n in tree.walk() for key, _ in n.items() if _UNUSABLE.search(key)}
    return [
        Fault(
            "profile",
            node.origin,
            Msg(
                "a NUL character or half of a surrogate pair, which no argument or variable can contain",
                "含有 NUL 字符或半个代理对，任何参数或变量都不能含有它们",
            ),
            help=Msg("remove it", "请删掉它"),
        )
        for node in (found | named).values()
    ]


_COPIED = (("patch",), ("container", "tolerations"))
"""What the rendered objects hold as it is in the profile."""


def _left_open(tree: Node) -> list[Fault]:
    """Return the placeholders in what is copied into objects, and in keys; elsewhere an unknown value is asked for."""
    copied = [found for path in _COPIED if (found := tree.get(*path)) is not None]
    values = {id(node): node.origin for part in copied for node in part.walk() if not node.known}
    keys = {id(n): n.key or n.origin for node in tree.walk() for key, n in node.items() if HOLE in key}
    said = Msg("a placeholder, which nothing fills in", "占位符，没有什么会替换它")
    return [Fault("profile", place, said, help=FILL_IN) for place in dict.fromkeys([*values.values(), *keys.values()])]


def _apply(tree: Node, setting: str) -> None:
    """Set one key of ``tree``. Messages name the key only: the value may be a secret."""
    key, sign, text = setting.partition("=")
    if not sign or not key.strip():
        raise SettingError("--set: write KEY=VALUE, for example decode.parallel.data=4")
    line = SourceFile(COMMAND_LINE, setting)
    documents, faults = parse_yaml(SourceFile(COMMAND_LINE, text))
    if faults or len(documents) > 1:
        detail = faults[0].detail.en if faults else "more than one document"
        raise SettingError(f"--set {key}: the value is {detail}")
    start = len(key) + 1
    value = documents[0] if documents else Node(None, line.origin(start, len(setting)))
    _move(value, line, start)
    value.key = line.origin(0, len(key), "--set")
    node = tree
    *steps, last = key.strip().split(".")
    if len(steps) >= MAX_KEYS:
        raise SettingError(f"--set: a key of more than {MAX_KEYS} parts: no profile has one")
    for step in [*steps, None]:
        if not isinstance(node.value, dict):
            raise SettingError(f"--set {key}: {step or last!r} is below something that is not a mapping")
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

    def moved(place: Origin) -> Origin:
        begin, end = own.offset(place.line, place.column), own.offset(place.end_line, place.end_column)
        return line.origin(begin + start, end + start, "--set")

    for part in {id(part): part for part in node.walk()}.values():  # an alias brings the same node again
        part.origin = moved(part.origin)
        if part.key is not None:
            part.key = moved(part.key)
        if part.text is not None:
            part.text = Text(part.text.value, line, [spot + start for spot in part.text.spots])
        part.key_text = part.site = None
