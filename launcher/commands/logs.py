"""``pd-launch logs``: what engines' logs say about preemption offload."""

from __future__ import annotations

import sys
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from pathlib import Path
from typing import IO

import click

from pd_launch.launcher.commands.common import USAGE, keep_inputs, use_colour, without_secrets, write
from pd_launch.launcher.commands.options.logs import LogsOptions
from pd_launch.launcher.inputs import LOG, STDIN, GivenFolder, as_text, standard_input
from pd_launch.launcher.logs import reader
from pd_launch.launcher.logs.build import file_reports, masked, whole
from pd_launch.launcher.logs.collect import MAX_ENGINES, Collector
from pd_launch.launcher.logs.reader import CHUNK, Hit, Noticed, read_chunks
from pd_launch.launcher.logs.report import LogsText
from pd_launch.launcher.logs.rotated import rotations
from pd_launch.launcher.logs.story import TITLES
from pd_launch.launcher.opening import open_input
from pd_launch.launcher.wording.language import locale_language
from pd_launch.launcher.wording.width import clean
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.logs import LogsReport

PROGRESS_FROM = 64 * 1024 * 1024
_PAUSE = 0.2


@dataclass
class _Log:
    """One input while it is read. ``position`` and ``identity`` tell a rotated file when following."""

    path: str
    collector: Collector = field(default_factory=Collector)
    position: int = 0
    identity: tuple[int, int] | None = None
    told: bool = False
    """Whether its requests are told one by one."""
    older: Sequence[str] = ()
    """What it was before it was rotated, the oldest first."""

    @property
    def name(self) -> str:
        return STDIN if self.path == "-" else as_text(self.path)


def logs_command(options: LogsOptions) -> int:
    """Read logs, print what they say, and return the status that goes with it."""
    if not options.files:
        raise click.UsageError(
            "give a log, or - for standard input\n\n"
            "  pd-launch logs decode.log\n  kubectl logs decode-0 | pd-launch logs -"
        )
    keep_inputs(options.output, options.files)
    lang = options.lang or locale_language()
    told = options.timeline or bool(options.request)
    paths = list(dict.fromkeys(options.files))
    groups = [[path] for path in paths] if options.follow else rotations(paths)
    logs = [_Log(group[-1], told=told, older=group[:-1]) for group in groups]
    wanted = len(logs)
    if options.follow:
        _follow(logs, lang)
    else:
        logs = [log for log in logs if _was_read(log, options.progress)]
        if not logs:
            return USAGE
    reports = [
        report
        for log in logs
        for report in file_reports(log.name, log.collector, lang, options.timeline, options.request or "")
    ]
    report = whole(reports)
    if options.request and not any(engine.requests for engine in report.engines):
        click.echo(f"pd-launch: no preempted request has {clean(options.request)!r} in its id", err=True)
    _print(report, options, lang)
    return report.status if len(logs) == wanted else USAGE


def _print(report: LogsReport, options: LogsOptions, lang: str) -> None:
    if options.form == "json":
        write(report.model_dump_json(indent=2) + "\n", options.output)
        return
    colour = options.output is None and use_colour(options.color, sys.stdout)
    write(LogsText(lang, colour).render(report), options.output)


def _open(path: str) -> IO[bytes]:
    try:
        return open_input(path)
    except IsADirectoryError:
        raise GivenFolder(path, LOG) from None
    except OSError as error:
        raise click.ClickException(f"{clean(as_text(path))}: {error.strerror}") from None
    except ValueError:
        raise click.ClickException(f"{clean(as_text(path))!r} is not a valid path") from None


def _was_read(log: _Log, progress: bool | None) -> bool:
    """Read a log to its end; one that cannot be read is named and does not stop the others."""
    try:
        _read(log, progress)
    except click.ClickException as error:
        without_secrets(error).show()
        return False
    return True


def _read(log: _Log, progress: bool | None) -> None:
    if log.path == "-":
        _feed(log, read_chunks(standard_input()))
        return
    for path in (*log.older, log.path):
        with _open(path) as file:
            size = Path(path).stat().st_size
            wanted = (size >= PROGRESS_FROM and sys.stderr.isatty()) if progress is None else progress
            shown = _Progress(as_text(path), size) if wanted else None
            _feed(log, read_chunks(file, shown), path == log.path)
        if wanted:
            click.echo("", err=True)


