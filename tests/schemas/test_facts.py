"""The facts of releases: each has evidence, names rows, and holds against the vLLM that is installed here."""

from __future__ import annotations

import ast
import inspect
import re
from importlib import metadata, util
from pathlib import Path

import pytest

from pd_launch.launcher.logs.notices import NOTICES
from pd_launch.launcher.logs.patterns import EXCEPTION, PATTERNS
from pd_launch.launcher.rules.registry import all_rules
from pd_launch.schemas.core import pairing
from pd_launch.schemas.core.target import ascend_target, vllm_target
from pd_launch.schemas.releases import registry
from pd_launch.schemas.releases.facts import Code, Documented, Fact, Generated, Inherits, Run, rows
from pd_launch.schemas.releases.log_lines import ELSEWHERE, LOG_LINES
from pd_launch.schemas.releases.registry import all_facts, stated
from pd_launch.schemas.releases.vllm_tables import Table, ascend_table, vllm_table

ROOT = Path(__file__).resolve().parents[2]
FACTS = list(all_facts().values())
BEFORE_THE_TABLES = {"0.12.0rc1"}
"""Releases that are older than the oldest row: a fact may have begun there."""

_RELEASE = re.compile(r"(?<![\d.])0\.(?:1[0-9]|[2-9][0-9])\.\d+(?:rc\d+|\.post\d+)?(?![\d.]*\d)")
_EXAMPLE = re.compile(r"vllm(?:-ascend)?(?:==|:v)[\w.]+")
"""How a target is written, as messages show it."""
TABLES = {ROOT / "schemas" / f"{name.replace('.', '/')}.py" for name in registry.BESIDE}
EXAMPLES = {"launcher/sources/profiles/reasons.py": 2}
"""Files whose texts show values of a profile, with how many."""


def target(fact: Fact, release: str):  # type: ignore[no-untyped-def]
    return (vllm_target if fact.project == "vllm" else ascend_target)(release, "unknown")


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact.name)
def test_a_fact_has_evidence_and_names_rows(fact: Fact) -> None:
    assert fact.evidence and fact.meaning and re.fullmatch(r"[\w.-]+", fact.name)
    bounds = {bound for span in fact.spans for bound in span if bound is not None}
    assert bounds <= {*rows(fact.project), *BEFORE_THE_TABLES}
    for since, until in fact.spans:
        assert since is None or until is None or rows(fact.project).index(since) < rows(fact.project).index(until)
    for evidence in fact.evidence:
        if isinstance(evidence, Code):
            assert evidence.files and re.compile(evidence.pattern)
        elif isinstance(evidence, Documented):
            assert evidence.url.startswith("https://")
        elif isinstance(evidence, Run):
            file, _, test = evidence.test.partition("::")
            assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8")


def test_facts_hold_somewhere() -> None:
    """A fact that no row has, or whose bound does not change anything, says nothing."""
    for fact in FACTS:
        holding = [row for row in rows(fact.project) if fact.holds(target(fact, row))]
        assert holding or fact.until == rows(fact.project)[0], fact.name
        if fact.since in rows(fact.project):
            assert fact.holds(target(fact, fact.first))
            assert fact.before == fact.first or not fact.holds(target(fact, fact.before)), fact.name


@pytest.mark.parametrize("project", ["vllm", "vllm-ascend"])
def test_the_generated_tables_say_the_same(project: str) -> None:
    for fact in (fact for fact in FACTS if fact.project == project):
        for evidence in (e for e in fact.evidence if isinstance(e, Generated)):
            for row in rows(fact.project):
                asked = target(fact, row)
                table = vllm_table(asked) if project == "vllm" else ascend_table(asked)
                assert isinstance(table, Table)
                there = table.entry(evidence.section, evidence.name) is not None
                assert (there != evidence.absent) == fact.holds(asked), (fact.name, row)


def test_every_log_line_has_a_writer() -> None:
    """A line that nobody writes is looked for in vain; those of our own stand in our own files."""
    own = "\n".join(
        path.read_text(encoding="utf-8")
        for folder in ("connector", "launcher/commands", "launcher/supervise", "launcher")
        for path in (ROOT / folder).glob("*.py")
    )
    joined = re.sub(r'"\s*\n\s*f?"', "", own)
    composed = {"Preempt preemption offload enabled for request ", "preemption offload works with --"}
    for needle in {*(p.needle for p in (*PATTERNS, EXCEPTION)), *(n.needle for n in NOTICES)}:
        assert needle in LOG_LINES or needle in ELSEWHERE or needle in composed or needle in joined, needle
    assert set(LOG_LINES) <= {*(p.needle for p in PATTERNS), *(n.needle for n in NOTICES)}


