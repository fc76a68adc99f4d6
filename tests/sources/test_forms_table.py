"""The table of forms, and what every form of it has to do: values, places, findings, fixes, a profile from it."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner

from pd_launch.launcher.check.run import check
from pd_launch.launcher.cli import cli
from pd_launch.launcher.init.convert import convert
from pd_launch.launcher.sources.forms_table import FORMS, listed, table
from pd_launch.launcher.sources.read import read_texts
from pd_launch.schemas.core.chinese import typeset
from pd_launch.schemas.core.values import SourceFile
from tests.sources.reading import at

ROOT = Path(__file__).resolve().parents[2]
SRT = """\
name: r
model: {path: hf:Qwen/Qwen3-8B, container: "vllm/vllm-openai:v0.32.0"}
resources: {gpu_type: h100}
backend:
  type: vllm
  connector: null
  vllm_config:
    prefill:
      kv-transfer-config: '{"kv_connector": "NixlConnector", "kv_role": "kv_bth"}'
      max-num-seqss: 8
      max-model-len: many
"""
RAY = """\
applications:
- name: pd
  args:
    prefill_config:
      model_loading_config: {model_id: m, model_source: Qwen/Qwen3-8B}
      accelerator_type: H100
      engine_kwargs:
        kv_transfer_config: {kv_connector: NixlConnector, kv_role: kv_bth}
        max_num_seqss: 8
        gpu_memory_utilization: 9
"""
SERVICE = """\
apiVersion: ray.io/v1
kind: RayService
metadata: {name: pd}
spec:
  serveConfigV2: |
""" + "".join(f"    {line}\n" for line in RAY.splitlines())
MOTOR = json.dumps(
    {
        "motor_deploy_config": {"hardware_type": "800I_A2"},
        "motor_engine_prefill_config": {
            "engine_type": "vllm",
            "engine_config": {
                "model": "Qwen/Qwen3-8B",
                "max_num_seqss": 8,
                "max-model-len": "many",
                "kv_transfer_config": {"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_bth", "kv_port": "30001"},
            },
        },
    },
    indent=1,
)
STACK = """\
servingEngineSpec:
  modelSpec:
  - name: "qwen-prefill"
    repository: "vllm/vllm-openai"
    tag: "v0.32.0"
    modelURL: "Qwen/Qwen3-8B"
    vllmConfig:
      maxModelLen: many
      extraArgs: ["--max-num-seqss", "8"]
    lmcacheConfig: {enabled: true, kvRole: "kv_bth"}
"""
KV = "--kv-transfer-config"
JSON = '{"kv_connector": "NixlConnector", "kv_role": "kv_bth"}'
OPTIONS = f"model: Qwen/Qwen3-8B\nmax-num-seqss: 8\nmax-model-len: many\nkv-transfer-config: '{JSON}'\nport: 8000\n"
SUPERVISORD = f"""\
[program:decode]
command=vllm serve Qwen/Qwen3-8B --max-num-seqss 8 --max-model-len many {KV} '{JSON}'
"""
DOCKERFILE = f"""\
FROM vllm/vllm-openai:v0.32.0
ENTRYPOINT ["vllm", "serve"]
CMD ["Qwen/Qwen3-8B", "--max-num-seqss", "8", "--max-model-len", "many", \\
  "{KV}", {json.dumps(JSON)}]
"""
NOTEBOOK = json.dumps(
    {
        "cells": [
            {
                "cell_type": "code",
                "source": [
                    "!vllm serve Qwen/Qwen3-8B --max-num-seqss 8 --max-model-len many \\\n",
                    f"  {KV} '{JSON}' &\n",
                ],
                "outputs": [{"text": ["vllm serve m --port 70000\n"]}],
            },
            {"cell_type": "markdown", "source": ["!vllm serve m --port 70000\n"]},
        ],
        "nbformat": 4,
    },
    indent=1,
)
ENV = f'A=1\nVLLM_ARGS="Qwen/Qwen3-8B --max-num-seqss 8 --max-model-len many {KV} {json.dumps(JSON)[1:-1]}"\n'.replace(
    ' \\"kv_role', '\\"kv_role'
).replace(': \\"', ':\\"')
HCL = f"""\
resource "docker_container" "decode" {{
  image   = "vllm/vllm-openai:v0.32.0"
  command = ["--model", "Qwen/Qwen3-8B", "--max-num-seqss", "8", "--max-model-len", "many",
    "{KV}", jsonencode({{ kv_connector = "NixlConnector", kv_role = "kv_bth" }})]
}}
"""
PATCH = f"""\
- op: replace
  path: /spec/template/spec/containers/0/args
  value: [--model, Qwen/Qwen3-8B, --max-num-seqss, "8", --max-model-len, many, {KV}, '{JSON}']
