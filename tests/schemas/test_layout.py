"""Sides, groups, devices, drafts, graphs and the HCCL buffer: pure arithmetic on launches."""

from __future__ import annotations

import json

import pytest

from pd_launch.launcher.sources.read import read_texts
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.engine.devices import at_least, direct_ports, ranks_here, visible
from pd_launch.schemas.engine.graphs import graphs_of
from pd_launch.schemas.engine.ports import bound_ports
from pd_launch.schemas.engine.proxies import side_lists
from pd_launch.schemas.engine.sides import (
    dp_groups,
    exclusive,
    group_key,
    is_loopback,
    is_unreachable,
    local_ranks,
    named_side,
    own_address,
    same_machine,
    side_of,
    spans_machines,
)
from pd_launch.schemas.engine.speculation import extra_slots, speculative_tokens, step_tokens
from pd_launch.schemas.memory.hccl import Experts, a2_bytes, a3_bytes, fused_bytes, to_mib
from pd_launch.schemas.memory.hccl_need import hccl_need

ADDRESS = "--data-parallel-address 192.0.2.11 --data-parallel-rpc-port 13389"


def deployment(text: str, name: str = "run.sh", **host: object) -> Deployment:
    return read_texts({name: text}, target="0.26.0rc1", host=dict(host) or None)[0]


def launch(flags: str, name: str = "run.sh", env: str = "") -> NodeLaunch:
    return deployment(f"{env} vllm serve /models/deepseek-v3.1-w8a8 {flags}\n", name).nodes[0]


def kv(role: str, connector: str = "MooncakeConnectorV1") -> str:
    return f"--kv-transfer-config '{json.dumps({'kv_connector': connector, 'kv_role': role})}'"


@pytest.mark.parametrize(
    ("flags", "name", "side"),
    [
        (kv("kv_producer"), "decode.sh", "prefill"),
        (kv("kv_consumer"), "run.sh", "decode"),
        (kv("kv_both"), "prefill.sh", "prefill"),
        (kv("kv_both"), "run.sh", None),
        ("", "decode-0.sh", "decode"),
        ("", "prefill-decode.sh", None),
    ],
)
def test_side(flags: str, name: str, side: str | None) -> None:
    assert side_of(launch(flags, name)) == side


def test_named_side_is_what_the_file_says_not_the_role() -> None:
    assert named_side(launch(kv("kv_producer"), "decode.sh")) == "decode"


@pytest.mark.parametrize(
    ("address", "loopback", "unreachable"),
    [
        ("127.0.0.1", True, True),
        ("localhost", True, True),
        ("::1", True, True),
        ("0.0.0.0", False, True),
        ("192.0.2.1", False, False),
        ("127.example.org", False, False),
    ],
)
def test_addresses(address: str, loopback: bool, unreachable: bool) -> None:
    assert (is_loopback(address), is_unreachable(address)) == (loopback, unreachable)


@pytest.mark.parametrize(
    ("flags", "ranks"),
    [
        ("--data-parallel-size 8 --data-parallel-size-local 4 --data-parallel-start-rank 4", range(4, 8)),
        ("--data-parallel-size 8 --data-parallel-rank 3", range(3, 4)),
        ("--data-parallel-size 2", range(2)),
        ("", range(1)),
        ("--data-parallel-size 8 --data-parallel-rank $R", None),
        ("$MORE", None),
    ],
)
def test_local_ranks(flags: str, ranks: range | None) -> None:
    assert local_ranks(launch(flags)) == ranks


def test_groups_by_side_address_and_port() -> None:
    text = (
        f"vllm serve m --data-parallel-size 2 --data-parallel-rank 0 {ADDRESS} &\n"
        f"vllm serve m --data-parallel-size 2 --data-parallel-rank 1 {ADDRESS} &\n"
        "vllm serve m --data-parallel-size 2 --data-parallel-rank 0 --data-parallel-address 192.0.2.12 &\n"
        "vllm serve m &\n"
    )
    assert [len(group) for group in dp_groups(deployment(text))] == [2, 1]


def test_a_loopback_address_is_another_one_on_each_machine() -> None:
    flags = "--data-parallel-size 2 --data-parallel-address localhost"
    one, other = launch(flags, env="HCCL_IF_IP=192.0.2.1"), launch(flags, env="HCCL_IF_IP=192.0.2.2")
    assert group_key(one) != group_key(other) is not None
    assert group_key(launch("--data-parallel-size 2 --data-parallel-address $A")) is None


@pytest.mark.parametrize(
    ("flags", "spans"),
    [
        (f"--data-parallel-size 4 --data-parallel-size-local 2 {ADDRESS}", True),
        (f"--data-parallel-size 4 --data-parallel-size-local 4 {ADDRESS}", False),
        (
            f"--headless --data-parallel-size 4 --data-parallel-size-local 2 --data-parallel-start-rank 2 {ADDRESS}",
            True,
        ),
        (f"--data-parallel-size 4 --data-parallel-rank 0 {ADDRESS}", False),
        ("--data-parallel-size $N --data-parallel-size-local 2", False),
    ],
)
def test_spans_machines(flags: str, spans: bool) -> None:
    found = deployment(f"vllm serve m {flags}\n")
    assert spans_machines(found.nodes[0], found) is spans


