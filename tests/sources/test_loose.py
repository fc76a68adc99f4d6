"""YAML without a form of its own that starts engines."""

from __future__ import annotations

import pytest
from reading import deployment, launch, value, variables

VALUES = """\
decode:
  containers:
    - name: vllm
      image: registry.example.com/serving:v1
      modelCommand: vllmServe
      args: ["--max-num-seqs", "8"]
      env: [{name: A, value: "1"}]
prefill:
  containers:
    - name: vllm
      modelCommand: vllmServe
      args: ["--enforce-eager"]
"""


def test_helm_values_give_the_arguments_of_both_sides() -> None:
    found = deployment({"values.yaml": VALUES})
    decode, prefill = found.nodes
    assert (decode.side, prefill.side) == ("decode", "prefill")
    assert str(value(decode, "max-num-seqs")) == "8" and variables(decode) == {"A": "1"}
    assert decode.model is not None and not decode.model.known


def test_helm_values_give_the_sizes_beside_the_containers() -> None:
    text = VALUES.replace("decode:\n", "decode:\n  parallelism: {tensor: 4}\n")
    decode, prefill = deployment({"values.yaml": text}).nodes
    assert (decode.world_size, prefill.world_size) == (4, 1)
    written = text.replace('"--max-num-seqs", "8"', '"--tensor-parallel-size=2"')
    assert deployment({"values.yaml": written}).nodes[0].world_size == 2


def test_part_of_a_manifest() -> None:
    text = 'containers:\n- name: main\n  command: ["sh", "-c"]\n  args: ["vllm serve m --max-num-seqs 8"]\n'
    assert str(value(launch(text, "part.yaml")[0], "max-num-seqs")) == "8"


def test_arguments_that_an_operator_adds_to() -> None:
    text = (
        "apiVersion: serving.kserve.io/v1alpha1\nkind: LLMInferenceService\nmetadata: {name: q}\nspec:\n"
        "  template:\n    containers:\n    - name: main\n      env:\n      - name: VLLM_ADDITIONAL_ARGS\n"
        "        value: \"--max-num-seqs 8 --kv_transfer_config '{}'\"\n"
    )
    node, _ = launch(text, "service.yaml")
    assert node.partial and str(value(node, "max-num-seqs")) == "8" and node.arg("kv-transfer-config") is not None


@pytest.mark.parametrize(
    "text",
    [
        "run: |\n  cd /x\n  vllm serve m --max-num-seqs $N &\nenvs: {N: 8}\n",
        "env:\n  - N=8\ncommands:\n  - pip list\n  - vllm serve m --max-num-seqs 8\n",
        "command: [vllm, serve, m, --max-num-seqs, '8']\nenv: {N: 8}\n",
        "engine:\n  image: vllm/vllm-openai:v0.32.0\n  env: {N: 8}\n  args: [--model, m, --max-num-seqs, '8']\n",
        "jobs: [{name: a, env: [{name: N, value: '8'}], steps: [{run: 'vllm serve m --max-num-seqs 8'}]}]\n",
    ],
)
def test_scripts_anywhere(text: str) -> None:
    node, _ = launch(text, "task.yaml")
    assert node.arg("max-num-seqs") is not None
    assert str(variables(node)["N"]) == "8"