def _feed(log: _Log, chunks: Iterator[bytes], last: bool = True) -> None:
    """Take in a file; the next one goes on where it ends, unless it is the last."""
    try:
        for chunk in chunks:
            for _ in log.collector.feed(chunk):
                pass
    except reader.Unread:
        most = f"{reader.MAX_UNPACKED >> 20} MiB"
        told = f"only the first {most} that it unpacks to are read; unpack it, and give the file, for all of it"
        click.echo(f"pd-launch: {clean(log.name)}: {told}", err=True)
    except OSError as error:
        raise click.ClickException(f"{clean(log.name)}: {error.strerror}") from None
    except zlib.error as error:
        raise click.ClickException(f"{clean(log.name)}: the archive is damaged ({error})") from None
    if not last:
        return
    for _ in log.collector.close():
        pass
    _say_limits(log)


def _say_limits(log: _Log) -> None:
    """Say what of a log was not kept."""
    for told in log.collector.not_kept(log.told):
        click.echo(f"pd-launch: {clean(log.name)}: {told}", err=True)
    if log.collector.crowded:
        told = f"more than {MAX_ENGINES} engines: those from there on count as one; give the logs one by one"
        click.echo(f"pd-launch: {clean(log.name)}: {told}", err=True)


class _Progress:
    """Shows on standard error how far a large file has been read."""

    def __init__(self, name: str, size: int) -> None:
        self._name, self._size = clean(name), size
        self._last = 0.0

    def __call__(self, done: int) -> None:
        now = time.monotonic()
        if now - self._last < 0.5 and done < self._size:
            return
        self._last = now
        share = f"{100 * done // self._size} % of {self._size >> 20} MiB" if self._size else f"{done >> 20} MiB"
        click.echo(f"\r{self._name}: {share}", err=True, nl=False)


def _follow(logs: list[_Log], lang: str) -> None:
    """Show what happens as it happens, until interrupted or, on standard input, until its end."""
    if [log.path for log in logs] == ["-"]:
        log = logs[0]
        stream = standard_input()
        for raw in iter(lambda: stream.readline(CHUNK), b""):
            _show(log, log.collector.feed(raw), False)
        _show(log, log.collector.close(), False)
        return
    if any(log.path == "-" for log in logs):
        raise click.UsageError("--follow needs files, or only -")
    for log in logs:
        _open(log.path).close()
    try:
        while True:
            grown = [_grown(log, len(logs) > 1) for log in logs]
            if not any(grown):
                time.sleep(_PAUSE)
    except KeyboardInterrupt:
        click.echo("", err=True)
    for log in logs:
        _show(log, log.collector.close(), len(logs) > 1)


def _grown(log: _Log, many: bool) -> bool:
    """Read what was added to a file; one that was replaced or cut is read from its beginning."""
    try:
        with open_input(log.path) as file:
            state = Path(log.path).stat()
            identity = (state.st_dev, state.st_ino)
            if log.identity not in (None, identity) or state.st_size < log.position:
                log.position = 0
            log.identity = identity
            file.seek(log.position)
            data = file.read(CHUNK)
    except OSError:
        return False  # between the old file and the new one
    log.position += len(data)
    _show(log, log.collector.feed(data), many)
    return bool(data)


def _show(log: _Log, found: Iterator[Hit | Noticed], many: bool) -> None:
    for item in found:
        text = _told(item)
        if text:
            name = f"{clean(log.name)}: " if many else ""
            click.echo(f"{name}{item.line.time or '-':14} {text}", err=True)


def _told(item: Hit | Noticed) -> str:
    if isinstance(item, Noticed):
        notice = item.notice
        return (
            "" if notice.weight == "benign" else f"{notice.weight} {notice.code} {notice.message.en}".replace("  ", " ")
        )
    event = item.pattern.event
    if event in TITLES:
        return f"{TITLES[event]}: {masked(item.line.text[item.line.start or 0 :])[:200]}"
    tell: dict[str, Callable[[Hit], str]] = {
        "connector": lambda hit: masked(hit.line.text[hit.line.start or 0 :])[:200],
        "scheduler": lambda hit: f"scheduler {hit.match['cls'][:120]}",
        "ready": lambda _: "the engine is ready",
        "died": lambda _: "the engine ended",
    }
    return tell[event](item) if event in tell else ""
