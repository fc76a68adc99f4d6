"""Helm values of vllm-project/production-stack: each entry of ``servingEngineSpec.modelSpec`` becomes a Deployment.

Its chart writes the command, the image and the variables; they are put together here as the chart does, each from the
characters of the values, and read as the pod that they become.
"""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.sources.engine.found import Found
from pd_launch.launcher.sources.forms.dynamo_graph import MAIN
from pd_launch.launcher.sources.forms.manifest import read_manifest
from pd_launch.launcher.sources.text.weave import concat
from pd_launch.schemas.core.values import Node, Origin, SourceFile, Text
from pd_launch.schemas.engine.sides import spoken_side

_SPEC, _MODELS, _CONFIG, _CACHE = "servingEngineSpec", "modelSpec", "vllmConfig", "lmcacheConfig"
_OPTIONS = {
    "maxModelLen": "max-model-len",
    "dtype": "dtype",
    "tensorParallelSize": "tensor-parallel-size",
    "maxNumSeqs": "max-num-seqs",
    "gpuMemoryUtilization": "gpu-memory-utilization",
    "maxLoras": "max-loras",
    "runner": "runner",
    "convert": "convert",
}
"""Keys of ``vllmConfig`` and the options that they become."""
_RAY_OPTIONS = {"pipelineParallelSize": "pipeline-parallel-size"}
"""Those that only a model with ``raySpec`` gets."""
_PORT = "8000"
_VARIABLES = {
    "cudaVisibleDevices": "CUDA_VISIBLE_DEVICES",
    "nixlRole": "LMCACHE_NIXL_ROLE",
    "nixlPeerHost": "LMCACHE_NIXL_RECEIVER_HOST",
    "nixlPeerPort": "LMCACHE_NIXL_RECEIVER_PORT",
    "nixlBufferSize": "LMCACHE_NIXL_BUFFER_SIZE",
    "nixlBufferDevice": "LMCACHE_NIXL_BUFFER_DEVICE",
}
"""Keys of ``lmcacheConfig`` and the variables that they become; the chart sets more."""
_ROLES = {"kv_producer": "prefill", "kv_consumer": "decode", "sender": "prefill", "receiver": "decode"}


def recognise(tree: Node) -> bool:
    """Whether a document holds values of that chart with models, its own or those of a chart around it."""
    return any(any(_models(spec)) for spec in _specs(tree))


def read(tree: Node, source: SourceFile, found: Found) -> None:
    """Add an engine for each model that the chart starts."""
    for spec in _specs(tree):
        for model in _models(spec):
            read_manifest(_pod(spec, model), source.path, found)


def _specs(tree: Node) -> Iterator[Node]:
    around = [tree, *(child for _, child in tree.items() if isinstance(child.value, dict))]
    yield from (spec for node in around if (spec := node.get(_SPEC)) is not None)


def _models(spec: Node) -> Iterator[Node]:
    """Iterate over the models that are started: those with a model to serve that nothing switches off."""
    listed, switch = spec.get(_MODELS), spec.get("enableEngine")
    if listed is None or (switch is not None and switch.value is False):
        return
    for model in listed.elements():
        enabled = model.get("enabled")
        if _text(model, "modelURL") is not None and (enabled is None or enabled.value is not False):
            yield model


def _pod(spec: Node, model: Node) -> Node:
    """Return the pod template that the chart makes of a model."""
    place = model.origin
    container = {"command": Node([word.node() for word in _command(spec, model)], place)}
    container["env"] = Node(list(_environment(spec, model)), place)
    container["envFrom"] = Node([Node({}, place)], place)  # the chart sets more
    if not _on_ray(model):  # which starts pods of its own
        container["resources"] = model.get("resources") or _resources(model)
    image = _image(model)
    if image is not None:
        container["image"] = image
    pod = {"apiVersion": Node("apps/v1", place), "kind": Node("Deployment", place), MAIN: Node(container, place)}
    name = model.get("name")
    if name is not None:
        pod["name"] = name
    side = _side(model)
    if side is not None and (name is None or spoken_side(str(name.value)) is None):
        pod["role"] = Node(side, place)
    return Node(pod, place)


def _side(model: Node) -> str | None:
    """Return the side that the roles of a model say, where they agree; its name goes before."""
    given = [str(_value(model, _CACHE, key)) for key in ("kvRole", "nixlRole")]
    sides = {_ROLES[role] for role in given if role in _ROLES}
    return sides.pop() if len(sides) == 1 else None


