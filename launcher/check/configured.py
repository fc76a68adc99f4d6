"""What a configuration file makes of inputs: for which release they are read, and which rules count for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pd_launch.launcher.check.config import Config, ConfigError
from pd_launch.launcher.check.run import Selection
from pd_launch.launcher.rules.registry import all_rules, unknown_codes
from pd_launch.launcher.sources.read import Inputs
from pd_launch.schemas.core.target import Target, TargetError, parse_target


class NoSuchRule(ConfigError):
    """A configuration that names what no rule has; the message says where."""


def configured(
    config: Config,
    inputs: Inputs,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    require_target: bool = False,
) -> tuple[Inputs, Selection]:
    """Return inputs as a configuration has them read, and the rules that count; ``select`` and ``ignore`` win over it.

    Raises:
        NoSuchRule: it names a code that no rule has: with only such ones nothing is checked, which would look like a
            clean result.
        ConfigError: its target is none.
    """
    _look_at(config)
    target = named_target(config)
    selection = Selection(
        tuple(select) or config.select,
        tuple(ignore) or config.ignore,
        config.severity,
        tuple(config.per_file_ignores.items()),
    )
    return replace(inputs, config=target, require_target=require_target or config.require_target), selection


def named_target(config: Config) -> Target | None:
    """Return the target that a configuration names, or None.

    Raises:
        ConfigError: it is none.
    """
    try:
        return None if config.target is None else parse_target(config.target, "config")
    except TargetError as error:
        raise ConfigError(f"{config.path}: target: {error}") from None


def _look_at(config: Config) -> None:
    for name, words in config.codes():
        for word in unknown_codes(words):
            raise NoSuchRule(f"{config.path}: {name}: {word}: no rule has this code; pd-launch rules lists them")
    rules = all_rules()
    for code in config.severity:
        if code not in rules:
            raise NoSuchRule(f"{config.path}: severity.{code}: no rule has this code")
