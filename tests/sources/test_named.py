"""What a file names is opened only where it is a regular file below the folder of that file or the working folder."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.engine.named import named_file
from pd_launch.launcher.sources.read import Inputs, read
from pd_launch.launcher.sources.text.limits import MAX_SIZE
from pd_launch.schemas.core.values import SourceFile
from pd_launch.schemas.finding import Finding

ROOT = Path(__file__).resolve().parent.parent.parent
PROFILE = "version: 1\nhardware: cpu\nmodel: m\ndecode: {engine: {no-such-flag: 1}}\n"
CONFIG = "no-such-flag: topsecretline\n"
OPENERS: dict[str, Callable[..., Any]] = {"os.open": os.open, "io.open": io.open, "builtins.open": open}
LIMITS = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
sys.argv[0] = "pd-launch"
from pd_launch.launcher.cli import main
main()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a script's folder in it, the working folder, and things beside it that are nobody's business."""
    made = tmp_path / "work"
    (made / "scripts" / "below").mkdir(parents=True)
    (tmp_path / "outside.yaml").write_text(PROFILE)
    (tmp_path / "outside-config.yaml").write_text(CONFIG)
    monkeypatch.chdir(made)
    return made


def findings(path: Path, text: str) -> list[Finding]:
    path.write_text(text)
    source = SourceFile(os.path.relpath(path), text)
    return check(read(Inputs([source])))


FORMS = {
    "profile": "pd-launch decode --profile {name}\n",
    "profile=": "pd-launch decode --profile={name}\n",
    "config": "vllm serve m --config {name}\n",
}


def told(found: list[Finding]) -> list[tuple[str, str]]:
    return [(f.severity, re.sub(r".* is not read: ", "", f.message)) for f in found if "is not read" in f.message]


def outside(folder: Path, form: str) -> list[str]:
    kind = "outside-config.yaml" if form == "config" else "outside.yaml"
    (folder / "scripts" / "link.yaml").symlink_to(folder.parent / kind)
    (folder / "scripts" / "up").symlink_to(folder.parent, target_is_directory=True)
    return [str(folder.parent / kind), f"../../{kind}", f"below/../../../{kind}", "link.yaml", f"up/{kind}"]


@pytest.mark.parametrize("form", FORMS)
def test_nothing_outside_is_read(folder: Path, form: str) -> None:
    for name in outside(folder, form):
        found = findings(folder / "scripts" / "s.sh", FORMS[form].format(name=name))
        assert len(told(found)) == 1 and told(found)[0][0] == "info", name
        assert "it is outside" in told(found)[0][1]
        assert not [f for f in found if f.code == "PD004"], name


@pytest.mark.parametrize("form", FORMS)
def test_whether_a_file_outside_is_there_makes_no_difference(folder: Path, form: str) -> None:
    there = findings(folder / "s.sh", FORMS[form].format(name="/etc/passwd.yaml"))
    named = findings(folder / "s.sh", FORMS[form].format(name=str(folder.parent / "outside.yaml")))
    assert told(there) == told(named) != []


@pytest.mark.parametrize("form", FORMS)
def test_what_lies_below_is_read(folder: Path, form: str) -> None:
    text = CONFIG if form == "config" else PROFILE
    (folder / "in-work.yaml").write_text(text)
    (folder / "scripts" / "beside.yaml").write_text(text)
    (folder / "scripts" / "below" / "deeper.yaml").write_text(text)
    (folder / "scripts" / "link.yaml").symlink_to("below/deeper.yaml")
    inside = [
        "beside.yaml",
        "below/deeper.yaml",
        "./below/../beside.yaml",
        "link.yaml",
        "in-work.yaml",
        "../in-work.yaml",
    ]
    for name in [*inside, str(folder / "in-work.yaml")]:
        found = findings(folder / "scripts" / "s.sh", FORMS[form].format(name=name))
        assert [f.code for f in found if f.severity == "error"] == ["PD004"], name
        assert told(found) == [], name


@pytest.mark.parametrize("form", FORMS)
def test_what_is_no_regular_file_is_not_opened_and_said_once(folder: Path, form: str) -> None:
    os.mkfifo(folder / "pipe.yaml")
    (folder / "folder.yaml").mkdir()
    (folder / "loop.yaml").symlink_to("loop.yaml")
    (folder / "zero.yaml").symlink_to("/dev/zero")
    expected = {"pipe.yaml": "warning", "folder.yaml": "warning", "loop.yaml": "warning", "zero.yaml": "info"}
    for name, severity in expected.items():
        found = findings(folder / "s.sh", FORMS[form].format(name=name) * 3)
        assert [one for one, _ in told(found)] == [severity] * 3, (
            name,
            told(found),
        )
        assert len({(f.line, f.column, f.message) for f in found}) == len(found)