def _command(spec: Node, model: Node) -> Iterator[Text]:
    url = _text(model, "modelURL")
    if url is None:
        return
    yield from (url.stand_in("vllm"), url.stand_in("serve"), url)
    port = _text(spec, "containerPort") or url.stand_in(_PORT)
    yield from (port.stand_in("--port"), port)
    if _on_ray(model):
        yield from (url.stand_in("--distributed-executor-backend"), url.stand_in("ray"))
    for key, flag in (("enableLoRA", "enable-lora"), ("enableTool", "enable-auto-tool-choice")):
        if _true(model.get(key)):
            yield _key(model.get(key), url).stand_in(f"--{flag}")
    yield from _option(model, "toolCallParser", "tool-call-parser")
    if (config := model.get(_CONFIG)) is not None and config.value:
        yield from _of_config(config, url, _on_ray(model))
    yield from _option(model, "modelRevision", "revision")
    yield from _transfer(model, url)
    template = _text(model, "chatTemplate")
    if template is not None:
        folder = template.stand_in("" if _on_ray(model) else "/templates/")
        yield from (template.stand_in("--chat-template"), concat([folder, template], template.source, 0))


def _of_config(config: Node, url: Text, on_ray: bool) -> Iterator[Text]:
    """Give the options of ``vllmConfig``; prefix caching is switched off where it is not asked for."""
    chunked, prefix = config.get("enableChunkedPrefill"), config.get("enablePrefixCaching")
    if chunked is not None and isinstance(chunked.value, bool):
        yield _key(chunked, url).stand_in(f"--{'' if chunked.value else 'no-'}enable-chunked-prefill")
    if prefix is None or isinstance(prefix.value, bool):
        on = "" if prefix is not None and prefix.value else "no-"
        yield _key(prefix or config, url).stand_in(f"--{on}enable-prefix-caching")
    for key, flag in {**_OPTIONS, **(_RAY_OPTIONS if on_ray else {})}.items():
        yield from _option(config, key, flag)
    extra = config.get("extraArgs")
    if extra is not None and not on_ray:
        yield from (word.text for word in extra.elements() if word.text is not None)


def _transfer(model: Node, url: Text) -> Iterator[Text]:
    """Give ``--kv-transfer-config`` as ``lmcacheConfig`` asks for it, which comes after any among ``extraArgs``."""
    cache = model.get(_CACHE)
    if cache is None or not _true(cache.get("enabled")):
        return
    role = None if _on_ray(model) else _text(cache, "kvRole")
    at = role or _key(cache, url)
    old = cache.get("enablePD") is None and str(_value(model, _CONFIG, "v0")) == "1"
    connector = "LMCacheConnector" if old else "LMCacheConnectorV1"
    head = at.stand_in(f'{{"kv_connector":"{connector}","kv_role":"')
    tail = at.part(max(0, len(at.value) - 1), len(at.value)).stand_in('"}')
    yield at.stand_in("--kv-transfer-config")
    yield concat([head, role or at.stand_in("kv_both"), tail], at.source, at.spots[0])


def _environment(spec: Node, model: Node) -> Iterator[Node]:
    url = _text(model, "modelURL")
    if url is not None:
        seed = {"name": Node("PYTHONHASHSEED", model.origin), "value": url.stand_in("123").node()}
        yield Node(seed, model.origin)
    for listed in (spec.get("env"), model.get("env")):
        yield from listed.elements() if listed is not None else ()
    cache = model.get(_CACHE)
    for key, name in _VARIABLES.items() if cache is not None else ():
        value = cache.get(key) if cache is not None else None
        if value is not None and (key == "cudaVisibleDevices" or _true(model.get(_CACHE, "enablePD"))):
            place = value.key or value.origin
            yield Node({"name": Node(name, place), "value": value}, place)


def _resources(model: Node) -> Node:
    """Return the resources of a model's container."""
    place: Origin = model.origin
    limits: dict[str, Node] = {}
    count, kind, memory = model.get("requestGPU"), model.get("requestGPUType"), model.get("limitMemory")
    if count is not None and count.value != 0:
        limits[str(kind.value) if kind is not None else "nvidia.com/gpu"] = count
    if memory is not None:
        limits["memory"] = memory
    return Node({"limits": Node(limits, place)}, place)


def _image(model: Node) -> Node | None:
    name, tag = _text(model, "repository"), _text(model, "tag")
    if name is None or tag is None:
        return None
    return Node(concat([name, name.stand_in(":"), tag], name.source, name.spots[0]).node().value, tag.origin())


def _option(mapping: Node, key: str, flag: str) -> Iterator[Text]:
    given = mapping.get(key)
    if given is not None and given.text is not None:
        yield from (_key(given, given.text).stand_in(f"--{flag}"), given.text)


def _on_ray(model: Node) -> bool:
    return _true(model.get("raySpec", "enabled"))


def _text(mapping: Node, key: str) -> Text | None:
    given = mapping.get(key)
    return given.text if given is not None else None


def _key(node: Node | None, otherwise: Text) -> Text:
    return (node.key_text if node is not None else None) or otherwise


def _value(node: Node, *keys: str) -> object:
    found = node.get(*keys)
    return found.value if found is not None else None


def _true(node: Node | None) -> bool:
    return node is not None and node.value is True
