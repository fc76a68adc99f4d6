"""Which form prints what of a prepared launch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pd_launch.launcher.formats.box import make_boxes, slug
from pd_launch.launcher.formats.compose import compose_file
from pd_launch.launcher.formats.docker import docker_script
from pd_launch.launcher.formats.ending import stop_seconds
from pd_launch.launcher.formats.k8s import k8s_manifest
from pd_launch.launcher.formats.shell import shell_script
from pd_launch.launcher.formats.systemd import Unit, systemd_unit
from pd_launch.launcher.formats.unit_words import Given, UnitWord
from pd_launch.launcher.launch.prepare import Launch, LaunchOptions
from pd_launch.launcher.launch.program import own_command
from pd_launch.launcher.sources.profiles.load import SHIPPED
from pd_launch.launcher.sources.release.release_words import target_comment
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.profile import Profile


def _profile(launch: Launch) -> Profile:
    assert launch.loaded.profile is not None  # a launch with a plan has one
    return launch.loaded.profile


def _shell(launch: Launch) -> str:
    return shell_script(launch.launches, launch.options.grace)


def _docker(launch: Launch) -> str:
    return docker_script(make_boxes(launch.deployment, _profile(launch), launch.launches, launch.options.grace))


def _compose(launch: Launch) -> str:
    whole, profile = launch.whole or launch.deployment, _profile(launch)
    return compose_file(make_boxes(whole, profile, whole.nodes, launch.options.grace), profile.name)


def _k8s(launch: Launch) -> str:
    whole, profile = launch.whole or launch.deployment, _profile(launch)
    return k8s_manifest(make_boxes(whole, profile, whole.nodes, launch.options.grace), profile.name)


def _systemd(launch: Launch) -> str:
    options, first = launch.options, launch.launches[0]
    given = Given(launch.launches)
    words: list[UnitWord] = [*own_command(), options.side, "--profile", _profile_word(launch)]
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
    stop = stop_seconds(launch.launches, options.grace)
    ascend = launch.deployment.target.is_ascend
    name = slug(_profile(launch).name)
    unit = Unit(name, options.side, words, sorted(named), stop, ascend, options.notify, options.ready_timeout)
    return systemd_unit(unit)


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
    """Return a rendered form with the comment by which a check of it knows its release, behind ``#!`` where it has one.

    Without it, what was rendered for one release would be judged as the newest one's.
    """
    first, end, rest = text.partition("\n")
    comment = f"{target_comment(target)}\n"
    return f"{first}{end}{comment}{rest}" if first.startswith("#!") else f"{comment}{text}"


def _carrying(form: Callable[[Launch], str]) -> Callable[[Launch], str]:
    return lambda launch: with_target(form(launch), launch.deployment.target)


TEXTS: dict[str, Callable[[Launch], str]] = {
    "shell": _carrying(_shell),
    "docker": _carrying(_docker),
    "compose": _carrying(_compose),
    "k8s": _carrying(_k8s),
    "systemd": _carrying(_systemd),
}
"""Each form carries its target as a comment; the plan as JSON, which has no comments, has it as ``target``."""
WHOLE = ("compose", "k8s")
"""Forms that describe all nodes of both sides."""
