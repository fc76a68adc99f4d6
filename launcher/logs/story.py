"""What happened to each preempted request: episodes from the preemption to its end, counted as they go by."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import field
from typing import Literal

from pd_launch.launcher.logs.reader import Hit
from pd_launch.schemas.core.record import dataclass

Outcome = Literal["parked", "restored", "fallback"]
MAX_REQUESTS = 20_000
MAX_EVENTS = 64
TITLES = {
    "parked": "parked",
    "enabled": "parked",
    "restored": "restored",
    "skipped": "not parked",
    "fell_back": "fell back",
    "raised": "the connector raised",
    "handed_back": "ended, handed back",
    "aborted": "aborted",
    "save_failed": "save failed",
    "load_failed": "restore failed",
}


@dataclass(frozen=True)
class Moment:
    """One line about a request."""

    line: int
    time: str
    event: str
    text: str


@dataclass
class Episode:
    """One preemption of a request. Tokens are None where the log does not say."""

    outcome: Outcome
    reason: str = ""
    computed: int | None = None
    saved: int | None = None
    seen: set[str] = field(default_factory=set)


@dataclass
class Story:
    """All that the log says of one request; of very many moments only the first are kept."""

    id: str
    moments: list[Moment] = field(default_factory=list)
    preemptions: int = 0
    restored: int = 0
    fallbacks: list[str] = field(default_factory=list)
    handed_back: bool = False
    aborted: bool = False
    last: Episode | None = None
    left_out: int = 0

    def told(self, hit: Hit) -> None:
        """Keep a line."""
        if len(self.moments) < MAX_EVENTS:
            line = hit.line
            text = line.text[line.start or 0 :]
            self.moments.append(Moment(line.number, line.time, hit.pattern.event, text[:400]))
        else:
            self.left_out += 1


@dataclass
class Totals:
    """Counts over all requests. ``fallbacks`` by reason; a partial save is one and is also parked."""

    preempted: int = 0
    parked: int = 0
    restored: int = 0
    handed_back: int = 0
    aborted: int = 0
    fallbacks: dict[str, int] = field(default_factory=dict)
    recomputed: int = 0
    """Tokens that were certainly computed again."""
    unknown: int = 0
    """Requests that were computed again and of which the log does not say how many tokens."""
    bounded: int = 0
    """Of those the requests of which it gives a bound: ``lost_tokens`` or ``lost_blocks``."""
    lost_tokens: int = 0
    """Tokens that were not saved, of which the device's prefix cache may have kept some."""
    lost_blocks: int = 0
    """Blocks that were needed and not saved: an upper bound of what was computed again, where no tokens are told."""
    most_missing: int = 0
    """Blocks by which the pool was too small, at most."""

    def fall(self, reason: str) -> None:
        """Count a fallback."""
        self.fallbacks[reason] = self.fallbacks.get(reason, 0) + 1


