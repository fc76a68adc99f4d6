"""``pd-launch init``: a profile from existing launches, or from a few questions."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from pd_launch.launcher.check.run import check
from pd_launch.launcher.commands.common import keep_existing, parse_target_option, write
from pd_launch.launcher.commands.options.init import InitOptions
from pd_launch.launcher.files import write_atomically
from pd_launch.launcher.init.ask import KINDS, SIDES, Answers, default_sizes, parse_budget, profile_text
from pd_launch.launcher.init.convert import Converted, convert
from pd_launch.launcher.init.named import added, named_profile
from pd_launch.launcher.inputs import as_text, read_source
from pd_launch.launcher.secrets.masking import all_secrets, mask
from pd_launch.launcher.sources.read import Inputs, read, read_texts
from pd_launch.launcher.sources.shell.unavailable import ShellUnavailable
from pd_launch.launcher.wording.language import locale_language
from pd_launch.launcher.wording.width import clean
from pd_launch.schemas.core.errors import ValueFault
from pd_launch.schemas.core.launch import Deployment
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.units import part_of
from pd_launch.schemas.core.values import SourceFile
from pd_launch.schemas.profile import is_line

MOST_SHOWN = 100
STDOUT = "-"
"""The output file that is standard output."""


def init_command(options: InitOptions) -> int:
    """Write a profile; 1 where something of the input could not be carried over."""
    lang = options.lang or locale_language()
    if options.more and not options.sources:
        raise click.UsageError("put the files after --from")
    options = replace(options, sources=(*options.sources, *options.more))
    if options.output not in (None, STDOUT):
        keep_existing(str(options.output))
    if not is_line(_name(options)):
        raise click.ClickException(f"{clean(_name(options))}: a name must not contain control characters")
    if options.sources:
        return _from_files(options, lang)
    return _from_answers(options, lang)


def _name(options: InitOptions) -> str:
    file = None if options.output == STDOUT else options.output
    return as_text(options.name or Path(file or "converted").stem)


def _from_files(options: InitOptions, lang: str) -> int:
    files = [read_source(path) for path in dict.fromkeys(options.sources)]
    try:
        deployments = [d for d in read(Inputs(files, target=parse_target_option(options.target))) if d.nodes]
    except ShellUnavailable as error:
        raise click.ClickException(str(error)) from None
    if not deployments:
        raise click.ClickException("no engine was found in these files: pd-launch check tells you more")
    if (named := named_profile(deployments, files)) is not None:
        return _copied(named, files, deployments, options.output, lang)
    if any(d.nodes[0].form == "profile" for d in deployments):
        raise click.ClickException("one of these files is, or starts, a profile already: copy and edit that")
    try:
        made = convert(deployments, _name(options))
    except ValueFault as error:
        raise click.ClickException(error.said.text(lang)) from None
    _deliver(made.text, options.output, lang)
    _tell(made, deployments, lang)
    return 1 if made.left else 0


def _copied(
    profile: SourceFile, files: Sequence[SourceFile], deployments: Sequence[Deployment], output: str | None, lang: str
) -> int:
    """Write the profile that the files start, as it is; 1 where they give more beside it."""
    _deliver(mask(profile.text, all_secrets(deployments)), output, lang)
    name = clean(profile.path)
    message = Msg(f"these files start the profile {name}, so it is copied", f"这些文件启动配置文件 {name}：已将其复制")
    click.echo(f"pd-launch: {message.text(lang)}", err=True)
    left = added(files)
    for one in left:
        place = f"{clean(one.origin.file)}:{one.origin.line}: " if one.origin else ""
        click.echo(f"pd-launch: {place}{one.what}: {one.why.text(lang)}", err=True)
    return 1 if left else 0


def _tell(made: Converted, deployments: Sequence[Deployment], lang: str) -> None:
    secrets = all_secrets(deployments)

    def say(text: Msg) -> None:
        click.echo(f"pd-launch: {mask(clean(text.text(lang)), secrets)}", err=True)

    say(
        Msg(
            f"this profile launches {part_of(made.equal, made.engines, 'engine')} exactly as before",
            f"{made.engines} 个引擎中有 {made.equal} 个与原来的启动完全一致",
        )
    )
    for note in made.notes:
        say(note)
    for left in made.left[:MOST_SHOWN]:
        place = f"{left.origin.file}:{left.origin.line}: " if left.origin else ""
        say(Msg(f"{place}{left.what}: {left.why.en}", f"{place}{left.what}：{left.why.zh}"))
    more = len(made.left) - MOST_SHOWN
    if more > 0:
        say(Msg(f"and {more} more of the same kind", f"另有 {more} 处同类情况"))


def _deliver(text: str, output: str | None, lang: str) -> None:
    if output in (None, STDOUT):
        write(text)
        return
    try:
        write_atomically(Path(str(output)), text)
    except OSError as error:
        raise click.ClickException(f"{clean(str(output))}: {error.strerror}") from None
    name = clean(str(output))
    message = Msg(f"wrote {name}; next: pd-launch check {name}", f"已写入 {name}；下一步：pd-launch check {name}")
    click.echo(f"pd-launch: {message.text(lang)}", err=True)


def _from_answers(options: InitOptions, lang: str) -> int:
    answers = ask(lang)
    output = options.output or _free_name()
    text = profile_text(_name(replace(options, output=output)), answers)
    _deliver(text, output, lang)
    findings = [f for f in check(read_texts({output: text}, options.target), lang=lang) if f.severity != "info"]
    for finding in findings:
        click.echo(f"pd-launch: {finding.severity}[{finding.code}] {clean(finding.message)}", err=True)
    return 0


def _free_name() -> str:
    names = ("deployment.yaml", *(f"deployment-{n}.yaml" for n in range(2, 1000)))
    return next(name for name in names if not os.path.lexists(name))


def ask(lang: str) -> Answers:
    """Ask the questions on standard error and read the answers from standard input."""

    def question(
        en: str, zh: str, default: Any, kind: Any = None, check_answer: Callable[[str], Any] | None = None
    ) -> Any:
        text = Msg(en, zh).text(lang)
        try:
            return click.prompt(text, default=default, type=kind, value_proc=check_answer, err=True)
        except click.Abort as abort:
            if not isinstance(abort.__context__, EOFError):
                raise  # interrupted
            click.echo(err=True)
            raise click.ClickException(_no_answer(text).text(lang)) from None

    count = click.IntRange(1, 4096)
    kind = question("Hardware", "硬件", "a3", click.Choice(KINDS))
    model = question("Model (path or hub name)", "模型（路径或 hub 名）", None, str)
    sides = question("Sides to describe in the profile", "配置文件描述哪些侧", "both", click.Choice(SIDES))
    tensor, data = default_sizes(kind)
    both = sides == "both"
    prefill = (
        question("Prefill: tensor-parallel size", "prefill 张量并行", tensor, count),
        question("Prefill: data-parallel ranks", "prefill 数据并行", data, count),
    )
    decode = (
        question("Decode: tensor-parallel size", "decode 张量并行", tensor, count),
        question("Decode: data-parallel ranks", "decode 数据并行", data, count),
    )
    moe = question("Mixture of experts, spread over the ranks?", "专家并行（MoE）？", data > 1, click.BOOL)
    length = question(
        "Longest request in tokens", "最长请求（token）", 4096 if kind == "cpu" else 32768, click.IntRange(16, 10**8)
    )
    requests = question(
        "Requests that decode at the same time, per engine", "每个引擎同时解码的请求数", 32, click.IntRange(1, 10**5)
    )
    budget = question(
        f"Host memory per {'rank' if kind == 'cpu' else 'card'} for preempted requests (0: none)",
        f"{'每个 rank ' if kind == 'cpu' else '每张卡'}用于被抢占请求的主机内存（0 为不用）",
        "4GiB" if kind == "cpu" else "16GiB",
        check_answer=_budget,
    )
    here = (
        question("Address of the (first) prefill node", "（第一个）预填充节点的地址", "auto", str) if both else "auto"
    )
    there = question("Address of the (first) decode node", "（第一个）解码节点的地址", "auto", str)
    return Answers(kind, model, sides, *prefill, *decode, moe, length, requests, budget, here, there)


def _no_answer(question: str) -> Msg:
    return Msg(
        f"standard input ended at the question {question!r}. init asks: answer at a terminal, or write the answers "
        "into a file, one a line, for `pd-launch init < answers.txt` (an empty line takes the default). Without "
        "questions: `pd-launch init --from decode.sh -o my.yaml` converts a launch, "
        "`pd-launch profiles copy a3-dp2tp8 my.yaml` copies a profile to edit.",
        f"标准输入在问题“{question}”处结束。init 需要回答：请在终端里运行，或把回答每行一个写进文件，用 "
        "`pd-launch init < answers.txt` 传入（空行取默认值）。不想回答问题：用 `pd-launch init --from decode.sh "
        "-o my.yaml` 转换现有的启动脚本，或用 `pd-launch profiles copy a3-dp2tp8 my.yaml` 复制一份配置文件再改。",
    )


def _budget(text: str) -> int:
    try:
        return parse_budget(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
