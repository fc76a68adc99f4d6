"""What a rule says about itself, for people and programs."""

from __future__ import annotations

import json

from pd_launch.launcher.rules.registry import FAMILIES, SECTIONS, TITLES, Rule, all_rules
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.names import nearest
from pd_launch.schemas.core.severity import SEVERITIES

FORMAT_VERSION = 1


class UnknownCode(Exception):
    """There is no such rule; the message names the nearest."""


def find_rule(word: str) -> Rule:
    """Return the rule of a code or name.

    Raises:
        UnknownCode: there is none.
    """
    rules = all_rules()
    found = rules.get(word.upper()) or next((r for r in rules.values() if r.name == word.lower()), None)
    if found is not None:
        return found
    if word.upper() in FAMILIES:
        codes = [code for code in rules if code.startswith(word.upper())]
        raise UnknownCode(f"{word.upper()} is a family of rules: {codes[0]} to {codes[-1]}; pd-launch rules lists them")
    near = nearest(word.upper(), rules, 0.6) or nearest(word.lower(), [r.name for r in rules.values()], 0.6)
    hint = f"; did you mean {near}?" if near else "; pd-launch rules lists them"
    raise UnknownCode(f"there is no rule {word}{hint}")


def explain_text(rule: Rule, lang: str) -> str:
    """Return a rule's page as text."""
    page = rule.page_in(lang)
    severity = SEVERITIES[rule.severity]
    head = Msg(f"{rule.code} {rule.name} ({severity.en})", f"{rule.code} {rule.name}（{severity.zh}）")
    parts = [head.text(lang), page["title"]]
    parts += [f"## {title.text(lang)}\n\n{page[name]}" for name, title in TITLES.items() if page[name]]
    return "\n\n".join(parts) + "\n"


def explain_json(rule: Rule, lang: str) -> str:
    """Return a rule's page as JSON."""
    page = rule.page_in(lang)
    shown = {"format_version": FORMAT_VERSION, **summary(rule, lang), **{_key(name): page[name] for name in SECTIONS}}
    return json.dumps(shown, ensure_ascii=False, indent=2)


def summary(rule: Rule, lang: str) -> dict[str, str]:
    """Return a rule's code, name, severity, confidence, needs and title."""
    page = rule.page_in(lang)
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity,
        "confidence": rule.confidence,
        "needs": rule.needs,
        "title": page["title"],
    }


def _key(section: str) -> str:
    return section.lower().replace(" ", "_")


def rules_text(lang: str) -> str:
    """Return the list of all rules by family."""
    lines: list[str] = []
    family = ""
    for rule in all_rules().values():
        if rule.code[:3] != family:
            family = rule.code[:3]
            lines += ["", f"{family} {FAMILIES[family].text(lang)}"]
        page = rule.page_in(lang)
        severity = SEVERITIES[rule.severity].text(lang)
        lines.append(f"  {rule.code}  {severity:{7 if lang == 'en' else 2}}  {rule.name:28}  {page['title']}")
    return "\n".join(lines[1:]) + "\n"


def rules_json(lang: str) -> str:
    """Return the list of all rules as JSON."""
    rules = [summary(rule, lang) for rule in all_rules().values()]
    return json.dumps({"format_version": FORMAT_VERSION, "rules": rules}, ensure_ascii=False, indent=2)
