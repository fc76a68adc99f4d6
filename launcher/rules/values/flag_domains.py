"""What the engine's parser takes after a flag, and its config classes inside a JSON argument: the table's answer.

Every function returns a description of what is wanted where the value is certainly refused, and None where it is
taken or where that is not known. The conversions are those of Python's ``int`` and ``float`` after a flag, and of
pydantic's lenient mode inside JSON.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator

from packaging.version import Version

from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Node
from pd_launch.schemas.core.words import series
from pd_launch.schemas.releases.stock import SUFFIXES
from pd_launch.schemas.releases.vllm_tables import Spec, Table

_SIZE = lazy_pattern(r"(\d+(?:\.\d+)?)([kKmMgGtT])", re.ASCII)
_OBJECT = lazy_pattern(r"\s*\{.*\}\s*", re.DOTALL)
_TRUTH = frozenset({"0", "1", "off", "on", "f", "t", "false", "true", "n", "y", "no", "yes"})
_LONGEST_NUMBER = 4000
_STRINGS = lazy_pattern(r'("(?:[^"\\]|\\.)*"?)')
_SUFFIXED = lazy_pattern(r"\b\d+(?:\.\d+)?[kKmMgGtT]\b", re.ASCII)

_INTEGER = Msg("a whole number", "整数")
_FLOAT = Msg("a number", "数字")
_SIZES = Msg("a whole number, optionally with suffix k, M, G or T", "整数（可以带 k、M、G、T 等后缀）")
_LENGTH = Msg("a whole number, optionally with suffix k, M, G or T, or auto", "整数（可以带 k、M、G、T 等后缀）或 auto")
_JSON = Msg("JSON", "JSON")
OBJECT = Msg("a JSON object", "JSON 对象")
PLAIN_JSON = Msg("JSON with whole numbers (suffixes came with vLLM 0.20)", "数字不带后缀的 JSON（0.20 起才支持后缀）")


def refused_word(text: str, spec: Spec) -> Msg | None:
    """Return what is wanted instead of one word after a flag; None where the word is taken."""
    if spec.optional and text in ("", "None"):
        return _choices(spec) if spec.choices and None not in spec.choices else None
    value: object = text
    if spec.kind == "int":
        value = integer_word(text)
        wanted = _INTEGER
    elif spec.kind == "float":
        value = _float(text)
        wanted = _FLOAT
    elif spec.kind in ("size", "length"):
        value = -1 if spec.kind == "length" and text.strip().lower() in ("-1", "auto") else _sized(text)
        wanted = _SIZES if spec.kind == "size" else _LENGTH
    elif spec.kind == "json" or (spec.kind == "json-or-text" and _OBJECT.fullmatch(text)):
        return None if is_json(text) else _JSON
    elif spec.kind == "word":
        value, wanted = text.lower().replace("-", "_"), _choices(spec)
    else:
        wanted = _choices(spec)
    if value is None:
        return wanted
    if spec.choices and value not in spec.choices:
        return _choices(spec)
    return out_of_bounds(value, spec) if isinstance(value, (int, float)) else None


def integer_word(text: str) -> int | None:
    """Convert as Python's ``int`` does: ``8_000``, ``+8`` and blanks around are fine."""
    try:
        return int(text) if len(text) < _LONGEST_NUMBER else None
    except ValueError:
        return None


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _sized(text: str) -> int | None:
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        return integer_word(text)
    return 1 if match[2].islower() or "." not in match[1] else None


def is_json(text: str) -> bool:
    """Whether a text is JSON as Python reads it."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _choices(spec: Spec) -> Msg:
    words = series("None" if word is None else str(word) for word in spec.choices)
    return Msg(f"one of {words.en}", f"{words.zh} 之一")


def out_of_bounds(value: float, spec: Spec) -> Msg | None:
    """Return the bounds of a field where ``value`` lies outside; a length has -1 for the model's own."""
    if spec.kind == "length" or (isinstance(value, float) and math.isnan(value)):
        return None
    tests = {
        "ge": lambda bound: value >= bound,
        "gt": lambda bound: value > bound,
        "le": lambda bound: value <= bound,
        "lt": lambda bound: value < bound,
    }
    if all(tests[name](bound) for name, bound in spec.bounds):
        return None
    signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    text = series(f"{signs[name]} {bound:g}" for name, bound in spec.bounds)
    return Msg(f"a number {text.en}", f"满足 {text.zh} 的数字")


