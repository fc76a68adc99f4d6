"""What a call of ``check`` is given, as batches: files that are read alike, under one configuration.

Named files form one deployment, unless ``--separate``; files of a folder are each checked alone, but for those that
``[[deployment]]`` of the configuration groups. What is checked alone has the configuration of its own folder, so that
what is said of it depends on no other file of the call.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from pathlib import Path

import click

from pd_launch.launcher.check.config import Config, ConfigError, find_config
from pd_launch.launcher.check.configured import NoSuchRule, configured
from pd_launch.launcher.check.run import Selection
from pd_launch.launcher.commands.common import codes, without_secrets
from pd_launch.launcher.commands.options.check import CheckOptions
from pd_launch.launcher.folders.configs import Configs
from pd_launch.launcher.folders.names import MAY_BE_LARGE, can_hold_an_engine
from pd_launch.launcher.inputs import MAX_FILE, STDIN, TooLarge, as_text, read_source
from pd_launch.launcher.rules.registry import unknown_codes
from pd_launch.launcher.sources.read import Inputs
from pd_launch.launcher.wording.width import clean
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.severity import Severity
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.values import SourceFile


@dataclass
class Batch:
    """Inputs that are read together, which rules count for them, and from which severity on they fail."""

    inputs: Inputs
    selection: Selection
    fail_on: Severity


@dataclass
class Given:
    """All that a call is given."""

    batches: list[Batch] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    missing: bool = False
    """Whether something could not be read: it is said, and does not stop the rest."""
    idle: list[str] = field(default_factory=list)
    """Named files that name no engine, where that is no mistake."""
    looked_at: int = 0
    """Files of the folders that no pattern leaves out."""
    skipped: dict[str, int] = field(default_factory=dict)
    """Why files of the folders were passed over, and how many."""
    target: Target | None = None
    """What ``--target`` says."""
    selection: Selection = field(default_factory=Selection)
    """What counts for what is in no file."""
    fail_on: Severity = "error"

    @property
    def paths(self) -> list[str]:
        """The files that were looked at, as a report lists them."""
        return [*(source.path for source in self.files), *self.idle]

    @property
    def files(self) -> list[SourceFile]:
        """The files that are checked, in order."""
        return [source for batch in self.batches for source in batch.inputs.files]


def nearest_config(path: Path) -> Config:
    """Return the configuration of a file or folder; one that cannot be used ends the command."""
    try:
        return find_config(path)
    except ConfigError as error:
        raise click.ClickException(clean(str(error))) from None


def gather(options: CheckOptions, config: Config, base: Inputs, paths: Sequence[str]) -> Given:
    """Read the files and walk the folders of a call. ``base`` has what all batches share, the command with it."""
    whole = _batch(options, config, base)
    given = Given(target=base.target, selection=whole.selection, fail_on=whole.fail_on)
    configs = Configs(config)
    seen: set[Path] = set()
    folders = [path for path in paths if path != "-" and is_folder(path)]
    named = _named(options, given, [path for path in paths if path not in folders], base, seen, configs)
    if named.files or base.command:
        given.batches += _split(options, configs, named) if base.separate else [_batch(options, config, named)]
    for folder in folders:
        given.folders.append(as_text(folder))
        _walk(folder, given, options, base, seen, configs)
    for path, reason in configs.faults:
        _say(given, path, reason)
    return given


def is_folder(path: str) -> bool:
    """Whether a path names a folder."""
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False


def _named(
    options: CheckOptions, given: Given, paths: Iterable[str], base: Inputs, seen: set[Path], configs: Configs
) -> Inputs:
    """Read the files that a call names; of one that is too large to be held there is only the name."""
    files, large = [], set()
    for path in paths:
        try:
            if path != "-" and _is_seen(path, seen):
                continue  # one file under two names
            if path != "-" and options.force_exclude and configs.leaves_out(path):
                continue
            source = read_source(path, max(MAX_FILE, base.max_size))
            is_idle = "\0" not in source.text and not can_hold_an_engine(source)
            is_idle = is_idle or _is_data(path, len(source.text), base)
        except TooLarge:
            source = SourceFile(STDIN if path == "-" else as_text(path), "")
            large.add(source.path)
            is_idle = _is_data(path, MAX_FILE, base)
        except click.ClickException as error:
            without_secrets(error).show()
            given.missing = True
            continue
        if is_idle and options.allow_no_engine and base.separate:
            given.idle.append(source.path)
        else:
            files.append(source)
    return replace(base, files=files, large=frozenset(large))


def _is_data(path: str, size: int, base: Inputs) -> bool:
    """Whether a file is too large for a configuration, and of a kind that holds data as well."""
    return size > base.max_size and not path.endswith(MAY_BE_LARGE)


def _is_seen(path: str, seen: set[Path]) -> bool:
    """Whether a file was given before, under this or another name; ``seen`` takes it in."""
    try:
        real = Path(path).resolve()
    except (OSError, RuntimeError, ValueError):  # a loop of links, a NUL: opening it says so
        return False
    before = len(seen)
    seen.add(real)
    return len(seen) == before


def _split(options: CheckOptions, configs: Configs, inputs: Inputs) -> list[Batch]:
    """Return the files that are checked alone, those of one configuration together."""
    by_config: dict[Path | None, tuple[Config, list[SourceFile]]] = {}
    for source in inputs.files:
        config = configs.of_file(source.path)
        by_config.setdefault(config.path, (config, []))[1].append(source)
    batches = [
        _batch(options, config, replace(inputs, files=files, command=[])) for config, files in by_config.values()
    ]
    if inputs.command:
        batches.insert(0, _batch(options, configs.first, replace(inputs, files=[])))
    return batches


def _walk(folder: str, given: Given, options: CheckOptions, base: Inputs, seen: set[Path], configs: Configs) -> None:
    from pd_launch.launcher.folders.walk import Walk

    walk = Walk(
        max(MAX_FILE, base.max_size), base.max_size, configs.exclude, lambda path: bool(configs.deployments(path))
    )
    alone: list[SourceFile] = []
    grouped: dict[tuple[Path | None, int], list[SourceFile]] = {}
    for source in walk.sources(folder):
        if _is_seen(source.path, seen):
            continue
        source.path = as_text(source.path)
        numbers = configs.deployments(source.path)
        for number in numbers:
            grouped.setdefault((configs.of_file(source.path).path, number), []).append(source)
        if not numbers:
            alone.append(source)
    quiet = replace(base, command=[], quiet=True, large=frozenset(walk.large))
    given.batches += _split(options, configs, replace(quiet, files=alone, separate=True))
    for files in grouped.values():
        config = configs.of_file(files[0].path)
        given.batches.append(_batch(options, config, replace(quiet, files=files, separate=False)))
    given.looked_at += walk.looked_at
    for reason, count in walk.skipped.items():
        given.skipped[reason] = given.skipped.get(reason, 0) + count
    for path, reason in walk.faults:
        _say(given, path, reason)


def _say(given: Given, path: str, reason: str) -> None:
    click.echo(f"Error: {clean(as_text(path))}: {clean(reason)}", err=True)
    given.missing = True


def _batch(options: CheckOptions, config: Config, inputs: Inputs) -> Batch:
    try:
        inputs, selection = configured(
            config, inputs, codes(options.select), codes(options.ignore), options.require_target
        )
    except NoSuchRule as error:
        raise click.UsageError(clean(str(error))) from None
    except ConfigError as error:
        raise click.ClickException(clean(str(error))) from None
    inputs = replace(inputs, quiet=inputs.quiet or options.allow_no_engine)
    return Batch(inputs, selection, options.fail_on or config.fail_on or "error")


def known_codes(where: str, words: Iterable[str]) -> None:
    """Refuse codes that no rule has: with only such ones nothing is checked, which would look like a clean result."""
    for word in unknown_codes(words):
        raise click.UsageError(f"{clean(f'{where} {word}')}: no rule has this code; pd-launch rules lists them")
