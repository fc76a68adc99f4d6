"""What is filled in before a file is used: unknown values in every form, and lines of control that are no text."""

from __future__ import annotations

import pytest

from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.read import read_texts
from pd_launch.launcher.sources.text.interpolate import TABLES
from pd_launch.launcher.sources.text.templates import MAX_VARIANTS, files_of, parts_of, variants
from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.values import HOLE, Node, SourceFile, Unknown

VALUES = (
    "{{ tp }}",
    "{{ tp | default(1) }}",
    "{{- .Values.tp -}}",
    "{% raw %}",
    "<%= tp %>",
    "@TP@",
    "%TP%",
    "${{ tp }}",
    "${sizes.tp}",
)
ENVSUBST = "${TP}"
POD = """apiVersion: v1
kind: Pod
metadata: {{name: a}}
spec:
  containers:
  - name: a
    image: vllm/vllm-openai:v0.32.0
    command: [vllm, serve, m]
    args:
    - --tensor-parallel-size
    - "{0}"
    - --max-num-batched-tokns=1
"""
FORMS = {
    "s.sh": "vllm serve m --tensor-parallel-size {0} --max-num-batched-tokns 1\n",
    "quoted.sh": 'vllm serve m --tensor-parallel-size "{0}" --max-num-batched-tokns 1\n',
    "docker.sh": "docker run vllm/vllm-openai --model m --tensor-parallel-size {0} --max-num-batched-tokns 1\n",
    "c.yaml": "services:\n  a:\n    command: vllm serve m --tensor-parallel-size '{0}' --max-num-batched-tokns 1\n",
    "list.yaml": "services:\n  a:\n"
    "    command: [vllm, serve, m, --tensor-parallel-size, '{0}', --max-num-batched-tokns]\n",
    "p.yaml": POD,
    "a.service": "[Service]\nExecStart=vllm serve m --tensor-parallel-size {0} --max-num-batched-tokns 1\n",
    "e.yaml": "test_cases:\n- server_cmd: [--tensor-parallel-size, '{0}', --max-num-batched-tokns]\n  model: m\n",
    "loose.yaml": "x:\n  command: [vllm, serve, m, --tensor-parallel-size, '{0}', --max-num-batched-tokns, '1']\n",
    "a.py": "import subprocess as s\n"
    "s.run(['vllm', 'serve', 'm', '--tensor-parallel-size', '{0}', '--max-num-batched-tokns'])\n",
    "b.py": "import os\nos.system('vllm serve m --tensor-parallel-size {0} --max-num-batched-tokns 1')\n",
}


def launched(files: dict[str, str]) -> list[NodeLaunch]:
    return [node for deployment in read_texts(files, target="vllm==0.32.0") for node in deployment.nodes]


def written(node: NodeLaunch) -> dict[str, object]:
    return {arg.name: arg.value.value if arg.value else None for arg in node.args}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("value", VALUES)
def test_a_value_that_is_filled_in_is_unknown_in_every_form(name: str, value: str) -> None:
    text = FORMS[name].format(value)
    (node,) = launched({name: text})
    found = node.value("tensor-parallel-size")
    assert found is not None and isinstance(found.value, Unknown)
    assert node.tensor is None
    wrong = node.arg("max-num-batched-tokns")
    assert wrong is not None
    source = SourceFile(name, text)
    start = source.offset(wrong.origin.line, wrong.origin.column)
    assert text[start:].startswith("--max-num-batched-tokns")


@pytest.mark.parametrize("name", ["p.yaml", "loose.yaml", "c.yaml", "e.yaml"])
def test_a_variable_of_the_shell_is_filled_in_before_a_manifest_is_applied(name: str) -> None:
    (node,) = launched({name: FORMS[name].format(ENVSUBST)})
    assert node.tensor is None


def test_a_script_in_a_manifest_has_variables_of_its_own() -> None:
    pod = POD.replace("command: [vllm, serve, m]", "command: [bash, -c]").split("    args:")[0]
    (node,) = launched({"p.yaml": pod.format("") + '    args: ["TP=8; vllm serve m --tensor-parallel-size ${TP}"]\n'})
    assert node.tensor == 8


@pytest.mark.parametrize(
    ("unit", "values"),
    [
        ("Environment=TP=8\nExecStart=vllm serve m --tensor-parallel-size ${TP} --port $PORT", ("8", None)),
        ("Environment=TP=8 PORT=81\nExecStart=vllm serve m --tensor-parallel-size $TP --port ${PORT}00", ("8", "8100")),
        ("Environment='A=--tensor-parallel-size 8 --port 1'\nExecStart=vllm serve m $A", ("8", "1")),
        ("Environment='A=8'\nExecStart=vllm serve m --tensor-parallel-size=$A --port 1", ("$A", "1")),
        ("ExecStart=vllm serve m --tensor-parallel-size %i --port 81%%", (None, "81%")),
        ("Environment=TP=%i\nExecStart=vllm serve m --tensor-parallel-size ${TP} --port $$1", (None, "$1")),
    ],
)
def test_a_unit_has_variables_and_specifiers(unit: str, values: tuple[str | None, str | None]) -> None:
    (node,) = launched({"a@.service": f"[Service]\n{unit}\n"})
    found = [node.value(name) for name in ("tensor-parallel-size", "port")]
    assert tuple(value.string() if value is not None else None for value in found) == values


