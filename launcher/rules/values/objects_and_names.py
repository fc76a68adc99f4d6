"""More values that PD007 looks at: what must be an object, levels, lengths, and a connector that is not named."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from pd_launch.launcher.rules.registry import Hit
from pd_launch.launcher.rules.values.flag_domains import OBJECT, is_json
from pd_launch.launcher.rules.values.table_values import wrong
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.words import series
from pd_launch.schemas.engine.kv_transfer import TOP_LEVEL_FIELDS

OBJECTS = (
    "hf-overrides", "override-generation-config", "mm-processor-kwargs", "additional-config", "limit-mm-per-prompt",
    "media-io-kwargs", "custom-histogram-buckets", "model-class-overrides", "watermark-config", "diffusion-config",
    "model-loader-extra-config",
)  # fmt: skip
"""Flags whose parser takes any JSON, or any text, and whose config class then takes an object only."""
READ_LATE = ("model-loader-extra-config",)
"""Those whose config class takes a text, too, so that only a loader that reads it fails."""
WORDS = {"data-parallel-backend": ("mp", "ray")}
"""Flags whose parser takes any text, and what is read of it then, of few words."""
TEXTS = ("served-model-name", "allowed-media-domains")
"""Flags of several words of which none may be empty."""
EXECUTORS = ("None", "external_launcher", "mp", "ray", "uni")
FROM_ZERO = ("data-parallel-size-local", "shutdown-timeout", "sse-keep-alive-interval")
"""Flags whose parser takes any number, and what reads it then none below 0."""
LEVELS = range(4)
"""Whole numbers that stand for a level, of optimization and of compilation; of the latter, names are taken too."""


def objects(node: NodeLaunch, _: Deployment) -> Iterator[Hit]:
    """Yield each value that is no object where an object is needed."""
    for name in OBJECTS:
        value = node.value(name)
        if value is None or not value.known or isinstance(value.value, dict) or value.value in ("", "None", None):
            continue
        text = value.text.value if value.text is not None else value.value
        if isinstance(text, str) and is_json(text) and isinstance(json.loads(text), dict):
            continue
        if isinstance(text, str) and not is_json(text) and "{" in text:
            continue  # rules PD001 and PD003 say what keeps it from being JSON
        hit = wrong(value, f"--{name}", OBJECT, text)
        yield replace(hit, severity="warning") if name in READ_LATE else hit


def levels(node: NodeLaunch, _: Deployment) -> Iterator[Hit]:
    """Yield a level that no release has, and a longest request that holds no token."""
    config = node.value("compilation-config")
    found = (
        (node.value("optimization-level") or node.value("O"), "--optimization-level"),
        (config.get("mode") if config is not None else None, "mode"),
    )
    for value, shown in found:
        number = value.integer() if value is not None else None
        text = value.string() if value is not None and shown.startswith("--") else None
        if value is not None and text is not None and number is None:
            yield wrong(value, shown, Msg("a level from 0 to 3", "0 到 3 的级别"))
        if value is not None and number is not None and number not in LEVELS:
            wanted = Msg(f"a level from {LEVELS.start} to {LEVELS[-1]}", f"{LEVELS.start} 到 {LEVELS[-1]} 的级别")
            yield wrong(value, shown, wanted, number)
    for name, words in WORDS.items():
        value = node.value(name)
        if value is not None and isinstance(value.value, str) and value.value not in words:
            yield wrong(value, f"--{name}", Msg(f"one of {', '.join(words)}", f"{'、'.join(words)} 之一"))
    for name in TEXTS:
        value = node.value(name)
        if value is not None and value.value == "":
            yield wrong(value, f"--{name}", Msg("a string", "字符串"))
    backend = node.value("distributed-executor-backend")
    word = backend.string() if backend is not None else None
    if backend is not None and word and "." not in word and word not in EXECUTORS:
        listed = series(EXECUTORS[1:])
        yield wrong(
            backend,
            "--distributed-executor-backend",
            Msg(f"one of {listed.en}, or the path of a class", f"{listed.zh} 之一，或一个类的路径"),
        )
    for name in FROM_ZERO:
        value = node.value(name)
        number = value.integer() if value is not None else None
        if value is not None and number is not None and number < 0:
            yield wrong(value, f"--{name}", Msg("a number from 0", "不小于 0 的数字"), number)
    length = node.value("max-model-len")
    tokens = length.integer() if length is not None else None
    if length is not None and tokens is not None and (tokens == 0 or tokens < -1):
        yield wrong(length, "--max-model-len", Msg("a number from 1, or auto", "不小于 1 的数字或 auto"), tokens)


def connector_name(node: NodeLaunch, _: Deployment) -> Iterator[Hit]:
    """Yield a transfer configuration that names no connector: the engine refuses it, whatever else it says."""
    config = node.kv_transfer
    if config is None or not isinstance(config.value, dict) or node.arg("kv-transfer-config") is None:
        return
    written = config.get("kv_connector")
    if node.arg("kv-offloading-size") is not None or not set(config.value) <= TOP_LEVEL_FIELDS:
        return
    if written is None or written.value is None:
        yield Hit(
            config.origin if written is None else written.origin,
            Msg("--kv-transfer-config has no kv_connector", "--kv-transfer-config 没有写 kv_connector"),
            Msg('write "kv_connector", or leave the argument out', '写上 "kv_connector"，或去掉这个参数'),
        )
