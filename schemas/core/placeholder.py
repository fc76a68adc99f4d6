"""Values that are still placeholders, as guides write them: ``your_ip_here``, ``xxxx``, ``<model>``, ``...``."""

from __future__ import annotations

import re
from functools import lru_cache

from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.values import HOLE

_PLACEHOLDER = lazy_pattern(
    r"""
    \byour[-_ ]?(?:own[-_ ])?(?:[a-z]{1,20}[-_ ]){0,5}
        (?:ip|addr(?:ess)?|host(?:name)?|nic|interface|port|path|model|token|key|name)(?:[-_ ]here)?\b
    | \b(?:put|insert|replace|change|fill)[-_ ](?:me|this|your|with|in)\b
    | (?<![\w/])(?:local|node\d?|host|prefill|decode|master|remote|nic|card)[-_ ](?:ip|name|addr(?:ess)?)[-_ ]here\b
    | (?<![a-z0-9])x{3,}(?![a-z0-9])
    | (?<![\w.])(?:\d{1,3}\.){1,3}x{1,3}(?:\.(?:x{1,3}|\d{1,3})){0,2}(?![\w.])
    | (?<![\w.])x{1,3}(?:\.x{1,3}){3}(?![\w.])
    | ^/?(?:path|dir)[-_/]to[-_/]
    | (?<=[=:,])/path/to/
    | ^<\w[\w .:/-]*>$
    | (?<![<\w])<[a-z][\w -]{0,60}(?:ip|host|port|addr(?:ess)?|path|dir|name)>
    | ^(?:\.{3}|…)$
    | ^\[?(?:todo|tbd|fixme|changeme|placeholder)\]?$
    """,
    re.VERBOSE | re.IGNORECASE,
)
_MAX = 4096


@lru_cache(maxsize=4096)
def is_placeholder(text: str) -> bool:
    """Whether ``text`` is, or contains, a placeholder. What many engines share is looked at once."""
    return len(text) <= _MAX and HOLE not in text and _PLACEHOLDER.search(text) is not None
