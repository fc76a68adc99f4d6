"""What SECURITY.md promises of what is read: not executed, bounded, never raw on a terminal, secrets masked."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from pd_launch.launcher.files import write_atomically

ROOT = Path(__file__).resolve().parent.parent
GUARD = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
def watch(event, arguments):
    if event in ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "socket.connect"):
        os.write(2, f"GUARD {event} {arguments}".encode())
        os._exit(99)
sys.addaudithook(watch)
sys.argv[0] = "pd-launch"
from pd_launch.launcher.cli import main
main()
"""
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def guarded(*args: str, cwd: Path, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    """Run pd-launch so that starting a process or a connection ends it with 99, and with bounded CPU and memory."""
    home = cwd.parent / "home"
    home.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", GUARD, *args],
        cwd=cwd,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8", "HOME": str(home)} | env,
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        errors="surrogateescape",
        timeout=120,
    )
    assert "Traceback" not in done.stderr + done.stdout, done.stderr
    assert done.returncode in (0, 1, 2), done
    assert list(home.iterdir()) == []
    return done


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "folder"
    made.mkdir()
    return made


HOSTILE = {
    "script.sh": """
        X=$(touch pwned) Y=`touch pwned`
        eval "touch pwned"; . ./other.sh; source <(touch pwned)
        vllm serve "$(touch pwned)" --port $((a[$(touch pwned)])) --seed ${X:-$(touch pwned)} <<< "$(touch pwned)"
    """,
    "other.sh": "touch pwned\n",
    "engine.py": """
        open("pwned", "w")
        __import__("os").system("touch pwned")
        from vllm import LLM
        LLM(model=open("pwned", "w").name, kv_transfer_config=eval("open('pwned', 'w')"))
    """,
    "compose.yaml": """
        services:
          decode:
            image: ${IMAGE:-$(touch pwned)}
            command: ["sh", "-c", "touch pwned; vllm serve m --port $(touch pwned)"]
            env_file: [secret.env]
    """,
    "pod.yaml": """
        apiVersion: v1
        kind: Pod
        metadata: {name: decode}
        spec:
          containers:
          - {name: a, command: [bash, -c, "vllm serve m --seed $(touch pwned) && touch pwned"]}
    """,
    "tags.yaml": """
        version: 1
        name: !!python/object/apply:os.system ["touch pwned"]
        hardware: cpu
        model: !!python/object/new:os.system ["touch pwned"]
        decode: {engine: {seed: !!python/name:os.system }}
    """,
    "profile.yaml": """
        version: 1
        hardware: cpu
        model: $(touch pwned)
        env: {A: "$(touch pwned)", B: "`touch pwned`"}
        decode: {engine: {seed: "{{ touch pwned }}"}}
    """,
    "engines.service": """
        [Service]
        ExecStartPre=/bin/touch pwned
        ExecStart=/bin/sh -c 'touch pwned; vllm serve m'
    """,
    "pd-launch.toml": 'target = "vllm==0.32.0"\n',
}


def write_hostile(folder: Path) -> list[str]:
    for name, text in HOSTILE.items():
        (folder / name).write_text(dedent(text))
    return [name for name in HOSTILE if not name.endswith((".toml", "other.sh"))]


@pytest.mark.parametrize("command", ["check", "fix", "init", "dry-run", "size", "logs"])
def test_nothing_that_is_read_is_executed(folder: Path, command: str) -> None:
    names = write_hostile(folder)
    for name in names:
        if command == "check":
            guarded("check", name, cwd=folder)
        elif command == "fix":
            guarded("check", name, "--fix", "--unsafe-fixes", cwd=folder)
        elif command == "init":
            guarded("init", "--from", name, cwd=folder)
        elif command == "logs":
            guarded("logs", name, cwd=folder)
        elif name.endswith(".yaml"):
            arguments = (
                ["decode", "--profile", name, "--dry-run"] if command == "dry-run" else ["size", "--profile", name]
            )
            guarded(*arguments, cwd=folder)
    assert not (folder / "pwned").exists()


