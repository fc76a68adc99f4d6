"""What a profile says of variables means the same in every form, and Ascend's images keep what they set."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from pd_launch.launcher.check.run import check
from pd_launch.launcher.cli import cli
from pd_launch.launcher.formats.choose import TEXTS, WHOLE
from pd_launch.launcher.launch.prepare import LaunchOptions, prepare
from pd_launch.launcher.sources.read import read_texts

PROFILE = """version: 1
name: env
hardware: {hardware}
target: {target}
model: /models/m
transfer: {transfer}
env:
  LD_LIBRARY_PATH: {{prepend: /usr/local/lib}}
  LD_PRELOAD: {{append: "/it's a.so"}}
  BOTH: {{prepend: /a, append: /z}}
  SET: /b
prefill: {{parallel: {{tensor: 4}}}}
decode:
  parallel: {{tensor: 4, data: 2{launch}}}
  env: {{LD_LIBRARY_PATH: {{prepend: /own}}, SET: {{prepend: /a, append: /c}}}}
"""
ASCEND = {"hardware": "a2", "target": "vllm-ascend==0.25.1rc1"}
ASCEND["transfer"] = "{connector: MooncakeConnectorV1, kv_port: 36000}"
CUDA = {"hardware": "cuda", "target": "vllm==0.32.0", "transfer": "{connector: NixlConnector}"}
FILES = {"shell": "a.sh", "docker": "b.sh", "compose": "c.yaml", "k8s": "d.yaml"}
SEEN = {
    "LD_LIBRARY_PATH": "/own:/usr/local/lib:/image",
    "LD_PRELOAD": "/it's a.so",
    "BOTH": "/a:/image:/z",
    "SET": "/a:/b:/c",
}
PRESENT = {"LD_LIBRARY_PATH": "/image", "BOTH": "/image", "SET": "/other"}
STUB = '#!/bin/sh\nenv -0 > "$SEEN/$$"\n'


def text_of(folder: Path, form: str, values: dict[str, str], launch: str = "", **options: Any) -> str:
    path = folder / "env.yaml"
    path.write_text(PROFILE.format(launch=launch, **values))
    return TEXTS[form](prepare(LaunchOptions("decode", str(path), dry_run=True, whole=form in WHOLE, **options)))


def command_of(form: str, text: str) -> list[str]:
    """Return what runs in the container of the decode side."""
    if form == "shell":
        return ["bash", "-c", text]
    if form == "docker":
        words = [word for word in shlex.split(text, comments=True) if word != "\n"]
        run = words[words.index("run") :]
        given = next(i for i, word in enumerate(run) if "vllm-" in word or "/vllm" in word) + 1
        entry = [run[run.index("--entrypoint") + 1]] if "--entrypoint" in run else []
        return [*entry, *run[given:]]
    if form == "compose":
        service = yaml.safe_load(text)["services"]["decode"]
        return [word.replace("$$", "$") for word in (*service.get("entrypoint", ()), *service["command"])]
    sets = [d for d in yaml.safe_load_all(text) if d["kind"] == "StatefulSet" and "decode" in d["metadata"]["name"]]
    container = sets[0]["spec"]["template"]["spec"]["containers"][0]
    return [word.replace("$$", "$") for word in (*container.get("command", ()), *container["args"])]


@pytest.mark.parametrize("launch", ["", ", launch: external"])
@pytest.mark.parametrize("values", [ASCEND, CUDA], ids=["ascend", "cuda"])
@pytest.mark.parametrize("form", FILES)
def test_lists_go_around_what_is_there(form: str, values: dict[str, str], launch: str, tmp_path: Path) -> None:
    text = text_of(tmp_path, form, values, launch)
    (tmp_path / "vllm").write_text(STUB)
    (tmp_path / "vllm").chmod(0o755)
    seen = tmp_path / "seen"
    seen.mkdir()
    image = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SEEN": str(seen), **PRESENT}
    if form != "shell":
        image["SET"] = "/a:/b:/c"  # by -e and env
        assert "/a:/b:/c" in text
    subprocess.run(command_of(form, text), env=image, check=False, capture_output=True, timeout=60)
    files = list(seen.iterdir())
    assert files
    for file in files:
        got = dict(word.split("=", 1) for word in file.read_text().split("\0") if word)
        assert {name: got[name] for name in SEEN} == SEEN


@pytest.mark.parametrize("values", [ASCEND, CUDA], ids=["ascend", "cuda"])
@pytest.mark.parametrize("form", FILES)
def test_lists_are_clean_and_come_back(form: str, values: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / FILES[form]
    file.write_text(text_of(tmp_path, form, values))
    deployment = read_texts({str(file): file.read_text()})[0]
    assert not [f for f in check([deployment]) if f.severity != "info"]
    made = tmp_path / "made.yaml"
    result = CliRunner().invoke(cli, ["init", "--from", str(file), "-o", str(made)])
    assert "BOTH" not in result.output and "LD_" not in result.output
    env = yaml.safe_load(made.read_text())
    found = {**env.get("env", {}), **env["decode"].get("env", {})}
    assert found["LD_LIBRARY_PATH"] == {"prepend": "/own:/usr/local/lib"}
    assert found["LD_PRELOAD"] == {"append": "/it's a.so"}
    assert found["BOTH"] == {"prepend": "/a", "append": "/z"}


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("export A=/x:$A", {"prepend": "/x"}),
        ("export A=/x:${A}", {"prepend": "/x"}),
        ('export A="/x:/y:$A"', {"prepend": "/x:/y"}),
        ("export A=$A:/x", {"append": "/x"}),
        ('A="${A:+$A:}/x"; export A', {"append": "/x"}),
        ("export A=/x${A:+:${A}}", {"prepend": "/x"}),
        ("export A=/x:${A:-}", {"prepend": "/x"}),
        ("export D=/d\nexport A=$D/lib:$A", {"prepend": "/d/lib"}),
        ("export A=/x:$B", None),
        ("export A=/x$A", None),
        ("export A=$A:/x:$A", None),
        ("export A=/x:$AB", None),
        ("export A=/x:${A:-/y}", None),
    ],
)
def test_scripts_that_add_to_a_variable(line: str, wanted: dict[str, str] | None) -> None:
    deployment = read_texts({"a.sh": f"{line}\nvllm serve m --port 1\n"})[0]
    join = deployment.nodes[0].env["A"].join
    found = None if join is None else {k: v for k, v in (("prepend", join.before), ("append", join.after)) if v}
    assert found == wanted


def test_a_launch_adds_to_what_this_process_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "env.yaml"
    path.write_text(PROFILE.format(launch="", **CUDA))
    monkeypatch.setenv("LD_LIBRARY_PATH", "/mine")
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    (launch,) = prepare(LaunchOptions("decode", str(path), host=False)).launches
    assert launch.variable("LD_LIBRARY_PATH") == "/own:/usr/local/lib:/mine"
    assert launch.variable("LD_PRELOAD") == "/it's a.so"


@pytest.mark.parametrize("value", ["${HOME}/x", "$USER", "a:$LD_PRELOAD"])
def test_a_reference_is_a_finding(value: str) -> None:
    text = (
        PROFILE.format(launch="", **CUDA)
        .replace("SET: /b", f"SET: '{value}'")
        .replace(", SET: {prepend", ", T: {prepend")
    )
    found = [f for f in check(read_texts({"p.yaml": text})) if f.code == "PD707"]
    assert len(found) == 1 and "literal text" in found[0].message
    costs = PROFILE.format(launch="", **CUDA).replace("SET: /b", "SET: 'costs $5 or $'")
    assert not [f for f in check(read_texts({"p.yaml": costs})) if f.code == "PD707"]


@pytest.mark.parametrize(
    "value", ["{}", "{prepend: ''}", "{prepend: 'a:'}", "{prepend: a, behind: b}", "{append: [a]}"]
)
def test_lists_that_are_none(value: str) -> None:
    text = PROFILE.format(launch="", **CUDA).replace("SET: /b", f"SET: {value}")
    assert [f.code for f in check(read_texts({"p.yaml": text}))].count("PD012") == 1


@pytest.mark.parametrize("launch", ["", ", launch: external"])
def test_ascend_images_keep_their_entrypoint(launch: str, tmp_path: Path) -> None:
    """It sources CANN, and the command behind it is whole."""
    assert "--entrypoint" not in text_of(tmp_path, "docker", ASCEND, launch)
    services = yaml.safe_load(text_of(tmp_path, "compose", ASCEND, launch))["services"]
    assert not any("entrypoint" in service for service in services.values())
    text = text_of(tmp_path, "k8s", ASCEND, launch)
    for item in yaml.safe_load_all(text):
        if item["kind"] == "StatefulSet":
            container = item["spec"]["template"]["spec"]["containers"][0]
            assert "command" not in container and container["args"][0] in ("vllm", "bash")
    assert "--entrypoint" in text_of(tmp_path, "docker", CUDA, launch)


def test_a_unit_on_ascend_sources_cann(tmp_path: Path) -> None:
    toolkit = tmp_path / "set_env.sh"
    toolkit.write_text("export FROM_CANN=$((1 + 1))\n")
    text = text_of(tmp_path, "systemd", ASCEND, extra=("--seed", "50%", "--served-model-name", "it's $5"))
    line = re.findall(r"^ExecStart=(.*)$", text, re.M)[0]
    assert line.startswith('/bin/bash -c "for i in /usr/local/Ascend/ascend-toolkit/set_env.sh ')
    script = shlex.split(line)[2].replace("$$", "$").replace("%%", "%")
    script = re.sub(r"/usr/local/Ascend/ascend-toolkit/set_env.sh", str(toolkit), script)
    script = re.sub(r"exec \S+( -m pd_launch)?", "exec printf '%s\\\\n' $FROM_CANN", script)
    out = subprocess.check_output(["bash", "-c", script], text=True).splitlines()
    assert out[0] == "2" and out[-4:] == ["--seed", "50%", "--served-model-name", "it's $5"]
    assert "set_env.sh" not in text_of(tmp_path, "systemd", CUDA)
    assert "EnvironmentFile=-/etc/pd-launch/env.env" in text
