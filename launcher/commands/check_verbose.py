"""``check --verbose``: what was passed over, what was unknown, and which rules could not look."""

from __future__ import annotations

from collections.abc import Sequence

import click

from pd_launch.launcher.check.jobs import Outcome
from pd_launch.launcher.check.unknowns import MORE, Unseen
from pd_launch.launcher.commands.check_inputs import Given
from pd_launch.launcher.commands.check_report import without_engine
from pd_launch.launcher.rules.registry import all_rules
from pd_launch.launcher.wording.width import clean
from pd_launch.schemas.core.msg import NOTHING, Msg
from pd_launch.schemas.core.units import counted
from pd_launch.schemas.core.words import agreeing, series

_NAMED = 6
"""Values, and files without an engine, that are named."""
_CODES = 12
_FILES = 20
_WHY = {
    "engine": Msg("without an engine", "没有引擎"),
    "name": Msg("other kinds of files", "其他类型的文件"),
    "form": Msg("not a supported form", "不是支持的形式"),
    "binary": Msg("not text", "不是文本"),
    "large": Msg("too large", "过大"),
    "ignored": Msg("left out by .gitignore", "由 .gitignore 排除"),
    "excluded": Msg("left out by exclude", "由 exclude 排除"),
    "tools": Msg("tool folders", "工具目录"),
    "link": Msg("links not followed", "未跟随的链接"),
    "special": Msg("pipes, sockets, devices", "管道、套接字、设备"),
}


def say_more(given: Given, outcome: Outcome, lang: str) -> None:
    """Say on standard error what the report does not show."""
    if given.folders:
        taken = len(given.files)
        counts = sorted(given.skipped.items(), key=lambda entry: -entry[1])
        listed = [f"{_WHY[why].text(lang)} {count}" for why, count in counts if count]
        rest = Msg("; ", "；").text(lang) + Msg(", ", "，").text(lang).join(listed) if listed else ""
        _say(
            Msg(
                f"folders: {counted(given.looked_at, 'file')} seen, {taken} checked{rest}",
                f"目录中看过 {given.looked_at} 个文件，读取 {taken} 个{rest}",
            ),
            lang,
        )
    idle = without_engine(given, outcome)
    if idle:
        names = series(idle[:_NAMED], more=len(idle) > _NAMED)
        _say(
            Msg(
                f"{counted(len(idle), 'file')} {agreeing(len(idle), 'holds', 'hold')} no engine: {names.en}",
                f"{len(idle)} 个文件中没有引擎：{names.zh}",
            ),
            lang,
        )
    unseen = outcome.blind.unseen
    for one in unseen[:_FILES]:
        _say(_of_file(one, lang), lang)
    if len(unseen) != 1:
        count = sum(len(one.values) for one in unseen)
        codes = sorted({code for one in unseen for code in one.rules})
        names = _codes(codes)
        could = Msg(f"; {names.en} could not look at all of them", f"；{names.zh} 无法检查它们") if codes else NOTHING
        _say(
            Msg(
                f"{counted(count, 'value')} unknown in all{could.en}",
                f"共有 {count} 个值未知{could.zh}",
            ),
            lang,
        )
    _say_needs(outcome, lang)


def _of_file(one: Unseen, lang: str) -> Msg:
    """Return what is unknown in a file, with the lines, and the rules that could not look at it."""
    further = Msg("further arguments", "更多参数").text(lang)
    named = [f"{further if name == MORE else name} ({place.line})" for name, place in one.values[:_NAMED]]
    names = series(named, more=len(one.values) > _NAMED)
    count = len(one.values)
    rules = _codes(one.rules)
    so = Msg(f"; {rules.en} could not check because of that", f"；{rules.zh} 因此无法检查") if rules else NOTHING
    return Msg(
        f"{one.file}: {counted(count, 'value')} unknown (line in brackets): {names.en}{so.en}",
        f"{one.file}：{count} 个值未知（行号在括号中）：{names.zh}{so.zh}",
    )


def _say_needs(outcome: Outcome, lang: str) -> None:
    """Say which rules had nothing to look at: no facts of a host, no other side."""
    needs = {code: rule.needs for code, rule in all_rules().items()}
    if outcome.blind.hostless:
        codes = _codes([code for code, need in needs.items() if "H" in need])
        _say(
            Msg(
                f"no host facts: {codes.en} checked only what the input says; use --host or --host-facts",
                f"没有主机信息，{codes.zh} 只检查了输入本身；可用 --host 或 --host-facts 提供",
            ),
            lang,
        )
    if outcome.blind.one_sided:
        codes = _codes([code for code, need in needs.items() if "P" in need])
        _say(
            Msg(
                f"{codes.en} compare prefill and decode, but only one side was given; give both in one call",
                f"{codes.zh} 要比较预填充和解码两侧，但只给出了一侧；请在一次调用里同时给出两侧",
            ),
            lang,
        )


def _codes(codes: Sequence[str]) -> Msg:
    shown, more = series(codes[:_CODES], more=len(codes) > _CODES), len(codes) - _CODES
    return shown if more <= 0 else Msg(f"{shown.en} (+{more})", f"{shown.zh}（+{more}）")


def _say(text: Msg, lang: str) -> None:
    click.echo(f"pd-launch: {clean(text.text(lang))}", err=True)
