"""Classes of engines under other names, and arguments that a file gives itself: read, or said beside an engine."""

from __future__ import annotations

import pytest

from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.read import read_texts

HEAD = "import functools, sys\nimport vllm\nfrom vllm import LLM, EngineArgs\nok = LLM(model='ok', seed=1)\n"
SERVER = "from vllm.entrypoints.openai.api_server import make_arg_parser, run_server\n"
COMMAND = "from vllm.entrypoints.cli.main import main\n"
LISTED = "['serve', 'X', '--tensor-parallel-size', '3']"
FLAGS = "['--model', 'X', '--tensor-parallel-size', '3']"


def nodes(text: str) -> list[tuple[object, object]]:
    """Return the model and the tensor parallel size of each engine beside the first."""
    (deployment,) = read_texts({"a.py": HEAD + text}, "vllm:0.32.0")
    found = [(node.model and node.model.value, node.value("tensor-parallel-size")) for node in deployment.nodes]
    values = [(model, size and int(str(size.value))) for model, size in found]
    assert ("ok", None) in values and not deployment.faults
    return [value for value in values if value != ("ok", None)]


@pytest.mark.parametrize(
    "text",
    [
        "E = vllm.LLM\nE(model='X', tensor_parallel_size=3)\n",
        "E = LLM\nF = E\nF('X', tensor_parallel_size=3)\n",
        "from vllm import LLM as Other\nOther(model='X', tensor_parallel_size=3)\n",
        "class Mine(LLM):\n    pass\nMine(model='X', tensor_parallel_size=3)\n",
        "functools.partial(LLM, model='X', tensor_parallel_size=3)()\n",
        "functools.partial(LLM, model='Y')(model='X', tensor_parallel_size=3)\n",
        "f = functools.partial(LLM, 'X', tensor_parallel_size=3)\nf()\n",
        "getattr(vllm, 'LLM')(model='X', tensor_parallel_size=3)\n",
        "E = EngineArgs\ndef f(n):\n    return E(model='X', tensor_parallel_size=n)\nf(3)\n",
        f"{COMMAND}sys.argv += {LISTED}\nmain()\n",
        f"{COMMAND}sys.argv.extend({LISTED})\nmain()\n",
        f"{COMMAND}sys.argv[1:] = {LISTED}\nmain()\n",
        f"{COMMAND}sys.argv = ['prog', *{LISTED}]\nmain()\n",
        f"{COMMAND}sys.argv = ['vllm'] + {LISTED}\nmain()\n",
        f"{SERVER}sys.argv += {FLAGS}\nrun_server(make_arg_parser().parse_args())\n",
        f"{SERVER}args = make_arg_parser().parse_args({FLAGS})\nrun_server(args)\n",
        f"{SERVER}given = {FLAGS}\nargs = make_arg_parser().parse_args(given)\nrun_server(args)\n",
        "V1Container(name='a', image='b', command=['vllm', 'serve'], args=['X', '--tensor-parallel-size', '3'])\n",
        f"V1Container(name='a', image='vllm/vllm-openai:v0.11.0', args={FLAGS})\n",
        f"c = {{'image': 'vllm/vllm-openai:v0.11.0', 'args': {FLAGS}}}\n",
        "c = {'image': 'b', 'command': ['sh', '-c', 'vllm serve X --tensor-parallel-size 3']}\n",
    ],
)
def test_an_engine_is_read(text: str) -> None:
    assert nodes(text) == [("X", 3)]


@pytest.mark.parametrize(
    "text",
    [
        "t = {'a': LLM}\nt['a'](model='X', tensor_parallel_size=3)\n",
        "def f(make=LLM):\n    return make(model='X')\nf()\n",
        "start(LLM, model='X', tensor_parallel_size=3)\n",
        "executor.submit(LLM, 'X')\n",
        "def f():\n    return LLM\nf()(model='X')\n",
        "class Mine(LLM):\n    def __init__(self, n):\n        super().__init__('X')\nMine(3)\n",
        "exec(\"from vllm import LLM\\nLLM(model='X', tensor_parallel_size=3)\")\n",
        "run_code('import vllm; vllm.LLM(model=\"X\")')\n",
        f"{SERVER}parser = make_arg_parser()\nparser.add_argument('--own')\nargs = parser.parse_args({FLAGS})\n",
        "class A(B):\n    def __init__(self, m):\n        super().__init__()\n        self.e = EngineArgs(model=m)\n",
    ],
)
def test_an_engine_that_is_not_read_is_said(text: str) -> None:
    found = check(read_texts({"a.py": HEAD + text}, "vllm:0.32.0"))
    assert [finding.code for finding in found] == ["PD014"]


@pytest.mark.parametrize(
    "text",
    [
        "def f(llm: LLM) -> LLM | None:\n    return llm\n",
        "x: dict[str, LLM] = {}\n",
        "if isinstance(ok, LLM):\n    pass\n",
        "print(LLM)\n",
        "LLM.generate(ok, 'x')\n",
        "EngineArgs.add_cli_args(parser)\n",
        "Type = list[LLM]\n",
        "def f(args):\n    return EngineArgs.from_cli_args(args)\n",
        "E = LLM\n",
        "def f(args):\n    return LLM.from_engine_args(args)\n",
        "class Mine(LLM):\n    def more(self):\n        return super().generate('x')\n",
        "print('from vllm import LLM\\nLLM(model=\"X\")')\n",
        "'''Start it so:\n\nfrom vllm import LLM\nLLM(model=\"X\")\n'''\n",
        f"{SERVER}def main(argv):\n    run_server(make_arg_parser().parse_args(argv))\n",
        f"{SERVER}sys.argv += sys.argv[1:]\n",
        "parser.parse_args(['--model', 'X'])\n",
        "c = {'image': 'nginx', 'args': ['-g', 'daemon off;']}\n",
    ],
)
def test_what_makes_no_engine_is_silent(text: str) -> None:
    found = check(read_texts({"a.py": HEAD + text}, "vllm:0.32.0"))
    assert [finding.code for finding in found] == []


def test_a_name_that_only_grows_has_no_value() -> None:
    assert nodes("def f():\n    total += 1\n    return LLM(model='X', tensor_parallel_size=3, seed=total)\n") == [
        ("X", 3)
    ]
