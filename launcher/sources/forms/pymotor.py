"""MindIE pyMotor's user_config.json: the options of vLLM under ``engine_config`` of each kind of engine.

pyMotor turns them into flags, fills in what its older ``model_config`` says, and adds host, ports, ranks, the engine's
id and the sizes of both sides by itself. A switch that is false is left out.
"""

from __future__ import annotations

from dataclasses import replace

from pd_launch.launcher.sources.engine.found import Found
from pd_launch.launcher.sources.forms.options import add_options, variables
from pd_launch.schemas.core.hardware import HARDWARE, Hardware
from pd_launch.schemas.core.launch import Container, NodeLaunch, Side
from pd_launch.schemas.core.values import Node, Origin, SourceFile, Unknown

_SIDES: dict[str, Side | None] = {
    "motor_engine_prefill_config": "prefill",
    "motor_engine_decode_config": "decode",
    "motor_engine_union_config": None,
}
_OPTIONS, _KV = "engine_config", "kv_transfer_config"
_ROLES = {"prefill": "kv_producer", "decode": "kv_consumer"}
_SIZES = {"motor_engine_prefill_config": "prefill", "motor_engine_decode_config": "decode"}
"""Whose sizes are written under which key of a Mooncake connector's own options, on both sides."""
_OLDER = {
    "model_path": "model", "npu_mem_utils": "gpu-memory-utilization", "dp_size": "data-parallel-size",
    "tp_size": "tensor-parallel-size", "pp_size": "pipeline-parallel-size", "pcp_size": "prefill-context-parallel-size",
    "enable_ep": "enable-expert-parallel", "dp_rpc_port": "data-parallel-rpc-port",
    "cp_kv_cache_interleave_size": "cp-kv-cache-interleave-size",
}  # fmt: skip
"""The keys of ``model_config`` and its ``parallel_config``, and the flags that they become."""
_OWN = ("host", "port", "data-parallel-address", "data-parallel-rank")
"""Flags that pyMotor sets, whatever ``engine_config`` says."""
_HARDWARE = {"a2": "a2", "a3": "a3"}


def recognise(tree: Node) -> bool:
    """Whether a document is such a configuration with engines of vLLM."""
    return any(_section(tree, key) is not None for key in _SIDES)


def read(tree: Node, source: SourceFile, found: Found) -> None:
    """Add an engine for each side."""
    for key, side in _SIDES.items():
        section = _section(tree, key)
        if section is not None:
            found.nodes.append(_engine(tree, section, side, found))


def _section(tree: Node, key: str) -> Node | None:
    section = tree.get(key)
    if section is None or section.get(_OPTIONS) is None:
        return None
    kind = section.get("engine_type")
    return section if kind is None or kind.value == "vllm" else None


def _engine(tree: Node, section: Node, side: Side | None, found: Found) -> NodeLaunch:
    node = NodeLaunch("options", section.key or section.origin, side or "union", side=side, partial=True)
    node.env_open = node.origin  # pyMotor sets more
    options = _completed(tree, section.get(_OPTIONS), side)
    add_options(node, options, found.faults, drops_false=True, leave=_OWN)
    for mapping in _older(section, side):
        add_options(node, _translated(mapping, node), found.faults, drops_false=True)
    deploy = tree.get("motor_deploy_config")
    node.hardware = _hardware(deploy)
    node.container = _container(deploy)
    node.env = variables(section.get("env"))
    return node


def _older(section: Node, side: Side | None) -> list[Node]:
    """Return the mappings with the older keys, which count where ``engine_config`` says nothing."""
    model = section.get("model_config")
    found = [model, *(model.get(key) for key in (f"{side}_parallel_config", "parallel_config"))] if model else []
    return [mapping for mapping in found if mapping is not None]


def _translated(mapping: Node, node: NodeLaunch) -> Node:
    """Return the older keys under the names of the flags that they become, without those that are given already."""
    entries = {_OLDER[key]: value for key, value in mapping.items() if key in _OLDER and not node.named(_OLDER[key])}
    return replace(mapping, value=entries)


def _completed(tree: Node, options: Node | None, side: Side | None) -> Node | None:
    """Return the options with what pyMotor fills into the transfer's configuration, whose engine_id is its own."""
    if options is None:
        return None
    found = next((key for key, _ in options.items() if key.replace("-", "_") == _KV), None)
    config = options.get(found) if found is not None else None
    if found is None or config is None or not isinstance(config.value, dict) or side is None:
        return options
    at = config.key or config.origin
    entries = {key: value for key, value in config.value.items() if key != "engine_id"}
    entries.setdefault("kv_role", Node(_ROLES[side], at))
    connector = entries.get("kv_connector")
    extra = entries.get("kv_connector_extra_config") or Node({}, at)
    if connector is not None and str(connector.value).startswith("Mooncake") and isinstance(extra.value, dict):
        sizes = {key: _sizes(tree, name, at) for name, key in _SIZES.items()}
        entries["kv_connector_extra_config"] = replace(extra, value={**extra.value, **sizes})
    return replace(options, value={**options.value, found: replace(config, value=entries)})


def _sizes(tree: Node, section: str, at: Origin) -> Node:
    """Return the sizes of a side as they are written into both sides' configurations."""
    sizes = _section(tree, section)
    if sizes is None:
        return Node(Unknown("…"), at)
    side = _SIDES[section]
    probe = NodeLaunch("options", at, section)
    add_options(probe, sizes.get(_OPTIONS), [], drops_false=True)
    for mapping in _older(sizes, side):
        add_options(probe, _translated(mapping, probe), [], drops_false=True)
    numbers = {"dp_size": probe.data, "tp_size": probe.tensor, "pp_size": probe.pipeline}
    return Node({key: Node(Unknown("…") if n is None else n, at) for key, n in numbers.items()}, at)


def _hardware(deploy: Node | None) -> Hardware | None:
    kind = deploy.get("hardware_type") if deploy is not None else None
    written = str(kind.value).lower() if kind is not None else ""
    return next((HARDWARE[name] for word, name in _HARDWARE.items() if written.endswith(word)), None)


def _container(deploy: Node | None) -> Container | None:
    if deploy is None:
        return None
    container = Container("manifest", deploy.key or deploy.origin, partial=True)
    image = deploy.get("image_name")
    container.image = image if image is not None and image.value else None
    return container
