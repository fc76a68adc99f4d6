"""The script that reads releases: the parser wherever it lies, small diffs, and what is new."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

from read_release import new_releases
from release_ranges import store, unfold

from pd_launch.launcher.builds.files import Folder
from pd_launch.launcher.builds.parser import read_flags
from pd_launch.launcher.builds.source import Package

ARGS = """
class FrontendArgs:
    pass


def make_arg_parser(parser):
    parser.add_argument("--port", type=int, default=8000)
    return parser
"""
OTHER = "def make_arg_parser(parser):\n    parser.add_argument('--batch')\n    return parser\n"
KWARGS = "def _compute_kwargs(cls):\n    return {'max_num_batched_tokens', 'kv_cache_memory_bytes'}\n"


def package(folder: Path, files: dict[str, str]) -> Package:
    for name, text in {"vllm/engine/arg_utils.py": KWARGS, **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return Package(Folder(folder))


@pytest.mark.parametrize("place", ["openai/cli_args", "launchers/cli_args", "common/cli_args", "some/where/new"])
@pytest.mark.parametrize("serve", [True, False], ids=["by-import", "by-search"])
def test_the_parser_is_found_wherever_it_lies(tmp_path: Path, place: str, serve: bool) -> None:
    module = place.replace("/", ".")
    files = {f"vllm/entrypoints/{place}.py": ARGS, "vllm/entrypoints/a_batch.py": OTHER}
    if serve:
        files["vllm/entrypoints/cli/serve.py"] = f"from vllm.entrypoints.{module} import make_arg_parser\n"
    assert [flag.names for flag in read_flags(package(tmp_path, files))] == [["--port"]]


def test_a_release_without_a_parser_says_so(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match="make_arg_parser"):
        read_flags(package(tmp_path, {"vllm/entrypoints/a_batch.py": OTHER}))


def write(folder: Path, release: str, **flags: Any) -> list[str]:
    store(folder, "vllm", release, f"vllm-{release}.whl", {"flags": flags})
    return (folder / "vllm.json").read_text(encoding="utf-8").splitlines()


def test_one_more_release_changes_only_the_lines_of_what_it_changed(tmp_path: Path) -> None:
    write(tmp_path, "0.1.0", a="int", b="str", c="int")
    before = write(tmp_path, "0.2.0", a="int", b="str", c="float")
    after = write(tmp_path, "0.3.0", a="int", c="float", d="str")
    changed = [line for line in after if line not in before]
    assert [line.partition(":")[0] for line in changed] == ['"0.2.0"', '"0.3.0"', '"b"', '"c"', '"d"']
    between = write(tmp_path, "0.1.5", a="int", b="str", c="int")
    assert [line.partition(":")[0] for line in between if line not in after] == ['"0.1.5"', '"c"']


def test_what_is_stored_is_what_was_read(tmp_path: Path) -> None:
    tables = {"0.1.0": {"a": "int", "b": "str"}, "0.2.0": {"a": "float"}, "0.3.0": {"a": "float", "b": "str"}}
    for release, flags in reversed(tables.items()):
        write(tmp_path, release, **flags)
    data = json.loads((tmp_path / "vllm.json").read_text(encoding="utf-8"))
    assert {release: table["flags"] for release, table in unfold(data).items()} == tables
    assert not store(tmp_path, "vllm", "0.2.0", "vllm-0.2.0.whl", {"flags": {"a": "float"}}), "as it was"


def test_new_releases_are_those_from_the_oldest_row_on() -> None:
    there = ["0.30.0rc2", "0.30.0rc1", "0.23.0.post1", "0.23.0", "0.18.0", "0.18.0rc1", "0.9.1"]
    assert new_releases(["0.18.0", "0.23.0", "0.30.0rc1"], there) == ["0.23.0.post1", "0.30.0rc2"]
    assert new_releases(there, there) == []
