"""Ray Serve: ``applications`` with the models that they serve, alone, in a RayService, or one model's own file.

A model is what Ray's LLMConfig takes, in Python as in YAML: ``engine_kwargs`` are keyword arguments of vLLM's engine,
and Ray adds others by itself. A model may also be the name of a file.
"""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.sources.engine.found import Found
from pd_launch.launcher.sources.forms.manifest import is_manifest, read_manifest
from pd_launch.launcher.sources.forms.options import variables
from pd_launch.launcher.sources.forms.relocate import read_inside
from pd_launch.launcher.sources.text.interpolate import CONFIG, expand_node
from pd_launch.launcher.sources.trees.yaml_tree import parse_yaml
from pd_launch.schemas.core.flag_shapes import LISTS
from pd_launch.schemas.core.hardware import HARDWARE
from pd_launch.schemas.core.launch import Arg, NodeLaunch, Side
from pd_launch.schemas.core.values import Node, SourceFile

ARGUMENTS = "engine_kwargs"
LOADING = "model_loading_config"
_SIDES: dict[str, Side | None] = {"prefill_config": "prefill", "decode_config": "decode", "llm_config": None}
_MANY = "llm_configs"
_INSIDE = "serveConfigV2"


def recognise(tree: Node) -> bool:
    """Whether a document is a configuration of Ray Serve with models, a RayService, or one model."""
    if is_manifest(tree):
        return _config(tree) is not None
    return any(_models(tree))


def read(tree: Node, source: SourceFile, found: Found) -> None:
    """Add an engine for each model."""
    if not is_manifest(tree):
        found.nodes += [_engine(*model) for model in _models(tree)]
        return
    read_manifest(tree, source.path, found)
    inner = _config(tree)
    if inner is None or inner.text is None:
        return
    read_inside(inner.text, found, _read_models)


def _read_models(source: SourceFile, found: Found) -> None:
    documents, faults = parse_yaml(source)
    found.add_faults(faults)
    found.nodes += [_engine(*model) for document in documents for model in _models(document)]


def _config(tree: Node) -> Node | None:
    """Return the text in which a RayService, or a RayJob's cluster, holds the configuration of Serve."""
    return tree.get("spec", _INSIDE)


def _models(tree: Node) -> Iterator[tuple[str, Side | None, Node]]:
    """Iterate over the models of a document: what each is called, its side, and its configuration."""
    if tree.get(LOADING) is not None and tree.get(ARGUMENTS) is not None:
        yield "model", None, tree
    applications = tree.get("applications")
    for application in applications.elements() if applications is not None else ():
        arguments = application.get("args")
        named = application.get("name")
        label = str(named.value) if named is not None and isinstance(named.value, str) else "application"
        if arguments is not None:
            yield from _of_application(label, arguments)


def _of_application(label: str, arguments: Node) -> Iterator[tuple[str, Side | None, Node]]:
    for key, side in _SIDES.items():
        model = arguments.get(key)
        if model is not None and isinstance(model.value, dict):
            yield key if side else label, side, model
    listed = arguments.get(_MANY)
    for model in listed.elements() if listed is not None else ():
        if isinstance(model.value, dict):
            yield label, None, model


def _engine(label: str, side: Side | None, model: Node) -> NodeLaunch:
    place = model.get(ARGUMENTS) or model
    node = NodeLaunch("python", place.key or place.origin, label, program="python", side=side, partial=True)
    node.env_open = node.origin  # Ray sets more
    loading = model.get(LOADING)
    if loading is not None:
        node.model = loading.get("model_source") or loading.get("model_id")
        if node.model is not None and not isinstance(node.model.value, str):
            node.model = None  # a bucket with files
    for key, given in (model.get(ARGUMENTS) or Node({}, model.origin)).items():
        _add(node, key, expand_node(given, CONFIG))
    if model.get("accelerator_type") is not None:  # Ray names GPUs there
        node.hardware = HARDWARE["cuda"]
    node.env = variables(model.get("runtime_env", "env_vars"))
    return node


def _add(node: NodeLaunch, key: str, value: Node) -> None:
    """Add a keyword argument of the engine, as Python takes it."""
    flag, place = key.replace("_", "-"), value.key or value.origin
    if flag == "model":
        node.model = node.model or value
    elif isinstance(value.value, bool):
        node.add(Arg(flag if value.value else f"no-{flag}", key, place, text=value.key_text))
    elif flag in LISTS and isinstance(value.value, list) and value.value:
        node.add(Arg(flag, key, place, value.value[0], tuple(value.value[1:]), value.key_text))
    elif value.value is not None:
        node.add(Arg(flag, key, place, value, text=value.key_text))
