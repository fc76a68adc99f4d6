"""Forms are recognised by their structure: on standard input, under any name, behind comments and licences."""

from __future__ import annotations

import io
import json
import sys

import pytest
from reading import deployment, faults, value

from pd_launch.launcher import cli
from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.read import read_texts
from pd_launch.launcher.sources.text.kinds import is_python, may_be_yaml, opens_like_yaml
from pd_launch.schemas.core.values import SourceFile

COMMAND = "vllm serve m --tensor-parallel-size 0"
POD = (
    "apiVersion: v1\nkind: Pod\nmetadata: {name: decode}\nspec:\n  containers:\n  - name: v\n"
    "    image: vllm/vllm-openai:v0.32.0\n    args: [--model, m, --tensor-parallel-size, '0']\n"
)
COMPOSE = "services:\n  decode:\n    image: vllm/vllm-openai:v0.32.0\n    command: --model m --tensor-parallel-size 0\n"
PROFILE = "version: 1\nhardware: cuda\nmodel: /m\ndecode:\n  parallel: {tensor: 8}\n"
UNIT = f"[Unit]\nDescription=d\n\n[Service]\nExecStart=/usr/bin/{COMMAND}\n"
PYTHON = 'import subprocess\nsubprocess.run(["vllm", "serve", "m", "--tensor-parallel-size", "0"])\n'
VALUES = "name: x\ndecode:\n  containers:\n  - modelCommand: vllmServe\n    args: [--tensor-parallel-size, '0']\n"
BEFORE = {
    "nothing": "",
    "blank lines": "\n \n\n",
    "a byte order mark": "\ufeff",
    "a licence": "# Copyright\n#\n# Licensed to you.\n\n",
    "a modeline": "# -*- mode: yaml -*-\n# vim: set ft=yaml:\n",
    "a schema": "# yaml-language-server: $schema=../x.json\n",
}
FORMS = {"pod": POD, "compose": COMPOSE, "unit": UNIT, "python": PYTHON, "values": VALUES}


def found_in(text: str, name: str = "<stdin>") -> list[tuple[str, str]]:
    found = check(read_texts({name: text}, target="vllm==0.32.0"))
    return [(finding.code, finding.severity) for finding in found if finding.severity != "info"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("name", ["<stdin>", "out", "x.txt", "k8s/decode.tpl"])
def test_a_form_under_any_name(form: str, before: str, name: str) -> None:
    found = found_in(BEFORE[before] + FORMS[form], name)
    assert found.count(("PD007", "error")) == 1 and {code for code, _ in found} <= {"PD007", "PD306"}, found


@pytest.mark.parametrize(
    "before", ["---\n", "# c\n---\n", "--- # c\n", "%YAML 1.1\n---\n", "{{- if .x }}\n", "{% if x %}\n"]
)
@pytest.mark.parametrize("form", ["pod", "compose"])
def test_what_may_stand_before_yaml(before: str, form: str) -> None:
    end = "{{- end }}\n" if before.startswith("{{") else "{% endif %}\n" if before.startswith("{%") else ""
    assert ("PD007", "error") in found_in(before + FORMS[form] + end)


def test_keys_in_any_order() -> None:
    assert opens_like_yaml("metadata: {name: a}\nkind: Pod\napiVersion: v1\n")
    assert opens_like_yaml("x-common: &c\n  image: i\nservices:\n  a: *c\n")
    assert opens_like_yaml("name: p\nservices: {}\n")


def test_json() -> None:
    text = json.dumps({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"command": COMMAND.split()}]}})
    assert ("PD007", "error") in found_in(text) and ("PD007", "error") in found_in(
        json.dumps(json.loads(text), indent=1)
    )


@pytest.mark.parametrize(
    "text",
    [
        f"{COMMAND}\n",
        f"#!/bin/sh\n# apiVersion: v1\n{COMMAND}\n",
        f": a comment\n{COMMAND}\n",
        f'[ "$A" ] && {COMMAND}\n',
        f'{{ "$A"; {COMMAND}; }}\n',
        f"# see: here\nNAME=a\n{COMMAND}\n",
        f"serve:\n\t{COMMAND}\n",
        f"FROM vllm/vllm-openai:v0.32.0\nCMD {COMMAND}\n",
    ],
)
def test_scripts_stay_scripts(text: str) -> None:
    assert not opens_like_yaml(text) and not is_python(SourceFile("x", text))
    assert ("PD007", "error") in found_in(text)


def test_a_manifest_with_a_fault_of_yaml_is_no_script() -> None:
    found = found_in(POD.replace("kind: Pod", "kind: [Pod"))
    assert found == [("PD011", "error")]


def test_two_entries_may_be_yaml() -> None:
    assert may_be_yaml("a: 1\nb: 2\n") and may_be_yaml("a:\n- b\n") and may_be_yaml('{\n "a": 1}')
    assert not may_be_yaml("serve: x\n    vllm serve m\n") and not may_be_yaml("a\nb: c\n")


