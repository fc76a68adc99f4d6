"""Run the rules over deployments: hits become findings, each once, in the order of their places."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from fnmatch import fnmatch
from functools import cache, partial

from pd_launch.launcher import budget
from pd_launch.launcher.check.candidates import hits_of, places_under
from pd_launch.launcher.check.ignores import apply_ignores
from pd_launch.launcher.check.listed import Listed
from pd_launch.launcher.rules.placeholders import places
from pd_launch.launcher.rules.registry import FixEdits, Hit, Rule, all_rules
from pd_launch.launcher.sources.text.limits import NOT_FOLLOWED, not_followed
from pd_launch.schemas.core.findings import Edit, Finding, Fix, Related
from pd_launch.schemas.core.launch import Deployment
from pd_launch.schemas.core.msg import Msg, shortened
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.severity import RANK, Severity
from pd_launch.schemas.core.values import Origin

OF_PLACEHOLDERS = ("PD001", "PD003", "PD707")
"""The rules that speak of a value that is still a placeholder: what the real one will be, no rule knows."""
OF_GRAMMAR = ("PD001", "PD002", "PD003", "PD004", "PD005", "PD702")
"""The rules that speak of how a command is written."""
LIMITS = "PD014"
"""The rule about what was not followed: it is run after those that may be cut short."""
IGNORES = "PD013"
"""The rule about ignore comments: it is run after all others, on what they suppressed."""


@dataclass(frozen=True)
class Selection:
    """Which rules count. A code, a family (``PD3``) or a name selects; an empty ``select`` is all.

    ``per_file`` gives patterns of paths with rules that do not count there.
    """

    select: Collection[str] = ()
    ignore: Collection[str] = ()
    severities: Mapping[str, Severity] = field(default_factory=dict)
    per_file: Sequence[tuple[str, Collection[str]]] = ()

    def takes(self, rule: Rule) -> bool:
        """Whether ``rule`` is selected and not ignored."""
        return (not self.select or _named(rule, self.select)) and not _named(rule, self.ignore)

    def takes_in(self, rule: Rule, file: str) -> bool:
        """Whether ``rule`` counts in ``file``."""
        return not any(_named(rule, words) and _matches(file, pattern) for pattern, words in self.per_file)


def _named(rule: Rule, words: Collection[str]) -> bool:
    return any(rule.code.startswith(word.upper()) or rule.name == word for word in words)


def _matches(file: str, pattern: str) -> bool:
    return fnmatch(file, pattern) or fnmatch(file.rpartition("/")[2], pattern)


@dataclass
class Checked:
    """The findings of a call, the hits that they are of, and how many were left out by ignore comments."""

    findings: list[Finding]
    suppressed: int = 0
    cut: int = 0
    """Places where reading stopped at a limit, with or without a finding."""
    hits: list[tuple[Rule, Hit]] = field(default_factory=list)
    selection: Selection = field(default_factory=Selection)

    def rendered(self, lang: str) -> list[Finding]:
        """Return the same findings in another language, without running a rule again."""
        return [_finding(rule, hit, lang, self.selection) for rule, hit in self.hits]


def check(deployments: Iterable[Deployment], selection: Selection | None = None, lang: str = "en") -> list[Finding]:
    """Return the findings of all selected rules, without repetitions, by file and place."""
    return run_checks(deployments, selection, lang).findings


def run_checks(deployments: Iterable[Deployment], selection: Selection | None = None, lang: str = "en") -> Checked:
    """Run all selected rules; ignore comments are obeyed, and those that do nothing are findings themselves."""
    selection = selection or Selection()
    rules = [rule for rule in all_rules().values() if selection.takes(rule)]
    found: dict[tuple[object, ...], Finding] = {}
    origins: dict[tuple[object, ...], tuple[Rule, Hit]] = {}
    suppressed = cut = 0
    for deployment in deployments:
        findings = _findings(deployment, [rule for rule in rules if rule.code != IGNORES], selection, lang, origins)
        ran = () if budget.is_spent() else tuple(rule.code for rule in rules)
        kept, count, faults = apply_ignores(findings, deployment, ran, partial(places_under, deployment))
        suppressed += count
        # in place: views of the deployment for other releases share the list
        deployment.faults[:] = [fault for fault in deployment.faults if fault.kind != "ignore"] + faults
        kept += _findings(deployment, [rule for rule in rules if rule.code == IGNORES], selection, lang, origins)
        for finding in kept:
            found.setdefault(finding.identity(), finding)
        cut += sum(1 for _ in deployment.faults_of(NOT_FOLLOWED))
    ordered = sorted(found.values(), key=Finding.sort_key)
    return Checked(ordered, suppressed, cut, [origins[finding.identity()] for finding in ordered], selection)


def merged(parts: Iterable[Checked]) -> Checked:
    """Return what was found in parts of a call as if it was checked at once."""
    found: dict[tuple[object, ...], Finding] = {}
    whole = Checked([])
    for part in parts:
        whole.suppressed += part.suppressed
        whole.cut += part.cut
        for finding in part.findings:
            key = finding.identity()
            if key not in found or found[key].fix is None:  # only the part that was given a file can fix it
                found[key] = finding
    whole.findings = sorted(found.values(), key=Finding.sort_key)
    return whole


def unfiltered(deployments: Iterable[Deployment], lang: str = "en") -> list[Finding]:
    """Return what all rules say, whatever is selected or ignored by comments: what a fix is judged by."""
    rules = [rule for rule in all_rules().values() if rule.code != IGNORES]
    found: dict[tuple[object, ...], Finding] = {}
    for deployment in deployments:
        for finding in _findings(deployment, rules, Selection(), lang, {}):
            found.setdefault(finding.identity(), finding)
    return list(found.values())


def _findings(
    deployment: Deployment,
    rules: Iterable[Rule],
    selection: Selection,
    lang: str,
    origins: dict[tuple[object, ...], tuple[Rule, Hit]],
) -> list[Finding]:
    """Return the findings of ``rules``; ``origins`` takes in which hit each is of, by its identity."""
    found: dict[tuple[object, ...], Finding] = {}
    unfilled = places(deployment)
    for rule, hit in _hits(rules, deployment):
        if hit.origin in unfilled and rule.code not in OF_PLACEHOLDERS:
            continue
        if selection.takes_in(rule, hit.origin.file):
            hit = _of_guess(rule, hit, deployment)
            finding = _finding(rule, hit, lang, selection)
            found.setdefault(finding.identity(), finding)
            origins.setdefault(finding.identity(), (rule, hit))
    return list(found.values())


def _of_guess(rule: Rule, hit: Hit, deployment: Deployment) -> Hit:
    """Return a hit about the grammar of a text of which it is a guess that it is run as a warning, not an error."""
    if rule.code not in OF_GRAMMAR or (hit.severity or rule.severity) != "error":
        return hit
    around = any(guessed.holds(hit.origin) for guessed in deployment.guessed)
    return replace(hit, severity="warning") if around else hit


def _hits(rules: Iterable[Rule], deployment: Deployment) -> Iterator[tuple[Rule, Hit]]:
    """Iterate over what the rules find, as long as the budget lasts; the one that says what was not read is last."""
    rules, listed = list(rules), Listed()
    rule = None
    try:
        for rule in (rule for rule in rules if rule.code != LIMITS):
            budget.look()
            yield from _hits_in_time(rule, deployment, listed)
    except budget.Spent as spent:
        code = rule.code if rule else ""
        place = next((source.origin(0, 0) for source in deployment.sources.values()), None)
        place = deployment.nodes[0].origin if deployment.nodes else place
        if place is not None:
            left = Msg(f"the rules from {code} on were not applied", f"从 {code} 起的规则没有执行")
            deployment.faults.append(not_followed(place, spent.limit, left))
    last = ((rule, hit) for rule in rules if rule.code == LIMITS for hit in rule.hits(deployment))
    yield from ((rule, hit) for rule, hit in last if listed.takes(rule, hit))
    yield from listed.rest()


def _hits_in_time(rule: Rule, deployment: Deployment, listed: Listed) -> Iterator[tuple[Rule, Hit]]:
    """Iterate over what one rule finds; where the budget ends in the middle of it, over what it found till then."""
    found: list[tuple[Rule, Hit]] = []
    try:
        with budget.interruptible():
            found.extend((rule, hit) for hit in hits_of(rule, deployment) if listed.takes(rule, hit))
    except budget.Spent:
        yield from found
        raise
    yield from found


def _finding(rule: Rule, hit: Hit, lang: str, selection: Selection) -> Finding:
    origin = hit.origin
    return Finding(
        code=rule.code,
        name=rule.name,
        severity=selection.severities.get(rule.code) or hit.severity or rule.severity,
        confidence=rule.confidence,
        message=_text(hit.message, lang),
        why=_reason(rule, lang),
        help=_text(hit.help, lang),
        file=origin.file,
        line=origin.line,
        column=origin.column,
        end_line=origin.end_line,
        end_column=origin.end_column,
        related=[
            Related(file=place.file, line=place.line, column=place.column, message=_text(message, lang))
            for place, message in hit.related
        ],
        fix=_fix(hit.fix, lang),
        releases=list(hit.releases),
    )


@cache
def _reason(rule: Rule, lang: str) -> str:
    return rule.why.text(lang)


def _text(message: Msg, lang: str) -> str:
    """Return a message as text that every report can hold: not of a megabyte, nor with half of a surrogate pair."""
    return shortened(message.text(lang)).encode("utf-8", "replace").decode("utf-8")


def _fix(fix: FixEdits | None, lang: str) -> Fix | None:
    if fix is None:
        return None
    return Fix(message=_text(fix.message, lang), safe=fix.safe, edits=[_edit(place, text) for place, text in fix.edits])


def _edit(place: Origin, text: str) -> Edit:
    return Edit(
        file=place.file,
        line=place.line,
        column=place.column,
        end_line=place.end_line,
        end_column=place.end_column,
        text=text,
    )


def worst(findings: Iterable[Finding]) -> Severity | None:
    """Return the highest severity among ``findings``, or None without any."""
    return max((finding.severity for finding in findings), key=RANK.__getitem__, default=None)
