"""What connectors require of their options, and the words that they take, with the releases in which that is so.

Which options there are at all is in the generated tables: launcher/builds/options.py reads them from the sources.
"""

from __future__ import annotations

from typing import NamedTuple

from pd_launch.schemas.releases.facts import Code, Fact, ascend, vllm

_V1 = "vllm/distributed/kv_transfer/kv_connector/v1"
_MORIIO = f"{_V1}/moriio/moriio_common.py"
_NIXL = f"{_V1}/nixl_connector.py {_V1}/nixl/*.py"
NIXL = frozenset({"NixlConnector", "NixlPullConnector", "NixlPushConnector"})


class Required(NamedTuple):
    """An option without which a connector stops at start; ``when`` another option has that value."""

    connector: str
    key: str
    fact: Fact
    meant: tuple[str, str]
    """What it is, in English and Chinese."""
    when: tuple[str, str] | None = None


class Above(NamedTuple):
    """An option that is converted to a number, which must be above another one."""

    connector: str
    key: str
    number: int
    fact: Fact


class Words(NamedTuple):
    """The words that an option takes; ``lower`` where the connector does not look at case."""

    connectors: frozenset[str]
    key: str
    words: tuple[str, ...]
    fact: Fact
    lower: bool = False
    unless: tuple[str, ...] = ()
    """Other options that bring words of their own."""


_HISPARSE, _KV_CONFIG = "HiSparseConnector", "vllm/config/kv_transfer.py"


def _moriio(key: str, until: str | None) -> Fact:
    return vllm(
        f"moriio-needs-{key}", None, until, f"MoRIIOConnector stops without {key}",
        Code(_MORIIO, rf'extra_config\["{key}"\]'),
    )  # fmt: skip


REQUIRED = (
    Required("MoRIIOConnector", "http_port", _moriio("http_port", None), ("the engine's --port", "引擎的 --port")),
    Required("MoRIIOConnector", "proxy_ip", _moriio("proxy_ip", "0.28.0"), ("the proxy's address", "代理的地址")),
    Required(
        "MoRIIOConnector", "proxy_ping_port", _moriio("proxy_ping_port", "0.28.0"),
        ("the port on which engines register with the proxy", "代理接收引擎登记的端口"),
    ),
    Required(
        "SimpleCPUOffloadConnector", "disk_path",
        vllm(
            "simple-offload-needs-disk-path", "0.28.0", None, "kv_offload_backend disk needs disk_path",
            Code(f"{_V1}/simple_cpu_offload_connector.py", r"requires disk_path to be set"),
        ),
        ("a folder on the disk", "磁盘上的目录"), ("kv_offload_backend", "disk"),
    ),
    Required(
        _HISPARSE, "host_pool_gib",
        vllm(
            "hisparse-needs-host-pool", "0.30.0", None, "HiSparseConnector stops without host_pool_gib",
            Code(_KV_CONFIG, r"HiSparseConnector requires host_pool_gib"),
        ),
        ("the host memory for KV in GiB, of the whole engine", "整个引擎用于 KV 的主机内存，单位 GiB"),
    ),
)  # fmt: skip
"""OffloadingConnector's budget and P2pNcclConnector's proxy have checks of their own."""

ABOVE = (
    Above(
        _HISPARSE, "host_pool_gib", 0,
        vllm(
            "hisparse-host-pool-positive", "0.30.0", None, "HiSparseConnector's host_pool_gib is above 0",
            Code(_KV_CONFIG, r"host_pool_gib must be positive"),
        ),
    ),
)  # fmt: skip

ONCE = {
    _HISPARSE: vllm(
        "hisparse-once", "0.30.0", None, "a MultiConnector with two HiSparseConnectors is refused",
        Code(_KV_CONFIG, r"Only one HiSparseConnector may be configured"),
    ),
}  # fmt: skip
"""Connectors of which a MultiConnector takes one child at most."""

WORDS = (
    Words(
        frozenset({"MoRIIOConnector"}), "backend", ("rdma", "xgmi"),
        vllm(
            "moriio-backends", "0.22.0", None, "MoRIIOConnector's backend is rdma or xgmi",
            Code(_MORIIO, r'not in \("rdma", "xgmi"\)'),
        ),
        lower=True,
    ),
    Words(
        frozenset({"SimpleCPUOffloadConnector"}), "kv_offload_backend", ("cpu", "disk"),
        vllm(
            "simple-offload-backends", "0.28.0", None, "SimpleCPUOffloadConnector's backend is cpu or disk",
            Code(f"{_V1}/simple_cpu_offload_connector.py", r"kv_offload_backend not in VALID_KV_OFFLOAD_BACKENDS"),
        ),
    ),
    Words(
        frozenset({"OffloadingConnector"}), "eviction_policy", ("lru", "arc"),
        vllm(
            "offloading-policies", None, None, "OffloadingConnector's policies are lru and arc",
            Code("vllm/v1/kv_offload/cpu/*.py vllm/v1/kv_offload/cpu/*/*.py vllm/v1/kv_offload/*.py",
                 r'[\'"]arc[\'"]'),
        ),
        unless=("cache_policy_module_path", "spec_module_path"),
    ),
    Words(
        frozenset({"MooncakeD2RHConnectorV1"}), "d2rh_host_cache_hash_source", ("prefill", "decode"),
        ascend(
            "d2rh-hash-source", "0.29.0rc1", None, "MooncakeD2RHConnectorV1 hashes on prefill or on decode",
            Code("vllm_ascend/distributed/kv_transfer/kv_p2p/mooncake_d2rh_connector.py",
                 r'host_cache_hash_source not in \("prefill", "decode"\)'),
        ),
    ),
)  # fmt: skip

