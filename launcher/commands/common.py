"""What several commands share: reading inputs, options, language, and writing output."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from pd_launch.launcher.inputs import STDIN, GivenFolder, as_text, say_unread
from pd_launch.launcher.wording.width import clean
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.target import Choice, Target, TargetError, parse_target

USAGE = 2
NO_MATPLOTLIB = "--png needs matplotlib: pip install matplotlib"
MAX_SIZE_OPTION = 1 << 30
"""More than ``--max-size`` takes, no machine's memory would hold with what is made of it."""


def split_command(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split what click leaves over into files and the command after ``--``, which only the real argv still shows."""
    argv = sys.argv[1:]
    if "--" not in argv:
        return list(words), []
    behind = argv[argv.index("--") + 1 :]
    return list(words[: len(words) - len(behind)]), behind


def parse_target_option(text: str | None) -> Target | None:
    """Return ``--target``: a release, or a path whose files are read; nonsense is a usage error.

    What could not be read of a path is said on standard error.
    """
    if text is None:
        return None
    try:
        return parse_target(text)
    except TargetError as error:
        if not looks_like_path(text):
            raise click.BadParameter(clean(str(error)), param_hint="--target") from None
    from pd_launch.launcher.builds import BuildError, read_build, target_of

    try:
        build = read_build(text)
    except BuildError as error:
        raise click.BadParameter(clean(str(error)), param_hint="--target") from None
    say_unread(build.unread)
    return target_of(build, "path")


def looks_like_path(text: str) -> bool:
    """Whether a word that is no release is meant as a path: it has a slash or an archive's ending, or is there."""
    if os.sep in text or text.endswith((".whl", ".zip", ".tar.gz", ".tgz")) or text in (".", ".."):
        return True
    try:
        return Path(text).exists()
    except (OSError, ValueError):
        return False


def say_passed_over(given: Target | None, used: Iterable[Choice]) -> None:
    """Say on standard error where ``--target`` does not fit an input, which is then checked for another release."""
    for choice in dict.fromkeys(used) if given is not None else ():
        if choice.decided is None or choice.decided.decided_by not in ("--target", "path"):
            shown = choice.decided or " or ".join(str(lead) for lead in choice.leads)
            click.echo(f"pd-launch: --target {given} does not fit this input: {shown} is used", err=True)


def size_option(text: str | None, default: int) -> int:
    """Return ``--max-size`` in bytes; nonsense is a usage error."""
    if text is None:
        return default
    from pd_launch.schemas.core.units import SizeError, human_size, parse_size

    try:
        size = parse_size(text)
        if size > MAX_SIZE_OPTION:
            raise SizeError(Msg(f"at most {human_size(MAX_SIZE_OPTION)}", f"最多 {human_size(MAX_SIZE_OPTION)}"))
        return size
    except SizeError as error:
        raise click.BadParameter(str(error), param_hint="--max-size") from None


def codes(text: str | None) -> list[str]:
    """Return the codes of a comma-separated option."""
    return [word.strip() for word in (text or "").replace(" ", ",").split(",") if word.strip()]


def without_secrets(error: click.ClickException, words: Sequence[str] = ()) -> click.ClickException:
    """Return the error, which from now on says nothing of the secrets in the command line's ``words``."""
    from pd_launch.launcher.secrets.masking import mask_said

    said = mask_said(error.format_message(), words)
    vars(error)["format_message"] = lambda: said
    return error


def keep_inputs(output: str | None, inputs: Iterable[str | None], option: str = "--output") -> None:
    """Refuse to write over a file that the command reads, whatever name or link of it is given.

    ``-`` among the inputs is what standard input was redirected from.

    Raises:
        click.BadParameter: ``output`` is one of ``inputs``.
    """
    there = None if output is None else _regular(output)
    if output is None or there is None:
        return  # a device or pipe loses nothing
    for path in inputs:
        found = None if path is None else _regular(path)
        if found is not None and os.path.samestat(there, found):
            name = clean(as_text(output))
            raise click.BadParameter(f"{name} is an input of this command; name another file", param_hint=option)


def keep_existing(output: str) -> None:
    """Refuse to write over what is there, a link that leads nowhere included.

    Raises:
        click.ClickException: there is something.
    """
    if os.path.lexists(output):
        raise click.ClickException(f"{clean(as_text(output))} already exists; name another file")


def _regular(path: str) -> os.stat_result | None:
    """Return the state of a regular file, also through links or as standard input; None for anything else."""
    try:
        found = os.fstat(0) if path in ("-", STDIN) else Path(path).stat()
    except (OSError, ValueError):
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def write(text: str, output: str | None = None) -> None:
    """Write to a file, or to standard output whatever its encoding can show."""
    if output is not None:
        from pd_launch.launcher.files import write_atomically

        try:
            write_atomically(Path(output), text)
        except IsADirectoryError:
            raise GivenFolder(output) from None
        except OSError as error:
            raise click.ClickException(f"{clean(output)}: {error.strerror}") from None
        return
    stream = sys.stdout
    encoding = stream.encoding or "utf-8"
    try:
        stream.write(text.encode(encoding, "replace").decode(encoding))
        stream.flush()
    except BrokenPipeError:  # who reads has seen enough; the status still tells what was found
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def use_colour(wish: str, stream: Any) -> bool:
    """Whether to colour: as wished, else on a terminal that does not ask for none."""
    if wish != "auto":
        return wish == "always"
    return stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def terminal_columns(stream: Any) -> int | None:
    """Return the columns of the terminal that ``stream`` is, 40 at least; None for a file or pipe."""
    if not stream.isatty():
        return None
    import shutil

    return max(40, shutil.get_terminal_size().columns)
