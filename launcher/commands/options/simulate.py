"""``pd-launch simulate``: options."""

from __future__ import annotations

import click

from pd_launch.launcher.commands.options import (
    argument,
    command,
    form_option,
    lang_option,
    option,
    profile_option,
    target_option,
)
from pd_launch.launcher.commands.options.finite import Finite
from pd_launch.schemas.core.record import dataclass


@dataclass(frozen=True)
class SimulateOptions:
    """Simulate vLLM's scheduler with a workload: does it preempt, what does that cost, and which budget avoids it?

    \b
    Examples:
      pd-launch simulate --log decode.log --workload result.json --budget 8GiB
      pd-launch simulate --blocks 999 --workload requests=99,prompt=900,output=99
    """

    files: tuple[str, ...] = argument(nargs=-1, metavar="[FILE]...")
    workload: str = option(
        "--workload",
        required=True,
        metavar="FILE|KEY=VALUE,…",
        help="Trace, benchmark result, /metrics page, record of status, or text.",
    )
    profile: str | None = profile_option("Profile whose decode side is simulated.")
    log: str | None = option("--log", metavar="FILE", help="Engine's log, for its sizes, options and step times.")
    blocks: int | None = option("--blocks", type=click.IntRange(2), metavar="N", help="The engine's num_gpu_blocks.")
    memory: str | None = option(
        "--memory", metavar="SIZE", help="KV cache of one rank, instead of --blocks, such as 20GiB."
    )
    block_size: int | None = option("--block-size", type=click.IntRange(1), metavar="N", help="Tokens per block.")
    bytes_per_block: str | None = option("--bytes-per-block", metavar="SIZE", help="Per rank, for an unknown model.")
    max_num_seqs: int | None = option(
        "--max-num-seqs", type=click.IntRange(1), metavar="N", help="Requests that run at the same time."
    )
    max_num_batched_tokens: int | None = option(
        "--max-num-batched-tokens", type=click.IntRange(1), metavar="N", help="Tokens per step."
    )
    max_model_len: int | None = option("--max-model-len", type=click.IntRange(2), metavar="N", help="Longest request.")
    watermark: float | None = option(
        "--watermark",
        type=Finite(0, 1, max_open=True),
        metavar="X",
        help="Share of the KV cache kept free when requests are admitted.",
    )
    scheduling_policy: str | None = option(
        "--scheduling-policy",
        type=click.Choice(["fcfs", "priority"]),
        help="Order in which requests are admitted and preempted.",
    )
    prefix_caching: bool | None = option(
        "--prefix-caching/--no-prefix-caching", default=None, help="Whether blocks with the same content are reused."
    )
    async_scheduling: bool | None = option(
        "--async-scheduling/--no-async-scheduling",
        default=None,
        help="Whether the next step is scheduled before this one ends.",
    )
    draft_tokens: int | None = option(
        "--draft-tokens", type=click.IntRange(0), metavar="N", help="Speculative tokens per request and step."
    )
    acceptance: float | None = option(
        "--acceptance", type=Finite(0, 1), metavar="X", help="Share of draft tokens accepted, such as 0.6."
    )
    arrival_steps: int | None = option(
        "--arrival-steps",
        type=click.IntRange(0, 1_000_000),
        metavar="N",
        help="Steps until a decode node has a prompt's KV.",
    )
    budget: str | None = option(
        "--budget", metavar="SIZE,…", help="Host memory per rank to try, such as 8GiB,16GiB or 3000blocks."
    )
    concurrency: int | None = option(
        "--concurrency", type=click.IntRange(1), metavar="N", help="Number of clients, each with one request at a time."
    )
    rate: float | None = option(
        "--rate", type=Finite(0, min_open=True), metavar="X", help="Requests per second, at random times."
    )
    requests: int | None = option(
        "--requests",
        type=click.IntRange(1),
        metavar="N",
        help="Simulate only the first N requests, or draw N from a /metrics page.",
    )
    step_time: str | None = option(
        "--step-time", metavar="BASE[,PER_TOKEN]", help="Seconds per step, and per token in it."
    )
    dp: int | None = option("--dp", type=click.IntRange(1, 1024), metavar="N", help="Engines that share the requests.")
    router: str = option(
        "--router",
        type=click.Choice(["vllm", "round-robin", "least-requests"]),
        default="vllm",
        show_default=True,
        help="How requests are routed, with --dp.",
    )
    over: str | None = option(
        "--over", metavar="NAME=V,V,…", help="Table over values, such as max-num-seqs=64,128,256."
    )
    plot: bool = option("--plot", is_flag=True, help="Show that table as bars.")
    png: str | None = option("--png", metavar="FILE", help="Draw the table as a picture (needs matplotlib).")
    seed: int = option(
        "--seed",
        type=int,
        default=1,
        show_default=True,
        metavar="N",
        help="Random seed; the same seed gives the same result.",
    )
    progress: bool | None = option(
        "--progress/--no-progress", default=None, help="Show progress (default: on a terminal)."
    )
    form: str = form_option()
    lang: str | None = lang_option()
    target: str | None = target_option()


COMMANDS = {"simulate": command(SimulateOptions, "simulate:simulate_command")}
