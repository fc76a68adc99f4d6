"""The page of facts: what differs between releases, as the tables say it, and what shows it."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.schemas.releases import registry
from pd_launch.schemas.releases.facts import Code, Documented, Evidence, Fact, Generated, Inherits, Run

HEAD = """# Facts of releases

Generated from `schemas/releases` by `scripts/build_docs.py`. What shows each: a pattern in the release's own files, an
entry of the tables that are generated from them, a base class, a test that runs the release, or a document.
`python scripts/reread_evidence.py --all` reads all of it again ([adding a release](releasing.md)).
"""


def facts_page() -> str:
    """Return every fact with its releases and evidence, by module."""
    seen: set[str] = set()
    parts = [HEAD]
    for module in registry.modules():
        own = {fact.name: fact for fact in registry.facts_of(module) if fact.name not in seen}
        seen |= set(own)
        if own:
            name = module.__name__.rpartition(".")[2]
            parts.append(f"\n## {name}\n\n| Fact | Releases | Shown by |\n|---|---|---|\n")
            parts += [_row(fact) for fact in own.values()]
    return "".join(parts)


def _row(fact: Fact) -> str:
    shown = "; ".join(_shown(one) for one in fact.evidence)
    meaning = fact.meaning.replace("|", "\\|").replace("*", "\\*")
    return f"| {meaning} | {fact.project} {registry.spans(fact).en} | {shown} |\n"


def _shown(evidence: Evidence) -> str:
    if isinstance(evidence, Code):
        return ", ".join(f"`{part}`" for part in _files(evidence)) + (" (absent)" if evidence.absent else "")
    if isinstance(evidence, Generated):
        return f"table: {evidence.section}" + (" (absent)" if evidence.absent else "")
    if isinstance(evidence, Inherits):
        return f"class header: {evidence.base}" + (" (absent)" if evidence.absent else "")
    if isinstance(evidence, Run):
        return f"run: `{evidence.test}`"
    assert isinstance(evidence, Documented)
    return f"[documented]({evidence.url})"


def _files(evidence: Code) -> Iterator[str]:
    parts = evidence.files.split()
    yield from parts[:2]
    if len(parts) > 2:
        yield "…"
