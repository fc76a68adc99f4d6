"""Whatever stands where a rule looks, there is a report and no traceback."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.read import read_texts
from tests.sampling import sample

pytestmark = pytest.mark.slow
ODD: list[Any] = [None, True, -1, 1.5, 10**30, "", "16GiB", [], {}, [1], {"enabled": 1}]
KV = {
    "kv_connector": "MultiConnector",
    "kv_role": "kv_consumer",
    "kv_load_failure_policy": "fail",
    "engine_id": "0",
    "kv_connector_extra_config": {
        "connectors": [
            {
                "kv_connector": "MooncakeConnectorV1",
                "kv_role": "kv_consumer",
                "kv_port": "36000",
                "kv_connector_extra_config": {"prefill": {"dp_size": 1, "tp_size": 8}, "decode": {"dp_size": 1}},
            },
            {
                "kv_connector": "AscendStoreConnector",
                "kv_role": "kv_both",
                "kv_connector_extra_config": {"backend": "x"},
            },
            {
                "kv_connector": "RecomputeCPUOffloadConnector",
                "kv_role": "kv_consumer",
                "kv_connector_module_path": "pd_launch.connector",
                "kv_connector_extra_config": {
                    "cpu_bytes_to_use_per_rank": 17179869184,
                    "cpu_bytes_to_use": 1,
                    "offload_host_memory_ratio": 1.0,
                    "enable_offload_prefix_caching": False,
                },
            },
        ]
    },
}
ADDITIONAL = {
    "recompute_scheduler_enable": True,
    "scheduler_config": {
        "recompute_scheduler_enable": True,
        "enable_balance_scheduling": True,
        "short_request_first_config": {"enabled": True},
        "profiling_chunk_config": {"enabled": True},
        "batch_job_sched_config": {"enabled": True},
        "dyntra_lb_config": {"enabled": True},
    },
    "SLO_limits_for_dynamic_batch": 5,
    "finegrained_tp_config": {"oproj_tensor_parallel_size": 8, "lmhead_tensor_parallel_size": 2},
    "layer_sharding": ["o_proj"],
    "enable_kv_nz": True,
    "enable_reduce_sample": True,
    "sparse_kv_offload_config": {"enabled": True, "keep_device_kv_cache": False},
    "mix_placement": True,
    "mc2_comm_alg": "hierarchy",
    "enable_fused_mc2": 1,
    "dump_config": {},
    "xlite_graph_config": {"enabled": True},
    "ascend_compilation_config": {"enable_static_kernel": True, "enable_npugraph_ex": False},
    "enable_flashcomm1": True,
}
OTHER = {"method": "mtp", "num_speculative_tokens": 1, "cudagraph_mode": "FULL"}
ARGUMENTS = {
    "kv-transfer-config": KV,
    "additional-config": ADDITIONAL,
    "speculative-config": OTHER,
    "compilation-config": OTHER,
}
TARGETS = ("0.22.1rc1", "0.26.0rc1", "0.28.0rc1")


def _places(tree: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield path
    entries = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in entries:
        yield from _places(value, (*path, key))


def _with(tree: Any, path: tuple[str | int, ...], value: Any) -> Any:
    if not path:
        return value
    changed = copy.deepcopy(tree)
    node = changed
    for step in path[:-1]:
        node = node[step]
    node[path[-1]] = value
    return changed


def _script(arguments: dict[str, Any]) -> str:
    words = " ".join(f"--{name} '{json.dumps(value)}'" for name, value in arguments.items())
    return f"vllm serve Qwen/Qwen3.5-397B-A17B -tp 8 -pp 2 --data-parallel-size 4 {words}\n"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ARGUMENTS)
def test_odd_values_are_reported_not_raised(name: str, target: str) -> None:
    pairs = [(path, value) for path in _places(ARGUMENTS[name]) for value in ODD]
    for path, value in sample(pairs, 0.25, f"{name} {target}"):
        script = _script({**ARGUMENTS, name: _with(ARGUMENTS[name], path, value)})
        deployments = read_texts({"decode.sh": script}, target=target)
        assert [node.named(name) for node in deployments[0].nodes], script
        check(deployments)
