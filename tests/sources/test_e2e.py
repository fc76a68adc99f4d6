"""Test descriptions of vllm-ascend: the three kinds, their placeholders, ranges of ranks, and sides."""

from __future__ import annotations

from reading import at, deployment, faults, flag, value, variables

from pd_launch.schemas.core.hardware import HARDWARE

DEPLOYMENT = """\
test_name: two nodes
model: "org/Model-W8A8"
num_nodes: 2
npu_per_node: 16
env_common: &env
  HCCL_BUFFSIZE: "1024"
  SERVER_PORT: 8080
disaggregated_prefill:
  enabled: true
  prefiller_host_index: [0]
  decoder_host_index: [1]
deployment:
  - server_cmd: >
      vllm serve org/Model-W8A8
      --port $SERVER_PORT
      --data-parallel-address ${NODE_0_IP}
      --kv-transfer-config
      '{"kv_role": "kv_producer", "kv_port": "30000"}'
    envs:
      <<: *env
      A: "1"
  - envs: *env
    server_cmd: >
      vllm serve org/Model-W8A8
      --port $SERVER_PORT
      --kv-transfer-config
      '{"kv_role": "kv_consumer", "kv_port": "30200"}'
"""


def test_common_variables_count_where_a_node_has_none_of_its_own() -> None:
    text = DEPLOYMENT.replace("  - envs: *env\n    server_cmd", "  - server_cmd")
    first, second = deployment({"t.yaml": text}).nodes
    assert variables(first)["A"] == "1"
    assert variables(second) == {"HCCL_BUFFSIZE": "1024", "SERVER_PORT": "8080"}


def test_server_commands_of_a_deployment() -> None:
    found = deployment({"pd.yaml": DEPLOYMENT})
    prefill, decode = found.nodes
    assert [(n.form, n.side, n.host) for n in found.nodes] == [
        ("e2e", "prefill", "node 0"),
        ("e2e", "decode", "node 1"),
    ]
    assert prefill.hardware == HARDWARE["a3"]
    assert value(prefill, "port") == "8080" and variables(prefill)["A"] == "1"
    assert variables(decode)["HCCL_BUFFSIZE"] == "1024"
    assert prefill.kv_transfer is not None and decode.kv_transfer is not None
    assert at(found, prefill.kv_transfer.value["kv_port"].origin) == (18, '"30000"')
    assert at(found, decode.kv_transfer.value["kv_port"].origin) == (27, '"30200"')


def test_a_nodes_address_is_unknown_to_rules_on_values() -> None:
    found = deployment({"pd.yaml": DEPLOYMENT})
    address = flag(found.nodes[0], "data-parallel-address")
    assert address.origin.line == 16


TEMPLATE = """\
test_name: external
npu_per_node: 16
config:
  - node_index: 0
    dp_size: 4
    dp_size_local: 4
    dp_rank_start: 0
    tp_size: 4
    dp_address: ${NODE_0_IP}
    dp_rpc_port: 12321
    port_start: 7100
  - node_index: 1
    dp_size: 16
    dp_size_local: 2
    dp_rank_start: 8
    tp_size: 1
    dp_address: ${NODE_1_IP}
    dp_rpc_port: 12322
    port_start: 7200
routing:
  groups:
    prefiller: [0]
    decoder: [1]
templates:
  - node_index: 0
    envs:
      ASCEND_RT_VISIBLE_DEVICES: ${VISIBLE_DEVICES}
    server_cmd_template: &cmd >
      vllm serve /m --port ${PORT}
      --data-parallel-size ${DP_SIZE} --data-parallel-rank ${DP_RANK}
      --data-parallel-address ${DP_ADDRESS} --data-parallel-rpc-port ${DP_RPC_PORT}
      --tensor-parallel-size ${TP_SIZE}
  - node_index: 1
    envs:
      ASCEND_RT_VISIBLE_DEVICES: ${VISIBLE_DEVICES}
    server_cmd_template: *cmd
"""


