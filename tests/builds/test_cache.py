"""What was read is kept, and read again as soon as anything that it depends on changes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pd_launch.launcher.builds import Build, read_build, tables
from tests.builds.tiny import ASCEND, SERVE, VLLM, sdist, wheel, write


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The projects that were read, and did not come out of the cache."""
    done: list[str] = []
    for name in ("read_vllm", "read_ascend"):
        real = getattr(tables, name)
        monkeypatch.setattr(tables, name, lambda files, real=real, name=name: (done.append(name), real(files))[1])
    return done


def flags(build: Build) -> set[str]:
    assert build.read.vllm is not None
    return set(build.read.vllm.sections["flags"])


def test_a_second_reading_is_out_of_the_cache(tmp_path: Path, read: list[str]) -> None:
    write(tmp_path, {**VLLM, **ASCEND})
    first, second = read_build(tmp_path), read_build(tmp_path)
    assert sorted(read) == ["read_ascend", "read_vllm"]
    assert first == second and first.read.vllm == second.read.vllm and first.read.ascend == second.read.ascend
    assert hash(first.read) == hash(second.read)


CHANGES = {
    "edited": {"vllm/entrypoints/args.py": SERVE.replace("fork-flag", "new-flag")},
    "same-size": {"vllm/entrypoints/args.py": SERVE.replace("fork-flag", "kork-flag")},
    "new-file": {"vllm/config/more.py": "x = 1\n"},
    "came": {"vllm/envs/__init__.py": "x = 1\n", "vllm/engine/arg_utils/__init__.py": ""},
}


@pytest.mark.parametrize("change", [name for name in CHANGES if name != "came"])
def test_a_change_is_seen(change: str, tmp_path: Path, read: list[str]) -> None:
    write(tmp_path, VLLM)
    before = read_build(tmp_path)
    write(tmp_path, CHANGES[change])
    for name in CHANGES[change]:
        os.utime(tmp_path / name, ns=(1, 1))
    after = read_build(tmp_path)
    assert read == ["read_vllm"] * 2
    assert (flags(before) != flags(after)) == ("args" in next(iter(CHANGES[change])))


def test_a_file_that_goes_is_seen(tmp_path: Path, read: list[str]) -> None:
    write(tmp_path, VLLM)
    assert not read_build(tmp_path).unread
    (tmp_path / "vllm/envs.py").unlink()
    assert read_build(tmp_path).unread


def test_an_archive_is_known_by_its_bytes(tmp_path: Path, read: list[str]) -> None:
    first = read_build(wheel(tmp_path / "a.whl", VLLM))
    (tmp_path / "b.whl").write_bytes((tmp_path / "a.whl").read_bytes())
    second = read_build(tmp_path / "b.whl")
    assert read == ["read_vllm"] and first.read.key == second.read.key
    wheel(tmp_path / "a.whl", {**VLLM, "vllm/entrypoints/args.py": SERVE.replace("fork", "kork")})
    assert "kork-flag" in flags(read_build(tmp_path / "a.whl"))


def test_all_forms_of_one_build_say_the_same(tmp_path: Path) -> None:
    builds = [
        read_build(write(tmp_path / "folder", VLLM)),
        read_build(wheel(tmp_path / "a.whl", VLLM)),
        read_build(sdist(tmp_path / "a.tar.gz", VLLM)),
    ]
    assert all(build.read.vllm == builds[0].read.vllm for build in builds)


@pytest.mark.parametrize("damage", ["", "{}", "\0", "x" * 100, "cut", "list"])
def test_a_damaged_cache_is_as_none(damage: str, tmp_path: Path, cache: Path, read: list[str]) -> None:
    write(tmp_path, VLLM)
    read_build(tmp_path)
    entries = list((cache / "builds").iterdir())
    assert entries
    for entry in entries:
        text = entry.read_text(encoding="utf-8")
        entry.write_text(text[:-20] if damage == "cut" else text[:64] + "[]" if damage == "list" else damage)
    assert "fork-flag" in flags(read_build(tmp_path))
    assert read == ["read_vllm"] * 2


def test_a_cache_that_cannot_be_written_is_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("PD_LAUNCH_CACHE", str(tmp_path / "file"))
    write(tmp_path / "build", VLLM)
    assert flags(read_build(tmp_path / "build")) == flags(read_build(tmp_path / "build"))