def test_what_a_unit_does_not_know_may_be_further_arguments() -> None:
    (node,) = launched({"a.service": "[Service]\nExecStart=vllm serve m $EXTRA --port 1\n"})
    assert node.partial and node.number("port", 0) == 1


BRANCHES = """{% if big %}
TP=8
{% else %}
TP=4
{% endif %}
vllm serve m --tensor-parallel-size $TP \\
  {% if long -%}
  --max-model-len 8192 \\
  {%- elif short %}
  --max-model-len 0 \\
  {% endif %}
  --port 1
"""


def test_each_branch_of_a_template_is_read() -> None:
    nodes = launched({"a.sh": BRANCHES})
    assert [(node.tensor, node.number("max-model-len", -1), node.number("port", 0)) for node in nodes] == [
        (8, 8192, 1),
        (4, 0, 1),
    ]
    assert len({node.branches for node in nodes}) == 2


def test_a_unit_goes_on_behind_lines_of_control() -> None:
    unit = (
        "{% if a %}\n[Unit]\n{% endif %}\n[Service]\n{% for k, v in env.items() %}\nEnvironment={{ k }}={{ v }}\n"
        "{% endfor %}\nExecStart=vllm serve m \\\n{% if tp %}\n  --tensor-parallel-size {{ tp }} \\\n{% else %}\n"
        "  --tensor-parallel-size 0 \\\n{% endif %}\n  --port 1\nExecStartPost=vllm serve n\n"
    )
    nodes = launched({"a.service": unit})
    assert [(node.model and node.model.value, node.tensor, node.number("port", 0)) for node in nodes] == [
        ("m", None, 1),
        ("n", 1, 0),
        ("m", 0, 1),
    ]
    assert [len(node.branches) for node in nodes] == [1, 0, 1]


def test_what_all_branches_start_alike_is_started_once() -> None:
    nodes = launched({"a.sh": "{% if a %}\nvllm serve a\n{% else %}\nvllm serve b\n{% endif %}\nvllm serve c\n"})
    assert sorted(node.model.value for node in nodes if node.model) == ["a", "b", "c"]
    assert [node.branches for node in nodes if node.model and node.model.value == "c"] == [()]


def test_branches_of_a_chart_are_no_doubled_keys() -> None:
    chart = POD.format("1").replace(
        '    - --tensor-parallel-size\n    - "1"\n',
        "    {{- if .Values.big }}\n    - --tensor-parallel-size=8\n    {{- else }}\n"
        "    - --tensor-parallel-size=4\n    {{- end }}\n",
    )
    (deployment,) = read_texts({"p.yaml": chart}, target="vllm==0.32.0")
    assert [fault.kind for fault in deployment.faults] == []
    assert sorted(node.tensor or 0 for node in deployment.nodes) == [4, 8]
    assert all(len(node.named("tensor-parallel-size")) == 1 for node in deployment.nodes)


@pytest.mark.parametrize("style", ["|", "|-", ">", ">-", '"', ""])
def test_a_command_in_yaml_goes_on_behind_lines_of_control(style: str) -> None:
    backslash = " \\" if style.startswith("|") else ""
    lines = [
        *("{{- if .Values.debug }}", "true;" if not backslash else "true", "{{- end }}", f"vllm serve m{backslash}"),
        *("{{- if .Values.a }}", f"  --port 1{backslash}", "{{- end }}", f"  {{{{ .Values.extra }}}}{backslash}"),
        *("  {{- .Values.more }}" if not backslash else "{{- if b }}", f"  --max-num-seqs 2{backslash}"),
        *("{{- end }}" if backslash else "", "  --seed 3"),
    ]
    quote = style if style == '"' else ""
    indent = "\n" + " " * 6
    body = indent.join(line for line in lines if line)
    opening = f"{style}{indent}" if style[:1] in ("|", ">") else quote
    pod = "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: a\n    command: [sh, -c]\n    args:\n    - "
    (node,) = launched({"p.yaml": f"{pod}{opening}{body}{quote}\n"})
    assert [node.number(name, 0) for name in ("port", "max-num-seqs", "seed")] == [1, 2, 3]
    assert node.partial


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a {{ b }} c", ["{{ b }}"]),
        ('x {{"kv_role": "x"}}', []),
        ("echo ${#A[@]} ${A%.*} ${A%%B*} $((1<%2)) user@host me@HOST s@A@B@ 100%CPU %Y%m%d", []),
        ("{{ a", []),
        (
            "${a.b} ${A_1.b-c.0[x]} ${a.b:-c d} ${A:-b.c} ${A/.b} ${A[1.2]} ${.b} ${a.} $a.b ${a.b",
            ["${a.b}", "${A_1.b-c.0[x]}", "${a.b:-c d}"],
        ),
        (
            "{% if a %}b{% endif %} <%# c %> @A_B@x @A_B@ %1% %AB%",
            ["{% if a %}", "{% endif %}", "<%# c %>", "@A_B@", "%AB%"],
        ),
    ],
)
def test_parts(text: str, found: list[str]) -> None:
    assert [text[part.start : part.end] for part in parts_of(text)] == found


