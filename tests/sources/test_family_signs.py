"""Signs of the family: what says Ascend, what says stock vLLM, and what counts where both are said."""

from __future__ import annotations

import pytest

from pd_launch.launcher.sources.read import read_texts
from pd_launch.launcher.sources.release.family_signs import AROUND, ASKED, GIVEN, Signs, signs
from pd_launch.schemas.releases.connectors import ASCEND_CONNECTORS, VLLM_CONNECTORS

SERVE = "vllm serve m --port 8100\n"


def of(text: str, name: str = "a.sh") -> Signs:
    """Return the signs of the only engine of a file."""
    (deployment,) = read_texts({name: text})
    (node,) = deployment.nodes
    return signs(node, deployment.sources)


def with_connector(name: str, more: str = "") -> str:
    """Return a script with one connector."""
    return f'vllm serve m --kv-transfer-config \'{{"kv_connector":"{name}","kv_role":"kv_both"{more}}}\'\n'


@pytest.mark.parametrize(
    "text",
    [
        f"export HCCL_IF_IP=10.0.0.1\n{SERVE}",
        f"ASCEND_RT_VISIBLE_DEVICES=0,1 {SERVE}",
        f"export VLLM_ASCEND_ENABLE_NZ=0\n{SERVE}",
        f"source /usr/local/Ascend/ascend-toolkit/set_env.sh\n{SERVE}",
        f". /usr/local/Ascend/nnal/atb/set_env.sh\n{SERVE}",
        f"python -c 'import torch_npu'\n{SERVE}",
        f"npu-smi info\n{SERVE}",
        f"pip install vllm-ascend\n{SERVE}",
        f"pip install vllm==0.18.0\npip install vllm-ascend==0.18.0\n{SERVE}",
        "docker run --device /dev/davinci0 team/serving:1 vllm serve m\n",
        "docker run quay.io/ascend/vllm-ascend:latest vllm serve m\n",
        "docker run team/vllm-npu:v1 vllm serve m\n",
        "vllm serve m --quantization ascend\n",
        "vllm serve m --additional-config '{\"enable_cpu_binding\": true}'\n",
        with_connector("MooncakeConnectorV1"),
        with_connector("Mine", ',"kv_connector_module_path":"vllm_ascend.distributed.mooncake_connector"'),
    ],
)
def test_ascend(text: str) -> None:
    """Each alone excludes stock vLLM."""
    assert of(text).families == (True,)


@pytest.mark.parametrize(
    "text",
    [
        f"export CUDA_VISIBLE_DEVICES=0,1\n{SERVE}",
        f"export CUDA_HOME=/usr/local/cuda\n{SERVE}",
        f"export NCCL_SOCKET_IFNAME=eth0\n{SERVE}",
        f"VLLM_CPU_KVCACHE_SPACE=4 {SERVE}",
        f"nvidia-smi -L\n{SERVE}",
        f"#!/bin/bash\n#SBATCH --gres=gpu:8\n{SERVE}",
        f"#!/bin/bash\n#SBATCH --gpus-per-node=8\n{SERVE}",
        f"#!/bin/bash\n#SBATCH -G 8\n{SERVE}",
        f"srun -N 1 --gpus 8 {SERVE}",
        f"pip install vllm==0.32.0\n{SERVE}",
        f"uv pip install vllm\n{SERVE}",
        "uv run --with vllm==0.32.0 vllm serve m\n",
        f"FROM vllm/vllm-openai:v0.32.0\nCMD {SERVE}",
        "docker run --gpus all team/serving:1 vllm serve m\n",
        "docker run vllm/vllm-openai:latest --model m\n",
        "docker run lmcache/vllm-openai:latest --model m\n",
        "docker run nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.7.0 vllm serve m\n",
        with_connector("P2pNcclConnector"),
        with_connector("MooncakeConnector"),
    ],
)
def test_stock_vllm(text: str) -> None:
    """Each alone excludes Ascend."""
    assert of(text).families == (False,)


@pytest.mark.parametrize(
    "text",
    [
        SERVE,
        with_connector("NixlConnector"),
        with_connector("MultiConnector"),
        with_connector("RecomputeCPUOffloadConnector", ',"kv_connector_module_path":"pd_launch.connector"'),
        with_connector("$NAME"),
        f"# nvidia-smi, CUDA_VISIBLE_DEVICES, torch_npu: none of them here\n{SERVE}",
        f"# source /usr/local/Ascend/ascend-toolkit/set_env.sh\n{SERVE}",
        f"# pip install vllm-ascend\n{SERVE}",
        "docker run my.registry/team/vllm-serving:1.4.2 vllm serve m\n",
        "vllm serve m --additional-config '{\"mine\": true}'\n",
        f"export MY_CUDA_NOTE=1\n{SERVE}",
    ],
)
def test_no_sign(text: str) -> None:
    """Comments are none, nor is what both families have."""
    found = of(text)
    assert found.families == (True, False)
    assert found.is_ascend is None
    assert not found.signs


