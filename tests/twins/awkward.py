"""Engines with awkward texts in every place: values of flags, JSON at any depth, keys, variables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random

from fixture import Engine

TEXTS = {
    "plain": "v",
    "blank": "a b",
    "blank at the end": "a ",
    "both quotes": "a'b\"c",
    "quoted": "'x'",
    "dollar": "a$HOME",
    "two dollars": "a$$b",
    "command": "a$(x)",
    "braced": "${X}",
    "backticks": "a`b`c",
    "backslashes": "a\\nb",
    "backslash at the end": "a\\",
    "unicode": "é中文😀",
    "hash": "a #b",
    "hash first": "#a",
    "percent": "50% %i %(x)s",
    "braces": "{{ x }}",
    "tag": "a{% if %}b",
    "empty": "",
    "colon": "a: b",
    "dash": "a - b",
    "null": "null",
    "yes": "yes",
    "octal": "0123",
    "star": "*",
    "bang": "!x",
    "operators": "a&b;c|d>e",
    "home": "~/x",
    "at": "@x",
    "comma": "a,b",
    "tab": "a\tb",
    "line": "a\nb",
    "brackets": "[x]",
    "anchor": "&a",
    "equals": "==",
    "blanks first": "  a",
}
_PIECES = (
    *(text for text in TEXTS.values() if text and "{{" not in text),
    "=",
    "--",
    "\\\\",
    '\\"',
    "'\\''",
    "a",
    "0",
    " ",
    "  ",
    "é",
)
_IN_JSON_ONLY = ("quoted", "empty")
"""Texts that no flag is meant to have: a value in quotes of its own counts as one that is quoted twice."""


def engine(text: str, in_flags: bool = True, in_env: bool = True) -> Engine:
    """Return an engine that has a text in every place that may hold it."""
    value = text if in_flags else "x"
    extra = {text or "key": [text, 1, True, None, {"deep": text}]}
    transfer = {
        "kv_connector": "NixlConnector",
        "kv_role": "kv_both",
        "engine_id": text,
        "kv_connector_extra_config": extra,
    }
    words = (
        "/models/m", "--served-model-name", value, "--port", "8000",
        "--kv-transfer-config", json.dumps(transfer, ensure_ascii=False),
        "--enable-prefix-caching", "--tensor-parallel-size", "2",
    )  # fmt: skip
    return Engine(words, (("A_B", text if in_env else "x"), ("VLLM_PORT", "9000")))


def named() -> Iterator[tuple[str, Engine]]:
    """Iterate over an engine for each of the texts."""
    for name, text in TEXTS.items():
        yield name, engine(text, in_flags=name not in _IN_JSON_ONLY)


def drawn(seed: object, number: int) -> Iterator[Engine]:
    """Iterate over engines whose text is put together of awkward pieces."""
    dice = Random(f"{seed}")
    for _ in range(number):
        text = "".join(dice.choice(_PIECES) for _ in range(dice.randint(1, 4)))
        flags = not text.startswith("-") and bool(text.strip()) and text[0] + text[-1] not in ("''", '""')
        yield engine(text, in_flags=flags)
