"""Reading: pieces, long and hostile lines, several engines in one log, restarts, and bounded memory."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest

from pd_launch.launcher.logs import story
from pd_launch.launcher.logs.reader import MAX_LINE, Scanner, read_chunks
from tests.logs.lines import (
    SCHEDULER,
    collected,
    connector,
    line,
    log,
    parked,
    report,
    reports,
    restored,
    skipped,
    start,
)

REAL = Path(__file__).parent / "real"
HEALTHY = log(*start(), SCHEDULER, *connector(), *parked("r"), restored("r"))


@pytest.mark.parametrize("piece", [1, 7, 1000])
def test_pieces_make_no_difference(piece: int) -> None:
    data = (REAL / "pool_full.log").read_bytes()
    whole, cut = collected(data), collected(data, piece)
    assert cut.scanner.lines == whole.scanner.lines == data.count(b"\n")
    assert cut.engines[0].book.totals == whole.engines[0].book.totals
    assert cut.engines[0].book.totals.preempted == 6


def test_line_numbers_count_every_line() -> None:
    text = "noise\n" * 41 + line("Recompute triggered for request r.", "WARNING") + "noise\n"
    found = report(text)
    assert found.requests[0].moments[0].line == 42


def test_the_last_line_may_have_no_end_and_lines_may_end_in_crlf() -> None:
    assert report(HEALTHY.rstrip("\n")).counts == report(HEALTHY).counts
    assert report(HEALTHY.replace("\n", "\r\n")).verdict == "healthy"


def test_a_quoted_line_is_not_an_event() -> None:
    quoted = (
        "Received request cmpl-1: prompt: 'Skip recompute offload for request x: CPU cache has 0 free blocks, but 9'"
    )
    raised = "Received request cmpl-2: prompt: 'ValueError: Unsupported connector type: X'"
    found = report(HEALTHY + line(quoted) + line(raised))
    assert (found.verdict, found.problems) == ("healthy", [])


def test_lines_without_vllms_prefix_are_read() -> None:
    bare = "".join(text.split("] ", 1)[1] for text in HEALTHY.splitlines(keepends=True))
    assert report(bare).verdict == "healthy"


def test_a_huge_line_is_cut_and_what_follows_is_read() -> None:
    huge = b"x" * (5 * MAX_LINE) + b" Created recompute offload state for request z: computed_tokens=1\n"
    collector = collected(huge + HEALTHY.encode(), 50_000)
    assert collector.scanner.lines == HEALTHY.count("\n") + 1
    assert collector.engines[0].book.totals.preempted == 1


def test_one_line_without_end_takes_bounded_memory() -> None:
    scanner = Scanner()
    for _ in range(50):
        list(scanner.feed(b"y" * 100_000))
        assert len(scanner._rest) <= MAX_LINE


def test_escapes_and_bad_bytes_are_cleaned() -> None:
    hostile = (
        line("Recompute triggered for request \x1b]0;own\x07\x1b[31mr\x9b.", "WARNING").encode() + b"\xff\xfe\x00\n"
    )
    found = report(HEALTHY.encode() + hostile)
    assert "\x1b" not in found.model_dump_json() and "\\u001b" not in found.model_dump_json()
    assert found.counts is not None and found.counts.handed_back == 1


def test_colours_of_a_terminal_do_not_hide_lines() -> None:
    coloured = HEALTHY.replace("INFO", "\x1b[32mINFO\x1b[0m").replace("(EngineCore", "\x1b[0;36m(EngineCore")
    assert report(coloured).verdict == "healthy"


def test_secrets_are_masked() -> None:
    text = log(*start()) + line("ValueError: Unsupported connector type: X api_key=abcdef123456", "ERROR")
    assert "abcdef123456" not in report(text).model_dump_json()


@pytest.mark.parametrize(
    "mark", ["[decode-0] ", "decode-1  | ", "2026-09-20T10:00:00.1Z ", "[pod/decode-0/vllm] "], ids=str.strip
)
def test_marks_in_front_of_lines(mark: str) -> None:
    found = report("".join(mark + text for text in HEALTHY.splitlines(keepends=True)))
    assert found.verdict == "healthy" and found.counts is not None and found.counts.restored == 1


def test_engines_with_marks_are_told_apart() -> None:
    fallen = log(*start(), SCHEDULER, *connector(), *skipped("q"))
    mixed = [
        f"[rank {i}] {text}" for i, log_ in enumerate((HEALTHY, fallen)) for text in log_.splitlines(keepends=True)
    ]
    found = {engine.stream: engine.verdict for engine in reports("".join(mixed[::2] + mixed[1::2]))}
    assert set(found) == {"rank 0", "rank 1"}
    found = {engine.stream: engine.verdict for engine in reports("".join(mixed))}
    assert found == {"rank 0": "healthy", "rank 1": "fallbacks"}


def test_of_several_starts_the_last_counts() -> None:
    failed = log(*start()) + line("ValueError: Unsupported connector type: X", "ERROR") + "ValueError: Unsupported\n"
    found = report(failed + HEALTHY)
    assert (found.verdict, found.starts) == ("healthy", 2)
    assert found.first_line == failed.count("\n") + 1
    assert report(HEALTHY + failed).verdict == "errors"


def test_ranks_that_start_side_by_side_are_one_engine() -> None:
    both = log(*start()) + HEALTHY
    found = report(both)
    assert found.verdict == "healthy" and found.first_line == 1


@pytest.mark.parametrize("text", ["", "hello\n", "INFO: something else\n", '{"a": 1}\n', "Error: no\n" * 3])
def test_what_is_no_engines_log(text: str) -> None:
    (found,) = reports(text)
    assert (found.verdict, found.status) == ("not_an_engine", 2)


def test_binary_data_is_no_engines_log() -> None:
    (found,) = reports(bytes(range(256)) * 5000)
    assert found.verdict == "not_an_engine"


def test_a_log_without_its_beginning() -> None:
    middle = report(line("Avg prompt throughput: 0.0 tokens/s", place="loggers.py:1"))
    assert middle.verdict == "inactive" and "start" in middle.reason
    assert report(log(*parked("r"), restored("r"))).verdict == "healthy"
    stats = "KV Transfer metrics: parked=1, saved_bytes=9, pool_blocks_used=4, pool_blocks_total=64"
    assert report(line(stats)).verdict == "idle"


def test_reasons_that_only_the_statistics_tell() -> None:
    stats = (
        "KV Transfer metrics: RecomputeCPUOffloadConnector={'fallback.resumable': 2, 'fallback.reset': 3, 'parked': 1}"
    )
    found = report(HEALTHY + line(stats) + line(stats))
    assert found.verdict == "fallbacks" and found.counts is not None
    assert found.counts.fallbacks == {"resumable": 4}
    assert found.counts.preempted == 1 + 4


@pytest.mark.parametrize(("reason", "more"), [("prompt_pass", 2), ("overwritten", 0)])
def test_only_a_request_that_was_not_parked_is_one_more_preemption(reason: str, more: int) -> None:
    found = report(HEALTHY + line(f"KV Transfer metrics: fallback.{reason}=2"))
    assert found.verdict == "fallbacks" and found.counts is not None
    assert (found.counts.fallbacks, found.counts.preempted) == ({reason: 2}, 1 + more)
    assert not any("unknown" in problem.text for problem in found.problems)


def test_an_engine_that_dies_and_one_that_is_stopped() -> None:
    died = line("EngineCore encountered a fatal error.", "ERROR") + "RuntimeError: boom\n"
    found = report(HEALTHY + died)
    assert found.verdict == "errors" and "boom" in found.problems[0].text
    assert report(HEALTHY + "INFO:     Shutting down\n" + died).verdict == "healthy"


def test_an_engine_that_does_not_start_for_a_reason_of_its_own() -> None:
    found = report(log(*start()) + "torch.OutOfMemoryError: no memory\n")
    assert found.verdict == "errors" and found.problems[0].text == "torch.OutOfMemoryError: no memory"


def test_requests_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(story, "MAX_REQUESTS", 10)
    many = [text for i in range(50) for text in (*parked(f"r{i}"), restored(f"r{i}"))]
    found = report(log(*start(), SCHEDULER, *connector(), *many))
    assert found.counts is not None and found.counts.restored == 50
    assert len(found.requests) == 10 and found.requests_left_out == 40


def test_archives_are_unpacked_on_the_way() -> None:
    packed = gzip.compress(HEALTHY.encode()) + gzip.compress(b"more\n")
    assert b"".join(read_chunks(io.BytesIO(packed))) == HEALTHY.encode() + b"more\n"


def test_an_archive_does_not_swell_in_memory() -> None:
    packed = gzip.compress(b"z" * 30_000_000)
    assert all(len(chunk) <= 1 << 20 for chunk in read_chunks(io.BytesIO(packed)))


def test_languages() -> None:
    found = report(log(*start(), SCHEDULER, *connector(), *skipped("r")), "zh")
    assert "抢占" in found.reason and "增" in found.problems[0].help