@pytest.mark.parametrize("form", FORMS)
def test_a_file_above_the_limit_of_inputs_is_not_read(folder: Path, form: str) -> None:
    (folder / "large.yaml").write_text((CONFIG if form == "config" else PROFILE) + "#" * MAX_SIZE)
    found = findings(folder / "s.sh", FORMS[form].format(name="large.yaml"))
    assert [severity for severity, _ in told(found)] == ["warning"]
    assert "PD004" not in {f.code for f in found}


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/stdin", "/proc/self/mem", "./pipe", "/dev/zero.yaml", "pipe.yaml"])
@pytest.mark.parametrize("form", FORMS)
def test_devices_and_pipes_cost_nothing(folder: Path, form: str, name: str) -> None:
    os.mkfifo(folder / "pipe")
    os.mkfifo(folder / "pipe.yaml")
    (folder / "s.sh").write_text(FORMS[form].format(name=name))
    done = subprocess.run(
        [sys.executable, "-c", LIMITS, "check", "s.sh"],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode in (0, 1) and "internal fault" not in done.stderr
    assert "is not read" in done.stdout or (form == "config" and not name.endswith(".yaml"))


def test_other_files_that_an_input_names_are_not_opened(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {
        "s.sh": "source ./pipe\n. /dev/zero\nbash ./pipe\ndocker run --env-file pipe image vllm serve m\n",
        "e.service": "[Service]\nEnvironmentFile=./pipe\nEnvironmentFile=-/dev/zero\nExecStart=vllm serve m\n",
        "compose.yaml": "services: {a: {image: i, env_file: [pipe], command: vllm serve m}}\n",
        "p.yaml": "version: 1\nhardware: cpu\nmodel: ./pipe\ndecode: {engine: {config: pipe.yaml}}\n",
        "e.py": "from vllm import LLM\nLLM(open('pipe').read(), config='pipe.yaml', tokenizer='pipe')\n",
    }
    os.mkfifo(folder / "pipe")
    os.mkfifo(folder / "pipe.yaml")
    opened: list[str] = []
    for opener, real in OPENERS.items():
        monkeypatch.setattr(opener, noting(real, opened))
    for name, text in texts.items():
        check(read(Inputs([SourceFile(name, text)])))
        assert [path for path in opened if "pipe" in path or path.startswith("/dev/")] == [], name


def noting(real: Callable[..., Any], opened: list[str]) -> Callable[..., Any]:
    def noted(path: object, *args: Any, **options: Any) -> Any:
        opened.append(str(path))
        return real(path, *args, **options)

    return noted


def test_the_watch_on_what_is_opened_sees_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    for name, real in OPENERS.items():
        monkeypatch.setattr(name, noting(real, opened))
    (folder / "beside.yaml").write_text(CONFIG)
    check(read(Inputs([SourceFile("s.sh", FORMS["config"].format(name="beside.yaml"))])))
    assert any("beside.yaml" in path for path in opened)


def test_on_the_command_line_the_name_is_the_users_own(folder: Path) -> None:
    for words in (
        ["pd-launch", "decode", "--profile", str(folder.parent / "outside.yaml")],
        ["vllm", "serve", "m", "--config", str(folder.parent / "outside-config.yaml")],
    ):
        found = check(read(Inputs([], command=words)))
        assert "PD004" in {f.code for f in found} and not told(found)


def test_shipped_profiles_are_followed_by_name_only(folder: Path) -> None:
    assert read(Inputs([SourceFile("s.sh", "pd-launch decode --profile a3-dp2tp8\n")]))[0].nodes
    for name in ("../profiles/a3-dp2tp8", "a3-dp2tp8/", "a3-dp2tp8\\x"):
        assert not any(d.nodes for d in read(Inputs([SourceFile("s.sh", f"pd-launch decode --profile '{name}'\n")])))


@pytest.mark.parametrize("name", ["", "a\0b", "x" * 5_000, "~/x.yaml", "."])
def test_names_that_are_no_paths_are_nothing(folder: Path, name: str) -> None:
    assert named_file(name, "s.sh").source is None


def test_a_profile_that_is_not_read_leaves_no_clean_result(folder: Path) -> None:
    found = findings(folder / "s.sh", "pd-launch decode --profile /etc/pd/p.yaml\n")
    assert [(f.code, f.severity) for f in found] == [("PD010", "error"), ("PD010", "info")]
