"""Files that start a profile through pd-launch itself, as units and lines for ssh do: the profile is theirs already."""

from __future__ import annotations

from collections.abc import Sequence

from pd_launch.launcher.init.compare import Left
from pd_launch.schemas.core.launch import Deployment
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import SourceFile

_OPTION = lazy_pattern(r"pd-launch[\"']? (?:decode|prefill) [^\n]{0,1000}?(?P<option> --set[ =]| -- )")


def named_profile(deployments: Sequence[Deployment], given: Sequence[SourceFile]) -> SourceFile | None:
    """Return the one profile that all of ``given`` start; None where it is given too, or others are started beside it.

    Args:
        deployments: what was read, each with an engine.
        given: the files of the call.
    """
    found = {path: source for deployment in deployments for path, source in deployment.sources.items()}
    if any(node.form != "profile" for deployment in deployments for node in deployment.nodes):
        return None
    if len(found) != 1 or set(found) & {source.path for source in given}:
        return None
    return next(iter(found.values()))


def added(given: Sequence[SourceFile]) -> list[Left]:
    """Return what command lines give beside the profile, which is not in it."""
    left = []
    for source in given:
        match = _OPTION.search(source.text)
        if match is not None:
            start = match.start("option") + 1
            why = Msg("what it provides is not in the profile: write it there", "它给出的内容不在配置文件里，请写进去")
            left.append(Left("profile", match["option"].strip(" ="), why, source.origin(start, start + 2)))
    return left
