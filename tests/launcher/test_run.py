"""Finding the engine's program: beside Python, on PATH, and one that may not be executed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pd_launch.launcher.doctor.examine import _program
from pd_launch.launcher.launch.program import Refused, find_program


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    folders = [tmp_path / name for name in ("beside", "first", "second")]
    for folder in folders:
        folder.mkdir()
    monkeypatch.setattr("sys.executable", str(folders[0] / "python"))
    monkeypatch.setenv("PATH", os.pathsep.join(map(str, folders[1:])))
    return [folder / "vllm" for folder in folders]


def put(path: Path, mode: int) -> Path:
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return path


def test_beside_python_first_then_path(places: list[Path]) -> None:
    put(places[2], 0o755)
    assert find_program() == str(places[2])
    put(places[1], 0o755)
    assert find_program() == str(places[1])
    put(places[0], 0o755)
    assert find_program() == str(places[0])


@pytest.mark.parametrize("where", [0, 1, 2])
def test_one_without_the_execute_bit_is_named(places: list[Path], where: int) -> None:
    blocked = put(places[where], 0o644)
    with pytest.raises(Refused) as refused:
        find_program()
    assert str(refused.value) == f"{blocked} is not executable: chmod +x {blocked}, or install vLLM again"
    assert refused.value.said.zh.startswith(f"{blocked} 不可执行")
    row = _program()
    assert (row.status, row.text.zh) == ("error", refused.value.said.zh)


def test_one_that_can_be_executed_wins_over_one_that_cannot(places: list[Path]) -> None:
    put(places[0], 0o644)
    put(places[1], 0o644)
    put(places[2], 0o755)
    assert find_program() == str(places[2])


def test_none_at_all(places: list[Path]) -> None:
    places[1].mkdir()
    with pytest.raises(Refused, match=r"vllm is neither next to .*python nor on PATH: install vLLM") as refused:
        find_program()
    assert "没有 vllm" in refused.value.said.zh
