"""What a release says that a maintainer must look at, as plain data: tables, log lines, refusals and others."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

from evidence import Files, contradicted
from release_ranges import Table

Extract = dict[str, Any]
"""``project``, ``release``, ``tables`` (section → name → entry), and lists of texts: see :func:`extract`."""

_CONNECTORS = (
    "vllm_ascend/distributed/kv_transfer/*.py vllm_ascend/distributed/kv_transfer/*/*.py "
    "vllm_ascend/distributed/kv_transfer/*/*/*.py vllm_ascend/distributed/kv_transfer/*/*/*/*.py"
)
_OFFLOAD = (
    "vllm_ascend/distributed/kv_transfer/kv_pool/recompute_cpu_offload/*.py "
    "vllm_ascend/distributed/kv_transfer/kv_pool/kv_offload/preempt_offload/*.py"
)
_STOCK = (
    "vllm/distributed/kv_transfer/*.py vllm/distributed/kv_transfer/kv_connector/*.py "
    "vllm/distributed/kv_transfer/kv_connector/v1/*.py vllm/distributed/kv_transfer/kv_connector/v1/*/*.py"
)
_PLACES = {
    "vllm-ascend": {
        "logs": "vllm_ascend/core/recompute_scheduler.py vllm_ascend/platform.py vllm_ascend/ascend_config.py "
        f"{_OFFLOAD}",
        "refusals": "vllm_ascend/platform.py vllm_ascend/ascend_config.py vllm_ascend/utils.py",
        "options": _CONNECTORS,
        "platform": "vllm_ascend/platform.py",
        "patches": "vllm_ascend/patch/platform/*.py",
        "overwritten": "vllm_ascend/ascend_config.py",
        "hooks": "vllm_ascend/core/recompute_scheduler.py",
    },
    "vllm": {
        "logs": "vllm/distributed/kv_transfer/kv_connector/factory.py vllm/v1/engine/core.py vllm/config/scheduler.py "
        "vllm/config/vllm.py",
        "refusals": "vllm/config/vllm.py vllm/config/kv_transfer.py vllm/config/cache.py vllm/config/parallel.py "
        "vllm/config/speculative.py",
        "options": f"{_STOCK} vllm/v1/kv_offload/*.py vllm/v1/kv_offload/*/*.py",
        "hooks": "vllm/v1/core/sched/scheduler.py vllm/distributed/kv_transfer/kv_connector/v1/base.py",
    },
}
_ASKED = re.compile(r"extra_config\w*(?:\.get)?[(\[]\s*[\"'](\w+)[\"']|[\"'](\w+)[\"'] (?:not )?in \w*extra_config")
_FLAG = re.compile(r"--[a-z][a-z0-9-]{2,}")
_WORD = re.compile(r"[a-z][a-z0-9_]{2,24}")


def extract(files: Files, tables: Table, known: str) -> Extract:
    """Return what a release says: its tables, and texts of its own files by kind.

    ``logs`` and ``refusals`` are what it logs and raises where the rules look, ``options`` the keys that connectors ask
    their extra config for, ``flags`` those that the platform changes in the parser, ``words`` the texts of modules that
    patch vLLM, ``overwritten`` the options that are computed and not read, ``hooks`` what of a connector is asked for,
    ``companions`` what it is built with, and ``broken`` the facts of ``known``, the newest row, that it contradicts.
    """
    places = _PLACES[files.project]
    return {
        "project": files.project,
        "release": files.release,
        "tables": tables,
        "logs": _sorted(_logged(files, places["logs"])),
        "refusals": _sorted(_raised(files, places["refusals"])),
        "options": _sorted(
            word
            for _, text in files.texts(places["options"])
            for words in _ASKED.findall(text)
            for word in words
            if word
        ),
        "flags": _sorted(_parser_flags(files, places.get("platform", ""))),
        "words": {path: _sorted(_words(text)) for path, text in files.sources(places.get("patches", ""))},
        "overwritten": dict(sorted(_overwritten(files, places.get("overwritten", ""), tables))),
        "hooks": _sorted(_asked_of_connectors(files, places["hooks"])),
        "companions": companions(files),
        "broken": contradicted(files, known),
    }


def _sorted(found: Iterator[str]) -> list[str]:
    return sorted(set(found))


def _trees(files: Files, patterns: str) -> Iterator[ast.Module]:
    for _, text in files.sources(patterns):
        yield ast.parse(text)


def _logged(files: Files, patterns: str) -> Iterator[str]:
    """Give every message of a ``logger``, with what is put in as ``%s`` or ``{}``."""
    for tree in _trees(files, patterns):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("logger.") and node.args:
                yield from _text(node.args[0])


def _raised(files: Files, patterns: str) -> Iterator[str]:
    """Give every message that is raised or asserted."""
    for tree in _trees(files, patterns):
        for node in ast.walk(tree):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
                yield from _text(node.exc.args[0])
            elif isinstance(node, ast.Assert) and node.msg is not None:
                yield from _text(node.msg)


def _text(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield " ".join(node.value.split())
    elif isinstance(node, ast.JoinedStr):
        parts = (str(p.value) if isinstance(p, ast.Constant) else "{}" for p in node.values)
        yield " ".join("".join(parts).split())


def _parser_flags(files: Files, patterns: str) -> Iterator[str]:
    """Give the flags that are looked up in vLLM's parser, whose words are then changed."""
    for tree in _trees(files, patterns):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and "_option_string_actions" in ast.unparse(node.func):
                yield from (flag for argument in node.args for text in _text(argument) for flag in _FLAG.findall(text))


def _words(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _WORD.fullmatch(node.value):
            yield node.value


def _overwritten(files: Files, patterns: str, tables: Table) -> Iterator[tuple[str, str]]:
    """Give the options that are assigned something else than what was written, with what that is made of."""
    for tree in _trees(files, patterns):
        for node in ast.walk(tree):
            if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Attribute):
                continue
            key, value = node.targets[0].attr, ast.unparse(node.value)
            if key in tables.get("additional", {}) and "dtype" in value and "additional_config" not in value:
                yield key, value


def _asked_of_connectors(files: Files, patterns: str) -> Iterator[str]:
    """Give what the scheduler asks of its connector: attributes of ``connector``, by name."""
    for _, text in files.texts(patterns):
        yield from re.findall(r"\bconnector\.(\w+)\(", text)
        yield from re.findall(r"getattr\(\s*(?:self\.)?connector,\s*[\"'](\w+)[\"']", text)


def companions(files: Files) -> dict[str, str]:
    """Return what a vllm-ascend's source package says that it is built with, by the names of the rows."""
    return dict(_companions(files))


def _companions(files: Files) -> Iterator[tuple[str, str]]:
    from pd_launch.schemas.core.pairing import WRITTEN_AT

    for name, (place, pattern) in WRITTEN_AT.items():
        for _, text in files.texts(place):
            found = re.search(pattern, text, re.MULTILINE)
            if found:
                yield name, found[1]


def changes(old: Table, new: Table) -> Iterator[tuple[str, str, Any, Any]]:
    """Give section, name, old and new entry (None: not there) of everything that differs between two tables."""
    for section in sorted({*old, *new}):
        before, after = old.get(section, {}), new.get(section, {})
        for name in sorted({*before, *after}):
            if json.dumps(before.get(name)) != json.dumps(after.get(name)) or (name in before) != (name in after):
                yield section, name, before.get(name) if name in before else None, after.get(name)