BUFFER_DEVICES = ("cuda", "cpu", "xpu")
"""Where NIXL may keep its transfer buffer: on cuda it is cuda or cpu, on xpu it is xpu or cpu, elsewhere cpu."""
BUFFER_REFUSED = vllm(
    "nixl-buffer-device", None, None, "NixlConnector stops at a kv_buffer_device that its device does not have",
    Code(_NIXL, r"kv_buffer_device not in _NIXL_SUPPORTED_DEVICE"),
)  # fmt: skip


class ContextLimit(NamedTuple):
    """Flags of context parallelism that must be 1 with a connector of vLLM, in some roles or (empty) in all."""

    connectors: frozenset[str]
    flags: tuple[str, ...]
    fact: Fact
    roles: tuple[str, ...] = ()


_DCP, _PCP = "decode-context-parallel-size", "prefill-context-parallel-size"
CONTEXT_LIMITS = (
    ContextLimit(
        frozenset({"OffloadingConnector"}), (_DCP,),
        vllm(
            "offloading-lacks-context-parallelism", None, "0.21.0",
            "OffloadingConnector counts blocks without decode context parallelism, and stops at the first request",
            Code(f"vllm/v1/kv_offload/*.py vllm/v1/kv_offload/*/*.py {_V1}/offloading/*.py "
                 f"{_V1}/offloading_connector.py", r"decode_context_parallel_size", absent=True),
        ),
    ),
    ContextLimit(
        frozenset({"SimpleCPUOffloadConnector"}), (_DCP, _PCP),
        vllm(
            "simple-offload-lacks-context-parallelism", "0.19.0", "0.24.0",
            "SimpleCPUOffloadConnector asserts that there is no context parallelism",
            Code("vllm/v1/simple_kv_offload/manager.py", r"assert dcp_world_size == 1 and pcp_world_size == 1"),
        ),
    ),
    ContextLimit(
        frozenset({"NixlPushConnector"}), (_DCP,),
        vllm(
            "nixl-push-refuses-dcp", "0.29.0", None, "NixlPushConnector refuses decode context parallelism",
            Code(_NIXL, r"NixlPushConnector does not support decode_context_parallel_size"),
        ),
    ),
    ContextLimit(
        NIXL, (_PCP,),
        vllm(
            "nixl-pcp-on-prefill", "0.29.0", None, "NixlConnector refuses PCP unless it is a kv_producer",
            Code(_NIXL, r"PCP currently supports kv_producer only"),
        ),
        roles=("kv_consumer", "kv_both"),
    ),
)  # fmt: skip

DIM_FIRST = {
    **dict.fromkeys(
        NIXL,
        vllm(
            "nixl-wants-dim-first", "0.20.0", None,
            "NixlConnector stops with Mamba layers unless VLLM_SSM_CONV_STATE_LAYOUT is DS",
            Code(_NIXL, r"Set VLLM_SSM_CONV_STATE_LAYOUT=DS"),
        ),
    ),
    "MoRIIOConnector": vllm(
        "moriio-wants-dim-first", "0.31.0", None,
        "MoRIIOConnector stops with linear-attention layers unless VLLM_SSM_CONV_STATE_LAYOUT is DS",
        Code(f"{_V1}/moriio/moriio_connector.py", r"set VLLM_SSM_CONV_STATE_LAYOUT=DS"),
    ),
}  # fmt: skip
"""Connectors that want the convolution states of Mamba layers in another order than they usually have."""

NPU_REFUSED = ascend(
    "nixl-refuses-npus", None, None, "NixlConnector stops on NPUs: its list of devices does not have npu, and "
    "vllm-ascend's platform does not add it",
    Code("vllm_ascend/*.py vllm_ascend/*/*.py vllm_ascend/*/*/*.py", r"get_nixl_supported_devices|_NIXL_SUPPORTED",
         absent=True),
)  # fmt: skip
DEVICES_REFUSED = vllm(
    "nixl-device-list", None, None, "NixlConnector stops on a device that is not in its list",
    Code(_NIXL, r"device_type not in _NIXL_SUPPORTED_DEVICE"),
)  # fmt: skip

MORIIO_VARIABLES = {
    "VLLM_MORIIO_CONNECTOR_READ_MODE": "read_mode",
    "VLLM_MORIIO_QP_PER_TRANSFER": "qp_per_transfer",
    "VLLM_MORIIO_POST_BATCH_SIZE": "post_batch_size",
    "VLLM_MORIIO_NUM_WORKERS": "num_workers",
}
"""Variables whose place an option of MoRIIOConnector took."""
MORIIO_VARIABLES_IGNORED = vllm(
    "moriio-ignores-variables", "0.23.0", None, "MoRIIOConnector reads options instead of variables",
    Code(_MORIIO, r"_DEPRECATED_ENV_VARS"),
)  # fmt: skip
MORIIO_ROLES = vllm(
    "moriio-one-role", None, None,
    "MoRIIOConnector's scheduler takes kv_both for a consumer, its worker for a producer",
    Code(f"{_V1}/moriio/*.py", r'self\.is_producer = self\.kv_transfer_config\.kv_role == "kv_producer"'),
)  # fmt: skip
MOONCAKE_ROLES = ascend(
    "mooncake-v2-one-role", "0.28.0rc1", None, "MooncakeConnectorV2 refuses kv_both",
    Code("vllm_ascend/distributed/kv_transfer/kv_p2p/mooncake/base_scheduler.py",
         r"requires exactly one KV transfer role"),
)  # fmt: skip
ONE_ROLE: dict[str, Fact] = {
    "MoRIIOConnector": MORIIO_ROLES,
    "MooncakeConnectorV2": MOONCAKE_ROLES,
    "MooncakePullConnector": MOONCAKE_ROLES,
}
"""Connectors with which an engine is either producer or consumer, not both."""
