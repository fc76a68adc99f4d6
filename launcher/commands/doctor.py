"""``pd-launch doctor``: does this host fit?"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

import click

from pd_launch.launcher.commands.common import USAGE, parse_target_option, use_colour, write
from pd_launch.launcher.commands.options.doctor import DoctorOptions
from pd_launch.launcher.doctor.examine import Examination, Subject, examine_host, examine_profile
from pd_launch.launcher.host import all_facts
from pd_launch.launcher.inputs import installed_option, load_facts, read_profile
from pd_launch.launcher.launch.program import Refused
from pd_launch.launcher.report.text import NO_FINDINGS, TextReport
from pd_launch.launcher.secrets.masking import all_secrets
from pd_launch.launcher.sources.profiles.load import SettingError, load_profile
from pd_launch.launcher.sources.profiles.shipped import ProfileNotFound, find_profile
from pd_launch.launcher.sources.release.targets import file_choices
from pd_launch.launcher.wording.language import locale_language
from pd_launch.launcher.wording.width import clean, width
from pd_launch.schemas.core.findings import Summary
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.units import counted
from pd_launch.schemas.finding import TargetInfo

_MARKS = {"ok": "✓", "info": "·", "warning": "!", "error": "✗", "unknown": "?"}
_PLAIN = {"ok": "ok", "info": "--", "warning": "!!", "error": "XX", "unknown": "??"}


def doctor_command(options: DoctorOptions) -> int:
    """Print what this host has, and what does not fit. 0 fits, 1 findings, 2 unreadable."""
    lang = options.lang or locale_language()
    target = parse_target_option(options.target)
    facts = load_facts(options.host_facts) if options.host_facts else all_facts()
    installed = installed_option(True, options.host_facts)
    if options.profile is None:
        examination = examine_host(facts, target, lang, installed)
    else:
        try:
            loaded = load_profile(read_profile(str(find_profile(options.profile))), options.settings)
            subject = Subject(options.side, options.node_rank)
            here = options.host_facts is None
            examination = examine_profile(loaded, facts, target, subject, lang, here, installed)
        except (ProfileNotFound, SettingError) as error:
            raise click.ClickException(clean(str(error))) from None
        except Refused as refused:
            click.echo(f"pd-launch: {clean(refused.said.text(lang))}", err=True)
            return USAGE
    write(_json(examination, lang) if options.form == "json" else _text(examination, options.color, lang))
    return examination.status


def _json(examination: Examination, lang: str) -> str:
    deployment = examination.deployment
    return (
        json.dumps(
            {
                "format_version": 1,
                "target": TargetInfo.of(deployment.target).model_dump(by_alias=True),
                "findings": [asdict(finding) for finding in examination.findings],
                "summary": asdict(Summary.of(examination.findings, len(deployment.sources))),
                "checks": [
                    {"name": row.name, "status": row.status, "text": row.text.text(lang)} for row in examination.rows
                ],
                "facts": deployment.host or {},
            },
            ensure_ascii=False,
            indent=2,
        )
        + "\n"
    )


def _text(examination: Examination, color: str, lang: str) -> str:
    deployment = examination.deployment
    labels = [row.label.text(lang) for row in examination.rows]
    space = max(map(width, labels), default=0)
    marks = _MARKS if (sys.stdout.encoding or "").lower().startswith("utf") else _PLAIN
    lines = [
        f"{marks[row.status]} {label}{' ' * (space - width(label))}  {clean(row.text.text(lang))}"
        for row, label in zip(examination.rows, labels, strict=True)
    ]
    secrets = all_secrets([deployment])
    colour = use_colour(color, sys.stdout)
    amiss = sum(row.status in ("error", "warning") for row in examination.rows)
    nothing = _above(amiss) if amiss else NO_FINDINGS
    report = TextReport(deployment.sources, colour, lang, secrets, nothing=nothing)
    summary = Summary.of(examination.findings, len(deployment.sources))
    shown = report.render(examination.findings, summary, file_choices([deployment]))
    return "\n".join([*lines, "", shown]) + "\n"


def _above(amiss: int) -> Msg:
    """Return what is said of a host on which no rule reports anything, but something that a launch needs is amiss."""
    return Msg(
        f"{counted(amiss, 'problem')}, marked in the list above; the rules report nothing else",
        f"{amiss} 个问题，见上表中的标记；规则没有报告其他问题",
    )
