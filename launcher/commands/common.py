"""What several commands share: reading inputs, options, language, and writing output."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import click

from pd_launch.launcher.check.config import Config
from pd_launch.launcher.opening import open_input
from pd_launch.launcher.wording.width import clean
from pd_launch.launcher.sources.text.limits import MAX_SIZE
from pd_launch.schemas.core.target import Choice, Target, TargetError, parse_target
from pd_launch.schemas.core.values import SourceFile

USAGE = 2
STDIN = "<stdin>"
MAX_FILE = 32 * 1024 * 1024
MAX_SIZE_OPTION = 1 << 30
"""More than ``--max-size`` takes, no machine's memory would hold with what is made of it."""


class TooLarge(click.ClickException):
    """A file is larger than any that is held in memory."""


def read_source(path: str, most: int = MAX_FILE) -> SourceFile:
    """Return a file's text; ``-`` is standard input.

    Raises:
        TooLarge: it has more than ``most`` bytes.
        click.ClickException: it cannot be opened, or is a folder.
    """
    try:
        if path == "-":
            data, name = standard_input().read(most + 1), STDIN
        else:
            name = path
            with open_input(path) as file:
                data = file.read(most + 1)
    except OSError as error:
        raise click.ClickException(f"{clean(path)}: {error.strerror}") from None
    except ValueError:
        raise click.ClickException(f"{clean(path)!r} is no path") from None
    if len(data) > most:
        raise TooLarge(f"{clean(path)} is larger than {most >> 20} MiB: this is no configuration")
    text = data.decode("utf-8", "replace")
    return SourceFile(as_text(name), text, exact=text.encode("utf-8") == data)


def read_profile(path: str) -> SourceFile:
    """Return the text of a profile that is to be rendered; no larger than ``check`` takes it by itself."""
    return read_source(path, MAX_SIZE)


def standard_input() -> BinaryIO:
    """Return standard input as bytes; it is empty where who called closed it."""
    return io.BytesIO() if sys.stdin is None else sys.stdin.buffer


def split_command(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split what click leaves over into files and the command behind ``--``, which only the real argv still shows."""
    argv = sys.argv[1:]
    if "--" not in argv:
        return list(words), []
    behind = argv[argv.index("--") + 1 :]
    return list(words[: len(words) - len(behind)]), behind


def as_text(word: str) -> str:
    """Return a word of the command line with ``?`` for bytes that are no text, which no report could show."""
    return word.encode("utf-8", "replace").decode()


def is_text(word: str) -> bool:
    """Whether a word of the command line is valid UTF-8."""
    return as_text(word) == word


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


def say_unread(unread: Iterable[str]) -> None:
    """Say on standard error what could not be read of a build, one line each."""
    for line in unread:
        click.echo(f"pd-launch: {clean(line)}", err=True)


def config_target(config: Config) -> Target | None:
    """Return the target of the configuration file.

    Raises:
        click.ClickException: it is none.
    """
    try:
        return None if config.target is None else parse_target(config.target, "config")
    except TargetError as error:
        raise click.ClickException(clean(f"{config.path}: target: {error}")) from None


def say_passed_over(given: Target | None, used: Iterable[Choice]) -> None:
    """Say on standard error where ``--target`` does not fit an input, which is then checked for another release."""
    for choice in dict.fromkeys(used) if given is not None else ():
        if choice.decided is None or choice.decided.decided_by not in ("--target", "path"):
            shown = choice.decided or " or ".join(str(lead) for lead in choice.leads)
            click.echo(f"pd-launch: --target {given} does not fit this input: {shown} is used", err=True)


def locale_language() -> str:
    """Return ``zh`` where the locale is Chinese, else ``en``."""
    for name in ("PD_LAUNCH_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        value = os.environ.get(name, "")
        if value:
            return "zh" if value.lower().startswith("zh") else "en"
    return "en"


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
        click.echo(clean(f"pd-launch: {path}: {len(unknown) - MOST_LOOKED_UP} further keys are not used"), err=True)
    return facts


def size_option(text: str | None, default: int) -> int:
    """Return ``--max-size`` in bytes; nonsense is a usage error."""
    if text is None:
        return default
    from pd_launch.schemas.core.units import SizeError, human_size, parse_size

    try:
        size = parse_size(text)
        if size > MAX_SIZE_OPTION:
            raise SizeError(f"at most {human_size(MAX_SIZE_OPTION)}", f"最多 {human_size(MAX_SIZE_OPTION)}")
        return size
    except SizeError as error:
        raise click.BadParameter(str(error), param_hint="--max-size") from None


def codes(text: str | None) -> list[str]:
    """Return the codes of a comma-separated option."""
    return [word.strip() for word in (text or "").replace(" ", ",").split(",") if word.strip()]


def write(text: str, output: str | None = None) -> None:
    """Write to a file, or to standard output whatever its encoding can show."""
    if output is not None:
        from pd_launch.launcher.files import write_atomically

        try:
            write_atomically(Path(output), text)
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
