"""YAML as those who use it read it: PyYAML's safe_load, kubectl, and templates in each choice of their branches."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from reading import at, deployment, faults, flag, value, variables

from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.read import read_texts
from pd_launch.launcher.sources.text.templates import MAX_VARIANTS
from pd_launch.launcher.sources.trees.yaml_tree import parse_yaml
from pd_launch.schemas.core.values import SourceFile

HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
MAPS = {
    "two merges": 'x: &x {a: "1"}\ny: &y {b: "2", c: "3"}\ndata:\n  <<: *x\n  <<: *y\n',
    "a list of merges": 'x: &x {a: "1"}\ny: &y {b: "2"}\ndata:\n  <<: [*x, *y]\n  c: "3"\n',
    "a value that goes on": "data:\n  a: one\n    two\n    three\n  b: x\n",
    "a value that goes on with a brace": "data:\n  a: m/{ {x\n    }}\n",
    "odd keys": 'data:\n  ? a\n  : "1"\n  "b c": "2"\n  ~x: "3"\n  a.b/c: "4"\n  -d: "5"\n',
    "tags": "data:\n  a: !!str 1\n  b: ! x\n",
    "a document that ends": 'data:\n  a: "1"\n...\n',
    "comments between": 'data:\n  # c\n  a: "1" # d\n\n  # e\n  b: "2"\n',
}


def found_in(text: str, name: str = "a.yaml") -> list[tuple[str, str]]:
    found = check(read_texts({name: text}, target="vllm==0.32.0"))
    return [(finding.code, finding.severity) for finding in found if finding.severity != "info"]


def ours(text: str) -> Any:
    documents, wrong = parse_yaml(SourceFile("a.yaml", text))
    assert not wrong, wrong
    return documents[0].plain()


@pytest.mark.parametrize("name", MAPS)
def test_pyyaml_reads_the_same(name: str) -> None:
    assert ours(MAPS[name])["data"] == yaml.safe_load(MAPS[name])["data"]


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
@pytest.mark.parametrize("name", MAPS)
def test_kubectl_reads_the_same(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(HEAD + MAPS[name])
    words = ["kubectl", "annotate", "--local", "-f", str(path), "asked=yes", "-o", "json"]
    run = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    if run.returncode:
        pytest.skip(f"kubectl does not read it: {run.stderr[:200]}")
    assert ours(HEAD + MAPS[name])["data"] == json.loads(run.stdout)["data"]


def test_of_two_merges_with_one_key_kubernetes_takes_the_last_and_pyyaml_the_first() -> None:
    text = 'x: &x {a: "1"}\ny: &y {a: "2"}\ndata:\n  <<: *x\n  <<: *y\n'
    assert ours(text)["data"] == {"a": "1"} and ours(HEAD + text)["data"] == {"a": "2"}


def test_two_merges_are_a_fault_of_compose_files_alone() -> None:
    text = "x: &x {a: 1}\ny: &y {b: 2}\nservices:\n  a:\n    <<: *x\n    <<: *y\n    image: vllm\n"
    assert [fault.kind for fault in parse_yaml(SourceFile("a", text))[1]] == ["yaml"]
    assert not parse_yaml(SourceFile("a", text.replace("services:", "jobs:")))[1]


def test_keys_that_are_no_texts_are_not_the_same() -> None:
    assert not parse_yaml(SourceFile("a", "? [a, b]\n: 1\n? [c]\n: 2\n"))[1]


def test_a_part_that_is_filled_in_may_go_on_at_any_indentation() -> None:
    for blanks in ("", "  ", "    "):
        text = f"{HEAD}data:\n  route: p/{{{{ .Name }}}}/m/{{{{ .Spec.Name\n{blanks}}}}}\n  b: x\n"
        documents, wrong = parse_yaml(SourceFile("a.yaml", text))
        after = documents[0].get("data", "b")
        assert not wrong and after is not None and after.value == "x"
        assert after.origin.line == text[: text.index("b: x")].count("\n") + 1


CHART = """\
{{- if .Values.on }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "x" . }}-decode
  labels:
    {{- include "x.labels" . | nindent 4 }}
