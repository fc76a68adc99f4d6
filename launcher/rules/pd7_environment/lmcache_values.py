"""Which values LMCache's options take, and what it makes of others; of PD710.

Source: the converters in lmcache/v1/config_base.py (config.py in 0.3.9), run on LMCache 0.3.9, 0.4.5 and 0.5.6.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.severity import Severity
from pd_launch.schemas.core.values import Node, Unknown
from pd_launch.schemas.core.words import listed
from pd_launch.schemas.releases.lmcache import WORDS

_ON, _OFF = ("true", "1"), ("false", "0", "no", "off", "n", "f", "none", "null", "disable", "disabled", "")
_LONGEST = 400
_ASKS = {
    "bool": Msg("true or false", "true 或 false"),
    "int": Msg("a whole number", "整数"),
    "float": Msg("a number", "数字"),
    "ints": Msg("whole numbers, separated by commas", "以逗号分隔的整数"),
    "floats": Msg("numbers, separated by commas", "以逗号分隔的数字"),
    "strs": Msg("texts, separated by commas", "以逗号分隔的文本"),
    "object": Msg("a mapping, or its JSON", "映射，或它的 JSON"),
}


def wrong(option: str, kind: str, value: Node) -> tuple[Msg, Msg, Severity] | None:
    """Return what LMCache makes of a value that it cannot read, what to write, and how bad it is; None if it reads it.

    Args:
        option: its name, without prefix and in small letters.
        kind: how it is read (``KINDS`` of schemas/releases/lmcache.py).
        value: as it is written in the file, the variable or the extra config; not known is right.
    """
    written = value.value
    if _unknown(value) or written is None or kind == "str":
        return _word(option, value) if isinstance(written, str) else None
    asks = _ASKS[kind]
    help_ = Msg(f"write {asks.en}", f"请写{asks.zh}")
    if kind == "bool":
        text = str(written).strip().strip("'\"").lower()
        if text in _ON or text in _OFF or isinstance(written, (dict, list)):
            return None
        switched = Msg(
            f"LMCache switches {option} off: it reads {text} as false, and only true and 1 as true",
            f"LMCache 会关闭 {option}：它只把 true 和 1 当作开，{text} 被当作 false",
        )
        return switched, help_, "warning"
    if _reads(kind, written):
        return None
    unread = Msg(
        f"LMCache cannot read this value of {option}: it takes {asks.en}",
        f"LMCache 读不出 {option} 的这个值：它要的是{asks.zh}",
    )
    return unread, help_, "error"


def _word(option: str, value: Node) -> tuple[Msg, Msg, Severity] | None:
    words, written = WORDS.get(option), str(value.value).strip().strip("'\"")
    if words is None or written in words or (option == "cache_policy" and written.upper() in words):
        return None
    shown = listed(words)
    message = Msg(
        f"LMCache stops at start: {option} is {shown.en}, not {written[:40]}",
        f"LMCache 会在启动时停止：{option} 只能是 {shown.zh}，不能是 {written[:40]}",
    )
    return message, Msg(f"write one of them: {shown.en}", f"请写其中之一：{shown.zh}"), "warning"


def _unknown(value: Node) -> bool:
    """Whether a value, or a part of it, is not known."""
    if isinstance(value.value, (dict, list)):
        return any(isinstance(part.value, Unknown) for part in value.elements())
    return isinstance(value.value, Unknown)


def _reads(kind: str, written: object) -> bool:
    if kind == "object":
        return isinstance(written, dict) or written == "" or (isinstance(written, str) and _is_json(written))
    if kind == "strs":
        return isinstance(written, (str, list))
    if isinstance(written, dict):
        return False
    number: Callable[[str], object] = int if kind.startswith("int") else float
    if kind.endswith("s"):
        parts = _parts(written)
        return all(_converts(part, number) for part in parts)
    return not isinstance(written, list) and _converts(written, number)


def _parts(written: object) -> list[object]:
    if isinstance(written, list):
        return [part.value if isinstance(part, Node) else part for part in written]
    if not isinstance(written, str):
        return [written]
    return [part for part in (part.strip() for part in written.strip().strip("'\"").split(",")) if part]


def _converts(part: object, number: Callable[[str], object]) -> bool:
    """Whether ``int`` or ``float`` takes a value: a text in its form, or any other number, which is cut."""
    if not isinstance(part, str):
        return isinstance(part, (int, float))
    try:
        number(part.strip().strip("'\"")[:_LONGEST])
    except ValueError:
        return False
    return True


def _is_json(text: str) -> bool:
    try:
        json.loads(text.strip().strip("'"))
    except (ValueError, RecursionError):
        return False
    return True