def test_the_guard_itself_sees_a_process() -> None:
    code = GUARD.replace(
        "from pd_launch.launcher.cli import main\nmain()", "import subprocess; subprocess.run(['true'])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60).returncode == 99


@pytest.mark.parametrize(
    "tag", ["!!python/object/apply:os.getcwd []", "!!python/name:os.system", "!!python/module:os", "!mine {a: 1}"]
)
def test_yaml_makes_no_objects(folder: Path, tag: str) -> None:
    (folder / "p.yaml").write_text(f"version: 1\nhardware: cpu\nmodel: m\ndecode: {{engine: {{x: {tag}}}}}\n")
    for args in (("check", "p.yaml"), ("decode", "--profile", "p.yaml", "--dry-run")):
        assert str(folder) not in guarded(*args, cwd=folder).stdout


LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(9)
)
DEEP = 50_000
BOMBS = {
    "laughs.yaml": LAUGHS + "services: {decode: *j}\n",
    "deep.yaml": "version: 1\ndecode: " + "[" * DEEP + "]" * DEEP + "\n",
    "deep-mapping.yaml": "".join(" " * i + f"k{i}:\n" for i in range(2_000)),
    "deep-json.sh": f"vllm serve m --kv-transfer-config '{'[' * DEEP}{']' * DEEP}'\n",
    "open-json.sh": "vllm serve m --kv-transfer-config '" + '{"a":' * DEEP + "'\n",
    "quotes.sh": "vllm serve m " + "\"'" * DEEP + "\n",
    "braces.sh": "vllm serve ${" * 5_000 + "\n",
    "substitutions.sh": "vllm serve " + "$(" * 5_000 + ")" * 5_000 + "\n",
    "many-flags.sh": "vllm serve m " + "--port 8000 " * 20_000 + "\n",
    "long-word.sh": f"vllm serve {'m' * 1_000_000}\n",
    "continued.sh": "vllm serve m " + "\\\n" * 100_000,
    "doubling.sh": "X=vllm\n" + 'X="$X $X"\n' * 60 + "$X serve m\n",
    "big-number.yaml": f"version: 1\nhardware: cpu\nmodel: m\ndecode: {{port: {'9' * 20_000}}}\n",
    "big-size.yaml": f"version: 1\nhardware: cpu\nmodel: m\ndecode: {{offload: {{per_rank: {'9' * 20_000}GiB}}}}\n",
    "ranks.yaml": "version: 1\nhardware: cpu\nmodel: m\ndecode: {parallel: {data: 999999999, launch: external}}\n",
    "deep.py": "LLM(" + "(" * DEEP + ")" * DEEP + ")\n",
    "many.service": "[Service]\n" + "Environment=A=%i\n" * 50_000 + "ExecStart=vllm serve m\n",
    "binary.sh": "\x00\x01\ufffd" * 100_000,
    "many-ignores.sh": "# pd-launch: ignore[PD001] x\n" * 20_000 + "vllm serve m\n",
}


@pytest.mark.parametrize("name", BOMBS)
def test_hostile_inputs_cost_bounded_time_and_memory(folder: Path, name: str) -> None:
    (folder / name).write_text(BOMBS[name], encoding="utf-8")
    done = guarded("check", name, cwd=folder)
    assert done.stdout
    if name.endswith(".yaml"):
        guarded("decode", "--profile", name, "--dry-run", cwd=folder)


def test_hostile_logs_cost_bounded_time_and_memory(folder: Path) -> None:
    line = "INFO 01-01 00:00:00 [x.py:1] Recompute preemption offload enabled for request "
    (folder / "a.log").write_text("".join(f"{line}{i}\n" for i in range(60_000)))
    (folder / "b.log").write_text(line + "x" * 20_000_000)
    for name in ("a.log", "b.log"):
        assert guarded("logs", name, cwd=folder).stdout


ODD = "\x1b]0;x\x07\x1b[31m\u202e\x9b1m\r\x08"


