"""What somebody has put into objects that pd-launch rendered: it becomes ``patch`` of the profile."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from pd_launch.launcher.formats.box import Box, FormatError, make_boxes, slug
from pd_launch.launcher.formats.compose import compose_file
from pd_launch.launcher.formats.k8s import k8s_manifest
from pd_launch.launcher.formats.kserve import kserve_service
from pd_launch.launcher.formats.llm_d import llm_d_values
from pd_launch.launcher.formats.patch import merged
from pd_launch.launcher.init.compare import Left
from pd_launch.launcher.init.here import ADDRESSES
from pd_launch.launcher.sources.profiles.deployment import profile_deployment
from pd_launch.launcher.sources.profiles.load import load_profile
from pd_launch.launcher.sources.trees.yaml_tree import parse_yaml
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Node, SourceFile

_HEAD = lazy_pattern(
    r"^# (?P<kind>Kubernetes manifest|LLMInferenceService|Values|Compose file) of the profile (?P<name>[^\n:]{1,200}?)"
    r"(?::[^\n]*| for [^\n]*|\.)$",
    re.MULTILINE,
)
_FORMS: Mapping[str, tuple[str, Callable[[Sequence[Box], str], str]]] = {
    "Kubernetes manifest": ("k8s", k8s_manifest),
    "LLMInferenceService": ("kserve", kserve_service),
    "Values": ("llm-d", llm_d_values),
    "Compose file": ("compose", compose_file),
}
_KEYS = ("name", "mountPath", "containerPort", "key")


class Patches(NamedTuple):
    """Patches by form, as a profile has them, and what no patch can say."""

    by_form: dict[str, Any]
    left: list[Left]


def patches_of(profile: str, sources: Sequence[SourceFile], name: str) -> Patches:
    """Return what differs between objects that pd-launch has rendered and those that a profile gives.

    Args:
        profile: the profile's text.
        sources: the files; of others than rendered ones, and of those that the profile cannot give, nothing is said.
        name: the profile's name, which those of the objects follow.
    """
    found = Patches({}, [])
    for source in sources:
        head = _HEAD.search(source.text, 0, 2000)
        if head is None:
            continue
        form, write = _FORMS[head["kind"]]
        objects = [_normal(tree.plain()) for tree in parse_yaml(source)[0] if _is_whole(tree)]
        made = _rendered(profile, head["name"], write)
        if made is None:
            continue
        patches = [p for p in (_patch(one, made, head["name"], name) for one in objects) if p]
        for patch, whole in patches:
            if not whole:
                why = Msg(
                    "an entry was removed from a list, which patch cannot express", "列表里去掉了一项，patch 无法表达"
                )
                found.left.append(Left(source.path, f"{patch.get('kind', form)}", why, source.origin(0, 1)))
        if patches:
            plain = [patch for patch, _ in patches]
            found.by_form[form] = plain if len(plain) > 1 else plain[0]
    return found


def _rendered(profile: str, name: str, write: Callable[[Sequence[Box], str], str]) -> list[Any] | None:
    """Return the objects that a profile of that name gives, or None where it gives none."""
    loaded = load_profile(SourceFile("profile", profile))
    if loaded.profile is None or loaded.faults:
        return None
    loaded.profile.name = name
    deployment = profile_deployment(loaded, assume=True)
    try:
        text = write(make_boxes(deployment, loaded.profile, deployment.nodes), name)
    except FormatError:
        return None
    return [_normal(tree.plain()) for tree in parse_yaml(SourceFile("rendered", text))[0]]


def _is_whole(tree: Node) -> bool:
    return isinstance(tree.value, dict) and tree.complete()


def _normal(value: Any) -> Any:
    """Return data without what a form decides by itself: the order of named entries, and how a pod asks for health."""
    if isinstance(value, dict):
        return {k: _normal(v) for k, v in value.items() if not (k in ("httpGet", "exec") and "/health" in str(v))}
    if isinstance(value, list):
        entries = [_normal(entry) for entry in value if not _is_own_address(entry)]
        key = _key_of(entries)
        return entries if key is None else sorted(entries, key=lambda entry: str(entry[key]))
    return value


def _is_own_address(entry: Any) -> bool:
    return isinstance(entry, dict) and entry.get("name") in ADDRESSES and "status.podIP" in str(entry.get("valueFrom"))


def _key_of(entries: Sequence[Any]) -> str | None:
    """Return the key by which entries of a list are told apart, the first that all of them have."""
    return next(
        (k for k in _KEYS if all(isinstance(e, dict) and isinstance(e.get(k), (str, int)) for e in entries)), None
    )


def _patch(wanted: dict[str, Any], made: Sequence[Any], old: str, name: str) -> tuple[dict[str, Any], bool] | None:
    """Return the patch that makes ``wanted`` of its counterpart, and whether it really does; None: there is none."""
    same = [one for one in made if _identity(one) == _identity(wanted)]
    if not same:
        return None
    change = _difference(same[0], wanted)
    if change == {}:
        return None
    whole = _normal(merged(same[0], change)) == wanted
    kind, own = _identity(wanted)
    if kind is None:
        return change, whole
    renamed = f"{slug(name)}{own.removeprefix(slug(old))}" if isinstance(own, str) else own
    return {"kind": kind, "metadata": {**change.pop("metadata", {}), "name": renamed}, **change}, whole


def _identity(one: Any) -> tuple[Any, Any]:
    metadata = one.get("metadata") if isinstance(one, dict) else None
    return (one.get("kind"), metadata.get("name")) if isinstance(metadata, dict) else (None, None)


def _difference(made: Any, wanted: Any) -> Any:
    """Return what is merged into ``made`` to give ``wanted``."""
    if isinstance(made, dict) and isinstance(wanted, dict):
        change = {key: None for key in made if key not in wanted}
        for key, value in wanted.items():
            if key not in made or made[key] != value:
                change[key] = _difference(made.get(key), value)
        return change
    if isinstance(made, list) and isinstance(wanted, list):
        key = _key_of([*made, *wanted])
        if key is not None:
            before = {entry[key]: entry for entry in made}
            return [
                {key: entry[key], **_difference(before[entry[key]], entry)} if entry[key] in before else entry
                for entry in wanted
                if before.get(entry[key]) != entry
            ]
    return wanted
