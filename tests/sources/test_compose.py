"""Compose files: commands as lists and strings, variables with defaults, and what a service says of its container."""

from __future__ import annotations

import pytest
from reading import at, deployment, faults, flag, launch, value, variables

HEAD = "services:\n  decode:\n    image: quay.io/ascend/vllm-ascend:v0.25.1rc1\n"


def test_a_list_of_words_with_places() -> None:
    node, found = launch(
        HEAD + "    command:\n      - vllm\n      - serve\n      - /models/m\n      - --port\n      - '8100'\n"
        '      - --kv-transfer-config\n      - \'{"kv_role": "kv_consumer"}\'\n',
        "compose.yaml",
    )
    assert (node.form, node.label, node.side) == ("compose", "decode", "decode")
    assert at(found, flag(node, "port").origin) == (9, "8100")
    assert node.kv_transfer is not None
    assert at(found, node.kv_transfer.value["kv_role"].origin) == (11, '"kv_consumer"')


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("    command: vllm serve /models/m --port 8100\n", 4),
        ('    command: ["vllm", "serve", "/models/m", "--port", "8100"]\n', 4),
        ("    command: >\n      vllm serve /models/m\n      --port 8100\n", 6),
        ("    command: |\n      vllm serve /models/m \\\n      --port 8100\n", 6),
        ("    entrypoint: vllm\n    command: serve /models/m --port 8100\n", 5),
        ('    entrypoint: ["vllm", "serve"]\n    command: ["/models/m", "--port", "8100"]\n', 5),
        ("    command: bash -c 'export A=1; vllm serve /models/m --port 8100'\n", 4),
        (
            "    command:\n      - bash\n      - -c\n      - |\n"
            "        vllm serve /models/m \\\n          --port 8100\n",
            9,
        ),
    ],
)
def test_forms_of_a_command(command: str, line: int) -> None:
    node, found = launch(HEAD + command, "compose.yaml")
    assert node.model is not None and node.model.value == "/models/m"
    assert value(node, "port") == "8100" and at(found, flag(node, "port").origin) == (line, "8100")


@pytest.mark.parametrize(
    ("text", "port"),
    [("${PORT:-8100}", "8100"), ("${PORT-8100}", "8100"), ("${PORT}", None), ("$PORT", None), ("$$PORT", "$PORT")],
)
def test_variables_with_and_without_defaults(text: str, port: str | None) -> None:
    node, _ = launch(HEAD + f'    command: ["vllm", "serve", "/models/m", "--port", "{text}"]\n', "compose.yaml")
    got = flag(node, "port")
    assert got.value == port if port else not got.known
    assert got.origin.line == 4


def test_a_default_has_the_place_of_its_variable() -> None:
    node, found = launch(HEAD + "    command: vllm serve /models/m --port ${PORT:-8100}\n", "compose.yaml")
    line, text = at(found, flag(node, "port").origin)
    assert line == 4 and text.startswith("$")


def test_environment_as_a_mapping_and_as_a_list() -> None:
    command = "    command: vllm serve /models/m\n"
    node, found = launch(
        HEAD + '    environment:\n      A: "1"\n      B: 2\n      C: ${C:-3}\n      D:\n' + command, "a.yaml"
    )
    assert variables(node) == {"A": "1", "B": "2", "C": "3", "D": None}
    assert at(found, node.env["A"].value.origin) == (5, "1") or at(found, node.env["A"].value.origin) == (5, '"1"')
    assert node.env["A"].how == "compose"
    node, found = launch(HEAD + "    environment:\n      - A=1\n      - B\n      - C=${C:-3}\n" + command, "b.yaml")
    assert variables(node) == {"A": "1", "B": None, "C": "3"}
    assert at(found, node.env["A"].value.origin) == (5, "1")


def test_what_a_script_sets_wins_over_the_service() -> None:
    node, _ = launch(
        HEAD + "    environment: {A: outer, B: outer}\n    command: bash -c 'export A=inner; vllm serve /models/m'\n",
        "compose.yaml",
    )
    assert variables(node) == {"A": "inner", "B": "outer"}


def test_container_facts_with_places() -> None:
    node, found = launch(
        HEAD + "    shm_size: ${SHM:-16g}\n    mem_limit: 512g\n    privileged: true\n    runtime: ascend\n"
        "    network_mode: host\n    devices:\n      - /dev/davinci0:/dev/davinci0\n"
        "    volumes:\n      - /models:/models\n"
        "      - type: bind\n        source: /etc/hccn.conf\n        target: /etc/hccn.conf\n    ports: ['8000:8000']\n"
        "    command: vllm serve /models/m\n",
        "compose.yaml",
    )
    box = node.container
    assert box is not None
    assert box.shm_size is not None and box.shm_size.value == "16g" and box.shm_size.origin.line == 4
    assert box.memory is not None and at(found, box.memory.origin) == (5, "512g")
    assert (box.privileged, box.runtime, box.host_network) == (True, "ascend", True)
    assert [d.value for d in box.devices] == ["/dev/davinci0:/dev/davinci0"]
    assert [m.value for m in box.mounts] == ["/models:/models", "/etc/hccn.conf:/etc/hccn.conf"]
    assert [p.value for p in box.published] == ["8000:8000"]


@pytest.mark.parametrize(
    "line", ["ipc: host", 'volumes: ["/dev/shm:/dev/shm"]', 'tmpfs: ["/dev/shm"]', "tmpfs: /dev/shm"]
)
def test_shared_memory_from_elsewhere(line: str) -> None:
    node, _ = launch(HEAD + f"    {line}\n    command: vllm serve /models/m\n", "compose.yaml")
    assert node.container is not None and node.container.shm_shared is not None


def test_memory_of_the_deploy_section_and_gpus() -> None:
    node, _ = launch(
        "services:\n  a:\n    image: vllm/vllm-openai:v0.32.0\n    deploy:\n      resources:\n"
        "        limits: {memory: 64g}\n"
        "        reservations: {devices: [{driver: nvidia, count: 2, capabilities: [gpu]}]}\n"
        "    command: --model Qwen/Qwen3-8B\n",
        "compose.yaml",
    )
    assert node.container is not None and node.container.memory is not None
    assert node.container.memory.value == "64g" and node.container.resources["nvidia.com/gpu"].value == 2
    assert node.model is not None and node.model.value == "Qwen/Qwen3-8B"


def test_services_are_one_deployment_and_others_are_passed_over() -> None:
    found = deployment(
        {
            "compose.yaml": "services:\n  vllm-prefill:\n    image: a\n    command: vllm serve /m\n"
            "  vllm-decode:\n    image: a\n    command: vllm serve /m\n  redis:\n    image: redis\n"
        }
    )
    assert [(node.label, node.side) for node in found.nodes] == [("vllm-prefill", "prefill"), ("vllm-decode", "decode")]


def test_an_open_quote_is_a_fault_with_its_place() -> None:
    found = deployment({"compose.yaml": HEAD + "    command: vllm serve /models/m --served-model-name 'a\n"})
    assert faults(found) == ["shell"] and at(found, found.faults[0].origin) == (4, "'")
