"""Rules on an input of unknown release: each is asked for the releases that it may be for.

What the newest releases report is confirmed under all others. A rule that does not ask for the release is run once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from typing import Any, cast

from pd_launch.launcher import budget
from pd_launch.launcher.rules.registry import FixEdits, Hit, Rule, all_rules
from pd_launch.launcher.sources.release.targets import choices
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.severity import RANK, Severity
from pd_launch.schemas.core.target import Choice, Target, ranges
from pd_launch.schemas.core.values import Origin

_OF_THE_RELEASE = ("target", "ascend")
KNOW_OLDER = frozenset({"PD213", "PD605"})
"""Rules that know what releases before the first row do."""
_RELEASE = lazy_pattern(r"(?<![\d.])\d+\.\d+\.\d+(?:rc\d+|\.post\d+)?(?!\.?\d)")
"""What messages of one fault differ in, where they are of several releases."""


class _Watched:
    """Stands for a deployment, and notes whether it was asked for its release."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self.asked = deployment.renderer is not None  # what is rendered depends on the release by itself

    def __getattr__(self, name: str) -> Any:
        self.asked = self.asked or name in _OF_THE_RELEASE
        return getattr(self._deployment, name)


def hits_of(rule: Rule, deployment: Deployment) -> Iterator[Hit]:
    """Run a rule over a deployment for every release that its engines may be for."""
    found = list(choices(deployment))
    if len(found) == 1:
        yield from _Asked(rule, deployment, found[0]).hits()
    elif rule.scope == "node":
        yield from _shared(rule, _by_engine(rule, deployment, found))
    else:
        yield from _shared(rule, _across(rule, deployment, found))


_Of = tuple[Choice | None, Hit]
"""A hit with what its engine is checked for; None where it is between engines."""


def _by_engine(rule: Rule, deployment: Deployment, found: Sequence[Choice]) -> Iterator[_Of]:
    for choice in found:
        nodes = [node for node in deployment.nodes if (node.choice or found[0]) == choice]
        yield from ((choice, hit) for hit in _Asked(rule, deployment, choice, nodes).hits())


def _shared(rule: Rule, found: Iterable[_Of]) -> Iterator[Hit]:
    """Iterate over hits; one place that engines of several releases share is found once, for all of these.

    A script that two pods of different releases run is one text: a fix for the one must not break the other.
    """
    places: dict[tuple[Origin, str], dict[Choice | None, dict[Msg, Hit]]] = {}
    spent = None
    try:
        for choice, hit in found:
            key = (hit.origin, _RELEASE.sub("", hit.message.en))
            places.setdefault(key, {}).setdefault(choice, {}).setdefault(hit.message, hit)
    except budget.Spent as error:
        spent = error
    for by_choice in places.values():
        same = [list(hits.values()) for hits in by_choice.values()]
        if len(same) > 1 and all(len(hits) == 1 for hits in same):
            hits = [hit for many in same for hit in many]
            yield _joined(max(hits, key=lambda hit: RANK[hit.severity or rule.severity]), same)
        else:
            yield from (hit for many in same for hit in many)
    if spent is not None:
        raise spent


def _across(rule: Rule, deployment: Deployment, found: Sequence[Choice]) -> Iterator[_Of]:
    """Run a rule over engines of several releases: those of each by themselves, and what is between them.

    What is between engines of different releases counts where each of their releases says so; of an engine of unknown
    release some of its releases are enough, and make it less sure.
    """
    whole = [_Asked(rule, deployment, choice, deployment.nodes) for choice in found]
    first = whole[0].under(found[0].leads[0])
    if not whole[0].depends:
        yield from ((None, hit) for many in first.values() for hit in many)
        return
    said: set[Origin] = set()
    for choice in found:
        nodes = [node for node in deployment.nodes if node.choice == choice]
        part = replace(deployment, nodes=nodes)
        for hit in _Asked(rule, part, choice).hits():
            said.add(hit.origin)
            yield choice, hit
    led = [asked.led() for asked in whole]
    between = set.intersection(*({origin for hits in by.values() for origin in hits} for by in led)) - said
    if between:
        hits = [list(asked.confirmed(by)) for asked, by in zip(whole, led, strict=True)]
        for hit in hits[0]:
            if hit.origin in between:
                said_of = [[other for other in many if other.origin == hit.origin] for many in hits]
                severities = [other.severity or rule.severity for many in said_of for other in many]
                severity: Severity = min(severities, key=RANK.__getitem__)
                yield None, _joined(replace(hit, severity=severity), said_of)


def _joined(hit: Hit, said: Sequence[Sequence[Hit]]) -> Hit:
    """Return a hit as engines of several releases say it; ``said`` is what each of them says of its place."""
    fix = hit.fix or next((other.fix for many in said for other in many if other.fix is not None), None)
    if fix is not None:
        alike = [other.fix for many in said for other in many if other.fix and other.fix.edits == fix.edits]
        fix = _agreed(fix, said, all(one.safe for one in alike))
    names: tuple[str, ...] = ()
    if all(other.releases for many in said for other in many):
        every = dict.fromkeys(name for many in said for other in many for name in other.releases)
        names = tuple(name for name in every if not any(name.startswith(f"{family} ") for family in every))
    return replace(hit, fix=fix, releases=names)


def _agreed(fix: FixEdits, said: Iterable[Sequence[Hit]], sure: bool) -> FixEdits | None:
    """Return a fix as several releases make it: none where one writes another text, no safe one unless all write this.

    ``said`` is what each of them says of the place; ``sure`` whether these are all that must agree.
    """
    written = [[hit.fix.edits for hit in hits if hit.fix is not None] for hits in said]
    if any(edits and fix.edits not in edits for edits in written):
        return None
    return fix if sure and all(fix.edits in edits for edits in written) else replace(fix, safe=False)


