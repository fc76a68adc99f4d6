"""Which program a command really starts: after wrappers, launchers and interpreters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from pd_launch.launcher.sources.engine.fillers import FILLS, sign_of, unfilled
from pd_launch.launcher.sources.text.interpolate import split_words
from pd_launch.launcher.sources.text.templates import as_written
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.values import HOLE, Text

Program = Literal["serve", "api_server", "dynamo"]
API_SERVER = "vllm.entrypoints.openai.api_server"
DYNAMO = "dynamo.vllm"
_WORKERS = (DYNAMO, f"{DYNAMO}.unified_main", f"{DYNAMO}.main")
_KV_FLAG = "--kv-transfer-config"
_ASSIGNMENT = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*=")
_ANY_NAME = lazy_pattern(r"[A-Za-z_][^\s=/]*=")
"""What env takes for a variable, where a shell's name has no hyphen."""
_PYTHON = lazy_pattern(r"(?:.*/)?python(?:3(?:\.\d+)?)?")
_ENDS = (
    *("vllm", "python", "python3", *(f"python3.{minor}" for minor in range(100))),
    *("/api_server.py", "/main.py"),
)
"""How the name of a program that starts an engine may end."""
_MAIN = "vllm/entrypoints/cli/main.py"
_SERVER = lazy_pattern(r"(?:^|/)vllm/entrypoints/openai/api_server\.py$")
_NAMES_VLLM = lazy_pattern(r"vllm", re.IGNORECASE)
_PYTHON_VALUED = ("-X", "-W", "--check-hash-based-pycs")
_MOST_OPTIONS = 16
"""Words that are looked at for the engine after an interpreter."""
_SERVE_MODULES = ("vllm", "vllm.entrypoints.cli.main")
SHELLS = ("bash", "sh", "zsh", "dash", "ksh", "mksh", "ash", "fish")
_WRAPPERS = {
    "nohup": 0, "exec": 0, "sudo": 0, "time": 0, "setsid": 0, "stdbuf": 0, "command": 0, "taskset": 1, "timeout": 1,
    "numactl": 0, "nice": 0, "env": 0, "srun": 0, "catchsegv": 0, "ionice": 0, "tini": 0, "dumb-init": 0, "chrt": 1,
    "builtin": 0,
}  # fmt: skip
"""Programs that run the command after them, and how many operands of their own come first."""
_VALUED_OPTIONS = {
    "numactl": (
        *("-N", "-m", "-C", "-i", "-p", "-P", "-w", "--cpunodebind", "--membind", "--physcpubind", "--interleave"),
        *("--preferred", "--preferred-many", "--weighted-interleave"),
    ),
    "sudo": ("-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-r", "-t", "--user", "--group", "--host", "--chdir"),
    "env": ("-u", "-C", "--unset", "--chdir", "-a", "--argv0"),
    "taskset": (),
    "timeout": ("-k", "-s", "--kill-after", "--signal"),
    "nice": ("-n", "--adjustment"),
    "exec": ("-a",),
    "ionice": ("-c", "-n"),
    "stdbuf": ("-i", "-o", "-e", "--input", "--output", "--error"),
    "srun": (
        *("-n", "-N", "-w", "-p", "-c", "-J", "-x", "-r", "-A", "-G", "-t", "-o", "-e", "--nodelist", "--nodes"),
        *("--ntasks", "--ntasks-per-node", "--gres", "--gpus", "--gpus-per-node", "--gpus-per-task", "--partition"),
        *("--cpus-per-task", "--relative", "--exclude", "--mpi", "--jobid", "--job-name", "--time", "--output"),
        *("--error", "--export", "--container-image", "--container-mounts", "--container-name", "--account"),
        *("--chdir", "--mem"),
    ),
}


_SPLIT = lazy_pattern(r"-[iv0]{0,3}S|--split-string(?:=|$)")
STARTS = lazy_pattern(rf"(?:\b|(?<=\\[nrt]))vllm[ \t]{{1,20}}serve\s|{re.escape(API_SERVER)}")
"""Where a text speaks of the start of an engine."""


TALKS = frozenset(
    {"echo", "printf", "pgrep", "pkill", "kill", "killall", "grep", "egrep", "fgrep", "ps", "sed", "curl", "man", "cat"}
    | {"log", "info", "warn", "warning", "error", "die", "trap", "alias", "test", "[", "eval", "tee", "read", "logger"}
    | {"git", "mail", "wall", "notify-send", "jq", "whiptail", "dialog", "zenity", "figlet", "export", ":", "which"}
    | {"rg", "ag", "ack", "pidof", "less", "head", "tail", "wget", "gh", "say", "title", "usage", "fail", "abort"}
)
"""Programs that speak of a command without starting it."""


_HANDS_ON = (
    ("git", "bisect", "run"),
    ("git", "submodule", "foreach"),
    ("git", "rebase", "--exec"),
    ("git", "rebase", "-x"),
)
"""Commands of such programs that do start what follows: the program, its command, and the word before it."""


