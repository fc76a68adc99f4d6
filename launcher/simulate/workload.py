"""Workloads from files: traces, results of benchmarks, and a saved /metrics page."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.units import counted
from pd_launch.schemas.sim.work import Job

MOONCAKE_CHUNK = 512
"""Tokens after each hash of a Mooncake trace."""


class WorkloadError(ValueError):
    """The workload cannot be read; the message says what it may look like."""


@dataclass(frozen=True)
class Workload:
    """Requests, and how they come.

    Attributes:
        jobs: in the order of their arrival; seconds from the first.
        concurrency: clients that each send the next request when the last is answered; None: at their own times.
        what: what it is, for people.
        notes: what of it is not played.
    """

    jobs: tuple[Job, ...]
    concurrency: int | None
    what: str
    notes: tuple[str, ...] = ()

    @property
    def is_timed(self) -> bool:
        """Whether times of arrival matter."""
        return self.concurrency is None and any(job.arrival > 0 for job in self.jobs)


def from_text(text: str, name: str) -> Workload:
    """Return the workload of a file's text; its form is told by its content.

    Raises:
        WorkloadError: it is of none of the forms, or holds no request.
    """
    start = text.lstrip("\ufeff \t\r\n")
    if not start:
        raise WorkloadError(f"{name} is empty")
    head = start.splitlines()[0]
    if start.startswith("{"):
        lines = _json_lines(start, name)
        found = _result(lines, name) or _trace(lines, name)
    elif "contexttokens" in head.lower():
        found = _azure(start, name)
    else:
        raise WorkloadError(
            f"{name} is not a workload: give JSON lines with arrival, prompt and output, a trace of Mooncake or "
            "Azure, a result of vllm bench serve or guidellm, or a saved /metrics page"
        )
    if not found.jobs:
        raise WorkloadError(f"{name} holds no request")
    return found


def _json_lines(text: str, name: str) -> list[dict[str, Any]]:
    """Return the objects of a file: one a line, or one over all lines."""
    try:
        whole = json.loads(text)
    except RecursionError:
        raise WorkloadError(f"{name} is nested too deep") from None
    except ValueError:
        pass
    else:
        if not isinstance(whole, dict):
            raise WorkloadError(f"{name} holds no JSON object")
        return [whole]
    out = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise WorkloadError(f"{name}:{number}: not a JSON object: {str(error)[:80]}") from None
        if not isinstance(entry, dict):
            raise WorkloadError(f"{name}:{number}: not a JSON object")
        out.append(entry)
    return out


def _result(lines: list[dict[str, Any]], name: str) -> Workload | None:
    first = lines[-1]
    if "benchmarks" in first:
        return _guidellm(first, name)
    if "total_input_tokens" in first and "completed" in first:
        return _vllm_bench(first, name)
    return None


def _trace(lines: list[dict[str, Any]], name: str) -> Workload:
    """JSON lines: our own, or Mooncake's."""
    mooncake = "input_length" in lines[0]
    keys = ("timestamp", "input_length", "output_length") if mooncake else ("arrival", "prompt", "output")
    jobs, unread = [], sorted({key for line in lines for key in line} - {*keys, "hash_ids", "priority"})
    for number, line in enumerate(lines, 1):
        where = f"{name}:{number}"
        arrival = _seconds(line.get(keys[0], 0), where, keys[0]) / (1000 if mooncake else 1)
        prompt, output = (_tokens(line.get(key), where, key) for key in keys[1:])
        hashes = line.get("hash_ids") or ()
        if not isinstance(hashes, (list, tuple)) or not all(isinstance(h, (int, str)) for h in hashes):
            raise WorkloadError(f"{where}: hash_ids is not a list of numbers")
        priority = line.get("priority", 0)
        if not isinstance(priority, int) or isinstance(priority, bool):
            raise WorkloadError(f"{where}: priority is not a whole number")
        if output == 0:
            continue
        jobs.append(Job(arrival, prompt, output, priority, tuple(hashes), MOONCAKE_CHUNK if hashes else 0))
    notes = [f"fields of the trace that say nothing here: {', '.join(unread[:8])}"] if unread else []
    what = "Mooncake's trace" if mooncake else "a trace"
    return _made(jobs, None, f"{what}, {counted(len(jobs), 'request')}", notes)


