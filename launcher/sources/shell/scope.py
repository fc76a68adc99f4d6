"""What a followed script knows at one place: journals that undo a branch, and the environment that commands share.

A branch of a condition, a subshell and a function cost what they change, never what the script knows by then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

from pd_launch.schemas.core.launch import EnvVar
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.values import Text

Value = TypeVar("Value")


class Journal(dict[str, Value], Generic[Value]):
    """A mapping that keeps what was there before, as long as somebody may want to go back."""

    def __init__(self, given: Mapping[str, Value] | Iterable[tuple[str, Value]] = ()) -> None:
        super().__init__(given)
        self._before: list[tuple[str, Value | None]] = []
        self._marks = 0
        self.version = 0
        """How often anything was changed."""

    def __setitem__(self, name: str, value: Value) -> None:
        if self._marks:
            self._before.append((name, self.get(name)))
        self.version += 1
        super().__setitem__(name, value)

    def drop(self, name: str) -> None:
        """Remove a name, if it is there."""
        if name in self:
            if self._marks:
                self._before.append((name, self[name]))
            self.version += 1
            super().__delitem__(name)

    def put(self, name: str, value: Value | None) -> None:
        """Set a name, or remove it with None."""
        if value is None:
            self.drop(name)
        else:
            self[name] = value

    def mark(self) -> int:
        """Return the place in the journal to go back to; each mark is given up by ``back`` or ``keep``."""
        self._marks += 1
        return len(self._before)

    def changed(self, mark: int) -> set[str]:
        """Return the names that were set or removed since ``mark``."""
        return {name for name, _ in self._before[mark:]}

    def keep(self, mark: int) -> set[str]:
        """Give up ``mark`` and leave everything as it is; return the names that were set or removed since."""
        names = self.changed(mark)
        self._marks -= 1
        if not self._marks:
            self._before.clear()
        return names

    def back(self, mark: int) -> dict[str, Value | None]:
        """Undo everything since ``mark``; return what was set, None for what was removed."""
        after: dict[str, Value | None] = {}
        self._marks -= 1
        while len(self._before) > mark:
            name, value = self._before.pop()
            after.setdefault(name, self.get(name))
            self.version += 1
            if value is None:
                self.pop(name, None)
            else:
                super().__setitem__(name, value)
        return after


class Environment(dict[str, tuple[Text, str]]):
    """Name to value and how it was set. Commands between which nothing changes share one."""

    def __init__(self, given: Mapping[str, tuple[Text, str]] | None = None) -> None:
        super().__init__(given or {})
        self.variables: dict[str, EnvVar] = {}
        """The same as an engine has them."""

    def with_inline(self, inline: Mapping[str, tuple[Text, str]], names: Mapping[str, Text]) -> Environment:
        """Return the environment of a command with assignments of its own before it."""
        if not inline:
            return self
        made = Environment({**self, **inline})
        made.variables = self.variables | {
            name: EnvVar.of(name, value, "inline", names.get(name)) for name, (value, _) in inline.items()
        }
        return made


_READ = lazy_pattern(r"\$\{?[!#]?([A-Za-z_]\w{0,200})")
MAX_KEPT = 64
"""Variables of a script that were forgotten to be exported: so many are looked at."""


class Environments:
    """Makes the environment that a scope's exported variables are, anew only where they changed."""

    def __init__(self) -> None:
        self.made: dict[str, tuple[Text, tuple[Text, str], EnvVar]] = {}
        self.state: tuple[int, ...] = ()
        self.last = Environment()
        self.kept_state: tuple[int, ...] = ()
        self.last_kept: dict[str, Text] = {}
        self.script = ""
        self.script_reads: frozenset[str] = frozenset()

    def of(
        self, variables: Journal[Text | list[Text]], exported: Journal[bool], names: Mapping[str, Text]
    ) -> Environment:
        """Return what a command is given here; ``names`` are the names of the variables as they are written."""
        state = (id(variables), variables.version, id(exported), exported.version)
        if state == self.state:
            return self.last
        self.state = state
        found = Environment()
        for name in exported:
            value = variables.get(name)
            if not isinstance(value, Text):
                continue
            known = self.made.get(name)
            if known is None or known[0] is not value:
                known = self.made[name] = (value, (value, "export"), EnvVar.of(name, value, "export", names.get(name)))
            found[name], found.variables[name] = known[1], known[2]
        if dict.__eq__(found, self.last) and all(found[name] is pair for name, pair in self.last.items()):
            return self.last
        self.last = found
        return found

    def kept(
        self, variables: Journal[Text | list[Text]], exported: Journal[bool], names: Mapping[str, Text], script: str
    ) -> dict[str, Text]:
        """Return the names of variables that are set here, given to no command, and not read in ``script`` either.

        Only those are looked for that are written as variables of an environment are, in capitals.
        """
        state = (id(variables), variables.version, id(exported), exported.version)
        if state != self.kept_state:
            self.kept_state = state
            own = [name for name in variables if name.isupper() and name in names and name not in exported]
            read = self.reads(script) if own else frozenset()
            self.last_kept = {name: names[name] for name in own[:MAX_KEPT] if name not in read}
        return self.last_kept

    def reads(self, script: str) -> frozenset[str]:
        """Return the names that a script reads anywhere, looked for once."""
        if script is not self.script:
            self.script, self.script_reads = script, frozenset(_READ.findall(script))
        return self.script_reads
