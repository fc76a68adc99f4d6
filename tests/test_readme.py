"""The README in both languages, followed to the letter: a new folder, a new environment, its commands, its outputs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from doc_examples import blocks, matches, run_document, unmarked

ROOT = Path(__file__).resolve().parent.parent
READMES = {"en": "README.md", "zh": "README.zh.md"}
GENERATED = re.compile(r"\.egg-info$|^\.venv|^__pycache__$|^(build|dist)$|^\.(git|hypothesis|\w+_cache)$")


def copy_of_the_tree(target: Path) -> None:
    """Copy what a clone would hold."""
    shutil.copytree(
        ROOT, target, symlinks=True, ignore=lambda _, names: {name for name in names if GENERATED.search(name)}
    )


def environment(folder: Path) -> dict[str, str]:
    """Return a new user's environment: this Python as python3, and nothing of pd-launch."""
    tools = folder / "tools"
    tools.mkdir()
    base = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    (tools / "python3").symlink_to(base)
    kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "HOME", "SSL_", "https_"))}
    return kept | {
        "PATH": f"{tools}:/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_ROOT_USER_ACTION": "ignore",
    }


@pytest.mark.slow
@pytest.mark.parametrize("lang", READMES)
def test_a_new_user_gets_what_the_readme_shows(lang: str, tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    copy_of_the_tree(folder / "pd-launch")
    text = (ROOT / READMES[lang]).read_text(encoding="utf-8")
    done = run_document(text, folder, environment(tmp_path))
    faults = [fault for fault in (command.fault() for command in done) if fault]
    assert not faults, "\n\n".join(faults)
    assert any(command.text.startswith("pip install") for command in done)
    assert sum(command.text.startswith("pd-launch check decode.sh") for command in done) >= 2


@pytest.mark.parametrize("lang", READMES)
def test_no_example_is_left_out_without_a_reason(lang: str) -> None:
    text = (ROOT / READMES[lang]).read_text(encoding="utf-8")
    assert [f"line {block.line}" for block in unmarked(text)] == []
    assert all(block.value for block in blocks(text) if block.mark == "not run")


def test_both_languages_show_the_same_commands() -> None:
    shown = {
        lang: [
            line.removesuffix(" --lang zh")
            for block in blocks((ROOT / name).read_text(encoding="utf-8"))
            for line in block.body.split("\n")
            if line.startswith("$ ") and "PD_LAUNCH_LANG" not in line
        ]
        for lang, name in READMES.items()
    }
    assert shown["en"] == shown["zh"]


def test_the_two_commands_are_those_of_the_makefile_and_of_ci() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    ci = (ROOT / ".ci" / "run").read_text()
    for name in READMES.values():
        named = set(re.findall(r"\bmake ([a-z][\w-]*)", (ROOT / name).read_text(encoding="utf-8")))
        assert {"demo", "test"} <= named <= targets
    assert "make demo" in ci and "make test" in ci


def test_the_pictures_are_of_real_output() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/pictures.py", "--check"], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, f"run scripts/pictures.py: {done.stdout}{done.stderr}"


@pytest.mark.parametrize(
    ("expected", "printed", "same"),
    [
        (["a", "…", "d"], "a\nb\nc\nd\n", True),
        (["a", "…", "d"], "a\nd\n", True),
        (["a", "…", "d"], "a\nb\n", False),
        (["a … c"], "a b c\n", True),
        (["a"], "a\nb\n", False),
        (["", "a"], "\na", True),
        (["a.c"], "abc\n", False),
    ],
)
def test_the_comparison_itself(expected: list[str], printed: str, same: bool) -> None:
    assert matches(expected, printed) is same