@pytest.mark.parametrize(
    ("name", "text", "args"),
    [
        ("s.sh", f"vllm serve m{ODD} --{ODD}x --kv-transfer-config '{{\"{ODD}\": 1,}}'\n", ("check", "s.sh")),
        ("s.sh", f"vllm serve m --kv-transfer-config '{{\"{ODD}\": 1,}}'\n", ("check", "s.sh", "--diff")),
        ("s.sh", f"vllm serve m --kv-transfer-config '{{\"{ODD}\": 1,}}'\n", ("check", "s.sh", "--format", "concise")),
        ("s.sh", f"vllm serve m --kv-transfer-config '{{\"{ODD}\": 1,}}'\n", ("check", "s.sh", "--format", "github")),
        ("s.sh", f"vllm serve m --kv-transfer-config '{{\"{ODD}\": 1,}}'\n", ("check", "s.sh", "--format", "junit")),
        ("s.sh", f"vllm serve m{ODD} --max-num-seqs $1\n", ("init", "--from", "s.sh")),
        ("p.yaml", f'version: 1\n"{ODD!r}": 1\n', ("check", "p.yaml")),
        (
            "p.yaml",
            'version: 1\nhardware: cpu\nmodel: "\\e[31m"\ndecode: {"\\e[1m": 1}\n',
            ("decode", "--profile", "p.yaml"),
        ),
        (
            "p.yaml",
            'version: 1\nhardware: cpu\nmodel: "\\e[31m"\nenv: {A: "\\e[32m"}\ndecode: {}\n',
            ("decode", "--profile", "p.yaml", "--dry-run", "--show-origin"),
        ),
        ("e.log", f"INFO [x.py:1] Recompute triggered for request {ODD}\n", ("logs", "e.log", "--timeline")),
        ("e.log", f"ERROR [core.py:1] ValueError: Unsupported connector type: {ODD}\n", ("logs", "e.log")),
        ("f.json", '{"kernel": "\\u001b[31m", "vllm": "\\u001b]0;x\\u0007"}', ("doctor", "--host-facts", "f.json")),
        ("f.json", '{"kernel": "\\u001b[31m"}', ("facts", "diff", "f.json", "g.json")),
        ("f.json", '{"vllm": "\\u001b[31m"}', ("facts", "check", "f.json", "g.json")),
        ("pd-launch.toml", 'target = "\\u001b[31m"\n', ("check", "x.sh")),
        ("pd-launch.toml", '"\\u001b[31m" = 1\n', ("check", "x.sh")),
        ("x", "", ("check", f"missing{ODD}.sh")),
        ("x", "", ("decode", "--profile", f"missing{ODD}")),
        ("x", "", ("explain", f"PD{ODD}")),
        ("x", "", ("check", "x", "--target", f"vllm=={ODD}")),
        ("x", "", ("size", "--model", f"a{ODD}/b")),
        ("x", "", ("profiles", "show", f"a{ODD}")),
        ("x", "", ("schema", f"a{ODD}")),
        ("x", "", (f"a{ODD}",)),
    ],
)
def test_no_input_writes_to_the_terminal_raw(folder: Path, name: str, text: str, args: tuple[str, ...]) -> None:
    (folder / "g.json").write_text('{"vllm": "0.32.0", "kernel": "6"}')
    (folder / "x.sh").write_text("vllm serve m\n")
    (folder / name).write_text(text, encoding="utf-8", newline="")
    command = subprocess.run(
        [sys.executable, "-m", "pd_launch", *args],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
    )
    shown = (command.stdout + command.stderr).decode("utf-8", "replace")
    assert shown and "Traceback" not in shown
    assert not CONTROL.search(shown), CONTROL.findall(shown)


SECRET = "hunter2-s3cr3t"