def test_resources_of_a_pod() -> None:
    """A device plugin's resource names the hardware."""
    pod = (
        "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: a\n    image: team/serving:1\n"
        "    command: [vllm, serve, m]\n    resources: {limits: {%s: 8}}\n"
    )
    assert of(pod % "nvidia.com/gpu", "p.yaml").families == (False,)
    assert of(pod % "huawei.com/Ascend910", "p.yaml").families == (True,)
    assert of(pod % "rdma/hca", "p.yaml").families == (True, False)


def test_a_profile_names_its_hardware() -> None:
    """Nothing goes before it."""
    (deployment,) = read_texts({"p.yaml": "version: 1\nname: a\nhardware: cuda\nmodel: m\ndecode: {}\n"})
    found = {signs(node, deployment.sources).families for node in deployment.nodes}
    assert found == {(False,)}


def test_what_an_engine_is_given_goes_before_what_it_asks_for() -> None:
    """A CUDA connector on Ascend is a fault on Ascend, and no doubt about the family."""
    found = of(f"export HCCL_IF_IP=10.0.0.1\n{with_connector('MooncakeConnector')}")
    assert found.families == (True,)
    assert {sign.rank for sign in found.signs} == {GIVEN}
    found = of(f"export CUDA_VISIBLE_DEVICES=0\n{with_connector('MooncakeConnectorV1')}")
    assert found.families == (False,)
    assert {sign.rank for sign in found.signs} == {AROUND}


def test_variables_of_cuda_are_copied_into_scripts_for_ascend() -> None:
    """Devices and HCCL's own variables say more; a sourced CANN says as much, and then both are possible."""
    assert of(f"export HCCL_IF_IP=10.0.0.1 NCCL_DEBUG=INFO\n{SERVE}").families == (True,)
    mixed = of(f"source /usr/local/Ascend/ascend-toolkit/set_env.sh\nexport NCCL_DEBUG=INFO\n{SERVE}")
    assert mixed.families == (True, False)
    assert mixed.ascend and mixed.stock


def test_contradictions_exclude_neither_family() -> None:
    """A script for both kinds of machines, an image that the devices do not fit."""
    assert of(f"if nvidia-smi; then :; else npu-smi info; fi\n{SERVE}").is_ascend is None
    assert of("docker run --gpus all quay.io/ascend/vllm-ascend:v0.23.0 vllm serve m\n").is_ascend is None
    both = of(with_connector("MooncakeConnector").replace("serve m", "serve m --quantization ascend"))
    assert both.is_ascend is None
    assert {sign.rank for sign in both.signs} == {ASKED}


def test_each_engine_has_its_own_family() -> None:
    """Services of one file may run on different hardware."""
    text = (
        "services:\n  prefill:\n    image: vllm/vllm-openai:v0.31.0\n    command: [--model, m]\n"
        "  decode:\n    image: quay.io/ascend/vllm-ascend:v0.23.0-a3\n    command: [vllm, serve, m]\n"
    )
    (deployment,) = read_texts({"compose.yaml": text})
    assert [signs(node, deployment.sources).families for node in deployment.nodes] == [(False,), (True,)]


def test_connectors_are_signs_by_the_tables() -> None:
    """Those that one family alone registers; no others, and no name alike."""
    for name in ASCEND_CONNECTORS.keys() - VLLM_CONNECTORS.keys():
        assert of(with_connector(name)).families == (True,), name
    for name in ("NixlConnector", "OffloadingConnector", "LMCacheConnectorV1", "AscendLikeConnector", "MySfa"):
        assert of(with_connector(name)).is_ascend is None, name


def test_signs_know_their_places() -> None:
    """So that a report can show them."""
    (sign,) = of(f"nvidia-smi\n{SERVE}").signs
    assert sign.origin is not None and (sign.origin.line, sign.text) == (1, "nvidia-smi")
    (sign,) = of(f"export CUDA_HOME=/usr/local/cuda\n{SERVE}").signs
    assert sign.origin is not None and (sign.origin.line, sign.origin.column) == (1, 8)
