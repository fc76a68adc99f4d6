"""``pd-launch check``: options."""

from __future__ import annotations

from typing import Literal

import click

from pd_launch.launcher.commands.options import (
    REPORTS,
    SEVERITIES,
    argument,
    color_option,
    command,
    form_option,
    lang_option,
    option,
    output_option,
    target_option,
)
from pd_launch.schemas.core.record import dataclass


@dataclass(frozen=True)
class CheckOptions:
    """Find mistakes in profiles, scripts and manifests before an engine starts.

    Several files are checked together as one deployment, those of a folder each by itself; - reads standard input;
    everything after -- is taken as a command line.

    \b
    Examples:
      pd-launch check prefill.sh decode.sh
      pd-launch check .
      pd-launch check -- vllm serve /models/m --max-num-seqs 8
    """

    files: tuple[str, ...] = argument(nargs=-1, metavar="[FILE|FOLDER]... [-- COMMAND]", type=click.UNPROCESSED)
    target: str | None = target_option()
    form: str = form_option(*REPORTS)
    output: str | None = output_option()
    select: str | None = option(
        "--select", metavar="CODES", help="Check only these rules or families, such as PD1,PD301."
    )
    ignore: str | None = option("--ignore", metavar="CODES", help="Skip these rules or families.")
    fail_on: Literal["error", "warning", "info"] | None = option(
        "--fail-on", type=click.Choice(SEVERITIES), help="Exit 1 from this severity up (default: error)."
    )
    fix: bool = option("--fix", is_flag=True, help="Apply the safe fixes to the files.")
    unsafe_fixes: bool = option("--unsafe-fixes", is_flag=True, help="Also apply fixes that are only plausible.")
    diff: bool = option("--diff", is_flag=True, help="Show what fixing would change, without changing it.")
    host: bool = option("--host", is_flag=True, help="Also check against this machine.")
    host_facts: str | None = option(
        "--host-facts", metavar="FILE", help="Also check against the machine described in this file."
    )
    separate: bool = option("--separate", is_flag=True, help="Treat each file as a separate deployment.")
    require_target: bool = option(
        "--require-target", is_flag=True, help="Treat an engine of unknown release as an error."
    )
    allow_no_engine: bool = option("--allow-no-engine", is_flag=True, help="Accept input without an engine.")
    force_exclude: bool = option(
        "--force-exclude", is_flag=True, help="Apply exclude of pd-launch.toml to named files too."
    )
    baseline: str | None = option(
        "--baseline", metavar="FILE", help="Leave out the known findings that this file lists."
    )
    write_baseline: bool = option(
        "--write-baseline", is_flag=True, help="Record the current findings in --baseline as known."
    )
    exit_zero: bool = option("--exit-zero", is_flag=True, help="Exit 0 instead of 1 if there are findings.")
    jobs: int | None = option(
        "--jobs",
        metavar="N",
        type=click.IntRange(1, 256),
        help="Number of processes for --separate (default: several if there are many files).",
    )
    max_size: str | None = option(
        "--max-size", metavar="SIZE", help="Check files up to this size, such as 8MiB (default: 2MiB)."
    )
    show_config: bool = option("--show-config", is_flag=True, help="Print the configuration in effect here.")
    verbose: bool = option("-v", "--verbose", is_flag=True, help="Report what was skipped and what was unknown.")
    color: str = color_option()
    lang: str | None = lang_option()


COMMANDS = {"check": command(CheckOptions, "check:check_command")}