@pytest.mark.parametrize(
    ("name", "text", "args"),
    [
        (
            "s.sh",
            f"HF_TOKEN={SECRET} vllm serve m --api-key {SECRET} --additional-config '{{,}}'\n",
            ("check", "s.sh", "--diff"),
        ),
        ("s.sh", f"HF_TOKEN={SECRET} vllm serve m --api-key {SECRET}\n", ("init", "--from", "s.sh")),
        (
            "e.log",
            f"INFO [api_server.py:1] args: Namespace(api_key=['{SECRET}'])\nERROR HF_TOKEN={SECRET}\n",
            ("logs", "e.log"),
        ),
        ("x", "", ("facts",)),
        ("x", "", ("facts", "--format", "json")),
        ("x", "", ("doctor",)),
        *(
            ("p.yaml", "", ("decode", "--profile", "p.yaml", "--dry-run", "--format", form))
            for form in ("json", "shell", "docker", "compose", "k8s", "systemd")
        ),
        ("p.yaml", "", ("decode", "--profile", "p.yaml", "--dry-run", "--show-origin")),
        ("p.yaml", "", ("doctor", "--profile", "p.yaml")),
    ],
)
def test_secrets_are_masked_in_every_command(folder: Path, name: str, text: str, args: tuple[str, ...]) -> None:
    profile = f"version: 1\nhardware: cuda\nmodel: m\nenv: {{HF_TOKEN: {SECRET}}}\n"
    profile += f"decode: {{engine: {{api-key: {SECRET}}}}}\n"
    (folder / name).write_text(text or profile)
    done = subprocess.run(
        [sys.executable, "-m", "pd_launch", *args],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8"}
        | ({} if name == "p.yaml" else {"HF_TOKEN": SECRET, "VLLM_API_KEY": SECRET}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout + done.stderr
    assert SECRET not in done.stdout + done.stderr


def test_files_are_replaced_whole_and_keep_mode_and_links(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = folder / "real.sh"
    real.write_text("vllm serve m --additional-config '{\"enable_kv_nz\": true,}'\n")
    real.chmod(0o751)
    link = folder / "link.sh"
    link.symlink_to("real.sh")
    guarded("check", "link.sh", "--fix", cwd=folder)
    assert link.is_symlink() and "true}" in real.read_text()
    assert stat.S_IMODE(real.stat().st_mode) == 0o751
    assert sorted(path.name for path in folder.iterdir()) == ["link.sh", "real.sh"]

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    before = real.read_text()
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_atomically(real, "half")
    assert real.read_text() == before
    assert sorted(path.name for path in folder.iterdir()) == ["link.sh", "real.sh"]


def test_an_existing_file_is_never_overwritten_by_init_or_copy(folder: Path) -> None:
    (folder / "mine.yaml").write_text("precious\n")
    (folder / "s.sh").write_text("vllm serve m\n")
    for args in (("init", "--from", "s.sh", "-o", "mine.yaml"), ("profiles", "copy", "cpu-tiny", "mine.yaml")):
        assert guarded(*args, cwd=folder).returncode == 2
    assert (folder / "mine.yaml").read_text() == "precious\n"


def test_nothing_is_written_unasked(folder: Path) -> None:
    (folder / "s.sh").write_text("vllm serve m --additional-config '{,}'\n")
    (folder / "p.yaml").write_text("version: 1\nhardware: cpu\nmodel: m\ndecode: {}\n")
    (folder / "e.log").write_text("INFO [core.py:1] Initializing a V1 LLM engine\n")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for args in (
        ("check", "s.sh", "--diff"),
        ("check", "p.yaml", "s.sh"),
        ("decode", "--profile", "p.yaml", "--dry-run"),
        ("logs", "e.log"),
        ("size", "--profile", "a3-dp2tp8", "--requests", "1"),
        ("explain", "PD001"),
        ("rules",),
        ("schema", "profile"),
        ("init", "--from", "s.sh"),
        ("profiles", "list"),
    ):
        guarded(*args, cwd=folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("output", ["run.sh", "./run.sh", "link.sh", "hard.sh"])
@pytest.mark.parametrize(
    "command",
    [
        ("check", "run.sh", "--output"),
        ("check", "link.sh", "--output"),
        ("check", "run.sh", "--diff", "--output"),
        ("check", "run.sh", "--fix", "--unsafe-fixes", "--output"),
        ("check", "--host-facts", "run.sh", "other.sh", "--output"),
        ("logs", "run.sh", "--output"),
        ("size", "--profile", "run.sh", "--png"),
    ],
)
def test_an_output_never_replaces_an_input(folder: Path, command: tuple[str, ...], output: str) -> None:
    text = "vllm serve m --tensor-parallel-sizee 8\n"
    for name in ("run.sh", "other.sh"):
        (folder / name).write_text(text)
    (folder / "link.sh").symlink_to("run.sh")
    (folder / "hard.sh").hardlink_to(folder / "run.sh")
    done = guarded(*command, output, cwd=folder)
    assert done.returncode == 2 and done.stdout == ""
    assert f"{output} is an input of this command; name another file" in done.stderr
    assert (folder / "run.sh").read_text() == text and (folder / "link.sh").is_symlink()


@pytest.mark.parametrize("more", [(), ("--diff",)])
def test_an_output_never_replaces_a_file_that_an_input_names(folder: Path, more: tuple[str, ...]) -> None:
    text = "version: 1\nhardware: cuda\nmodel: m\ndecode: {}\n"
    (folder / "decode.yaml").write_text(text)
    (folder / "launch.sh").write_text("pd-launch decode --profile decode.yaml\n")
    done = guarded("check", "launch.sh", *more, "--output", "decode.yaml", cwd=folder)
    assert done.returncode == 2 and "decode.yaml is an input of this command" in done.stderr
    assert (folder / "decode.yaml").read_text() == text


def test_an_output_of_before_is_replaced(folder: Path) -> None:
    (folder / "run.sh").write_text("vllm serve m --tensor-parallel-sizee 8\n")
    for _ in range(2):
        assert guarded("check", "run.sh", "--output", "report.txt", cwd=folder).returncode == 1
    assert "PD004" in (folder / "report.txt").read_text()
