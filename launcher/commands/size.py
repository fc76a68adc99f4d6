"""``pd-launch size``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from pd_launch.launcher.commands.common import NO_MATPLOTLIB, keep_inputs, parse_target_option, write
from pd_launch.launcher.commands.options.size import SizeOptions
from pd_launch.launcher.size.ask import AMOUNTS, KEYS, Answer, Asked, answer, with_choice
from pd_launch.launcher.size.show import Row, bars, explained, fragment, in_options, numbers, table
from pd_launch.launcher.sources.profiles.load import SettingError
from pd_launch.launcher.sources.profiles.shipped import ProfileNotFound
from pd_launch.launcher.wording.language import locale_language
from pd_launch.launcher.wording.nouns import seat
from pd_launch.launcher.wording.width import clean
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.units import SizeError, parse_size
from pd_launch.schemas.memory.cache_model import UnknownModel
from pd_launch.schemas.memory.kv_layers import KVLayoutError
from pd_launch.schemas.memory.sizing_numbers import SizingError

DEFAULT_OVER = ("requests", (1, 2, 4, 8, 16, 32))
_ERRORS = (SizingError, UnknownModel, KVLayoutError)


@dataclass(frozen=True)
class Output:
    """How the answer is shown."""

    form: str
    over: str | None
    plot: bool
    png: str | None


def size_command(given: SizeOptions) -> int:
    """Print how much to configure."""
    options = dict(vars(given))
    lang = options.pop("lang") or locale_language()
    if (workload := options.pop("workload")) is not None:
        raise click.UsageError(
            "how much a workload parks at once is simulated, not computed: write\n\n  pd-launch simulate "
            f"--workload {clean(workload)} (--profile NAME | --log FILE | --blocks N)"
        )
    output = Output(*(options.pop(name) for name in ("form", "over", "plot", "png")))
    if options["files"] and options["profile"] is not None:
        raise click.UsageError("give files, or --profile, not both")
    named = (options[name] for name in ("profile", "model", "config", "target"))
    keep_inputs(output.png, (*options["files"], *named), "--png")
    asked = _asked(options)
    try:
        found = answer(asked)
    except _ERRORS as error:
        raise click.ClickException(clean(error.said.text(lang))) from None
    except (ProfileNotFound, SettingError) as error:
        raise click.ClickException(clean(str(error))) from None
    name, choices = _choices(output.over)
    rows = [_row(asked, name, choice) for choice in choices]
    if output.png is not None:
        _draw(output.png, name, rows)
    if output.form == "json":
        write(json.dumps(numbers(found, name, rows, lang), indent=2) + "\n")
    elif output.form == "profile":
        write(fragment(found))
    else:
        write(_text(found, name, rows, output.plot, lang))
    return 0


def _text(found: Answer, name: str, rows: list[Row], plot: bool, lang: str) -> str:
    shown = bars(name, rows, lang) if plot else table(name, rows, seat(found.node), lang)
    into = Msg("In the profile:", "写入配置文件：").text(lang)
    said = in_options(found, lang) if found.written else f"{into}\n\n{fragment(found)}"
    return "\n".join([explained(found, lang), shown, said])


def _asked(options: dict[str, Any]) -> Asked:
    keys = {name: value for name in KEYS if (value := options.pop(name)) is not None}
    sizes: dict[str, Any] = {name: _size(name, options.pop(name)) for name in ("memory", "per_rank", "bytes_per_block")}
    amounts = [name for name in ("requests", "memory", "per_rank") if sizes.get(name, options.get(name)) is not None]
    if len(amounts) > 1:
        names = " and ".join(f"--{name.replace('_', '-')}" for name in amounts)
        raise click.UsageError(f"{names}: give one of them; the others are derived from it")
    target = parse_target_option(options.pop("target"))
    return Asked(**options, **sizes, keys={k: str(v) for k, v in keys.items()}, target=target)


def _size(name: str, text: str | None) -> int | None:
    if text is None:
        return None
    try:
        size = parse_size(text)
    except SizeError as error:
        raise click.BadParameter(str(error), param_hint=f"--{name.replace('_', '-')}") from None
    if size == 0:
        raise click.BadParameter("must be more than 0", param_hint=f"--{name.replace('_', '-')}")
    return size


def _choices(over: str | None) -> tuple[str, tuple[Any, ...]]:
    """Return what the table runs over: an option's name and its values."""
    if over is None:
        return DEFAULT_OVER
    name, sign, listed = over.partition("=")
    name = name.strip().lstrip("-").replace("-", "_")
    values = [value.strip() for value in listed.split(",") if value.strip()]
    known = (*AMOUNTS, *KEYS)
    if not sign or name not in known or not values:
        names = ", ".join(n.replace("_", "-") for n in known)
        raise click.BadParameter(f"write NAME=VALUE,VALUE,… with one of {names}", param_hint="--over")
    if name in ("memory", "per_rank"):
        return name, tuple(_size("over", value) for value in values)
    if name in ("requests", "tokens"):
        if not all(value.isdecimal() and int(value[:12]) > 0 for value in values):
            raise click.BadParameter(f"{name} must be whole numbers above 0", param_hint="--over")
        return name, tuple(int(value[:12]) for value in values)
    return name, tuple(values)


def _row(asked: Asked, name: str, choice: Any) -> Row:
    shown = str(choice)
    if name in ("memory", "per_rank"):
        from pd_launch.schemas.core.units import format_size

        shown = format_size(choice)
    try:
        return shown, answer(with_choice(asked, name, choice)).sizing
    except _ERRORS as error:
        return shown, Msg(clean(error.said.en), clean(error.said.zh))
    except SettingError as error:
        return shown, Msg(clean(str(error)), clean(str(error)))


def _draw(path: str, name: str, rows: list[Row]) -> None:
    try:
        from pd_launch.launcher.size.png import draw
    except ImportError:
        raise click.ClickException(NO_MATPLOTLIB) from None
    try:
        draw(Path(path), name, [(choice, sizing) for choice, sizing in rows if not isinstance(sizing, Msg)])
    except (OSError, ValueError) as error:
        raise click.ClickException(f"{clean(path)}: {error}") from None
