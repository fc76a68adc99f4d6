"""Rules and a release that was only guessed: a fix that depends on it is not certain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

from pd_launch.launcher.rules.registry import Hit, Rule
from pd_launch.launcher.targets import families
from pd_launch.schemas.launch import Deployment
from pd_launch.schemas.releases.pairing import ASCEND_PAIRS, VLLM_RELEASES
from pd_launch.schemas.target import Target, ascend_target, vllm_target

GUESSES = ("newest", "installed")
"""Who decides where the input names no release: it may be for another one."""
_OF_THE_RELEASE = ("target", "ascend")


class _Watched:
    """Stands for a deployment, and notes whether it was asked for its release."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self.asked = False

    def __getattr__(self, name: str) -> Any:
        self.asked = self.asked or name in _OF_THE_RELEASE
        return getattr(self._deployment, name)


def hits_of(rule: Rule, deployment: Deployment) -> Iterator[Hit]:
    """Run a rule; where the release is a guess, a fix that other releases would not get as well is not safe."""
    if deployment.target.decided_by not in GUESSES:
        yield from rule.hits(deployment)
        return
    watched = _Watched(deployment)
    hits = list(rule.hits(cast("Deployment", watched)))
    rendered = any(node.form == "profile" for node in deployment.nodes)
    for hit in hits:
        if hit.fix is not None and hit.fix.safe and (watched.asked or rendered):
            sure = not rendered and all(_fixes(rule, hit, _for(deployment, row)) for row in _rows(deployment))
            yield hit if sure else replace(hit, fix=replace(hit.fix, safe=False))
        else:
            yield hit


def _rows(deployment: Deployment) -> Iterator[Target]:
    for ascend in families(deployment.nodes, deployment.sources):
        make, rows = (ascend_target, list(ASCEND_PAIRS)) if ascend else (vllm_target, VLLM_RELEASES)
        for row in reversed(rows):
            yield make(row, deployment.target.decided_by)


def _for(deployment: Deployment, target: Target) -> Deployment:
    return replace(deployment, target=target, ascend=target.is_ascend)


def _fixes(rule: Rule, hit: Hit, deployment: Deployment) -> bool:
    """Whether a rule makes the same fix at the same place for another release."""
    return any(
        other.origin == hit.origin
        and other.fix is not None
        and hit.fix is not None
        and other.fix.edits == hit.fix.edits
        for other in rule.hits(deployment)
    )
