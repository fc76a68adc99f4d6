"""Arguments that a Python file gives to a server in its own process: ``sys.argv += […]``, ``parse_args([…])``."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence

from pd_launch.launcher.sources.engine.unfollowed import unseen
from pd_launch.launcher.sources.engine.wrapped import API_SERVER, engine_words
from pd_launch.launcher.sources.python.commands import Commands
from pd_launch.launcher.sources.python.texts import made
from pd_launch.schemas.core.launch import EnvVar
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.values import HOLE, Origin, SourceFile, Text

_ARGV = "sys.argv"
_PARSES = ("parse_args", "parse_known_args")
_SERVER = lazy_pattern(r"\b(?:make_arg_parser|add_cli_args|from_cli_args|run_server|api_server|run_(?:module|path))\b")
"""Names of vLLM's by which a file runs a server, or takes its options."""
_COMMAND = lazy_pattern(r"\bvllm\.(?:entrypoints\.cli|scripts)\b|run_module\(\s{0,9}[\"']vllm[\"']")
_OWN_OPTION = lazy_pattern(r"\.add_argument\(")


class OwnArguments:
    """Reads what a file sets its own arguments to, where a server of vLLM in it takes them."""

    def __init__(
        self,
        source: SourceFile,
        commands: Commands,
        origin: Callable[[ast.expr], Origin],
        env: Mapping[str, EnvVar],
    ) -> None:
        self.source, self.commands, self.origin, self.env = source, commands, origin, env
        self.command = _COMMAND.search(source.text) is not None
        self.server = "vllm" in source.text and _SERVER.search(source.text) is not None
        self.own_options = _OWN_OPTION.search(source.text) is not None

    def read(self, nodes: Sequence[ast.AST], tests: bool) -> None:
        """Read what the nodes of a file set; a test's arguments are there to be looked at."""
        for node in nodes:
            for value, program in _set(node):
                self.arguments(value, program)
            if not tests and self.server and isinstance(node, ast.Call) and _is_parse(node):
                self.arguments(node.args[0], False)

    def arguments(self, value: ast.expr, program: bool) -> None:
        """Read a list of words; ``program``: whether the first is the name of the program."""
        words = self.commands.words(value)
        named = words[0].value.rpartition("/")[2] if words and program else ""
        if program and engine_words(words) is not None:
            self.commands.run(words, self.origin(value), self.env)
        if named == "vllm" or not (self.command or self.server):
            return
        words = words[1:] if program else words
        known = [word for word in words if word.value.strip(HOLE)]
        if not known:
            return  # whoever starts the file gives them
        start = self.start(words, value)
        if start is None or (self.own_options and not self.command):
            if any(word.value.startswith("--") for word in known):
                self.commands.found.add_faults([unseen(self.origin(value))])
            return
        self.commands.run([*start, *words], self.origin(value), self.env)

    def start(self, words: Sequence[Text], place: ast.expr) -> list[Text] | None:
        """Return the words of the program that takes these arguments, or None where it is not known which does."""
        if words[0].value == "serve" and (self.command or self.server):
            start: tuple[str, ...] = ("vllm",)
        elif self.server and words[0].value.startswith("-") and not self.command:
            start = ("python3", "-m", API_SERVER)
        else:
            return None
        return [made(word, self.source, self.origin(place)) for word in start]


def _set(node: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
    """Iterate over what a statement puts into ``sys.argv``, and whether that begins with the program's name."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
        if ast.unparse(target) == _ARGV:
            yield node.value, True
        elif isinstance(target, ast.Subscript) and _is_argv_from(target):
            yield node.value, ast.unparse(target.slice).startswith(("0:", ":"))
    elif isinstance(node, ast.AugAssign) and ast.unparse(node.target) == _ARGV:
        yield node.value, False
    elif isinstance(node, ast.Call) and len(node.args) == 1 and ast.unparse(node.func) == f"{_ARGV}.extend":
        yield node.args[0], False


def _is_argv_from(target: ast.Subscript) -> bool:
    return isinstance(target.slice, ast.Slice) and ast.unparse(target.value) == _ARGV


def _is_parse(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in _PARSES and bool(call.args)
