"""What the engines of an input are given, value by value, to see that a fix changes nothing but what it touches."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from pd_launch.schemas.core.launch import Arg, Container, Deployment, NodeLaunch
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.values import Node, Origin, SourceFile, Text, Unknown


@dataclass(frozen=True)
class Fact:
    """One value: whose it is (``path``), what it is, and the places in files that it follows from."""

    path: tuple[str, ...]
    value: str
    places: tuple[tuple[str, int, int], ...]
    """File, start and end (offsets) of each place, those of the keys above it included; empty for a derived value."""
    known: bool = True


Facts = list[Fact]


@dataclass(frozen=True)
class Touched:
    """Spans (offsets) that edits take in a file before and after they are made, in order."""

    before: list[tuple[int, int]]
    after: list[tuple[int, int]]


def facts_of(deployments: Iterable[Deployment]) -> Facts:
    """Return everything that the engines of ``deployments`` are given."""
    found: Facts = []
    for number, deployment in enumerate(deployments):
        reader = _Reader(deployment.sources)
        for index, node in enumerate(deployment.nodes):
            found += reader.launch((f"deployment {number}", f"engine {index + 1}"), node)
        for index, proxy in enumerate(deployment.proxies):
            for word in proxy.words:
                found += reader.tree((f"deployment {number}", f"proxy {index + 1}"), word, ())
    return found


def lost_fact(before: Facts, after: Facts, touched: Mapping[str, Touched]) -> str | None:
    """Return what became another value although no edit touches it, in words; None where nothing did.

    Where the edits touch no value at all (they mend the syntax), further values may come to light.
    """
    opened = {fact.path for fact in before if not fact.known and _touches(fact, touched, False)}
    kept = [fact for fact in before if fact.places and not _touches(fact, touched, False)]
    gone = Counter((fact.path, fact.value) for fact in kept)
    gone.subtract(Counter((fact.path, fact.value) for fact in after))
    lost = next((key for key, count in gone.items() if count > 0), None)
    if lost is not None or len(kept) == sum(1 for fact in before if fact.places):
        return _words(lost[0]) if lost else None
    new = [fact for fact in after if fact.places and not _touches(fact, touched, True)]
    come = Counter((fact.path, fact.value) for fact in new if not any(fact.path[: len(p)] == p for p in opened))
    come.subtract(Counter((fact.path, fact.value) for fact in before))
    found = next((key for key, count in come.items() if count > 0), None)
    return _words(found[0]) if found else None


def _words(path: tuple[str, ...]) -> str:
    return " ".join(path[2:]) or path[-1]


def _touches(fact: Fact, touched: Mapping[str, Touched], after: bool) -> bool:
    for file, start, end in fact.places:
        if file in touched:
            spans = touched[file].after if after else touched[file].before
            at = bisect_left(spans, (start, start))
            for first, last in spans[max(at - 1, 0) :]:
                if first > end:
                    break
                if last >= start:
                    return True
    return False


class _Reader:
    def __init__(self, sources: Mapping[str, SourceFile]) -> None:
        self.sources = sources

    def launch(self, path: tuple[str, ...], node: NodeLaunch) -> Iterator[Fact]:
        what = f"{node.program} {node.form} {node.side or ''}"
        yield Fact(path, what, self.places((), node.origin))
        if node.model is not None:
            yield from self.tree((*path, "model"), node.model, ())
        for arg in node.args:
            yield from self.argument(path, arg)
        for name, variable in node.env.items():
            value = variable.value
            yield from self.tree((*path, name), value, self.places((), value.key))
        if node.container is not None:
            yield from self.container((*path, "container"), node.container)

    def argument(self, path: tuple[str, ...], arg: Arg) -> Iterator[Fact]:
        places = self.places((), arg.origin)
        path = (*path, f"--{arg.name}" if arg.name else "a word")
        if arg.value is None:
            yield Fact(path, "", places)
        for value in (arg.value, *arg.more) if arg.value is not None else ():
            yield from self.tree(path, value, places)

    def container(self, path: tuple[str, ...], container: Container) -> Iterator[Fact]:
        single = [("image", container.image), ("shm size", container.shm_size), ("memory", container.memory)]
        several = [("device", container.devices), ("mount", container.mounts), ("port", container.published)]
        listed = chain.from_iterable(((name, node) for node in nodes) for name, nodes in several)
        for name, node in chain(single, listed, container.resources.items()):
            if node is not None:
                yield from self.tree((*path, name), node, ())

    def tree(self, path: tuple[str, ...], node: Node, above: tuple[tuple[str, int, int], ...]) -> Iterator[Fact]:
        """Iterate over the values of a tree; ``above`` are the places of the keys on the way to it."""
        if isinstance(node.value, dict):
            for key, entry in node.value.items():
                yield from self.tree((*path, key), entry, self.places(above, entry.key))
        elif isinstance(node.value, list):
            for element in node.value:
                yield from self.tree(path, element, above)
        else:
            own = self.text(node.text) if node.text is not None else self.places((), node.origin)
            known = not isinstance(node.value, Unknown)
            yield Fact(path, repr(node.value), (*above, *own) if own else (), known)

    def places(
        self, above: tuple[tuple[str, int, int], ...], origin: Origin | None
    ) -> tuple[tuple[str, int, int], ...]:
        source = self.sources.get(origin.file) if origin is not None and not origin.via else None
        if origin is None or source is None:
            return above
        start, end = source.offset(origin.line, origin.column), source.offset(origin.end_line, origin.end_column)
        return (*above, (origin.file, start, end))

    def text(self, text: Text) -> tuple[tuple[str, int, int], ...]:
        """Return the places of a text's characters, those that are next to each other as one."""
        found: list[list[int]] = []
        for index in range(len(text.value)):
            start, end = text.spots[index], text.end_of(index)
            if found and found[-1][1] <= start <= found[-1][1] + 8:
                found[-1][1] = end
            elif not found or start != found[-1][0]:
                found.append([start, end])
        if not found:
            found = [[text.spots[0], text.spots[0]]]
        return tuple((text.source.path, start, end) for start, end in found)
