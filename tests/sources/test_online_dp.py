"""launch_online_dp.py: its options become the positional parameters of the template, once for each local rank."""

from __future__ import annotations

from reading import at, deployment, flag, value, variables

TEMPLATE = """\
#!/bin/bash
export ASCEND_RT_VISIBLE_DEVICES=$1
vllm serve /models/m \\
  --port $2 \\
  --data-parallel-size $3 \\
  --data-parallel-rank $4 \\
  --data-parallel-address $5 \\
  --data-parallel-rpc-port $6 \\
  --tensor-parallel-size $7 \\
  --kv-transfer-config '{"kv_role": "kv_consumer", "kv_port": 30200}'
"""
START = (
    "python launch_online_dp.py --dp-size 8 --tp-size 2 --dp-size-local 2 --dp-rank-start 4 "
    "--dp-address 192.0.2.21 --dp-rpc-port 12321 --vllm-start-port 7200\n"
)


def test_options_become_parameters_of_each_rank() -> None:
    found = deployment({"start.sh": START, "run_dp_template.sh": TEMPLATE})
    first, second = found.nodes
    assert [value(n, "data-parallel-rank") for n in found.nodes] == ["4", "5"]
    assert [value(n, "port") for n in found.nodes] == ["7200", "7201"]
    assert [variables(n) for n in found.nodes] == [
        {"ASCEND_RT_VISIBLE_DEVICES": "0,1"},
        {"ASCEND_RT_VISIBLE_DEVICES": "2,3"},
    ]
    assert value(first, "data-parallel-size") == "8" and value(second, "tensor-parallel-size") == "2"
    assert value(first, "data-parallel-address") == "192.0.2.21"
    assert value(first, "data-parallel-rpc-port") == "12321"
    assert first.host == second.host and first.host is not None


def test_fixed_texts_have_their_places_in_the_template() -> None:
    found = deployment({"start.sh": START, "run_dp_template.sh": TEMPLATE})
    tree = found.nodes[0].kv_transfer
    assert tree is not None and tree.value["kv_port"].origin.file == "run_dp_template.sh"
    assert at(found, tree.value["kv_port"].origin) == (10, "30200")
    assert flag(found.nodes[0], "tensor-parallel-size").origin.line == 9


def test_options_with_equals_signs_and_underscores() -> None:
    start = "python3 examples/launch_online_dp.py --dp_size=4 --tp-size=1 --dp-size-local=1 --vllm-start-port=9000\n"
    found = deployment({"start.sh": start, "run_dp_template.sh": TEMPLATE})
    assert [(value(n, "data-parallel-size"), value(n, "port")) for n in found.nodes] == [("4", "9000")]


def test_unknown_options_leave_parameters_unknown() -> None:
    start = (
        "python launch_online_dp.py --dp-size $N --tp-size 2 --dp-size-local $L "
        "--dp-rank-start $R --vllm-start-port 7200\n"
    )
    found = deployment({"start.sh": start, "run_dp_template.sh": TEMPLATE})
    (node,) = found.nodes
    for name in ("data-parallel-size", "data-parallel-rank", "port"):
        assert not flag(node, name).known, name
    assert value(node, "tensor-parallel-size") == "2"


def test_all_ranks_are_local_where_nothing_else_is_said() -> None:
    start = "python launch_online_dp.py --dp-size 3 --tp-size 1 --vllm-start-port 1\n"
    found = deployment({"start.sh": start, "run_dp_template.sh": TEMPLATE})
    assert [value(n, "data-parallel-rank") for n in found.nodes] == ["0", "1", "2"]


def test_the_template_alone_has_unknown_parameters() -> None:
    found = deployment({"run_dp_template.sh": TEMPLATE})
    (node,) = found.nodes
    assert not flag(node, "data-parallel-rank").known and not flag(node, "port").known


def test_the_launcher_alone_is_no_engine_and_no_crash() -> None:
    found = deployment({"start.sh": START})
    assert not found.nodes and [f.kind for f in found.faults] == ["unreadable"]


def test_two_starts_of_one_template() -> None:
    found = deployment(
        {"p.sh": START, "d.sh": START.replace("--dp-rank-start 4", "--dp-rank-start 6"), "run_dp_template.sh": TEMPLATE}
    )
    assert [value(n, "data-parallel-rank") for n in found.nodes] == ["4", "5", "6", "7"]
    assert len({n.host for n in found.nodes}) == 2


def test_templates_have_the_names_of_their_nodes() -> None:
    other = START.replace("--dp-rank-start 4", "--dp-rank-start 6")
    found = deployment(
        {
            "start_prefill_node0.sh": START,
            "start_prefill_node1.sh": other,
            "prefill_node0.sh": TEMPLATE,
            "prefill_node1.sh": TEMPLATE,
            "prefill_node10.sh": TEMPLATE,
        }
    )
    started = [(n.origin.file, value(n, "data-parallel-rank")) for n in found.nodes if flag(n, "port").known]
    assert started == [(f"prefill_node{i}.sh", str(4 + 2 * i + k)) for i in (0, 1) for k in (0, 1)]
    assert [n.origin.file for n in found.nodes if not flag(n, "port").known] == ["prefill_node10.sh"]


def test_the_only_template_of_a_side_or_of_all() -> None:
    plain = "vllm serve m --port 1\n"
    found = deployment({"start_p.sh": START, "a.sh": TEMPLATE, "b.sh": plain})
    assert [n.origin.file for n in found.nodes] == ["b.sh", "a.sh", "a.sh"]
    sides = {"launch_decode.sh": START, "decode_tp.sh": TEMPLATE, "prefill_tp.sh": TEMPLATE}
    known = [n.origin.file for n in deployment(sides).nodes if flag(n, "port").known]
    assert known == ["decode_tp.sh", "decode_tp.sh"]


def test_which_of_several_templates_is_not_guessed() -> None:
    found = deployment({"start.sh": START, "one.sh": TEMPLATE, "two.sh": TEMPLATE})
    assert [flag(n, "port").known for n in found.nodes] == [False, False]


def test_calls_of_one_file_that_no_machine_can_run_together_are_for_several() -> None:
    both = START + START.replace("--dp-rank-start 4", "--dp-rank-start 6")
    hosts = [n.host for n in deployment({"start.sh": both, "run_dp_template.sh": TEMPLATE}).nodes]
    assert len(set(hosts)) == 2 and None not in hosts and hosts[0] == hosts[1]


def test_an_address_that_is_a_placeholder_is_no_machine() -> None:
    script = "export HCCL_IF_IP=xxxx\nvllm serve m --port 8000\n"
    assert len({n.host for n in deployment({"a.sh": script, "b.sh": script}).nodes}) == 2
