"""P/D proxies, and whether they go on with a request that the recompute scheduler hands back.

Such a request is finished with the stop_reason ``recomputed``; a proxy that knows the word sends it through prefill
again. Source: the example programs of vllm-ascend (examples/disaggregated_prefill_v1, examples/external_online_dp)
and of vLLM (examples/online_serving/disaggregated_serving, tests/v1/kv_connector/nixl_integration), searched for the
word.
"""

from __future__ import annotations

RETRIES = {
    "load_balance_proxy_server_example.py": True,
    "load_balance_proxy_layerwise_server_example.py": True,
    "toy_proxy_server.py": False,
    "dp_load_balance_proxy_server.py": False,
    "disagg_proxy_demo.py": False,
    "disagg_prefill_proxy_server.py": False,
    "disagg_proxy_p2p_nccl_xpyd.py": False,
    "moriio_toy_proxy_server.py": False,
}
"""Program → whether it retries. A program that is not listed is unknown."""
