#!/usr/bin/env python3
"""A real prefill/decode pair on this machine's CPU, pressed until the decode node preempts, and what became of it.

usage: demo.py             with the bundled connector, and beside it a control without: identical, nothing recomputed
       demo.py --control   with a connector that restores blocks in reversed order: must NOT be identical

Both engines are started by ``pd-launch prefill|decode --profile cpu-tiny``. The step counter of bench/ rides along as
one more connector. Exit status: 0 if the figures are as they must be, 1 if not or if an engine failed, 130 if
interrupted.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from demo_engines import DemoError, Engine, free_ports, interrupts, wait_until_healthy
from demo_traffic import (
    OUTPUT_TOKENS,
    PROMPT_TOKENS,
    REQUESTS,
    Tokens,
    answer_alone,
    answer_by_pair,
    metrics,
    preemption_seconds,
    prompts,
    scheduled_tokens,
)

from pd_launch.launcher.cache import cache_root

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = [sys.executable, "-m", "pd_launch"]
PROFILE = "cpu-tiny"
OURS = "pd_launch.connector"
REVERSED = "bench.reversed_restore"
LEAST_PREEMPTED = 3
KEPT_RUNS = 5
HAND_OVER_TRIES = 3
BURSTS = 3
START = time.monotonic()


def tell(text: str) -> None:
    """Print one line of progress on standard error."""
    print(f"demo {time.monotonic() - START:4.0f} s  {text}", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Figures:
    """What one burst did to one decode engine. Counts are requests, bytes or tokens.

    ``lost`` are the seconds by which the decode engine's steps with preemptions in them were longer than the others.
    """

    requests: int
    preempted: int
    parked: int
    restored: int
    fallen_back: int
    bytes_to_host: int
    bytes_to_device: int
    recomputed: int
    identical: bool
    lost: float


def run_folder() -> pathlib.Path:
    """Make a folder for this run's logs in the cache, and remove those of all but the last few runs."""
    runs = cache_root() / "demo"
    folder = runs / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    folder.mkdir(parents=True)
    for old in sorted(runs.iterdir())[:-KEPT_RUNS]:
        shutil.rmtree(old, ignore_errors=True)
    return folder


