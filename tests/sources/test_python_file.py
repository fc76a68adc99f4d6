"""Python files: literals with their places; whatever only running the file could tell is unknown."""

from __future__ import annotations

import pytest
from reading import at, deployment, faults, flag, launch, value, variables

GIB16 = 17179869184


def test_a_kv_transfer_config_with_places() -> None:
    text = (
        "from vllm.config import KVTransferConfig\n\n"
        "config = KVTransferConfig(\n"
        '    kv_connector="RecomputeCPUOffloadConnector",\n'
        '    kv_role="kv_consumer",\n'
        "    kv_connector_extra_config={\n"
        '        "cpu_bytes_to_use_per_rank": 17179869184,\n'
        '        "enable_offload_prefix_caching": False,\n'
        "    },\n)\n"
    )
    node, found = launch(text, "serve.py")
    assert (node.form, node.program, node.role) == ("python", "python", "kv_consumer")
    tree = node.kv_transfer
    assert tree is not None
    assert at(found, tree.value["kv_role"].origin) == (5, '"kv_consumer"')
    assert at(found, tree.value["kv_role"].key) == (5, "kv_role")
    budget = tree.get("kv_connector_extra_config", "cpu_bytes_to_use_per_rank")
    assert budget is not None and budget.value == GIB16
    assert at(found, budget.origin) == (7, "17179869184")
    assert at(found, budget.key) == (7, '"cpu_bytes_to_use_per_rank"')
    caching = tree.get("kv_connector_extra_config", "enable_offload_prefix_caching")
    assert caching is not None and caching.value is False


@pytest.mark.parametrize("name", ["LLM", "EngineArgs", "AsyncEngineArgs", "vllm.LLM"])
def test_engines_take_their_keywords(name: str) -> None:
    text = (
        "import os, vllm\nos.environ['VLLM_USE_V1'] = '1'\n"
        f"engine = {name}(\n    model='Qwen/Qwen3-8B',\n    tensor_parallel_size=2,\n    enforce_eager=True,\n"
        "    enable_prefix_caching=False,\n    max_num_seqs=None,\n)\n"
    )
    node, found = launch(text, "serve.py")
    assert node.model is not None and at(found, node.model.origin) == (4, "'Qwen/Qwen3-8B'")
    assert node.tensor == 2 and at(found, flag(node, "tensor-parallel-size").origin) == (5, "2")
    assert node.switch("enforce-eager") is True and node.switch("enable-prefix-caching") is False
    assert node.arg("max-num-seqs") is None
    assert variables(node) == {"VLLM_USE_V1": "1"}


def test_a_model_given_by_position() -> None:
    node, _ = launch("llm = LLM('Qwen/Qwen3-8B', tensor_parallel_size=2)\n", "serve.py")
    assert node.model is not None and node.model.value == "Qwen/Qwen3-8B"


@pytest.mark.parametrize(
    ("expression", "number"),
    [
        ("16 * 1024**3", GIB16),
        ("1 << 34", GIB16),
        ("16 * (1 << 30)", GIB16),
        ("-1", -1),
        ("2**64 // 2", 2**63),
        ("10 - 2", 8),
    ],
)
def test_arithmetic_of_literals(expression: str, number: int) -> None:
    text = f"c = KVTransferConfig(kv_role='kv_consumer', kv_connector_extra_config={{'b': {expression}}})\n"
    node, found = launch(text, "serve.py")
    tree = node.kv_transfer
    assert tree is not None
    budget = tree.get("kv_connector_extra_config", "b")
    assert budget is not None and budget.value == number
    assert at(found, budget.origin) == (1, expression)


@pytest.mark.parametrize("expression", ["10**10**10", "1 << 10**9", "7 // 0", "int(x)", "'a' * 3", "1 / 3"])
def test_what_is_no_plain_number_is_unknown(expression: str) -> None:
    node, _ = launch(f"c = KVTransferConfig(kv_port={expression})\n", "serve.py")
    tree = node.kv_transfer
    assert tree is not None and not tree.value["kv_port"].known


