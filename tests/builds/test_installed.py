"""What is installed: found without importing it, of the Python that runs vllm; and equal to the stored table."""

from __future__ import annotations

import json
import sys
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import pytest

from pd_launch.launcher.builds import installed, installed_build, read_build, target_of
from pd_launch.launcher.builds.files import Folder
from pd_launch.launcher.builds.tables import read_vllm
from pd_launch.schemas.core.target import vllm_target
from pd_launch.schemas.releases.vllm_tables import vllm_table
from tests.builds.tiny import VLLM, write

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

from release_ranges import DATA, differences, unfold

SITE = "lib/python3.11/site-packages"
HERE = find_spec("vllm")
ROOT = Path(HERE.origin).parent.parent if HERE is not None and HERE.origin else None
needs_vllm = pytest.mark.skipif(ROOT is None, reason="vllm is not installed here")


@pytest.fixture(autouse=True)
def fresh() -> None:
    installed._of_running.cache_clear()


@pytest.mark.parametrize(
    "head",
    [
        "#!{0}/bin/python\n",
        "#!{0}/bin/python3.11 -s\n",
        "#!/bin/sh\n'''exec' \"{0}/bin/python3\" \"$0\" \"$@\"\n' '''\n",
        "#!/bin/sh\n'''exec' {0}/bin/python3 \"$0\" \"$@\"\n' '''\n",
    ],
)
def test_the_python_that_vllm_runs_under_counts(head: str, tmp_path: Path) -> None:
    write(tmp_path / SITE, VLLM)
    program = write(tmp_path, {"bin/vllm": head.format(tmp_path) + "import vllm\n"}) / "bin/vllm"
    build = installed_build(str(program))
    assert build is not None and build.roots == {"vllm": tmp_path / SITE}
    target = target_of(build, "installed")
    assert target.decided_by == "installed" and "fork-flag" in vllm_table(target).flags


@pytest.mark.parametrize("head", ["", "#!/usr/bin/env python3\n", "\x7fELF\0\0", "#!/bin/bash\n", "#!"])
def test_a_program_that_names_no_python_is_run_by_ours(
    head: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = write(tmp_path, {"vllm": head}) / "vllm"
    monkeypatch.setattr(installed, "_of_running", lambda: "ours")
    assert str(installed_build(str(program))) == str(installed_build(str(tmp_path / "none"))) == "ours"


def test_nothing_installed_is_no_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installed, "find_spec", lambda name: None)
    assert installed_build() is None
    program = write(tmp_path, {"bin/vllm": f"#!{tmp_path}/bin/python\n"}) / "bin/vllm"
    assert installed_build(str(program)) is None


def test_a_package_is_found_and_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "vllm"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(write(tmp_path, VLLM)))
    build = installed_build()
    assert build is not None and build.roots["vllm"] == tmp_path and "vllm" not in sys.modules


@needs_vllm
def test_the_installed_release_reads_as_its_stored_table() -> None:
    assert ROOT is not None
    release = metadata.version("vllm").partition("+")[0]
    table = unfold(json.loads((DATA / "vllm.json").read_text(encoding="utf-8")))[release]
    reading = read_vllm(Folder(ROOT))
    assert not reading.unread and differences(table, reading.sections) == []


@needs_vllm
def test_a_fork_of_the_installed_release_differs_by_what_it_changed(tmp_path: Path) -> None:
    assert ROOT is not None
    files = Folder(ROOT)
    read_vllm(files)
    fork = {path: (ROOT / path).read_bytes() for path, state in files.seen.items() if state is not None}
    old, new = b'"--long-prefill-token-threshold"', b'"--fork-threshold"'
    assert old in fork["vllm/engine/arg_utils.py"]
    fork["vllm/engine/arg_utils.py"] = fork["vllm/engine/arg_utils.py"].replace(old, new)
    fork["vllm/_version.py"] = b"__version__ = version = '0.1.dev1+gfork'\n"
    build = read_build(write(tmp_path, {**fork, "vllm/__init__.py": b""}))
    target = target_of(build)
    table, row = vllm_table(target), vllm_table(vllm_target(metadata.version("vllm"), "--target"))
    assert set(table.flags) ^ set(row.flags) == {"fork-threshold", "long-prefill-token-threshold"}
    assert target.vllm == row.release and build.read.vllm is not None and build.read.vllm.is_guess
