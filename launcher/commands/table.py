"""The commands and what ``--help`` says of each, without importing them."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module

import click

COMMANDS = {
    "check": ("check", "Find mistakes before an engine starts."),
    "decode": ("launch", "Check, render and start this node's decode engine."),
    "prefill": ("launch", "Check, render and start this node's prefill engine."),
    "doctor": ("doctor", "Check whether this host is ready."),
    "facts": ("facts", "Print facts about this host; compare nodes."),
    "explain": ("rules", "Explain a rule, and what to write instead."),
    "rules": ("rules", "List all rules."),
    "schema": ("rules", "Print a JSON Schema."),
    "upgrade": ("upgrade", "Show what changes for files between two releases."),
    "releases": ("releases", "List known releases; show what changed."),
    "logs": ("logs", "Read engine logs: does the offload work?"),
    "status": ("status", "Show what running engines do with preempted requests."),
    "init": ("init", "Make a profile from existing launches."),
    "profiles": ("profiles", "List, print or copy the shipped profiles."),
    "size": ("size", "Calculate how much host memory the offload needs."),
    "simulate": ("simulate", "Estimate how often a workload preempts, and what avoids it."),
    "lsp": ("lsp", "Show findings in your editor while you type."),
    "completion": ("completion", "Print a shell's completion script."),
}
"""Command → its module in ``commands/options``, and what ``--help`` says of it; what is used most comes first."""


class Lazy(MutableMapping[str, click.Command]):
    """The commands by name, each imported when it is asked for."""

    def __init__(self) -> None:
        self._made: dict[str, click.Command] = {}

    def __getitem__(self, name: str) -> click.Command:
        if name not in self._made:
            module, short_help = COMMANDS[name]
            command: click.Command = import_module(f"pd_launch.launcher.commands.options.{module}").COMMANDS[name]
            command.name, command.short_help = name, short_help
            self._made[name] = command
        return self._made[name]

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._made[name] = command

    def __delitem__(self, name: str) -> None:
        del self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)
