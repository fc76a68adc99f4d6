"""Files that a script reads with ``source`` or ``.``: followed as if they were there, each with its own places.

What may be opened is the caller's to say (``Effort.opens``). A file that is not known may set any variable.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pd_launch.launcher.sources.shell.feeds import Feeds
from pd_launch.launcher.sources.shell.model import INSIDE
from pd_launch.launcher.sources.shell.parser import masked, parser_of_scripts
from pd_launch.launcher.sources.shell.scan import scan
from pd_launch.launcher.sources.shell.state import Scope
from pd_launch.launcher.sources.text.templates import filled, without_gone
from pd_launch.launcher.sources.text.weave import without_asides, without_returns
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import SourceFile, Text

MAX_SOURCED = 10
"""Files that read each other."""


class Sourcing(Feeds):
    """Follows the files that a script reads."""

    reading: tuple[str, ...] = ()
    """The files that are being read, from the outermost on, without this one."""

    def _source(self, words: list[Text], scope: Scope, node: Any) -> None:
        """Follow the file that ``source FILE [WORD…]`` names; where it is not known, anything may be set."""
        opens: Callable[[Text], SourceFile | None] | None = self.effort.opens
        file = opens(words[1]) if opens is not None else None
        if file is None:
            self._opens(node, scope)
            return
        text = Text.verbatim(file, 0, len(file.text))
        if file.path in (*self.reading, self.source.path) or len(self.reading) >= MAX_SOURCED:
            self._opens(node, scope)
            limit = f"files that source each other in a loop, or more than {MAX_SOURCED} deep"
            self.cut(node, Msg(limit, f"互相 source 的文件形成循环，或超过 {MAX_SOURCED} 层"), INSIDE)
        elif self.effort.again(text) and self.spent:
            self._opens(node, scope)
            self.cut_repeats(node)
        else:
            self._read_file(text, words, scope)

    def _read_file(self, text: Text, words: list[Text], scope: Scope) -> None:
        text = without_asides(filled(without_gone(without_returns(text))))
        reader = type(self)(text, self.script, self.effort)
        reader.reading = (*self.reading, self.source.path)
        self.script.faults += scan(text)
        tree = parser_of_scripts().parse(masked(text.value).encode("utf-8", "surrogatepass"))
        positional = scope.positional
        if words[2:]:
            own = {number: word for number, word in positional.items() if number == 0}
            scope.positional = {**own, **dict(enumerate(words[2:], 1))}
        self._hand_over(reader, lambda: reader.statement(tree.root_node, scope))
        scope.positional = positional
        for name in reader.weights.heavy:
            self.weights.weighs(name)

    def _hand_over(self, other: Sourcing, follow: Callable[[], None]) -> None:
        """Let the follower of another file go on from here, and go on here with what it has come to."""
        before = other.inside, other.background, other.depth, other.forked  # it may be in the middle of something
        other.script = self.script
        other.inside, other.stage, other.background = self.inside, self.stage, self.background
        other.depth, other.calls, other.started = self.depth, self.calls, self.started
        other.counted, other.forked = self.counted, self.forked
        asides, other.asides = other.asides, []
        follow()
        self.stage, self.counted = other.stage, other.counted
        self.asides += other.asides
        self.script.faults += other.words.cuts
        other.asides, other.words.cuts = asides, []
        other.inside, other.background, other.depth, other.forked = before

    def _call(self, words: list[Text], scope: Scope, node: Any) -> None:
        """Follow a function, in the file that it is written in."""
        name = words[0].value
        owner = scope.owners.get(name)
        if isinstance(owner, Sourcing) and owner is not self:
            self._hand_over(owner, lambda: owner._call(words, scope, scope.functions[name]))
        else:
            super()._call(words, scope, node)