def _azure(text: str, name: str) -> Workload:
    rows = csv.DictReader(io.StringIO(text))
    names = {(key or "").strip().lower(): key for key in rows.fieldnames or ()}
    need = ("timestamp", "contexttokens", "generatedtokens")
    if any(key not in names for key in need):
        raise WorkloadError(f"{name}: a trace of Azure has the columns TIMESTAMP, ContextTokens and GeneratedTokens")
    jobs = []
    for number, row in enumerate(rows, 2):
        where = f"{name}:{number}"
        prompt, output = (_tokens(_integer(row[names[key]]), where, key) for key in need[1:])
        if output:
            jobs.append(Job(_moment(row[names[need[0]]], where), prompt, output))
    return _made(jobs, None, f"Azure's trace, {counted(len(jobs), 'request')}", [])


def _vllm_bench(result: dict[str, Any], name: str) -> Workload:
    """A result of ``vllm bench serve``: lengths of each request where it was saved with --save-detailed."""
    clients = result.get("max_concurrency")
    concurrency = clients if isinstance(clients, int) and not isinstance(clients, bool) and clients > 0 else None
    prompts, outputs, starts = (result.get(key) for key in ("input_lens", "output_lens", "start_times"))
    notes = []
    if isinstance(prompts, list) and isinstance(outputs, list) and len(prompts) == len(outputs):
        times = starts if isinstance(starts, list) and len(starts) == len(prompts) else [0] * len(prompts)
        lengths = [
            (_seconds(start, name, "start_times"), _tokens(p, name, "input_lens"), _tokens(o, name, "output_lens"))
            for start, p, o in zip(times, prompts, outputs, strict=True)
        ]
    else:
        count = _tokens(result.get("completed"), name, "completed")
        prompt = _tokens(result.get("total_input_tokens"), name, "total_input_tokens") // max(1, count)
        output = _tokens(result.get("total_output_tokens"), name, "total_output_tokens") // max(1, count)
        lengths = [(0.0, max(1, prompt), max(1, output))] * count
        starts = None
        notes.append("the lengths of single requests, which the result has only with --save-detailed: all are the mean")
    jobs = [Job(start, prompt, output) for start, prompt, output in lengths if prompt and output]
    if len(jobs) < len(lengths):
        notes.append(f"{counted(len(lengths) - len(jobs), 'request')} that got no answer")
    rate = result.get("request_rate")
    if concurrency is None and not starts and isinstance(rate, (int, float)) and math.isfinite(rate) and rate > 0:
        jobs = [Job(n / rate, job.prompt, job.output) for n, job in enumerate(jobs)]
        notes.append(f"the times of arrival: one every {1 / rate:.3g} s, as the rate says")
    return _made(jobs, concurrency, f"vllm bench serve, {counted(len(jobs), 'request')}", notes)


