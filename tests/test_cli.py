"""The commands as people run them: exit statuses, messages, secrets, terminal safety, and the launch itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from pd_launch.launcher import cli
from pd_launch.schemas.finding import Report
from pd_launch.schemas.plan import LaunchPlan

BASE = "version: 1\nhardware: cpu\nmodel: some/model\n"
GOOD = BASE + "decode:\n  port: 8300\n  env: {A: 'x y', B: \"it's\"}\n"
BAD_SCRIPT = 'vllm serve /models/m --kv-transfer-config \'{"kv_connector": "X", "kv_role": "kv_both",}\'\n'


@dataclass
class Result:
    code: int
    out: str
    err: str


Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LC_ALL", "C.UTF-8")

    def call(*args: str) -> Result:
        monkeypatch.setattr(sys, "argv", ["pd-launch", *args])
        with pytest.raises(SystemExit) as done:
            cli.main()
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err + captured.out
        return Result(int(done.value.code or 0), captured.out, captured.err)

    return call


def process(*args: str, cwd: Path, code: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    """Run pd-launch in a process of its own; ``code`` is run first."""
    start = f"{code}\nimport sys; sys.argv[0] = 'pd-launch'\nfrom pd_launch.launcher.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", start, *args],
        cwd=cwd,
        env={**os.environ, "LC_ALL": "C.UTF-8", **env},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize(
    ("text", "args", "code"),
    [
        (GOOD, (), 0),
        ("vllm serve m --port 1\n", (), 0),
        (BAD_SCRIPT, (), 1),
        (BAD_SCRIPT, ("--ignore", "PD0,PD1,PD2,PD3,PD4,PD5,PD6,PD7,PD8,PD9"), 0),
        (BAD_SCRIPT, ("--select", "PD001"), 1),
        (BAD_SCRIPT, ("--select", "PD002"), 0),
        ("", (), 1),
        ("echo nothing here\n", (), 1),
        ("\x00\x01\x02\xff" * 100, (), 1),
    ],
)
def test_check_status(run: Run, text: str, args: tuple[str, ...], code: int) -> None:
    name = "p.yaml" if text.startswith("version") else "s.sh"
    Path(name).write_text(text, encoding="latin-1")
    result = run("check", name, *args)
    assert (result.code, result.err) == (code, ""), result
    assert ("error[PD" in result.out) == (code == 1)


@pytest.mark.parametrize(
    ("command", "en", "zh"),
    [
        (("vllm", "bench", "serve", "--model", "m"), "“vllm bench serve” starts none", "“vllm bench serve”不启动引擎"),
        (("ls", "-l"), "this command starts none", "这条命令不启动引擎"),
    ],
)
def test_a_command_that_starts_no_engine_is_told_so(run: Run, command: tuple[str, ...], en: str, zh: str) -> None:
    for lang, words in (("en", f"no vLLM engine found: {en}"), ("zh", f"没有找到 vLLM 引擎：{zh}")):
        result = run("check", "--lang", lang, "--", *command)
        assert result.code == 1 and words in result.out, result


def test_a_benchmark_with_an_engine_of_its_own_is_told_so(run: Run) -> None:
    result = run("check", "--", "vllm", "bench", "throughput", "--model", "m")
    assert "PD014" in result.out and "vllm bench throughput starts its own engine" in result.out


@pytest.mark.parametrize(
    "command", [("decode", "--dry-run", "--profile"), ("doctor", "--profile"), ("logs",), ("size",)]
)
def test_a_folder_in_place_of_a_file_is_told_in_both_languages(run: Run, command: tuple[str, ...]) -> None:
    Path("d").mkdir()
    for lang, words in (("en", "d is a folder: give "), ("zh", "d 是目录：请给出")):
        result = run(*command[:1], "--lang", lang, *command[1:], "d")
        assert result.code == 2 and words in result.err, result


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("check",), "pd-launch check -- vllm serve"),
        (("check", "--"), "pd-launch check decode.sh"),
        (("check", "missing.sh"), "missing.sh: No such file or directory"),
        (("check", "a\x1b[31m.sh"), "a\ufffd[31m.sh: No such file"),
        (("check", "x", "--target", "latest"), "is not a release: write for example vllm-ascend==0.25.1rc1"),
        (("check", "x", "--formt", "json"), "No such option"),
        (("check", "x", "--format", "xml"), "'xml' is not one of"),
        (("decode",), "Missing option '--profile'"),
        (("decode", "--profile", "a3-dp2tp9"), "did you mean the shipped profile a3-dp2tp8?"),
        (("decode", "--profile", "a3-dp2tp9", "--dry-run"), "did you mean the shipped profile a3-dp2tp8?"),
        (("decode", "--profile", "/nowhere/x.yaml"), "no profile /nowhere/x.yaml"),
        (("decode", "--profile", "."), ". is a folder: give a profile, which is a YAML file"),
        (("decode", "--profile", "cpu-tiny", "--set", "decode", "--dry-run"), "write KEY=VALUE"),
        (("decode", "--profile", "cpu-tiny", "--dry-run", "stray"), "put arguments for vLLM after --"),
        (("decode", "--profile", "cpu-tiny", "--dry-run", "--node-rank", "5"), "this side has the nodes 0 to 0"),
        (("decode", "--profile", "cpu-tiny", "--dry-run", "--dp-rank", "1"), "--dp-rank 1: "),
        (("decode", "--profile", "cpu-tiny", "--dry-run", "--", "--x", "\udcff"), "is not valid UTF-8"),
        (("nonsense",), "No such command 'nonsense'"),
    ],
)
def test_usage_errors_have_status_2(run: Run, args: tuple[str, ...], words: str) -> None:
    Path("x").write_text("vllm serve m\n")
    result = run(*args)
    assert result.code == 2, result
    assert words in " ".join(result.err.split())
    assert "\x1b" not in result.err


def test_check_of_a_command_line(run: Run) -> None:
    result = run(
        "check", "--format", "json", "--select", "PD001", "--", "vllm", "serve", "m", "--additional-config", "{,}"
    )
    assert result.code == 1
    report = Report.model_validate_json(result.out)
    assert [(f.code, f.file, f.line, f.column) for f in report.findings] == [("PD001", "<command line>", 1, 2)]


@pytest.mark.parametrize("form", ["json", "sarif"])
def test_odd_names_and_bytes_are_reported(run: Run, form: str) -> None:
    name = os.fsdecode(b"s\xff\x1b.sh")
    try:
        Path(name).write_bytes(b"vllm serve m --additional-config '{,}' \xff\xfe\x1b[31m\n")
    except OSError:
        pytest.skip("this file system takes no such name")
    assert json.loads(run("check", name, "--format", form).out)
    assert "\x1b" not in run("check", name).out


def test_terminal_escapes_are_not_printed(run: Run) -> None:
    Path("s.sh").write_text("vllm serve m --kv-transfer-config '{\"a\x1b[31m\u202e\x07\": 1,}'\n")
    for args in ((), ("--format", "concise"), ("--format", "github")):
        out = run("check", "s.sh", *args).out
        assert "PD001" in out
        assert not any(sign in out for sign in "\x1b\u202e\x07")


def test_colour(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("s.sh").write_text(BAD_SCRIPT)
    assert "\x1b[" in run("check", "s.sh", "--color", "always").out
    assert "\x1b[" not in run("check", "s.sh").out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in run("check", "s.sh").out


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "the profile is empty"),
        (b"version: 1\nhardware: cpu\nmodel: m\ndecode: {paralel: {}}\n", "did you mean parallel?"),
        (b"version: 1\nhardware: cpu\nmodel: m\ndecode: {offload: {per_rank: 16Gigs}}\n", "unknown unit 'Gigs'"),
        (b"version: 1\nhardware: cpu\nmodel: \xe9\ndecode: {}\n", "the file is not valid UTF-8 here"),
        (b"\x00\x01\x02" * 50, "not valid YAML"),
        (b"version: [1\n", "not valid YAML"),
        (b"version: 1\nhardware: cpu\nmodel: m\nprefill: {}\n", "has no section decode"),
    ],
)
@pytest.mark.parametrize("dry", [True, False])
def test_broken_profiles(run: Run, data: bytes, words: str, dry: bool) -> None:
    Path("p.yaml").write_bytes(data)
    result = run("decode", "--profile", "p.yaml", *(["--dry-run"] if dry else []))
    planned = dry and "UTF-8" in words  # the rest can be read: the plan has the finding
    assert words in (result.out if planned else result.err) and bool(result.out) == planned
    no_side = "no section" in words
    assert result.code == ((2 if no_side else 1) if dry else 78)


def test_an_unreadable_and_a_huge_profile(run: Run) -> None:
    Path("huge.yaml").write_bytes(b"#" * (33 * 1024 * 1024))
    result = run("decode", "--profile", "huge.yaml", "--dry-run")
    assert result.code == 2 and "larger than 2 MiB" in result.err
    Path("locked.yaml").write_text(GOOD)
    Path("locked.yaml").chmod(0)
    if os.geteuid() != 0:
        result = run("decode", "--profile", "locked.yaml", "--dry-run")
        assert result.code == 2 and "Permission denied" in result.err


def test_a_dry_run_is_the_contract_and_needs_nothing_around_it(run: Run) -> None:
    result = run("decode", "--profile", "a3-dp2tp8", "--dry-run", "--set", "decode.port=9000", "--", "--seed", "5")
    assert result.code == 0
    assert result.err == (
        "pd-launch: no release is named, so this is for vllm-ascend 0.23.0.post1, the newest final release; "
        "name one with --target\n"
    )
    plan = LaunchPlan.model_validate_json(result.out)
    assert set(json.loads(result.out)) == {f.alias or n for n, f in LaunchPlan.model_fields.items()}
    assert plan.argv[:3] == ["vllm", "serve", "/models/deepseek-v3.1-w8a8"]
    assert plan.argv[3:5] == ["--port", "9000"] and plan.argv[-2:] == ["--seed", "5"]
    assert plan.provenance["/argv/4"].file == plan.provenance[f"/argv/{len(plan.argv) - 1}"].file == "<command line>"
    assert plan.provenance["/argv/4"].column == len("decode.port=") + 1
    assert list(Path().iterdir()) == []


STAND_IN = """\
#!{python}
import json, os, sys
print(json.dumps({{"pid": os.getpid(), "argv": sys.argv, "env": dict(os.environ)}}))
sys.exit(37)
"""


@pytest.fixture
def stand_in(tmp_path: Path) -> Path:
    """A folder with a program ``vllm`` that tells what it was given and exits with 37."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "vllm"
    program.write_text(STAND_IN.format(python=sys.executable))
    program.chmod(0o755)
    return folder


