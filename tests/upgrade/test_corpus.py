"""The corpus, upgraded: what is clean under its own release has no error afterwards that no entry names."""

from __future__ import annotations

import pytest
from corpus import Item, clean, corpus, faults, later

from pd_launch.schemas.core.target import Target
from tests.sampling import WHOLE, sample

ITEMS = corpus()
PAIRS = [(item, target) for item in ITEMS for target in later(item)]
TAKEN = PAIRS if WHOLE else sample(PAIRS, 0.012, "upgrade")


@pytest.mark.slow
@pytest.mark.parametrize(("item", "target"), TAKEN, ids=lambda one: str(getattr(one, "name", one)))
@pytest.mark.parametrize("unsafe", [False, True], ids=["certain", "plausible"])
def test_an_upgrade_leaves_nothing_unnamed(item: Item, target: Target, unsafe: bool) -> None:
    if not clean(item):
        pytest.skip("it has errors under its own release")
    assert not faults(item, target, unsafe)
