"""Secrets in base64: what anybody can read by decoding it is masked like the text itself."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator

from pd_launch.launcher.secrets.values import Span
from pd_launch.schemas.core.lazy import lazy_pattern

_RUN = lazy_pattern(r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{8,400000}={0,2}(?![A-Za-z0-9+/=])")
_OF_A_SECRET = lazy_pattern(r"""(?m)^[ \t]{0,40}["']?kind["']?:[ \t]{0,9}["']?Secret\b""")
_SHORTEST = 16
"""Characters of a run that is decoded where the file has no Secret: a name and a value are no shorter."""


def encoded_spans(text: str, inside: Callable[[str], list[Span]]) -> Iterator[Span]:
    """Iterate over runs of base64 that hold a secret, and in a file with a Secret over all that hold a text.

    ``inside`` says where secrets are in a decoded text.
    """
    secret = _OF_A_SECRET.search(text) is not None
    for run in _RUN.finditer(text):
        if len(run[0]) % 4 or (not secret and len(run[0]) < _SHORTEST):
            continue
        decoded = _decoded(run[0])
        if decoded is not None and (secret or inside(decoded)):
            yield run.span()


def _decoded(run: str) -> str | None:
    """Return the text that a run of base64 stands for; None where it is none."""
    try:
        text = base64.b64decode(run, validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return None
    return text if all(sign.isprintable() or sign in "\t\r\n" for sign in text) else None
