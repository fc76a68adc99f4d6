"""``pd-launch lsp``: options."""

from __future__ import annotations

from pd_launch.launcher.commands.options import command, lang_option, option, target_option
from pd_launch.schemas.core.record import dataclass


@dataclass(frozen=True)
class LspOptions:
    """Show findings in an editor, over the Language Server Protocol on standard input and output.

    It needs pygls: the extra lsp. docs/guide/editors.md shows how editors start it.

    \b
    Example:
      pd-launch lsp --target vllm==0.32.0
    """

    target: str | None = target_option()
    pages: str | None = option(
        "--pages", metavar="ADDRESS", help="Folder of the rule pages (default: next to this program, if there)."
    )
    lang: str | None = lang_option()


COMMANDS = {"lsp": command(LspOptions, "lsp:lsp_command")}
