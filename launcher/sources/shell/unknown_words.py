"""Commands whose name a script does not show, and texts that it makes so that nobody sees what they start."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache

from pd_launch.schemas.core.flag_shapes import LISTS, SWITCHES, VALUED
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.values import HOLE, Text

_OTHERS_TOO = frozenset(
    {"api-key", "allow-credentials", "allowed-headers", "allowed-methods", "allowed-origins", "log-config-file"}
    | {"root-path", "ssl-keyfile", "ssl-certfile", "ssl-ca-certs", "ssl-cert-reqs", "chat-template", "shutdown-timeout"}
    | {"trust-remote-code", "served-model-name", "tokenizer-mode", "download-dir", "node-rank", "master-addr"}
    | {"master-port", "config-format", "load-format", "lora-modules", "ssl-ciphers", "log-level", "dry-run"}
)
"""Options of the engine that other programs have as well, clients of it among them."""
_NEAR = 0.9
_MOST_WORDS = 200
_PROGRAM = lazy_pattern(r".{0,400}\.(?:py|sh|jar|js|rb|pl|R)")
_OTHER_WORK = frozenset({"bench", "run", "exec", "-m", "-c", "-jar", "collect-env", "run-batch", "chat", "complete"})
_DECODES = lazy_pattern(
    r"\b(?:base64|base32|basenc)\b[^\n|]{0,80}\s(?:-\w{0,3}[dD]|--decode)|\bxxd\b[^\n|]{0,40}\s-\w{0,3}r"
    r"|\bopenssl\b[^\n|]{0,80}\s-d\b|\|\s{0,9}(?:rev|gunzip|zcat|unxz|tac)\b"
)
_OPAQUE = lazy_pattern(r"(?<![\w/+.-])(?=[A-Za-z0-9+/]{0,199}[A-Z0-9+/])[A-Za-z0-9+/]{12,4000}={0,2}(?![\w/.-])")
"""What is encoded, as it may be written in a script."""
_OF_ENGINE = lazy_pattern(r"(?<![A-Za-z0-9/.-])(?:serve|vllm|api_server)(?![A-Za-z0-9/.-])[^\n|]{0,1000}?--[a-z]")
_FETCHES = lazy_pattern(r"\b(?:curl|wget|fetch|aria2c|gh|git)\b")


@cache
def _own_options() -> frozenset[str]:
    """Return the options that hardly any program but the engine has."""
    return frozenset(name for name in (*SWITCHES, *LISTS, *VALUED) if "-" in name) - _OTHERS_TOO


def is_unknown(word: Text) -> bool:
    """Whether nothing of a program's name is known."""
    return bool(word.value) and not word.value.rpartition("/")[2].strip(HOLE)


def may_be_engine(words: Sequence[Text]) -> bool:
    """Whether a command whose name is not known has an option of the engine, or one that is nearly that.

    After a program of Python or a script it is that program's option.
    """
    if not words or not is_unknown(words[0]):
        return False
    values = [word.value for word in words[1:_MOST_WORDS]]
    first = next((at for at, value in enumerate(values) if value.startswith("--")), len(values))
    if any(value in _OTHER_WORK or _PROGRAM.fullmatch(value) for value in values[:first]):
        return False
    names = [value[2:].partition("=")[0].replace("_", "-") for value in values if value.startswith("--")]
    own = _own_options()
    return any(name in own or (name not in _OTHERS_TOO and get_close_matches(name, own, 1, _NEAR)) for name in names)


def is_decoded(text: Text) -> bool:
    """Whether a text that is not known is decoded from one that stands in the script."""
    if HOLE not in text.value:
        return False
    written = text.source.text[text.spots[0] : text.spots[-1]]
    return _DECODES.search(written) is not None and _OPAQUE.search(written) is not None


def may_make_engine(written: str) -> bool:
    """Whether stages of a pipeline may make an engine's command of what stands in them."""
    if _DECODES.search(written) is not None and _OPAQUE.search(written) is not None:
        return True
    return _OF_ENGINE.search(written) is not None and _FETCHES.search(written) is None
