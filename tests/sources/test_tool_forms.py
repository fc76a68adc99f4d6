"""What each tool makes of its own file, and what the readers of the forms make of it."""

from __future__ import annotations

import json

import pytest

from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.read import Inputs, read, read_texts
from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.values import SourceFile
from tests.sources.reading import deployment, faults, launch, value, variables

JSON = '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer"}'


def sides(nodes: list[NodeLaunch]) -> dict[str | None, NodeLaunch]:
    return {node.side: node for node in nodes}


def recipe(options: str, more: str = "") -> str:
    return f"model: {{path: m}}\nbackend:\n  type: vllm\n{more}  vllm_config:\n    decode:\n{options}"


def test_srt_slurm_leaves_out_what_is_false_and_adds_its_connector() -> None:
    node, found = launch(recipe("      enforce-eager: false\n      enable_expert_parallel: true\n"), "r.yaml")
    assert node.program == "dynamo" and node.partial and node.side == "decode"
    assert node.arg("enforce-eager") is None and node.arg("no-enforce-eager") is None
    assert node.arg("enable-expert-parallel") is not None
    assert node.kv_transfer is not None and node.role == "kv_both"
    assert not faults(found)


@pytest.mark.parametrize(
    ("options", "more", "expected"),
    [
        ("      connector: lmcache\n", "  connector: nixl\n", "LMCacheConnectorV1"),
        ("      max-num-seqs: 4\n", "  connector: null\n", None),
        (f"      kv-transfer-config: '{JSON}'\n", "  connector: kvbm\n", "NixlConnector"),
    ],
)
def test_srt_slurm_connectors(options: str, more: str, expected: str | None) -> None:
    node, _ = launch(recipe(options, more), "r.yaml")
    arg = node.arg("kv-transfer-config")
    assert (arg.value.get("kv_connector").value if arg else None) == expected  # type: ignore[union-attr]


def test_srt_slurm_sets_the_variables_of_each_kind_of_worker() -> None:
    text = recipe("      max-num-seqs: 4\n", "  decode_environment: {A: 1, B: '2'}\n  prefill_environment: {C: x}\n")
    assert variables(launch(text, "r.yaml")[0]) == {"A": "1", "B": "2"}


def test_srt_slurm_variants_are_jobs_of_their_own() -> None:
    text = """\
base:
  model: {path: m}
  backend: {type: vllm, vllm_config: {aggregated: {max-num-seqs: 4, port: 8000}}}
override_small:
  backend: {vllm_config: {aggregated: {max-num-seqs: 2}}}
zip_override_many:
  backend: {vllm_config: {aggregated: {max-num-seqs: [1, 2]}}}
"""
    nodes = deployment({"r.yaml": text}).nodes
    assert [node.number("max-num-seqs", 0) for node in nodes] == [4, 2, None]
    assert len({node.branches for node in nodes}) == 3


def test_a_parameter_of_a_sweep_is_unknown() -> None:
    node, _ = launch(recipe('      max-num-seqs: "{n}"\n'), "r.yaml")
    assert node.number("max-num-seqs", 0) is None


def test_srt_slurm_with_another_engine_has_none() -> None:
    text = "model: {path: m}\nbackend: {type: sglang, sglang_config: {decode: {tp-size: 8}}}\n"
    assert [f.code for f in check(read_texts({"r.yaml": text}))] == ["PD010"]


def test_ray_serve_models_of_an_application_and_one_alone() -> None:
    text = """\
applications:
- name: chat
  args:
    llm_configs:
    - model_loading_config: {model_id: a, model_source: org/a}
      engine_kwargs: {max_num_seqs: 4, enforce_eager: false, kv_transfer_config: {kv_role: kv_both}}
      runtime_env: {env_vars: {HF_HOME: /x}}
    - other.yaml
"""
    node, _ = launch(text, "serve.yaml")
    assert node.model is not None and node.model.value == "org/a" and node.program == "python"
    assert [arg.name for arg in node.args] == ["max-num-seqs", "no-enforce-eager", "kv-transfer-config"]
    assert variables(node) == {"HF_HOME": "/x"}
    alone, _ = launch("model_loading_config: {model_id: a}\nengine_kwargs: {max_num_seqs: 4}\n", "m.yaml")
    assert alone.model is not None and alone.model.value == "a"


