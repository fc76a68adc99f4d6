"""What is known of a script's conditions while one branch of an earlier one is followed: ``if [ "$ROLE" = prefill ]``.

A script that asks the same twice takes the same branch twice, as long as nothing changed what it asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pd_launch.schemas.core.lazy import lazy_pattern

_EQUAL = lazy_pattern(
    r"(?:\[\[?|test)[ \t]{1,20}\"?(?P<name>\$\{?\w{1,80}(?::?-[^}\"\s]{0,80})?\}?)\"?[ \t]{1,20}(?P<sign>==?|!=)"
    r"[ \t]{1,20}[\"']?(?P<value>[\w.-]{1,80})[\"']?[ \t]{0,20}(?:\]\]?)?"
)
_NAMES = lazy_pattern(r"\$\{?(\w{1,80})")
_LONGEST = 400
_GIVEN = "LWS_WORKER_INDEX"
"""A variable by which one script is several: the pods of a LeaderWorkerSet take the branch of their number."""
Key = tuple[str, str]
"""What is compared, and with what; of a test that compares nothing, its text, and nothing."""
Lookup = Callable[[str], object]
State = tuple[int, ...]
Answer = tuple[bool, State]


class Test:
    """One test: whether something equals one of several values, or whatever its text says."""

    def __init__(self, keys: tuple[Key, ...], negated: bool) -> None:
        self.keys, self.negated = keys, negated
        self.names = tuple(
            name for subject in dict.fromkeys(key[0] for key in keys) for name in _NAMES.findall(subject)
        )
        """The variables that it asks for."""

    def state(self, lookup: Lookup) -> State:
        """Return what tells whether its variables are still what they were."""
        return tuple(id(lookup(name)) for name in self.names)


class Known:
    """What is known of tests, each with the values that the variables in it had then."""

    def __init__(self, given: Mapping[Key, Answer] | None = None, equal: Mapping[str, State] | None = None) -> None:
        self.held = dict(given or {})
        self.equal = dict(equal or {})
        """What is known to equal some value, and so no other one."""

    def __bool__(self) -> bool:
        return bool(self.held)

    def having(self, tests: list[Test | None], taken: int, lookup: Lookup) -> Known:
        """Return what is known where branch ``taken`` of a condition is; one after the last: none of them."""
        more = Known(self.held, self.equal)
        this = tests[taken] if taken < len(tests) else None
        subject = this.keys[0][0] if this is not None and _is_one_value(this) else None
        for number, test in enumerate(tests[: taken + 1]):
            if test is None or (number != taken and subject is not None and test.keys[0][0] == subject):
                continue  # that the value is another one follows from which it is
            holds = (number == taken) is not test.negated
            if holds and len(test.keys) > 1:
                continue  # one of several values: not known which
            state = test.state(lookup)
            more.held.update((key, (holds, state)) for key in test.keys)
            if holds and test.keys[0][1]:
                more.equal[test.keys[0][0]] = state
        return more

    def of(self, test: Test | None, lookup: Lookup) -> bool | None:
        """Return whether a test holds, as far as that is known; what follows ``else`` is taken."""
        if test is None:
            return True
        state = test.state(lookup)
        given = _given(test, lookup)
        answers = [self._of(key, state) if given is None else key[1] == given for key in test.keys]
        answer = True if True in answers else None if None in answers else False
        return answer if answer is None else answer is not test.negated

    def _of(self, key: Key, state: State) -> bool | None:
        found = self.held.get(key)
        if found is not None and found[1] == state:
            return found[0]
        return False if key[1] and self.equal.get(key[0]) == state else None

    def branches(self, tests: list[Test | None], lookup: Lookup) -> tuple[list[int], bool]:
        """Return which branches of a condition may be taken, and whether one of them surely is."""
        possible = []
        for number, test in enumerate(tests):
            holds = self.of(test, lookup)
            if holds is not False:
                possible.append(number)
            if holds:
                return possible, True
        return possible, False


def _given(test: Test, lookup: Lookup) -> str | None:
    """Return the value that a test asks for, of a variable by which one script is several."""
    if {key[0] for key in test.keys} != {f"${_GIVEN}"} or not all(key[1] for key in test.keys):
        return None
    value = getattr(lookup(_GIVEN), "value", None)
    return value if isinstance(value, str) and value.isdecimal() else None


def asks_given(tests: Sequence[Test | None], lookup: Lookup) -> bool:
    """Whether a condition asks for a variable by which one script is several, whose value is known."""
    return any(test is not None and _given(test, lookup) is not None for test in tests)


def _is_one_value(test: Test) -> bool:
    return len(test.keys) == 1 and test.keys[0][1] != "" and not test.negated


def tests_of(node: Any, raw: Callable[[Any], str]) -> list[Test | None]:
    """Return the tests of a condition's branches, in the order of the branches; None for ``else`` and ``*)``."""
    if node.type == "case_statement":
        return list(_patterns(node, raw))
    tests: list[Test | None] = [_test(node, raw)]
    for child in node.children:
        if child.type == "elif_clause":
            tests.append(_test(child, raw))
        elif child.type == "else_clause":
            tests.append(None)
    return tests


def _patterns(node: Any, raw: Callable[[Any], str]) -> Iterator[Test | None]:
    named = [child for child in node.children if child.is_named]
    subject = _plain(raw(named[0])) if named else ""
    for item in (child for child in node.children if child.type == "case_item"):
        patterns = []
        for child in item.children:
            if child.type == ")":
                break
            if child.is_named:
                patterns.append(raw(child).strip("\"'"))
        if patterns == ["*"]:
            yield None
        else:
            yield Test(tuple((subject, pattern) for pattern in patterns), False)


def _test(node: Any, raw: Callable[[Any], str]) -> Test:
    parts = []
    for child in node.children:
        if child.type == "then":
            break
        if child.is_named:
            parts.append(raw(child))
    text = " ".join(parts)[:_LONGEST].strip().rstrip(";")
    equal = _EQUAL.fullmatch(text)
    if equal is None:
        return Test(((text, ""),), False)
    return Test(((_plain(equal["name"]), equal["value"]),), equal["sign"] == "!=")


def _plain(name: str) -> str:
    """Return a variable without quotes, braces and default."""
    match = _NAMES.search(name[:_LONGEST])
    return f"${match[1]}" if match is not None and len(name) < _LONGEST else name[:_LONGEST]
