"""Functions and loops of Python files that start engines."""

from __future__ import annotations

import pytest
from reading import deployment, value, variables

FUNCTION = """\
import os, subprocess
MODEL = "m"

def start(port, role="kv_producer", *, gpu):
    env = os.environ.copy()
    env["CUDA_VISIBLE_DEVICES"] = str(gpu)
    cmd = ["vllm", "serve", MODEL, "--port", str(port), "--kv-transfer-config",
           '{"kv_connector": "NixlConnector", "kv_role": "%s"}' % role]
    return subprocess.Popen(cmd, env=env)
"""


def started(text: str) -> list[tuple[str, str | None, object]]:
    nodes = deployment({"a.py": text}).nodes
    return [(str(value(n, "port")), n.role, variables(n).get("CUDA_VISIBLE_DEVICES")) for n in nodes]


BOTH = [("8100", "kv_producer", "0"), ("8200", "kv_consumer", "1")]


@pytest.mark.parametrize(
    "use",
    [
        'p = start(8100, gpu=0)\nd = start(8200, "kv_consumer", gpu=1)\n',
        'def main():\n    start(8100, gpu=0)\n    start(8200, role="kv_consumer", gpu=1)\nmain()\n',
        'def test_pair():\n    start(8100, gpu=0)\n    start(8200, role="kv_consumer", gpu=1)\n',
        'for role, port, gpu in [("kv_producer", 8100, 0), ("kv_consumer", 8200, 1)]:\n'
        "    start(port, role, gpu=gpu)\n",
        'SIDES = ["kv_producer", "kv_consumer"]\nfor i, role in enumerate(SIDES):\n'
        "    p = [8100, 8200]\n    start({0: 8100}.get(i) or 8100, role, gpu=i)\n",
        'from threading import Thread\nThread(target=start, args=(8100,), kwargs={"gpu": 0}).start()\n'
        'Thread(target=start, args=(8200, "kv_consumer"), kwargs=dict(gpu=1)).start()\n',
        'with start(8100, gpu=0) as p:\n    if p:\n        x = start(8200, "kv_consumer", gpu=1)\n',
    ],
)
def test_each_call_of_a_function_is_an_engine(use: str) -> None:
    found = started(FUNCTION + use)
    if "enumerate" in use:
        assert [(role, gpu) for _, role, gpu in found] == [(role, gpu) for _, role, gpu in BOTH]
    else:
        assert found == BOTH


def test_a_function_that_nothing_calls_is_one_engine() -> None:
    ((_, role, _),) = started(FUNCTION)
    assert role is None


def test_a_method_is_read_for_each_call() -> None:
    text = FUNCTION.replace("def start(", "class A:\n  def start(self, ").replace("\n    ", "\n      ")
    assert started(text + "A().start(8100, gpu=0)\nA().start(8200, 'kv_consumer', gpu=1)\n") == BOTH


@pytest.mark.parametrize(
    ("loop", "ports"),
    [
        ("for p in (1, 2):", ["1", "2"]),
        ("for p in range(2):", ["0", "1"]),
        ("for p in range(3, 5):", ["3", "4"]),
        ("for n, p in zip('ab', (5, 6)):", ["None"]),
        ("for n, p in zip(['a', 'b'], (5, 6)):", ["5", "6"]),
        ('for n, p in {"a": 7, "b": 8}.items():', ["7", "8"]),
        ("for p in ports():", ["None"]),
    ],
)
def test_each_turn_of_a_loop_is_an_engine(loop: str, ports: list[str]) -> None:
    text = f'import subprocess\n{loop}\n    subprocess.Popen(["vllm", "serve", "m", "--port", str(p)])\n'
    nodes = deployment({"a.py": text}).nodes
    assert len(nodes) == len(ports)
    assert [str(value(node, "port")) for node in nodes] == ports or ports == ["None"]


def test_a_function_that_calls_itself_ends() -> None:
    text = 'import os\ndef f(n):\n    os.system(f"vllm serve m --port {n}")\n    f(n)\nf(8100)\n'
    assert 1 <= len(deployment({"a.py": text}).nodes) <= 8


def test_many_calls_end() -> None:
    text = 'import os\ndef f(n):\n    os.system(f"vllm serve m --port {n}")\n' + "f(8100)\n" * 500
    assert 1 <= len(deployment({"a.py": text}).nodes) <= 400


