"""A folder is walked to its end, whatever is in it, and what can hold an engine is found."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pd_launch.launcher.folders.names import can_hold_an_engine, is_of_a_form, may_be_read
from pd_launch.launcher.folders.patterns import Patterns
from pd_launch.launcher.folders.walk import Walk
from pd_launch.launcher.sources.forms import options_file
from pd_launch.launcher.sources.read import read_texts
from pd_launch.launcher.sources.trees.yaml_tree import parse_yaml
from pd_launch.schemas.core.values import SourceFile

ROOT = Path(__file__).resolve().parent.parent.parent
ENGINE = "vllm serve m\n"


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def found(folder: Path, walk: Walk | None = None) -> list[str]:
    walk = walk or Walk(1 << 20, 1 << 20)
    return [str(Path(source.path).relative_to(folder)) for source in walk.sources(str(folder))]


def test_names_and_bytes_decide(tmp_path: Path) -> None:
    taken = ("a.sh", "b.yaml", "c.yml", "d.json", "e.service", "Dockerfile", "Makefile", "f.sh.j2", "g/h.slurm", "run")
    passed = ("README", "README.md", "i.txt", "j.log", "k.go", "l.html", "none.sh")
    write(tmp_path, **dict.fromkeys(taken, ENGINE), **dict.fromkeys(passed, ENGINE))
    write(tmp_path, **{"none.sh": "echo\n", "m.py": "import vllm\n", "n.py": "from vllm import LLM\nLLM('m')\n"})
    assert sorted(found(tmp_path)) == sorted([*taken, "n.py"])


def test_what_is_no_text_or_too_large(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_bytes(b"vllm serve m\0")
    (tmp_path / "b.json").write_bytes(b"vllm" * 1000)
    (tmp_path / "c.sh").write_bytes(b"vllm" * 1000)
    (tmp_path / "d.yaml").write_bytes(b"data" * 1000)
    (tmp_path / "e").write_bytes(b"\x7fELF\0vllm serve m\0")
    walk = Walk(3000, 2000)
    assert found(tmp_path, walk) == ["a.sh", "c.sh"]  # the first is reported as no text
    assert walk.large == {str(tmp_path / "c.sh")} and walk.skipped == {"binary": 1, "large": 1, "engine": 1}


def test_gitignore_of_every_folder_on_the_way(tmp_path: Path) -> None:
    write(tmp_path, **dict.fromkeys(("a.sh", "out/a.sh", "x/b.sh", "x/keep.sh", "x/y/b.sh", "x/y/c.sh"), ENGINE))
    write(tmp_path, **{".gitignore": "out/\nb.sh\n", "x/.gitignore": "*.sh\n!keep.sh\n", "x/y/.gitignore": "!c.sh\n"})
    assert found(tmp_path) == ["a.sh", "x/keep.sh", "x/y/c.sh"]
    (tmp_path / ".git" / "info").mkdir(parents=True)
    (tmp_path / ".git" / "info" / "exclude").write_text("/x/y/\n")
    assert found(tmp_path) == ["a.sh", "x/keep.sh"]
    assert found(tmp_path / "out") == ["a.sh"]  # who names a folder wants it


def test_patterns_that_are_not_obeyed_are_said(tmp_path: Path) -> None:
    write(tmp_path, **{".gitignore": "x\n" * 10_001, "a.sh": ENGINE})
    walk = Walk(1 << 20, 1 << 20)
    assert found(tmp_path, walk) == ["a.sh"]
    assert [(Path(path).name, reason[:24]) for path, reason in walk.faults] == [
        (".gitignore", "not all of it is obeyed:")
    ]


def test_patterns_above_the_folder_count_inside_a_repository(tmp_path: Path) -> None:
    write(tmp_path, **{".gitignore": "/x/b.sh\n", "x/b.sh": ENGINE, "x/c.sh": ENGINE})
    assert found(tmp_path / "x") == ["b.sh", "c.sh"]
    (tmp_path / ".git").mkdir()
    assert found(tmp_path / "x") == ["c.sh"]


def test_folders_of_tools(tmp_path: Path) -> None:
    names = (".git/hooks/a.sh", "node_modules/x/a.sh", "env/bin/a.sh", ".x_cache/a.sh", "__pycache__/a.sh", ".ci/a.sh")
    write(tmp_path, **dict.fromkeys(names, ENGINE))
    (tmp_path / "env" / "pyvenv.cfg").touch()
    assert found(tmp_path) == [".ci/a.sh"]


def test_what_is_excluded(tmp_path: Path) -> None:
    write(tmp_path, **dict.fromkeys(("a.sh", "b/a.sh", "b/c.sh"), ENGINE))
    exclude = Patterns(["b/*", "!b/c.sh"])

    def way(folder: str) -> tuple[Patterns, tuple[str, ...]]:
        return exclude, Path(folder).relative_to(tmp_path).parts

    assert found(tmp_path, Walk(1 << 20, 1 << 20, way)) == ["a.sh", "b/c.sh"]


def test_loops_pipes_and_links_end(tmp_path: Path) -> None:
    write(tmp_path, **{"in/a.sh": ENGINE, "other/b.sh": ENGINE})
    inside = tmp_path / "in"
    (inside / "loop").symlink_to(inside)
    (inside / "up").symlink_to("..")
    (inside / "self.sh").symlink_to("self.sh")
    (inside / "nothing.sh").symlink_to("nowhere")
    (inside / "same.sh").symlink_to("a.sh")
    (inside / "out.sh").symlink_to(tmp_path / "other" / "b.sh")
    os.mkfifo(inside / "pipe.sh")
    walk = Walk(1 << 20, 1 << 20)
    assert found(inside, walk) == ["a.sh", "same.sh"]  # the call takes the second for the first
    assert walk.skipped == {"link": 5, "special": 1} and not walk.faults


def test_what_cannot_be_read_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, **{"a.sh": ENGINE, "shut/b.sh": ENGINE, "z.sh": ENGINE})
    real_scan, real_open = os.scandir, os.open

    def scan(path: str) -> object:
        if path.endswith("shut"):
            raise PermissionError(13, "Permission denied")
        return real_scan(path)

    def opened(path: str, *more: int) -> int:
        if str(path).endswith("z.sh"):
            raise PermissionError(13, "Permission denied")
        return real_open(path, *more)

    monkeypatch.setattr(os, "scandir", scan)
    monkeypatch.setattr(os, "open", opened)
    walk = Walk(1 << 20, 1 << 20)
    assert found(tmp_path, walk) == ["a.sh"]
    assert [(Path(path).name, reason) for path, reason in walk.faults] == [
        ("z.sh", "Permission denied"),
        ("shut", "Permission denied"),
    ]


def test_a_deep_tree_ends(tmp_path: Path) -> None:
    """Deeper than a path may be long: what cannot be opened by its path is said, not followed for ever."""
    here = os.getcwd()  # noqa: PTH109
    try:
        os.chdir(tmp_path)
        for _ in range(20):
            os.mkdir("d" * 250)  # noqa: PTH102
            os.chdir("d" * 250)
    finally:
        os.chdir(here)
    walk = Walk(1 << 20, 1 << 20)
    assert found(tmp_path, walk) == [] and len(walk.faults) == 1


def every_input() -> dict[str, str]:
    """Return all inputs that the tests have, by path."""
    files = {}
    for path in [*(ROOT / "tests" / "rules").glob("*/*"), *(ROOT / "profiles").glob("*.yaml")]:
        if path.is_file() and path.stat().st_size < 100_000:
            files[str(path)] = path.read_text("utf-8", "replace")
    for listed in (ROOT / "tests" / "cases").glob("*.jsonl"):
        for number, line in enumerate(listed.read_text("utf-8").splitlines()):
            files |= {f"{listed.name}/{number}/{name}": text for name, text in json.loads(line)["files"].items()}
    return files


def _is_of_options(path: str, text: str) -> bool:
    """Whether it is a file of --config alone, which counts in a folder only where another names it."""
    if not path.endswith((".yaml", ".yml")):
        return False
    trees, faults = parse_yaml(SourceFile(path, text))
    return not faults and len(trees) == 1 and options_file.recognise(trees[0])


@pytest.mark.slow
def test_no_file_with_an_engine_is_passed_over() -> None:
    """The look at names and bytes takes more than is read, never less."""
    lost, held = [], 0
    for path, text in every_input().items():
        nodes = [node for deployment in read_texts({path: text}, separate=True) for node in deployment.nodes]
        if nodes and not _is_of_options(path, text) and not path.endswith(".md"):  # pages are read when they are named
            held += 1
            source = SourceFile(path, text)
            if not (may_be_read(Path(path).name) and can_hold_an_engine(source) and is_of_a_form(source)):
                lost.append(path)
    assert not lost and held > 500


def test_a_definition_of_a_resource_holds_no_engine() -> None:
    """It is a schema, and may be larger than any file that is read."""
    head = "# generated\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\n"
    spoken = "spec:\n  description: runs vllm serve with --kv-transfer-config\n"
    assert not can_hold_an_engine(SourceFile("crd.yaml", head + spoken))
    more = "---\napiVersion: v1\nkind: Pod\nspec: {containers: [{command: [vllm, serve, m]}]}\n"
    assert can_hold_an_engine(SourceFile("crd.yaml", head + spoken + more))
