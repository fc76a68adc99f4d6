"""Every rule's page is complete in both languages, and its examples do what the page says."""

from __future__ import annotations

import re

import pytest

from pd_launch.launcher.check.fix import fix_inputs
from pd_launch.launcher.check.run import Selection, check
from pd_launch.launcher.rules.pages import example_of
from pd_launch.launcher.rules.registry import SECTIONS, Rule, all_rules
from pd_launch.launcher.sources.read import Inputs, read_texts
from pd_launch.schemas.core.target import parse_target
from pd_launch.schemas.core.values import SourceFile
from pd_launch.schemas.finding import Finding

RULES = list(all_rules().values())


def run(rule: Rule, section: str, lang: str = "en") -> list[Finding]:
    page = rule.page_zh if lang == "zh" else rule.page
    example = example_of(page[section])
    assert example.files, f"{rule.code}: no example under {section}"
    found = check(read_texts(example.files, example.target, example.host))
    return [finding for finding in found if finding.code == rule.code]


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.code)
def test_the_page_is_complete(rule: Rule) -> None:
    for page in (rule.page, rule.page_zh):
        assert page["title"]
        for section in SECTIONS:
            assert page[section], f"{rule.code}: {section} is empty"
            assert not re.search(r"<(since|until|last|before|all)\s", page[section]), (rule.code, section)
    assert re.search(r"[一-鿿]", rule.page_zh["title"] + rule.page_zh["What it does"])
    assert len(rule.why.en) > 20
    assert len(rule.why.zh) > 5


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.code)
def test_the_example_fires_and_its_correction_does_not(rule: Rule, lang: str) -> None:
    assert run(rule, "Example", lang), "the example does not fire"
    assert not run(rule, "Use instead", lang), "the correction fires"


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.code)
def test_the_fix_of_the_example_removes_the_finding(rule: Rule) -> None:
    example = example_of(rule.page["Example"])
    fixable = [finding for finding in run(rule, "Example") if finding.fix]
    if not fixable:
        pytest.skip("this rule's example has no fix")
    inputs = Inputs(
        [SourceFile(name, text) for name, text in example.files.items()],
        target=parse_target(example.target) if example.target else None,
        host=example.host,
    )
    fixed = fix_inputs(inputs, Selection(), unsafe=True)
    left = check(read_texts(fixed.after, example.target, example.host))
    assert rule.code in {finding.code for finding in fixed.done}
    assert sum(f.code == rule.code for f in left) < len(run(rule, "Example"))