class Book:
    """Follows the requests of one engine; those not heard of for longest are forgotten when there are too many."""

    def __init__(self) -> None:
        self.totals = Totals()
        self.stories: OrderedDict[str, Story] = OrderedDict()
        self.forgotten = 0
        self.recomputes_failed_loads = False
        """Whether kv_load_failure_policy is recompute; else a request whose restore fails ends with an error."""
        self.prefix_caching = True
        """Whether the device may have kept blocks of a preempted request; off only where the arguments say so."""

    def take(self, hit: Hit) -> Story:
        """Take in a line about a request."""
        story = self._story(hit.match["id"][:200])
        story.told(hit)
        getattr(self, f"_{hit.pattern.event}")(story, hit)
        return story

    def _story(self, name: str) -> Story:
        story = self.stories.get(name)
        if story is None:
            story = self.stories[name] = Story(name)
            if len(self.stories) > MAX_REQUESTS:
                self.stories.popitem(last=False)
                self.forgotten += 1
        else:
            self.stories.move_to_end(name)
        return story

    def _open(self, story: Story, outcome: Outcome, event: str, reason: str = "") -> Episode:
        episode = story.last = Episode(outcome, reason, seen={event})
        story.preemptions += 1
        self.totals.preempted += 1
        return episode

    def _same(self, story: Story, outcome: Outcome, event: str) -> Episode | None:
        """The open episode, if this line is a further one about it."""
        last = story.last
        if last is None or last.outcome != outcome or event in last.seen:
            return None
        last.seen.add(event)
        return last

    def _fall(self, story: Story, reason: str) -> None:
        story.fallbacks.append(reason)
        self.totals.fall(reason)

    def _parked(self, story: Story, hit: Hit) -> None:
        episode = self._same(story, "parked", "parked")
        if episode is None:
            episode = self._open(story, "parked", "parked")
            self.totals.parked += 1
        episode.computed = _number(hit, "computed")
        saved = _number(hit, "saved")
        episode.saved = episode.computed if saved is None else saved
        if episode.computed is not None and episode.saved is not None and episode.saved < episode.computed:
            self._fall(story, "partial")

    def _enabled(self, story: Story, hit: Hit) -> None:
        if self._same(story, "parked", "enabled") is None:
            self._open(story, "parked", "enabled")
            self.totals.parked += 1

    def _restored(self, story: Story, hit: Hit) -> None:
        episode = story.last
        self.totals.restored += 1
        story.restored += 1
        if episode is None or episode.outcome != "parked":
            story.last = Episode("restored", seen={"restored"})
            return
        episode.outcome = "restored"
        episode.seen.add("restored")
        if episode.computed is not None and episode.saved is not None:
            self.totals.recomputed += max(0, episode.computed - episode.saved)

    def _skipped(self, story: Story, hit: Hit) -> None:
        free, needed = _number(hit, "free"), _number(hit, "needed")
        reason = "window" if free is not None and needed is not None and needed <= free else "pool_full"
        self._open(story, "fallback", "skipped", reason)
        self._fall(story, reason)
        if free is not None and needed is not None:
            self.totals.most_missing = max(self.totals.most_missing, needed - free)
        self._lost(_number(hit, "computed"), needed if reason == "pool_full" else None)

    def _lost(self, computed: int | None, blocks: int | None) -> None:
        """Count what is computed again of a request of which nothing was saved, as far as its line tells."""
        totals = self.totals
        if computed is not None and not self.prefix_caching:
            totals.recomputed += computed
            return
        totals.unknown += 1
        totals.bounded += computed is not None or blocks is not None
        if computed is not None:
            totals.lost_tokens += computed
        else:
            totals.lost_blocks += blocks or 0

    def _fell_back(self, story: Story, hit: Hit) -> None:
        self._not_saved(story, "fell_back", "not_offloaded")

    def _raised(self, story: Story, hit: Hit) -> None:
        self._not_saved(story, "raised", "raised")

    def _not_saved(self, story: Story, event: str, reason: str) -> None:
        """Count a request that nothing saved, unless an earlier line of this preemption said so."""
        if self._same(story, "fallback", event) is None:
            self._open(story, "fallback", event, reason)
            self._fall(story, reason)
            self.totals.unknown += 1

    def _aborted(self, story: Story, hit: Hit) -> None:
        """A request that ended without its answer: nothing of it is computed again."""
        if self._same(story, "fallback", "aborted") is None:
            self._open(story, "fallback", "aborted", "aborted")
            self._fall(story, "aborted")
        else:
            self.totals.unknown = max(0, self.totals.unknown - 1)
        self.totals.aborted += 1
        story.aborted = True
        story.last = None

    def _handed_back(self, story: Story, hit: Hit) -> None:
        self._not_saved(story, "handed_back", "not_offloaded")
        self.totals.handed_back += 1
        story.handed_back = True
        story.last = None

    def _save_failed(self, story: Story, hit: Hit) -> None:
        self._failed(story, "save_failed")

    def _load_failed(self, story: Story, hit: Hit) -> None:
        self._failed(story, "load_failed")

    def _failed(self, story: Story, reason: str) -> None:
        """A copy failed; every rank says so, and it counts once."""
        episode = story.last or Episode("parked")
        story.last = episode
        if reason in episode.seen:
            return
        episode.seen.add(reason)
        self._fall(story, reason)
        if reason == "load_failed" and not self.recomputes_failed_loads:
            return
        if episode.computed is None:
            self.totals.unknown += 1
        else:
            self.totals.recomputed += episode.saved or 0


def _number(hit: Hit, name: str) -> int | None:
    value = hit.match[name]
    return int(value) if value is not None and len(value) <= 18 else None
