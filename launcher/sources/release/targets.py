"""Which release an engine is checked for: what the call says, what the input says, what is installed, or unknown.

The words of the input itself are read by ``sources/release_words.py`` and ``sources/family_signs.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pd_launch.launcher.sources.release.family_signs import signs
from pd_launch.launcher.sources.release.image_names import image_name
from pd_launch.launcher.sources.release.release_words import Mention, comment_above, mentions
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.target import Choice, Decider, Target, TargetError, ascend_target, newest_final, vllm_target
from pd_launch.schemas.core.values import SourceFile

if TYPE_CHECKING:
    from pd_launch.schemas.profile import Profile


TARGET_FAMILY = "target-family"
"""The kind of fault of a profile whose target is of another family than its hardware."""


@dataclass(frozen=True)
class Given:
    """What decides beside the input itself: ``--target``, the configuration file, and what this host has installed."""

    option: Target | None = None
    config: Target | None = None
    installed: tuple[Target, ...] = ()
    comment: Target | None = None
    """What a comment says where a profile is named."""

    @classmethod
    def of(
        cls,
        option: Target | None,
        config: Target | None,
        host: Mapping[str, Any] | None,
        installed: Target | None = None,
    ) -> Given:
        """Return what is given in a call; ``host`` are the facts of the machine, where they count.

        ``installed`` is the build of this machine, where its files were read; else the facts name its version.
        """
        return cls(option, config, (installed,) if installed is not None else tuple(_installed(host or {})))


NOTHING_GIVEN = Given()


def choose(node: NodeLaunch, sources: Mapping[str, SourceFile], given: Given) -> Choice:
    """Return what an engine is checked for."""
    said = mentions(node, sources)
    possible = families(node, sources, said)
    fixed = node.hardware is not None
    if given.option is not None and (given.option.is_ascend in possible or not fixed):
        return Choice.of(given.option)
    comments, others = _targets(said, "comment", "plan"), _targets(said, "image", "requirement")
    config = [given.config] if given.config is not None else []
    return decided([*comments, *config, *others, *given.installed], possible)


def _targets(said: Sequence[Mention], *by: Decider) -> list[Target]:
    return [mention.target for mention in said if mention.by in by and mention.target is not None]


def decided(ordered: Iterable[Target], possible: Sequence[bool]) -> Choice:
    """Return the first release of a possible family; without one, all releases that are possible."""
    target = next((target for target in ordered if target.is_ascend in possible), None)
    return Choice(None, tuple(possible)) if target is None else Choice.of(target)


def assumed(ascend: bool) -> Target:
    """Return the release that something is rendered for where nothing decides: the newest final one."""
    return newest_final(ascend).by("assumed")


def in_profile(source: SourceFile, profile: Profile | None, given: Given) -> Iterator[Target]:
    """Iterate over what decides after a profile's own key: a comment, configuration, image, what is installed."""
    comment = comment_above(source, 1)
    named = [comment.target if comment is not None else None, given.comment, given.config]
    yield from (target for target in named if target is not None)
    image = profile.container.image if profile is not None and profile.container is not None else None
    said = image_name(image or "")
    if said.ascend is not None and said.version is not None:
        yield from _made(ascend_target if said.ascend else vllm_target, said.version, "image")
    yield from given.installed


def choice_of(nodes: Sequence[NodeLaunch], sources: Mapping[str, SourceFile], given: Given) -> Choice:
    """Return what a deployment is checked for: what all of its engines are, or whatever one of them may be."""
    choices = list(dict.fromkeys(node.choice for node in nodes if node.choice is not None))
    if not choices:
        comments = (comment_above(source, 1) for source in sources.values())
        named = (comment.target for comment in comments if comment is not None)
        ordered = [given.option, *named, given.config]
        return decided((target for target in ordered if target is not None), (True, False))
    if len(choices) == 1:
        return choices[0]
    return Choice(None, tuple(dict.fromkeys(family for choice in choices for family in choice.families)))


def choices(deployment: Deployment) -> Iterator[Choice]:
    """Iterate over what the engines of a deployment are checked for, each once."""
    whole = deployment.choice or Choice.of(deployment.target)
    found = [node.choice or whole for node in deployment.nodes] if deployment.renderer is None else []
    yield from dict.fromkeys(found or [whole])


def file_choices(deployments: Iterable[Deployment]) -> list[tuple[str, Choice]]:
    """Return the files of deployments with what their engines are checked for, each pair once."""
    found: dict[tuple[str, Choice], None] = {}
    for deployment in deployments:
        whole = deployment.choice or Choice.of(deployment.target)
        found |= dict.fromkeys((node.origin.file, node.choice or whole) for node in deployment.nodes)
        if not deployment.nodes:
            found[next(iter(deployment.sources), ""), whole] = None
    return list(found)


def families(node: NodeLaunch, sources: Mapping[str, SourceFile], said: Sequence[Mention]) -> tuple[bool, ...]:
    """Return what an engine may be for: Ascend (True), other hardware (False), or both where it gives no sign."""
    named = next((m for m in said if m.by in ("comment", "plan") and m.ascend is not None), None)
    if node.hardware is None and named is not None and named.ascend is not None:
        return (named.ascend,)
    return signs(node, sources).families


def _installed(host: Mapping[str, Any]) -> Iterator[Target]:
    for fact, make in (("vllm_ascend", ascend_target), ("vllm", vllm_target)):
        version = host.get(fact)
        if isinstance(version, str):
            yield from _made(make, version, "installed")
            if fact == "vllm_ascend":
                return  # the vLLM beside it is the one that it brings


def _made(make: Any, version: str, by: Decider) -> Iterator[Target]:
    try:
        yield make(version, by)
    except TargetError:
        return
