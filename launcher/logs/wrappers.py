"""Lines inside lines: what container runtimes, Docker, journald and log shippers put around what an engine wrote."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pd_launch.schemas.core.lazy import lazy_pattern

_FIELDS = ("log", "MESSAGE", "message", "msg", "content", "body", "line", "text")
"""Where the line is: of Docker's json-file, of journalctl -o json, and of what shippers (and Loki) write."""
_ENGINE = lazy_pattern(r"(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d")
_INNER = (
    "original",
    "stringValue",
    "line",
    "message",
    "log",
    "event",
    "textPayload",
    "@message",
    "short_message",
    "_msg",
)
"""Where it is in further forms, at any depth: Splunk's, OpenTelemetry's, Google Cloud's, CloudWatch's, GELF."""
_MOST_LOOKED_AT = 200
_CUT = lazy_pattern(rb'"(?:log|MESSAGE|message)" ?: ?"((?:[^"\\]|\\.){0,65536})')

_CRI = lazy_pattern(rb"^\d{4}-\d\d-\d\dT[\d:.]{8,24}(?:Z|[+-]\d\d:\d\d) std(?:out|err) [FP] ")
"""What the container runtime of Kubernetes puts in front of each line."""


def unwrapped(raw: bytes) -> Iterator[bytes]:
    """Give the lines that an object of JSON holds; a line that is none, as it is."""
    raw = _CRI.sub(b"", raw, count=1)
    text = raw.strip()
    if not text.startswith(b"{"):
        yield raw
        return
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        cut = _CUT.match(text, 1) if len(text) < 1 << 17 else None
        found = {"log": _decoded(cut[1])} if cut is not None else None
    line = _line(found)
    if line is None:
        yield raw
        return
    yield from (part for part in line.split(b"\n") if part.strip())


def _decoded(text: bytes) -> Any:
    try:
        return json.loads(b'"' + text + b'"')
    except ValueError:
        return None


def _line(found: Any) -> bytes | None:
    if not isinstance(found, dict):
        return None
    texts = [text for name in _FIELDS if isinstance(text := found.get(name), str) and text.strip()]
    if texts:
        text = next((one for one in texts if _ENGINE.search(one, 0, 400)), texts[0])
        return text.encode("utf-8", "surrogatepass")
    for name in _FIELDS:
        value = found.get(name)
        if isinstance(value, list) and all(isinstance(byte, int) and 0 <= byte < 256 for byte in value):
            return bytes(value)  # journald writes bytes where a line has control characters
    return _deeper(found)


def _deeper(found: dict[str, Any]) -> bytes | None:
    """Return the text of an object that looks like an engine's line, else one under a name that is known for lines."""
    waiting: list[tuple[str, Any]] = list(found.items())
    named = None
    for _ in range(_MOST_LOOKED_AT):
        if not waiting:
            break
        name, value = waiting.pop(0)
        if isinstance(value, str):
            if _ENGINE.search(value, 0, 400):
                return value.encode("utf-8", "surrogatepass")
            named = value if named is None and name in _INNER else named
        elif isinstance(value, dict):
            waiting += list(value.items())[:_MOST_LOOKED_AT]
        elif isinstance(value, list):
            waiting += [(name, one) for one in value[:_MOST_LOOKED_AT]]
    return None if named is None else named.encode("utf-8", "surrogatepass")
