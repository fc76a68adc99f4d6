"""Commands become engines: which words start vLLM, under which wrappers, and with which environment."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from pd_launch.launcher.sources.command_line import read_arguments
from pd_launch.launcher.sources.shell import Command
from pd_launch.schemas.launch import EnvVar, Fault, Form, NodeLaunch, Proxy
from pd_launch.schemas.values import Text

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_PYTHON = re.compile(r"(?:.*/)?python(?:3(?:\.\d+)?)?")
API_SERVER = "vllm.entrypoints.openai.api_server"
_SERVE_MODULES = ("vllm", "vllm.entrypoints.cli.main")
_PROXY = re.compile(r"(?:.*/)?(\w*proxy\w*\.py|toy_proxy\w*\.py|disagg_proxy\w*\.py)$")
_WRAPPERS = {
    "nohup": 0,
    "exec": 0,
    "sudo": 0,
    "time": 0,
    "setsid": 0,
    "stdbuf": 0,
    "command": 0,
    "taskset": 1,
    "timeout": 1,
    "numactl": 0,
    "nice": 0,
    "env": 0,
    "tee": 0,
}
"""Programs that run the command behind them, and how many operands of their own come first."""
_VALUED_OPTIONS = {
    "numactl": ("-N", "-m", "-C", "-i", "-p"),
    "sudo": ("-u", "-g"),
    "env": ("-u", "-C"),
    "taskset": ("-c",),
    "timeout": ("-k", "-s"),
    "nice": ("-n",),
    "stdbuf": ("-i", "-o", "-e"),
}


@dataclass
class Found:
    """What a list of commands starts."""

    nodes: list[NodeLaunch] = field(default_factory=list)
    proxies: list[Proxy] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)


def read_command(command: Command, form: Form, label: str, found: Found) -> bool:
    """Add the engine or proxy that ``command`` starts to ``found``; return whether it starts one."""
    words, inline = unwrap(command.words)
    env = {name: EnvVar(name, value.node(), _how(how)) for name, (value, how) in command.env.items()}
    env.update({name: EnvVar(name, value.node(), "inline") for name, value in inline.items()})
    start = engine_words(words)
    if start is not None:
        program, rest = start
        node = NodeLaunch(form, command.origin, label, env=env, program=program)
        found.faults += read_arguments(rest, node)
        found.nodes.append(node)
        return True
    for index, word in enumerate(words[:4]):
        if _PROXY.fullmatch(word.value):
            rest_nodes = [w.node() for w in words[index + 1 :]]
            found.proxies.append(Proxy(word.origin(), word.value.rpartition("/")[2], rest_nodes))
            return True
    if words and words[0].value.startswith("--"):
        found.faults.append(_orphan(words[0]))
    return False


def _how(how: str) -> Literal["export", "inline"]:
    return "inline" if how == "inline" else "export"


def _orphan(word: Text) -> Fault:
    return Fault(
        "shell",
        word.origin(),
        f"{word.value} starts a new command: the line before it does not go on",
        f"{word.value} 成了一条新命令:上一行没有续行",
        help="end the line before with a backslash, and keep comments out of the middle of a command",
        help_zh="在上一行末尾加反斜杠;命令中间不要插入注释行",
    )


def unwrap(words: Sequence[Text]) -> tuple[list[Text], dict[str, Text]]:
    """Take off ``nohup``, ``env A=b``, ``numactl …`` and their like; return the rest and what ``env`` sets."""
    rest = list(words)
    inline: dict[str, Text] = {}
    while rest:
        name = rest[0].value.rpartition("/")[2]
        if _ASSIGNMENT.match(rest[0].value):
            _assign(rest.pop(0), inline)
            continue
        if name not in _WRAPPERS or len(rest) == 1:
            break
        rest.pop(0)
        valued = _VALUED_OPTIONS.get(name, ())
        while rest and rest[0].value.startswith("-"):
            option = rest.pop(0)
            if option.value in valued and rest:
                rest.pop(0)
        operands = _WRAPPERS[name]
        if name == "taskset" and "-c" in [w.value for w in words[:4]]:
            operands = 0
        del rest[:operands]
    return rest, inline


def _assign(word: Text, inline: dict[str, Text]) -> None:
    cut = word.value.index("=")
    inline[word.value[:cut]] = word.part(cut + 1, len(word.value))


def engine_words(words: Sequence[Text]) -> tuple[Literal["serve", "api_server"], list[Text]] | None:
    """Return the program and the words behind it if ``words`` start a vLLM server, else None."""
    if not words:
        return None
    values = [word.value for word in words[:4]]
    name = values[0].rpartition("/")[2]
    if name == "vllm" and values[1:2] == ["serve"]:
        return "serve", list(words[2:])
    if _PYTHON.fullmatch(values[0]):
        at = 1
        while at < len(words) and words[at].value in ("-u", "-O", "-B", "-I", "-s"):
            at += 1
        tail = [word.value for word in words[at : at + 3]]
        if tail[:2] == ["-m", API_SERVER]:
            return "api_server", list(words[at + 2 :])
        if tail[:1] == ["-m"] and tail[1:2] and tail[1] in _SERVE_MODULES and tail[2:3] == ["serve"]:
            return "serve", list(words[at + 3 :])
    return None


def scripts_inside(command: Command) -> list[Text]:
    """Return the scripts that a command runs itself: ``bash -c '…'`` or a here-document for a shell."""
    words, _ = unwrap(command.words)
    values = [word.value for word in words]
    shells = [i for i, value in enumerate(values) if value.rpartition("/")[2] in ("bash", "sh")]
    texts: list[Text] = []
    for index in shells:
        for at in range(index + 1, min(index + 4, len(words))):
            if re.fullmatch(r"-\w*c", values[at]) and at + 1 < len(words):
                texts.append(words[at + 1])
                break
    if command.body is not None and (
        (shells and values[-1] in ("-s", "-", values[shells[-1]]))
        or command.target.endswith(".sh")
        or values[:1] == ["ssh"]
    ):
        texts.append(command.body)
    return texts
