"""No input gives a traceback; a fault of pd-launch itself is one line and status 70, which no finding has."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pd_launch.launcher.check.config import ConfigError, find_config
from pd_launch.launcher.doctor.rows import Needs, rows_of
from pd_launch.launcher.host.contract import FACTS, MORE, FactsError, read_facts
from pd_launch.launcher.host.facts import difference_text, differences, disagreements, issue_block
from pd_launch.launcher.sources.trees.yaml_tree import parse_yaml
from pd_launch.schemas.core.values import SourceFile

ROOT = Path(__file__).resolve().parent.parent
DIGITS = "9" * 5_000
FAILING = """
import sys
import pd_launch.launcher.commands.rules as rules
def failing(*_):
    raise {error}
rules.rules_command = failing
from pd_launch.launcher.cli import main
main()
"""


def run(*args: str, cwd: Path, code: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    start = ["-c", code] if code else ["-m", "pd_launch"]
    return subprocess.run(
        [sys.executable, *start, *args],
        cwd=cwd,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8"} | env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize(
    "error", ["ValueError('hunter2-s3cr3t')", "MemoryError()", "RecursionError()", "KeyError('x')", "AssertionError()"]
)
def test_an_internal_fault_is_one_line_and_status_70(tmp_path: Path, error: str) -> None:
    done = run("rules", cwd=tmp_path, code=FAILING.format(error=error))
    assert done.returncode == 70
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"pd-launch: internal fault ({error.partition('(')[0]}, ")
    assert "please report" in line and "hunter2" not in line


def test_the_line_names_the_place_in_our_code(tmp_path: Path) -> None:
    code = FAILING.format(error="ValueError()").replace(
        "def failing(*_):",
        "from pd_launch.schemas.core.units import _factor\ndef failing(*_):\n    _factor(None, None)",
    )
    assert "AttributeError, schemas/core/units.py:" in run("rules", cwd=tmp_path, code=code).stderr


@pytest.mark.parametrize(("args", "env"), [(("--debug",), {}), ((), {"PD_LAUNCH_DEBUG": "1"})])
def test_debug_shows_the_traceback(tmp_path: Path, args: tuple[str, ...], env: dict[str, str]) -> None:
    done = run(*args, "rules", cwd=tmp_path, code=FAILING.format(error="ValueError('\\x1b[31m')"), **env)
    assert done.returncode == 70
    assert "Traceback (most recent call last):" in done.stderr and "ValueError" in done.stderr
    assert "\x1b" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("pd-launch: internal fault (")


def test_the_line_in_chinese(tmp_path: Path) -> None:
    done = run("rules", cwd=tmp_path, code=FAILING.format(error="ValueError()"), LC_ALL="zh_CN.UTF-8", PYTHONUTF8="1")
    assert done.stderr.startswith("pd-launch: 内部错误（ValueError, ")


CONFIGURATIONS = {
    "a list": 'fail-on = ["error"]',
    "a table": "fail-on = {}",
    "a list below": "[severity]\nPD001 = []",
    "deep": "a = " + "[" * 5_000,
    "digits": f"x = {DIGITS}",
    "hexadecimal digits": f"target = 0x{'f' * 20_000}",
    "a date": "target = 1979-05-27",
    "a language": "lang = {}",
    "codes": "select = [[]]",
    "patterns": '"per-file-ignores" = {a = 1}',
    "large": "# " + "x" * 2_000_000,
}


@pytest.mark.parametrize("file", ["pd-launch.toml", "pyproject.toml"])
@pytest.mark.parametrize("text", CONFIGURATIONS.values(), ids=CONFIGURATIONS)
def test_a_configuration_of_any_kind_is_one_line(tmp_path: Path, text: str, file: str) -> None:
    head = "[tool.pd-launch]\n" if file == "pyproject.toml" else ""
    (tmp_path / file).write_text(
        head + text.replace("[severity]", "[tool.pd-launch.severity]" if head else "[severity]")
    )
    with pytest.raises(ConfigError) as caught:
        find_config(tmp_path / "x.sh")
    assert len(str(caught.value).splitlines()[0]) < 400


SCALARS = st.one_of(st.text(max_size=8), st.integers(), st.booleans(), st.none(), st.floats(), st.just(10**4_000))
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(("target", "select", "ignore", "fail-on", "severity", "per-file-ignores", "lang", "x")), VALUES)
def test_no_value_of_a_configuration_is_an_exception(tmp_path: Path, key: str, value: Any) -> None:
    from pd_launch.launcher.check.config import _config

    try:
        _config(tmp_path / "pd-launch.toml", {key: value})
    except ConfigError as error:
        assert str(error)


TAGS = ("timestamp", "int", "float", "bool", "null", "binary", "set", "omap", "pairs", "merge", "value", "str", "seq")


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(TAGS),
    st.text(st.sampled_from("0123456789+-._:xobeETZ infayso~"), max_size=20) | st.sampled_from((DIGITS, f"0x{DIGITS}")),
)
def test_no_tag_of_yaml_is_an_exception(tag: str, text: str) -> None:
    documents, _ = parse_yaml(SourceFile("x.yaml", f"a: !!{tag} '{text}'\nb: {text or 0}\n"))
    for document in documents:
        str(document.plain())  # an integer too long for that would be found by the first message that names it


def kinds_of_facts() -> st.SearchStrategy[dict[str, Any]]:
    usual = {int: st.integers(0, 2**50), str: st.text(max_size=8), list: st.lists(VALUES, max_size=3)}
    entries = {
        name: usual.get(kind, st.dictionaries(st.text(max_size=4), VALUES, max_size=3)) | VALUES
        for name, kind in (FACTS | MORE).items()
    }
    return st.fixed_dictionaries({}, optional=entries)


@settings(max_examples=300, deadline=None)
@given(kinds_of_facts())
def test_no_host_facts_are_an_exception(facts: dict[str, Any]) -> None:
    try:
        found = read_facts(json.dumps(facts), "f.json")
    except FactsError as error:
        assert str(error)
        return
    rows_of(found, Needs(1, 2, 3), True)
    rows_of(found, None, False)
    issue_block(found)
    difference_text(differences(found, {}), ("a", "b"), "en")
    disagreements({"a": found, "b": found})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("digits.sh", f'vllm serve "${{{DIGITS}}}" "${{²}}" {{1..{DIGITS}}} $((²+{DIGITS}))\n'),
        ("steps.sh", "for ((i=²; i<2; i++)); do vllm serve m --port $i; done\n"),
        ("devices.sh", "ASCEND_RT_VISIBLE_DEVICES=²,1 vllm serve m\n"),
        ("number.sh", f"vllm serve m --additional-config '{{\"x\": {'9' * 4_000}}}'\n"),
        ("number.py", f"from vllm import LLM\nLLM('m', max_num_seqs=0x{'f' * 20_000}, seed=0x{'f' * 2_000} * 1.5)\n"),
        ("format.py", f"import os\nos.system('vllm serve {{{DIGITS}}} {{²}}'.format('m'))\n"),
        ("tag.yaml", "a: !!timestamp x\n"),
        (
            "profile.yaml",
            "version: 1\nhardware: cpu\nmodel: !!timestamp x\ndecode: {port: !!int '', rpc_port: !!bool x}\n",
        ),
        ("sizes.yaml", f"version: 1\nhardware: cpu\nmodel: m\ncontainer: {{memory: 0x{'f' * 4_000}}}\ndecode: {{}}\n"),
        ("devices.yaml", "version: 1\nhardware: a3\nmodel: m\nenv: {ASCEND_RT_VISIBLE_DEVICES: '²'}\ndecode: {}\n"),
    ],
)
def test_numbers_and_tags_of_any_kind_end_in_a_report(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    commands = [("check", name)]
    if "version" in text:
        commands.append(("decode", "--profile", name, "--dry-run"))
    for command in commands:
        done = run(*command, cwd=tmp_path)
        assert done.returncode in (0, 1), done
        assert done.stdout + done.stderr and "Traceback" not in done.stderr


def test_a_model_configuration_that_is_deep_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("[" * 200_000)
    done = run("size", "--model", "m", "--config", "config.json", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "Error: config.json is nested too deep\n"


def test_a_missing_path_does_not_stop_the_rest(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text("vllm serve m --no-such-flag\n")
    done = run("check", "no.sh", "a.sh", "neither.sh", cwd=tmp_path)
    assert done.returncode == 2
    assert "PD004" in done.stdout
    assert done.stderr == "Error: no.sh: No such file or directory\nError: neither.sh: No such file or directory\n"
    alone = run("check", "no.sh", "--exit-zero", cwd=tmp_path)
    assert (alone.returncode, alone.stdout) == (2, "")


def test_a_missing_log_does_not_stop_the_rest(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("INFO [core.py:1] Initializing a V1 LLM engine\n")
    done = run("logs", "no.log", "a.log", cwd=tmp_path)
    assert done.returncode == 2
    assert "a.log" in done.stdout and done.stderr == "Error: no.log: No such file or directory\n"


def test_exit_zero_turns_1_into_0_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text("vllm serve m --no-such-flag\n")
    assert run("check", "a.sh", cwd=tmp_path).returncode == 1
    found = run("check", "a.sh", "--exit-zero", cwd=tmp_path)
    assert (found.returncode, "PD004" in found.stdout) == (0, True)
    assert run("check", "a.sh", "no.sh", "--exit-zero", cwd=tmp_path).returncode == 2
    assert run("check", "a.sh", "--exit-zero", "--target", "x", cwd=tmp_path).returncode == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may open every folder")
def test_a_folder_that_may_not_be_opened_is_named(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir()
    (closed / "a.sh").write_text("vllm serve m\n")
    closed.chmod(0)
    try:
        done = run("check", "closed/a.sh", cwd=tmp_path)
    finally:
        closed.chmod(0o700)
    assert done.returncode == 2 and "Permission denied" in done.stderr


WORKLOAD = ("simulate", "--blocks", "99", "--workload", "requests=2,prompt=9,output=9")


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "1e999"])
@pytest.mark.parametrize(
    "words",
    [
        *((*WORKLOAD, option) for option in ("--rate", "--watermark", "--acceptance")),
        ("status", "http://127.0.0.1:9", "--timeout"),
        ("status", "http://127.0.0.1:9", "--watch"),
        ("decode", "--profile", "a3-dp2tp8", "--dry-run", "--grace"),
    ],
)
def test_no_option_takes_what_is_no_number(words: tuple[str, ...], number: str, tmp_path: Path) -> None:
    done = run(*words[:-1], f"{words[-1]}={number}", cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == ""
    is_option = words[-1] == "--watch" and number == "-inf"  # its value may be left out
    assert ("No such option" if is_option else f"Invalid value for '{words[-1]}'") in done.stderr, done.stderr


def test_a_simulation_has_no_number_of_steps_without_an_end(tmp_path: Path) -> None:
    assert run(*WORKLOAD, "--arrival-steps", "99999999999", cwd=tmp_path).returncode == 2