def motor(prefill: dict[str, object], decode: dict[str, object], **more: object) -> dict[str | None, NodeLaunch]:
    sections = {"prefill": {"engine_config": prefill, **more}, "decode": {"engine_config": decode, **more}}
    text = json.dumps({f"motor_engine_{side}_config": section for side, section in sections.items()}, indent=1)
    return sides(deployment({"user_config.json": text}).nodes)


def test_pymotor_fills_in_roles_and_sizes() -> None:
    kv = {"kv_connector": "MooncakeConnectorV1", "kv_port": "30001", "engine_id": "0"}
    nodes = motor(
        {"model": "m", "tensor_parallel_size": 4, "kv_transfer_config": kv},
        {"model": "m", "tensor_parallel_size": 2, "data_parallel_size": 8, "kv_transfer_config": kv},
    )
    assert nodes["prefill"].role == "kv_producer" and nodes["decode"].role == "kv_consumer"
    extra = value(nodes["decode"], "kv-transfer-config")["kv_connector_extra_config"]
    assert extra["prefill"]["tp_size"] == 4 and extra["decode"]["dp_size"] == 8
    assert "engine_id" not in value(nodes["decode"], "kv-transfer-config")


def test_pymotor_older_keys_count_behind_engine_config() -> None:
    older = {"model_path": "old", "npu_mem_utils": 0.8, "parallel_config": {"tp_size": 16, "enable_ep": True}}
    nodes = motor({"tensor_parallel_size": 2}, {"model": "new"}, model_config=older)
    assert nodes["prefill"].tensor == 2 and nodes["decode"].tensor == 16
    assert nodes["prefill"].model is not None and nodes["prefill"].model.value == "old"
    assert nodes["decode"].model is not None and nodes["decode"].model.value == "new"
    assert nodes["decode"].arg("enable-expert-parallel") is not None


def test_supervisord_expands_joins_lines_and_drops_comments() -> None:
    text = """\
[supervisord]
environment=MODEL="/models/m",X='a,b'
[program:decode]
command=vllm serve %(ENV_MODEL)s --port 81%%  ; why
  ; --port 1
  --served-model-name %(program_name)s  --api-key %(ENV_KEY)s
environment=A="1",B=2
"""
    node, found = launch(text, "any.conf")
    assert node.model is not None and node.model.value == "/models/m" and node.side == "decode"
    assert value(node, "port") == "81%" and value(node, "served-model-name") == "decode"
    assert variables(node) == {"MODEL": "/models/m", "X": "a,b", "A": "1", "B": "2"}
    assert node.arg("api-key").value.known is False  # type: ignore[union-attr]
    assert not faults(found)


def test_supervisord_starts_no_shell_unless_it_is_named() -> None:
    nodes = deployment({"s.ini": '[program:a]\ncommand=bash -c "vllm serve $M --port 1"\nenvironment=M=m\n'}).nodes
    assert nodes[0].model is not None and nodes[0].model.value == "m"


def test_dockerfile_joins_entry_point_and_command() -> None:
    text = """\
# syntax=docker/dockerfile:1
ARG TAG=v0.32.0
FROM --platform=linux/amd64 vllm/vllm-openai:${TAG} AS base
ENV A=1 B="two words" \\
    # between
    C=$A
ENV OLD style of it
FROM base AS decode
CMD ["--model", "m", \\
     "--port", "8100"]
FROM base
ENTRYPOINT exec vllm serve m \\
# a comment inside
  --port $PORT
CMD ["ignored"]
"""
    found = deployment({"Dockerfile": text})
    listed, shell = found.nodes
    assert found.target.vllm == "0.32.0" and listed.side == "decode" and value(listed, "port") == "8100"
    assert variables(listed) == {"A": "1", "B": "two words", "C": "1", "OLD": "style of it"}
    assert shell.arg("port") is not None and not shell.arg("port").value.known  # type: ignore[union-attr]


