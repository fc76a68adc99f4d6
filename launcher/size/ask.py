"""What was asked becomes a profile, whose decode side is rendered like any other: its numbers are a launch's."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from pd_launch.launcher.inputs import read_profile, read_source
from pd_launch.launcher.size.config import refuse_odd_numbers
from pd_launch.launcher.size.divides import refuse_sizes
from pd_launch.launcher.sources.profiles.deployment import target_of
from pd_launch.launcher.sources.profiles.load import LoadedProfile, load_profile
from pd_launch.launcher.sources.profiles.render import render
from pd_launch.launcher.sources.profiles.shipped import find_profile
from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.units import format_size
from pd_launch.schemas.core.values import SourceFile
from pd_launch.schemas.engine.lengths import longest_request
from pd_launch.schemas.engine.offload import budget_of, offloads
from pd_launch.schemas.memory.kv_geometry import Geometry, known_geometry
from pd_launch.schemas.memory.shared_memory import ShmNeed, shm_need
from pd_launch.schemas.memory.sizing_numbers import Layout, Sizing, SizingError, for_memory, for_requests
from pd_launch.schemas.models.known import model_of

KEYS = {
    "tp": "decode.parallel.tensor",
    "pp": "decode.parallel.pipeline",
    "dp": "decode.parallel.data",
    "block_size": "decode.engine.block-size",
    "kv_cache_dtype": "decode.engine.kv-cache-dtype",
    "max_model_len": "decode.engine.max-model-len",
}
"""Options that stand for a key of the profile."""
AMOUNTS = ("requests", "memory", "per_rank", "tokens")


@dataclass(frozen=True)
class Asked:
    """The options of ``size``. Sizes are bytes; None is not given."""

    files: Sequence[str] = ()
    """Launches whose decode side is sized, in place of a profile."""
    profile: str | None = None
    model: str | None = None
    config: str | None = None
    hardware: str = "a3"
    nodes: int | None = None
    mtp: int | None = None
    keys: dict[str, str] = field(default_factory=dict)
    settings: Sequence[str] = ()
    requests: int | None = None
    memory: int | None = None
    per_rank: int | None = None
    tokens: int | None = None
    bytes_per_block: int | None = None
    target: Target | None = None


@dataclass(frozen=True)
class Answer:
    """The numbers, and the profile with the budget in it."""

    sizing: Sizing
    loaded: LoadedProfile
    target: Target
    node: NodeLaunch
    written: bool = False
    """Whether the launch is written out in files of the user's, and no profile is there."""


def answer(asked: Asked) -> Answer:
    """Return the numbers for what was asked.

    Raises:
        SizingError: something is missing or leaves nothing; the message says what.
        UnknownModel, KVLayoutError: the model's cache cannot be computed.
        ProfileNotFound, SettingError: see the profile's own module.
    """
    loaded = _profile(asked)
    if loaded.profile is None:
        fault = loaded.faults[0]
        place = f"{fault.origin.file}:{fault.origin.line}: "
        raise SizingError(Msg(f"{place}{fault.detail.en}", f"{place}{fault.detail.zh}"))
    target = target_of(loaded, asked.target)
    rendered = render(loaded, "decode", target)
    if rendered.faults or not rendered.launches:
        no_side = Msg("the profile has no decode side", "配置文件里没有 decode 侧")
        raise SizingError(rendered.faults[0].detail if rendered.faults else no_side)
    launches = [node for node in rendered.launches if node.node_rank == rendered.launches[0].node_rank]
    node = launches[0]
    node.model_config = _config(asked)
    refuse_sizes(node, model_of(node))
    geometry = _geometry(asked, node, target)
    layout = _layout(launches, target)
    tokens = asked.tokens or longest_request(node, model_of(node))
    if not tokens:
        raise SizingError(
            Msg(
                "the length of a parked request is not known: give --tokens or --max-model-len",
                "不知道暂存的请求有多长：请给出 --tokens 或 --max-model-len",
            )
        )
    return Answer(_sized(asked, layout, geometry, tokens, node, target), loaded, target, node, bool(asked.files))


def _sized(asked: Asked, layout: Layout, geometry: Geometry, tokens: int, node: NodeLaunch, target: Target) -> Sizing:
    if asked.per_rank is not None:
        return Sizing(layout, geometry, tokens, asked.per_rank)
    if asked.memory is not None:
        return for_memory(layout, geometry, tokens, asked.memory)
    if asked.requests is not None:
        return for_requests(layout, geometry, tokens, asked.requests)
    offload = next(iter(offloads(node)), None)
    budget = budget_of(node, offload, target) if offload is not None else None
    if budget is None or budget.per_rank_bytes is None:
        raise SizingError(
            Msg(
                "say what to size for: --requests N to park, or --memory SIZE that the node has",
                "请说明按什么估算：--requests N（暂存的请求数），或 --memory SIZE（节点的内存）",
            )
        )
    return Sizing(layout, geometry, tokens, budget.per_rank_bytes)


