"""A launch as a shell script, for reading and for running by hand. Secrets are asked for, never written."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from pd_launch.launcher.plan import command_words, environment
from pd_launch.launcher.secrets import is_secret
from pd_launch.schemas.launch import NodeLaunch


def shell_script(launches: Sequence[NodeLaunch]) -> str:
    """Return a script that starts the launches of one node; several run side by side, and the script waits for them."""
    parts = ["#!/bin/sh", "set -eu"]
    for launch in launches:
        block = [f"export {name}={_value(name, value)}" for name, value in environment(launch).items()]
        command = _command(launch)
        if len(launches) == 1:
            parts += [*block, f"exec {command}"]
        else:
            parts += ["(", *block, f"exec {command}", ") &"]
    if len(launches) > 1:
        parts.append("wait")
    return "\n".join(parts) + "\n"


def _value(name: str, value: str) -> str:
    return f'"${{{name}:?}}"' if is_secret(name) else shlex.quote(value)


def _command(launch: NodeLaunch) -> str:
    lines: list[str] = []
    secret = ""
    for word, _ in command_words(launch):
        quoted = f'"${{{secret}:?}}"' if secret else shlex.quote(word)
        if word.startswith("--") or not lines:
            lines.append(quoted)
        else:
            lines[-1] += f" {quoted}"
        secret = word.lstrip("-").upper().replace("-", "_") if word.startswith("--") and is_secret(word) else ""
    return " \\\n  ".join(lines)
