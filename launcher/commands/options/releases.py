"""``pd-launch releases``: options."""

from __future__ import annotations

from pd_launch.launcher.commands.options import argument, command, form_option, lang_option
from pd_launch.schemas.core.record import dataclass


@dataclass(frozen=True)
class ReleasesOptions:
    """List the releases that the tables know, oldest first.

    \b
    Examples:
      pd-launch releases
      pd-launch releases diff vllm==0.23.0 vllm==0.33.0
    """

    form: str = form_option()
    lang: str | None = lang_option()


@dataclass(frozen=True)
class ReleasesDiffOptions:
    """Show what changed between two releases of one family; each may also be the path of a build.

    \b
    Example:
      pd-launch releases diff vllm-ascend==0.23.0 vllm-ascend==0.30.0rc2
    """

    first: str = argument(metavar="A")
    second: str = argument(metavar="B")
    lang: str | None = lang_option()
    form: str = form_option(show_default=False)


COMMANDS = {
    "releases": command(
        ReleasesOptions,
        "releases:releases_command",
        {
            "diff": command(
                ReleasesDiffOptions, "releases:diff_command", short_help="Show what changed between two releases."
            )
        },
    )
}
