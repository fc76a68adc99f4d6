"""A profile as a deployment: for the release that something decides, or for each that it may be for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any

from pd_launch.launcher.sources.profiles.load import LoadedProfile
from pd_launch.launcher.sources.profiles.render import render
from pd_launch.launcher.sources.release.release_words import comment_faults
from pd_launch.launcher.sources.release.targets import NOTHING_GIVEN, TARGET_FAMILY, Given, assumed, decided, in_profile
from pd_launch.schemas.core.launch import Deployment, Fault
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.target import Choice, Target, TargetError, parse_target
from pd_launch.schemas.core.values import Node


def profile_deployment(
    loaded: LoadedProfile,
    given: Given = NOTHING_GIVEN,
    host: dict[str, Any] | None = None,
    single: bool = False,
    assume: bool = False,
) -> Deployment:
    """Return a profile's deployment: all nodes of both sides, rendered for its release.

    Args:
        loaded: the profile.
        given: what decides the release beside the profile.
        host: facts of the host.
        single: see ``render``.
        assume: whether one release is taken where nothing decides; otherwise it is rendered for each that is possible.
    """
    choice = profile_choice(loaded, given)
    if choice.decided is None and assume:
        choice = Choice.of(assumed(choice.families[0]))
    deployment = _rendered(loaded, choice.leads[0], host, single)
    deployment.choice = choice
    if choice.decided is None:
        deployment.renderer = lru_cache(maxsize=None)(partial(_rendered, loaded, host=host, single=single))
    return deployment


def _rendered(loaded: LoadedProfile, target: Target, host: dict[str, Any] | None, single: bool) -> Deployment:
    deployment = Deployment(target, sources={loaded.source.path: loaded.source}, host=host, ascend=target.is_ascend)
    deployment.faults += [*loaded.faults, *comment_faults(loaded.source), *_of_other_family(loaded)]
    for side in ("prefill", "decode") if loaded.profile is not None else ():
        rendered = render(loaded, side, target, single)
        deployment.nodes += rendered.launches
        deployment.faults += rendered.faults
    return deployment


def _of_other_family(loaded: LoadedProfile) -> Iterator[Fault]:
    """Say that the profile's own target is not for its hardware, so that it does not count."""
    profile, place = loaded.profile, loaded.tree.get("target")
    written = profile.release() if profile is not None else None
    if profile is None or written is None or place is None or written.is_ascend == profile.hardware_kind().ascend:
        return
    kind, right = profile.hardware_kind().kind, "vllm" if written.is_ascend else "vllm-ascend"
    yield Fault(
        TARGET_FAMILY,
        place.origin,
        Msg(
            f"{written} does not run on {kind}: this target is ignored",
            f"{written} 不能在 {kind} 上运行：这个 target 会被忽略",
        ),
        help=Msg(f"write {right}==X", f"请写 {right}==X"),
    )


def profile_choice(loaded: LoadedProfile, given: Given) -> Choice:
    """Return the release that a profile is rendered for, or may be rendered for."""
    profile = loaded.profile
    written = written_target(loaded.tree) if profile is None else profile.release()
    possible = (True, False) if profile is None else (profile.hardware_kind().ascend,)
    first = [target for target in (given.option, written) if target is not None]
    return decided([*first, *in_profile(loaded.source, profile, given)], possible)


def written_target(tree: Node) -> Target | None:
    """Return the target that a profile names which is not valid otherwise."""
    node = tree.get("target")
    try:
        return parse_target(node.value, "profile") if node is not None and isinstance(node.value, str) else None
    except TargetError:
        return None


def target_of(loaded: LoadedProfile, given: Target | None) -> Target:
    """Return the one release that a profile is rendered for."""
    choice = profile_choice(loaded, Given(given))
    return choice.decided or assumed(choice.families[0])
