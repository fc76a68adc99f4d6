"""Evidence of the facts in schemas/releases, read in one release's own files."""

from __future__ import annotations

import ast
import json
import re
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from packaging.version import Version
from release_ranges import DATA, unfold
from release_ranges import Table as Tables

from pd_launch.launcher.builds.classes import Class
from pd_launch.launcher.builds.files import Folder
from pd_launch.launcher.builds.source import Package
from pd_launch.schemas.core.pairing import ASCEND_COMPANIONS, ASCEND_PAIRS, DOCUMENTED_ONLY, WRITTEN_AT
from pd_launch.schemas.core.target import Target, ascend_target, vllm_target
from pd_launch.schemas.releases.facts import Code, Fact, Generated, Inherits, Project
from pd_launch.schemas.releases.registry import all_facts

_PIECES = re.compile(r"""["']\s*\n\s*[rf]*["']""")


@dataclass
class Files:
    """A release's own files: ``root`` holds the package, and what its source package has beside it."""

    project: Project
    release: str
    root: Path
    table: Tables = field(default_factory=dict)
    _texts: dict[Path, str] = field(default_factory=dict)

    def texts(self, patterns: str) -> Iterator[tuple[str, str]]:
        """Give path and text of every file that one of the patterns names; texts in pieces are joined."""
        for pattern in patterns.split():
            for path in sorted(self.root.glob(pattern)):
                if path not in self._texts:
                    self._texts[path] = _PIECES.sub("", path.read_text(encoding="utf-8", errors="replace"))
                yield str(path.relative_to(self.root)), self._texts[path]

    def sources(self, patterns: str) -> Iterator[tuple[str, str]]:
        """Give path and text of every file that one of the patterns names, as it is written."""
        for pattern in patterns.split():
            for path in sorted(self.root.glob(pattern)):
                yield str(path.relative_to(self.root)), path.read_text(encoding="utf-8", errors="replace")

    @cached_property
    def package(self) -> Package:
        """The release's modules, for what only they tell."""
        return Package(Folder(self.root))

    @property
    def target(self) -> Target:
        """The release as a target."""
        make = vllm_target if self.project == "vllm" else ascend_target
        return make(self.release, "unknown")


@contextmanager
def opened(project: Project, release: str, tables: Tables | None = None) -> Iterator[Files]:
    """Unpack a release's files for as long as they are read; its tables are ours, where none are given.

    Raises:
        ReadError: the package index does not give them.
    """
    from release_archives import python_files

    with tempfile.TemporaryDirectory(prefix="pd-launch-evidence-") as folder:
        with zipfile.ZipFile(python_files(project, release)) as archive:
            archive.extractall(folder)
        yield Files(project, release, Path(folder), tables or table_of(project, release))


def table_of(project: Project, release: str) -> Tables:
    """Return what the generated tables say of a release; nothing where they lack it."""
    data = json.loads((DATA / f"{project}.json").read_text(encoding="utf-8"))
    return unfold(data).get(release, {})


@dataclass(frozen=True)
class Broken:
    """A fact that a release's files contradict."""

    fact: Fact
    release: str
    says: str

    def __str__(self) -> str:
        return f"{self.fact.name}: {self.fact.meaning} ({self.fact.spoken()}), but {self.says} in {self.release}"


def broken(files: Files) -> Iterator[Broken]:
    """Give every fact that the release's files contradict."""
    for fact in all_facts().values():
        if fact.project == files.project:
            for says in _contradictions(fact, files):
                yield Broken(fact, files.release, says)


def contradicted(files: Files, known: str) -> dict[str, str]:
    """Return what the release contradicts of the facts of another, the newest row that is known: name → how.

    Facts that began after that row are passed over; what ended after it counts as going on.
    """
    make = vllm_target if files.project == "vllm" else ascend_target
    row = make(known, "unknown")
    found: dict[str, str] = {}
    for fact in all_facts().values():
        began = fact.since is None or fact.holds(row) or Version(fact.since) <= Version(known)
        if fact.project == files.project and began:
            for says in _contradictions(fact, files, fact.holds(row)):
                found.setdefault(fact.name, says)
    return found


