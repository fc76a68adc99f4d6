"""The command line. Commands are imported when they run, so that ``--help`` and ``--version`` stay instant."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

import click

from pd_launch import __version__
from pd_launch.launcher import early, internal
from pd_launch.launcher.commands.table import COMMANDS, Lazy

USAGE = 2
_SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 80}


@contextlib.contextmanager
def _said_without_secrets(words: Sequence[str]) -> Iterator[None]:
    try:
        yield
    except click.ClickException as error:
        from pd_launch.launcher.commands.common import without_secrets

        without_secrets(error, words)
        raise


class _Group(click.Group):
    """Lists commands without importing them.

    What any of them says of a wrong command line is said without the secrets in it.
    """

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        self._given = tuple(args)
        with _said_without_secrets(self._given):
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _said_without_secrets(self._given):
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, said) for name, (_, said) in COMMANDS.items()])


def _version(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if not wanted or context.resilient_parsing:
        return
    from pd_launch.schemas.core.pairing import ASCEND_PAIRS, VLLM_RELEASES

    click.echo(f"pd-launch, version {__version__}")
    click.echo(f"newest releases known: vllm-ascend {list(ASCEND_PAIRS)[-1]}, vLLM {VLLM_RELEASES[-1]}")
    context.exit()


def _debug(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted and isinstance(context.obj, internal.Guard):
        context.obj.debug = True


_VERSION = "Show the version and the newest releases known, and exit."
_DEBUG = "Show the traceback of an internal fault (status 70)."


@click.group(cls=_Group, commands=Lazy(), context_settings=_SETTINGS)
@click.option("-V", "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help=_VERSION)
@click.option("--debug", is_flag=True, is_eager=True, expose_value=False, callback=_debug, help=_DEBUG)
def cli() -> None:
    """Check, render and launch the vLLM engines of a prefill/decode deployment.

    \b
    Examples:
      pd-launch check decode.sh
      pd-launch decode --profile a3-dp2tp8 --dry-run

    "pd-launch COMMAND --help" says more. Every option has a variable: PD_LAUNCH_CHECK_TARGET is check's --target.
    """


def main() -> None:
    """Run the command line; an interrupted command exits with 130 and says nothing more, lost output with 2.

    A fault of pd-launch itself is 70, which nothing else is.
    """
    atexit.register(gc.freeze)  # nothing is collected once more at exit (early.py)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by who called: there is nobody to write to
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))
    early.interrupts_are_exceptions()
    try:
        sys.exit(_run())
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:
        _drop(sys.stdout)
        unnamed = "the working folder" if isinstance(error, FileNotFoundError) else "the output could not be written"
        what = unnamed if error.filename is None else ascii(error.filename)
        with contextlib.suppress(OSError):
            click.echo(f"Error: {what}: {error.strerror}", err=True)
        _drop(sys.stderr)
        sys.exit(USAGE)


def _run() -> int:
    """Run the command of this process; return its exit status."""
    guard = internal.Guard(_language)
    status: object = None
    try:
        with guard:
            status = cli.main(prog_name="pd-launch", standalone_mode=False, auto_envvar_prefix="PD_LAUNCH", obj=guard)
        sys.stdout.flush()  # what cannot be written must not be found out after the status was given
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as error:
        error.show()
        return USAGE
    except (click.Abort, KeyboardInterrupt):
        return 130
    if guard.failed:
        return internal.STATUS
    return status if isinstance(status, int) else 0


def _language() -> str:
    from pd_launch.launcher.wording.language import locale_language

    return locale_language()


def _drop(stream: TextIO) -> None:
    """Let go of what a stream still holds: writing it at exit would fail again, and change the status."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
