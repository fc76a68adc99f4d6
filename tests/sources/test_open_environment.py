"""Where further variables may come from that are not known: each form says it, and rules keep silent about it."""

from __future__ import annotations

import pytest

from pd_launch.launcher.check.run import run_checks
from pd_launch.launcher.sources.read import Inputs, read, read_texts

SPAN = "--tensor-parallel-size 4 --data-parallel-size 8 --data-parallel-size-local 4 --data-parallel-address 192.0.2.11"
NIXL = '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}'
ENGINE = f"vllm serve /m {SPAN} --kv-transfer-config '{NIXL}'"
WORDS = ", ".join(f"'{word}'" for word in ["vllm", "serve", "/m", *SPAN.split(), "--kv-transfer-config", NIXL])
POD = f"apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: a\n    command: [{WORDS}]\n"
MAP = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {A: '1'}\n"
OPEN = {
    "source.sh": f"source /etc/pd/decode.env\n{ENGINE}\n",
    "dot.sh": f"set -a; . ./decode.env; set +a\n{ENGINE}\n",
    "branch.sh": f"if [ -f x ]; then . x; fi\n{ENGINE}\n",
    "function.sh": f"f() {{ source x; }}\nf\n{ENGINE}\n",
    "inside.sh": f'bash -c "source x; {ENGINE}"\n'.replace('"kv', '\\"kv').replace('":', '\\":').replace('",', '\\",'),
    "outside.sh": f"source x\nbash <<'E'\n{ENGINE}\nE\n",
    "export.sh": f"export $(grep -v '^#' decode.env | xargs)\n{ENGINE}\n",
    "eval.sh": f'eval "$(decode-env)"\n{ENGINE}\n',
    "env.sh": f"env $(cat decode.env) {ENGINE}\n",
    "dotenv.sh": f"dotenv run -- {ENGINE}\n",
    "docker.sh": f"docker run --network host --env-file d.env --entrypoint vllm vllm/vllm-openai {ENGINE[5:]}\n",
    "exec.sh": f"docker exec decode {ENGINE}\n",
    "a.service": f"[Service]\nEnvironmentFile=-/etc/pd/decode.env\nExecStart={ENGINE}\n",
    "c.yaml": f"services:\n  a:\n    env_file: d.env\n    command: [{WORDS}]\n",
    "secret.yaml": POD + "    envFrom:\n    - secretRef: {name: s}\n",
    "map.yaml": POD + "    envFrom:\n    - configMapRef: {name: c}\n",
    "loose.yaml": f"x:\n  env_file: d.env\n  run: {{command: [{WORDS}]}}\n",
    "a.py": f"import subprocess\nsubprocess.run([{WORDS}])\n",
}
CLOSED = {
    "plain.sh": f"{ENGINE}\n",
    "cann.sh": f"source /usr/local/Ascend/ascend-toolkit/set_env.sh; . venv/bin/activate\n{ENGINE}\n",
    "later.sh": f"{ENGINE}\nsource x\n",
    "subshell.sh": f"(source x; true)\n{ENGINE}\n",
    "docker.sh": f"docker run --network host -e A=1 --entrypoint vllm vllm/vllm-openai {ENGINE[5:]}\n",
    "a.service": f"[Service]\nEnvironmentFile=a\nEnvironmentFile=\nExecStart={ENGINE}\n",
    "c.yaml": f"services:\n  b:\n    env_file: d.env\n    image: redis:7\n  a:\n    command: [{WORDS}]\n",
    "map.yaml": POD + "    envFrom:\n    - configMapRef: {name: c}\n" + MAP,
    "comment.yaml": POD + "    # envFrom: of old\n",
}


def misses(text: dict[str, str]) -> bool:
    """Whether the variable that the engine needs is reported as missing."""
    return "PD703" in {finding.code for finding in run_checks(read_texts(text, target="vllm==0.32.0")).findings}


@pytest.mark.parametrize("name", OPEN)
def test_what_may_be_set_elsewhere_is_not_missed(name: str) -> None:
    (deployment,) = read_texts({name: OPEN[name]}, target="vllm==0.32.0")
    (node,) = deployment.nodes
    assert node.env_open is not None and node.env_open.file == name
    assert not misses({name: OPEN[name]})


@pytest.mark.parametrize("name", CLOSED)
def test_where_nothing_else_sets_variables_one_is_missed(name: str) -> None:
    (deployment,) = read_texts({name: CLOSED[name]}, target="vllm==0.32.0")
    (node,) = deployment.nodes
    assert node.env_open is None
    assert misses({name: CLOSED[name]})


def test_the_command_line_is_started_by_something_that_may_set_more() -> None:
    (deployment,) = read(Inputs([], command=["vllm", "serve", "m"]))
    assert deployment.nodes[0].env_open is not None


def test_a_port_by_default_is_not_known_where_its_variable_may_be_set() -> None:
    from pd_launch.schemas.engine.connector_ports import side_channel

    ports = [
        side_channel(read_texts({"a.sh": text}, target="vllm==0.32.0")[0].nodes[0])
        for text in (ENGINE + "\n", f"source x\n{ENGINE}\n")
    ]
    assert [port.first if port else None for port in ports] == [5600, None]
