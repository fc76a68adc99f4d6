"""Pages of real engines, read: what each number is, what happened between two, and what is said of it."""

from __future__ import annotations

import math

import pytest

from pd_launch.launcher.status.change import change
from pd_launch.launcher.status.judge import counts, judge, now, role_by_series, spreads, transfers
from pd_launch.launcher.status.page import Histogram, NotMetrics, Numbers, Reading, read_page
from pd_launch.schemas.offload.reasons import of_kind
from pd_launch.schemas.releases.series import SERIES, by_sample
from tests.status.served import PAGES, page


def reading(name: str) -> Reading:
    return read_page(page(name))


def told(name: str) -> tuple[str | None, str]:
    found = reading(name).whole
    verdict, reason, _ = judge(counts(found), now(found, 2e9), None)
    return verdict, reason.en


@pytest.mark.parametrize(
    ("name", "verdict", "numbers"),
    [
        ("idle-decode", "idle", (0, 0, 0)),
        ("pressed-decode", "healthy", (5, 5, 4)),
        ("restarted-decode", "idle", (0, 0, 0)),
        ("after-decode", "healthy", (10, 10, 10)),
        ("small-decode", "fallbacks", (5, 4, 4)),
        ("reset-decode", "healthy", (19, 11, 9)),
        ("api2-decode", "healthy", (6, 6, 6)),
        ("dp2-decode", "healthy", (7, 7, 7)),
        ("v0.23.0-decode", "fallbacks", (5, 4, 3)),
        ("v0.27.1-decode", "healthy", (8, 5, 3)),
        ("after-prefill", None, (0, None, None)),
    ],
)
def test_what_real_pages_say(name: str, verdict: str | None, numbers: tuple[int | None, ...]) -> None:
    found = counts(reading(name).whole)
    assert (found.preempted, found.parked, found.restored) == numbers
    assert told(name)[0] == verdict


def test_every_preemption_and_every_copy_is_accounted_for() -> None:
    for path in sorted(PAGES.glob("*-decode.txt")):
        whole = read_page(path.read_bytes()).whole
        fallback, values = whole.labelled("fallback"), whole.values
        assert values["preempted"] <= values["parked"] + of_kind("unsaved", fallback), path.name
        if not values["running"] + values["waiting"]:
            assert values["preempted"] == values["parked"] + of_kind("unsaved", fallback), path.name
            gone = values["restored"] + of_kind("lost", fallback) + of_kind("unneeded", fallback)
            assert values["parked"] == gone, path.name


def test_what_a_reset_took_is_no_fallback() -> None:
    found = counts(reading("reset-decode").whole)
    assert found.fallbacks == {} and found.unneeded == {"reset": 2, "reset_running": 8}
    assert now(reading("reset-decode").whole, 2e9).parked == 0


def test_a_request_that_waits_grows_old_while_the_engine_stands_still() -> None:
    ages = [now(reading(name).whole, 0).oldest_parked_seconds for name in ("waiting-decode", "paused-decode")]
    assert ages[0] is not None and ages[1] is not None and ages[1] - ages[0] > 2


def test_where_the_age_stands_still_the_moment_tells_it() -> None:
    numbers = Numbers({"parked": 1, "restored": 0, "oldest_parked": 0.5, "oldest_since": 1000.0})
    assert now(numbers, 1060).oldest_parked_seconds == 60
    numbers.values["oldest_parked"] = numbers.values["oldest_since"] = 0.0
    assert now(numbers, 1060).oldest_parked_seconds == 0


def test_ranks_are_summed_and_apart() -> None:
    found = reading("dp2-decode")
    each = [counts(rank) for rank in found.ranks.values()]
    assert list(found.ranks) == ["0", "1"] and all(c.preempted and c.parked == c.preempted for c in each)
    whole = counts(found.whole)
    assert whole.preempted == sum(c.preempted or 0 for c in each)
    assert now(found.whole, 0).pool_total == 2 * 1024
    assert 0 <= (now(found.whole, 0).kv_usage or 0) <= 1


def test_series_without_a_rank_belong_to_the_first() -> None:
    lmcache = b'lmcache:num_hit_tokens_total{model_name="m"} 7\n'
    page_of_rank_1 = b'vllm:num_requests_running{engine="1"} 2\n'
    for text in (lmcache + page_of_rank_1, page_of_rank_1 + lmcache):
        found = read_page(text)
        assert list(found.ranks) == ["1"] and found.whole.values == {"running": 2, "lmcache.hit_tokens": 7}
    with pytest.raises(NotMetrics):
        read_page(lmcache)
    assert list(read_page(b"vllm:num_requests_running 2\n").ranks) == ["0"]


def test_roles_show_in_the_series() -> None:
    assert role_by_series(reading("after-decode").whole) == "decode"
    assert role_by_series(reading("after-prefill").whole) == "prefill"
    assert role_by_series(reading("idle-prefill").whole) == "unknown"


