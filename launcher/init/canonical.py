"""When two launches are the same: their canonical forms are equal.

The order of arguments, how a number is spelt, and what is said although it is the default make no difference. Copies of
the sizes of both sides that are next to a MultiConnector's children say what the child says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Any

from pd_launch.schemas.core.launch import Container, EnvVar, NodeLaunch
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.switches import REPEATABLE
from pd_launch.schemas.core.units import parse_size
from pd_launch.schemas.core.values import Node, Unknown
from pd_launch.schemas.engine.budget import OFFLOAD_NAMES, PREFIX_CACHING
from pd_launch.schemas.engine.kv_transfer import BUNDLED_MODULE, MULTI

UNKNOWN = "<unknown>"
_PATH = "kv_connector_module_path"
_DEFAULTS: dict[str, Any] = {
    "port": 8000,
    "tensor-parallel-size": 1,
    "pipeline-parallel-size": 1,
    "prefill-context-parallel-size": 1,
    "decode-context-parallel-size": 1,
    "data-parallel-size": 1,
    "data-parallel-rpc-port": 29550,
    "data-parallel-address": "127.0.0.1",
}
_INTEGER = lazy_pattern(r"-?(?:0|[1-9]\d{0,17})")
_DECIMAL = lazy_pattern(r"-?\d{1,15}\.\d{1,15}")


@dataclass
class Canonical:
    """A launch in a form that can be compared."""

    model: Any = None
    args: dict[str, Any] = field(default_factory=dict)
    env: dict[str, Any] = field(default_factory=dict)
    container: dict[str, Any] = field(default_factory=dict)

    def flat(self) -> dict[str, Any]:
        """Return all values by a name that people know: ``--flag``, ``NAME``, ``container.shm_size``."""
        values = {"model": self.model}
        values |= {f"--{name}" if name else "word": value for name, value in self.args.items()}
        values |= dict(self.env)
        values |= {f"container.{name}": value for name, value in self.container.items()}
        return values


def canonical(launch: NodeLaunch, by_name: bool = False) -> Canonical:
    """Return a launch's canonical form. ``by_name``: see :func:`canonical_transfer`."""
    args: dict[str, Any] = {}
    for arg in launch.args:
        if arg.name == "model" and launch.model is not None:
            continue
        if arg.value is None:
            name = arg.name.removeprefix("no-")
            args[name] = arg.name == name
            continue
        values = [_plain(node) for node in (arg.value, *arg.more)]
        if arg.name in REPEATABLE:
            args[arg.name] = [*args.get(arg.name, []), *values]
            continue
        args[arg.name] = values if arg.more else values[0]
    if isinstance(args.get("kv-transfer-config"), dict):
        args["kv-transfer-config"] = canonical_transfer(args["kv-transfer-config"], by_name)
    _drop_defaults(args)
    env = {name: _variable(variable) for name, variable in launch.env.items()}
    model = _scalar(launch.model.value) if launch.model is not None else None
    return Canonical(model, args, env, _container(launch.container))


def _drop_defaults(args: dict[str, Any]) -> None:
    data = args.get("data-parallel-size", 1)
    external = "data-parallel-rank" in args
    if args.get("data-parallel-size-local") == data and not external:
        del args["data-parallel-size-local"]
    if args.get("data-parallel-start-rank") == 0 and "data-parallel-hybrid-lb" not in args:
        del args["data-parallel-start-rank"]
    if data == 1:
        for name in ("data-parallel-address", "data-parallel-rpc-port", "data-parallel-size-local"):
            args.pop(name, None)
    for name, value in _DEFAULTS.items():
        if args.get(name) == value:
            del args[name]


def canonical_transfer(config: dict[str, Any], by_name: bool = False) -> dict[str, Any]:
    """Return a --kv-transfer-config without what repeats or says the default.

    ``by_name``: the name of the connector that comes with pd-launch says the same with its module path and without.
    """
    config = dict(config)
    if by_name and config.get("kv_connector") in OFFLOAD_NAMES and config.get(_PATH) == BUNDLED_MODULE:
        del config[_PATH]
    extra = config.get("kv_connector_extra_config")
    if isinstance(extra, dict):
        extra = {k: v for k, v in extra.items() if not (k == PREFIX_CACHING and v is False)}
        children = extra.get("connectors")
        if config.get("kv_connector") == MULTI and isinstance(children, list):
            extra["connectors"] = [canonical_transfer(c, by_name) if isinstance(c, dict) else c for c in children]
            for side in ("prefill", "decode"):
                if extra.get(side) is not None and extra[side] in list(_sizes(children, side)):
                    del extra[side]
        config["kv_connector_extra_config"] = extra
        if not extra:
            del config["kv_connector_extra_config"]
    return config


def _sizes(children: list[Any], side: str) -> Iterator[Any]:
    for child in children:
        extra = child.get("kv_connector_extra_config") if isinstance(child, dict) else None
        if isinstance(extra, dict) and side in extra:
            yield extra[side]


def _container(container: Container | None) -> dict[str, Any]:
    if container is None:
        return {}
    values: dict[str, Any] = {}
    for name in ("image", "shm_size", "memory"):
        node = getattr(container, name)
        if node is not None:
            values[name] = _scalar(node.value) if name == "image" else _size(node.value)
    if container.runtime is not None:
        values["runtime"] = container.runtime
    return values


def _size(value: Any) -> Any:
    try:
        return parse_size(value)
    except ValueError:
        return _scalar(value)


def _plain(node: Node) -> Any:
    if isinstance(node.value, dict):
        return {key: _plain(child) for key, child in node.value.items()}
    if isinstance(node.value, list):
        return [_plain(child) for child in node.value]
    return _scalar(node.value)


def _variable(variable: EnvVar) -> Any:
    join = variable.join
    return _scalar(variable.value.value) if join is None else (join.before, join.after)


def _scalar(value: Any) -> Any:
    if isinstance(value, Unknown):
        return UNKNOWN
    if isinstance(value, str):
        text = value.strip()
        if _INTEGER.fullmatch(text):
            return int(text)
        return float(text) if _DECIMAL.fullmatch(text) else value
    return value
