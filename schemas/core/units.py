"""Byte sizes as people write them, exactly: ``"16GiB"`` is 17179869184, and back.

KiB/MiB/GiB/TiB, Kubernetes' Ki/Mi/Gi/Ti and Docker's k/m/g/t are powers of 1024; KB/MB/GB/TB are powers of 1000; a bare
integer is bytes. Anything else, and whatever is not a whole number of bytes, is an error.
"""

from __future__ import annotations

import re

from pd_launch.schemas.core.errors import ValueFault, written
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg

_BINARY = {"k": 1, "m": 2, "g": 3, "t": 4}
_SIZE = lazy_pattern(r"(\d{1,30}(?:\.\d{1,30})?)\s*([A-Za-z]*)", re.ASCII)
SIZE_PATTERN = r"^\s*[0-9]+(\.[0-9]+)?\s*([KkMmGgTt](i?[Bb]?)?|[Bb])?\s*$"
"""The same for a JSON Schema, in which an editor checks what is being typed."""

KIB, MIB, GIB, TIB = 1024, 1024**2, 1024**3, 1024**4


class SizeError(ValueFault):
    """A size that cannot be read; the message says what would be right."""


def parse_size(value: object) -> int:
    """Return the bytes that ``value`` (an int, or text such as ``"16GiB"``, ``"128Gi"``, ``"1g"``, ``"500MB"``) means.

    Raises:
        SizeError: it is no size, has an unknown unit, is negative, or is not a whole number of bytes.
    """
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise SizeError(
            Msg(
                f"{written(value)} is not a size: write bytes as an integer, or a string such as 16GiB",
                f"{written(value)} 不是大小：请写整数字节数，或 16GiB 这样的字符串",
            ),
        )
    if isinstance(value, int):
        if value < 0:
            raise SizeError(Msg(f"{value} is negative: a size is zero or more", f"{value} 是负数：大小不能小于零"))
        return value
    match = _SIZE.fullmatch(value.strip())
    if not match:
        raise SizeError(
            Msg(
                f"{value!r} is not a size: write a number and a unit, such as 16GiB",
                f"{value!r} 不是大小：请写数字和单位，例如 16GiB",
            ),
        )
    number, unit = match.groups()
    whole, _, places = number.partition(".")
    scale: int = 10 ** len(places)
    bytes_, rest = divmod(int(whole + places) * _factor(unit, value), scale)
    if rest:
        raise SizeError(Msg(f"{value!r} is not a whole number of bytes", f"{value!r} 不是整数个字节"))
    return bytes_


def _factor(unit: str, value: str) -> int:
    if unit in ("", "B", "b"):
        return 1
    lower = unit.lower()
    power = _BINARY.get(lower[0])
    if power is not None:
        if lower[1:] in ("", "i", "ib"):  # docker's g, Kubernetes' Gi, GiB
            return int(1024**power)
        if lower[1:] == "b":
            return int(1000**power)
    raise SizeError(
        Msg(
            f"{value!r} has the unknown unit {unit!r}: use KiB, MiB, GiB or TiB (or KB, MB, GB, TB)",
            f"{value!r} 的单位 {unit!r} 未知：请用 KiB、MiB、GiB 或 TiB（或 KB、MB、GB、TB）",
        ),
    )


def format_size(size: int) -> str:
    """Return ``size`` in bytes as short, exact text for :func:`parse_size`: ``"16GiB"``, ``"1500"``."""
    for unit, factor in (("TiB", TIB), ("GiB", GIB), ("MiB", MIB), ("KiB", KIB)):
        if size and size % factor == 0:
            return f"{size // factor}{unit}"
    return str(size)


def human_size(size: int) -> str:
    """Return ``size`` in bytes for reading: two decimals at most, never exact text for a machine."""
    for unit, factor in (("TiB", TIB), ("GiB", GIB), ("MiB", MIB), ("KiB", KIB)):
        if size >= factor:
            return f"{size / factor:.2f}".rstrip("0").rstrip(".") + f" {unit}"
    return f"{size} bytes"


_HUMAN = lazy_pattern(r"(\d{1,30})(\.\d{1,30})?([kKmMgGtT])", re.ASCII)
_STEPS = {"k": 1, "m": 2, "g": 3, "t": 4}


def human_integer(text: str) -> int | None:
    """Return what vLLM reads from 32k (powers of 1000) or 32K (powers of 1024, no fraction); None for other texts."""
    match = _HUMAN.fullmatch(text)
    if match is None or (match[2] and match[3].isupper()):
        return None
    steps = _STEPS[match[3].lower()]
    if match[3].isupper():
        return int(match[1]) * int(1024**steps)
    return int(float(match[1] + (match[2] or "")) * 1000**steps)


def severities(errors: int, warnings: int, infos: int) -> str:
    """Return how many findings there are of each severity, for reading: ``1 error, 2 warnings, 3 info``."""
    said = (errors, counted(errors, "error")), (warnings, counted(warnings, "warning")), (infos, f"{infos} info")
    return ", ".join(text for count, text in said if count)


def part_of(number: int, whole: int, word: str) -> str:
    """Return ``2 of 3 ranks``, ``all 3 ranks`` or ``none of 3 ranks``; of a single one, ``1 rank`` or ``no rank``."""
    if number == whole:
        return counted(whole, word) if whole == 1 else f"all {counted(whole, word)}"
    if number:
        return f"{number} of {counted(whole, word)}"
    return f"no {word}" if whole == 1 else f"none of {counted(whole, word)}"


def counted(number: int, word: str, form: str = "") -> str:
    """Return ``1 rank`` or ``8 ranks``, for reading; ``form`` is how the number is written, such as ``,``."""
    return f"{number:{form}} {word}" if number == 1 else f"{number:{form}} {word}s"
