"""The options of ``pd-launch check``."""

from __future__ import annotations

from dataclasses import dataclass

from pd_launch.schemas.core.severity import Severity


@dataclass(frozen=True)
class CheckOptions:
    """The options of ``check`` as they were given; None and empty are not given."""

    files: tuple[str, ...]
    target: str | None
    form: str
    output: str | None
    select: str | None
    ignore: str | None
    fail_on: Severity | None
    host: bool
    host_facts: str | None
    separate: bool
    fix: bool
    unsafe_fixes: bool
    diff: bool
    exit_zero: bool
    require_target: bool
    max_size: str | None
    jobs: int | None
    show_config: bool
    color: str
    lang: str | None
    allow_no_engine: bool = False
    force_exclude: bool = False
    baseline: str | None = None
    write_baseline: bool = False
    verbose: bool = False
