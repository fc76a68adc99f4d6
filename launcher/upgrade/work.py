"""Working out an upgrade: entries, and the texts that result from writing the certain ones, or the plausible too.

An edit is made, the files are read again, and it is kept only if the engines are given the same as before but for what
the entry names. What rules say under the new release comes after that, with their own fixes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from difflib import SequenceMatcher

from pd_launch.launcher import budget
from pd_launch.launcher.check.fix import change, make_fixes
from pd_launch.launcher.check.fix_facts import facts_of
from pd_launch.launcher.check.run import run_checks
from pd_launch.launcher.rules.edits import Edits
from pd_launch.launcher.rules.registry import all_rules
from pd_launch.launcher.sources.read import Inputs, read
from pd_launch.launcher.sources.release.release_words import mentions
from pd_launch.launcher.sources.release.targets import families
from pd_launch.launcher.upgrade.entries import Entry
from pd_launch.launcher.upgrade.handshake import handshake_entries
from pd_launch.launcher.upgrade.names import name_entries
from pd_launch.launcher.upgrade.pins import pin_entries
from pd_launch.launcher.upgrade.rules_diff import covered, finding_entries, new_findings
from pd_launch.launcher.upgrade.step import Step
from pd_launch.launcher.upgrade.turns import turn_entries
from pd_launch.schemas.core.findings import Edit, Finding
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.values import Origin, SourceFile
from pd_launch.schemas.engine.sides import side_of

MOST = 200
"""Edits of one call."""
ROUNDS = 4
"""How often the rules are asked again after their fixes were made."""


@dataclass
class Upgrade:
    """What an upgrade comes to. ``texts`` has what is written without ``unsafe``, ``unsafe`` what is with it."""

    step: Step
    files: list[SourceFile]
    entries: list[Entry]
    before: list[Finding]
    after: list[Finding]
    texts: dict[str, str] = field(default_factory=dict)
    engines: int = 0
    """Engines of the family in the files."""

    @property
    def changed(self) -> list[str]:
        """Paths whose text changes."""
        return [source.path for source in self.files if self.texts[source.path] != source.text]

    @property
    def left(self) -> list[Entry]:
        """The entries that ask for something and are not in ``texts``."""
        return [entry for entry in self.entries if entry.how != "note" and not entry.written]


def upgrade(inputs: Inputs, step: Step, unsafe: bool = False, only: str | None = None, lang: str = "en") -> Upgrade:
    """Return what changes for ``inputs`` between two releases, and the texts with it written.

    Args:
        inputs: the files of a call.
        step: from which release to which.
        unsafe: whether plausible changes are written too.
        only: the side that is upgraded; None: all.
        lang: language of the findings.
    """
    work = _Work(inputs, step, unsafe, only, lang)
    return work.run()


class _Work:
    def __init__(self, inputs: Inputs, step: Step, unsafe: bool, only: str | None, lang: str) -> None:
        self.inputs, self.step, self.only, self.lang = inputs, step, only, lang
        self.allowed = ("certain", "plausible") if unsafe else ("certain",)
        self.files = inputs.unique()
        self.texts = {source.path: source.text for source in self.files}
        self.failed: set[tuple[str, str, int, int]] = set()

    def run(self) -> Upgrade:
        step = self.step
        deployments = self._read(self.texts, step.a)
        before = self._check(deployments)
        entries = _once(self._entries(deployments))
        fresh = new_findings(before, self._check(self._read(self.texts, step.b)), False)
        said = list(finding_entries([one for one in fresh if not covered(one, entries)], _sources()))
        self._write_names()
        after = self._write_fixes(before, said)
        texts_before = {source.path: source.text for source in self.files}
        entries = self._settled(entries, said, before, after, texts_before)
        engines = sum(self._is_meant(node, one) for one in deployments for node in one.nodes)
        return Upgrade(step, self.files, entries, before, after, self.texts, engines)

    def _read(self, texts: Mapping[str, str], target: Target) -> list[Deployment]:
        files = [SourceFile(source.path, texts[source.path], source.exact) for source in self.files]
        with budget.limited():
            return read(replace(self.inputs, files=files, target=target))

    def _entries(self, deployments: Sequence[Deployment]) -> Iterator[Entry]:
        for deployment in deployments:
            nodes = [node for node in deployment.nodes if self._is_meant(node, deployment)]
            texts = {path: source for path, source in deployment.sources.items() if path in self.texts}
            yield from handshake_entries(nodes, self.step, self.only)
            yield from turn_entries(nodes, self.step)
            yield from name_entries(nodes, self.step)
            if self._whole(deployment, nodes):
                yield from pin_entries(deployment, nodes, self.step, texts)

    def _is_meant(self, node: NodeLaunch, deployment: Deployment) -> bool:
        said = mentions(node, deployment.sources)
        if self.step.a.is_ascend not in families(node, deployment.sources, said):
            return False
        return self.only is None or side_of(node) == self.only

    def _whole(self, deployment: Deployment, nodes: Sequence[NodeLaunch]) -> bool:
        """Whether what names the release in the files is that of the engines that are meant, and of no others."""
        return bool(nodes or not deployment.nodes) and (self.only is None or len(nodes) == len(deployment.nodes))

    def _check(self, deployments: Sequence[Deployment]) -> list[Finding]:
        """Return what the rules say of the engines that are meant."""
        meant = []
        for deployment in deployments:
            nodes = [node for node in deployment.nodes if self._is_meant(node, deployment)]
            whole = deployment.renderer is not None or len(nodes) == len(deployment.nodes)
            meant.append(deployment if whole else replace(deployment, nodes=nodes))
        with budget.limited():
            return run_checks(meant, lang=self.lang).findings

    def _write_names(self) -> None:
        """Make the edits of the curated entries, on texts that are read again each time."""
        for _ in range(MOST):
            deployments = self._read(self.texts, self.step.a)
            known = [e for e in _once(self._entries(deployments)) if e.how in self.allowed and e.edits is not None]
            wanted = [one for one in known if one.key not in self.failed]
            if not wanted:
                return
            self._write_alike([one for one in wanted if one.touches == wanted[0].touches], deployments)

    def _write_alike(self, entries: list[Entry], deployments: Sequence[Deployment]) -> None:
        """Make the edits of entries that touch the same names: all at once, else those of the half, down to one.

        A file with fifteen engines has the same entry for each: one by one, it was read again for each of them.
        """
        while entries:
            texts = self._made(entries, deployments)
            if texts is not None:
                self.texts = texts
                return
            if len(entries) == 1:
                self.failed.add(entries[0].key)
            entries = entries[: len(entries) // 2]

    def _made(self, entries: Sequence[Entry], deployments: Sequence[Deployment]) -> dict[str, str] | None:
        """Return the texts with the edits of entries, if they change nothing but what all of these touch; else None."""
        before = Counter((fact.path, fact.value) for fact in facts_of(deployments))
        for edits in _ways(entries):
            texts = self._changed(edits)
            if texts is None:
                continue
            now = self._read(texts, self.step.a)
            if [len(d.nodes) for d in now] != [len(d.nodes) for d in deployments]:
                continue
            after = Counter((fact.path, fact.value) for fact in facts_of(now))
            gone, come = before - after, after - before
            if all(entries[0].touches & set(path) for path, _ in (*gone, *come)) and not _torn(deployments, now):
                return texts
        return None

    def _changed(self, edits: Edits | None) -> dict[str, str] | None:
        if not edits or any(place.file not in self.texts for place, _ in edits):
            return None
        plain = [
            Edit(file=o.file, line=o.line, column=o.column, end_line=o.end_line, end_column=o.end_column, text=text)
            for o, text in edits
        ]
        texts = dict(self.texts)
        for path in {edit.file for edit in plain}:
            made = change(texts[path], [edit for edit in plain if edit.file == path])
            if made is None:
                return None
            texts[path] = made.text
        return texts if texts != self.texts else None

    def _write_fixes(self, before: Sequence[Finding], said: list[Entry]) -> list[Finding]:
        """Make the fixes of what is new under the new release; return what is found at the end."""
        found: list[Finding] = []
        for _ in range(ROUNDS):
            found = self._check(self._read(self.texts, self.step.b))
            fresh = new_findings(before, found, True)
            wanted = [one for one in fresh if one.fix and ("plausible" in self.allowed or one.fix.safe)]
            files = [SourceFile(source.path, self.texts[source.path], source.exact) for source in self.files]
            inputs = replace(self.inputs, files=files, target=self.step.b)
            texts = make_fixes(inputs, wanted, self.lang) if wanted else self.texts
            if texts == self.texts:
                break
            self.texts = texts
        return found

    def _settled(
        self, entries: list[Entry], said: list[Entry], before: Sequence[Finding], after: Sequence[Finding],
        texts: Mapping[str, str],
    ) -> list[Entry]:  # fmt: skip
        """Return all entries, each with whether it is written, and those for errors that came to light by writing."""
        left = _once(self._entries(self._read(self.texts, self.step.a)))
        back = _Lines(texts, self.texts)
        remains = {(*_name(entry), back.line(entry.origin.file, entry.origin.line)) for entry in left}
        for entry in entries:
            entry.written = (*_name(entry), entry.origin.line) not in remains and entry.how in self.allowed
            if not entry.written and entry.how in self.allowed:
                entry.how = "by-hand"
        fresh = new_findings(before, after, True)
        still = Counter((one.code, one.file) for one in fresh)
        for entry in reversed(said):
            entry.written = still[(entry.subject, entry.origin.file)] <= 0 and entry.how in self.allowed
            still[(entry.subject, entry.origin.file)] -= 1
            if not entry.written and entry.how in self.allowed:
                entry.how = "by-hand"
        known = Counter((entry.subject, entry.origin.file) for entry in said)
        for one in fresh:
            if one.severity != "error":
                continue
            known[(one.code, one.file)] -= 1
            place = Origin(one.file, back.line(one.file, one.line), one.column, one.line, one.column + 1)
            if known[(one.code, one.file)] < 0 and not any(_beside(place, entry.origin) for entry in entries):
                added = next(finding_entries([one], _sources()), None)
                if added is not None:
                    added.origin, added.how = place, "by-hand"
                    said.append(added)
        return [*entries, *said]


def _ways(entries: Sequence[Entry]) -> Iterator[Edits | None]:
    """Yield the ways in which one entry can be written; of several, each one's first."""
    ways = [one.edits() for one in entries if one.edits is not None]
    if len(ways) == 1:
        yield from ways[0]
        return
    first = [next((edits for edits in way if edits), None) for way in ways]
    yield tuple(dict.fromkeys(edit for edits in first if edits for edit in edits))