ELSEWHERE = "import sys; sys.executable = '/nonexistent/python'"
"""Makes pd-launch look for vllm on PATH only."""


def test_the_launch_becomes_the_engine(tmp_path: Path, stand_in: Path) -> None:
    (tmp_path / "p.yaml").write_text(GOOD)
    code = f"{ELSEWHERE}; import os; print(os.getpid(), flush=True)"
    done = process(
        "decode",
        "--profile",
        "p.yaml",
        "--no-host",
        "--",
        "--seed",
        "5",
        cwd=tmp_path,
        code=code,
        PATH=str(stand_in),
        A="z",
    )
    assert done.returncode == 37, done.stderr
    pid, told = done.stdout.split("\n", 1)
    engine = json.loads(told)
    assert engine["pid"] == int(pid)
    assert engine["argv"][1:] == ["serve", "some/model", "--port", "8300", "--tensor-parallel-size", "1", "--seed", "5"]
    assert engine["env"]["A"] == "x y" and engine["env"]["B"] == "it's"
    assert "A is already set differently" in done.stderr and "pd-launch: starting" in done.stderr


@pytest.mark.parametrize(
    ("profile", "path", "words"),
    [
        (GOOD, False, "vllm is neither next to"),
        (BASE.replace("some/model", "/nowhere/m") + "decode: {}\n", True, "the model /nowhere/m does not exist"),
        (BASE.replace("some/model", "../m") + "decode: {}\n", True, "the model ../m does not exist"),
        (BASE + 'decode: {env: {A: "\\0"}}\n', True, "which no argument or variable can contain"),
    ],
)
def test_refused_launches_have_status_78(tmp_path: Path, stand_in: Path, profile: str, path: bool, words: str) -> None:
    (tmp_path / "p.yaml").write_text(profile)
    found = str(stand_in) if path else ""
    done = process("decode", "--profile", "p.yaml", "--no-host", cwd=tmp_path, code=ELSEWHERE, PATH=found)
    assert (done.returncode, done.stdout) == (78, ""), done
    assert words in done.stderr and "Traceback" not in done.stderr


