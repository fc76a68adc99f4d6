"""Engines that a script starts in ways that are not followed: each is said (PD014), as silence looks like a result.

Only what surely runs counts: an engine in a text that some command prints, searches for or shows is no engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from pd_launch.launcher.sources.engine.fillers import FILLS, runs_lines
from pd_launch.launcher.sources.engine.named import BENCHMARK
from pd_launch.launcher.sources.engine.prose import is_script_text
from pd_launch.launcher.sources.engine.scripts_given import INTERPRETERS, program_of, reads_scripts, scripts_inside
from pd_launch.launcher.sources.engine.wrapped import SHELLS, STARTS, TALKS, unwrap
from pd_launch.launcher.sources.engine.written_files import is_edited_script
from pd_launch.launcher.sources.shell.model import Command
from pd_launch.launcher.sources.shell.unknown_words import is_decoded, is_unknown, may_be_engine
from pd_launch.launcher.sources.text.limits import not_followed
from pd_launch.schemas.core.launch import Fault, NodeLaunch
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import HOLE, Origin, Text

_BENCHES = frozenset({"throughput", "latency", "startup"})
"""Benchmarks of ``vllm bench`` that make an engine; others ask one that runs."""
_CALLS = lazy_pattern(r"system|exec|spawn|[pP]open|subprocess|\brun\b|\bcall\b|`")
_MODULE = lazy_pattern(r"vllm\.entrypoints\.(?:cli\.main|openai\.api_server|launcher)")
_RUNS_MODULE = lazy_pattern(r"\brun_(?:module|path|server)\b|\brunpy\b|\bmain\(|\bexec\(|__import__")
"""How a program of Python starts a server without naming a command."""
_COMMAND_END = lazy_pattern(r"(?<!\\)[\n;&|#]")
_SETTING = lazy_pattern(
    r"^[ \t]{0,40}[\w.-]{1,60}[ \t]{0,9}[=:][ \t]{0,9}[\"']?(?:exec )?vllm serve \S[^\n]{0,2000}?\s--[a-z]",
    re.MULTILINE,
)
"""A line of a configuration that names what is to be run."""
_RUN_BY_SHELL = lazy_pattern(r"(?:PROMPT_COMMAND(?:\[\w{1,20}\])?|PS[0124])\+?=")
"""Variables that a shell executes of its own accord."""
_SAME_COMMAND = lazy_pattern(r"[ \t]{1,40}(?![#;&|)\s]|\d?[<>])")
_EXPORTS = lazy_pattern(r"[ \t]{0,40}(?:(?:then|do|else)[ \t]{1,40})?(?:export|(?:declare|typeset|local) -\w{0,9}x)\b")
_BREAK = lazy_pattern(r"[\n;&|]")
_FAR = 400
_NAMED = lazy_pattern(r"[A-Za-z_]\w{0,200}(?=\+?=)")
_GIVEN = lazy_pattern(r"\$\{?[@*\d]")
"""A parameter that whoever starts the script gives: nothing of the script itself."""
_OPTION = lazy_pattern(r"\s--?[A-Za-z]")
_KEEPS = frozenset(
    {"base64", "md5sum", "sha1sum", "sha256sum", "wc", "sort", "uniq", "tr", "cut", "fold", "nl", "paste", "column"}
    | {"gzip", "zstd", "openssl", "gpg", "xclip", "pbcopy", "wl-copy", "sendmail", "mutt", "msmtp", "mysql", "psql"}
    | {
        "sqlite3",
        "redis-cli",
        "yq",
        "diff",
        "patch",
        "more",
        "bat",
        "pandoc",
        "envsubst",
        "install",
        "dd",
        "cp",
        "crontab",
    }
    | {"sponge", "aws", "s3cmd", "mosquitto_pub", "nc", "ncat", "socat", "xargs", "mapfile", "readarray", "true"}
    | {"docker", "podman", "kubectl", "oc", "helm", "cowsay", "boxes", "lolcat", "glow", "gum", "http", "https"}
)
"""Programs that show, keep, count or send what they read; those of containers are told apart by their words."""


def started_otherwise(command: Command) -> Iterator[Fault]:
    """Iterate over faults of engines that a pipe, an interpreter, a table of jobs or a benchmark starts."""
    words, _ = unwrap(command.words)
    name = program_of(words)
    if command.unread is not None and (reads_scripts(words) or runs_lines(words) or name == "crontab"):
        yield from _said(command.unread) if STARTS.search(command.unread.value) else (_fault(command.unread),)
    if may_be_engine(words) or (words and is_unknown(words[0]) and is_decoded(words[0])):
        yield _fault(words[0])
    if _is_run_unseen(command, name):
        yield from _said(command.body)
    if is_edited_script(words):
        for text in words[1:-1]:
            yield from _said(text)
    if INTERPRETERS.fullmatch(name):
        for text in [*words[1:], *([command.body] if command.body is not None else [])]:
            start = STARTS.search(text.value)
            module = _MODULE.search(text.value) if name.startswith("python") else None
            if start and _CALLS.search(text.value, 0, start.start()):
                yield _fault(text.part(*start.span()))
            elif module and _RUNS_MODULE.search(text.value):
                yield _fault(text.part(*module.span()))
    if _is_vllm_of_something(words):
        yield _fault(words[0])
    yield from _benchmarks(command)


def _is_vllm_of_something(words: Sequence[Text]) -> bool:
    """Whether vllm is run with a subcommand that is not known, which may be serve: ``vllm $SUB m --port 1``.

    ``vllm "$@"`` alone runs what whoever starts the script gives it, so nothing of it is in the script.
    """
    if len(words) < 2 or words[0].value.rpartition("/")[2] != "vllm":
        return False
    what = words[1]
    if not what.value or what.value.strip(HOLE):
        return False
    return len(words) > 2 or _GIVEN.match(what.source.text, what.spots[0]) is None


def _benchmarks(command: Command) -> Iterator[Fault]:
    """Iterate over what is said of an engine that a benchmark makes inside itself: it serves nobody."""
    words, _ = unwrap(command.words)
    values = [word.value for word in words[:3]]
    if len(values) == 3 and values[0].rpartition("/")[2] == "vllm" and values[1] == "bench" and values[2] in _BENCHES:
        yield Fault(
            BENCHMARK,
            words[0].origin(),
            Msg(
                f"vllm bench {values[2]} starts its own engine, whose arguments are not checked",
                f"vllm bench {values[2]} 会自行启动引擎，其参数未做检查",
            ),
            help=Msg("to check them, write them after vllm serve", "要检查这些参数，请写在 vllm serve 之后"),
        )


def _is_run_unseen(command: Command, name: str) -> bool:
    """Whether a command that nobody knows is given commands to read: most programs run such, or send them on."""
    body = command.body
    if body is None or not command.alone or command.target or name in TALKS or name in _KEEPS:
        return False
    if INTERPRETERS.fullmatch(name) or name in FILLS or not (is_script_text(body.value) or _SETTING.search(body.value)):
        return False
    words, _ = unwrap(command.words)
    return not reads_scripts(words) and all(script is not body for script in scripts_inside(command))


def _said(text: Text | None) -> Iterator[Fault]:
    start = STARTS.search(text.value) if text is not None else None
    if text is not None and start is not None:
        yield _fault(text.part(*start.span()))


def held_back(held: Sequence[Text], commands: Sequence[Command], nodes: Iterable[NodeLaunch]) -> Iterator[Text]:
    """Iterate over values and here-documents that name an engine, where a command runs what is not known.

    Also over those that a shell executes by itself, and those that other programs are given in their environment.

    Args:
        held: the values and here-documents that speak of an engine.
        commands: the commands of the script.
        nodes: the engines that were found in it.
    """
    if not held:
        return
    any_is_run = any(_runs_unknown(command) for command in commands)
    places = sorted(spot for node in nodes for spot in _spots(node))
    for text in held:
        if not any_is_run and not _is_passed_on(text):
            continue
        start = STARTS.search(text.value)
        if start is None or not _has_options(text.value, start.end() - 1):
            continue
        if not any(text.spots[0] <= place <= text.spots[-1] for place in places):
            yield text


def _is_passed_on(text: Text) -> bool:
    """Whether a value is one that the shell executes by itself, or an exported one, which other programs may run."""
    if _RUN_BY_SHELL.match(text.value):
        return True
    name, whole = _NAMED.match(text.value), text.source.text
    if name is None:
        return False
    if _SAME_COMMAND.match(whole, text.spots[-1]) is not None:
        return True
    uses = re.finditer(rf"\b{name[0]}\b", whole)
    return any(_EXPORTS.match(_BREAK.split(whole[max(use.start() - _FAR, 0) : use.start()])[-1]) for use in uses)


def not_started(text: Text) -> Iterator[Fault]:
    """Iterate over what is said of an engine in a value that is run in a way that is not followed."""
    return _said(text)


def _has_options(text: str, at: int) -> bool:
    """Whether an engine's command at ``at`` has options: a message that only names the command has none."""
    end = _COMMAND_END.search(text, at)
    return _OPTION.search(text, at, end.start() if end else len(text)) is not None