def test_names_are_followed_where_what_they_hold_is_known() -> None:
    text = (
        "ROLE = 'kv_consumer'\nEXTRA: dict = {'cpu_bytes_to_use_per_rank': 1 << 34}\nPORT = 1\nif x:\n    PORT = 2\n"
        "config = KVTransferConfig(kv_role=ROLE, kv_port=PORT, kv_connector_extra_config=EXTRA)\n"
        "llm = LLM(model=MODEL, kv_transfer_config=config)\n"
    )
    node, found = launch(text, "serve.py")
    tree = node.kv_transfer
    assert tree is not None and node.role == "kv_consumer"
    assert at(found, tree.value["kv_role"].origin) == (1, "'kv_consumer'")
    assert not tree.value["kv_port"].known
    assert tree.get("kv_connector_extra_config", "cpu_bytes_to_use_per_rank").value == GIB16  # type: ignore[union-attr]
    assert node.model is not None and not node.model.known


def test_names_that_name_each_other_end() -> None:
    node, _ = launch("A = B\nB = A\nllm = LLM(model=A)\n", "serve.py")
    assert node.model is not None and not node.model.known


@pytest.mark.parametrize("call", ["KVTransferConfig.from_cli(TEXT)", "json.loads(TEXT)"])
def test_json_in_a_string(call: str) -> None:
    text = f'TEXT = \'{{"kv_role": "kv_consumer", "kv_port": 36000}}\'\nllm = LLM(\'m\', kv_transfer_config={call})\n'
    node, found = launch(text, "serve.py")
    assert node.role == "kv_consumer" and node.kv_transfer is not None
    assert at(found, node.kv_transfer.value["kv_port"].origin) == (1, "36000")


def test_broken_json_in_a_string_is_a_fault_there() -> None:
    found = deployment({"serve.py": 'c = KVTransferConfig.from_cli(\'{"kv_role": "kv_consumer",}\')\n'})
    assert faults(found) == ["json"] and found.faults[0].origin.line == 1


def test_spread_dictionaries() -> None:
    text = "base = {'tensor_parallel_size': 4}\nllm = LLM('m', **base, **{'max_num_seqs': 8})\n"
    node, found = launch(text, "serve.py")
    assert node.tensor == 4 and at(found, flag(node, "tensor-parallel-size").origin) == (1, "4")
    assert flag(node, "max-num-seqs").value == 8


def test_import_aliases() -> None:
    text = (
        "from vllm import LLM as Engine\nfrom vllm.config import KVTransferConfig as KV\n"
        "llm = Engine('m', kv_transfer_config=KV(kv_role='kv_consumer'))\n"
    )
    node, _ = launch(text, "serve.py")
    assert node.role == "kv_consumer"
    node, _ = launch(text.replace("KV(kv_role='kv_consumer')", 'KV.from_cli(\'{"kv_role": "kv_both"}\')'), "serve.py")
    assert node.role == "kv_both"


def test_a_key_given_twice_remembers_the_first() -> None:
    node, _ = launch("c = KVTransferConfig(kv_connector_extra_config={'a': 1, 'a': 2})\n", "serve.py")
    tree = node.kv_transfer
    assert tree is not None
    entry = tree.get("kv_connector_extra_config", "a")
    assert entry is not None and entry.value == 2 and [n.value for n in entry.shadowed] == [1]


def test_columns_count_characters_behind_other_scripts() -> None:
    text = "c = KVTransferConfig(engine_id='节点一', kv_role='kv_consumer')\n"
    node, found = launch(text, "serve.py")
    tree = node.kv_transfer
    assert tree is not None and at(found, tree.value["kv_role"].origin) == (1, "'kv_consumer'")


@pytest.mark.parametrize("text", ["def f(:\n", "\x00", "(" * 3000, "x = " + "-" * 20000 + "1\nLLM('m')\n"])
def test_no_python_is_a_fault_and_no_crash(text: str) -> None:
    found = deployment({"serve.py": text})
    assert faults(found)[0] == ("not-text" if "\0" in text else "not-python")


def test_a_file_without_an_engine() -> None:
    found = deployment({"proxy.py": "import fastapi\napp = fastapi.FastAPI()\n"})
    assert not found.nodes and faults(found) == ["unreadable"]


