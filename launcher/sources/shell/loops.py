"""Loops of a shell script: those over known values are unrolled, others are followed once."""

from __future__ import annotations

from typing import Any

from pd_launch.launcher.sources.shell.model import PLAIN_STEPS, Loop, is_unknown
from pd_launch.launcher.sources.shell.state import MAX_ITEMS, Scope
from pd_launch.launcher.sources.shell.variables import Variables
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Text
from pd_launch.schemas.core.whole import whole


class Loops(Variables):
    """Follows loops."""

    def on_for_statement(self, node: Any, scope: Scope) -> None:
        """Follow a loop over words, once for each that is known."""
        name = next((self.words.raw(child) for child in node.children if child.type == "variable_name"), "")
        body = next((child for child in node.children if child.type == "do_group"), None)
        if body is None:
            return
        cuts = len(self.words.cuts)
        values = self._values(node, scope) or [self._hole(node)]
        loop = Loop(body, self.matters(body), scope.variables.mark())
        for value in values:
            if not self._goes_on(loop):
                break
            scope.variables[name] = value
            if not self._round(loop, name, scope):
                break
        if not loop.matters or loop.settled:
            del self.words.cuts[cuts:]
            scope.variables[name] = values[-1]
        self._keep(loop, node, scope)

    def _values(self, node: Any, scope: Scope) -> list[Text]:
        """Return what a loop goes over, as far as that is known."""
        values: list[Text] = []
        seen_in = False
        for child in node.children:
            if child.type == "in":
                seen_in = True
            elif seen_in and child.type not in (";", "do_group", "\n", "comment"):
                values += self.words.expand(child, scope)
        return values

    def _goes_on(self, loop: Loop) -> bool:
        """Whether a loop is followed once more."""
        again = loop.body.id in self.bodies
        self.bodies.add(loop.body.id)
        if again and not loop.matters:
            return self.effort.repeats <= PLAIN_STEPS
        if again and self.spent:
            self.cut_repeats(loop.body)
        return not self.full and not (again and self.spent)

    def _round(self, loop: Loop, name: str, scope: Scope) -> bool:
        """Follow a loop once; return whether another round can bring anything."""
        mark, started = scope.variables.mark(), len(self.started)
        self._children(loop.body, scope)
        changed = scope.variables.keep(mark) - {name}
        unknown = all(is_unknown(scope.variables.get(one)) for one in changed)
        loop.settled = unknown and started == len(self.started)
        return not loop.settled or self.effort.repeats <= PLAIN_STEPS

    def _keep(self, loop: Loop, node: Any, scope: Scope) -> None:
        """Keep what a loop left; of one that was not followed to its end, that is not known."""
        changed = scope.variables.keep(loop.mark)
        if self.spent:
            self._unknown(changed, node, scope)

    def on_c_style_for_statement(self, node: Any, scope: Scope) -> None:
        """Follow a loop that counts."""
        body = next((child for child in node.children if child.type == "do_group"), None)
        parts = [child for child in node.children if child.is_named and child.type != "do_group"]
        if body is None:
            return
        if len(parts) != 3 or parts[0].type != "variable_assignment":
            self._children(body, scope)
            return
        self.on_variable_assignment(parts[0], scope)
        name = self.words.raw(parts[0].children[0])
        loop = Loop(body, self.matters(body), scope.variables.mark())
        self._rounds(parts[1], parts[2], loop, name, scope)
        self._keep(loop, node, scope)

    def _rounds(self, condition: Any, step: Any, loop: Loop, name: str, scope: Scope) -> None:
        """Follow a counting loop as long as its condition is known and holds."""
        for _ in range(MAX_ITEMS):
            goes_on = self.words.arithmetic(condition, scope)
            if goes_on == 0:
                return
            if goes_on is None:
                scope.variables[name] = self._hole(condition)
                self._children(loop.body, scope)
                return
            if not self._goes_on(loop) or not self._round(loop, name, scope):
                break
            if not self._step(step, name, scope):
                return
        else:
            limit = Msg(f"more than {MAX_ITEMS} rounds of a loop", f"循环超过 {MAX_ITEMS} 轮")
            if loop.matters and not loop.settled:
                self.cut(loop.body, limit, Msg("its further rounds are not followed", "其余各轮没有跟踪"))
        scope.variables[name] = self._hole(condition)

    def _step(self, node: Any, name: str, scope: Scope) -> bool:
        text = self.words.raw(node).replace(" ", "")
        value = scope.variables.get(name)
        number = whole(value.value) if isinstance(value, Text) else None
        steps = {f"{name}++": 1, f"++{name}": 1, f"{name}--": -1}
        amount = steps.get(text)
        if amount is None and text.startswith(f"{name}+=") and text[len(name) + 2 :].isdecimal():
            amount = int(text[len(name) + 2 :][:9])
        if number is None or amount is None:
            return False
        start, end = self.words.span(node)
        after = str(number + amount)
        scope.variables[name] = self.words.spread(after, start, end)
        return True

    def on_while_statement(self, node: Any, scope: Scope) -> None:
        """Follow a loop of unknown rounds once."""
        mark = scope.variables.mark()
        self._children(node, scope)
        self._unknown(scope.variables.keep(mark), node, scope)
