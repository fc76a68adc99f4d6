"""Which program a command really starts: behind wrappers, inside strings for other shells, on other machines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from pd_launch.launcher.sources.shell_model import Command
from pd_launch.launcher.sources.weave import concat
from pd_launch.schemas.values import HOLE, Text

Program = Literal["serve", "api_server", "dynamo"]
API_SERVER = "vllm.entrypoints.openai.api_server"
DYNAMO = "dynamo.vllm"
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_ANY_NAME = re.compile(r"[A-Za-z_][^\s=/]*=")
"""What env takes for a variable, where a shell's name has no hyphen."""
_PYTHON = re.compile(r"(?:.*/)?python(?:3(?:\.\d+)?)?")
_ENDS = ("vllm", "python", "python3", *(f"python3.{minor}" for minor in range(100)))
"""How the name of a program that starts an engine may end."""
_SERVE_MODULES = ("vllm", "vllm.entrypoints.cli.main")
_RUNS = re.compile(r"-\w{0,20}c\w{0,20}")
_WITH_VALUE = re.compile(r"[-+]\w{0,20}[oO]\w{0,20}|--(?:rc|init-)file")
"""Options of a shell that take the next word: ``-euo pipefail``."""
_BARE_SHELL = re.compile(r"(?:sudo )?(?:/\S+/)?(?:ba|z|da)?sh(?: -[sleux]+)*")
SHELLS = ("bash", "sh", "zsh", "dash")
_WRAPPERS = {
    "nohup": 0, "exec": 0, "sudo": 0, "time": 0, "setsid": 0, "stdbuf": 0, "command": 0, "taskset": 1, "timeout": 1,
    "numactl": 0, "nice": 0, "env": 0, "srun": 0, "catchsegv": 0, "ionice": 0, "tini": 0, "dumb-init": 0, "chrt": 1,
}  # fmt: skip
"""Programs that run the command behind them, and how many operands of their own come first."""
_VALUED_OPTIONS = {
    "numactl": ("-N", "-m", "-C", "-i", "-p"),
    "sudo": ("-u", "-g"),
    "env": ("-u", "-C"),
    "taskset": (),
    "timeout": ("-k", "-s"),
    "nice": ("-n",),
    "ionice": ("-c", "-n"),
    "stdbuf": ("-i", "-o", "-e"),
    "srun": (
        *("-n", "-N", "-w", "-p", "-c", "-J", "-x", "-r", "-A", "-G", "-t", "-o", "-e", "--nodelist", "--nodes"),
        *("--ntasks", "--ntasks-per-node", "--gres", "--gpus", "--gpus-per-node", "--gpus-per-task", "--partition"),
        *("--cpus-per-task", "--relative", "--exclude", "--mpi", "--jobid", "--job-name", "--time", "--output"),
        *("--error", "--export", "--container-image", "--container-mounts", "--container-name", "--account"),
        *("--chdir", "--mem"),
    ),
}


_TALKS = frozenset(
    {"echo", "printf", "pgrep", "pkill", "kill", "killall", "grep", "egrep", "ps", "sed", "awk", "curl", "man", "cat"}
    | {"log", "info", "warn", "warning", "error", "die", "trap", "alias", "test", "[", "eval"}
)
"""Programs that speak of a command without starting it."""
_TAKES_SCRIPTS = frozenset({"tmux", "screen", "parallel", "su", "runuser", "script", "flock"})
"""Programs that give a word to a shell."""
STARTS = re.compile(rf"\bvllm serve\s|{re.escape(API_SERVER)}")


def unwrap(words: Sequence[Text]) -> tuple[list[Text], dict[str, tuple[Text, Text]]]:
    """Take off ``nohup``, ``env A=b``, ``numactl …`` and their like; return the rest and what ``env`` sets.

    What it sets has a value and its name, both as they are written.
    """
    rest = list(words)
    inline: dict[str, tuple[Text, Text]] = {}
    inside_env = False
    while rest:
        name = rest[0].value.rpartition("/")[2]
        first = rest[0].value
        if _ANY_NAME.match(first) if inside_env else _ASSIGNMENT.match(first):
            word = rest.pop(0)
            cut = word.value.index("=")
            inline[word.value[:cut]] = word.part(cut + 1, len(word.value)), word.part(0, cut)
            continue
        if inside_env and rest[0].value.startswith(HOLE) and "=" in rest[0].value:
            rest.pop(0)  # env "$NAME=x": a variable whose name is not known
            continue
        if name not in _WRAPPERS or len(rest) == 1:
            break
        inside_env = name == "env"
        rest.pop(0)
        valued = _VALUED_OPTIONS.get(name, ())
        while rest and rest[0].value.startswith("-") and rest[0].value != HOLE:
            option = rest.pop(0)
            if option.value == "--":
                break
            if option.value in valued and rest:
                rest.pop(0)
        del rest[: _WRAPPERS[name]]
    return rest, inline