def test_the_shell_form_runs_the_same_as_the_plan(run: Run, stand_in: Path, tmp_path: Path) -> None:
    Path("p.yaml").write_text(
        GOOD
        + "  parallel: {data: 2}\n  engine: {hf-overrides: {a: \"it's $HOME `x`\"}, served-model-name: [a b, '*']}\n"
    )
    plan = json.loads(run("decode", "--profile", "p.yaml", "--dry-run").out)
    script = run("decode", "--profile", "p.yaml", "--dry-run", "--format", "shell").out
    Path("run.sh").write_text(script)
    subprocess.run(["sh", "-n", "run.sh"], check=True, timeout=60)
    done = subprocess.run(
        ["sh", "run.sh"], env={"PATH": f"{stand_in}:{os.environ['PATH']}"}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 37, done.stderr
    engine = json.loads(done.stdout)
    assert engine["argv"][1:] == plan["argv"][1:]
    assert plan["env"].items() <= engine["env"].items()


SECRETS = ("hf_topsecret", 'quote"and\\slash', "list-first", "list-second")
SECRET_PROFILE = BASE + textwrap.dedent(
    """\
    env:
      HF_TOKEN: hf_topsecret
      MY_PASSWORD: 'quote"and\\slash'
    decode:
      engine: {api-key: [list-first, list-second]}
    """
)


def _shows(text: str) -> list[str]:
    return [secret for secret in SECRETS if secret in text or json.dumps(secret)[1:-1] in text]


def test_secrets_are_in_no_plan(run: Run) -> None:
    Path("p.yaml").write_text(SECRET_PROFILE)
    plan = run("decode", "--profile", "p.yaml", "--dry-run")
    assert plan.code == 0 and _shows(plan.out + plan.err) == []
    found = json.loads(plan.out)
    assert found["env"]["HF_TOKEN"] == found["env"]["MY_PASSWORD"] == "***"
    assert found["argv"][-3:] == ["--api-key", "***", "***"]
    script = run("decode", "--profile", "p.yaml", "--dry-run", "--format", "shell").out
    assert _shows(script) == []
    assert 'export HF_TOKEN="${HF_TOKEN:?}"' in script and '--api-key "${API_KEY:?}" "${API_KEY_2:?}"' in script


@pytest.mark.parametrize("form", ["text", "json", "concise", "sarif", "github"])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.yaml", SECRET_PROFILE.replace("HF_TOKEN: hf_topsecret", "HF_TOKEN: [hf_topsecret]")),
        ("p.yaml", SECRET_PROFILE.replace("HF_TOKEN: hf_topsecret", "HF_TOKEN: hf_topsecret: x")),
        ("s.sh", f"HF_TOKEN=hf_topsecret vllm serve m --api-key list-first {'-' * 200} --additional-config '{{,}}'\n"),
        ("s.sh", "vllm serve m --api-key='list-first' --additional-config '{\"x\": 1,}'\n"),
        ("s.sh", 'export HF_TOKEN="hf_topsecret" X=\'\n'),
    ],
)
def test_secrets_are_in_no_report(run: Run, name: str, text: str, form: str) -> None:
    Path(name).write_text(text)
    result = run("check", name, "--format", form)
    assert result.code == 1 and result.out
    assert _shows(result.out + result.err) == []