def test_companions_have_a_place_where_they_are_written() -> None:
    named = {name for row in pairing.ASCEND_COMPANIONS.values() for name in row}
    assert named <= set(pairing.WRITTEN_AT)
    assert {release for release, _ in pairing.DOCUMENTED_ONLY} <= set(pairing.ASCEND_PAIRS)


def _literals(path: Path) -> list[tuple[int, str]]:
    """Return texts with a release in them, documentation and examples apart."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    prose = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        named = node.targets if isinstance(node, ast.Assign) else []
        if any(isinstance(name, ast.Name) and name.id in ("ZH", "EXAMPLE") for name in named):
            prose |= {id(inner) for inner in ast.walk(node)}
    return [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose
        if _RELEASE.search(_EXAMPLE.sub("", node.value))
    ]


def test_no_release_stands_in_the_code_outside_the_tables() -> None:
    """What differs between releases is a fact with evidence; a number in a rule would be read again by nobody."""
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text[:60]!r}"
        for folder in ("launcher", "schemas")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "schemas/releases" not in str(path) and path not in TABLES
        for line, text in _literals(path)[EXAMPLES.get(str(path.relative_to(ROOT)), 0) :]
    ]
    assert not found, "\n".join(found)


def test_the_scan_finds_what_it_looks_for(tmp_path: Path) -> None:
    path = tmp_path / "rule.py"
    path.write_text(
        '"""At 0.23.0."""\nZH = "0.23.0"\nSINCE = "0.23.0rc1"\nHELP = f"up to 0.27.1 {SINCE}"\nIP = "10.0.20.1"\n'
    )
    assert [line for line, _ in _literals(path)] == [3, 4]


def test_evidence_holds_in_the_installed_vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same reading as scripts/reread_evidence.py, without the index: in the files that are installed here."""
    found = util.find_spec("vllm")
    if found is None or found.origin is None:
        pytest.skip("no vLLM is installed")
    release = metadata.version("vllm").partition("+")[0]
    if release not in rows("vllm"):
        pytest.skip(f"vLLM {release} is no row")
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import evidence

    files = evidence.Files("vllm", release, Path(found.origin).parents[1], evidence.table_of("vllm", release))
    assert [str(one) for one in evidence.broken(files)] == []


def test_a_broken_fact_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import evidence

    (tmp_path / "vllm" / "config").mkdir(parents=True)
    (tmp_path / "vllm" / "config" / "vllm.py").write_text("def supports_sleep_mode(): ...\n")
    files = evidence.Files("vllm", "0.32.0", tmp_path, evidence.table_of("vllm", "0.32.0"))
    said = {one.fact.name: str(one) for one in evidence.broken(files)}
    assert "sleep-mode-asks-connectors" in said  # there, one release too early
    assert "start-rank-zero-counts" in said  # gone
    assert "has supports_sleep_mode in 0.32.0" in said["sleep-mode-asks-connectors"]


def test_evidence_kinds_are_all_looked_at() -> None:
    kinds = {type(evidence) for fact in FACTS for evidence in fact.evidence}
    assert kinds == {Code, Generated, Inherits, Documented, Run}


def test_pages_say_releases_as_the_tables_do() -> None:
    """What a rule's page says of releases follows from facts, so that a corrected fact corrects it."""
    told = {"PD111", "PD213", "PD508"}  # the oldest row, one that is no row, and a report
    for rule in all_rules().values():
        raw = inspect.getdoc(rule.function) or ""
        section = raw.partition("## Releases")[2].partition("## ")[0]
        assert rule.code in told or not _RELEASE.search(section), rule.code
        assert "<since" not in rule.page["Releases"] and "<since" not in rule.page_zh["Releases"]
        numbers = {word.strip(".") for word in _RELEASE.findall(rule.page["Releases"])}
        assert numbers <= set(_RELEASE.findall(rule.page_zh["Releases"])) | {"0.18.0"}, rule.code


def test_releases_in_words() -> None:
    assert stated("from <since offload-ratio> on, <before offload-ratio> not") == "from 0.28.0rc1 on, 0.27.1rc1 not"
    assert stated("<all reduce-sample-refusals>") == "0.23.0, 0.27.1rc1 to 0.29.0rc1"
    assert stated("<all reduce-sample-refusals>", "zh") == "0.23.0、0.27.1rc1 到 0.29.0rc1"
    assert stated("<last layer-sharding-on-prefill-only> <until kv-field-kv_rank>") == "0.23.0 0.32.0"
    with pytest.raises(KeyError):
        stated("<since no-such-fact>")