def _guidellm(result: dict[str, Any], name: str) -> Workload:
    """A result of guidellm: the requests of its first benchmark that were answered."""
    benchmarks = result["benchmarks"]
    first = benchmarks[0] if isinstance(benchmarks, list) and benchmarks else None
    requests = first.get("requests") if isinstance(first, dict) else None
    done = requests.get("successful", requests.get("completed")) if isinstance(requests, dict) else requests
    if not isinstance(done, list):
        raise WorkloadError(f"{name}: this result of guidellm has no list of requests; save it as JSON, not truncated")
    jobs, timed = [], True
    for entry in done:
        if not isinstance(entry, dict):
            raise WorkloadError(f"{name}: a request of this result is not an object")
        prompt = _first(entry, "prompt_tokens", "input_tokens", "prompt_tokens_count")
        output = _first(entry, "output_tokens", "completion_tokens")
        prompt = _tokens(_metric(entry, "input_metrics") if prompt is None else prompt, name, "prompt_tokens")
        output = _tokens(_metric(entry, "output_metrics") if output is None else output, name, "output_tokens")
        start = _first(entry, "request_start_time", "start_time", "request_start")
        timed &= start is not None
        if prompt and output:
            jobs.append(Job(_seconds(start or 0, name, "start_time"), prompt, output))
    notes = [] if timed else ["the times of arrival, which the result lacks: all come at once"]
    if isinstance(benchmarks, list) and len(benchmarks) > 1:
        notes.append(f"{counted(len(benchmarks) - 1, 'further benchmark')} of the result: the first is played")
    return _made(
        jobs if timed else [Job(0, j.prompt, j.output) for j in jobs],
        None,
        f"guidellm, {counted(len(jobs), 'request')}",
        notes,
    )


def _first(entry: dict[str, Any], *keys: str) -> Any:
    """Return the first of the keys that the entry has, also up to two levels down."""
    inner = [value for value in entry.values() if isinstance(value, dict)]
    inner += [value for each in inner for value in each.values() if isinstance(value, dict)]
    return next((e[key] for e in (entry, *inner) for key in keys if e.get(key) is not None), None)


def _metric(entry: dict[str, Any], side: str) -> Any:
    """Return the tokens of one side of a request, as newer results group them."""
    metrics = entry.get(side)
    return _first(metrics, "total_tokens", "text_tokens") if isinstance(metrics, dict) else None


def _made(jobs: Iterable[Job], concurrency: int | None, what: str, notes: list[str]) -> Workload:
    listed = sorted(jobs, key=lambda job: job.arrival)
    begin = listed[0].arrival if listed else 0.0
    moved = tuple(_moved(job, begin) for job in listed)
    return Workload(moved, concurrency, what, tuple(notes))


def _moved(job: Job, begin: float) -> Job:
    return Job(job.arrival - begin, job.prompt, job.output, job.priority, job.prefix, job.chunk)


def arranged(workload: Workload, concurrency: int | None, rate: float | None, at: Callable[[], float]) -> Workload:
    """Return the workload with other arrivals: by so many clients, or so many a second; ``at`` draws a gap."""
    if concurrency is not None:
        return Workload(workload.jobs, concurrency, workload.what, workload.notes)
    if rate is None:
        return workload
    jobs, now = [], 0.0
    for job in workload.jobs:
        jobs.append(Job(now, job.prompt, job.output, job.priority, job.prefix, job.chunk))
        now += at()
    return Workload(tuple(jobs), None, workload.what, workload.notes)


def _integer(text: str | None) -> int | None:
    stripped = (text or "").strip()
    return int(stripped) if stripped.isdecimal() and len(stripped) < 12 else None


def _tokens(value: object, where: str, key: str) -> int:
    if value is None:
        raise WorkloadError(f"{where}: {key} is missing")
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 10**9:
        raise WorkloadError(f"{where}: {key} is {str(value)[:40]!r}, not a number of tokens")
    return value


def _seconds(value: object, where: str, key: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise WorkloadError(f"{where}: {key} is {str(value)[:40]!r}, not a time")
    return float(value)


def _moment(text: str | None, where: str) -> float:
    """Return a time of Azure's form, which has more digits than Python reads in older releases."""
    stripped = (text or "").strip().replace("Z", "")
    head, _, fraction = stripped.partition(".")
    try:
        digits = fraction[:9].split("+")[0]
        return datetime.fromisoformat(head).timestamp() + (float(f"0.{digits}") if digits.isdecimal() else 0.0)
    except ValueError:
        raise WorkloadError(
            f"{where}: TIMESTAMP is {stripped[:40]!r}, not a time such as 2023-11-16 18:17:03"
        ) from None
