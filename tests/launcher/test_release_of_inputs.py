"""What whole files say of their release, and what follows from it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from pd_launch.launcher.check.run import check
from pd_launch.launcher.cli import cli
from pd_launch.launcher.sources.read import read_texts

HOST_STAGING = (
    "vllm serve Qwen/Qwen3-32B --tensor-parallel-size 4 --kv-transfer-config "
    '\'{"kv_connector":"NixlConnector","kv_role":"kv_both","kv_buffer_device":"cpu"}\'\n'
)


@pytest.mark.parametrize(
    "before",
    [
        "#!/bin/bash\nexport CUDA_HOME=/usr/local/cuda\n",
        "#!/bin/bash\nexport NCCL_SOCKET_IFNAME=eth0\n",
        "#!/bin/bash\n#SBATCH --gpus-per-node=8\nmodule load cuda\n",
        "#!/bin/bash\npip install vllm==0.32.0\n",
        "uv run --with vllm==0.32.0 ",
        "FROM vllm/vllm-openai:v0.32.0\nCMD ",
        "#!/bin/bash\n# pd-launch: target vllm==0.32.0\n",
        "#!/bin/bash\n",
    ],
)
def test_a_fix_for_ascend_is_not_made_in_a_script_for_gpus(before: str, tmp_path: Path) -> None:
    """``kv_buffer_device`` is read on CUDA: that it is not read on Ascend is no reason to remove it."""
    file = tmp_path / "serve.sh"
    file.write_text(before + HOST_STAGING)
    result = CliRunner().invoke(cli, ["check", "--fix", str(file)])
    assert result.exit_code == 0, result.output
    assert file.read_text() == before + HOST_STAGING


@pytest.mark.parametrize(
    "image",
    [
        "nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.7.0", "my.registry/team/vllm-serving:1.4.2", "aibrix/vllm:v0.4.1",
        "lmcache/vllm-openai:v0.3.2", "vllm/vllm-openai:latest", "vllm/vllm-openai:nightly-0123abc",
        "quay.io/ascend/vllm-ascend:main", "vllm/vllm-openai:${TAG}",
    ],
)  # fmt: skip
def test_versions_of_other_products_are_no_releases(image: str) -> None:
    """Neither is a row of the tables looked for them, nor is the nearest one said to be old."""
    (found,) = read_texts({"a.sh": f"docker run --shm-size 16g {image} vllm serve m\n"})
    (node,) = found.nodes
    assert node.choice is not None and node.choice.decided is None
    assert not [f for f in check([found]) if f.code == "PD902"]


PREEMPT = (
    "vllm serve m --tensor-parallel-size 8 --additional-config '{\"recompute_scheduler_enable\": true}' "
    '--kv-transfer-config \'{"kv_connector":"%s","kv_role":"kv_consumer",'
    '"kv_connector_extra_config":{"cpu_bytes_to_use":17179869184}}\'\n'
)


@pytest.mark.parametrize("release", ["0.28.0rc1", "0.29.0rc1", "0.30.0rc1", "0.30.0rc2"])
@pytest.mark.parametrize(
    ("name", "known"), [("PreemptOffloadConnector", True), ("RecomputeCPUOffloadConnector", False)]
)
@pytest.mark.parametrize(
    "line",
    [
        "# pd-launch: target vllm-ascend=={}\n", "docker run quay.io/ascend/vllm-ascend:v{}-a3 ",
        "pip install vllm-ascend=={}\n",
    ],
)  # fmt: skip
def test_candidates_have_their_own_facts(release: str, name: str, known: bool, line: str) -> None:
    """However a file names them, the newest releases of vllm-ascend are rows of their own."""
    (found,) = read_texts({"a.sh": line.format(release) + PREEMPT % name})
    assert (str(found.target), found.target.asked) == (f"vllm-ascend {release}", None)
    codes = [f.code for f in check([found])]
    assert ("PD201" not in codes) is known
    assert "PD902" not in codes
