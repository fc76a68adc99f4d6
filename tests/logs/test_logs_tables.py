"""The tables of known lines: each can be found, each names a rule that exists; hostile input breaks nothing."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pd_launch.launcher.logs.build import file_reports, whole
from pd_launch.launcher.logs.notices import NOTICES, Notice
from pd_launch.launcher.logs.patterns import PATTERNS
from pd_launch.launcher.logs.reader import Noticed, Scanner
from pd_launch.launcher.rules.registry import all_rules
from pd_launch.launcher.verdicts.fallbacks import FALLBACKS
from tests.logs.lines import collected, line

REAL = Path(__file__).parent / "real"
NEEDLES = [p.needle for p in PATTERNS] + [n.needle for n in NOTICES]


def test_codes_are_rules() -> None:
    rules = all_rules()
    verdict = (Path(__file__).parents[2] / "launcher" / "logs" / "verdict.py").read_text("utf-8")
    codes = (
        {n.code for n in NOTICES} | {code for _, _, code in FALLBACKS.values()} | set(re.findall(r"PD\d{3}", verdict))
    )
    assert codes - {""} <= set(rules)


def test_texts_are_in_both_languages() -> None:
    for notice in NOTICES:
        for text in (notice.message, notice.help):
            assert text.en and text.zh and not text.zh.isascii()
        assert notice.releases


@pytest.mark.parametrize("notice", NOTICES, ids=lambda n: n.needle[:40])
def test_every_notice_is_found(notice: Notice) -> None:
    words = f"{notice.also}: {notice.needle}" if notice.also == "argument --" else f"{notice.needle} {notice.also}"
    text = line(f"ValueError: {words}" if notice.raised else words, "ERROR")
    text = f"vllm serve: error: {words}\n" if notice.also == "argument --" else text
    assert notice in [item.notice for item in Scanner().feed(text.encode()) if isinstance(item, Noticed)]


def test_every_pattern_names_its_releases() -> None:
    assert all(pattern.releases for pattern in PATTERNS)
    assert len({(p.event, p.needle) for p in PATTERNS}) == len(PATTERNS)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(NEEDLES), st.text(max_size=30), st.sampled_from(["\n", " ", ": ", "r."]))))
def test_any_mixture_of_known_words_is_read(parts: list[str]) -> None:
    text = "".join(parts)
    report = whole(file_reports("x", collected(text.encode("utf-8", "replace")), "en", True))
    assert report.status in (0, 1, 2)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", report.model_dump_json())


def test_damaged_logs_are_read() -> None:
    source = random.Random(5)
    for path in sorted(REAL.glob("*.log")):
        data = bytearray(path.read_bytes())
        for _ in range(200):
            data[source.randrange(len(data))] = source.randrange(256)
        whole(file_reports("x", collected(bytes(data)), "zh", True))
