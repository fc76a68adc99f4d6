"""Sizes: every unit of the contract, exact both ways, and errors that say what would be right."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pd_launch.schemas.core.units import GIB, KIB, MIB, TIB, SizeError, format_size, human_size, parse_size, part_of


@pytest.mark.parametrize(
    ("written", "size"),
    [
        (0, 0),
        (17179869184, 16 * GIB),
        ("17179869184", 16 * GIB),
        ("1KiB", 1024),
        ("1MiB", 1024**2),
        ("16GiB", 17179869184),
        ("1TiB", 1024**4),
        ("1Ki", 1024),
        ("1Mi", 1024**2),
        ("128Gi", 128 * GIB),
        ("2Ti", 2 * TIB),
        ("1k", 1024),
        ("500m", 500 * MIB),
        ("1g", GIB),
        ("1G", GIB),
        ("1KB", 1000),
        ("500MB", 500_000_000),
        ("16GB", 16 * 10**9),
        ("1TB", 10**12),
        ("1.5GiB", 3 * GIB // 2),
        ("0.5KiB", 512),
        (" 16 GiB ", 16 * GIB),
        ("7B", 7),
    ],
)
def test_reads(written: object, size: int) -> None:
    assert parse_size(written) == size


@pytest.mark.parametrize(
    ("written", "word"),
    [
        ("16Gib/s", "not a size"),
        ("16PiB", "unknown unit 'PiB'"),
        ("16gigs", "unknown unit 'gigs'"),
        ("-1GiB", "not a size"),
        (-1, "negative"),
        ("", "not a size"),
        ("GiB", "not a size"),
        ("1e9", "not a size"),
        ("1,5GiB", "not a size"),
        ("0.3KiB", "not a whole number of bytes"),
        ("1.5", "not a whole number of bytes"),
        ("١GiB", "not a size"),
        (1.5, "not a size"),
        (True, "not a size"),
        (None, "not a size"),
        ([16], "not a size"),
        ("9" * 5000, "not a size"),
        ("9" * 5000 + "GiB", "not a size"),
    ],
)
def test_refuses(written: object, word: str) -> None:
    with pytest.raises(SizeError, match=word):
        parse_size(written)


@given(st.integers(0, 2**70))
def test_round_trip(size: int) -> None:
    assert parse_size(format_size(size)) == size
    assert parse_size(str(size)) == size


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0"), (1500, "1500"), (16 * GIB, "16GiB"), (1536 * MIB, "1536MiB"), (2 * TIB, "2TiB"), (3 * KIB, "3KiB")],
)
def test_formats_short_and_exact(size: int, text: str) -> None:
    assert format_size(size) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (100 * GIB, "100 GiB"),
        (2 * GIB + 256 * MIB, "2.25 GiB"),
        (4160 * MIB, "4.06 GiB"),
        (1024 * GIB, "1 TiB"),
    ],
)
def test_for_people(size: int, text: str) -> None:
    assert human_size(size) == text


@pytest.mark.parametrize(
    ("number", "whole", "said"),
    [
        (0, 1, "no engine"),
        (1, 1, "1 engine"),
        (0, 3, "none of 3 engines"),
        (2, 3, "2 of 3 engines"),
        (3, 3, "all 3 engines"),
    ],
)
def test_parts(number: int, whole: int, said: str) -> None:
    """A part of a number reads as a sentence has it: no "0 of 1 engine"."""
    assert part_of(number, whole, "engine") == said