spec:
  template:
    spec:
      containers:
      - name: v
        {{- if .Values.image }}
        image: {{ .Values.image }}
        {{- else }}
        image: vllm/vllm-openai:v0.32.0
        {{- end }}
        command: [vllm, serve]
        args:
        - {{ .Values.model }}
        {{- if eq .Values.size "a" }}
        - --tensor-parallel-size=8
        {{- else if eq .Values.size "b" }}
        {{- if .Values.c }}
        - --tensor-parallel-size=4
        {{- else }}
        - --tensor-parallel-size=2
        {{- end }}
        {{- else }}
        - --tensor-parallel-size=0
        {{- end }}
        {{- if .Values.p }}
        - --port=81
        {{- end }}
        {{- if .Values.q }}
        - --port=82
        {{- end }}
        {{- range .Values.more }}
        - {{ . | quote }}
        {{- end }}
{{- end }}
"""


def test_each_branch_of_a_chart_is_read() -> None:
    found = deployment({"d.yaml": CHART})
    sizes = [value(node, "tensor-parallel-size") for node in found.nodes]
    assert sorted(set(sizes)) == ["0", "2", "4", "8"] and not faults(found)
    assert len({node.branches for node in found.nodes}) == len(found.nodes)
    assert all(len(node.named("port")) == 1 and not flag(node, "port").known for node in found.nodes)
    assert at(found, flag(found.nodes[sizes.index("0")], "tensor-parallel-size").origin) == (30, "0")
    codes = {code for code, severity in found_in(CHART) if severity == "error"}
    assert codes == {"PD007"}


@pytest.mark.parametrize(
    "marks", [("{{- if .a }}", "{{- else }}", "{{- end }}"), ("{% if a %}", "{% else %}", "{% endif %}")]
)
def test_a_key_in_both_branches_stands_once(marks: tuple[str, str, str]) -> None:
    first, other, end = marks
    text = (
        f"services:\n  a:\n    image: vllm/vllm-openai:v0.32.0\n    command: --model m\n{first}\n    shm_size: 16g\n"
        f"{other}\n    shm_size: 1g\n{end}\n"
    )
    found = deployment({"c.yaml": text})
    assert not faults(found)
    sizes = [node.container.shm_size.value for node in found.nodes if node.container and node.container.shm_size]
    assert sorted(sizes) == ["16g", "1g"]


def test_a_key_in_two_conditions_is_unknown() -> None:
    once = "{{{{- if .{0} }}}}\n  A: '{0}'\n{{{{- end }}}}\n"
    text = f"command: [vllm, serve, m]\nenv:\n{once.format('a')}{once.format('b')}  B: '3'\n"
    (node,) = deployment({"v.yaml": text}).nodes
    assert variables(node) == {"A": None, "B": "3"}


def test_a_key_that_stands_twice_in_one_branch_is_a_fault() -> None:
    text = "services:\n  a:\n    command: vllm serve m\n{{- if .a }}\n    image: x\n    image: y\n{{- end }}\n"
    assert ("PD011", "error") in found_in(text)


def test_a_script_in_a_chart_goes_on_behind_control() -> None:
    text = (
        "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: v\n    command: [bash, -c]\n    args:\n    - |\n"
        "      vllm serve m \\\n      {{- if .x }}\n        --max-num-seqs 8 \\\n      {{- else }}\n"
        "        --max-num-seqs 16 \\\n        --seed 1 \\\n      {{- end }}\n        --port 8100\n"
    )
    found = deployment({"p.yaml": text})
    assert [value(node, "max-num-seqs") for node in found.nodes] == ["8", "16"] and not faults(found)
    assert all(value(node, "port") == "8100" for node in found.nodes)


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v1\n{{ if x }}kind: Pod\nspec: {{ .a }}: b{{ end }} : c\n  vllm serve m\n",
        'a: [vllm\n{{- include "x" . | nindent 2 }}\n  b: c\n',
        "{% if a %}x: vllm{% else %}y{% endif %}: [\n",
    ],
)
def test_what_cannot_be_read_before_it_is_filled_in_is_said_once(text: str) -> None:
    assert found_in(text) == [("PD010", "warning")]


def test_the_limit_of_branches_is_said() -> None:
    more = "".join(f"{{{{- else if .v{number} }}}}\n  - --seed={number}\n" for number in range(MAX_VARIANTS))
    text = f"command: [vllm, serve, m]\nargs:\n{{{{- if .v }}}}\n  - --seed=1\n{more}{{{{- end }}}}\n"
    assert ("PD014", "error") in found_in(text)


def test_many_conditions_end() -> None:
    text = "vllm:\n" + "".join(
        f"{{{{ if .a{n} }}}}\n  a{n}: 1\n{{{{ else }}}}\n  a{n}: 2\n{{{{ end }}}}\n" for n in range(2000)
    )
    documents, wrong = parse_yaml(SourceFile("a.yaml", text))
    assert len(documents) == 2 and not wrong
