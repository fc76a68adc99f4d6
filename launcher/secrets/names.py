"""Which names hold secrets: of variables, of options in JSON, and of flags, shortened and misspelt ones too."""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import lru_cache
from itertools import islice, takewhile

from pd_launch.schemas.core.flag_shapes import LISTS, SWITCHES, VALUED
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.names import nearest

_NAME = lazy_pattern(
    r"(?:key|token|secret|password|passwd|passphrase|credentials?"
    r"|(?:^|[_-])pass|[_-]pwd|(?:api|access|secret|private)[_-]?keys|access[_-]?key[_-]?id"
    r"|(?:^|[_.-])authorization)$",
    re.IGNORECASE,
)
_NOT_SECRET = frozenset({"ssl-keyfile", "allow-credentials", "allow_credentials"})
_LONG_ENOUGH = 12
"""Letters of a name that can hardly be anything but the beginning of a flag."""
_FLAGS = frozenset({*SWITCHES, *LISTS, *VALUED})
_IN_ORDER = sorted(_FLAGS)


def _begun_by(head: str) -> list[str]:
    """Return the flags that a beginning may stand for."""
    at = bisect_left(_IN_ORDER, head) if head else len(_IN_ORDER)
    return list(takewhile(lambda flag: flag.startswith(head), islice(_IN_ORDER, at, None)))


def is_secret(name: str) -> bool:
    """Whether a variable or option of this name holds a secret.

    That are *KEY, *TOKEN, *SECRET, *PASSWORD, *PASSWD, *PASSPHRASE, *CREDENTIALS, *_PASS, *_PWD, *API_KEYS and the
    like, *ACCESS_KEY_ID, and Authorization.
    """
    plain = name.lstrip("-")
    return bool(_NAME.search(plain[-100:])) and plain not in _NOT_SECRET and not _begins_another(plain)


@lru_cache(1 << 14)
def _begins_another(name: str) -> bool:
    """Whether a name is the long beginning of one flag that holds no secret: ``MAX_NUM_BATCHED_TOKEN``."""
    head = name.lower().replace("_", "-")
    if len(head) < _LONG_ENOUGH or head in _FLAGS:
        return False
    meant = _begun_by(head)
    return bool(meant) and not any(_NAME.search(flag) for flag in meant)


_SECRET_FLAGS = tuple(flag for flag in _IN_ORDER if is_secret(flag))
"""Sought once: a file may hold a word like a flag at every other place."""
_LONGEST = 40
_TELLING = 3
"""Letters from which on an ambiguous beginning may be meant for a secret: ``--api``, not ``--a``."""


@lru_cache(1 << 14)
def is_secret_flag(name: str) -> bool:
    """Whether a flag's value is a secret: by its name, or by that of the flag that a beginning or misspelling means."""
    plain = name.lstrip("-").replace("_", "-")
    head, dot, rest = plain.partition(".")
    if dot:
        return is_secret(rest)
    if head in _FLAGS or not _is_long(name):
        return is_secret(head)
    meant = _begun_by(head)
    if len(meant) == 1:
        return is_secret(meant[0])
    if meant:  # it stands for none
        return is_secret(head) or (len(head) >= _TELLING and any(is_secret(flag) for flag in meant))
    return is_secret(head) or _is_near_secret(head)


def _is_long(name: str) -> bool:
    return name.startswith("--") or not name.startswith("-")


def _is_near_secret(name: str) -> bool:
    return len(name) < _LONGEST and nearest(name.lower(), _SECRET_FLAGS) is not None