def test_dockerfile_list_form_has_no_variables_and_copied_scripts_are_run() -> None:
    text = """\
FROM python:3.12
COPY --chmod=755 <<EOF /start.sh
vllm serve m --max-num-seqs 4
EOF
ENTRYPOINT ["bash", "/start.sh"]
"""
    assert value(launch(text, "Containerfile")[0], "max-num-seqs") == "4"
    assert not deployment({"Dockerfile": 'FROM vllm/vllm-openai\nENTRYPOINT ["sleep", "1"]\n'}).nodes


def notebook(*cells: str | list[str], kind: str = "code") -> str:
    listed = [{"cell_type": kind, "source": cell, "outputs": [{"text": ["vllm serve x"]}]} for cell in cells]
    return json.dumps({"cells": listed, "nbformat": 4}, indent=1)


def test_notebook_reads_lines_cells_and_python_and_no_output() -> None:
    text = notebook(
        ["x = 1\n", "out = !vllm serve {MODEL} --port 8100\n"],
        "%%bash\nvllm serve b --port 8200 &\n",
        "%%writefile run.sh\nvllm serve c --port 8300\n",
        ["%%time\n", "from vllm import LLM\n", "!nvidia-smi\n", 'llm = LLM(model="d", max_num_seqs=4)\n'],
        "%%html\n<b>vllm serve</b>\n",
        "this is no Python: vllm serve e\n",
    )
    nodes = deployment({"demo.ipynb": text}).nodes
    assert [node.model.value if node.model and node.model.known else None for node in nodes] == ["d", None, "b", "c"]
    assert not deployment({"demo.ipynb": notebook("!vllm serve m\n", kind="markdown")}).nodes


def test_options_count_only_where_they_are_surely_vllms() -> None:
    wanted = "model: m\nport: 8000\nmax_model_len: 4096\n"
    assert value(launch(wanted, "c.yaml")[0], "max-model-len") == "4096"
    for other in ("model: m\ndtype: bf16\n", "model: m\nlearning_rate: 1\nseed: 1\n", "model: {name: m}\nport: 1\n"):
        assert not deployment({"c.yaml": other}).nodes
    named = deployment({"c.yaml": wanted, "run.sh": "vllm serve --config c.yaml\n"})
    assert len(named.nodes) == 1 and value(named.nodes[0], "max-model-len") == "4096"


PATCH = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: decode}
spec: {template: {spec: {containers: [{name: vllm, args: ["--tensor-parallel-size=2", "--max-num-seqs", "4"]}]}}}
"""


def test_a_patch_is_partial_and_what_it_lacks_is_no_fault() -> None:
    node, found = launch(PATCH, "patch.yaml")
    assert node.partial and node.tensor == 2 and node.side == "decode"
    assert not [f for f in check([found]) if f.severity != "info"]
    other = PATCH.replace("--tensor-parallel-size=2", "--leader-elect").replace(
        '"--max-num-seqs", "4"', '"--zap-level=1"'
    )
    assert not deployment({"patch.yaml": other}).nodes


def test_patches_inside_a_kustomization_have_their_places() -> None:
    text = """\
kind: Kustomization
resources: [../base]
patches:
- target: {kind: Deployment, name: prefill}
  patch: |-
    - op: add
      path: /spec/template/spec/containers/0/args/-
      value: --max-num-seqs=many
- path: other.yaml
"""
    [finding] = check(read_texts({"kustomization.yaml": text}))
    assert (finding.code, finding.line, finding.column) == ("PD007", 8, 29)
    assert deployment({"kustomization.yaml": text}).nodes[0].side == "prefill"


def test_hcl_is_read_as_the_manifest_that_it_becomes() -> None:
    text = """\
