"""``pd-launch explain``, ``rules`` and ``schema``: options."""

from __future__ import annotations

from typing import Any

import click

from pd_launch.launcher.commands.options import argument, command, form_option, lang_option
from pd_launch.schemas.core.record import dataclass


def rule_codes(_context: Any, _parameter: Any, start: str) -> list[str]:
    """Complete a rule's code."""
    from pd_launch.launcher.rules.registry import all_rules

    return [code for code in all_rules() if code.startswith(start.upper())]


@dataclass(frozen=True)
class ExplainOptions:
    """Explain a rule: what it does, why it matters, and what to write instead.

    \b
    Example:
      pd-launch explain PD301
    """

    code: str = argument(shell_complete=rule_codes)
    form: str = form_option()
    lang: str | None = lang_option()


@dataclass(frozen=True)
class RulesOptions:
    """List all rules.

    \b
    Example:
      pd-launch rules --format json
    """

    form: str = form_option()
    lang: str | None = lang_option()


@dataclass(frozen=True)
class SchemaOptions:
    """Print the JSON Schema of a profile, of pd-launch.toml (config), or of a command's JSON output.

    \b
    Example:
      pd-launch schema profile > profile.schema.json
    """

    name: str = argument(
        type=click.Choice(["profile", "config", "report", "plan", "logs", "simulate", "status", "upgrade"])
    )


COMMANDS = {
    "explain": command(ExplainOptions, "rules:explain_command"),
    "rules": command(RulesOptions, "rules:rules_command"),
    "schema": command(SchemaOptions, "rules:schema_command"),
}
