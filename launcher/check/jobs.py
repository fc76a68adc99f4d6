"""Many files that are deployments of their own, checked by several processes: the same findings in the same order."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from pd_launch.launcher import budget
from pd_launch.launcher.check.run import Checked, Selection, merged, run_checks
from pd_launch.launcher.check.unknowns import Blind, blind
from pd_launch.launcher.rules.registry import all_rules
from pd_launch.launcher.secrets.masking import Secrets, all_secrets, together
from pd_launch.launcher.sources.read import Inputs, read
from pd_launch.launcher.sources.release.targets import file_choices
from pd_launch.schemas.core.findings import Finding
from pd_launch.schemas.core.launch import Deployment
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.target import Choice
from pd_launch.schemas.core.values import SourceFile

if TYPE_CHECKING:
    from concurrent.futures import Future

MANY = 40
"""Files from which several processes are worth their start."""
_CHUNKS = 8
"""Pieces of work for each process: the last ones end at about the same time."""
_A_FILE = 0.1
"""Seconds of processor time that each file adds to what a check may take."""


@dataclass
class Outcome:
    """What a check found, and what its report shows beside it."""

    checked: Checked
    secrets: Secrets = field(default_factory=Secrets)
    engines: list[tuple[str, Choice]] = field(default_factory=list)
    """Files with what their engines were checked for, each once."""
    others: list[tuple[str, Choice]] = field(default_factory=list)
    """Files without an engine, with what would have been."""
    sources: dict[str, SourceFile] = field(default_factory=dict)
    empty: bool = False
    """Whether nothing was found to check."""
    blind: Blind = field(default_factory=Blind)
    """What could not be looked at, where that was asked for."""

    @property
    def choices(self) -> list[tuple[str, Choice]]:
        """What was checked for which release: engines, or where there is none at all, files."""
        return self.engines or self.others


@dataclass(frozen=True)
class _Task:
    inputs: Inputs
    selection: Selection
    lang: str
    blind: bool = False
    fixes: bool = True


_task: list[_Task] = []
"""What the processes do, which they take over from the one that starts them."""


def default_jobs(inputs: Inputs) -> int:
    """Return how many processes are worth it: one for each processor, where there are many files."""
    if not inputs.separate or inputs.command or len(inputs.files) < MANY:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_inputs(
    inputs: Inputs, selection: Selection, lang: str, jobs: int, blind: bool = False, fixes: bool = True
) -> Outcome:
    """Read and check inputs, with several processes where files are deployments of their own.

    ``blind`` asks for what could not be looked at. Without ``fixes`` no fix is tried, and findings have none.
    """
    task = _Task(inputs, selection, lang, blind, fixes)
    jobs = min(jobs, len(inputs.files))
    if jobs > 1 and inputs.separate and not inputs.command:
        outcome = _in_parallel(task, jobs)
        if inputs.quiet or not outcome.empty:
            return outcome
    return _checked(task)


def _checked(task: _Task) -> Outcome:
    files = len(task.inputs.files) if task.inputs.part is None else len(task.inputs.part)
    seconds = budget.SECONDS + _A_FILE * files
    with budget.limited(seconds):
        deployments = read(task.inputs)
    with budget.limited(seconds):
        checked = run_checks(deployments, task.selection, task.lang)
    checked.findings = _vetted(task, deployments, checked.findings)
    sources = {path: source for deployment in deployments for path, source in deployment.sources.items()}
    engines = file_choices(deployment for deployment in deployments if deployment.nodes)
    others = file_choices(deployment for deployment in deployments if not deployment.nodes)
    outcome = Outcome(checked, all_secrets(deployments), engines, others, sources, _is_empty(deployments))
    if task.blind:
        outcome.blind = blind(deployments, [rule for rule in all_rules().values() if task.selection.takes(rule)])
    return outcome


def _vetted(task: _Task, deployments: Sequence[Deployment], findings: list[Finding]) -> list[Finding]:
    """Return the findings with the fixes alone that would be made."""
    if not any(finding.fix for finding in findings):
        return findings
    if not task.fixes:
        return [replace(finding, fix=None) for finding in findings]
    from pd_launch.launcher.check.fix import vetted

    inputs = task.inputs
    if inputs.part is not None:
        files = inputs.unique()
        inputs = replace(inputs, files=[files[number] for number in inputs.part], part=None)
    return vetted(inputs, deployments, findings, task.lang)


def _is_empty(deployments: Iterable[Deployment]) -> bool:
    return not any(deployment.nodes or deployment.faults for deployment in deployments)


def _in_parallel(task: _Task, jobs: int) -> Outcome:
    import multiprocessing  # a call of one file does without
    from concurrent.futures import ProcessPoolExecutor

    all_rules()  # once, before there are several
    files = task.inputs.unique()
    size = max(1, len(files) // (jobs * _CHUNKS))
    parts = [range(start, min(start + size, len(files))) for start in range(0, len(files), size)]
    gc.freeze()  # what is shared is not looked through by each process, which would copy it
    sys.stdout.flush()
    sys.stderr.flush()
    _task.append(task)
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("fork"), _ignore_interrupts)
    try:
        outcomes = [_done(waiting, part) for part, waiting in [(part, pool.submit(_part, part)) for part in parts]]
    except BaseException:
        for process in multiprocessing.active_children():
            process.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        _task.pop()
    return put_together(outcomes, files)


def _done(waiting: Future[Outcome], part: range) -> Outcome:
    """Return what a process found; where one was killed, the rest is checked here, and nothing is left out."""
    from concurrent.futures.process import BrokenProcessPool

    try:
        return waiting.result()
    except BrokenProcessPool:
        return _part(part)


def _ignore_interrupts() -> None:
    """Leave Ctrl-C to the process that waits for this one: it ends all of them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _part(part: range) -> Outcome:
    task = _task[-1]
    outcome = _checked(replace(task, inputs=replace(task.inputs, part=part)))
    own = {source.path for source in task.inputs.files}
    outcome.sources = {path: source for path, source in outcome.sources.items() if path not in own}
    outcome.secrets = replace(outcome.secrets, sources=outcome.sources)
    outcome.checked.hits = []  # rules are no part of what a process hands over
    return outcome


def put_together(outcomes: Sequence[Outcome], files: Sequence[SourceFile]) -> Outcome:
    """Return the outcomes of several parts of a call as one; ``files`` are those that were given."""
    sources = {source.path: source for source in files}
    for outcome in outcomes:
        sources.update(outcome.sources)
    unseen = Blind()
    for outcome in outcomes:
        unseen.add(outcome.blind)
    return Outcome(
        merged([outcome.checked for outcome in outcomes]),
        together([outcome.secrets for outcome in outcomes], sources),
        list(dict.fromkeys(pair for outcome in outcomes for pair in outcome.engines)),
        list(dict.fromkeys(pair for outcome in outcomes for pair in outcome.others)),
        sources,
        all(outcome.empty for outcome in outcomes),
        unseen,
    )