@pytest.mark.parametrize("side", ["prefill", "decode"])
@pytest.mark.parametrize("form", ["json", "shell", "docker", "compose", "k8s", "systemd"])
@pytest.mark.parametrize("profile", ["a3-dp2tp8", "cuda-nixl"])
def test_what_is_rendered_is_read_again(
    form: str, profile: str, side: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = called(monkeypatch, capsys, [side, "--profile", profile, "--dry-run", "--format", form])
    found = json.loads(called(monkeypatch, capsys, ["check", "-", "--format", "json"], shown))["findings"]
    assert not [finding for finding in found if finding["severity"] == "error"], found
    assert any(again.nodes for again in read_texts({"<stdin>": shown}))


def called(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], given: str = ""
) -> str:
    """Return what pd-launch prints for a call."""
    monkeypatch.setattr(sys, "argv", ["pd-launch", *words])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code in (0, None)
    return capsys.readouterr().out


PROSE = """\
# Title

It's easy: use `vllm serve` or "docker.
vllm serve is what you run; it isn't much.

```bash
export N=8
vllm serve m --max-num-seqs $N --no-such-flag
```

1. Or
   ```console
   $ vllm serve m --tensor-parallel-size 0
   it's "output
   ```

    vllm serve m --port 81000
"""


def test_prose_is_searched_for_commands() -> None:
    found = deployment({"README.md": PROSE})
    assert [node.origin.line for node in found.nodes] == [8, 13, 17] and not faults(found)
    assert value(found.nodes[0], "max-num-seqs") == "8"
    assert len({node.branches for node in found.nodes}) == 3
    for name in ("README.md", "<stdin>", "notes"):
        assert found_in(PROSE, name) == [("PD004", "warning"), ("PD007", "error"), ("PD007", "error")]


def test_blocks_of_yaml_in_prose() -> None:
    pod = POD.replace("args:", "env: [{name: A, value: 1}]\n    args:")
    indented = "".join(f"   {line}" for line in pod.splitlines(keepends=True))
    text = f"# Deploy it\n\n1. Apply:\n   ```yaml\n{indented}   ```\n\n```yaml\n{COMPOSE}```\n\n```yaml\nvllm: [\n```\n"
    found = deployment({"README.md": text})
    assert [node.form for node in found.nodes] == ["manifest", "compose"]
    assert [finding.line for finding in check([found]) if finding.code == "PD007"] == [13, 20]
    assert [severity for code, severity in found_in(text, "README.md") if code == "PD702"] == ["warning"]


@pytest.mark.parametrize(
    "text",
    [
        "Changelog\n- Fixed a crash in vllm serve when the \"port is missing.\n- Added vllm serve --foo; it's new.\n",
        "Users can now call vllm serve with it's options.\nThe server then starts and says so.\n",
    ],
)
def test_prose_without_a_command_is_silent(text: str) -> None:
    assert found_in(text) == [("PD010", "error")]


@pytest.mark.parametrize(
    "text",
    [
        'companion:\n  description: "Run on the same node, before vllm serve — owns the pool."\n',
        "about: Start vllm serve with --port 8000 and it's done\n",
        "notes:\n- use vllm serve -- it isn't hard\n- vllm serve is enough, isn't it\n",
        "guide: |\n  ## Overview\n\n  vllm serve is what you run; it's enough.\n",
    ],
)
def test_a_sentence_in_yaml_is_no_script(text: str) -> None:
    assert found_in(f"env: {{PYTHONHASHSEED: 0}}\n{text}", "x.yaml") == [("PD010", "error")]


@pytest.mark.parametrize(
    "line",
    [
        "vllm serve m --nonsense 1 --port 81000",
        "cd /x && numactl -N 0 vllm serve m --nonsense 1 --port 81000",
        "A=1 python -m vllm.entrypoints.openai.api_server --nonsense 1 --port 81000",
        "bash -c 'vllm serve m --nonsense 1 --port 81000'",
        "$VENV/bin/vllm serve m --nonsense 1 --port 81000",
        "docker run vllm/vllm-openai:v0.32.0 vllm serve m --nonsense 1 --port 81000",
    ],
)
def test_the_grammar_of_a_guess_is_no_error(line: str) -> None:
    task = f"env: {{VLLM_PORT: 1}}\nsteps:\n- run: |\n    set -e\n    {line} &\n"
    assert set(found_in(task, "task.yaml")) - {("PD306", "warning")} == {("PD004", "warning"), ("PD007", "error")}


def test_numbers_as_variables_are_a_fault_of_manifests_alone() -> None:
    pod = POD.replace("    args", "    env: [{name: A, value: 1}]\n    args")
    assert ("PD702", "error") in found_in(pod, "pod.yaml")
    part = pod[pod.index("  containers") :].replace("\n  ", "\n")[2:]
    assert ("PD007", "error") in found_in(part, "part.yaml") and ("PD702", "error") not in found_in(part, "part.yaml")
