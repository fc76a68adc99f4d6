"""Which language messages are in."""

from __future__ import annotations

import os


def locale_language() -> str:
    """Return ``zh`` where the locale is Chinese, else ``en``."""
    for name in ("PD_LAUNCH_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        value = os.environ.get(name, "")
        if value:
            return "zh" if value.lower().startswith("zh") else "en"
    return "en"