def _geometry(asked: Asked, node: NodeLaunch, target: Target) -> Geometry:
    if asked.bytes_per_block is None:
        facts = model_of(node)
        if node.model_config is None and facts is not None and facts.hybrid:
            raise SizingError(
                Msg(
                    "the blocks of this model's layers differ, and only its config.json says how: give its path with "
                    "--model or --config, or --bytes-per-block from the engine's log",
                    "该模型各层的块大小不同，只有其 config.json 有说明：请用 --model 或 --config 给出它的路径，"
                    "或用 --bytes-per-block 给出引擎日志中的字节数",
                )
            )
        return known_geometry(node, facts, target, most=True)
    tokens = node.number("block-size", 128 if target.is_ascend else 16) or 128
    return Geometry(tokens, asked.bytes_per_block, True)


def _layout(launches: Sequence[NodeLaunch], target: Target) -> Layout:
    node = launches[0]
    world, data = node.world_size, node.data
    engines = sum(launch.local_engines or 0 for launch in launches)
    if not world or not data or not engines:
        raise SizingError(Msg("the parallel sizes are unknown", "不知道并行大小"))
    need = sum((n for launch in launches if (n := shm_need(launch, target))), ShmNeed())
    builtin = any(not connector.bundled_in(target) for connector in offloads(node))
    context = (node.number("decode-context-parallel-size", 1) or 1) * (node.prefill_context or 1)
    sizes = f"TP {node.tensor} × PP {node.pipeline} × PCP {node.prefill_context}"
    return Layout(
        world, engines, data, node.nodes or 1, need.total, target.is_ascend, context, 1 if builtin else 0, sizes
    )


def _profile(asked: Asked) -> LoadedProfile:
    if asked.files:
        source = _of_files(tuple(asked.files), asked.target, tuple(f"--{key.replace('_', '-')}" for key in asked.keys))
    elif asked.profile is not None:
        source = read_profile(str(find_profile(asked.profile)))
    else:
        source = SourceFile("<command line>", json.dumps(_fresh(asked)))
    settings = [f"{KEYS[name]}={value}" for name, value in asked.keys.items()]
    if (asked.profile is not None or asked.files) and asked.model is not None:
        settings.append(f"model={json.dumps(_model_name(asked.model))}")
    if asked.nodes is not None:
        settings.append(f"nodes.decode={json.dumps(_addresses(asked.nodes))}")
    if asked.mtp is not None:
        drafts = {"method": "mtp", "num_speculative_tokens": asked.mtp}
        settings.append(f"decode.engine.speculative-config={json.dumps(drafts)}")
    return load_profile(source, [*settings, *asked.settings])


@lru_cache(maxsize=8)
def _of_files(files: tuple[str, ...], target: Target | None, given: tuple[str, ...]) -> SourceFile:
    """Return the profile of files; a table asks for it once for each of its rows."""
    from pd_launch.launcher.size.files import profile_of

    return profile_of(files, target, given)


def _fresh(asked: Asked) -> dict[str, Any]:
    """Return a profile of the model alone."""
    if asked.model is None:
        raise SizingError(
            Msg(
                "give --profile, or --model with the name or the folder of a model, or files of yours",
                "请给出 --profile，或 --model 加模型的名字或目录，或自己的文件",
            )
        )
    return {"version": 1, "name": "sized", "hardware": asked.hardware, "model": _model_name(asked.model), "decode": {}}


def _model_name(model: str) -> str:
    return str(Path(model).parent) if Path(model).name == "config.json" else model


def _addresses(count: int) -> list[dict[str, str]]:
    """Return addresses that stand for those of the nodes (of the range that is kept for documentation)."""
    return [{"address": f"192.0.2.{number + 1}"} for number in range(count)]


def _config(asked: Asked) -> dict[str, Any] | None:
    """Return the model's config.json where one is named or lies in the model's folder."""
    named = asked.config or asked.model
    if named is None:
        return None
    path = Path(named)
    if path.is_dir():
        path = path / "config.json"
    if not path.is_file():
        if asked.config is not None:
            raise SizingError(Msg(f"{path}: no such file", f"{path}：没有这个文件"))
        return None
    try:
        config = json.loads(read_source(str(path)).text)
    except RecursionError:
        raise SizingError(Msg(f"{path} is nested too deep", f"{path} 嵌套过深")) from None
    except ValueError as error:
        raise SizingError(Msg(f"{path} is not JSON: {error}", f"{path} 不是 JSON：{error}")) from None
    if not isinstance(config, dict):
        raise SizingError(Msg(f"{path} is not a model's config.json", f"{path} 不是模型的 config.json"))
    refuse_odd_numbers(config)
    return config


def proposal(found: Answer) -> dict[str, Any]:
    """Return what a profile has to say for the numbers."""
    sizing, offload = found.sizing, found.loaded.profile and found.loaded.profile.decode
    written: dict[str, Any] = {"per_rank": format_size(sizing.per_rank)}
    if offload and offload.offload and offload.offload.connector != "bundled":
        written["connector"] = offload.offload.connector
    return {
        "decode": {"offload": written},
        "container": {"shm_size": format_size(sizing.shm), "memory": format_size(sizing.pod_memory)},
    }


def with_choice(asked: Asked, name: str, value: str | int) -> Asked:
    """Return ``asked`` with one choice made: an amount, or a key of the profile."""
    if name in AMOUNTS:
        others: dict[str, Any] = {} if name == "tokens" else dict.fromkeys(("requests", "memory", "per_rank"))
        return replace(asked, **{**others, name: value})
    return replace(asked, keys={**asked.keys, name: str(value)})