def _spots(node: NodeLaunch) -> Iterator[int]:
    for value in (node.model, *(arg.value for arg in node.args)):
        if value is not None and value.text is not None:
            yield value.text.spots[0]


def _runs_unknown(command: Command) -> bool:
    """Whether a command runs a text of which nothing is known: ``$LINE``, ``eval "$1"``, ``bash -c "$CMD"``."""
    words, _ = unwrap(command.words)
    values = [word.value for word in words]
    if not values:
        return False
    if values[0] == "eval":
        values = values[1:]
    elif program_of(words) in SHELLS:
        values = [value for value in values[1:] if not value.startswith("-")]
        values = values or ([command.body.value] if command.body is not None else [])
    if not values or not values[0] or values[0].strip(HOLE + " \n"):
        return False
    place = next((word for word in words if word.value == values[0]), words[0])
    return _GIVEN.match(place.source.text, place.spots[0]) is None


def _fault(place: Text) -> Fault:
    return unseen(place.origin())


def unseen(place: Origin) -> Fault:
    """Return the fault of an engine that is started in a way that is not followed."""
    return not_followed(
        place,
        Msg("pd-launch cannot follow how this engine is started", "这个引擎的启动方式无法跟踪"),
        Msg("it is not checked", "这一处没有检查"),
        Msg(
            "start it with a plain command, or check what it runs as a separate file",
            "用普通命令启动它，或把实际执行的内容单独写成文件来检查",
        ),
    )