"""
MAKEFILE = f"""\
MODEL := Qwen/Qwen3-8B
decode: deps
\t@vllm serve $(MODEL) --max-num-seqss 8 --max-model-len many \\
\t  {KV} '{JSON}'
"""
FILES = {
    "srt-slurm": ("recipe.yaml", SRT),
    "ray": ("serve.yaml", RAY),
    "ray-service": ("service.yaml", SERVICE),
    "pymotor": ("user_config.json", MOTOR),
    "production-stack": ("values.yaml", STACK),
    "options": ("decode.yaml", OPTIONS),
    "supervisord": ("supervisord.conf", SUPERVISORD),
    "dockerfile": ("Dockerfile", DOCKERFILE),
    "makefile": ("Makefile", MAKEFILE),
    "notebook": ("demo.ipynb", NOTEBOOK),
    "env": (".env", ENV),
    "hcl": ("main.tf", HCL),
    "patch": ("patch.yaml", PATCH),
}


def test_each_row_that_reads_has_a_module_and_a_file_here() -> None:
    for row in FORMS:
        if row.module:
            module = import_module(f"pd_launch.launcher.sources.forms.{row.module}")
            assert callable(module.recognise) and callable(module.read) and row.signs
            assert row.name in FILES


@pytest.mark.parametrize("form", sorted({*FILES} - {"options"}))  # a mapping of options is read only if it is named
def test_a_folder_with_such_a_file_is_checked(form: str, tmp_path: Path) -> None:
    """Walking a folder passes no file of a form over, whatever its name ends with."""
    name, text = FILES[form]
    (tmp_path / name).write_text(text)
    (tmp_path / "other.txt").write_text(text)
    result = CliRunner().invoke(cli, ["check", str(tmp_path), "--format", "json"])
    assert {Path(finding["file"]).name for finding in json.loads(result.stdout)["findings"]} == {name}


@pytest.mark.parametrize("form", FILES)
def test_wrong_values_flags_and_roles_are_found_at_their_places(form: str) -> None:
    name, text = FILES[form]
    [deployment] = read_texts({name: text})
    found = {f.code: f for f in check([deployment]) if f.severity == "error"}
    assert set(found) == {"PD004", "PD007", "PD101"}, found
    places = {
        code: at(deployment, origin).__getitem__(1)
        for code, f in found.items()
        for origin in [SourceFile(name, text).origin(*_span(text, f))]
    }
    assert places["PD004"].strip("\"'-").replace("_", "-") == "max-num-seqss"
    assert places["PD007"].strip("\"'") in ("many", "9")
    assert "kv_bth" in places["PD101"]


@pytest.mark.parametrize("form", FILES)
def test_what_is_fixed_is_read_again_as_right(form: str) -> None:
    name, text = FILES[form]
    findings = check(read_texts({name: text}))
    for code in ("PD004", "PD101"):
        [finding] = [f for f in findings if f.code == code]
        assert finding.fix is not None, code
        fixed, source = text, SourceFile(name, text)
        for edit in sorted(finding.fix.edits, key=lambda e: (e.line, e.column), reverse=True):
            start, end = source.offset(edit.line, edit.column), source.offset(edit.end_line, edit.end_column)
            fixed = fixed[:start] + edit.text + fixed[end:]
        assert code not in {f.code for f in check(read_texts({name: fixed}))}


@pytest.mark.parametrize("form", sorted({*FILES} - {"env", "patch"}))
def test_a_profile_can_be_made_of_it(form: str) -> None:
    name, text = FILES[form]
    made = convert(read_texts({name: text.replace("kv_bth", "kv_producer").replace("seqss", "seqs")}))
    assert "model: Qwen/Qwen3-8B" in made.text and "max-num-seqs: 8" in made.text


@pytest.mark.parametrize("form", sorted({*FILES} - {"options"}))
def test_the_name_of_the_file_does_not_matter(form: str) -> None:
    name, text = FILES[form]
    found = [(f.code, f.line, f.column) for f in check(read_texts({name: text}))]
    assert [(f.code, f.line, f.column) for f in check(read_texts({"<stdin>": text}))] == found


@pytest.mark.parametrize("form", FILES)
def test_hostile_ends_never_raise(form: str) -> None:
    name, text = FILES[form]
    for end in range(0, len(text), 7):
        check(read_texts({name: text[:end]}))
    check(read_texts({name: text.replace("a", "\ufffd")}))
    check(read_texts({name: text * 50}))


def test_the_pages_have_the_table() -> None:
    assert table(False) in (ROOT / "docs/guide/checking.md").read_text()
    assert typeset(table(True)) in (ROOT / "docs/zh/guide/checking.md").read_text()


def test_the_message_names_common_forms() -> None:
    assert listed().en.startswith("give a profile, a script with vllm serve, a docker command")
    assert "Dockerfile" in listed().zh


def _span(text: str, finding: object) -> tuple[int, int]:
    source = SourceFile("x", text)
    line, column, last, end = (getattr(finding, k) for k in ("line", "column", "end_line", "end_column"))
    return source.offset(line, column), source.offset(last, end)
