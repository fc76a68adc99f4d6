"""Which form prints what of a prepared launch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pd_launch.launcher.formats.box import Box, FormatError, make_boxes, slug
from pd_launch.launcher.formats.compose import compose_file
from pd_launch.launcher.formats.docker import docker_script
from pd_launch.launcher.formats.ending import stop_seconds
from pd_launch.launcher.formats.k8s import k8s_manifest
from pd_launch.launcher.formats.kserve import kserve_service
from pd_launch.launcher.formats.llm_d import llm_d_values
from pd_launch.launcher.formats.nodes import slurm_job, ssh_commands
from pd_launch.launcher.formats.shell import shell_script
from pd_launch.launcher.formats.systemd import Unit, systemd_unit
from pd_launch.launcher.formats.unit_words import Given, UnitWord
from pd_launch.launcher.launch.prepare import Launch, LaunchOptions
from pd_launch.launcher.launch.program import own_command
from pd_launch.launcher.secrets.masking import Held
from pd_launch.launcher.sources.profiles.shipped import SHIPPED
from pd_launch.launcher.sources.release.release_words import target_comment
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.profile import PatchForm, Profile


def _profile(launch: Launch) -> Profile:
    assert launch.loaded.profile is not None  # a launch with a plan has one
    return launch.loaded.profile


def _shell(launch: Launch) -> str:
    return shell_script(launch.launches, launch.options.grace)


def _docker(launch: Launch) -> str:
    return docker_script(make_boxes(launch.deployment, _profile(launch), launch.launches, launch.options.grace))


def _all_boxes(launch: Launch) -> list[Box]:
    whole = launch.whole or launch.deployment
    return make_boxes(whole, _profile(launch), whole.nodes, launch.options.grace)


def _patching(form: PatchForm, write: Callable[[Sequence[Box], str, Any], str]) -> Callable[[Launch], str]:
    def text(launch: Launch) -> str:
        profile = _profile(launch)
        return write(_all_boxes(launch), profile.name, profile.patch.get(form))

    return text


def _slurm(launch: Launch) -> str:
    mine = [box for box in _all_boxes(launch) if box.side == launch.options.side]
    return slurm_job(mine, _profile(launch).name)


def _ssh(launch: Launch) -> str:
    boxes = _all_boxes(launch)
    commands = {box.name: _command_words(launch, box)[0] for box in boxes}
    return ssh_commands(boxes, _profile(launch).name, commands)


def _systemd(launch: Launch) -> str:
    words, named = _command_words(launch)
    options = launch.options
    stop = stop_seconds(launch.launches, options.grace)
    ascend = launch.deployment.target.is_ascend
    name = slug(_profile(launch).name)
    unit = Unit(name, options.side, words, sorted(named), stop, ascend, options.notify, options.ready_timeout)
    return systemd_unit(unit)


def _command_words(launch: Launch, box: Box | None = None) -> tuple[list[UnitWord], set[str]]:
    """Return the words that start pd-launch for this launch, or for a box, and the variables that they ask for."""
    options, launches = launch.options, launch.launches if box is None else box.launches
    first = launches[0]
    given = Given(launches)
    side = options.side if box is None else box.side
    words: list[UnitWord] = [*own_command(), side, "--profile", _profile_word(launch)]
    if (first.nodes or 1) > 1:
        words += ["--node-rank", str(first.node_rank)]
    if options.dp_rank is not None:
        words += ["--dp-rank", str(options.dp_rank)]
    if options.target is not None:
        words += ["--target", options.target.written]
    words += [word for setting in options.settings for word in ("--set", given.setting(setting))]
    words += [word for code in options.force for word in ("--force", code)]
    words += [] if options.grace is None else ["--grace", f"{options.grace:g}"]
    words += ["--no-host"] if options.host is False else []
    words += _watched(options)
    words += ["--", *given.extra(options.extra)] if options.extra else []
    named = given.asked | {part.asked for word in words if not isinstance(word, str) for part in word if part.asked}
    return words, named


def _watched(options: LaunchOptions) -> list[str]:
    """Return the options of the keeper, as they were given."""
    given = {
        "--ready-timeout": options.ready_timeout,
        "--health": options.health,
        "--restart": options.restart,
        "--log-dir": options.log_dir and str(Path(options.log_dir).absolute()),
        "--log-size": options.log_size,
        "--log-files": options.log_files,
    }
    words = [word for name, value in given.items() if value is not None for word in (name, _number(value))]
    return [*words, "--notify"] if options.notify else words


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value)


def _profile_word(launch: Launch) -> str:
    """Return the profile as a unit names it: a shipped one by its name, a file by its whole path."""
    path = Path(launch.loaded.source.path)
    return path.stem if path.parent == SHIPPED else str(path.absolute())


def with_target(text: str, target: Target) -> str:
    """Return a rendered form with the comment by which a check of it knows its release, after ``#!`` where it has one.

    Without it, what was rendered for one release would be judged as the newest one's.
    """
    first, end, rest = text.partition("\n")
    comment = f"{target_comment(target)}\n"
    return f"{first}{end}{comment}{rest}" if first.startswith("#!") else f"{comment}{text}"


def _carrying(form: Callable[[Launch], str]) -> Callable[[Launch], str]:
    def text(launch: Launch) -> str:
        made = with_target(form(launch), launch.deployment.target)
        whole = launch.whole or launch.deployment
        if Held.of([*whole.nodes, *launch.launches]).has_copy(made):  # whatever wrote it: none is ever printed
            raise FormatError(
                "a secret of the profile would be shown: part of what is rendered, such as an argument's name, has "
                "the same value; change the one or the other"
            )
        return made

    return text


TEXTS: dict[str, Callable[[Launch], str]] = {
    "shell": _carrying(_shell),
    "docker": _carrying(_docker),
    "compose": _carrying(_patching("compose", compose_file)),
    "k8s": _carrying(_patching("k8s", k8s_manifest)),
    "systemd": _carrying(_systemd),
    "kserve": _carrying(_patching("kserve", kserve_service)),
    "llm-d": _carrying(_patching("llm-d", llm_d_values)),
    "slurm": _carrying(_slurm),
    "ssh": _carrying(_ssh),
}
"""Each form carries its target as a comment; the plan as JSON, which has no comments, has it as ``target``."""
WHOLE = ("compose", "k8s", "kserve", "llm-d", "slurm", "ssh")
"""Forms that describe all nodes of both sides; slurm those of the side that is named."""
ADDRESSED = ("k8s", "kserve", "llm-d", "slurm")
"""Forms that give NixlConnector the address of the node or pod itself, where the profile names none."""