def hands_on(words: Sequence[Text]) -> bool:
    """Whether a program that only speaks of commands starts the one after some word of its own: ``git bisect run``."""
    values = [word.value for word in words[:_MOST_OPTIONS]]
    return any(
        values[0].rpartition("/")[2] == name and command in values and word in values
        for name, command, word in _HANDS_ON
    )


def is_wrapper(name: str) -> bool:
    """Whether a program runs the command after it."""
    return name in _WRAPPERS


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
            given = _split_by_env(option, rest) if inside_env else None
            if given is not None:
                rest = given
            elif option.value in valued and rest:
                rest.pop(0)
        del rest[: _WRAPPERS[name]]
    return rest, inline


def _split_by_env(option: Text, behind: Sequence[Text]) -> list[Text] | None:
    """Return the words that ``env -S 'A=1 vllm serve m'`` makes of its text and what follows; else None."""
    match = _SPLIT.match(option.value)
    if match is None:
        return None
    rest = list(behind)
    text = option.part(match.end(), len(option.value)) if match.end() < len(option.value) else None
    if text is None:
        if not rest:
            return []
        text = rest.pop(0)
    return [*split_words(text)[0], *rest]


def engine_words(words: Sequence[Text]) -> tuple[Program, list[Text]] | None:
    """Return the program and the words after it if ``words`` start a vLLM server, else None."""
    if not words:
        return None
    values = [word.value for word in words[:_MOST_OPTIONS]]
    if is_vllm(words[0]) and values[1:2] == ["serve"]:
        return "serve", list(words[2:])
    if values[0].endswith(_MAIN) and values[1:2] == ["serve"]:
        return "serve", list(words[2:])
    if _SERVER.search(values[0]):
        return "api_server", list(words[1:])
    if values[0] == "-m":
        return _module(words[1:])
    if not _PYTHON.fullmatch(values[0]):
        return None
    at = 1
    while at < len(values) and values[at].startswith("-") and values[at] != "-m":
        at += 2 if values[at] in _PYTHON_VALUED else 1
    return engine_words(words[at:]) if values[at : at + 1] and not _PYTHON.fullmatch(values[at]) else None


def _module(words: Sequence[Text]) -> tuple[Program, list[Text]] | None:
    """Return the program and its words after ``-m``.

    A module that is not known but takes ``--kv-transfer-config`` is taken for a worker of Dynamo, the one that has
    options of its own beside vLLM's: ``python3 -m "$WORKER_MODULE"``.
    """
    values = [word.value for word in words[:2]]
    if values[:1] == [API_SERVER]:
        return "api_server", list(words[1:])
    if values[:1] and (values[0] in _WORKERS or (values[0] == HOLE and _hands_over_kv(words))):
        return "dynamo", list(words[1:])
    if len(values) == 2 and values[0] in _SERVE_MODULES and values[1] == "serve":
        return "serve", list(words[2:])
    return None


def _hands_over_kv(words: Sequence[Text]) -> bool:
    return any(word.value.partition("=")[0] == _KV_FLAG for word in words)


def is_vllm(word: Text) -> bool:
    """Whether a word is the program vllm, also where only a variable or a search for it names it: ``$VLLM_BIN``."""
    if word.value.rpartition("/")[2] == "vllm":
        return True
    if word.value != HOLE:
        return False
    return _NAMES_VLLM.search(as_written(word.source), word.spots[0], word.spots[-1]) is not None


def carried(words: Sequence[Text]) -> tuple[Program, list[Text]] | None:
    """As :func:`engine_words`, of an engine after a program that is not known: ``conda run … vllm serve m``.

    Also after one that runs Python itself: ``torchrun … -m vllm.entrypoints.openai.api_server``.
    """
    name = words[0].value.rpartition("/")[2] if words else ""
    if not words or (name in TALKS and not hands_on(words)):
        return None
    found = _behind_any(words)
    if found is None or name not in FILLS:
        return found
    end = next((at for at, word in enumerate(found[1]) if word.value in (";", ":::", "::::")), len(found[1]))
    sign = sign_of(words)
    filled = [unfilled(word, sign) for word in found[1][:end]]
    if name == "xargs" and not any(word.value.startswith(("-I", "-i", "--replace")) for word in words):
        filled.append(words[-1].stand_in(HOLE * 2))  # any number of words
    return found[0], filled


def _behind_any(words: Sequence[Text]) -> tuple[Program, list[Text]] | None:
    for index in range(1, len(words)):
        value = words[index].value
        if value == "--" and [word.value for word in words[index + 1 : index + 2]] == ["serve"]:
            if any(is_vllm(word) for word in words[1:index]):  # start-stop-daemon --exec vllm --name e -- serve m
                return "serve", list(words[index + 2 :])
            continue
        if value == "-m" or value.endswith(_ENDS):
            found = engine_words(words[index : index + _MOST_OPTIONS])
            if found is not None:
                return engine_words(words[index:])
    return None
