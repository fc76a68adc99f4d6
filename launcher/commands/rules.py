"""``pd-launch explain``, ``rules`` and ``schema``."""

from __future__ import annotations

import json

import click

from pd_launch.launcher.check.explain import UnknownCode, explain_json, explain_text, find_rule, rules_json, rules_text
from pd_launch.launcher.commands.common import write
from pd_launch.launcher.commands.options.rules import ExplainOptions, RulesOptions, SchemaOptions
from pd_launch.launcher.wording.language import locale_language
from pd_launch.launcher.wording.width import clean


def explain_command(options: ExplainOptions) -> int:
    """Print a rule's page."""
    lang = options.lang or locale_language()
    try:
        rule = find_rule(options.code)
    except UnknownCode as error:
        raise click.ClickException(clean(str(error))) from None
    write(explain_json(rule, lang) + "\n" if options.form == "json" else explain_text(rule, lang))
    return 0


def rules_command(options: RulesOptions) -> int:
    """Print the list of rules."""
    lang = options.lang or locale_language()
    write(rules_json(lang) + "\n" if options.form == "json" else rules_text(lang))
    return 0


def schema_command(options: SchemaOptions) -> int:
    """Print the JSON Schema of a contract."""
    write(schema_text(options.name))
    return 0


def schema_text(name: str) -> str:
    """Return the JSON Schema of a profile, of pd-launch.toml, or of what a command prints, as text."""
    if name == "config":
        from pd_launch.launcher.check.config_schema import config_schema

        return json.dumps(config_schema(), ensure_ascii=False, indent=2) + "\n"
    from pydantic import BaseModel

    from pd_launch.launcher.check.schema_docs import described_schema
    from pd_launch.schemas.finding import Report
    from pd_launch.schemas.logs import LogsReport
    from pd_launch.schemas.plan import LaunchPlan
    from pd_launch.schemas.profile import Profile
    from pd_launch.schemas.simulation import Simulation
    from pd_launch.schemas.status import StatusReport
    from pd_launch.schemas.upgrade import UpgradeReport

    models: dict[str, type[BaseModel]] = {
        "profile": Profile,
        "report": Report,
        "plan": LaunchPlan,
        "logs": LogsReport,
        "simulate": Simulation,
        "status": StatusReport,
        "upgrade": UpgradeReport,
    }
    model = models[name]
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **described_schema(model)}
    return json.dumps(schema, ensure_ascii=False, indent=2) + "\n"