def test_a_filled_file_has_all_characters_in_their_places() -> None:
    source = SourceFile("a.yaml", "a: {{ b }}\n{{- if c }}\nd: 1\n{{- else }}\nd: 2\n{{- end }}\n")
    first, second = files_of(source)
    assert len(first.text) == len(second.text) == len(source.text)
    assert [text.text.split() for text in (first, second)] == [["a:", HOLE * 7, "d:", "1"], ["a:", HOLE * 7, "d:", "2"]]
    assert [text.place(text.text.index("d:")) for text in (first, second)] == [(3, 1), (5, 1)]
    assert files_of(SourceFile("b", "a: 1\n"))[0].text == "a: 1\n"


def test_variants_are_bounded() -> None:
    text = "{% if a %}\n" + "x\n{% else %}\n" * 50 + "{% endif %}\n"
    assert len(variants(text)) == MAX_VARIANTS


def test_every_syntax_has_a_name_of_its_own() -> None:
    assert len({syntax.name for syntax in TABLES}) == len(TABLES)


@pytest.mark.parametrize("name", ["s.sh", "a.service", "c.yaml", "p.yaml"])
@pytest.mark.parametrize("program", ["{{ vllm_bin }}", "{{ venv }}/bin/vllm"])
def test_a_program_that_is_filled_in_is_known_by_its_name(name: str, program: str) -> None:
    text = (
        FORMS[name].format(1).replace("[vllm, serve", f"['{program}', serve").replace("vllm serve", f"{program} serve")
    )
    (node,) = launched({name: text})
    assert node.tensor == 1


@pytest.mark.parametrize("value", [*VALUES, ENVSUBST])
def test_a_variable_that_is_filled_in_is_unknown(value: str) -> None:
    pod = POD.format(1) + f'    env:\n    - {{name: PYTHONHASHSEED, value: "{value}"}}\n'
    loose = FORMS["loose.yaml"].format(1) + f'  env:\n    PYTHONHASHSEED: "{value}"\n'
    entries = FORMS["loose.yaml"].format(1) + f'  env:\n  - name: PYTHONHASHSEED\n    value: "{value}"\n'
    for text in (pod, loose, entries):
        (node,) = launched({"p.yaml": text})
        assert isinstance(node.env["PYTHONHASHSEED"].value.value, Unknown), text


@pytest.mark.parametrize("value", [*VALUES, ENVSUBST])
def test_a_value_of_a_configuration_file_that_is_filled_in_is_unknown(value: str) -> None:
    config = f'tensor-parallel-size: "{value}"\nkv-transfer-config: {{kv_role: "{value}", kv_port: 1}}\n'
    (node,) = launched({"a.sh": "vllm serve m --config c.yaml\n", "c.yaml": config})
    transfer = node.kv_transfer
    assert node.tensor is None and transfer is not None and transfer.plain()["kv_port"] == 1
    assert isinstance(transfer.plain()["kv_role"], Unknown)


def test_a_variable_of_a_container_may_name_those_before_it() -> None:
    env = "    env:\n    - {name: A, value: '80'}\n    - {name: B, value: $(A)00}\n    - {name: C, value: $(D)}\n"
    (node,) = launched({"p.yaml": POD.format("$(B)") + env})
    assert (node.variable("B"), node.variable("C"), node.tensor) == ("8000", None, 8000)


@pytest.mark.parametrize("run", ["vllm serve m {}", 'eval "exec vllm serve m {}"'])
@pytest.mark.parametrize("value", ["{{ .S }}", "{{ or .Spec.Data 1 }}", "{{ a }} + ({{ b }} * 2)"])
def test_a_calculation_with_a_value_that_is_filled_in_is_unknown(run: str, value: str) -> None:
    script = f"RANK=$(( ${{L:-0}} * {value} ))\n" + run.format("--data-parallel-start-rank $RANK --headless") + "\n"
    (node,) = launched({"a.sh": script})
    assert isinstance(node.named("data-parallel-start-rank")[0].value, Node) and node.switch("headless")
    assert isinstance(node.named("data-parallel-start-rank")[0].value.value, Unknown)


def test_a_name_with_a_dot_is_filled_in_and_may_be_several_words() -> None:
    command = (
        'vllm serve m --kv-transfer-config \'{"kv_role": "kv_both"${device.json}}\' \\\n'
        "  --port 1 \\\n  ${device.more} \\\n  ${run.args} \\\n  --seed 3\n"
    )
    for files in ({"a.sh": command}, {"a.yaml": "x: |\n" + "".join(f"  {line}\n" for line in command.splitlines())}):
        [deployment] = read_texts(files, target="vllm==0.32.0")
        [node] = deployment.nodes
        assert node.partial and (node.number("port", 0), node.number("seed", 0)) == (1, 3)
        assert not deployment.faults and not check([deployment])
