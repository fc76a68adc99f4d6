"""What all nodes of one data-parallel group must say alike: a part of rule PD402."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pd_launch.launcher.rules.places import at
from pd_launch.launcher.rules.registry import Hit
from pd_launch.schemas.core.compare import differ
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.severity import Severity
from pd_launch.schemas.core.values import HOLE, Origin
from pd_launch.schemas.engine.groups import RPC, meetings
from pd_launch.schemas.engine.pairs import canonical, transfer_connectors
from pd_launch.schemas.engine.sides import DEFAULT_RPC_PORT
from pd_launch.schemas.engine.speculation import config_of, speculative_tokens
from pd_launch.schemas.models.known import model_name

_SAME_DTYPE = {"half": "float16", "float": "float32"}
SEED = "PYTHONHASHSEED"


def disagreements(deployment: Deployment) -> Iterator[Hit]:
    """Yield each setting in which a node differs from the first of its group."""
    for group in meetings(deployment):
        for node in group[1:]:
            yield from _compared(group[0], node)


def _compared(first: NodeLaunch, node: NodeLaunch) -> Iterator[Hit]:
    for name, shown, value, place, severity in SETTINGS:
        left, right = value(first), value(node)
        if left is None or right is None or not differ(left, right):
            continue
        yield Hit(
            place(node),
            Msg(
                f"{shown} is {right} here and {left} on another node of this data-parallel group",
                f"{shown} 在这里是 {right}，在同一数据并行组的另一个节点上是 {left}",
            ),
            Msg(f"write the same {name} on all nodes of the group", f"组内各节点的 {name} 要写得一样"),
            severity=severity,
            related=((place(first), Msg("the other node", "另一个节点")),),
        )


def _number(flag: str, default: int) -> Callable[[NodeLaunch], str | None]:
    def value(node: NodeLaunch) -> str | None:
        number = node.number(flag, default)
        return None if number is None else str(number)

    return value


def _word(flag: str) -> Callable[[NodeLaunch], str | None]:
    def value(node: NodeLaunch) -> str | None:
        written = node.value(flag)
        text = written.string() if written is not None else None
        word = text.strip().lower() if text else None
        return None if word in (None, "auto") else _SAME_DTYPE.get(word or "", word)

    return value


def _length(node: NodeLaunch) -> str | None:
    number = node.number("max-model-len", 0)
    return str(number) if number and number > 0 else None


def _model(node: NodeLaunch) -> str | None:
    name = model_name(node)
    unknown = name is None or HOLE in name or "$" in name or "{" in name
    return None if unknown or name is None else name.lower().replace("_", "-")


def _connectors(node: NodeLaunch) -> str | None:
    """Return the connectors that carry KV, in words; ``none`` without any."""
    if node.kv_transfer is None:
        return None if node.partial else "none"
    found = transfer_connectors(node)
    return None if found is None else ", ".join(sorted({canonical(c) for c in found})) or "none"


def _drafts(node: NodeLaunch) -> str | None:
    tokens = speculative_tokens(node)
    return None if tokens is None else f"{tokens} tokens"


def _seed(node: NodeLaunch) -> str | None:
    return node.variable(SEED)


def _at(*flags: str) -> Callable[[NodeLaunch], Origin]:
    return lambda node: at(node, *flags)


def _at_model(node: NodeLaunch) -> Origin:
    return node.model.origin if node.model is not None else node.origin


def _at_drafts(node: NodeLaunch) -> Origin:
    config = config_of(node)
    return config.origin if config is not None else node.origin


def _at_seed(node: NodeLaunch) -> Origin:
    return node.env[SEED].value.origin if SEED in node.env else node.origin


_Row = tuple[str, str, Callable[[NodeLaunch], "str | None"], Callable[[NodeLaunch], Origin], Severity]
SETTINGS: tuple[_Row, ...] = (
    ("model", "the model", _model, _at_model, "error"),
    *(
        (f"--{flag}", f"--{flag}", _number(flag, 1), _at(flag), "error")
        for flag in ("data-parallel-size", "tensor-parallel-size", "pipeline-parallel-size")
    ),
    (f"--{RPC}", f"--{RPC}", _number(RPC, DEFAULT_RPC_PORT), _at(RPC, "data-parallel-address"), "error"),
    *((f"--{flag}", f"--{flag}", _word(flag), _at(flag), "error") for flag in ("dtype", "kv-cache-dtype")),
    ("--max-model-len", "--max-model-len", _length, _at("max-model-len"), "warning"),
    ("connector", "the connector", _connectors, _at("kv-transfer-config"), "error"),
    ("--speculative-config", "speculation", _drafts, _at_drafts, "error"),
    (SEED, SEED, _seed, _at_seed, "warning"),
)  # fmt: skip
"""What is compared: its name in the advice and in the message, its value (None: unknown), its place, the severity."""
