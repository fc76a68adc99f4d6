"""Sequences of events for the machine of test_ledger_model.py, drawn plainly, so that 100,000 of them take minutes.

Hypothesis looks for short ones that fail and keeps what it learns, which costs a hundred times the event itself. Here
each sequence is drawn from its number alone: a failure says which, and ``play(number)`` plays it again.

The whole: PD_TEST_SAMPLE=all pytest tests/connector/test_ledger_sequences.py
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from hypothesis.stateful import MultipleResults

from tests.connector.test_ledger_model import COMMON, HOST_BLOCKS, LedgerMachine
from tests.sampling import SEED, size

SEQUENCES = size(800, 100_000)
LONGEST = 120  # events
Draw = random.Random
# rule → (how often, the bundle that it consumes one of, or only looks at, the bundle of what it returns, arguments)
RULES: dict[str, tuple[int, str, str, Callable[[Draw], dict[str, Any]]]] = {
    "admit": (6, "", "running", lambda d: {"tokens": d.randint(1, 30), "family": d.choice([None, "x", "y"])}),
    "decode": (5, "=running", "", lambda d: {"more": d.randint(1, 6)}),
    "preempt": (8, "running", "waiting", lambda d: {"times": d.randint(1, 2)}),
    "ask": (2, "=waiting", "", lambda d: {"local": d.randint(0, 8)}),
    "resume": (6, "waiting", "running", lambda d: {"local": d.randint(0, 4), "grown": d.randint(-2, 3)}),
    "resume_and_preempt_at_once": (2, "waiting", "waiting", lambda d: {"fails": d.random() < 0.3}),
    "resume_later": (3, "waiting", "loading", lambda d: {}),
    "load_ends": (3, "loading", "running", lambda d: {}),
    "finish": (2, "running", "", lambda d: {}),
    "abort_parked": (2, "waiting", "", lambda d: {}),
    "abort_while_loading": (1, "loading", "", lambda d: {}),
    "reset": (1, "", "", lambda d: {}),
    "a_worker_has_less_room": (1, "", "", lambda d: {"capacity": d.randint(HOST_BLOCKS - 3, HOST_BLOCKS + 3)}),
    "run_worker": (8, "", "", lambda d: {"rank": d.randint(0, 1), "steps": d.randint(1, 4)}),
    "take_in_failed_loads": (2, "", "", lambda d: {}),
    "a_save_will_fail": (1, "", "", lambda d: {"rank": d.randint(0, 1)}),
    "a_load_will_fail": (1, "", "", lambda d: {"rank": d.randint(0, 1)}),
    "report": (5, "", "", lambda d: {"first": d.randint(0, 20), "second": d.randint(0, 20)}),
}
NAMES = list(RULES)
WEIGHTS = [often for often, *_ in RULES.values()]


def play(number: int) -> dict[str, int]:
    """Play one sequence; returns how often each event came, and what was parked and loaded."""
    draw = Draw(f"{SEED} {number}")
    machine = LedgerMachine()
    bundles: dict[str, list[Any]] = {"running": [], "waiting": [], "loading": []}
    seen: dict[str, int] = {}
    for name in draw.choices(NAMES, WEIGHTS, k=draw.randint(5, LONGEST)):
        if _event(machine, bundles, draw, name):
            seen[name] = seen.get(name, 0) + 1
            machine.no_block_is_lost_or_used_twice()
            machine.blocks_in_a_copy_are_not_free()
    seen["loads"] = len(machine.results)
    machine.teardown()
    return seen


def _event(machine: LedgerMachine, bundles: dict[str, list[Any]], draw: Draw, name: str) -> bool:
    """Let one event happen, if there is something that it can happen to."""
    _, source, target, arguments = RULES[name]
    given = arguments(draw)
    if source:
        bundle = bundles[source.lstrip("=")]
        if not bundle:
            return False
        place = draw.randrange(len(bundle))
        item = bundle[place] if source[0] == "=" else bundle.pop(place)
        given["item" if isinstance(item, tuple) else "request"] = item
    result = getattr(machine, name)(**given)
    if target and not isinstance(result, MultipleResults):
        bundles[target].append(result)
    return True


def test_every_rule_of_the_machine_is_drawn() -> None:
    assert {rule.function.__name__ for rule in LedgerMachine().rules} == set(RULES)
    assert COMMON  # some requests share blocks


def test_what_comes_back_is_what_was_saved_whatever_happens() -> None:
    seen: dict[str, int] = {}
    for number in range(SEQUENCES):
        try:
            for name, count in play(number).items():
                seen[name] = seen.get(name, 0) + count
        except Exception as error:
            raise AssertionError(f"sequence {number} of seed {SEED}: play({number})") from error
    print(f"{SEQUENCES} sequences: {seen}")
    assert seen.keys() >= set(RULES)
    assert seen["loads"] > SEQUENCES / 2  # something was restored