@pytest.mark.parametrize(
    "written",
    [
        '"vllm serve m --port %d" % 8100',
        '"vllm serve %s --port %d" % ("m", PORT)',
        '"vllm serve {} --port {}".format("m", 8100)',
        '"vllm serve {model} --port {0}".format(PORT, model="m")',
        '"vllm serve m --port {p:d}".format(p=PORT).replace("a", "b") or "vllm serve m --port 8100"',
        'f"vllm serve m --port {PORT}"',
    ],
)
def test_texts_with_places_to_fill(written: str) -> None:
    nodes = deployment({"a.py": f"import os\nPORT = 8100\nos.system({written})\n"}).nodes
    if ".replace" not in written:
        assert [str(value(node, "port")) for node in nodes] == ["8100"]


def test_an_environment_from_dict() -> None:
    text = 'import os, subprocess\nsubprocess.run(["vllm", "serve", "m"], env=dict(os.environ, A="1"))\n'
    assert variables(deployment({"a.py": text}).nodes[0])["A"] == "1"


def test_a_variable_that_is_set_twice_is_one_of_both() -> None:
    text = (
        "import os\ndef f(gpu):\n    os.environ['A'] = gpu\n    os.environ['B'] = '1'\n    os.system('vllm serve m')\n"
    )
    for node in deployment({"a.py": text + "f('0')\nf('1')\n"}).nodes:
        assert not node.env["A"].value.known and variables(node)["B"] == "1"


def test_what_shlex_cuts_is_filled_in_by_nobody() -> None:
    command = "vllm serve m --api-key '$A;\\nb' --port 8100"
    text = f'import shlex, subprocess\nA = "x"\nsubprocess.run(shlex.split("{command}"))\n'
    (node,) = deployment({"a.py": text}).nodes
    assert value(node, "api-key") == "$A;\nb" and str(value(node, "port")) == "8100"


TABLE = '{"port": "8100", "max-num-seqs": 8}'


@pytest.mark.parametrize(
    "built",
    [
        f'T = {TABLE}\nC = ["vllm", "serve", "m"]\nfor k, v in T.items():\n    C += [f"--{{k}}", str(v)]\n',
        f'T = {TABLE}\nC = ["vllm", "serve", "m"]\nfor k, v in T.items():\n    C.append("--" + k)\n'
        "    C.append(str(v))\n",
        f'C = ["vllm", "serve", "m"]\nfor k, v in {TABLE}.items():\n    C.extend(["--" + k, str(v)])\n',
        'T = dict(port=8100, max_num_seqs=8)\nC = ["vllm", "serve", "m"]\n'
        'for k, v in T.items():\n    C += [f"--{k}", str(v)]\n',
        'C = ["vllm", "serve", "m"]\nfor pair in ["--port 8100", "--max-num-seqs 8"]:\n    C += [*pair.split()]\n'
        'C = ["vllm", "serve", "m"]\nfor w in ["--port", "8100", "--max-num-seqs", "8"]:\n    C.append(w)\n',
    ],
)
def test_arguments_that_a_loop_adds(built: str) -> None:
    (node,) = deployment({"a.py": f"import subprocess\n{built}subprocess.run(C)\n"}).nodes
    assert str(value(node, "port")) == "8100" and str(value(node, "max-num-seqs")) == "8"


@pytest.mark.parametrize("table", ["T", "json.load(f)", "{'port': '8100', **T}"])
def test_arguments_of_a_loop_over_what_is_not_known_are_unknown(table: str) -> None:
    text = f"import subprocess\nC = ['vllm', 'serve', 'm']\nfor k, v in {table}.items():\n    C += [f'--{{k}}', v]\n"
    (node,) = deployment({"a.py": f"{text}subprocess.run(C)\n"}).nodes
    assert node.partial  # further arguments are unknown


def test_a_loop_that_adds_too_much_is_left_unknown() -> None:
    table = ", ".join(f"'--x{n}': 1" for n in range(5_000))
    text = f"import subprocess\nC = ['vllm', 'serve', 'm']\nfor k in {{{table}}}.items():\n    C += [k[0]]\n"
    (node,) = deployment({"a.py": f"{text}subprocess.run(C)\n"}).nodes
    assert node.partial  # further arguments are unknown
