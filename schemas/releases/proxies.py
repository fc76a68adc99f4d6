"""P/D proxies, and whether they continue a request that the recompute scheduler hands back.

Such a request is finished with the stop_reason ``recomputed``; a proxy that knows the word sends it through prefill
again. Source: the example programs of vllm-ascend (examples/disaggregated_prefill_v1, examples/external_online_dp)
and of vLLM (examples/online_serving/disaggregated_serving, tests/v1/kv_connector/nixl_integration), searched for the
word.
"""

from __future__ import annotations

from pd_launch.schemas.releases.facts import Documented, ascend

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

_PLACE = {
    "load_balance_proxy_server_example.py": "vllm-ascend/tree/main/examples/disaggregated_prefill_v1",
    "load_balance_proxy_layerwise_server_example.py": "vllm-ascend/tree/main/examples/disaggregated_prefill_v1",
    "dp_load_balance_proxy_server.py": "vllm-ascend/tree/main/examples/external_online_dp",
}
PROXY_FACTS = {
    name: ascend(
        f"proxy-{name.removesuffix('.py')}", None, None,
        f"{name} {'continues' if retries else 'does not continue'} a request that is handed back",
        Documented(f"https://github.com/vllm-project/{_PLACE.get(name, 'vllm/tree/main/examples')}"),
    )
    for name, retries in RETRIES.items()
}  # fmt: skip
"""Program → where it is; wheels and source packages of vLLM do not have the examples."""