def _name(entry: Entry) -> tuple[str, str]:
    return (entry.subject, entry.origin.file)


def _beside(place: Origin, other: Origin) -> bool:
    return place.file == other.file and place.line == other.line


class _Lines:
    """Where the lines of changed texts were before."""

    def __init__(self, before: Mapping[str, str], after: Mapping[str, str]) -> None:
        self.before, self.after = before, after
        self._found: dict[str, dict[int, int]] = {}

    def line(self, file: str, line: int) -> int:
        """Return the line of the text before that a line of the text now was, or whose place it takes."""
        if file not in self._found:
            self._found[file] = self._map(file)
        return self._found[file].get(line, line)

    def _map(self, file: str) -> dict[int, int]:
        old, new = self.before.get(file, ""), self.after.get(file, "")
        if old == new:
            return {}
        found: dict[int, int] = {}
        codes = SequenceMatcher(None, old.splitlines(), new.splitlines(), autojunk=False).get_opcodes()
        for _, i1, i2, j1, j2 in codes:
            for offset in range(j2 - j1):
                found[j1 + offset + 1] = min(i1 + offset + 1, max(i2, 1))
        return found


def _torn(before: Sequence[Deployment], after: Sequence[Deployment]) -> bool:
    """Whether reading finds more wrong with the texts than before."""
    return sum(len(d.faults) for d in after) > sum(len(d.faults) for d in before)


def _once(entries: Iterator[Entry]) -> list[Entry]:
    """Return each entry once: what several engines share is found for each of them."""
    found: dict[tuple[object, ...], Entry] = {}
    for entry in entries:
        found.setdefault((*entry.key, entry.kind), entry)
    return list(found.values())


def _sources() -> dict[str, str]:
    return {code: f"pd-launch explain {code}" for code in all_rules()}
