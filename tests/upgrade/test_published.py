"""What maintainers changed for another release is what an upgrade says: public commits, cut down to the change."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from pd_launch.launcher.sources.read import Inputs
from pd_launch.launcher.upgrade.step import Step
from pd_launch.launcher.upgrade.work import upgrade
from pd_launch.schemas.core.target import parse_target
from pd_launch.schemas.core.values import SourceFile

GITHUB = "https://github.com"


@dataclass(frozen=True)
class Published:
    """One change: where it is, what stood there, and what stands there since."""

    source: str
    a: str
    b: str
    before: str
    after: str
    name: str = "serve.sh"
    unsafe: bool = False


POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: llm}}
spec:
  containers:
  - name: main
    image: vllm/vllm-openai
    command: [vllm, serve, /mnt/models]
    args:
    - --served-model-name
    - m
{flag}    - --port
    - "8000"
"""
CASES = [
    Published(
        f"{GITHUB}/kserve/kserve/pull/4883", "vllm==0.23.0", "vllm==0.24.0",
        POD.format(flag="    - --disable-log-requests\n"), POD.format(flag=""), "template.yaml",
    ),
    Published(
        f"{GITHUB}/vllm-project/production-stack/pull/885", "vllm==0.23.0", "vllm==0.24.0",
        "vllm serve m \\\n    --port 8200 \\\n    --disable-log-requests \\\n    --enforce-eager\n",
        "vllm serve m \\\n    --port 8200 \\\n    --enforce-eager\n",
    ),
    Published(
        f"{GITHUB}/SemiAnalysisAI/InferenceX/pull/1371", "vllm==0.20.0", "vllm==0.21.0",
        "vllm serve $MODEL --port $PORT \\\n  --max-num-seqs 512 \\\n  --disable-log-requests\n",
        "vllm serve $MODEL --port $PORT \\\n  --max-num-seqs 512\n",
    ),
    Published(
        f"{GITHUB}/SemiAnalysisAI/InferenceX/commit/d8abe4544", "vllm==0.26.0", "vllm==0.27.0",
        "vllm serve m \\\n    --max-num-partial-prefills 8 \\\n    --max-long-partial-prefills 4 \\\n    --port 1\n",
        "vllm serve m \\\n    --port 1\n", unsafe=True,
    ),
    Published(
        f"{GITHUB}/vllm-project/recipes/commit/bd2c0f4", "vllm==0.23.0", "vllm==0.24.0",
        "export VLLM_USE_FLASHINFER_MOE_FP4=1\nvllm serve m --kv-cache-dtype fp8\n",
        "vllm serve m --kv-cache-dtype fp8\n",
    ),
    Published(
        f"{GITHUB}/vllm-project/recipes/commit/adbc00b", "vllm==0.23.0", "vllm==0.24.0",
        """vllm serve m --compilation-config '{"mode":3,"pass_config":{"fuse_minimax_qk_norm":true}}' --port 1\n""",
        """vllm serve m --compilation-config '{"mode":3,"pass_config":{}}' --port 1\n""",
    ),
    Published(
        f"{GITHUB}/vllm-project/recipes/commit/9668a64", "vllm==0.27.1", "vllm==0.28.0",
        "export AITER_SITUV2_A8W4=1\nexport AITER_BF16_FP8_MOE_BOUND=0\nvllm serve m\n",
        "export AITER_BF16_FP8_MOE_BOUND=0\nvllm serve m\n",
    ),
    Published(
        f"{GITHUB}/vllm-project/recipes/pull/123", "vllm==0.18.0", "vllm==0.19.0",
        "vllm serve m --cuda-graph-sizes 2048\n", "vllm serve m --max-cudagraph-capture-size 2048\n",
    ),
    Published(
        f"{GITHUB}/runpod-workers/worker-vllm/pull/332", "vllm==0.27.1", "vllm==0.28.0",
        "vllm serve m --override-attention-dtype float16 --calculate-kv-scales --port 1\n",
        "vllm serve m --port 1\n", unsafe=True,
    ),
    Published(
        f"{GITHUB}/vllm-project/vllm-ascend/blob/v0.27.1rc1/docs/source/tutorials/models/GLM5.2.md",
        "vllm-ascend==0.26.0rc1", "vllm-ascend==0.27.1rc1",
        """export VLLM_ASCEND_ENABLE_FUSED_MC2=0
vllm serve m --additional-config '{"enable_dsa_cp": true,"enable_balance_scheduling": true}'
""",
        """vllm serve m --additional-config '{"enable_dsa_cp": true,"enable_balance_scheduling": true, \
"enable_fused_mc2": 0}'
""",
    ),
    Published(
        f"{GITHUB}/vllm-project/vllm-ascend/blob/v0.27.1rc1/docs/source/tutorials/models/DeepSeek-V3.2.md",
        "vllm-ascend==0.26.0rc1", "vllm-ascend==0.27.1rc1",
        "export VLLM_ASCEND_ENABLE_MLAPO=1\nexport VLLM_ASCEND_ENABLE_FLASHCOMM1=1\nvllm serve m --port 1\n",
        """vllm serve m --port 1 --additional-config '{"enable_mlapo": true}'\n""", unsafe=True,
    ),
    Published(
        f"{GITHUB}/vllm-project/vllm-ascend/pull/12177", "vllm-ascend==0.24.0rc1", "vllm-ascend==0.25.1rc1",
        """vllm serve m --kv-transfer-config '{"kv_connector":"RecomputeCPUOffloadConnector","kv_role":"kv_consumer"}' \
--additional-config '{"recompute_scheduler_enable":true}'
""",
        """vllm serve m --kv-transfer-config '{"kv_connector":"RecomputeCPUOffloadConnector","kv_role":"kv_consumer"}' \
--additional-config '{"scheduler_config":{"recompute_scheduler_enable": true}}'
""",
    ),
    Published(
        f"{GITHUB}/vllm-project/vllm-ascend/pull/16510", "vllm-ascend==0.27.1rc1", "vllm-ascend==0.28.0rc1",
        """vllm serve m --kv-transfer-config '{"kv_connector":"RecomputeCPUOffloadConnector","kv_role":"kv_consumer",\
"kv_connector_extra_config":{"cpu_bytes_to_use_per_rank":17179869184}}' \
--additional-config '{"scheduler_config":{"recompute_scheduler_enable":true}}'
""",
        """vllm serve m --kv-transfer-config '{"kv_connector":"PreemptOffloadConnector","kv_role":"kv_consumer",\
"kv_connector_extra_config":{"cpu_bytes_to_use_per_rank":17179869184}}' \
--additional-config '{"scheduler_config":{"recompute_scheduler_enable":true}}'
""",
    ),
    Published(
        f"{GITHUB}/vllm-project/vllm-ascend/commit/b93735f635", "vllm-ascend==0.26.0rc1", "vllm-ascend==0.27.1rc1",
        "export VLLM_ASCEND_BALANCE_SCHEDULING=1\nvllm serve m --additional-config '{\"enable_cpu_binding\": true}'\n",
        """vllm serve m --additional-config '{"enable_cpu_binding": true, \
"scheduler_config": {"enable_balance_scheduling": true}}'
""",
    ),
    Published(
        f"{GITHUB}/vllm-project/vllm-ascend/blob/v0.26.0rc1/docs/source/tutorials/models/Qwen3-235B-A22B.md",
        "vllm-ascend==0.23.0", "vllm-ascend==0.26.0rc1",
        """vllm serve m --additional-config '{"enable_flashcomm1": true, "enable_fused_mc2": 2}'\n""",
        """vllm serve m --additional-config '{"enable_flashcomm1": true, "enable_fused_mc2": 1}'\n""", unsafe=True,
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.source.removeprefix(GITHUB))
def test_what_maintainers_changed_is_what_is_written(case: Published) -> None:
    inputs = Inputs([SourceFile(case.name, case.before)])
    found = upgrade(inputs, Step(parse_target(case.a), parse_target(case.b)), case.unsafe)
    assert found.texts[case.name] == case.after
    assert all(entry.source for entry in found.entries if entry.subject not in ("image", "target", "package"))
