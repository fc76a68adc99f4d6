"""The launches that somebody has, as the profile that ``size`` works on: scripts, manifests, whatever check reads."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pd_launch.launcher.init.convert import Converted, convert
from pd_launch.launcher.inputs import read_source
from pd_launch.launcher.sources.profiles.shipped import is_profile
from pd_launch.launcher.sources.read import Inputs, read
from pd_launch.launcher.sources.trees.yaml_tree import parse_yaml
from pd_launch.schemas.core.errors import ValueFault
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.values import SourceFile
from pd_launch.schemas.memory.sizing_numbers import SizingError

_COUNTS = {
    "--tensor-parallel-size": "--tp",
    "--pipeline-parallel-size": "--pp",
    "--data-parallel-size": "--dp",
    "--block-size": "--block-size",
    "--kv-cache-dtype": "--kv-cache-dtype",
    "--max-model-len": "--max-model-len",
}
"""Arguments on which the numbers depend, and the options of ``size`` that say them."""


def profile_of(paths: Sequence[str], target: Target | None, given: Sequence[str]) -> SourceFile:
    """Return a profile of the engines in files; of files that start a profile, that profile.

    Args:
        paths: the files, ``-`` for standard input.
        target: the release that was asked for.
        given: the arguments that options of ``size`` say.

    Raises:
        SizingError: there is no engine of which anything can be said.
    """
    sources = [read_source(path) for path in dict.fromkeys(paths)]
    deployments = [d for d in read(Inputs(sources, target=target)) if d.nodes]
    if not deployments:
        raise SizingError(
            Msg(
                "no engine was found in these files: pd-launch check says more about them",
                "这些文件中没有找到引擎：pd-launch check 会给出更多说明",
            )
        )
    profiles = [d for d in deployments if d.nodes[0].form == "profile"]
    if profiles:
        named = {path: source for d in profiles for path, source in d.sources.items()}
        if len(named) > 1 or len(profiles) < len(deployments):
            raise SizingError(
                Msg(
                    "these files hold several deployments: give those of one",
                    "这些文件含有多个部署：请只给出其中一个",
                )
            )
        return next(iter(named.values()))
    try:
        made = convert(deployments)
    except ValueFault as error:
        raise SizingError(error.said) from None
    _refuse_unknown(made, given)
    return SourceFile("the files", _decode_alone(made.text))


def _refuse_unknown(made: Converted, given: Sequence[str]) -> None:
    for left in made.left:
        option = _COUNTS.get(left.what)
        if option is not None and option not in given:
            place = f"{left.origin.file}:{left.origin.line}: " if left.origin else ""
            raise SizingError(
                Msg(
                    f"{place}{left.what} is not known before the launch: give {option}",
                    f"{place}启动之前不知道 {left.what}：请给出 {option}",
                )
            )


def _decode_alone(text: str) -> str:
    """Return the profile without its prefill side, of which nothing is asked."""
    trees, _ = parse_yaml(SourceFile("the files", text))
    profile: dict[str, Any] = next((tree.plain() for tree in trees if is_profile(tree)), {})
    if "decode" not in profile:
        raise SizingError(
            Msg(
                "these files contain only a prefill side, but the offload belongs on the decode side",
                "这些文件只有预填充侧，而卸载用在解码侧",
            )
        )
    profile.pop("prefill", None)
    profile.pop("patch", None)
    return json.dumps({**profile, "nodes": {k: v for k, v in profile.get("nodes", {}).items() if k == "decode"}})
