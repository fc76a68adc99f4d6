"""A ``vllm serve`` command line: words with their places become arguments of a node."""

from __future__ import annotations

import re
from functools import cache

from pd_launch.launcher.sources.text.interpolate import Words
from pd_launch.launcher.sources.text.limits import not_followed
from pd_launch.launcher.sources.trees.json_tree import parse_json
from pd_launch.schemas.core.flag_shapes import LISTS, SHORT, SWITCHES, VALUED
from pd_launch.schemas.core.launch import JSON_ARGS, Arg, Fault, NodeLaunch
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.switches import switch_of
from pd_launch.schemas.core.values import HOLE, Node, Text, Unknown

_NAMES = frozenset({"help", *SWITCHES, *LISTS, *VALUED, *(f"no-{name}" for name in SWITCHES)})
PLAIN_JSON = (
    "additional-config",
    "hf-overrides",
    "speculative-config",
    "override-generation-config",
    "default-chat-template-kwargs",
    "mm-processor-kwargs",
    "model-loader-extra-config",
)
"""JSON arguments that no config class reads: there a number has no suffix."""

TEXT_OR_JSON = ("additional-config", "hf-overrides", "model-loader-extra-config")
"""JSON arguments of which the engine's parser, from vLLM 0.9.2 on, takes any text as it is that has no braces."""

_NEGATIVE = lazy_pattern(r"-\d+(\.\d+)?")
_GLUED_SHORT = lazy_pattern(r"(-[a-z]{1,3})=?(\d.*)", re.DOTALL)
_OPTIMISATION = lazy_pattern(r"-O\.?(\d?)")
MAX_WORDS = 10_000
MAX_DOTS = 50
QUOTED = lazy_pattern(r"(['\"])([^'\"\s{}\[\]]+)\1")
"""A value that is in quotes of its own: no value of the engine is meant to."""


_COMMAND = lazy_pattern(r"[A-Za-z_./][\w./-]*")
_NO_COMMANDS = frozenset({"true", "false", "none", "null", "auto"})


def _is_swallowed(word: Text) -> bool:
    """Whether a word that belongs to no flag begins a line after one that ends with a backslash: a new command."""
    text, at = word.source.text, word.spots[0]
    start = text.rfind("\n", 0, at) + 1
    if start < 2 or text[start:at].strip() or text[start - 2] != "\\":
        return False
    return _COMMAND.fullmatch(word.value) is not None and word.value.lower() not in _NO_COMMANDS


def _swallowed(word: Text) -> Fault:
    return Fault(
        "shell",
        word.origin(),
        Msg(
            f"{word.value} becomes an argument of the engine: the line before ends with a backslash",
            f"{word.value} 成了引擎的参数：上一行以反斜杠结尾",
        ),
        help=Msg("remove the backslash from the engine's last line", "删掉引擎命令最后一行的反斜杠"),
    )


def read_arguments(words: Words, node: NodeLaunch) -> list[Fault]:
    """Fill ``node``'s model and arguments from the words after ``vllm serve``; return faults met on the way.

    Words know the syntax in which their form has expanded them: there is no other way to an engine.
    """
    reader = _Words(list(words), node)
    reader.read()
    return reader.faults


