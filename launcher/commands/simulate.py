"""``pd-launch simulate``."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import click

from pd_launch.launcher.commands.common import NO_MATPLOTLIB, keep_inputs, parse_target_option, write
from pd_launch.launcher.commands.options.simulate import SimulateOptions
from pd_launch.launcher.inputs import LOG, GivenFolder, read_profile, read_source
from pd_launch.launcher.opening import open_input
from pd_launch.launcher.simulate import metrics
from pd_launch.launcher.simulate.answer import Case, answered
from pd_launch.launcher.simulate.engine import sized
from pd_launch.launcher.simulate.loglines import LogSize, read_log
from pd_launch.launcher.simulate.report import Row, report
from pd_launch.launcher.simulate.show import page
from pd_launch.launcher.simulate.sized import Given, Sized
from pd_launch.launcher.simulate.spread import from_spread
from pd_launch.launcher.simulate.workload import Workload, WorkloadError, arranged, from_text
from pd_launch.launcher.sources.profiles.shipped import ProfileNotFound, find_profile
from pd_launch.launcher.sources.read import Inputs, read
from pd_launch.launcher.sources.shell.unavailable import ShellUnavailable
from pd_launch.launcher.status.lengths import lengths_page
from pd_launch.launcher.status.record import BadRecord, is_record, read_record
from pd_launch.launcher.wording.language import locale_language
from pd_launch.launcher.wording.width import clean
from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.target import Target, TargetError, newest, parse_target
from pd_launch.schemas.core.units import SizeError, parse_size
from pd_launch.schemas.engine.budget import host_blocks
from pd_launch.schemas.engine.offload import offloads
from pd_launch.schemas.sim.play import StepTime
from pd_launch.schemas.sim.shape import SimulationError
from pd_launch.schemas.simulation import StepTimeReport

MOST_WORKLOAD = 1 << 30
SPREAD = lazy_pattern(r"\s{0,9}[a-z]{1,20}\s{0,9}=")
BLOCKS = lazy_pattern(r"(\d{1,12}) ?blocks?")
OVER = ("max-num-seqs", "max-num-batched-tokens", "blocks", "watermark", "concurrency", "rate")
PATIENCE = 2.0
"""Seconds between lines of progress."""
_ERRORS = (SimulationError, WorkloadError)


@dataclass(frozen=True)
class _Asked:
    """The call, read."""

    given: Given
    node: NodeLaunch | None
    log: LogSize | None
    target: Target
    workload: Workload
    times: StepTime | None
    step_time: StepTimeReport | None
    budgets: tuple[str, ...]
    options: dict[str, Any]


def simulate_command(given: SimulateOptions) -> int:
    """Play the workload and say what it does."""
    options = vars(given)
    lang = options["lang"] or locale_language()
    files = list(options["files"])
    keep_inputs(options["png"], [*files, options["profile"], options["workload"], options["log"]], "--png")
    try:
        asked, found = _prepared(options, files)
        case = _case(asked, found)
        answer = answered(case, _budgets(asked, found), _Progress(options["progress"]))
        name, rows = _over(asked, options["over"]) if answer.complete else (None, [])
    except _ERRORS as error:
        raise click.ClickException(clean(str(error))) from None
    simulation = report(
        found, case, answer, seed=options["seed"], lang=lang, step_time=asked.step_time, over=name, rows=rows
    )
    if options["png"] is not None:
        _draw(options["png"], simulation)
    if options["form"] == "json":
        write(simulation.model_dump_json(indent=2, by_alias=True) + "\n")
    else:
        write(clean_page(page(simulation, lang, options["plot"])))
    return 0


def _prepared(options: dict[str, Any], files: Sequence[str]) -> tuple[_Asked, Sized]:
    """Read the input. An interruption here is told: there is nothing to show yet."""
    try:
        asked = _read(options, files)
        return asked, sized(asked.given, asked.node, asked.log, asked.target)
    except KeyboardInterrupt:
        click.echo("pd-launch: interrupted while reading the input: nothing was simulated", err=True)
        raise


def clean_page(text: str) -> str:
    """Return a page without control characters that came with names of files."""
    return "\n".join(clean(line) for line in text.split("\n"))


def _read(options: dict[str, Any], files: Sequence[str]) -> _Asked:
    log = _log(options["log"])
    asked = parse_target_option(options["target"])
    node, decided = _node(options["profile"], files, asked)
    if asked is None and log is not None and log.version is not None:
        decided = _version(log.version) or decided
    target = decided or newest(False)
    given = Given(
        **{name: options[name] for name in _PLAIN},
        memory=_size("--memory", options["memory"]),
        bytes_per_block=_size("--bytes-per-block", options["bytes_per_block"]),
        priority=None if options["scheduling_policy"] is None else options["scheduling_policy"] == "priority",
    )
    times, said = _times(options["step_time"], log)
    budgets = tuple(part.strip() for part in (options["budget"] or "").split(",") if part.strip())
    return _Asked(given, node, log, target, _workload(options), times, said, budgets, options)


_PLAIN = (
    "blocks",
    "block_size",
    "max_num_seqs",
    "max_num_batched_tokens",
    "max_model_len",
    "watermark",
    "prefix_caching",
    "async_scheduling",
    "arrival_steps",
    "draft_tokens",
    "acceptance",
    "seed",
)


def _node(profile: str | None, files: Sequence[str], target: Target | None) -> tuple[NodeLaunch | None, Target | None]:
    """Return the first engine of a profile or of files that decodes, and the release that it is for."""
    if profile is not None and files:
        raise click.UsageError("give --profile or files, not both")
    if profile is None and not files:
        return None, target
    try:
        sources = [read_profile(str(find_profile(profile)))] if profile is not None else [read_source(f) for f in files]
        deployments = read(Inputs(sources, target=target))
    except (ProfileNotFound, ShellUnavailable) as error:
        raise click.ClickException(clean(str(error))) from None
    nodes = [(node, deployment) for deployment in deployments for node in deployment.nodes]
    if not nodes:
        faults = [fault for deployment in deployments for fault in deployment.faults]
        where = f": {faults[0].origin.file}:{faults[0].origin.line}: {faults[0].detail.en}" if faults else ""
        raise click.ClickException(clean(f"no engine was found there{where}"))
    node, deployment = min(nodes, key=lambda pair: (not offloads(pair[0]), pair[0].side == "prefill"))
    return node, target or deployment.target


def _version(text: str) -> Target | None:
    try:
        return parse_target(f"vllm=={text}")
    except TargetError:
        return None


def _log(path: str | None) -> LogSize | None:
    if path is None:
        return None
    try:
        with open_input(path) as stream:
            return read_log(stream)
    except IsADirectoryError:
        raise GivenFolder(path, LOG) from None
    except OSError as error:
        raise click.ClickException(f"{clean(path)}: {error.strerror or error}") from None


def _size(option: str, text: str | None) -> int | None:
    if text is None:
        return None
    try:
        size = parse_size(text)
    except SizeError as error:
        raise click.BadParameter(str(error), param_hint=option) from None
    if size == 0:
        raise click.BadParameter("must be more than 0", param_hint=option)
    return size


def _times(text: str | None, log: LogSize | None) -> tuple[StepTime | None, StepTimeReport | None]:
    if text is not None:
        parts = text.split(",")
        try:
            numbers = [float(part) for part in parts]
        except ValueError:
            numbers = []
        if not 1 <= len(numbers) <= 2 or not all(0 <= n < 1e6 for n in numbers) or numbers[0] == 0:
            raise click.BadParameter("write BASE or BASE,PER_TOKEN in seconds", param_hint="--step-time")
        times = StepTime(numbers[0], numbers[1] if len(numbers) > 1 else 0.0)
        return times, StepTimeReport(base=times.base, per_token=times.per_token, source="given", missed=None)
    fitted = log.step_time() if log is not None else None
    if fitted is None:
        return None, None
    times, missed = fitted
    return times, StepTimeReport(base=times.base, per_token=times.per_token, source="log", missed=round(missed, 4))


def _workload(options: dict[str, Any]) -> Workload:
    text, seed = options["workload"], options["seed"]
    concurrency, rate = options["concurrency"], options["rate"]
    if concurrency is not None and rate is not None:
        raise click.UsageError("--concurrency and --rate cannot be combined")
    if SPREAD.match(text) and not Path(text).exists():
        found = from_spread(text, seed)
    else:
        source = _recorded(text) if is_record(text) else read_source(text, MOST_WORKLOAD).text
        if metrics.is_page(source):
            found = metrics.from_page(source, text, seed, options["requests"])
        else:
            found = from_text(source, text)
    if options["requests"] is not None and options["requests"] < len(found.jobs):
        found = replace(found, jobs=found.jobs[: options["requests"]])
    return _arranged(found, concurrency, rate, seed)


def _recorded(path: str) -> str:
    """Return the page of metrics that a record of ``status`` amounts to."""
    try:
        found = lengths_page(read_record(path))
    except (BadRecord, OSError) as error:
        raise click.ClickException(f"{clean(path)}: {error}") from None
    if not found:
        raise click.ClickException(f"{clean(path)}: no request of a decode engine ended in this record")
    return found


def _arranged(found: Workload, concurrency: int | None, rate: float | None, seed: int) -> Workload:
    random = Random(seed)
    return arranged(found, concurrency, rate, lambda: random.expovariate(rate or 1.0))


def _case(asked: _Asked, found: Sized) -> Case:
    options = asked.options
    return Case(
        found.engine,
        asked.workload,
        asked.times,
        options["dp"] or 1,
        options["router"],
        found.async_from,
        found.share,
        found.whole,
    )


def _budgets(asked: _Asked, found: Sized) -> list[int]:
    """Return the budgets to try: those of the call, else the launch's own."""
    if asked.budgets or not found.budget or not found.block_bytes:
        return list(dict.fromkeys(_budget(text, found) for text in asked.budgets))
    own = host_blocks(found.budget, found.block_bytes)
    return [own] if own else []


