"""Arrays of a shell script: elements by number or by key, slices, ``${#A[@]}`` and ``${!A[@]}``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pd_launch.launcher.sources.shell.spelling import Spelling
from pd_launch.launcher.sources.shell.state import Scope
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.values import HOLE, Text

_ENTRY = lazy_pattern(r"\[([^]]*)\]=")


class Keyed(list[Text]):
    """An array of ``declare -A``: its values in the order in which they were set, and their keys.

    The shell gives them in an order of its own, so that nothing may depend on it.
    """

    def __init__(self, entries: Iterable[tuple[str, Text]] = ()) -> None:
        found = dict(entries)
        super().__init__(found.values())
        self.keys = list(found)

    def having(self, key: str, value: Text) -> Keyed:
        """Return the array with one more entry, or another value of one."""
        return Keyed([*zip(self.keys, self, strict=True), (key, value)])

    def value_of(self, key: str) -> Text | None:
        """Return the value of a key, or None where there is none."""
        return self[self.keys.index(key)] if key in self.keys else None


class Arrays(Spelling):
    """Expands arrays."""

    def single(self, node: Any, scope: Scope) -> Text:
        """Return the one text that a node expands to where the shell does not split."""
        raise NotImplementedError

    def arithmetic(self, node: Any, scope: Scope) -> int | None:
        """Return the value of an arithmetic expression of known integers, or None."""
        raise NotImplementedError

    def entries(self, nodes: list[Any], scope: Scope) -> list[tuple[str, Text]] | None:
        """Return the entries of ``([key]=value …)`` or ``(key value …)``; None where a key is not known."""
        words = [self.single(node, scope) for node in nodes]
        found: list[tuple[str, Text]] = []
        if words and not any(_ENTRY.match(word.value) for word in words):
            found = [(key.value, value) for key, value in zip(words[::2], words[1::2], strict=False)]
            return None if any(HOLE in key for key, _ in found) else found
        for word in words:
            entry = _ENTRY.match(word.value)
            if entry is None or HOLE in entry[1]:
                return None
            found.append((entry[1], word.part(entry.end(), len(word.value))))
        return found

    def key(self, subscript: Any, scope: Scope) -> str | None:
        """Return the key of an entry, or None where it is not known."""
        inner = [child for child in subscript.children[1:] if child.is_named]
        key = self.single(inner[0], scope).value if len(inner) == 1 else HOLE
        return None if HOLE in key else key

    def index(self, subscript: Any, scope: Scope) -> int | None:
        """Return the number of an array's element, or None where it is not known."""
        inner = [child for child in subscript.children[1:] if child.is_named]
        if len(inner) != 1:
            return None
        number = self.arithmetic(inner[0], scope)
        return number if number is not None and number >= 0 else None

    def _of_array(self, node: Any, operator: str, values: list[Text], scope: Scope) -> Text | list[Text] | None:
        """Return an array's element, the numbers or keys of its elements for ``!``, how many for ``#``; or None."""
        start, end = self.span(node)
        subscript = next((child for child in node.children if child.type == "subscript"), None)
        keyed = values if isinstance(values, Keyed) else None
        if subscript is None or (keyed is None and any(_ENTRY.match(value.value) for value in values)):
            return None
        sure = _sure(values)
        if operator == "[]" and keyed is not None:
            key = self.key(subscript, scope)
            return None if key is None else keyed.value_of(key)
        if operator == "[]":
            index = self.index(subscript, scope)
            return values[index] if index is not None and index < sure else None
        if not self._is_array(node) or (keyed is None and sure < len(values)):
            return None  # one of them may be any number of words
        if operator == "#":
            return self.spread(str(len(values)), start, end)
        names = keyed.keys if keyed is not None else [str(number) for number in range(len(values))]
        return [self.spread(name, start, end) for name in names]

    def _slice(self, node: Any, name: str | None, values: list[Text], scope: Scope) -> list[Text] | None:
        """Return the elements that ``${A[@]:1:2}`` or ``${@:2}`` takes; None where that is not known."""
        given = name in ("@", "*")
        numbers = [child for child in node.children if child.is_named and child.type not in _NAMES]
        if isinstance(values, Keyed) or not (given or self._is_array(node)) or not 1 <= len(numbers) <= 2:
            return None
        bounds = [self.arithmetic(number, scope) for number in numbers]
        first, count = bounds[0], bounds[1] if len(bounds) == 2 else len(values)
        if first is None or count is None or count < 0 or (given and first == 0):
            return None
        begin = max(first + len(values) + given, 0) if first < 0 else first
        begin -= given  # parameters are counted from 1
        end = min(begin + count, len(values))
        return None if first < 0 and begin < 0 else self._as_far(values, begin, end)

    def _as_far(self, values: list[Text], begin: int, end: int) -> list[Text] | None:
        """Return ``values[begin:end]`` unless one before its end may be any number of words."""
        sure = _sure(values)
        return None if begin > sure or (end > sure and end < len(values)) else values[begin:end]

    def _is_array(self, node: Any) -> bool:
        """Whether an expansion is one of all an array's elements: it may be any number of words."""
        return any(child.type == "subscript" and self.raw(child).endswith(("[@]", "[*]")) for child in node.children)


_NAMES = ("subscript", "variable_name", "special_variable_name")


def _sure(values: list[Text]) -> int:
    """Return how many of an array's first elements surely have the number that they seem to have."""
    return next((at for at, value in enumerate(values) if value.value.startswith(HOLE)), len(values))
