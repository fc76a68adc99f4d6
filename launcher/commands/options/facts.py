"""``pd-launch facts``: options."""

from __future__ import annotations

from pd_launch.launcher.commands.options import argument, command, form_option, lang_option
from pd_launch.schemas.core.record import dataclass


@dataclass(frozen=True)
class FactsOptions:
    """Print facts about this host, for an issue or for --host-facts; secrets are masked.

    \b
    Examples:
      pd-launch facts --format json > node0.json
      pd-launch facts diff node0.json node1.json
      pd-launch facts check node0.json node1.json node2.json
    """

    form: str = form_option()


@dataclass(frozen=True)
class FactsDiffOptions:
    """Show how two nodes differ.

    \b
    Example:
      pd-launch facts diff node0.json node1.json
    """

    first: str = argument(metavar="A")
    second: str = argument(metavar="B")
    lang: str | None = lang_option()
    form: str = form_option(show_default=False)


@dataclass(frozen=True)
class FactsCheckOptions:
    """Show what must agree between the nodes of one deployment but does not.

    \b
    Example:
      pd-launch facts check node0.json node1.json node2.json
    """

    files: tuple[str, ...] = argument(nargs=-1, required=True, metavar="A B...")
    lang: str | None = lang_option()
    form: str = form_option(show_default=False)


COMMANDS = {
    "facts": command(
        FactsOptions,
        "facts:facts_command",
        {
            "diff": command(FactsDiffOptions, "facts:diff_command"),
            "check": command(
                FactsCheckOptions, "facts:check_command", short_help="Show what must agree between nodes but does not."
            ),
        },
    )
}