def _budget(text: str, found: Sized) -> int:
    """Return a budget in host blocks per rank."""
    if match := BLOCKS.fullmatch(text):
        blocks = int(match[1])
    else:
        size = _size("--budget", text) or 0
        if found.block_bytes is None:
            raise SimulationError(
                f"how many blocks {text} holds is not known, as the model is not: write --budget 3000blocks, or give "
                "--bytes-per-block"
            )
        blocks = host_blocks(size, found.block_bytes)
    if blocks < 1:
        raise SimulationError(f"--budget {text} holds no block")
    return blocks


def _over(asked: _Asked, over: str | None) -> tuple[str | None, list[Row]]:
    """Play the case for each choice."""
    if over is None:
        return None, []
    name, sign, listed = over.partition("=")
    name = name.strip().lstrip("-").replace("_", "-")
    values = [value.strip() for value in listed.split(",") if value.strip()]
    if not sign or name not in OVER or not values:
        raise click.BadParameter(f"write NAME=VALUE,VALUE,… with one of {', '.join(OVER)}", param_hint="--over")
    rows: list[Row] = []
    for value in values:
        changed = _changed(asked, name, value)
        progress = _Progress(asked.options["progress"])
        try:
            found = sized(changed.given, changed.node, changed.log, changed.target)
            answer = answered(_case(changed, found), [], progress, others=False)
        except _ERRORS as error:
            rows.append((value, clean(str(error))))
            continue
        rows.append((value, answer))
        if not answer.complete:
            break
    return name, rows


