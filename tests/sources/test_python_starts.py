"""Engines that Python starts in further ways: each is followed, or said (PD014) at its place, and a message is none."""

from __future__ import annotations

import pytest

from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.read import read_texts

WRONG = "vllm serve X --tensor-parallel-sizee 8"
LISTED = "'serve', 'X', '--tensor-parallel-sizee', '8'"
RIGHT = "import os, subprocess, sh\nos.system('vllm serve ok --port 8123')\n"


def found(text: str) -> list[tuple[str, int]]:
    return [(f.code, f.line) for f in check(read_texts({"a.py": RIGHT + text}, target="vllm:0.32.0"))]


def written(text: str) -> str:
    return text.replace("@L", LISTED).replace("@", WRONG)


@pytest.mark.parametrize(
    "text",
    [
        "subprocess.run(b'@', shell=True)\n",
        "c = [@L]\nc.insert(0, 'vllm')\nsubprocess.run(c)\n",
        "c = ['vllm', 'X', '--tensor-parallel-sizee', '8']\nc.insert(1, 'serve')\nsubprocess.run(c)\n",
        "def f(*a):\n    subprocess.run(a)\nf('vllm', @L)\n",
        "def f(*a):\n    subprocess.run(list(a))\nf('vllm', @L)\n",
        "def f(name, *a):\n    subprocess.run([name, *a])\nf('vllm', @L)\n",
        "subprocess.run([b'vllm', b'serve', b'X', b'--tensor-parallel-sizee', b'8'])\n",
    ],
)
def test_an_engine_is_followed(text: str) -> None:
    assert [code for code, _ in found(written(text))] == ["PD004"]


@pytest.mark.parametrize(
    "text",
    [
        "sh.vllm(@L)\n",
        "sh.vllm('serve', 'X', tensor_parallel_sizee=8)\n",
        "sh.vllm.serve('X', '--tensor-parallel-sizee', '8')\n",
        "local['vllm'][@L]()\n",
        "exec(\"os.system('@')\")\n",
        "getattr(os, 'system')('@')\n",
        "list(map(os.system, ['@']))\n",
        "partial(os.system, '@')()\n",
        "atexit.register(os.system, '@')\n",
        "executor.submit(subprocess.run, ['vllm', @L])\n",
        "subprocess.run(**{'args': ['vllm', @L]})\n",
        "os.posix_spawnp('vllm', ['vllm', @L], os.environ)\n",
        "subprocess.Popen(['bash'], stdin=-1).communicate(b'@')\n",
        "subprocess.run('bash', input='@')\n",
        "os.system(Template('vllm serve $m --tensor-parallel-sizee 8').substitute(m='X'))\n",
        "start(cmd='@')\n",
        "shell.stdin.write('@')\n",
        "def go(start):\n    start(['vllm', @L])\n",
    ],
)
def test_an_engine_is_said_at_its_place(text: str) -> None:
    assert found(written(text)) == [("PD014", 2 + text.rstrip().count("\n") + 1)]


@pytest.mark.parametrize(
    "text",
    [
        "'''Start it:\n\n@\n'''\n",
        "def f():\n    '''@'''\n",
        "# @\n",
        "print('@')\n",
        "log.info('@')\n",
        "logger.critical('@')\n",
        "console.print('@')\n",
        "sys.exit('@')\n",
        "raise ValueError('@')\n",
        "parser = ArgumentParser(description='@', usage='@', epilog='@')\n",
        "parser.add_argument('--x', help='@')\n",
        "assert cmd == '@'\n",
        "subprocess.run(['pkill', '-f', '@'])\n",
        "start(['vllm', 'serve', model])\n",
        "MESSAGE = '@'\nprint(MESSAGE)\n",
        "USAGE = '''\n@\n'''\n",
        "__doc__ = '@'\n",
        "warnings.warn('@')\n",
        "def test_x():\n    assert split('@') == 3\n",
        "click.echo('@')\n",
        "if '@' in line:\n    pass\n",
        "out.append('Run it with: @')\n",
        "sys.stderr.write('@')\n",
        "os.system('vllm bench serve --model X')\n",
    ],
)
def test_a_text_that_is_shown_starts_none(text: str) -> None:
    assert found(written(text)) == []
