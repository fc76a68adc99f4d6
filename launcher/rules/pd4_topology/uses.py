"""What ports are for and how they are changed, in words."""

from __future__ import annotations

from typing import NamedTuple

from pd_launch.schemas.core.msg import Msg


class Use(NamedTuple):
    """A use of ports, what changes them on a command line, and their key in a profile, where there is one."""

    what: Msg
    option: Msg
    key: str = ""


def _same(text: str) -> Msg:
    return Msg(text, text)


USES = {
    "http": Use(_same("HTTP"), _same("--port"), "port:"),
    "kv": Use(Msg("KV transfer", "KV 传输"), _same("kv_port"), "kv_port:"),
    "dp_rpc": Use(
        _same("DP master"),
        Msg("--data-parallel-rpc-port, on all nodes of the group,", "--data-parallel-rpc-port（组内各节点相同）"),
        "rpc_port:",
    ),
    "side_channel": Use(_same("NIXL side channel"), _same("VLLM_NIXL_SIDE_CHANNEL_PORT")),
    "dp_supervisor": Use(_same("DP supervisor"), _same("--data-parallel-supervisor-port")),
    "master": Use(
        Msg("meeting point of the engine's machines", "引擎各机器的汇合点"),
        Msg("--master-port, on all machines of the engine,", "--master-port（引擎的各台机器相同）"),
    ),
    "kv_events": Use(
        Msg("KV cache events", "KV 缓存事件"),
        Msg("endpoint in --kv-events-config, with port", "--kv-events-config 里的 endpoint，端口"),
    ),
    "kv_events_replay": Use(
        Msg("replay of KV cache events", "KV 缓存事件重放"),
        Msg("replay_endpoint in --kv-events-config, with port", "--kv-events-config 里的 replay_endpoint，端口"),
    ),
    "mooncake_bootstrap": Use(
        Msg("Mooncake's bootstrap server", "Mooncake 的 bootstrap 服务"), _same("VLLM_MOONCAKE_BOOTSTRAP_PORT")
    ),
    "moriio_handshake": Use(Msg("MoRIIO handshake", "MoRIIO 握手"), _same("handshake_port")),
    "moriio_notify": Use(Msg("MoRIIO notices", "MoRIIO 通知"), _same("notify_port")),
    "p2p_tier": Use(
        Msg("tier that fetches from peers", "从其他节点取 KV 的缓存层"),
        Msg("port of the tier, or VLLM_P2P_SIDE_CHANNEL_PORT,", "该缓存层的 port，或 VLLM_P2P_SIDE_CHANNEL_PORT"),
    ),
}


def shown(ports: range) -> Msg:
    """Return a range of ports for people."""
    if len(ports) == 1:
        return Msg(f"port {ports.start}", f"端口 {ports.start}")
    return Msg(f"ports {ports.start}-{ports.stop - 1}", f"端口 {ports.start}-{ports.stop - 1}")
