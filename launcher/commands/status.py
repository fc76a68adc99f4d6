"""``pd-launch status``: what running engines do now."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import click

from pd_launch.launcher.commands.common import USAGE, keep_inputs, terminal_columns, use_colour, write
from pd_launch.launcher.commands.options.status import StatusOptions
from pd_launch.launcher.inputs import RECORD, GivenFolder, as_text
from pd_launch.launcher.sources.profiles.load import SettingError
from pd_launch.launcher.sources.profiles.shipped import ProfileNotFound
from pd_launch.launcher.status.build import Before, report
from pd_launch.launcher.status.compare import Expected, Unrendered, expected_of, matched
from pd_launch.launcher.status.fetch import Address, BadAddress, parse_address
from pd_launch.launcher.status.look import MAX_ENGINES, Seen, look
from pd_launch.launcher.status.record import BadRecord, line_of, open_record, read_record
from pd_launch.launcher.status.screen import Screen
from pd_launch.launcher.status.text import StatusText
from pd_launch.launcher.wording.language import locale_language
from pd_launch.launcher.wording.width import clean
from pd_launch.schemas.status import StatusReport

EVERY = 5.0
Looks = Iterator[tuple[float, list[Seen]]]


def status_command(options: StatusOptions) -> int:
    """Look at engines, print what they do, and return the status that goes with it."""
    _check(options)
    if importlib.util.find_spec("prometheus_client") is None:
        raise click.ClickException("status needs a library to read metrics: pip install prometheus-client")
    expected = _expected(options)
    addresses = _addresses(options, expected)
    names = matched(expected, addresses)
    if expected and addresses:
        for address in addresses:
            if address.shown not in names:
                told = f"{clean(address.shown)}: no engine of the profile serves there, or several may"
                click.echo(f"pd-launch: {told}", err=True)
    shown = _Shown(options, expected, names)
    with contextlib.ExitStack() as stack:
        record = stack.enter_context(_record(options.record)) if options.record else None
        return shown.run(addresses, record)


def _check(options: StatusOptions) -> None:
    if options.replay and (options.urls or options.record or options.watch is not None):
        raise click.UsageError("--replay reads a record: it cannot be combined with a URL, --watch or --record")
    if not (options.urls or options.replay or options.profile):
        raise click.UsageError(
            "give the address of an engine, or --profile\n\n"
            "  pd-launch status http://127.0.0.1:8100 http://127.0.0.1:8200\n  pd-launch status --profile cpu-tiny"
        )
    if options.count is not None and options.watch is None:
        raise click.UsageError("--count needs --watch")
    keep_inputs(options.output, [options.record, options.replay, options.profile])
    keep_inputs(options.record, [options.profile], "--record")


def _expected(options: StatusOptions) -> list[Expected]:
    if options.profile is None:
        return []
    try:
        return expected_of(options.profile, options.settings)
    except (ProfileNotFound, SettingError, Unrendered) as error:
        raise click.ClickException(clean(str(error))) from None


def _addresses(options: StatusOptions, expected: Sequence[Expected]) -> list[Address]:
    if options.replay:
        return []
    found = []
    for url in options.urls:
        try:
            found.append(parse_address(url))
        except BadAddress as error:
            raise click.UsageError(clean(f"{url[:200]}: {error}")) from None
    found = list(dict.fromkeys(found or [one.address for one in expected]))
    if len(found) > MAX_ENGINES:
        raise click.UsageError(f"at most {MAX_ENGINES} engines at once")
    return found


@contextlib.contextmanager
def _record(name: str) -> Iterator[IO[str]]:
    try:
        file = open_record(Path(name))
    except BadRecord as error:
        raise click.BadParameter(f"{clean(as_text(name))}: {error}", param_hint="--record") from None
    except (OSError, ValueError) as error:
        told = getattr(error, "strerror", None) or "it is not a valid path"
        raise click.ClickException(f"{clean(as_text(name))}: {told}") from None
    with file:
        yield file


def _looks(options: StatusOptions, addresses: Sequence[Address], wait: Callable[[float], None]) -> Looks:
    """Give looks: of a record, or of what runs, again and again with --watch; ``wait`` passes the time between."""
    if options.replay:
        try:
            yield from read_record(options.replay)
        except BadRecord as error:
            raise click.ClickException(f"{clean(as_text(options.replay))}: {error}") from None
        except IsADirectoryError:
            raise GivenFolder(options.replay, RECORD) from None
        except OSError as error:
            raise click.ClickException(f"{clean(as_text(options.replay))}: {error.strerror}") from None
        except ValueError:
            raise click.ClickException(f"{clean(as_text(options.replay))!r} is not a valid path") from None
        return
    done = 0
    while True:
        begun = time.monotonic()
        yield time.time(), look(addresses, options.timeout)
        done += 1
        if options.watch is None or done == options.count:
            return
        wait(max(0.0, options.watch - (time.monotonic() - begun)))


class _Shown:
    """Shows looks as they come: in place on a terminal, a line each elsewhere, or the last one whole."""

    def __init__(self, options: StatusOptions, expected: Sequence[Expected], names: dict[str, Expected]) -> None:
        self._options = options
        self._lang = options.lang or locale_language()
        self._expected, self._names = expected, names
        self._before = Before()
        self._colour = options.output is None and use_colour(options.color, sys.stdout)

    def run(self, addresses: Sequence[Address], record: IO[str] | None) -> int:
        """Show all looks; return the last one's status."""
        options = self._options
        if options.watch is not None and options.form == "text" and options.output is None and _can_draw(sys.stdout):
            return self._in_place(addresses, record)
        many = options.watch is not None or options.replay is not None
        looks = _looks(options, addresses, time.sleep)
        last: StatusReport | None = None
        try:
            for last in self._reports(looks, record):
                if many and not self._last_only:
                    write(last.model_dump_json() + "\n")
        except KeyboardInterrupt:
            click.echo("", err=True)
        if last is None:
            return USAGE
        if not many or self._last_only:
            self._print(last)
        return last.status

    @property
    def _last_only(self) -> bool:
        """Whether only the end of a record is told: in words, or as a whole document."""
        options = self._options
        return options.output is not None or (options.replay is not None and options.form == "text")

    def _reports(self, looks: Looks, record: IO[str] | None) -> Iterator[StatusReport]:
        for clock, seen in looks:
            if record is not None:
                record.write(line_of(seen, clock))
                record.flush()
            yield self._report(clock, seen)

    def _report(self, clock: float, seen: Sequence[Seen]) -> StatusReport:
        names = self._names or matched(self._expected, [one.address for one in seen])
        found = report(seen, clock, self._before, names, self._options.profile, self._lang)
        self._before.take(seen, clock, found)
        return found

    def _print(self, found: StatusReport) -> None:
        if self._options.form == "json":
            write(found.model_dump_json(indent=2) + "\n", self._options.output)
            return
        write(StatusText(self._lang, self._colour, self._columns()).render(found), self._options.output)

    def _columns(self) -> int:
        return (terminal_columns(sys.stdout) if self._options.output is None else None) or 100

    def _in_place(self, addresses: Sequence[Address], record: IO[str] | None) -> int:
        screen, drawn = Screen(sys.stdout), list[StatusReport]()

        def draw() -> None:
            for found in drawn:
                text = StatusText(self._lang, self._colour, screen.size[0]).render(found)
                when = time.strftime("%H:%M:%S", time.localtime(found.time))
                screen.draw(f"{when}  Ctrl-C\n{text}")

        looks = _looks(self._options, addresses, lambda seconds: screen.wait(seconds, draw))
        with contextlib.suppress(KeyboardInterrupt), screen.open():
            for found in self._reports(looks, record):
                drawn[:] = [found]
                draw()
        for found in drawn:
            self._print(found)
            return found.status
        return USAGE


def _can_draw(stream: Any) -> bool:
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