def refused_fields(tree: Node, config: str, table: Table, path: str = "") -> Iterator[tuple[Node, str, Msg | None]]:
    """Iterate over what a config class refuses in an object: the node, its path, and what is wanted.

    None is wanted where the class has no such field.
    """
    fields = table.fields(config)
    if not fields or not isinstance(tree.value, dict):
        return
    for name, entry in tree.items():
        spec = fields.get(name)
        if spec is None:
            yield entry, f"{path}{name}", None
            continue
        if not entry.known:
            continue
        wanted = _refused_value(entry, spec)
        if wanted is not None:
            yield entry, f"{path}{name}", wanted
        elif isinstance(entry.value, dict) and "dict" not in spec.kind.split("|"):
            inner = [kind.partition(":")[2] for kind in spec.kind.split("|") if kind.startswith("config:")]
            if len(inner) == 1:
                yield from refused_fields(entry, inner[0], table, f"{path}{name}.")


def _refused_value(entry: Node, spec: Spec) -> Msg | None:
    value, kinds = entry.value, spec.kind.split("|")
    if any(_takes(value, kind, spec) for kind in kinds):
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return out_of_bounds(value, spec)
        return None
    if kinds in (["literal"], ["literal", "none"]):
        return _choices(spec)
    names = [_NAMES.get(kind.partition(":")[0], Msg(kind, kind)) for kind in kinds]
    return Msg(" or ".join(name.en for name in names), "或".join(name.zh for name in names))


_NAMES = {
    "int": _INTEGER,
    "float": _FLOAT,
    "bool": Msg("true or false", "true 或 false"),
    "str": Msg("a string", "字符串"),
    "none": Msg("null", "null"),
    "dict": Msg("an object", "对象"),
    "config": Msg("an object", "对象"),
    "list": Msg("a list", "列表"),
    "set": Msg("a list", "列表"),
    "tuple": Msg("a list", "列表"),
    "literal": Msg("one of its words", "规定的取值之一"),
}


def _takes(value: object, kind: str, spec: Spec) -> bool:
    """Whether one member of a type takes a JSON value, with pydantic's lenient conversions."""
    name = kind.partition(":")[0]
    if name == "none":
        return value is None
    if name == "str":
        return isinstance(value, str)
    if name == "literal":
        return any(value == word and isinstance(value, bool) == isinstance(word, bool) for word in spec.choices)
    if name in ("dict", "config"):
        return isinstance(value, dict)
    if name in ("list", "set", "tuple"):
        return isinstance(value, list)
    if name == "bool":
        return _is_truth(value)
    if name in ("int", "float"):
        return _is_number(value, whole=name == "int")
    return True


def _is_truth(value: object) -> bool:
    if isinstance(value, str):
        return value.lower() in _TRUTH
    return isinstance(value, (int, float)) and value in (0, 1)


def _is_number(value: object, whole: bool) -> bool:
    if isinstance(value, str):
        number = _float(value)
        return number is not None and (not whole or number.is_integer())
    if not isinstance(value, (int, float)):
        return False
    return not whole or float(value).is_integer() if isinstance(value, float) else True


def expands_suffixes(table: Table) -> bool:
    """Whether the release expands 80g and its like in the JSON of its config classes."""
    return Version(table.release) >= Version(SUFFIXES.first)


def without_suffixes(text: str, table: Table) -> str:
    """Return a JSON text with 80g and its like as a plain number, where the release expands them itself."""
    return _expanded(text) if expands_suffixes(table) else text


def needs_suffixes(text: str) -> bool:
    """Whether a text is JSON only with such numbers expanded."""
    return not is_json(text) and is_json(_expanded(text))


def _expanded(text: str) -> str:
    parts = _STRINGS.split(text)
    parts[::2] = [_SUFFIXED.sub("1", part) for part in parts[::2]]
    return "".join(parts)