@dataclass
class _Asked:
    """A rule on engines that may be for the releases of one choice."""

    rule: Rule
    deployment: Deployment
    choice: Choice
    nodes: Sequence[NodeLaunch] | None = None
    depends: bool = False
    """Whether it asked for the release."""
    reported: dict[int, NodeLaunch] = field(default_factory=dict)
    """The engines on which a rule that looks at each by itself found something: other releases need ask no others."""

    def run(self, target: Target) -> Iterator[Hit]:
        """Run the rule for a release; a hit is there as soon as it is found, whatever ends the rule after it."""
        budget.look()
        view = self.deployment if target == self.deployment.target else self.deployment.under(target)
        if view is not self.deployment:  # what is rendered for another release knows nothing of the call
            own = self.deployment
            view.choice, view.renderer, view.require_target = own.choice, own.renderer, own.require_target
        watched = _Watched(view)
        for nodes in self._one_by_one(view):
            for hit in self.rule.hits(cast("Deployment", watched), nodes):
                self.depends = self.depends or watched.asked
                self.reported.update((id(node), node) for node in nodes or ())
                yield hit
        self.depends = self.depends or watched.asked

    def _one_by_one(self, view: Deployment) -> Iterator[Sequence[NodeLaunch] | None]:
        """Iterate over what the rule is run on: each engine, or everything at once."""
        if self.rule.scope != "node":
            yield self.nodes
            return
        yield from ([node] for node in (view.nodes if self.nodes is None else self.nodes))

    def under(self, target: Target) -> dict[Origin, list[Hit]]:
        """Return what the rule finds for a release, by place; what many engines share is there once."""
        found: dict[Origin, dict[Msg, Hit]] = {}
        for hit in self.run(target):
            found.setdefault(hit.origin, {}).setdefault(hit.message, hit)
        return {origin: list(hits.values()) for origin, hits in found.items()}

    def hits(self) -> Iterator[Hit]:
        """Iterate over what is found for the releases that are possible, each place once."""
        if len(self.choice.rows) > 1:
            yield from self.confirmed(self.led())
            return
        (only,) = self.choice.rows
        for hit in self.run(only):
            if self.depends:
                own = hit.severity or self.rule.severity
                known = not only.is_before_rows or self.rule.code in KNOW_OLDER
                severity = own if known else _at_most(own, "warning")  # it may well be right there
                hit = replace(hit, severity=severity, releases=(str(only),))
            yield hit

    def led(self) -> dict[Target, dict[Origin, list[Hit]]]:
        """Return what is found for the releases that findings are looked for in."""
        leads = self.choice.leads
        found = {leads[0]: self.under(leads[0])}
        return found | {target: self.under(target) for target in leads[1:]} if self.depends else found

    def confirmed(self, led: dict[Target, dict[Origin, list[Hit]]]) -> Iterator[Hit]:
        """Iterate over what was found, as all the releases that are possible allow."""
        leads = self.choice.leads
        first = led[leads[0]]
        if not self.depends:
            yield from (hit for many in first.values() for hit in many)
            return
        by_release = dict(led)
        places = dict.fromkeys(origin for found in by_release.values() for origin in found)
        if places:
            others = self._of_reported()
            by_release |= {t: others.under(t) for t in self.choice.rows if t not in by_release}
        for origin in places:
            lead = next(target for target in leads if origin in by_release[target])
            reporting = {target: found[origin] for target, found in by_release.items() if origin in found}
            yield from (self._confirmed(hit, reporting) for hit in by_release[lead][origin])

    def _of_reported(self) -> _Asked:
        """Return the same for the engines alone that something was found on; each rendering has engines of its own."""
        alone = self.rule.scope == "node" and self.deployment.renderer is None
        return replace(self, nodes=list(self.reported.values())) if alone else self

    def _confirmed(self, hit: Hit, reporting: dict[Target, list[Hit]]) -> Hit:
        """Return a hit as the releases that report it allow."""
        rows = self.choice.rows
        severity = min((self._worst(hits) for hits in reporting.values()), key=RANK.__getitem__)
        if len(reporting) < len(rows):
            severity = _at_most(severity, "warning")
        if {target.is_ascend for target in reporting} != set(self.choice.families):
            severity = _at_most(severity, "info")
        own = hit.severity or self.rule.severity
        severity = _at_most(own, severity)
        fix = hit.fix and _agreed(hit.fix, reporting.values(), len(reporting) == len(rows))
        return replace(hit, severity=severity, fix=fix, releases=ranges(reporting, rows))

    def _worst(self, hits: Iterable[Hit]) -> Severity:
        return max((hit.severity or self.rule.severity for hit in hits), key=RANK.__getitem__)


def _at_most(severity: Severity, limit: Severity) -> Severity:
    return min(severity, limit, key=RANK.__getitem__)


def places_under(deployment: Deployment, code: str) -> set[Origin]:
    """Return where a rule reports something under any release that is possible; nothing where one is decided.

    A comment that silences a finding of an old release is used, although nothing is looked for there.
    """
    found: set[Origin] = set()
    for choice in choices(deployment):
        asked = _Asked(all_rules()[code], deployment, choice)
        for target in choice.rows if choice.decided is None else ():
            found |= set(asked.under(target))
            if not asked.depends:
                break
    return found