class _Words:
    def __init__(self, words: list[Text], node: NodeLaunch) -> None:
        self.words = words[:MAX_WORDS]
        self.behind = words[MAX_WORDS:]
        self.node = node
        self.at = 0
        self.faults: list[Fault] = []
        self.args: list[Arg] = []
        self.dotted: dict[str, list[tuple[list[str], Arg]]] = {}

    def read(self) -> None:
        while self.at < len(self.words):
            word = self.unquoted(self.words[self.at])
            self.at += 1
            if word.value == HOLE * 2 or (word.value == HOLE and self.node.program == "api_server"):
                self.node.partial = True  # an array, or arguments in a variable: any number of words
            elif _is_flag(word):
                self.flag(word)
            elif self.node.model is None and word.value.strip():
                self.node.model = word.node()
            else:
                self.stray(word)
        if self.behind:
            self.node.partial = True
            limit = Msg(f"more than {MAX_WORDS} words in one command", f"一条命令超过 {MAX_WORDS} 个词")
            self.faults.append(not_followed(self.behind[0].origin(), limit))
        self.node.add(*self.args)
        self.merge_dotted()
        model = self.node.value("model")
        if model is not None and (self.node.model is None or self.node.program == "api_server"):
            self.node.model = model

    def unquoted(self, word: Text) -> Text:
        """Take off quotes that reached the engine: something else had already taken off those of the shell."""
        if not QUOTED.fullmatch(word.value):
            return word
        inner = word.part(1, len(word.value) - 1)
        self.faults.append(
            Fault(
                "shell",
                word.origin(),
                Msg(
                    f"the quotes are part of the argument {word.value}: it is quoted twice",
                    f"引号成了参数 {word.value} 的一部分：加了两次引号",
                ),
                help=Msg(
                    f"write {inner.value} with one pair of quotes, or none",
                    f"只用一对引号写 {inner.value}，或者不加引号",
                ),
            )
        )
        return inner

    def stray(self, word: Text) -> None:
        if not word.value.strip():
            kind, en = "blank-word", "an argument of only blanks is passed to the engine"
            self.faults.append(Fault(kind, word.origin(), Msg(en, "向引擎传入了一个只含空白的参数")))
        elif HOLE in word.value:
            self.node.partial = True
        elif _is_swallowed(word):
            self.faults.append(_swallowed(word))
            self.at = len(self.words)
        else:
            self.args.append(Arg("", word.value, word.origin(), word.node(), text=word))

    def flag(self, word: Text) -> None:
        written, glued = _split(word)
        name = _long_name(written)
        base = name.partition(".")[0]
        self.node.partial |= HOLE in base  # it may be any flag, and give what no other does
        values = [glued] if glued is not None else self.values(base, name)
        if base not in JSON_ARGS:
            values = [self.unquoted(value) for value in values]
        nodes = [self.value_node(base if base == name else "", value) for value in values]
        arg = Arg(
            base if base in JSON_ARGS else name,
            written,
            word.origin(0, len(written)),
            nodes[0] if nodes else None,
            tuple(nodes[1:]),
            word.part(0, len(written)),
        )
        if base != name and base in JSON_ARGS:
            self.dotted.setdefault(base, []).append((name.split(".")[1:], arg))
        else:
            self.args.append(arg)

    def values(self, base: str, name: str) -> list[Text]:
        if switch_of(name) is not None:
            return []
        most = len(self.words) if base in LISTS else 1
        found: list[Text] = []
        while len(found) < most and self.at < len(self.words) and not _is_flag(self.words[self.at]):
            found.append(self.words[self.at])
            self.at += 1
        return found

    def value_node(self, name: str, value: Text) -> Node:
        if name not in JSON_ARGS or (name in TEXT_OR_JSON and value.value.strip()[:1] not in ("{", "[", "'", '"')):
            return value.node()
        if value.value.strip(HOLE + " ") == "" and HOLE in value.value:
            return value.node()
        tree, faults = parse_json(value, sizes=name not in PLAIN_JSON)
        self.faults += faults
        tree.text = value
        return tree

    def merge_dotted(self) -> None:
        """Make one argument of ``--kv-transfer-config.kv_role X`` and its like, after all others, as the parser does.

        A whole ``--kv-transfer-config`` beside them is thereby replaced, wherever it is: the last one wins.
        """
        for base, parts in self.dotted.items():
            first = parts[0][1]
            tree = Node({}, first.origin)
            for path, arg in parts:
                if len(path) <= MAX_DOTS:
                    _put(tree, path, arg)
                else:
                    limit = Msg(f"a key more than {MAX_DOTS} deep", f"键超过 {MAX_DOTS} 层")
                    self.faults.append(not_followed(arg.origin, limit, Msg("it is not checked", "这一处没有检查")))
            self.node.add(Arg(base, first.written, first.origin, tree))


def _put(tree: Node, path: list[str], arg: Arg) -> None:
    for step in path[:-1]:
        if not isinstance(tree.value, dict):
            return
        tree = tree.value.setdefault(step, Node({}, arg.origin, key=arg.origin))
    if isinstance(tree.value, dict):
        value = Node(True, arg.origin) if arg.value is None else _typed(arg.value)
        value.key, value.key_text = arg.origin, _last_step(arg)
        tree.value[path[-1].rstrip("+")] = value


def _last_step(arg: Arg) -> Text | None:
    """Return the characters of the last name of a dotted flag."""
    start = arg.written.rfind(".") + 1
    return arg.text.part(start, len(arg.text.value)) if arg.text is not None else None


def _typed(node: Node) -> Node:
    """Read a dotted flag's value as JSON where it is JSON, as vLLM does; else it stays a string."""
    if node.text is None or isinstance(node.value, Unknown):
        return node
    tree, faults = parse_json(node.text)
    return node if faults else tree


def _is_flag(word: Text) -> bool:
    value = word.value
    return (
        value.startswith("-") and len(value) > 1 and not _NEGATIVE.fullmatch(value) and "\n" not in value.split("=")[0]
    )


def _split(word: Text) -> tuple[str, Text | None]:
    """Split ``--flag=value``, ``-tp8`` and ``-O3`` into the flag and its value."""
    value = word.value
    if value.startswith("--"):
        cut = value.find("=")
        return (value, None) if cut < 0 else (value[:cut], word.part(cut + 1, len(value)))
    if value not in SHORT and value[:2] in SHORT and value[2:3] not in ("", "="):
        return value[:2], word.part(2, len(value))
    if (match := _GLUED_SHORT.fullmatch(value)) and match[1] in SHORT:
        return match[1], word.part(match.start(2), len(value))
    if "=" in value:
        cut = value.index("=")
        return value[:cut], word.part(cut + 1, len(value))
    if (match := _OPTIMISATION.fullmatch(value)) and match[1]:
        return "-O", word.part(len(value) - 1, len(value))
    return value, None


def _long_name(written: str) -> str:
    if written in SHORT:
        return SHORT[written]
    head, dot, rest = (written[2:] if written.startswith("--") else written.lstrip("-")).partition(".")
    if not written.startswith("--"):
        if f"-{head}" not in SHORT and head != "O":
            return written  # one dash before a long name: no flag to the engine
        head = SHORT.get(f"-{head}", head)
    return _whole(head.replace("_", "-")) + dot + rest


@cache
def _whole(name: str) -> str:
    """Return the flag that a name stands for: a beginning is enough where only one flag of any release fits."""
    if not name or name in _NAMES:
        return name
    fitting = [known for known in _NAMES if known.startswith(name)]
    return fitting[0] if len(fitting) == 1 else name