def _changed(asked: _Asked, name: str, value: str) -> _Asked:
    number = float(value) if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", value) else -1.0
    if name in ("watermark", "rate"):
        if number < 0 or (name == "watermark" and number >= 1) or (name == "rate" and number == 0):
            raise click.BadParameter(f"{name} cannot be {value}", param_hint="--over")
        if name == "watermark":
            return replace(asked, given=replace(asked.given, watermark=number))
        return replace(asked, workload=_arranged(asked.workload, None, number, asked.options["seed"]))
    if number < 1 or not number.is_integer():
        raise click.BadParameter(f"{name} is a whole number above 0, not {value}", param_hint="--over")
    if name == "concurrency":
        return replace(asked, workload=_arranged(asked.workload, int(number), None, 0))
    changes: dict[str, Any] = {name.replace("-", "_"): int(number)}
    return replace(asked, given=replace(asked.given, **changes))


def _draw(path: str, simulation: Any) -> None:
    try:
        from pd_launch.launcher.simulate.png import draw
    except ImportError:
        raise click.ClickException(NO_MATPLOTLIB) from None
    try:
        draw(Path(path), simulation)
    except OSError as error:
        raise click.ClickException(f"{clean(path)}: {error.strerror or error}") from None
    except ValueError as error:
        raise click.ClickException(f"{clean(path)}: {clean(str(error))}") from None


class _Progress:
    """Says on standard error how far a long run is."""

    def __init__(self, wish: bool | None) -> None:
        self._on = sys.stderr.isatty() if wish is None else wish
        self._last = time.monotonic()

    def __call__(self, what: str, done: int, total: int) -> None:
        """Say it, if the last time is a while ago."""
        now = time.monotonic()
        if self._on and now - self._last >= PATIENCE:
            self._last = now
            click.echo(f"pd-launch: {what}: {done:,} of {total:,} requests answered", err=True)