resource "kubernetes_deployment_v1" "decode" {
  metadata { name = "decode" }
  spec { template { spec {
    host_network = true
    container {
      image   = "vllm/vllm-openai:v0.32.0" # one
      command = ["vllm", "serve", var.model]
      args    = ["--port", "8100", "--kv-transfer-config", 
        jsonencode({ kv_connector = "NixlConnector", kv_role = var.r })]
      env {
        name  = "A"
        value = 1
      }
      resources { limits = { "nvidia.com/gpu" = 2 } }
    }
  } } }
}
resource "null_resource" "run" {
  provisioner "local-exec" {
    command = <<-EOT
      vllm serve m --port ${var.port} --max-num-seqs 4
    EOT
  }
}
"""
    pod, script = deployment({"main.tf": text}).nodes
    assert pod.container is not None and pod.container.host_network and pod.side == "decode"
    assert pod.container.resources["nvidia.com/gpu"].value == "2" and variables(pod) == {"A": "1"}
    assert pod.role is None and value(pod, "port") == "8100"
    assert value(script, "max-num-seqs") == "4" and not script.arg("port").value.known  # type: ignore[union-attr]


def test_hcl_that_cannot_be_read_is_said() -> None:
    [finding] = check(read_texts({"main.tf": 'resource "a" "b" {\n  x = "vllm serve m\n}\n'}))
    assert finding.code == "PD010" and "not read" in finding.message


def test_files_of_arguments_keep_the_quotes_of_json() -> None:
    text = f"A=1\n# more\nVLLM_ARGS=--max-num-seqs 4 --kv-transfer-config='{JSON}' --port=$PORT\n"
    node, _ = launch(text, "decode.env")
    assert node.partial and node.role == "kv_consumer" and not node.arg("port").value.known  # type: ignore[union-attr]
    assert not deployment({".env": "A=--verbose\nB=2\n"}).nodes


def test_dynamo_services_give_their_containers_variables_and_devices() -> None:
    text = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
spec:
  services:
    W:
      subComponentType: prefill
      envs: [{name: A, value: "1"}]
      resources: {limits: {gpu: "2"}}
      extraPodSpec:
        mainContainer:
          image: "nvcr.io/nvidia/ai-dynamo/vllm-runtime:1"
          args: [--model, m, --is-prefill-worker, -tp, "2"]
"""
    node, found = launch(text, "dgd.yaml")
    assert node.program == "dynamo" and node.side == "prefill" and variables(node) == {"A": "1"}
    assert node.container is not None and node.container.resources["nvidia.com/gpu"].value == "2"
    assert not [f for f in check([found]) if f.severity == "error"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("s.conf", "[program:a]\ncommand=vllm serve {{ model }} --port {{ port | int }} --max-num-seqs 4\n"),
        (
            "Dockerfile",
            'FROM vllm/vllm-openai\nCMD ["--model", "{{ model }}", "--port", "{{ port }}", "--max-num-seqs", "4"]\n',
        ),
        ("r.yaml", recipe("      port: ${PORT}\n      max-num-seqs: 4\n")),
        ("m.yaml", "model_loading_config: {model_id: a}\nengine_kwargs: {port: '${PORT}', max_num_seqs: 4}\n"),
        ("c.yaml", "model: m\nport: {{ .Values.port }}\nmax-num-seqs: 4\n"),
        (".env", "VLLM_ARGS=--port ${PORT} --max-num-seqs 4\n"),
    ],
)
def test_what_is_filled_in_is_unknown_in_each_form(name: str, text: str) -> None:
    node, found = launch(text, name)
    port = node.value("port")
    assert port is not None and not port.known and str(value(node, "max-num-seqs")) == "4"
    assert not [f for f in check([found]) if f.severity == "error"]


def test_a_form_inside_a_text_for_people_or_a_script_is_not_the_file() -> None:
    section = "[program:a]\ncommand=vllm serve inner --port 1\n"
    for name, before in (("README.md", "# How\n\n"), ("notes", "cat > s.conf <<EOF\n")):
        text = f"{before}{section}" + ("EOF\nvllm serve outer --port 2\n" if name == "notes" else "")
        nodes = deployment({name: text}).nodes
        assert [node.model.value for node in nodes if node.model] == (["inner", "outer"] if name == "notes" else [])
    block = 'resource "a" "b" {\n  x = 1\n}\n'
    assert deployment({"run": f"cat > m.tf <<EOF\n{block}EOF\nvllm serve m\n"}).nodes


def test_a_file_of_options_met_in_a_folder_counts_only_where_it_is_named() -> None:
    source = SourceFile("c.yaml", "model: m\nport: 70000\nmax-model-len: 4096\n")
    assert not [node for d in read(Inputs([source], separate=True, quiet=True)) for node in d.nodes]
    assert [node for d in read(Inputs([source], separate=True)) for node in d.nodes]