def test_branches_of_one_condition_never_run_together() -> None:
    text = "if [ $1 = a ]; then\n vllm serve a &\nelse\n vllm serve b &\nfi\nvllm serve c &\n"
    found = deployment(text)
    first, second, third = found.nodes
    assert exclusive(first, second) and not exclusive(first, third)
    assert [(a, b) for a, b in same_machine(found)] == [(first, third), (second, third)]


def test_a_script_that_waits_for_an_engine_never_runs_it_beside_the_next() -> None:
    assert not list(same_machine(deployment("vllm serve a\nvllm serve b\n")))
    assert not list(same_machine(deployment("for i in 1 2; do vllm serve m; done\n")))
    for start in (
        "vllm serve a &",
        "{ vllm serve a; } &",
        "(cd /x && vllm serve a > log 2>&1) &",
        "run() { vllm serve a; }\nrun &",
    ):
        assert len(list(same_machine(deployment(f"{start}\nvllm serve b\n")))) == 1, start


def test_what_a_command_runs_inside_starts_when_the_command_does() -> None:
    quoted = deployment('bash -c "vllm serve a" &\nbash -c "vllm serve b"\nbash -c "vllm serve c" &\n')
    assert [(a.model and a.model.value, b.model and b.model.value) for a, b in same_machine(quoted)] == [
        ("a", "b"),
        ("a", "c"),
    ]
    first, second = deployment('eval "vllm serve a &"\npkill vllm\neval "vllm serve b &"\n').nodes
    assert exclusive(first, second)


def test_case_items_and_nested_conditions_are_branches() -> None:
    text = 'case "$1" in\n a) if [ -n "$2" ]; then vllm serve a; fi ;;\n b) vllm serve b ;;\nesac\n'
    first, second = deployment(text).nodes
    assert exclusive(first, second)


def test_what_was_stopped_does_not_run_with_what_follows() -> None:
    first, second, third = deployment("vllm serve a &\nwait\nvllm serve b &\nvllm serve c &\n").nodes
    assert exclusive(first, second) and not exclusive(second, third)


def test_scripts_over_ssh_run_on_their_own_machines() -> None:
    found = deployment('ssh 192.0.2.1 "vllm serve a" &\nssh 192.0.2.2 "vllm serve b" &\nssh $H "vllm serve c" &\n')
    assert len({node.host for node in found.nodes}) == 3
    assert not list(same_machine(found))


def test_own_address() -> None:
    assert own_address(launch("", env="HCCL_IF_IP=192.0.2.9")) == "192.0.2.9"
    assert own_address(launch("", env="HCCL_IF_IP=127.0.0.1 VLLM_HOST_IP=192.0.2.8")) == "192.0.2.8"
    assert own_address(launch("")) is None


@pytest.mark.parametrize(
    ("written", "devices"),
    [("0,1,2", [0, 1, 2]), ("0, 1,", [0, 1]), ("$1", None), ("all", None), ("", None)],
)
def test_visible_devices(written: str, devices: list[int] | None) -> None:
    found = deployment(f'ASCEND_RT_VISIBLE_DEVICES="{written}" vllm serve m\n')
    assert visible(found.nodes[0], found) == devices


@pytest.mark.parametrize(
    ("flags", "ranks"),
    [
        ("--tensor-parallel-size 4 --pipeline-parallel-size 2 --data-parallel-size 2", 16),
        ("--tensor-parallel-size 4 --data-parallel-size 4 --data-parallel-size-local 1", 4),
        ("--tensor-parallel-size 16 --distributed-executor-backend ray", None),
        ("--tensor-parallel-size 16 --nnodes 2", 8),
        ("--tensor-parallel-size $T", None),
    ],
)
def test_ranks_here(flags: str, ranks: int | None) -> None:
    assert ranks_here(launch(flags)) == ranks


@pytest.mark.parametrize(
    ("flags", "env", "host", "stop", "count"),
    [
        ("", "", {}, 28000, None),
        ("", "", {"npus": 16}, 36000, 16),
        ("", "", {"npus": 4}, 24000, 4),
        ("--tensor-parallel-size 8 --data-parallel-size 2", "", {}, 36000, 16),
        ("", "ASCEND_RT_VISIBLE_DEVICES=8,9", {}, 36000, 16),
    ],
)
def test_direct_ports(flags: str, env: str, host: dict[str, object], stop: int, count: int | None) -> None:
    found = deployment(f"{env} vllm serve m {flags}\n", **host)
    assert direct_ports(found.nodes[0], found) == (range(20000, stop), count)


def test_devices_of_a_container() -> None:
    text = (
        "docker run --device /dev/davinci11 --device /dev/davinci_manager vllm-ascend:v0.26.0rc1 vllm serve m\n"
        "docker run quay.io/ascend/vllm-ascend:v0.26.0rc1-a3 vllm serve m\n"
    )
    found = deployment(text)
    assert [at_least(node, found) for node in found.nodes] == [12, 16]


