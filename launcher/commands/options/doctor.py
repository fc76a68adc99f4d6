"""``pd-launch doctor``: options."""

from __future__ import annotations

from typing import Literal

import click

from pd_launch.launcher.commands.options import (
    SIDES,
    color_option,
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
class DoctorOptions:
    """Check whether this host is ready: memory, /dev/shm, limits, ports, devices, versions, leftovers.

    \b
    Examples:
      pd-launch doctor
      pd-launch doctor --profile a3-dp2tp8 --side decode
    """

    profile: str | None = profile_option("Compare this host with a profile.")
    settings: tuple[str, ...] = settings_option()
    side: Literal["decode", "prefill"] | None = option(
        "--side", type=click.Choice(SIDES), help="Check only this side of the profile."
    )
    node_rank: int | None = option(
        "--node-rank", type=int, metavar="N", help="Check only this node of each side, counted from 0."
    )
    host_facts: str | None = option(
        "--host-facts", metavar="FILE", help="Use the machine described in this file instead."
    )
    target: str | None = target_option()
    form: str = form_option()
    color: str = color_option()
    lang: str | None = lang_option()


COMMANDS = {"doctor": command(DoctorOptions, "doctor:doctor_command")}