STACK = """\
servingEngineSpec:
  containerPort: 8100
  modelSpec:
  - name: "opt125m-prefill"
    repository: "lmcache/vllm-openai"
    tag: "2025-05-27-v1"
    modelURL: "facebook/opt-125m"
    requestGPU: 2
    env: [{name: A, value: "1"}]
    vllmConfig:
      enablePrefixCaching: true
      maxModelLen: 1024
      tensorParallelSize: 2
      gpuMemoryUtilization: 0.6
      extraArgs: ["--max-num-seqs", "8", "--disable-log-requests"]
    lmcacheConfig: {enabled: true, kvRole: "kv_producer", enablePD: true, cudaVisibleDevices: "0", nixlPeerPort: "5"}
  - name: "other"
    enabled: false
    modelURL: "m"
  - name: "second"
    modelURL: "facebook/opt-125m"
    vllmConfig: {enableChunkedPrefill: false, maxModelLen: 1024}
    lmcacheConfig: {enabled: true, nixlRole: "receiver"}
"""


def test_production_stack_becomes_what_its_chart_makes() -> None:
    nodes = sides(deployment({"values.yaml": STACK}).nodes)
    assert set(nodes) == {"prefill", "decode"}
    first, second = nodes["prefill"], nodes["decode"]
    assert [arg.name for arg in first.args] == [
        *("port", "enable-prefix-caching", "max-model-len", "tensor-parallel-size", "gpu-memory-utilization"),
        *("max-num-seqs", "disable-log-requests", "kv-transfer-config"),
    ]
    assert first.number("port", 0) == 8100 and first.tensor == 2 and first.role == "kv_producer"
    assert first.model is not None and first.model.value == "facebook/opt-125m"
    assert first.env_open is not None and variables(first) == {
        **{"PYTHONHASHSEED": "123", "A": "1", "CUDA_VISIBLE_DEVICES": "0", "LMCACHE_NIXL_RECEIVER_PORT": "5"},
    }
    assert first.container is not None and first.container.image is not None
    assert first.container.image.value == "lmcache/vllm-openai:2025-05-27-v1"
    assert first.container.resources["nvidia.com/gpu"].value == 2
    assert [arg.name for arg in second.args] == [
        *("port", "no-enable-chunked-prefill", "no-enable-prefix-caching", "max-model-len", "kv-transfer-config"),
    ]
    assert second.role == "kv_both"


def test_production_stack_inside_of_another_chart_and_on_ray() -> None:
    text = """\
vllm-stack:
  servingEngineSpec:
    modelSpec:
    - name: m
      repository: vllm/vllm-openai
      tag: v0.32.0
      modelURL: m
      requestGPU: 1
      raySpec: {enabled: true}
      vllmConfig: {pipelineParallelSize: 2, tensorParallelSize: 1}
"""
    node, found = launch(text, "values.yaml")
    assert node.number("pipeline-parallel-size", 1) == 2 and value(node, "distributed-executor-backend") == "ray"
    assert str(found.target) == "vLLM 0.32.0"
    assert not [f for f in check([found]) if f.severity == "error"]


@pytest.mark.parametrize(
    "module",
    ["dynamo.vllm", "dynamo.vllm.unified_main", '"$WORKER"'],
)
@pytest.mark.parametrize(
    "form",
    [
        ("run.sh", "{}"),
        ("run.sh", "docker run --gpus all nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.0.0 {}"),
        (
            "c.yaml",
            "services:\n  p:\n    image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.0.0\n    command: >-\n      {}",
        ),
    ],
)
def test_a_worker_of_dynamo_is_read_in_every_form(module: str, form: tuple[str, str]) -> None:
    command = f"python3 -m {module} --model m --disaggregation-mode prefill --kv-transfer-config '{JSON}'"
    name, around = form
    node, found = launch(around.format(command) + "\n", name)
    assert node.program == "dynamo" and node.side == "prefill" and not node.unread
    assert node.model is not None and node.model.value == "m" and node.role == "kv_consumer"
    assert not found.faults


def test_an_unknown_module_without_a_connector_is_no_engine() -> None:
    assert not deployment({"a.sh": 'python3 -m "$TOOL" --model m --port 8000  # vllm\n'}).nodes
