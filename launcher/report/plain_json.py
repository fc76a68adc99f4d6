"""JSON that a terminal can show: characters that it would act on are written as escapes, which mean the same."""

from __future__ import annotations

from pd_launch.schemas.core.lazy import lazy_pattern

_ACTED_ON = lazy_pattern("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def plain_json(text: str) -> str:
    """Return JSON text with control and direction characters escaped; they occur only inside its strings."""
    return _ACTED_ON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
