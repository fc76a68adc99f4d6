"""``--config FILE``: flags from YAML, with their places in that file; the command line wins."""

from __future__ import annotations

from pathlib import Path

from reading import at, deployment, flag, value

CONFIG = """\
model: /models/from-config
port: 8100
tensor_parallel_size: 4
enforce-eager: true
enable-prefix-caching: false
kv-transfer-config:
  kv_role: kv_consumer
  kv_port: 36000
middleware: [a.B, c.D]
"""


def test_flags_of_the_file_with_their_places() -> None:
    found = deployment({"serve.sh": "vllm serve --config engine.yaml --port 9000\n", "engine.yaml": CONFIG})
    (node,) = found.nodes
    assert node.model is not None and node.model.value == "/models/from-config"
    assert value(node, "port") == "9000"
    assert value(node, "tensor-parallel-size") == "4" and node.tensor == 4
    assert node.switch("enforce-eager") is True and node.switch("enable-prefix-caching") is False
    assert at(found, flag(node, "tensor-parallel-size").origin) == (3, "4")
    assert node.role == "kv_consumer" and node.kv_transfer is not None
    assert at(found, node.kv_transfer.value["kv_port"].origin) == (8, "36000")
    arg = node.arg("middleware")
    assert arg is not None and [arg.value and arg.value.value, *(m.value for m in arg.more)] == ["a.B", "c.D"]


def test_the_model_of_the_command_line_wins() -> None:
    found = deployment({"serve.sh": "vllm serve /models/m --config=engine.yaml\n", "engine.yaml": CONFIG})
    assert found.nodes[0].model is not None and found.nodes[0].model.value == "/models/m"


def test_a_file_beside_the_script(tmp_path: Path) -> None:
    (tmp_path / "engine.yaml").write_text(CONFIG, encoding="utf-8")
    script = str(tmp_path / "serve.sh")
    found = deployment({script: "vllm serve --config engine.yaml\n"})
    assert value(found.nodes[0], "tensor-parallel-size") == "4"
    assert flag(found.nodes[0], "tensor-parallel-size").origin.file == str(tmp_path / "engine.yaml")


def test_a_file_that_is_not_there_or_no_yaml() -> None:
    found = deployment({"serve.sh": "vllm serve /m --config missing.yaml\n"})
    assert not found.faults and [a.name for a in found.nodes[0].args] == ["config"]
    found = deployment({"serve.sh": "vllm serve /m --config bad.yaml\n", "bad.yaml": "port: [1\n"})
    assert "yaml" in {fault.kind for fault in found.faults}


def test_json_of_an_argument_may_stand_as_a_text() -> None:
    files = {"serve.sh": "vllm serve m --config c.yaml\n", "c.yaml": 'kv-transfer-config: \'{"kv_role": "kv_both"}\'\n'}
    found = deployment(files)
    assert value(found.nodes[0], "kv-transfer-config") == {"kv_role": "kv_both"}
    files["c.yaml"] = "kv-transfer-config: '{\"kv_role\": }'\n"
    assert deployment(files).faults
