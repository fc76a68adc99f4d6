"""``pd-launch size``: options."""

from __future__ import annotations

import click

from pd_launch.launcher.commands.options import (
    HARDWARE,
    argument,
    command,
    form_option,
    lang_option,
    option,
    profile_option,
    settings_option,
    target_option,
)
from pd_launch.schemas.core.record import dataclass


@dataclass(frozen=True)
class SizeOptions:
    """Calculate how much host memory the offload needs, or how much fits.

    FILE is whatever check reads, such as a script or a manifest: its decode side is sized.

    \b
    Examples:
      pd-launch size --profile a3-dp2tp8 --requests 8
      pd-launch size decode.sh --requests 8
      pd-launch size --model Qwen/Qwen3-32B --tp 4 --memory 512GiB
    """

    files: tuple[str, ...] = argument(nargs=-1, metavar="[FILE]...", type=click.UNPROCESSED)
    profile: str | None = profile_option("Profile whose decode side is sized.")
    model: str | None = option(
        "--model", metavar="NAME|FOLDER", help="Name of a known model, or the folder of its config.json."
    )
    config: str | None = option("--config", metavar="FILE", help="The model's config.json, if it is elsewhere.")
    hardware: str = option(
        "--hardware",
        type=click.Choice(HARDWARE),
        default="a3",
        show_default=True,
        help="Hardware of the nodes, without a profile.",
    )
    tp: int | None = option("--tp", type=click.IntRange(1), metavar="N", help="Tensor-parallel size.")
    pp: int | None = option("--pp", type=click.IntRange(1), metavar="N", help="Pipeline-parallel size.")
    dp: int | None = option("--dp", type=click.IntRange(1), metavar="N", help="Data-parallel ranks of the whole side.")
    nodes: int | None = option("--nodes", type=click.IntRange(1, 250), metavar="N", help="Nodes of the side.")
    block_size: int | None = option("--block-size", type=click.IntRange(1), metavar="N", help="Tokens per block.")
    kv_cache_dtype: str | None = option(
        "--kv-cache-dtype", metavar="DTYPE", help="KV cache type, such as fp8; default: the model's own."
    )
    mtp: int | None = option(
        "--mtp", type=click.IntRange(1), metavar="N", help="Draft tokens of multi-token prediction."
    )
    max_model_len: int | None = option(
        "--max-model-len", type=click.IntRange(1), metavar="N", help="Longest request; default: the model's own."
    )
    tokens: int | None = option(
        "--tokens", type=click.IntRange(1), metavar="N", help="Tokens per parked request; default: the longest."
    )
    requests: int | None = option(
        "--requests", type=click.IntRange(1), metavar="N", help="Requests that each engine parks at once."
    )
    workload: str | None = option(
        "--workload", metavar="FILE|KEY=VALUE,…", help="Not supported here: use pd-launch simulate."
    )
    memory: str | None = option("--memory", metavar="SIZE", help="Memory of the node or container, such as 512GiB.")
    per_rank: str | None = option("--per-rank", metavar="SIZE", help="Budget of a card: show what it can hold.")
    bytes_per_block: str | None = option(
        "--bytes-per-block", metavar="SIZE", help="Size of a block, from the engine's log, if the model is unknown."
    )
    settings: tuple[str, ...] = settings_option()
    over: str | None = option(
        "--over", metavar="NAME=V,V,…", help="Table over these values, such as tp=2,4,8 or requests=1,4,16."
    )
    plot: bool = option("--plot", is_flag=True, help="Show the table as bars.")
    png: str | None = option("--png", metavar="FILE", help="Draw the table as a picture (needs matplotlib).")
    form: str = form_option("text", "json", "profile")
    target: str | None = target_option()
    lang: str | None = lang_option()


COMMANDS = {"size": command(SizeOptions, "size:size_command")}
