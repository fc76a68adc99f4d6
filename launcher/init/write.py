"""Writes a profile as YAML that people read: sections in a fixed order, each with a line that says what it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml

from pd_launch.launcher.formats.text import dumped
from pd_launch.launcher.wording.width import clean
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg

COMMENTS = {
    "target": "The release that this is checked against and rendered for.",
    "hardware": "a2, a3 (Ascend), cuda or cpu.",
    "engine": "Flags of vllm serve for both sides, by their long names.",
    "env": "Environment variables for both sides.",
    "transfer": "The connector that moves KV from prefill to decode.",
    "network": "The network interface between the nodes.",
    "container": "The container that the engines run in.",
    "nodes": "The nodes of each side, in the order of their ranks.",
    "patch": "What is merged into rendered objects, by form.",
    "prefill": "The prefill side: pd-launch prefill --profile THIS",
    "decode": "The decode side: pd-launch decode --profile THIS",
}
_ORDER = (
    "version", "name", "target", "hardware", "model", "engine", "env", "transfer", "network", "container", "nodes",
    "prefill", "decode", "patch",
)  # fmt: skip
_SIDE_ORDER = (
    "port",
    "rpc_port",
    "master_port",
    "replicas",
    "parallel",
    "offload",
    "transfer",
    "kv_transfer_config",
    "engine",
    "env",
)
_PLAIN_NUMBER = lazy_pattern(r"-?(?:0|[1-9]\d{0,17})|-?(?:0|[1-9]\d{0,9})\.\d{0,9}[1-9]|-?(?:0|[1-9]\d{0,9})\.0")


class _Text(str):
    """A number as it was written, which needs no quotes."""


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        """Write everything out."""
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Indent lists below their key."""
        super().increase_indent(flow, False)


_Dumper.add_representer(
    _Text,
    lambda dumper, data: dumper.represent_scalar(f"tag:yaml.org,2002:{'float' if '.' in data else 'int'}", str(data)),
)
_Dumper.add_representer(type(None), lambda dumper, _: dumper.represent_scalar("tag:yaml.org,2002:null", "null"))


def write_profile(profile: dict[str, Any], notes: Sequence[Msg] = ()) -> str:
    """Return the YAML text; empty sections are left out."""
    lines = [f"# {clean(note.en)}" for note in notes]
    for key in _ORDER:
        value = profile.get(key)
        if value is None or value == {}:
            continue
        if key in ("prefill", "decode"):
            value = {k: value[k] for k in _SIDE_ORDER if value.get(k) not in (None, {})}
        if key in COMMENTS:
            lines.append(f"# {COMMENTS[key]}")
        lines.append(_dump({key: _words(value, key)}))
    return "\n".join(line.rstrip("\n") for line in lines) + "\n"


def _dump(value: Any) -> str:
    return dumped(value, _Dumper, 110)


def _words(value: Any, key: str) -> Any:
    """Return ``value`` with numbers that are written as words made plain, in flags and variables only."""
    if key in ("engine", "env"):
        return {k: _word(v) for k, v in value.items()}
    if isinstance(value, dict):
        return {k: _words(v, str(k)) if k in ("engine", "env") or key == "nodes" else v for k, v in value.items()}
    if isinstance(value, list):
        return [_words(v, "") for v in value]
    return value


def _word(value: Any) -> Any:
    return _Text(value) if isinstance(value, str) and _PLAIN_NUMBER.fullmatch(value) else value
