"""Words of shell scripts: exact for the shell, and harmless to the terminal on which a script is shown."""

from __future__ import annotations

import shlex

from pd_launch.launcher.wording.width import shows_all
from pd_launch.schemas.core.lazy import lazy_pattern

LEADER = "PD_LEADER"
"""The variable by which the script for Slurm tells every node the first one."""
_PLAIN = lazy_pattern(r"[A-Za-z0-9_@+=:,./ ]")


def shell_word(text: str) -> str:
    """Return ``text`` as one word of a POSIX shell; what a terminal would act on is written by ``printf``."""
    if shows_all(text):
        return shlex.quote(text)
    body = text.rstrip("\n")
    octal = "".join(c if _PLAIN.match(c) else "".join(f"\\{byte:03o}" for byte in c.encode()) for c in body)
    ends = text[len(body) :]  # of what a command prints, the shell takes off the line breaks at the end
    return f"\"$(printf '{octal}')\"" + (shlex.quote(ends) if ends else "")
