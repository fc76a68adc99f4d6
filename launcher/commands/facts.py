"""``pd-launch facts``: dump this host's facts, compare two nodes, and say what all must have alike."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import click

from pd_launch.launcher.commands.common import write
from pd_launch.launcher.commands.options.facts import FactsCheckOptions, FactsDiffOptions, FactsOptions
from pd_launch.launcher.host import all_facts
from pd_launch.launcher.host.contract import FORMAT_VERSION, VERSION_KEY
from pd_launch.launcher.host.facts import difference_text, differences, disagreements, issue_block
from pd_launch.launcher.inputs import load_facts
from pd_launch.launcher.secrets.masking import mask_fact, mask_lines
from pd_launch.launcher.wording.language import locale_language
from pd_launch.launcher.wording.width import clean
from pd_launch.schemas.core.msg import Msg


def facts_command(options: FactsOptions) -> int:
    """Print this host's facts: for an issue, or as JSON."""
    facts = all_facts()
    if options.form == "json":
        _write_json(facts)
    else:
        write("".join(f"{clean(line)}\n" for line in issue_block(facts).splitlines()))
    return 0


def _write_json(shown: Mapping[str, Any]) -> None:
    write(json.dumps({VERSION_KEY: FORMAT_VERSION, **shown}, ensure_ascii=False, indent=2) + "\n")


def diff_command(options: FactsDiffOptions) -> int:
    """Print in which facts two nodes differ; status 1 where they do."""
    facts = differences(load_facts(options.first), load_facts(options.second))
    found = [(key, mask_fact(key, one), mask_fact(key, other)) for key, one, other in facts]
    if options.form == "json":
        _write_json({"differences": [{"fact": key, "first": one, "second": other} for key, one, other in found]})
    else:
        text = difference_text(found, (options.first, options.second), options.lang or locale_language())
        write("".join(f"{clean(line)}\n" for line in text.splitlines()))
    return int(bool(found))


def check_command(options: FactsCheckOptions) -> int:
    """Say what must agree between nodes and does not; status 1 where something that must agree does not."""
    lang = options.lang or locale_language()
    nodes = {path: load_facts(path) for path in options.files}
    if len(nodes) < 2:
        raise click.UsageError("give the facts of two or more nodes")
    found = disagreements(nodes)
    if options.form == "json":
        rows = [
            {
                "fact": d.fact,
                "severity": d.severity,
                "values": {node: mask_fact(d.fact, value) for node, value in d.values.items()},
                "message": mask_lines(d.message.text(lang)),
            }
            for d in found
        ]
        _write_json({"disagreements": rows})
    else:
        label = {"error": Msg("error", "错误").text(lang), "warning": Msg("warning", "警告").text(lang)}
        lines = [f"{label[d.severity]}: {clean(mask_lines(d.message.text(lang)))}" for d in found]
        agreed = Msg(f"{len(nodes)} nodes agree", f"{len(nodes)} 个节点一致").text(lang)
        write("\n".join(lines or [agreed]) + "\n")
    return int(any(d.severity == "error" for d in found))
