"""Commands in Python files: ``subprocess.Popen(["vllm", "serve", …])``, ``os.system("…")``, servers of test suites."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from pd_launch.launcher.sources.engine.engines import Found, Nested, nest_scripts, read_command, with_variables
from pd_launch.launcher.sources.engine.mounted import Around
from pd_launch.launcher.sources.python.texts import made
from pd_launch.launcher.sources.shell.model import Command
from pd_launch.launcher.sources.text.interpolate import PYTHON, expand
from pd_launch.launcher.sources.text.limits import not_followed
from pd_launch.schemas.core.launch import EnvVar
from pd_launch.schemas.core.values import HOLE, Node, Origin, SourceFile, Text

RUNNERS = frozenset(
    {"Popen", "run", "call", "check_call", "check_output", "system", "create_subprocess_exec", "popen", "getoutput"}
    | {"create_subprocess_shell", "getstatusoutput", "spawn", "execv", "execve", "execvp", "execvpe", "execl", "execlp"}
    | {"spawnv", "spawnvp", "spawnve", "spawnvpe", "spawnl", "spawnlp"}
)
EXECS = {"execv": 1, "execve": 1, "execvp": 1, "execvpe": 1, "spawnv": 2, "spawnvp": 2, "spawnve": 2, "spawnvpe": 2}
"""Functions that start a program, and which of their arguments is the list of its words."""
LISTED = {"execl": 1, "execlp": 1, "spawnl": 2, "spawnlp": 2}
"""Functions that start a program, and from which argument on its words stand."""
SERVERS = frozenset({"RemoteOpenAIServer", "RemoteVLLMServer"})
"""Classes of test suites that start ``vllm serve`` with a model and a list of arguments."""
JOINED = ("' '.join", "shlex.join")
PAIR = "RemotePDServer"
"""A class of vllm-ascend's test suite that starts one server for each list of arguments."""

MAX_WORDS = 2000


class Commands:
    """Reads the commands that calls of one file run.

    ``node`` gives an expression's value, ``only`` what a name is once assigned, ``grown`` the lists that grow later,
    ``env`` what the file puts into its own environment, ``entries`` what it assigns to entries of other mappings.
    """

    def __init__(
        self,
        source: SourceFile,
        found: Found,
        node: Callable[[ast.expr], Node],
        only: Callable[[ast.expr], ast.expr],
        grown: Collection[str],
        env: Mapping[str, EnvVar],
        entries: Mapping[str, Mapping[str, ast.expr]],
    ) -> None:
        self.source, self.found, self.node, self.only, self.grown = source, found, node, only, grown
        self.env, self.entries = env, entries

    def read(self, name: str, call: ast.Call, origin: Origin) -> None:
        """Read the call of ``name`` if it runs a command."""
        if not call.args:
            return
        env = self._environment(call)
        serve = [made(word, self.source, origin) for word in ("vllm", "serve")]
        if name in SERVERS and len(call.args) > 1:
            self._run([*serve, self._word(call.args[0]), *self._words(call.args[1])], origin, env)
        elif name == PAIR:
            listed = self.only(call.args[0])
            for side in listed.elts if isinstance(listed, (ast.List, ast.Tuple)) else ():
                self._run([*serve, *self._words(side)], origin, env)
        elif name in EXECS:
            for part in call.args[EXECS[name] : EXECS[name] + 1]:
                self._run(self._words(part), origin, env)
        elif name in LISTED:
            self._run([word for part in call.args[LISTED[name] :] for word in self._words_of(part)], origin, env)
        elif name in RUNNERS:
            given = self.only(call.args[0])
            first = self._split(given)
            text = self.node(first).text
            if text is not None and first is not given:
                shell = isinstance(given, ast.Call) and ast.unparse(given.func) == "shlex.split"
                text = text if shell else text.quoted("split", text.spots[0])  # quotes would stay
                text = replace(text, value=text.value.replace("\n", " "))  # cut at any blank
            if name == "create_subprocess_exec":
                self._run([word for part in call.args for word in self._words_of(part)], origin, env)
            elif isinstance(first, ast.Call) and first.args and ast.unparse(first.func) in JOINED:
                self._run(self._words(first.args[0]), origin, env)
            elif text is not None:
                self.found.nested.append(Nested(text, with_variables(env, origin), env))
            elif isinstance(first, (ast.List, ast.Tuple, ast.BinOp)):
                self._run(self._words(call.args[0]), origin, env)

    def _split(self, expression: ast.expr) -> ast.expr:
        """Return the string that ``"…".split()`` and ``shlex.split("…")`` cut into words."""
        function = expression.func if isinstance(expression, ast.Call) else None
        if not isinstance(function, ast.Attribute) or function.attr != "split" or not isinstance(expression, ast.Call):
            return expression
        if ast.unparse(function.value) == "shlex" and expression.args:
            return self.only(expression.args[0])
        return expression if expression.args else self.only(function.value)

    def _environment(self, call: ast.Call) -> dict[str, EnvVar]:
        """Return the file's own environment with what the call adds to it."""
        env = dict(self.env)
        for keyword in call.keywords:
            if keyword.arg not in ("env", "env_dict"):
                continue
            for name, value in self.node(self.only(keyword.value)).items():
                env[name] = EnvVar(name, value, "python")
            more = self.entries.get(keyword.value.id, {}) if isinstance(keyword.value, ast.Name) else {}
            env.update({name: EnvVar(name, self.node(value), "python") for name, value in more.items()})
        return env

    def _run(self, words: list[Text], origin: Origin, env: Mapping[str, EnvVar]) -> None:
        if words:
            if len(words) > MAX_WORDS:
                limit, limit_zh = f"more than {MAX_WORDS} words of one command", f"一条命令超过 {MAX_WORDS} 个词"
                self.found.add_faults([not_followed(words[MAX_WORDS].origin(), limit, limit_zh)])
            given = expand(words[:MAX_WORDS], PYTHON)
            command = Command(given, {}, origin)
            finish = with_variables(env, origin)
            if not read_command(command, "python", self.source.path, self.found, finish):
                nest_scripts(given, origin, self.found, finish, Around(env=env))

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
        node = self.node(expression)
        if node.text is not None:
            return node.text
        known = isinstance(node.value, str)
        return made(node.value, self.source, node.origin) if known else self._hole(expression, 1)

    def _hole(self, expression: ast.expr, length: int) -> Text:
        return made(HOLE * length, self.source, self.node(expression).origin)
