"""Python files: what names hold where an engine is started, and engines that are started in a way that is not seen."""

from __future__ import annotations

import pytest

from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.read import read_texts
from pd_launch.schemas.core.values import HOLE

HEAD = "import subprocess, os, sys\nos.system('vllm serve ok --port 8123')\n"
LIST = "['vllm', 'serve', 'X', '--tensor-parallel-sizee', '8']"
LINE = "vllm serve X --tensor-parallel-sizee 8"


def codes(text: str) -> list[str]:
    return [f.code for f in check(read_texts({"a.py": HEAD + text}, target="vllm:0.32.0"))]


def words(text: str) -> list[str]:
    """Return the flags of the engine that a file starts, with their values."""
    node = read_texts({"a.py": text})[0].nodes[0]
    return [f"{arg.written}={arg.value.string() if arg.value is not None else ''}" for arg in node.args]


BASE = "cmd = ['vllm', 'serve', 'X']\n"
FOLLOWED = (
    BASE + "cmd.append('--tensor-parallel-sizee')\ncmd.append('8')\nsubprocess.run(cmd)\n",
    BASE + "cmd.extend(['--tensor-parallel-sizee', '8'])\nsubprocess.run(cmd)\n",
    BASE + "cmd += ['--tensor-parallel-sizee', '8']\nsubprocess.run(cmd)\n",
    BASE + "cmd = cmd + ['--tensor-parallel-sizee', '8']\nsubprocess.run(cmd)\n",
    BASE + "cmd = [*cmd, '--tensor-parallel-sizee', '8']\nsubprocess.run(cmd)\n",
    BASE + "more = ['--tensor-parallel-sizee']\nmore.append('8')\ncmd += more\nsubprocess.run(cmd)\n",
    BASE + "with open('x') as f:\n    cmd += ['--tensor-parallel-sizee', '8']\n    subprocess.run(cmd)\n",
    "cmd = 'vllm serve X'\ncmd += ' --tensor-parallel-sizee 8'\nsubprocess.run(cmd, shell=True)\n",
    "cmd = 'vllm serve X'\ncmd = f'{cmd} --tensor-parallel-sizee 8'\nsubprocess.run(cmd, shell=True)\n",
    BASE + "subprocess.run(['sleep', '1'])\ncmd = " + LIST + "\nsubprocess.run(cmd)\n",
    "def p():\n    c = ['vllm', 'serve', 'X']\n    c.extend(['--tensor-parallel-sizee', '8'])\n    os.execv('v', c)\n",
    f"def p():\n    c = ['vllm', 'serve', 'ok2']\n    run(c)\ndef d():\n    c = {LIST}\n    run(c)\n",
    f"def build():\n    return {LIST}\nsubprocess.run(build())\n",
    f"def build(a):\n    cmd = {LIST}\n    return cmd\nc = build(1)\nsubprocess.run(c)\n",
    f"class S:\n    def __init__(self):\n        self.c = {LIST}\n    def go(self):\n        Popen(self.c)\n",
    f"C = {{'a': {LIST}}}\nsubprocess.Popen(C['a'])\n",
    f"subprocess.Popen(c := {LIST})\n",
    f"c = {LIST} if x else ['vllm', 'serve', 'Y']\nsubprocess.Popen(c)\n",
    f"subprocess.Popen(args={LIST})\n",
    f"subprocess.run(['bash'], input='{LINE}', text=True)\n",
    f"open('x.sh', 'w').write('{LINE}')\n",
    f"Path('x').write_text('#!/bin/bash\\n{LINE}')\n",
    f"sys.argv = {LIST}\nmain()\n",
    f"ssh.exec_command('{LINE}')\n",
    f"client.V1Container(name='a', image='i', command={LIST})\n",
    "client.V1Container(name='a', command=['vllm', 'serve'], args=['X', '--tensor-parallel-sizee', '8'])\n",
    "docker.from_env().containers.run('vllm/vllm-openai', ['--model', 'X', '--tensor-parallel-sizee', '8'])\n",
    f"client.containers.run('i', command='{LINE}')\n",
    f"multiprocessing.Process(target=os.system, args=('{LINE}',)).start()\n",
)


@pytest.mark.parametrize("text", FOLLOWED)
def test_an_engine_is_followed_through_names_and_calls(text: str) -> None:
    assert codes(text) == ["PD004"]
    assert codes(text.replace("tensor-parallel-sizee", "seed")) == []


@pytest.mark.parametrize(
    "text",
    [
        f"table = {{}}\ntable['a'] = {LIST}\nsubprocess.run(pick(table))\n",
        f"jobs = [{LIST}]\nsubprocess.run(random.choice(jobs))\n",
        f"LINES = '{LINE}\\n'\nos.system(LINES.strip())\n",
    ],
)
def test_one_that_cannot_be_followed_is_said_where_a_command_is_run_that_is_not_known(text: str) -> None:
    assert codes(text) == ["PD014"]


@pytest.mark.parametrize(
    "text",
    [
        f"assert build() == {LIST}\nsubprocess.run(pick())\n",
        f"print('{LINE}')\nsubprocess.run(pick())\n",
        f'"""Run it:\n\n    {LINE}\n"""\nsubprocess.run(pick())\n',
        f"parser.add_argument('--cmd', help='{LINE}')\nsubprocess.run(pick())\n",
        f"EXAMPLE = {LIST}\n",
        f"raise ValueError('{LINE}')\n",
    ],
)
def test_one_that_is_shown_or_that_nothing_runs_is_no_fault(text: str) -> None:
    assert codes(text) == []


def test_what_may_or_may_not_be_added_is_not_known() -> None:
    text = BASE + "if x:\n    cmd += ['--port', '1']\ncmd += ['--seed', '2']\n"
    assert words(text + "subprocess.run(cmd)\n")[-1:] == ["--seed=2"]
    assert "--port=1" not in words(text + "subprocess.run(cmd)\n")
    assert HOLE not in "".join(words(BASE + "subprocess.run(cmd)\nif x:\n    cmd += ['--port', '1']\n"))


def test_what_is_added_later_or_in_another_function_is_not_what_is_run() -> None:
    assert words(BASE + "subprocess.run(cmd)\ncmd += ['--port', '1']\n") == []
    text = BASE + "def other():\n    cmd = ['a']\n    cmd += ['--port', '1']\n    return cmd\nsubprocess.run(cmd)\n"
    assert words(text) == []


def test_a_name_that_branches_set_differently_is_not_known() -> None:
    text = "P = '1'\nif x:\n    P = '2'\nsubprocess.run(['vllm', 'serve', 'X', '--port', P])\n"
    assert words(text) == ["--port=None"]
    assert words("P = '1'\nP = '2'\nsubprocess.run(['vllm', 'serve', 'X', '--port', P])\n") == ["--port=2"]


def test_the_parameters_of_a_function_hide_names_around_it() -> None:
    text = "port = '1'\ndef go(port):\n    subprocess.run(['vllm', 'serve', 'X', '--port', port])\n"
    assert words(text) == ["--port=None"]


def test_names_that_grow_from_each_other_end() -> None:
    assert codes("a = b\nb = a\na += b\nb += a\na = a + b\nsubprocess.run(a)\n") == []
    assert codes("a = ['vllm', 'serve', 'X']\nfor i in range(9):\n    a += a\nsubprocess.run(a)\n") == []
