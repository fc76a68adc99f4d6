"""Entries for a pair of which one side has the new release and the other still the old one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pd_launch.launcher.upgrade.entries import Entry
from pd_launch.launcher.upgrade.step import Step, source_of
from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Node
from pd_launch.schemas.engine.kv_transfer import Connector, connectors
from pd_launch.schemas.engine.sides import side_of
from pd_launch.schemas.releases.connector_options import NIXL
from pd_launch.schemas.releases.connectors import is_pd_connector
from pd_launch.schemas.releases.turns import NIXL_VERSION, WIRE


def handshake_entries(nodes: Sequence[NodeLaunch], step: Step, only: str | None) -> Iterator[Entry]:
    """Iterate over what keeps an upgraded engine from meeting one of the old release.

    With ``only`` such a pair is what is asked for, and it is refused; else it is a note for who upgrades in turn.
    """
    if step.a.vllm == step.b.vllm and step.a.row == step.b.row:
        return
    for node in nodes:
        if side_of(node) is None:
            continue
        for connector in connectors(node.kv_transfer):
            why = _refusal(connector, step)
            place = connector.tree.get("kv_connector")
            if why is None and place is not None and only and _unknown(connector):
                yield _untried(connector, place, step)
            if why is None or place is None:
                continue
            help_ = Msg("upgrade both sides together, or run the new pair next to the old one",
                        "请两侧一起升级，或让新的一对与旧的并行运行")  # fmt: skip
            said, source = why
            yield Entry("refused" if only else "behaviour", f"{connector.name} handshake", place.origin,
                        f"both {step.a}", f"one {step.a}, one {step.b}", said, source,
                        "by-hand" if only else "note", "stops" if only else "differs", help=help_)  # fmt: skip


def _unknown(connector: Connector) -> bool:
    """Whether nothing is known of what two releases of a connector say to each other."""
    name = connector.name
    return name is not None and is_pd_connector(name) and name not in WIRE and name not in NIXL


def _untried(connector: Connector, place: Node, step: Step) -> Entry:
    why = Msg("whether the two releases are compatible is unknown", "不知道这两个版本能否互通")
    help_ = Msg("try one pair before the others", "请先用一对试运行")
    return Entry("behaviour", f"{connector.name} handshake", place.origin, f"both {step.a}",
                 f"one {step.a}, one {step.b}", why, "tables", "note", "differs", help=help_)  # fmt: skip


def _refusal(connector: Connector, step: Step) -> tuple[Msg, str] | None:
    name = connector.name
    if name is None or not is_pd_connector(name):
        return None
    if name in NIXL and not step.b.is_ascend and step.a.vllm != step.b.vllm:
        compat = connector.option("enforce_handshake_compat")
        if compat is not None and compat.value is False:
            return None
        said = Msg(
            "NixlConnector compares the release of vLLM: the two sides refuse each other while their releases differ",
            "NixlConnector 会比较 vLLM 的版本：版本不同时，两侧会互相拒绝",
        )
        return said, source_of(NIXL_VERSION)
    changed = [fact for fact in WIRE.get(name, ()) if fact.holds(step.a) != fact.holds(step.b)]
    if changed:
        said = Msg(
            f"{name} sends different fields in {step.b}: run the same release on both sides",
            f"{name} 在 {step.b} 里发送的字段不同：两侧版本不同时无法互通",
        )
        return said, source_of(changed[0])
    return None
