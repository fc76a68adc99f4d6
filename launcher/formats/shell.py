"""A launch as a shell script, for reading and for running by hand. Secrets are asked for, never written."""

from __future__ import annotations

from collections.abc import Sequence

from pd_launch.launcher.formats.box import Variable
from pd_launch.launcher.formats.ending import ADD, UNTIL_ONE_ENDS, grace_of, together
from pd_launch.launcher.formats.words import shell_word
from pd_launch.launcher.launch.plan import command_words, environment
from pd_launch.launcher.secrets.masking import Held
from pd_launch.schemas.core.launch import NodeLaunch

_KNOWN = "# shellcheck disable=SC2013,SC2030,SC2031,SC2086"
"""Numbers of processes are words without quotes, and each rank has variables of its own."""


def shell_script(launches: Sequence[NodeLaunch], grace: float | None = None) -> str:
    """Return a script that starts the launches of one node.

    One launch replaces the shell. Of several, which run side by side, the first that ends ends the others, and its
    status is the script's (1 where it ended well: the others cannot serve without it); signals to the script end them
    all. What has not ended after ``grace`` seconds is killed.

    What is secret, or resolved only at the launch (``auto``), is taken from the environment of who runs the script.
    """
    many = len(launches) > 1
    parts = ["#!/bin/bash", _KNOWN] if many else ["#!/bin/sh"]
    parts += ["set -eu", *(together(grace_of(launches, grace)) if many else ())]
    held = Held.of(launches)
    for launch in launches:
        block = [f"export {name}={_value(launch, name, value, held)}" for name, value in environment(launch).items()]
        command = _command(launch, held)
        parts += ["(", *block, f"exec {command}", f") & {ADD}"] if many else [*block, f"exec {command}"]
    if many:
        parts += UNTIL_ONE_ENDS
    return "\n".join(parts) + "\n"


def _value(launch: NodeLaunch, name: str, value: str, held: Held) -> str:
    join = launch.env[name].joins
    if held.variable(name, value) or (join is None and not launch.env[name].value.known):
        return f'"${{{name}:?}}"'
    return Variable(value, join=join).word(name, shell_word)


def _command(launch: NodeLaunch, held: Held) -> str:
    lines: list[str] = []
    for word in command_words(launch, held):
        quoted = word.quoted(shell_word)
        if word.text.startswith("--") or not lines:
            lines.append(quoted)
        else:
            lines[-1] += f" {quoted}"
    return " \\\n  ".join(lines)