def engine_words(words: Sequence[Text]) -> tuple[Program, list[Text]] | None:
    """Return the program and the words behind it if ``words`` start a vLLM server, else None."""
    if not words:
        return None
    values = [word.value for word in words[:6]]
    if values[0].rpartition("/")[2] == "vllm" and values[1:2] == ["serve"]:
        return "serve", list(words[2:])
    if not _PYTHON.fullmatch(values[0]):
        return None
    at = 1
    while at < len(values) and values[at] in ("-u", "-O", "-B", "-I", "-s"):
        at += 1
    if values[at : at + 2] == ["-m", API_SERVER]:
        return "api_server", list(words[at + 2 :])
    if values[at : at + 2] == ["-m", DYNAMO]:
        return "dynamo", list(words[at + 2 :])
    if values[at : at + 1] == ["-m"] and values[at + 1 : at + 2] and values[at + 1] in _SERVE_MODULES:
        return ("serve", list(words[at + 3 :])) if values[at + 2 : at + 3] == ["serve"] else None
    if values[at : at + 1] and values[at].endswith("vllm/entrypoints/openai/api_server.py"):
        return "api_server", list(words[at + 1 :])
    return None


def carried(words: Sequence[Text]) -> tuple[Program, list[Text]] | None:
    """As :func:`engine_words`, of an engine behind a program that is not known: ``conda run … vllm serve m``."""
    if not words or words[0].value.rpartition("/")[2] in _TALKS:
        return None
    for index in range(1, len(words)):
        if words[index].value.endswith(_ENDS) and engine_words(words[index : index + 6]) is not None:
            return engine_words(words[index:])
    return None


def joined(words: Sequence[Text], between: str = " ") -> Text:
    """Return the words as one text, with a blank, or whatever ``between`` is, between each two."""
    first = words[0]
    parts = [first]
    for word in words[1:]:
        parts += [word.stand_in(between), word]
    return concat(parts, first.source, first.spots[0])


def scripts_of(words: Sequence[Text]) -> list[Text]:
    """Return the script texts that ``bash -c '…'``, ``eval "…"`` and their like run."""
    rest, _ = unwrap(words)
    if len(rest) > 1 and rest[0].value == "eval":
        return [joined(rest[1:])]
    if not rest or rest[0].value.rpartition("/")[2] not in SHELLS:
        return []
    at, runs = 1, False
    while at < len(rest) and rest[at].value.startswith(("-", "+")):
        option = rest[at].value
        at += 2 if _WITH_VALUE.fullmatch(option) else 1
        runs = runs or _RUNS.fullmatch(option) is not None
    return rest[at : at + 1] if runs else []


def is_remote(values: Sequence[str]) -> bool:
    """Whether a command runs what stands behind it on another machine."""
    return values[:1] == ["ssh"] or values[:2] == ["kubectl", "exec"]


def scripts_inside(command: Command) -> list[Text]:
    """Return the scripts that a command runs or writes: ``bash -c``, ``ssh``, here-documents for a shell."""
    words, _ = unwrap(command.words)
    values = [word.value for word in words]
    texts = scripts_of(words)
    name = values[0].rpartition("/")[2] if values else ""
    for index, value in enumerate(values[1:] if name not in _TALKS and not texts else ()):
        if value.rpartition("/")[2] in SHELLS:
            texts += scripts_of(words[index + 1 :])
    if name in _TAKES_SCRIPTS and not texts:
        texts = [word for word in words[1:] if " " in word.value and STARTS.search(word.value)]
    if values[:1] == ["ssh"] and not texts and len(words) > 2 and " " in values[-1]:
        texts.append(words[-1])
    if values[:1] == ["ssh"] and command.body is not None and _BARE_SHELL.fullmatch(values[-1]):
        texts = []  # ssh HOST 'bash -s': the shell over there reads the here-document
    shell_reads = bool(values) and (values[0].rpartition("/")[2] in SHELLS or values[0] == "ssh") and not texts
    if command.body is not None and (shell_reads or command.target.endswith(".sh")):
        texts.append(command.body)
    return texts