def rendered_transfer_config() -> dict[str, Any]:
    """Return the decode side's --kv-transfer-config as the profile renders it."""
    done = subprocess.run(
        [*PROGRAM, "decode", "--profile", PROFILE, "--dry-run", "--format", "json"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        config = json.loads(done.stdout)["kv_transfer_config"]
        config["kv_connector_extra_config"]["connectors"]
    except (ValueError, KeyError, TypeError):
        raise DemoError(f"the dry run of profile {PROFILE} gave no plan:\n{done.stderr or done.stdout}") from None
    return dict(config)


def counted(config: dict[str, Any], module: str | None, counter: pathlib.Path) -> dict[str, Any]:
    """Return a decode side's ``config`` with the step counter added and our connector's module replaced by ``module``.

    Without ``module`` our connector is left out: the decode engine then recomputes what it preempts.
    """
    config = copy.deepcopy(config)
    children = config["kv_connector_extra_config"]["connectors"]
    if not any(child.get("kv_connector_module_path") == OURS for child in children):
        raise DemoError(f"profile {PROFILE} renders no connector of {OURS}")
    kept = []
    for child in children:
        if child.get("kv_connector_module_path") == OURS:
            if module is None:
                continue
            child["kv_connector_module_path"] = module
        kept.append(child)
    kept.append(
        {
            "kv_connector": "StepCounter",
            "kv_connector_module_path": "bench.step_counter",
            "kv_role": config["kv_role"],
            "kv_connector_extra_config": {"file": str(counter)},
        }
    )
    config["kv_connector_extra_config"]["connectors"] = kept
    return config


@contextmanager
def engine(name: str, side: str, folder: pathlib.Path, *extra: str) -> Iterator[Engine]:
    """Run ``pd-launch SIDE --profile cpu-tiny`` on free ports, with ``extra`` arguments for ``vllm serve``."""
    port, side_channel = free_ports(2)
    command = [*PROGRAM, side, "--profile", PROFILE]
    command += ["--set", f"{side}.port={port}", "--set", f"{side}.env.VLLM_NIXL_SIDE_CHANNEL_PORT={side_channel}"]
    command += ["--", *extra] if extra else []
    tell(f"starting the {name} engine on port {port}, log {folder / name}.log")
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    with Engine(name, command, {"PYTHONPATH": path}, port, folder / f"{name}.log") as started:
        yield started
        tell(f"stopping the {name} engine")


def first_hand_over(prefill: Engine, decode: Engine, counter: pathlib.Path, prompt: Tokens) -> int:
    """Send one request through the pair, and return how many tokens the decode engine has scheduled after it.

    Without pressure the decode engine schedules one token per token of the answer: the first comes from the last token
    of the prompt, whose other tokens arrive as KV. That is the least which it can need, and this request shows it.
    """
    for left in reversed(range(HAND_OVER_TRIES)):
        before = scheduled_tokens(counter)
        try:
            answer_by_pair(prefill, decode, [prompt])
            break
        except DemoError:
            # The engines' first handshake has five seconds, not always enough on a busy machine of two cores.
            if not left:
                raise
            tell("the first hand-over failed; once more")
    after = scheduled_tokens(counter)
    if after - before != OUTPUT_TOKENS:
        raise DemoError(f"{after - before} tokens scheduled for {OUTPUT_TOKENS} without preemption: no fair count")
    return after


def burst(prefill: Engine, decode: Engine, counter: pathlib.Path, reference: list[Tokens]) -> Figures:
    """Send the burst through a pair and return what the decode engine and its connectors counted."""
    work = prompts()
    before = first_hand_over(prefill, decode, counter, work[0])
    prompt = f"{PROMPT_TOKENS[0]} to {PROMPT_TOKENS[-1]}"
    tell(f"{REQUESTS} requests of {prompt} + {OUTPUT_TOKENS} tokens through prefill and {decode.name}")
    answers: list[Tokens] = []
    lost_before = preemption_seconds(counter)
    for left in reversed(range(BURSTS)):
        answers += answer_by_pair(prefill, decode, work)
        seen = settled(decode)
        if seen["vllm:num_preemptions_total"] >= LEAST_PREEMPTED or not left:
            break
        # Requests that a busy machine lets arrive one after the other press less.
        tell(f"only {seen['vllm:num_preemptions_total']} preempted; the same requests once more")
    return Figures(
        requests=len(answers),
        preempted=seen["vllm:num_preemptions_total"],
        parked=seen["pd_launch:preempt_offload_parked_total"],
        restored=seen["pd_launch:preempt_offload_restored_total"],
        fallen_back=seen["pd_launch:preempt_offload_fallback_total"],
        bytes_to_host=seen["pd_launch:preempt_offload_saved_bytes_total"],
        bytes_to_device=seen["pd_launch:preempt_offload_restored_bytes_total"],
        recomputed=scheduled_tokens(counter) - before - sum(map(len, answers)),
        identical=answers == reference * (len(answers) // len(work)),
        lost=preemption_seconds(counter) - lost_before,
    )


class _Counts(dict[str, int]):
    def __missing__(self, name: str) -> int:
        return 0  # an engine without our connector has none of its series


def settled(decode: Engine) -> _Counts:
    """Return the engine's counters once two readings agree: the last step's arrive a moment after its tokens."""
    last = _Counts()
    for _ in range(20):
        now = _Counts((name, int(value)) for name, value in metrics(decode).items() if name.endswith("_total"))
        ours = {name: value for name, value in now.items() if name.startswith(("vllm:num_preempt", "pd_launch:"))}
        if ours and ours == {name: last[name] for name in ours}:
            return now
        last = now
        time.sleep(0.5)
    return last


def table(columns: dict[str, Figures]) -> str:
    """Return the figures of each decode engine side by side."""
    rows: list[list[str]] = [["", *columns]]
    names = {
        "requests": "requests",
        "preempted": "preempted on the decode node",
        "parked": "parked in host memory",
        "restored": "restored from host memory",
        "bytes_to_host": "bytes device to host",
        "bytes_to_device": "bytes host to device",
        "recomputed": "tokens recomputed on the decode node",
    }
    for key, name in names.items():
        rows.append([name, *(f"{getattr(figures, key):,}" for figures in columns.values())])
    rows.append(["seconds lost to preemption on the decode node", *(f"{f.lost:.2f}" for f in columns.values())])
    rows.append(["identical to a single engine's answers", *("yes" if f.identical else "no" for f in columns.values())])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    lines.insert(1, "-" * len(lines[0]))
    return "\n".join(lines)


def saved(ours: Figures, control: Figures) -> str:
    """Say what the connector saved."""
    tokens, seconds = control.recomputed - ours.recomputed, control.lost - ours.lost
    return f"saved by the connector: {tokens:,} tokens and {seconds:.2f} seconds of the decode node's steps"


def faults(ours: Figures, control: Figures | None) -> list[str]:
    """Return what is not as it must be in the demo (with a control) or in its reversed run (without)."""
    found = []
    if ours.preempted < LEAST_PREEMPTED:
        found.append(f"only {ours.preempted} preempted, at least {LEAST_PREEMPTED} are needed to show anything")
    if not ours.parked == ours.restored == ours.preempted or ours.fallen_back:
        found.append(
            f"of {ours.preempted} preempted {ours.parked} were parked and {ours.restored} restored, "
            f"{ours.fallen_back} fell back"
        )
    if control is None:
        if ours.identical:
            found.append("blocks were restored in reversed order, yet the answers are identical: the check is blind")
        return found
    if ours.recomputed:
        found.append(f"{ours.recomputed} tokens recomputed with the connector")
    if control.recomputed <= 0:
        found.append("nothing recomputed without the connector: the count is blind")
    found += [f"answers {which} differ" for which, f in {"with": ours, "without": control}.items() if not f.identical]
    return found


def demo(reverse: bool) -> int:
    """Run the demo, or with ``reverse`` its negative control, and print the table."""
    folder = run_folder()
    config = rendered_transfer_config()
    kinds: dict[str, str | None] = {"decode": REVERSED} if reverse else {"decode": OURS, "decode-control": None}
    figures: list[Figures] = []
    reference: list[Tokens] = []
    with ExitStack() as running:
        prefill = running.enter_context(engine("prefill", "prefill", folder))
        # One decode engine after the other: an idle one, too, takes time from two cores.
        for name, module in kinds.items():
            counter = folder / f"{name}.json"
            transfer = json.dumps(counted(config, module, counter))
            with engine(name, "decode", folder, "--kv-transfer-config", transfer) as decode:
                wait_until_healthy([prefill, decode], tell)
                if not reference:
                    tell("the same requests to one engine alone, for reference")
                    reference = answer_alone(prefill, prompts())
                figures.append(burst(prefill, decode, counter, reference))
    titles = ["restored in reversed order"] if reverse else ["with pd_launch.connector", "control without it"]
    print(table(dict(zip(titles, figures, strict=True))))
    if not reverse:
        print(saved(*figures))
    found = faults(figures[0], None if reverse else figures[1])
    for fault in found:
        print(f"NOT as it must be: {fault}")
    if not found:
        print("as it must be" + (": a wrong restore is noticed" if reverse else ""))
    return 1 if found else 0


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--control", action="store_true", help="restore blocks in reversed order: not identical")
    arguments = parser.parse_args(argv)
    try:
        interrupts.install()
        return demo(arguments.control)
    except DemoError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("demo: interrupted; every engine is stopped", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
