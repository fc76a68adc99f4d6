"""Files and facts that a command is given: read, or refused with words for the command line."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable
from typing import Any, BinaryIO

import click

from pd_launch.launcher.opening import open_input
from pd_launch.launcher.sources.text.limits import MAX_SIZE
from pd_launch.launcher.wording.language import locale_language
from pd_launch.launcher.wording.width import clean
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.values import SourceFile

STDIN = "<stdin>"
MAX_FILE = 32 * 1024 * 1024


FILE = Msg("a file", "文件")
PROFILE = Msg("a profile, which is a YAML file", "配置文件（YAML 文件）")
LOG = Msg("the log file of an engine", "引擎的日志文件")
RECORD = Msg("a file that --record wrote", "--record 写出的文件")
"""What a command reads."""


class GivenFolder(click.ClickException):
    """A folder is given where a command reads a file."""

    def __init__(self, path: str, wanted: Msg = FILE) -> None:
        name, context = clean(as_text(path)), click.get_current_context(silent=True)
        lang = context.params.get("lang") if context is not None else None
        said = Msg(f"{name} is a folder: give {wanted.en}", f"{name} 是目录：请给出{wanted.zh}")
        super().__init__(said.text(lang or locale_language()))


class TooLarge(click.ClickException):
    """A file is larger than any that is held in memory."""


def read_source(path: str, most: int = MAX_FILE, wanted: Msg = FILE) -> SourceFile:
    """Return a file's text; ``-`` is standard input. ``wanted`` is what the command reads.

    Raises:
        TooLarge: it has more than ``most`` bytes.
        GivenFolder: it is a folder.
        click.ClickException: it cannot be opened.
    """
    try:
        if path == "-":
            data, name = standard_input().read(most + 1), STDIN
        else:
            name = path
            with open_input(path) as file:
                data = file.read(most + 1)
    except IsADirectoryError:
        raise GivenFolder(path, wanted) from None
    except OSError as error:
        raise click.ClickException(f"{clean(path)}: {error.strerror}") from None
    except ValueError:
        raise click.ClickException(f"{clean(path)!r} is not a valid path") from None
    if len(data) > most:
        raise TooLarge(f"{clean(path)} is larger than {most >> 20} MiB: this is not a configuration")
    text = data.decode("utf-8", "replace")
    return SourceFile(as_text(name), text, exact=text.encode("utf-8") == data)


def read_profile(path: str) -> SourceFile:
    """Return the text of a profile that is to be rendered; no larger than ``check`` takes it by itself."""
    return read_source(path, MAX_SIZE, PROFILE)


def standard_input() -> BinaryIO:
    """Return standard input as bytes; it is empty where who called closed it."""
    return io.BytesIO() if sys.stdin is None else sys.stdin.buffer


def as_text(word: str) -> str:
    """Return a word of the command line with ``?`` for bytes that are no text, which no report could show."""
    return word.encode("utf-8", "replace").decode()


def is_text(word: str) -> bool:
    """Whether a word of the command line is valid UTF-8."""
    return as_text(word) == word


def say_unread(unread: Iterable[str]) -> None:
    """Say on standard error what could not be read of a build, one line each."""
    for line in unread:
        click.echo(f"pd-launch: {clean(line)}", err=True)


def host_option(host: bool, path: str | None) -> dict[str, Any] | None:
    """Return the facts of ``--host-facts FILE``, of this machine with ``--host``, or None."""
    if path is not None:
        return load_facts(path)
    if not host:
        return None
    from pd_launch.launcher import host as host_module

    return host_module.host_facts()


def installed_option(host: bool, facts: str | None, program: str | None = None) -> Target | None:
    """Return the build that this machine has installed, where ``--host`` or a launch asks for it.

    ``program`` is the ``vllm`` that a launch starts. A file of facts (``--host-facts``) names versions of its own.
    """
    if not host or facts is not None:
        return None
    from pd_launch.launcher.builds import installed_build, target_of

    build = installed_build(program)
    if build is None:
        return None
    say_unread(build.unread)
    return target_of(build, "installed")


def load_facts(path: str) -> dict[str, Any]:
    """Return the facts of a file, and say on standard error which of its keys nothing looks at.

    Raises:
        click.ClickException: it cannot be opened, or holds no facts.
    """
    from pd_launch.launcher import host as host_module
    from pd_launch.launcher.host.contract import MOST_LOOKED_UP
    from pd_launch.schemas.core.units import counted
    from pd_launch.schemas.core.words import agreeing

    try:
        facts = host_module.read_facts(read_source(path).text, path)
    except host_module.FactsError as error:
        raise click.ClickException(clean(str(error))) from None
    unknown = host_module.unknown_keys(facts)
    for key, near in unknown[:MOST_LOOKED_UP]:
        meant = f"did you mean {near}?" if near else "no fact has this name"
        shown = key if len(key) <= 100 else f"{key[:100]}…"
        click.echo(clean(f"pd-launch: {path}: the key {shown} is not used: {meant}"), err=True)
    if len(unknown) > MOST_LOOKED_UP:
        more = len(unknown) - MOST_LOOKED_UP
        said = f"{counted(more, 'further key')} {agreeing(more, 'is', 'are')} not used"
        click.echo(clean(f"pd-launch: {path}: {said}"), err=True)
    return facts