def _contradictions(fact: Fact, files: Files, holds: bool | None = None) -> Iterator[str]:
    holds = fact.holds(files.target) if holds is None else holds
    for evidence in fact.evidence:
        if not isinstance(evidence, (Code, Generated, Inherits)):
            continue
        shown = _shown(evidence, files)
        if shown is None or (not isinstance(evidence, Generated) and evidence.within and not holds):
            continue
        if shown != holds:
            yield _what(evidence, shown != evidence.absent)


def _shown(evidence: Code | Generated | Inherits, files: Files) -> bool | None:
    """Whether the release shows the fact; None where it tells nothing."""
    if isinstance(evidence, Code):
        found = re.compile(evidence.pattern, re.MULTILINE)
        return any(found.search(text) for _, text in files.texts(evidence.files)) != evidence.absent
    if isinstance(evidence, Generated):
        return (evidence.name in files.table.get(evidence.section, {})) != evidence.absent
    derives = _derives(evidence, files)
    return None if derives is None else derives != evidence.absent


def _derives(evidence: Inherits, files: Files) -> bool | None:
    entry = files.table.get("connectors", {}).get(evidence.connector)
    if not isinstance(entry, list):
        return None
    module = files.package.module(str(entry[0]))
    found = module.value(ast.Name(str(entry[1]))) if module is not None else None
    return found.derives(evidence.base) if isinstance(found, Class) else None


def _what(evidence: Code | Generated | Inherits, there: bool) -> str:
    if isinstance(evidence, Code):
        place = f"{evidence.files.partition(' ')[0]}{' …' if ' ' in evidence.files else ''}"
        return f"{place} {'has' if there else 'lacks'} {evidence.pattern}"
    if isinstance(evidence, Generated):
        return f"the table {'has' if there else 'lacks'} {evidence.section} {evidence.name}"
    return f"the class of {evidence.connector} {'derives' if there else 'does not derive'} from {evidence.base}"


def wrong_companions(files: Files) -> Iterator[str]:
    """Give what a vllm-ascend's source package says otherwise than its row: vLLM, CANN, torch-npu, Mooncake."""
    known = {"vllm": ASCEND_PAIRS.get(files.release), **ASCEND_COMPANIONS.get(files.release, {})}
    for name, (place, pattern) in WRITTEN_AT.items():
        there = next((found[1] for _, text in files.texts(place) if (found := re.search(pattern, text, re.M))), None)
        row = known.get(name)
        if there is not None and row is not None and there != row and (files.release, name) not in DOCUMENTED_ONLY:
            yield f"{place} says {name} {there}, the row {row}"


def unread_keys(words: dict[str, set[str]]) -> list[str]:
    """Return options that no release reads, as ``group.key``; releases → words in their files."""
    from pd_launch.schemas.engine.connector_keys import ONCE_READ
    from pd_launch.schemas.releases.additional_keys import BOOLEANS, GROUPS

    read = set().union(*words.values()) | ONCE_READ
    named = [(name, key) for table in (GROUPS,) for name, keys in table.items() for key in keys]
    named += [("additional_config", key) for key in BOOLEANS]
    return sorted(f"{name}.{key}" for name, key in named if key not in read)


def quoted_words(files: Files) -> set[str]:
    """Return the quoted words in a release's connectors and options, and the fields of vllm-ascend's options."""
    if files.project == "vllm":
        places = "vllm/distributed/kv_transfer/**/*.py vllm/v1/kv_offload/**/*.py vllm/v1/simple_kv_offload/**/*.py"
        fields = set()
    else:
        places = "vllm_ascend/distributed/**/*.py vllm_ascend/*.py"
        config = [text for _, text in files.texts("vllm_ascend/ascend_config.py")]
        fields = {word for text in config for word in re.findall(r"^\s+(\w+): ?\w", text, re.MULTILINE)}
    return fields | {word for _, text in files.texts(places) for word in re.findall(r"[\"'](\w+)[\"']", text)}