def test_only_the_side_that_listens_binds() -> None:
    producer, consumer = launch(kv("kv_producer")), launch(kv("kv_consumer"))
    assert [p.use for p in bound_ports(producer)] == ["http", "kv"]
    assert [p.use for p in bound_ports(consumer)] == ["http"]


@pytest.mark.parametrize(
    ("config", "drafts", "slots"),
    [
        ({"num_speculative_tokens": 3, "method": "deepseek_mtp"}, 3, 0),
        ({"num_speculative_tokens": 3, "method": "dflash"}, 3, 2),
        ({"num_speculative_tokens": 3, "method": "draft_model"}, 3, 1),
        ({"num_speculative_tokens": 3, "method": "draft_model", "parallel_drafting": True}, 3, 3),
        ({"method": "deepseek_mtp"}, None, None),
        ({"num_speculative_tokens": "x"}, None, None),
        (None, 0, None),
    ],
)
def test_speculation(config: dict[str, object] | None, drafts: int | None, slots: int | None) -> None:
    node = launch(f"--speculative-config '{json.dumps(config)}'" if config else "")
    assert (speculative_tokens(node), extra_slots(node)) == (drafts, slots)


def test_step_tokens() -> None:
    assert step_tokens(launch("--max-num-seqs 8 --speculative-config '{\"num_speculative_tokens\": 3}'")) == 32
    assert step_tokens(launch("")) is None


def test_graphs() -> None:
    config = {"cudagraph_capture_sizes": [8, 16], "max_cudagraph_capture_size": 16}
    graphs = graphs_of(launch(f"--compilation-config '{json.dumps(config)}' --max-cudagraph-capture-size 16"))
    assert graphs is not None and graphs.on
    assert (graphs.sizes, graphs.most, [name for name, _, _ in graphs.twice]) == (
        [8, 16],
        16,
        ["max_cudagraph_capture_size"],
    )
    assert graphs_of(launch("--cudagraph-capture-sizes 1 2 $N")) is None
    off = graphs_of(launch('--compilation-config \'{"cudagraph_mode": "NONE"}\''))
    assert off is not None and not off.on


def test_hccl_formulas() -> None:
    deepseek = Experts(experts=256, top_k=8, shared=1, hidden=7168, ranks=32)
    assert deepseek.local == 8
    assert a3_bytes(deepseek, 80) == 2 * (8 * 80 * 32 * 14848 + 9 * 80 * 14336)
    assert to_mib(a3_bytes(deepseek, 80)) == 600
    assert a2_bytes(deepseek, 64) == 2 * (64 * 32 * 8 * 2 * 7168 + 2 * 2**20)
    assert fused_bytes(deepseek, 8192) == 3 * 8192 * 8 * 7168 + 10 * 2**20
    assert a3_bytes(deepseek, 0) == 2 * 2**20


@pytest.mark.parametrize(
    ("flags", "env", "need"),
    [
        ("--data-parallel-size 32 --data-parallel-size-local 16 --max-num-seqs 80", "", (600, 80, False)),
        ("--data-parallel-size 16 --tensor-parallel-size 2 --max-num-seqs 80", "", (300, 40, False)),
        ("--data-parallel-size 32 --data-parallel-size-local 16 --max-num-seqs 600", "", None),
        (
            "--data-parallel-size 16 --max-num-seqs 8 --max-num-batched-tokens 99",
            "VLLM_ASCEND_ENABLE_FUSED_MC2=1",
            (12, 8, True),
        ),
        ("--data-parallel-size 16 --max-num-seqs 8", "VLLM_ASCEND_ENABLE_FUSED_MC2=$F", None),
        ("--data-parallel-size 16", "", None),
        ("--data-parallel-size 1 --max-num-seqs 8", "", None),
    ],
)
def test_hccl_need(flags: str, env: str, need: tuple[int, int, bool] | None) -> None:
    role = kv("kv_consumer")
    found = deployment(f"{env} vllm serve /models/deepseek-v3 --enable-expert-parallel {role} {flags}\n", npus=16)
    result = hccl_need(found.nodes[0], found)
    assert (None if result is None else (result.mib, result.tokens, result.fused)) == need


@pytest.mark.parametrize(
    ("words", "hosts", "ports"),
    [
        ("--decoder-hosts a b --decoder-ports 1 2", ["a", "b"], [1, 2]),
        ("--decoder-hosts=a --decoder-ports=1", ["a"], [1]),
        ("--decoder-hosts a --decoder-ports $P", ["a"], None),
        ("--decoder-host a --decoder-port 1 --other x", ["a"], [1]),
    ],
)
def test_proxy_lists(words: str, hosts: list[str], ports: list[int] | None) -> None:
    proxy = deployment(f"python toy_proxy_server.py {words}\n").proxies[0]
    listed = side_lists(proxy)
    assert set(listed) == {"decode"}
    assert (listed["decode"].hosts, listed["decode"].ports) == (hosts, ports)
