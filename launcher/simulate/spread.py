"""Workloads by distribution: ``requests=1000,prompt=lognormal(6,1),output=50-200,rate=2``."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from random import Random

from pd_launch.launcher.simulate.workload import Workload, WorkloadError
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.units import counted
from pd_launch.schemas.sim.work import Job

KEYS = ("requests", "prompt", "output", "rate", "concurrency", "common", "priority")
MOST = 10_000_000
_PAIR = lazy_pattern(r"(?P<low>\d{1,9})-(?P<high>\d{1,9})")
_SHAPE = lazy_pattern(r"(?P<name>lognormal|normal)\((?P<a>[0-9.]{1,20})[,;](?P<b>[0-9.]{1,20})\)")
_KEY = lazy_pattern(r"(?:^|,)\s{0,9}(?P<key>[a-z]{1,20})\s{0,9}=")
LARGEST = 1_000_000_000

Draw = Callable[[Random], int]


def from_spread(text: str, seed: int) -> Workload:
    """Return the workload that a list of ``key=value`` describes.

    Raises:
        WorkloadError: a key or a value cannot be used.
    """
    given = _split(text)
    for name in ("requests", "prompt", "output"):
        if name not in given:
            raise WorkloadError(f"the workload lacks {name}=: write requests=1000,prompt=500-1500,output=200,rate=4")
    if "rate" in given and "concurrency" in given:
        raise WorkloadError(
            "rate= and concurrency= cannot be combined: requests come by time, or one for each answered"
        )
    count = _whole("requests", given["requests"])
    random = Random(seed)
    prompt, output = _draw("prompt", given["prompt"]), _draw("output", given["output"])
    common = _whole("common", given["common"], 0) if "common" in given else 0
    rate = _number("rate", given["rate"]) if "rate" in given else None
    jobs, now = [], 0.0
    for _ in range(count):
        length = prompt(random)
        shared = min(common, length)
        jobs.append(Job(now, length, output(random), 0, (0,) if shared else (), common))
        if rate is not None:
            now += random.expovariate(rate)
    clients = _whole("concurrency", given["concurrency"]) if "concurrency" in given else None
    return Workload(
        tuple(jobs), clients, f"{counted(count, 'request')}, prompt {given['prompt']}, output {given['output']}"
    )


def _split(text: str) -> dict[str, str]:
    found = list(_KEY.finditer(text))
    if not found or found[0].start() != 0:
        raise WorkloadError(f"{text[:60]!r} is neither a file nor requests=…,prompt=…,output=…")
    ends = [match.start() for match in found[1:]] + [len(text)]
    given: dict[str, str] = {}
    for match, end in zip(found, ends, strict=True):
        key = match["key"]
        if key not in KEYS:
            raise WorkloadError(f"the workload has the unknown key {key}=; known are {', '.join(KEYS)}")
        if key in given:
            raise WorkloadError(f"the workload says {key}= twice")
        given[key] = text[match.end() : end].strip()
    if "priority" in given:
        raise WorkloadError("priorities are read from traces only (the field priority of a JSON line)")
    return given


def _whole(name: str, text: str, least: int = 1) -> int:
    if not re.fullmatch(r"\d{1,9}", text) or not least <= int(text) <= MOST:
        raise WorkloadError(f"{name}={text[:40]}: write a whole number from {least} to {MOST}")
    return int(text)


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value <= 0:
        raise WorkloadError(f"{name}={text[:40]}: write a number above 0 (requests per second)")
    return value


def _draw(name: str, text: str) -> Draw:
    """Return what draws a length: a number, a range, or a distribution in tokens."""
    if text.isdecimal():
        fixed = _whole(name, text)
        return lambda random: fixed
    if pair := _PAIR.fullmatch(text):
        low, high = int(pair["low"]), int(pair["high"])
        if not 1 <= low <= high:
            raise WorkloadError(f"{name}={text}: a range goes from a smaller number, at least 1, to a larger one")
        return lambda random: random.randint(low, high)
    if shape := _SHAPE.fullmatch(text.replace(" ", "")):
        a, b = _number(name, shape["a"]), _number(name, shape["b"])
        if shape["name"] == "normal":
            return lambda random: max(1, round(random.gauss(a, b)))
        if a + 8 * b > math.log(LARGEST):
            raise WorkloadError(
                f"{name}={text[:40]}: lognormal takes the mean and the deviation of the logarithm, such as "
                "lognormal(6.5,0.8) for a median of 665 tokens"
            )
        return lambda random: max(1, round(random.lognormvariate(a, b)))
    raise WorkloadError(f"{name}={text[:40]}: write N, LOW-HIGH, normal(MEAN,DEVIATION) or lognormal(M,S)")
