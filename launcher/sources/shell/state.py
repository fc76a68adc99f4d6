"""What a running script has: its variables and positional parameters, and what following it has taken so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from typing import Any

from pd_launch.launcher.sources.shell.scope import Environments, Journal
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.values import Origin, SourceFile, Text
from pd_launch.schemas.core.whole import whole

MAX_MADE = 10_000_000
"""Characters that the values of the scripts of one file may be put together to."""
MAX_ITEMS = 4_000
"""Elements of an array or a sequence."""
_MOST_REFS = 10


@dataclass
class Scope:
    """Variables of a running script. A value is a list of texts for an array, one text otherwise."""

    variables: Journal[Text | list[Text]] = field(default_factory=Journal)
    exported: Journal[bool] = field(default_factory=Journal)
    positional: dict[int, Text] = field(default_factory=dict)
    functions: dict[str, Any] = field(default_factory=dict)
    owners: dict[str, Any] = field(default_factory=dict)
    """For each function, what follows the file that it is written in."""
    aliases: dict[str, Text] = field(default_factory=dict)
    names: dict[str, Text] = field(default_factory=dict)
    """Where a variable was assigned last: its name there."""
    env_open: Origin | None = None
    """Where variables were set that are not known: by a file that was read, or by text that was."""
    integers: set[str] = field(default_factory=set)
    """Variables of which each value is calculated: ``declare -i``."""
    keyed: set[str] = field(default_factory=set)
    """Arrays of which each element has a key: ``declare -A``."""
    refs: dict[str, str] = field(default_factory=dict)
    """Variables that stand for others, and for which: ``declare -n``; "" where that is not known."""
    export_all: bool = False
    """Whether assignments export, as after ``set -a``."""
    environments: Environments = field(default_factory=Environments, repr=False)

    def copy(self) -> Scope:
        """Return a scope of its own with all that this one has now."""
        return replace(
            self,
            variables=Journal(self.variables),
            exported=Journal(self.exported),
            positional=dict(self.positional),
            functions=dict(self.functions),
            owners=dict(self.owners),
            aliases=dict(self.aliases),
            names=dict(self.names),
            integers=set(self.integers),
            keyed=set(self.keyed),
            refs=dict(self.refs),
            environments=Environments(),
        )

    def real(self, name: str) -> str:
        """Return the variable that a name stands for: its own, unless it was declared as another name of one."""
        for _ in range(_MOST_REFS):
            if name not in self.refs:
                return name
            name = self.refs[name]
        return ""

    def lookup(self, name: str) -> Text | list[Text] | None:
        """Return a variable's or a positional parameter's value, or None where it is not known."""
        name = self.real(name)
        if name.isdecimal():
            number = whole(name)
            return None if number is None else self.positional.get(number)
        if name in ("@", "*") and self.positional:
            return [self.positional[i] for i in sorted(self.positional) if i > 0]
        return self.variables.get(name)


@dataclass
class Effort:
    """What following the scripts of one file has taken so far; scripts inside others count with them."""

    repeats: int = 0
    """Statements that were followed again."""
    made: int = 0
    """Characters that values were put together to."""
    printed: int = 0
    """Functions whose output was followed."""
    opens: Callable[[Text], SourceFile | None] | None = None
    """Returns the file that a script reads with ``source``, where it is one that may be opened."""
    read: set[tuple[str, int]] = field(default_factory=set)
    """Where scripts begin that were read."""

    def again(self, text: Text) -> bool:
        """Whether a script was read before; that counts, as far less than statements in a loop do."""
        place = (text.source.path, text.spots[0])
        if place not in self.read:
            self.read.add(place)
            return False
        self.repeats += text.value.count("\n") // 8 + 1
        return True
