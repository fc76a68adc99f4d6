"""Commands in Python files: ``subprocess.Popen(["vllm", "serve", …])``, ``os.system("…")``, servers of test suites."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection

from pd_launch.launcher.sources.engines import Found, read_command
from pd_launch.launcher.sources.shell import Command
from pd_launch.schemas.values import HOLE, Node, Origin, SourceFile, Text

RUNNERS = frozenset({"Popen", "run", "call", "check_call", "check_output", "system", "create_subprocess_exec"})
SERVERS = frozenset({"RemoteOpenAIServer", "RemoteVLLMServer"})
"""Classes of test suites that start ``vllm serve`` with a model and a list of arguments."""

MAX_WORDS = 2000


class Commands:
    """Reads the commands that calls of one file run.

    ``node`` gives an expression's value, ``only`` what a name is once assigned, ``grown`` the lists that grow later.
    """

    def __init__(
        self,
        source: SourceFile,
        found: Found,
        node: Callable[[ast.expr], Node],
        only: Callable[[ast.expr], ast.expr],
        grown: Collection[str],
    ) -> None:
        self.source, self.found, self.node, self.only, self.grown = source, found, node, only, grown

    def read(self, name: str, call: ast.Call, origin: Origin) -> None:
        """Read the call of ``name`` if it runs a command."""
        if not call.args:
            return
        if name in SERVERS and len(call.args) > 1:
            made = [self._made(word, origin) for word in ("vllm", "serve")]
            self._run([*made, self._word(call.args[0]), *self._words(call.args[1])], origin)
        elif name in RUNNERS:
            first = self.only(call.args[0])
            if isinstance(first, (ast.List, ast.Tuple, ast.BinOp)):
                self._run(self._words(call.args[0]), origin)
            elif name == "create_subprocess_exec":
                self._run([word for part in call.args for word in self._words_of(part)], origin)
            elif (text := self.node(first).text) is not None:
                self.found.nested.append((text, lambda node: None))

    def _run(self, words: list[Text], origin: Origin) -> None:
        if words:
            read_command(Command(words[:MAX_WORDS], {}, origin), "python", self.source.path, self.found)

    def _words(self, expression: ast.expr, depth: int = 0) -> list[Text]:
        """Return the words of a list; what is not written there is a word that may stand for any number of them."""
        value = self.only(expression)
        if depth < 10 and isinstance(value, (ast.List, ast.Tuple)):
            words = [word for element in value.elts for word in self._words_of(element, depth)]
            grown = isinstance(expression, ast.Name) and expression.id in self.grown
            return [*words, self._hole(expression, 2)] if grown else words
        if depth < 10 and isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
            return [*self._words(value.left, depth + 1), *self._words(value.right, depth + 1)]
        return [self._hole(expression, 2)]

    def _words_of(self, element: ast.expr, depth: int = 0) -> list[Text]:
        if isinstance(element, ast.Starred):
            return self._words(element.value, depth + 1)
        return [self._word(element)]

    def _word(self, expression: ast.expr) -> Text:
        if isinstance(expression, ast.Call) and isinstance(expression.func, ast.Name) and len(expression.args) == 1:
            inner = self.node(expression.args[0])
            if expression.func.id == "str" and isinstance(inner.value, (int, float)):
                return self._made(str(inner.value), inner.origin)
        node = self.node(expression)
        if node.text is not None:
            return node.text
        return self._made(node.value, node.origin) if isinstance(node.value, str) else self._hole(expression, 1)

    def _hole(self, expression: ast.expr, length: int) -> Text:
        return self._made(HOLE * length, self.node(expression).origin)

    def _made(self, value: str, origin: Origin) -> Text:
        """Return a text all of whose characters stand where ``origin`` begins."""
        start = self.source.offset(origin.line, origin.column)
        return Text(value, self.source, [start] * (len(value) + 1))