def test_texts_that_the_file_puts_together() -> None:
    text = (
        "import json, os, shlex, subprocess\n"
        "port = 8000\n"
        "kv = {'kv_connector': 'NixlConnector', 'kv_role': role, 'kv_port': port + 1}\n"
        "subprocess.run(['vllm', 'serve', 'a', '--port', str(port), '--kv-transfer-config', json.dumps(kv)])\n"
        "os.system(f'vllm serve b --port {port} --max-num-seqs {seqs}')\n"
        "subprocess.Popen(shlex.split('vllm serve c --port ' + str(port)))\n"
        "subprocess.Popen(' '.join(['vllm', 'serve', 'd', '--port', '1']), shell=True)\n"
    )
    found = deployment({"run.py": text})
    by_model = {str(node.model.value): node for node in found.nodes if node.model}
    assert sorted(by_model) == ["a", "b", "c", "d"]
    assert [str(value(by_model[name], "port")) for name in "abcd"] == ["8000", "8000", "8000", "1"]
    tree = flag(by_model["a"], "kv-transfer-config")
    connector, role = tree.get("kv_connector"), tree.get("kv_role")
    assert connector is not None and at(found, connector.origin)[0] == 3
    assert role is not None and not role.known
    assert not flag(by_model["b"], "max-num-seqs").known
    assert not faults(found)


def test_a_command_has_the_files_environment_and_what_the_call_adds() -> None:
    text = (
        "import os, subprocess\n"
        "os.environ['A'] = '1'\n"
        "os.environ.update({'B': '2'})\n"
        "os.environ.setdefault('C', '3')\n"
        "env = os.environ.copy()\n"
        "env['D'] = '4'\n"
        "subprocess.Popen(['vllm', 'serve', 'a'], env=env)\n"
        "subprocess.Popen(['vllm', 'serve', 'b'], env={**os.environ, 'D': '5'})\n"
        "os.system('vllm serve c')\n"
    )
    shared = {"A": "1", "B": "2", "C": "3"}
    expected = [{**shared, "D": "4"}, {**shared, "D": "5"}, shared]
    nodes = {str(node.model.value): variables(node) for node in deployment({"run.py": text}).nodes if node.model}
    assert [nodes[name] for name in "abc"] == expected


def test_a_pair_of_a_test_suite() -> None:
    text = "with RemotePDServer([['--model', 'a'], ['--model', 'b']], env_dict={'A': '1'}):\n    pass\n"
    nodes = deployment({"test_pair.py": text}).nodes
    assert [node.model and node.model.value for node in nodes] == ["a", "b"]
    assert variables(nodes[0]) == {"A": "1"}


def test_a_list_that_grows_may_hold_more() -> None:
    text = "cmd = ['vllm', 'serve', 'm', '--port', '1']\ncmd += extra\nrun(cmd)\n"
    node, _ = launch(text, "run.py")
    assert node.partial and str(value(node, "port")) == "1"


def test_lists_of_an_engine_argument_are_its_values() -> None:
    node, _ = launch("LLM(model='m', cudagraph_capture_sizes=[1, 2, 4])\n", "run.py")
    arg = node.arg("cudagraph-capture-sizes")
    assert arg is not None and arg.value is not None and [arg.value.value, *(n.value for n in arg.more)] == [1, 2, 4]


def test_what_one_function_puts_into_its_keywords_is_not_another_s() -> None:
    text = (
        "def client(**kwargs):\n    kwargs['timeout'] = 600\n    return Client(**kwargs)\n\n\n"
        "def engine(model, **kwargs):\n    return LLM(model=model, max_num_seqs=4, **kwargs)\n"
    )
    node, found = launch(text, "run.py")
    assert node.arg("timeout") is None and str(value(node, "max-num-seqs")) == "4" and node.partial
    assert not found.faults


@pytest.mark.parametrize("imports", ["import pytest", "from unittest.mock import MagicMock", "import unittest"])
def test_a_test_that_only_makes_a_configuration_starts_nothing(imports: str) -> None:
    alone = f"{imports}\nconfig.kv_transfer_config = KVTransferConfig(kv_connector='NoSuch', kv_role='x')\n"
    assert not deployment({"test_config.py": alone}).nodes
    assert len(deployment({"test_config.py": alone + "LLM(model='m', max_num_seqs=4)\n"}).nodes) == 1


def test_words_that_are_joined_for_a_shell_are_taken_apart_again() -> None:
    text = (
        "import subprocess\n"
        "cmd = ['vllm', 'serve', 'm']\n"
        "cmd += ['--reasoning-parser qwen3', '--limit-mm-per-prompt', \"'{\\\"image\\\": 0}'\"]\n"
        "subprocess.Popen(' '.join(cmd), shell=True)\n"
    )
    node, _ = launch(text, "serve.py")
    assert value(node, "reasoning-parser") == "qwen3" and value(node, "limit-mm-per-prompt") == '{"image": 0}'