def test_a_secret_that_is_an_ordinary_word_leaves_the_json_whole(run: Run) -> None:
    Path("s.sh").write_text("HF_TOKEN=error vllm serve m --api-key findings --additional-config '{,}'\n")
    report = Report.model_validate_json(run("check", "s.sh", "--format", "json").out)
    assert report.summary.error >= 1


def test_secrets_are_not_in_the_launch_message(tmp_path: Path, stand_in: Path) -> None:
    (tmp_path / "p.yaml").write_text(SECRET_PROFILE)
    done = process("decode", "--profile", "p.yaml", "--no-host", cwd=tmp_path, code=ELSEWHERE, PATH=str(stand_in))
    assert done.returncode == 37 and _shows(done.stderr) == []
    engine = json.loads(done.stdout)
    assert engine["argv"][-3:] == ["--api-key", "list-first", "list-second"]
    assert engine["env"]["MY_PASSWORD"] == 'quote"and\\slash'


IMPORTED = "import atexit, sys; atexit.register(lambda: print(sorted(set(sys.modules) & {names!r}), file=sys.stderr))"


@pytest.mark.parametrize(
    ("args", "names"),
    [
        (("--help",), {"pydantic", "psutil", "torch", "vllm", "yaml", "tree_sitter"}),
        (("--version",), {"pydantic", "psutil", "torch", "vllm", "yaml", "tree_sitter"}),
        (("decode", "--help"), {"pydantic", "psutil", "torch", "vllm", "yaml", "tree_sitter"}),
        (("explain", "PD301"), {"pydantic", "tree_sitter", "torch", "vllm"}),
        (("rules",), {"pydantic", "tree_sitter", "torch", "vllm"}),
        (("profiles", "list"), {"pydantic", "tree_sitter", "torch", "vllm"}),
        (("check", "s.sh", "--target", "vllm==0.32.0"), {"pydantic", "torch", "vllm"}),
        (("check", "p.yaml"), {"torch", "vllm", "tree_sitter"}),
        (("decode", "--profile", "p.yaml", "--dry-run"), {"torch", "vllm"}),
    ],
)
def test_what_commands_import(tmp_path: Path, args: tuple[str, ...], names: set[str]) -> None:
    (tmp_path / "p.yaml").write_text(GOOD)
    (tmp_path / "s.sh").write_text("vllm serve /models/m --tensor-parallel-size 8\n")
    done = process(*args, cwd=tmp_path, code=IMPORTED.format(names=names))
    assert (done.returncode, done.stderr.splitlines()[-1]) == (0, "[]")


def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    plan = "decode --profile a3-dp2tp8 --target 0.30.0rc2 --dry-run"
    command = f'"{sys.executable}" -m pd_launch {plan} | true; echo "${{PIPESTATUS[0]}}"'
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.stderr == "" and done.stdout.strip() in ("0", "141")