def test_transfers_are_counted() -> None:
    (nixl,) = transfers(reading("after-decode").whole)
    assert (nixl.name, nixl.done, nixl.failed, nixl.expired) == ("NIXL", 8, 0, 0)
    assert nixl.bytes and nixl.p50_seconds and nixl.p50_seconds <= (nixl.p99_seconds or 0)


def test_between_two_readings_only_the_difference_counts() -> None:
    happened = change(reading("pressed-decode"), reading("after-decode"))
    assert not happened.restarted
    found = counts(happened.numbers)
    assert found.restored == 6 and found.parked == 5
    assert spreads(happened.numbers.histograms, last=True)["itl"].since == "last"


def test_a_new_start_begins_at_zero() -> None:
    happened = change(reading("after-decode"), reading("restarted-decode"))
    assert happened.restarted and counts(happened.numbers).parked == 0
    # Several API servers tell no start: counts that fell do.
    before, after = reading("api2-decode"), reading("api2-decode")
    after.ranks["0"].values["generation_tokens"] -= 1000
    after.ranks["0"].values["parked"] = 2
    happened = change(before, after)
    assert happened.restarted and counts(happened.numbers).parked == 2
    assert not change(before, reading("api2-decode")).restarted


def test_an_engine_that_was_started_anew_and_did_more_is_known_by_its_start() -> None:
    before, after = reading("idle-decode"), reading("after-decode")
    after.started = (before.started or 0) + 60
    assert change(before, after).restarted


@pytest.mark.parametrize(
    ("buckets", "share", "value"),
    [
        ({1.0: 10, 2.0: 20, math.inf: 20}, 0.5, 1.0),
        ({1.0: 0, 2.0: 10, math.inf: 10}, 0.5, 1.5),
        ({1.0: 100, math.inf: 100}, 0.99, 0.99),
        ({1.0: 0, math.inf: 0}, 0.5, None),
        ({1.0: 5}, 0.5, None),
        ({}, 0.5, None),
        ({1.0: 50, 2.0: 40, math.inf: 100}, 0.3, 0.6),  # of a page that was read while it was written
    ],
)
def test_quantiles(buckets: dict[float, float], share: float, value: float | None) -> None:
    found = Histogram({bound: float(n) for bound, n in buckets.items()}, 1e9, max(buckets.values(), default=0))
    assert found.quantile(share) == (None if value is None else pytest.approx(value))


def test_a_quantile_is_no_larger_than_the_sum_allows() -> None:
    # Nine of at least 0.1 s, and one above 160 s: in all 180 s, so that one cannot be above 179.1 s.
    found = Histogram({0.1: 0, 1.0: 9, 160.0: 9, 640.0: 10, math.inf: 10}, 180.0, 10)
    assert found.quantile(0.99) == pytest.approx(160 + 0.9 * 19.1)
    assert found.quantile(0.5) == pytest.approx(0.1 + 0.9 * 5 / 9)
    assert Histogram({1.0: 0, math.inf: 1}, 7.0, 1).quantile(0.5) == pytest.approx(1 + 6 / 2)


def test_lines_that_are_none_are_passed_over() -> None:
    text = page("after-decode") + b"vllm:num_preemptions_total{engine= nonsense\nvllm:x{\xff} 1\nvllm: \n"
    found = read_page(text)
    assert counts(found.whole) == counts(reading("after-decode").whole)
    assert found.unread >= 1


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-Inf", "-5", "1e300", "1e19"])
def test_numbers_that_no_engine_has_are_none(value: str) -> None:
    found = read_page(
        f'vllm:num_requests_running{{engine="0"}} 1\nvllm:num_preemptions_total{{engine="0"}} {value}\n'.encode()
    )
    assert counts(found.whole).preempted is None


@pytest.mark.parametrize("text", [b"", b"\0" * 100, b"<html>no</html>", b"python_info 1\n", b"vllm:unknown 1\n"])
def test_what_is_no_page_of_an_engine_is_said(text: bytes) -> None:
    with pytest.raises(NotMetrics):
        read_page(text)


def test_series_have_names_and_evidence() -> None:
    for series in SERIES.values():
        if series.name.startswith("vllm:"):
            assert series.facts
    assert len(by_sample()) >= len(SERIES)
    # What an older release calls a histogram's parts is what the page has.
    assert "vllm:nixl_xfer_time_seconds_bucket" in by_sample() and "vllm:num_preemptions_total" in by_sample()


def test_errors_and_unheard_preemptions_are_never_healthy() -> None:
    whole = reading("after-decode").whole
    whole.values["finished/error"] = 2.0
    assert judge(counts(whole), now(whole, 0), None)[0] == "errors"
    numbers = Numbers({"parked": 0, "restored": 0, "preempted": 4})
    verdict, reason, troubles = judge(counts(numbers), now(numbers, 0), None)
    assert verdict == "inactive" and "was not notified of any" in reason.en and troubles[0].code == "PD109"
