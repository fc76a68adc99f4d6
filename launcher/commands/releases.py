"""``pd-launch releases`` and ``pd-launch releases diff``."""

from __future__ import annotations

import json

import click

from pd_launch.launcher.commands.common import parse_target_option, write
from pd_launch.launcher.commands.options.releases import ReleasesDiffOptions, ReleasesOptions
from pd_launch.launcher.wording.language import locale_language
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.pairing import ASCEND_COMPANIONS, ASCEND_PAIRS, VLLM_RELEASES
from pd_launch.schemas.core.target import Target, newest


def releases_command(options: ReleasesOptions) -> int:
    """Print the rows of the tables, oldest first."""
    lang = options.lang or locale_language()
    if options.form == "json":
        ascend = [
            {"release": row, "vllm": vllm, **ASCEND_COMPANIONS.get(row, {})} for row, vllm in ASCEND_PAIRS.items()
        ]
        data = {"format_version": 1, "vllm_ascend": ascend, "vllm": [{"release": row} for row in VLLM_RELEASES]}
        write(json.dumps(data, ensure_ascii=False, indent=2) + "\n")
        return 0
    lines = [Msg("vllm-ascend (and the vLLM that it is built for)", "vllm-ascend（所配的 vLLM）").text(lang)]
    lines += [f"  {row:<12} {vllm}" for row, vllm in ASCEND_PAIRS.items()]
    lines += ["vLLM", *(f"  {row}" for row in VLLM_RELEASES)]
    write("\n".join(lines) + "\n")
    return 0


def diff_command(options: ReleasesDiffOptions) -> int:
    """Print what changed between two releases of one family."""
    from pd_launch.launcher.upgrade.between import as_json, differences, text

    lang = options.lang or locale_language()
    a, b = release_given(options.first, "A"), release_given(options.second, "B")
    one_family(a, b)
    changes = differences(a, b)
    if options.form == "json":
        data = {"format_version": 1, "from": a.written, "to": b.written, "changes": as_json(changes, lang)}
        write(json.dumps(data, ensure_ascii=False, indent=2) + "\n")
        return 0
    nothing = Msg("no difference\n", "没有区别\n").text(lang)
    write(f"{a} → {b}\n\n{text(changes, lang) or nothing}")
    return 0


def release_given(word: str, hint: str) -> Target:
    """Return the release that a word names, or the build at a path; nonsense is a usage error.

    Of a release that is no row, standard error says which row counts for it.
    """
    try:
        found = parse_target_option(word)
    except click.BadParameter as error:
        error.param_hint = hint
        raise
    assert found is not None
    if found.build is None and found.asked is not None:
        click.echo(f"pd-launch: {hint}: the tables have no release {found.asked}: {found} is used", err=True)
    return found


def one_family(a: Target, b: Target) -> None:
    """Refuse two releases of different families."""
    if a.is_ascend != b.is_ascend:
        example = newest(a.is_ascend).written
        raise click.UsageError(f"{a} and {b} are not of the same family: name for example {example}")
