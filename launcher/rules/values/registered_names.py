"""Names that are registered in the engine and typed as plain text: parsers of answers, and attention backends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pd_launch.launcher.rules.edits import renamed, set_value
from pd_launch.launcher.rules.registry import Hit
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.names import nearest
from pd_launch.schemas.core.values import Node
from pd_launch.schemas.core.words import series
from pd_launch.schemas.releases.domains import added_words
from pd_launch.schemas.releases.vllm_tables import Table, vllm_table

_SHOWN = 12
"""So many names are listed where none of them is near."""


class _Option(NamedTuple):
    """An option: what else must be given for it to be read, and what may register further names."""

    name: str
    what: Msg
    needs: str = ""
    plugin: str = ""
    any_case: bool = False
    also: tuple[str, ...] = ()


_OPTIONS = (
    _Option("reasoning-parser", Msg("reasoning parser", "reasoning parser"), plugin="reasoning-parser-plugin"),
    _Option(
        "tool-call-parser",
        Msg("tool call parser", "tool call parser"),
        needs="enable-auto-tool-choice",
        plugin="tool-parser-plugin",
    ),
    _Option("attention-backend", Msg("attention backend", "attention backend"), any_case=True, also=("AUTO",)),
)


def registered_names(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """Yield each name that the target does not have; the server looks them up before it loads anything."""
    table = vllm_table(deployment.target)
    for option in _OPTIONS:
        value = node.value(option.name)
        if value is None or not isinstance(value.value, str) or value.value in ("", "None"):
            continue
        if node.program == "python" and option.plugin:
            continue  # only the server asks its registry
        if (option.needs and node.arg(option.needs) is None) or (option.plugin and node.arg(option.plugin) is not None):
            continue
        word = value.value.upper() if option.any_case else value.value
        known = _known(option, table, deployment)
        if word not in known:
            yield _unregistered(option, value, word, known, table)


def _known(option: _Option, table: Table, deployment: Deployment) -> list[str]:
    prefix = f"{option.name}."
    own = [name.removeprefix(prefix) for name in table.names("registered") if name.startswith(prefix)]
    return [*own, *option.also, *added_words(option.name, deployment.target)]


def _unregistered(option: _Option, value: Node, word: str, known: list[str], table: Table) -> Hit:
    plain = {_folded(name): name for name in known}
    same = plain.get(_folded(word))
    near = same or nearest(word, known)
    elsewhere = table.releases_with("registered", f"{option.name}.{word}")
    return Hit(
        value.origin,
        Msg(
            f"vLLM {table.shown} has no {option.what.en} {value.value!r}",
            f"vLLM {table.shown} 没有名为 {value.value!r} 的 {option.what.zh}",
        ),
        _instead(near, known, elsewhere),
        severity=None if near or elsewhere else "warning",
        fix=renamed(set_value(value, near), near, safe=same is not None) if near else None,
    )


def _folded(name: str) -> str:
    return name.lower().replace("-", "_").replace(" ", "_")


def _instead(near: str | None, known: list[str], elsewhere: list[str]) -> Msg:
    if elsewhere and near is None:
        span = f"{elsewhere[0]} to {elsewhere[-1]}", f"{elsewhere[0]} 到 {elsewhere[-1]}"
        return Msg(f"vLLM {span[0]} has it", f"vLLM {span[1]} 才有")
    if near is not None:
        return Msg(f"write {near}", f"请写 {near}")
    listed = series(sorted(known)[:_SHOWN])
    more = f", … ({len(known)})" if len(known) > _SHOWN else ""
    return Msg(
        f"available: {listed.en}{more}; plugins can add others", f"可用的有 {listed.zh}{more}；插件可以增加其他名称"
    )
