"""What is checked with an open file: itself, or what ``pd-launch.toml`` groups it with, as in a folder walk."""

from __future__ import annotations

import os
from dataclasses import field
from pathlib import Path

from pd_launch.launcher import unsaved
from pd_launch.launcher.check.baseline import Baseline, BaselineError
from pd_launch.launcher.check.config import Config, ConfigError, find_config
from pd_launch.launcher.check.configured import configured
from pd_launch.launcher.check.run import Selection
from pd_launch.launcher.folders.configs import Configs
from pd_launch.launcher.folders.names import can_name_an_engine, is_of_a_form, may_be_read
from pd_launch.launcher.folders.walk import Walk
from pd_launch.launcher.inputs import MAX_FILE
from pd_launch.launcher.lsp.model import Job, Settings
from pd_launch.launcher.sources.read import Inputs
from pd_launch.launcher.sources.text.limits import MAX_SIZE
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.values import SourceFile


class Refused(Exception):
    """Nothing is checked, as ``check`` would not either; the message is for the user."""


@dataclass
class Batch:
    """Files that are read together, and what counts for them."""

    inputs: Inputs
    selection: Selection
    baseline: Baseline | None = None


@dataclass
class Gathered:
    """All that is checked with a file."""

    batches: list[Batch] = field(default_factory=list)
    config: Config = field(default_factory=Config)
    notices: list[str] = field(default_factory=list)


class Gatherer:
    """Finds what belongs together. Which files of a folder do is kept until a job is to look afresh."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._listed: dict[str, dict[tuple[Path | None, int], list[tuple[str, int]]]] = {}

    def gather(self, job: Job) -> Gathered:
        """Return the batches of a job. The working folder becomes the job's: paths count from there.

        Raises:
            Refused: a configuration cannot be used.
        """
        if job.afresh:
            self._listed.clear()
        try:
            os.chdir(job.root)
        except OSError as error:
            raise Refused(f"{job.root}: {error.strerror}") from None
        unsaved.hold(job.texts)
        try:
            first = find_config(Path())
        except ConfigError as error:
            raise Refused(str(error)) from None
        configs = Configs(first)
        path = below(job.path, job.root)
        found = Gathered(config=configs.of_file(path))
        if not configs.leaves_out(path):
            groups = configs.deployments(path)
            sources = [] if groups else [s for s in [_alone(path)] if s is not None]
            if sources:
                found.batches.append(self._batch(found.config, sources, separate=True))
            for number in groups:
                members = self._members(configs, (found.config.path, number), path)
                found.batches.append(self._batch(found.config, members, separate=False))
        found.notices += [f"{file}: {reason}" for file, reason in configs.faults]
        return found

    def _members(self, configs: Configs, group: tuple[Path | None, int], path: str) -> list[SourceFile]:
        """Return the files of a deployment below the working folder, and the open one even if it is new."""
        walk = _walk(configs)
        listed = self._listed.get(root := str(Path.cwd()))
        if listed is None:
            listed = self._listed[root] = {}
            for file, size in walk.files("."):
                for number in configs.deployments(file):
                    listed.setdefault((configs.of_file(file).path, number), []).append((file, size))
        sources: dict[str, SourceFile] = {}
        for file, size in listed.get(group, ()):
            text = unsaved.text_of(file)
            source = SourceFile(file, text) if text is not None else walk.wanted(file, size)
            if source is not None:
                sources.setdefault(unsaved.real(file), source)
        text = unsaved.text_of(path)
        if text is not None:
            sources.setdefault(unsaved.real(path), SourceFile(path, text))
        return list(sources.values())

    def _batch(self, config: Config, files: list[SourceFile], separate: bool) -> Batch:
        given = Inputs(files, target=self._settings.target, separate=separate, quiet=True)
        try:
            inputs, selection = configured(config, given)
        except ConfigError as error:
            raise Refused(str(error)) from None
        return Batch(inputs, selection, _baseline(config))


def below(path: str, root: str) -> str:
    """Return a path as a walk of ``root`` would name it; an absolute one where it is not below."""
    for base in (root, os.path.realpath(root)):
        if path.startswith(base.rstrip("/") + "/"):
            return os.path.relpath(path, base)
    return path


def _alone(path: str) -> SourceFile | None:
    """Return an open file, where a folder walk would read it."""
    text = unsaved.text_of(path)
    if text is None or "\0" in text or not may_be_read(path.rpartition("/")[2]):
        return None
    if not can_name_an_engine(path, text.encode("utf-8", "replace")):
        return None
    source = SourceFile(path, text)
    return source if is_of_a_form(source) else None


def _walk(configs: Configs) -> Walk:
    return Walk(max(MAX_FILE, MAX_SIZE), MAX_SIZE, configs.exclude)


def _baseline(config: Config) -> Baseline | None:
    if config.baseline is None or config.path is None:
        return None
    try:
        return Baseline.read(config.path.parent / config.baseline)
    except BaselineError as error:
        raise Refused(str(error)) from None
