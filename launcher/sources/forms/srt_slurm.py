"""Recipes of srt-slurm: one Slurm job with the options of each kind of worker under ``backend.vllm_config``.

Its tool turns the options into flags of ``python -m dynamo.vllm`` (of ``vllm serve`` where the frontend is vLLM's own)
and adds addresses, ports and the layout of data parallelism by itself, so that what is not written may still be there.
A switch that is false is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pd_launch.launcher.sources.engine.found import Found
from pd_launch.launcher.sources.forms.options import add_options, merged, variables
from pd_launch.launcher.sources.trees.json_tree import parse_json
from pd_launch.schemas.core.hardware import HARDWARE
from pd_launch.schemas.core.launch import Arg, Container, EnvVar, Fault, NodeLaunch, Side
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.values import Node, SourceFile, Unknown

_MODES: dict[str, Side | None] = {"prefill": "prefill", "decode": "decode", "aggregated": None}
_OWN = ("connector",)
"""Keys among the options that the tool reads itself."""
_PER_NODE = ("data-parallel-size-local", "data-parallel-start-rank", "data-parallel-hybrid-lb", "headless")
"""Options that it works out, whatever the recipe says, where it starts one process a node."""
_CONNECTORS = {
    "nixl": {"kv_connector": "NixlConnector", "kv_role": "kv_both"},
    "lmcache": {"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"},
    "kvbm": {
        "kv_connector": "DynamoConnector",
        "kv_connector_module_path": "kvbm.vllm_integration.connector",
        "kv_role": "kv_both",
    },
}
"""What its short names for connectors stand for; another word is the JSON itself."""
_GAP = lazy_pattern(r"\{\w{1,80}\}")
"""A parameter of a sweep."""
_VARIANT, _ZIPPED = "override_", "zip_override_"
_BRANCH = -4
"""Marks branches among those of engines of one variant of a recipe: each variant is a job of its own."""
MAX_VARIANTS = 32


def recognise(tree: Node) -> bool:
    """Whether a document is a recipe with workers of vLLM."""
    return any(_workers(recipe) is not None for recipe in (tree, tree.get("base")) if recipe is not None)


def read(tree: Node, source: SourceFile, found: Found) -> None:
    """Add an engine for each kind of worker, of each variant where a recipe has several."""
    for number, recipe in enumerate(_variants(tree)):
        before = len(found.nodes)
        for mode, side in _MODES.items():
            options = _workers(recipe)
            given = options.get(mode) if options is not None else None
            if given is not None and isinstance(given.value, dict):
                found.nodes.append(_engine(recipe, mode, side, given, found.faults))
        for node in found.nodes[before:] if tree.get("base") is not None else ():
            node.branches = ((_BRANCH, number),)


def _workers(recipe: Node) -> Node | None:
    options = recipe.get("backend", "vllm_config")
    return options if options is not None and any(options.get(mode) is not None for mode in _MODES) else None


def _variants(tree: Node) -> Iterator[Node]:
    """Iterate over the recipes of a file: itself, or its base and what each variant lays over it."""
    base = tree.get("base")
    if base is None:
        yield tree
        return
    yield base
    laid = [
        _unzipped(part) if key.startswith(_ZIPPED) else part
        for key, part in tree.items()
        if key.startswith((_VARIANT, _ZIPPED))
    ]
    for part in laid[:MAX_VARIANTS]:
        yield merged(base, part)


def _unzipped(part: Node) -> Node:
    """Return a variant that stands for several jobs with what differs between them as unknown."""
    if isinstance(part.value, dict):
        return replace(part, value={key: _unzipped(entry) for key, entry in part.value.items()})
    return replace(part, value=Unknown("…"), text=None) if isinstance(part.value, list) else part


def _engine(recipe: Node, mode: str, side: Side | None, options: Node, faults: list[Fault]) -> NodeLaunch:
    node = NodeLaunch("options", options.key or options.origin, mode, program="dynamo", side=side, partial=True)
    node.env_open = node.origin  # the tool sets more
    frontend = recipe.get("frontend", "type")
    if frontend is not None and frontend.value == "vllm":
        node.program = "serve"
    node.model = _model(recipe)
    _connector(node, recipe, options, faults)
    layout = recipe.get("backend", "dp_launch_mode")
    per_node = layout is None or layout.value != "per_gpu"
    add_options(node, _filled(options), faults, drops_false=True, leave=(*_OWN, *(_PER_NODE if per_node else ())))
    own = variables(recipe.get("backend", f"{mode}_environment"))
    node.env = {**_shared(recipe), **own}
    if recipe.get("resources", "gpu_type") is not None:
        node.hardware = HARDWARE["cuda"]
    node.container = _container(recipe, mode)
    return node


def _shared(recipe: Node) -> dict[str, EnvVar]:
    """Return the variables that all workers get: the recipe's own, and those of its Mooncake store."""
    return {**variables(recipe.get("environment")), **variables(recipe.get("backend", "mooncake_kv_store", "env"))}


def _model(recipe: Node) -> Node | None:
    """Return the model: its repository where the recipe says it, else its path, which may be a short name."""
    named = recipe.get("identity", "model", "repo") or recipe.get("model", "path")
    if named is None or named.text is None or not named.text.value.startswith("hf:"):
        return named
    text = named.text.part(len("hf:"), len(named.text.value))
    return replace(named, value=text.value, text=text, site=None)


def _connector(node: NodeLaunch, recipe: Node, options: Node, faults: list[Fault]) -> None:
    """Add what ``connector`` stands for, ahead of the options, which go before it."""
    if any(options.get(key) is not None for key in ("kv-transfer-config", "kv_transfer_config")):
        return  # it comes after, and counts
    given = options.get("connector")
    given = given if given is not None and given.value is not None else recipe.get("backend", "connector")
    if given is None:
        written: Node | None = _tree(_CONNECTORS["nixl"], options)
    elif given.text is None or given.value in (None, "", "null", "none"):
        written = None
    elif given.text.value.lower() in _CONNECTORS:
        written = _tree(_CONNECTORS[given.text.value.lower()], given)
    else:
        written, more = parse_json(given.text, sizes=True)
        written.text = given.text
        faults += more
    if written is not None:
        name = "kv-transfer-config"
        node.add(Arg(name, name, (given or options).key or options.origin, written))


def _tree(plain: dict[str, str], place: Node) -> Node:
    at = (place.key or place.origin) if isinstance(place.value, dict) else place.origin
    return Node({key: Node(value, at) for key, value in plain.items()}, at)


def _filled(options: Node) -> Node:
    """Return options with the parameters of a sweep as unknown."""
    entries = {
        key: replace(value, value=Unknown(value.value), site=None)
        if isinstance(value.value, str) and _GAP.fullmatch(value.value)
        else value
        for key, value in options.items()
    }
    return replace(options, value=entries)


def _container(recipe: Node, mode: str) -> Container | None:
    """Return the image that the workers run in, and the devices of each where the recipe names them."""
    image = recipe.get("identity", "container", "image") or recipe.get("model", "container")
    if image is None:
        return None
    container = Container("manifest", image.origin, image=image, partial=True)
    devices = recipe.get("resources", f"gpus_per_{'agg' if mode == 'aggregated' else mode}")
    if devices is not None:
        container.resources["nvidia.com/gpu"] = devices
    return container