def test_a_template_is_started_once_for_each_rank() -> None:
    found = deployment({"external.yaml": TEMPLATE})
    ranks = [(n.side, value(n, "data-parallel-rank"), value(n, "port")) for n in found.nodes]
    assert ranks == [
        ("prefill", "0", "7100"),
        ("prefill", "1", "7101"),
        ("prefill", "2", "7102"),
        ("prefill", "3", "7103"),
        ("decode", "8", "7200"),
        ("decode", "9", "7201"),
    ]
    last_prefill, decode = found.nodes[3], found.nodes[5]
    assert variables(last_prefill) == {"ASCEND_RT_VISIBLE_DEVICES": "12,13,14,15"}
    assert variables(decode) == {"ASCEND_RT_VISIBLE_DEVICES": "1"}
    assert (value(decode, "data-parallel-size"), value(decode, "data-parallel-rpc-port")) == ("16", "12322")
    assert value(decode, "data-parallel-address") != value(last_prefill, "data-parallel-address")


def test_pipeline_stages_count_for_the_devices_of_a_rank() -> None:
    text = TEMPLATE.replace("tp_size: 4", "tp_size: 4\n    pp_size: 2", 1)
    text = text.replace("${TP_SIZE}", "${TP_SIZE} --pipeline-parallel-size ${PP_SIZE}")
    last = deployment({"external.yaml": text}).nodes[3]
    assert value(last, "pipeline-parallel-size") == "2"
    assert variables(last) == {"ASCEND_RT_VISIBLE_DEVICES": "24,25,26,27,28,29,30,31"}


def test_places_of_a_template_are_those_of_its_text() -> None:
    found = deployment({"external.yaml": TEMPLATE})
    assert found.nodes[0].arg("tensor-parallel-size") is not None
    assert at(found, found.nodes[0].args[-1].origin) == (32, "--tensor-parallel-size")
    assert at(found, flag(found.nodes[0], "port").origin)[0] == 29


def test_a_hidden_rank_number_leaves_the_ranks_unknown() -> None:
    found = deployment({"external.yaml": TEMPLATE.replace("dp_rank_start: 8\n", "dp_rank_start: ${X}\n")})
    assert not flag(found.nodes[-1], "data-parallel-rank").known


CASES = """\
test_cases:
  - name: "one"
    model: "org/Model"
    envs:
      SERVER_PORT: "DEFAULT_PORT"
    server_cmd:
      - "--tensor-parallel-size"
      - "4"
      - "--port"
      - "$SERVER_PORT"
      - "--additional-config"
      - '{"enable_flashcomm1": true}'
  - name: "two"
    model: "org/Other"
    server_cmd: ["--max-num-seqs", "8"]
"""


def test_cases_give_arguments_only() -> None:
    found = deployment({"cases.yaml": CASES})
    one, two = found.nodes
    assert one.model is not None and one.model.value == "org/Model"
    assert two.model is not None and two.model.value == "org/Other"
    assert value(one, "tensor-parallel-size") == "4" and not flag(one, "port").known
    assert at(found, flag(one, "tensor-parallel-size").origin)[0] == 8
    assert one.additional is not None and one.additional.value["enable_flashcomm1"].value is True
    assert at(found, one.additional.value["enable_flashcomm1"].origin) == (12, "true")
    assert value(two, "max-num-seqs") == "8"


def test_an_open_quote_is_a_fault() -> None:
    found = deployment({"pd.yaml": "deployment:\n  - server_cmd: vllm serve /m --served-model-name 'x\n"})
    assert faults(found) == ["shell"] and at(found, found.faults[0].origin) == (2, "'")


def test_other_yaml_is_no_description() -> None:
    found = deployment({"other.yaml": "deployment:\n  replicas: 2\n"})
    assert not found.nodes and faults(found) == ["unreadable"]
