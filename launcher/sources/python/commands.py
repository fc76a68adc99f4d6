"""Commands in Python files: ``subprocess.Popen(["vllm", "serve", …])``, ``os.system("…")``, servers of test suites."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from pd_launch.launcher import budget
from pd_launch.launcher.sources.engine.around import Around
from pd_launch.launcher.sources.engine.engines import image_engine, nest_scripts, read_command, with_variables
from pd_launch.launcher.sources.engine.found import Found, Nested
from pd_launch.launcher.sources.engine.prose import is_script_text
from pd_launch.launcher.sources.engine.wrapped import engine_words, unwrap
from pd_launch.launcher.sources.python.texts import made
from pd_launch.launcher.sources.shell.model import Command
from pd_launch.launcher.sources.shell.weight import word_matters
from pd_launch.launcher.sources.text.interpolate import PYTHON, expand, split_words
from pd_launch.launcher.sources.text.limits import not_followed
from pd_launch.schemas.core.launch import EnvVar
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import HOLE, Node, Origin, SourceFile, Text

RUNNERS = frozenset(
    {"Popen", "run", "call", "check_call", "check_output", "system", "create_subprocess_exec", "popen", "getoutput"}
    | {
        "create_subprocess_shell",
        "getstatusoutput",
        "spawn",
        "exec_command",
        "exec_run",
        "execv",
        "execve",
        "execvp",
        "execvpe",
        "execl",
        "execlp",
    }
    | {"exec_command", "exec_run"}
    | {"spawnv", "spawnvp", "spawnve", "spawnvpe", "spawnl", "spawnlp"}
)
EXECS = {"execv": 1, "execve": 1, "execvp": 1, "execvpe": 1, "spawnv": 2, "spawnvp": 2, "spawnve": 2, "spawnvpe": 2}
"""Functions that start a program, and which of their arguments is the list of its words."""
LISTED = {"execl": 1, "execlp": 1, "spawnl": 2, "spawnlp": 2}
"""Functions that start a program, and from which argument on its words begin."""
SERVERS = frozenset({"RemoteOpenAIServer", "RemoteVLLMServer"})
"""Classes of test suites that start ``vllm serve`` with a model and a list of arguments."""
JOINED = ("' '.join", "shlex.join")
PAIR = "RemotePDServer"
"""A class of vllm-ascend's test suite that starts one server for each list of arguments."""

MAX_WORDS = 2000
MAX_LISTS = 2000
"""Lists that the words of one call are put together of; after them any number of words follows."""
_COMMANDS = ("args", "cmd", "command", "commands")
_WRITES = ("write", "write_text")
_IN_CONTAINER = ("containers.run", "containers.create")
_KEEP_WORDS = (("filter", "None"), ("map", "str"), ("map", "os.fspath"))
_QUOTES = lazy_pattern(r"['\"\\]")
_EITHER = -1_000_000
"""Marks branches among those of engines of which a condition starts one."""


def handed(call: ast.Call, target: ast.Name | ast.Attribute) -> ast.Call | None:
    """Return the call that ``Process(target=os.system, args=("…",))`` makes, where it runs a command."""
    given = next((k.value for k in call.keywords if k.arg == "args"), None)
    if target_name(target) not in RUNNERS or not isinstance(given, (ast.Tuple, ast.List)):
        return None
    return ast.copy_location(ast.Call(target, list(given.elts), []), call)


def _apart(word: Text) -> list[Text]:
    """Return the words that a shell makes of one that was joined with others by blanks."""
    return split_words(word)[0] if re.search(r"[\s'\"\\]", word.value) else [word]


def target_name(target: ast.Name | ast.Attribute) -> str:
    """Return the last part of a function's name."""
    return target.attr if isinstance(target, ast.Attribute) else target.id


def _is_copy(value: ast.expr) -> bool:
    """Whether a value is ``list(…)`` or ``tuple(…)`` of another."""
    named = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in ("list", "tuple")
    return named and isinstance(value, ast.Call) and len(value.args) == 1


def _same_words(value: ast.Call) -> ast.expr | None:
    """Return the list whose words a call gives again, each of them: a copy, ``filter(None, …)``, ``map(str, …)``."""
    if _is_copy(value):
        return value.args[0]
    named = isinstance(value.func, ast.Name) and len(value.args) == 2
    if named and (ast.unparse(value.func), ast.unparse(value.args[0])) in _KEEP_WORDS:
        return value.args[1]
    return None


def variables(mapping: Node) -> dict[str, EnvVar]:
    """Return the variables that a mapping sets; what it may hold beside them is none."""
    return {name: EnvVar(name, value, "python") for name, value in mapping.items() if name != HOLE}


class Commands:
    """Reads the commands that calls of one file run.

    ``node`` gives an expression's value, ``only`` what a name holds where it is used, ``env`` what the file puts
    into its own environment, ``entries`` what it assigns to entries of other mappings.
    """

    def __init__(
        self,
        source: SourceFile,
        found: Found,
        node: Callable[[ast.expr], Node],
        only: Callable[[ast.expr], ast.expr],
        env: Mapping[str, EnvVar],
        entries: Mapping[str, Mapping[str, ast.expr]],
        origin: Callable[[ast.expr], Origin],
    ) -> None:
        self.source, self.found, self.node, self.only = source, found, node, only
        self.env, self.entries, self.origin = env, entries, origin
        self.steps = 0
        self.unknown = False
        """Whether a command is run of which nothing is known."""
        self.seen: set[tuple[int, int]] = set()
        """Where expressions begin that were read as commands."""

    def read(self, name: str, call: ast.Call, origin: Origin) -> None:
        """Read the call of ``name`` if it runs a command."""
        target = next((k.value for k in call.keywords if k.arg == "target"), None)
        if isinstance(target, (ast.Name, ast.Attribute)) and (inner := handed(call, target)) is not None:
            self.read(inner.func.attr if isinstance(inner.func, ast.Attribute) else target_name(target), inner, origin)
            return
        self.steps = 0
        given = list(call.args) or [k.value for k in call.keywords if k.arg in _COMMANDS][:1]
        if not given:
            return
        env = self._environment(call)
        serve = [made(word, self.source, origin) for word in ("vllm", "serve")]
        if name in SERVERS and len(given) > 1:
            self.run([*serve, self._word(given[0]), *self.words(given[1])], origin, env)
        elif name == PAIR:
            listed = self.only(given[0])
            for side in listed.elts if isinstance(listed, (ast.List, ast.Tuple)) else ():
                self.run([*serve, *self.words(side)], origin, env)
        elif name in EXECS:
            for part in given[EXECS[name] : EXECS[name] + 1]:
                self.run(self.words(part), origin, env)
        elif name in LISTED:
            self.run([word for part in given[LISTED[name] :] for word in self._words_of(part)], origin, env)
        elif name == "create_subprocess_exec":
            self.run([word for part in given for word in self._words_of(part)], origin, env)
        elif ast.unparse(call.func).endswith(_IN_CONTAINER):
            self._container(given[0], [*given[1:2], *self._named(call)], origin, env)
        elif name in _WRITES:
            self._written(given[0], call, origin, env)
        elif name in RUNNERS:
            self._runner(given[0], call, origin, env)
        elif not self.container({k.arg: k.value for k in call.keywords if k.arg}, origin, env):
            for part in self._named(call):
                self.whole([part, *(k.value for k in call.keywords if k.arg == "args")], origin, env)

    def _runner(self, given: ast.expr, call: ast.Call, origin: Origin, env: Mapping[str, EnvVar]) -> None:
        """Read what ``subprocess.run`` and its like run: a text, a list, or what text and lists are made of."""
        written = self.only(given)
        if isinstance(written, ast.IfExp):
            number = len(self.found.nodes)
            for branch, part in enumerate((written.body, written.orelse)):
                before = len(self.found.nodes)
                self._runner(part, call, origin, env)
                for node in self.found.nodes[before:]:
                    node.branches = (*node.branches, (_EITHER - number, branch))
            return
        first = self._split(written)
        text = self.node(first).text
        if text is not None and isinstance(written, ast.Call) and ast.unparse(written.func) == "shlex.split":
            self.run(split_words(text)[0], origin, env)  # nothing is filled in, and no sign is an operator
            return
        if text is not None and first is not written:
            text = text.quoted("split", text.spots[0])  # quotes would stay
            text = replace(text, value=text.value.replace("\n", " "))  # cut at any blank
        if isinstance(first, ast.Call) and first.args and ast.unparse(first.func) in JOINED:
            words = self.words(first.args[0])
            if ast.unparse(first.func) == JOINED[0]:  # a shell takes the text apart again
                words = [part for word in words for part in _apart(word)]
            self.run(words, origin, env)
        elif text is not None:
            self.seen.update(
                (first.lineno, first.col_offset) for first in ast.walk(first) if isinstance(first, ast.expr)
            )
            self.found.nested.append(Nested(text, with_variables(env, origin), env))
        elif isinstance(first, (ast.List, ast.Tuple, ast.BinOp)) or _is_copy(first):
            read = next((k.value for k in call.keywords if k.arg == "input"), None)
            body = self.node(read).text if read is not None else None
            self.run(self.words(given), origin, env, body)
        else:
            self.unknown = True

    def _written(self, given: ast.expr, call: ast.Call, origin: Origin, env: Mapping[str, EnvVar]) -> None:
        """Read a script that a program writes: by the name of its file, or by its first line."""
        text = self.node(self.only(given)).text
        named = ".sh" in ast.unparse(call.func)
        if text is not None and is_script_text(text.value) and (named or text.value.startswith("#!")):
            self.found.nested.append(Nested(text, with_variables(env, origin), env))

    def _named(self, call: ast.Call) -> list[ast.expr]:
        """Return what a call gives as ``command=``: of a container, a job, a helper of the file's own."""
        return [keyword.value for keyword in call.keywords if keyword.arg == "command"]

    def whole(self, parts: Sequence[ast.expr], origin: Origin, env: Mapping[str, EnvVar]) -> None:
        """Read a list of words that is handed to something unknown, where it is the command of an engine."""
        lists = [self.only(part) for part in parts]
        words = [word for part in lists if isinstance(part, (ast.List, ast.Tuple)) for word in self.words(part)]
        if engine_words(unwrap(words)[0]) is not None:
            self.run(words, origin, env)

    def _container(
        self, image: ast.expr, command: Sequence[ast.expr], origin: Origin, env: Mapping[str, EnvVar]
    ) -> None:
        """Read what docker's library runs in a container: ``containers.run("vllm/vllm-openai", […])``."""
        for part in command[:1]:
            self.run(image_engine(expand(self._listed(part), PYTHON), self.node(image), False), origin, env)

    def container(self, given: Mapping[str, ast.expr], origin: Origin, env: Mapping[str, EnvVar]) -> bool:
        """Read the command of a container that an object or a mapping describes; return whether it is one."""
        image = self.node(given["image"]) if "image" in given else None
        if image is None or not isinstance(image.value, str):
            return False
        words = [word for name in ("command", "args") if name in given for word in self._listed(given[name])]
        if words and word_matters(" ".join([image.value, *(word.value for word in words)])):
            program = "command" in given and not words[0].value.startswith("-")
            self.run(image_engine(expand(words, PYTHON), image, program), origin, env)
        return True

    def _listed(self, part: ast.expr) -> list[Text]:
        """Return the words of a list, or of a text that is taken apart at blanks."""
        text = self.node(part).text
        return split_words(text)[0] if text is not None else self.words(part)

    def _split(self, expression: ast.expr) -> ast.expr:
        """Return the string that ``"…".split()`` and ``shlex.split("…")`` cut into words."""
        function = expression.func if isinstance(expression, ast.Call) else None
        if not isinstance(function, ast.Attribute) or function.attr != "split" or not isinstance(expression, ast.Call):
            return expression
        if ast.unparse(function.value) == "shlex" and expression.args:
            return self.only(expression.args[0])
        return expression if expression.args else self.only(function.value)

    def _text_of_split(self, value: ast.Call) -> Text | None:
        """Return the text that a call cuts at blanks, or takes apart as a shell does."""
        cut = self._split(value)
        text = self.node(cut).text if cut is not value else None
        if text is None or ast.unparse(value.func) == "shlex.split":
            return text
        text = text.quoted("split", text.spots[0])  # quotes would stay
        return None if _QUOTES.search(text.value) else text

    def _environment(self, call: ast.Call) -> dict[str, EnvVar]:
        """Return the file's own environment with what the call adds to it."""
        env = dict(self.env)
        for keyword in call.keywords:
            if keyword.arg not in ("env", "env_dict"):
                continue
            env |= variables(self.node(self.only(keyword.value)))
            more = self.entries.get(keyword.value.id, {}) if isinstance(keyword.value, ast.Name) else {}
            env.update({name: EnvVar(name, self.node(value), "python") for name, value in more.items()})
        return env

    def run(self, words: Sequence[Text], origin: Origin, env: Mapping[str, EnvVar], body: Text | None = None) -> None:
        """Read what a list of words starts, with what it is given to read."""
        self.unknown |= all(word.value.strip(HOLE) == "" for word in words[:1])
        if words:
            if len(words) > MAX_WORDS:
                limit = Msg(f"more than {MAX_WORDS} words in one command", f"一条命令超过 {MAX_WORDS} 个词")
                self.found.add_faults([not_followed(words[MAX_WORDS].origin(), limit)])
            given = expand(words[:MAX_WORDS], PYTHON)
            command = Command(given, {}, origin, body)
            finish = with_variables(env, origin)
            if not read_command(command, "python", self.source.path, self.found, finish):
                nest_scripts(given, origin, self.found, finish, Around(env=env), body)

    def words(self, expression: ast.expr, depth: int = 0) -> list[Text]:
        """Return the words of a list; what is not written there is a word that may stand for any number of them."""
        budget.step()
        self.steps += 1
        value = self.only(expression) if self.steps <= MAX_LISTS else expression
        self.seen.add((value.lineno, value.col_offset))
        if depth < 10 and isinstance(value, (ast.List, ast.Tuple)):
            return [word for element in value.elts for word in self._words_of(element, depth)]
        if depth < 10 and isinstance(value, ast.Call) and (same := _same_words(value)) is not None:
            return self.words(same, depth + 1)
        if isinstance(value, ast.Call) and (text := self._text_of_split(value)) is not None:
            return split_words(text)[0]
        if depth < 10 and isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
            return [*self.words(value.left, depth + 1), *self.words(value.right, depth + 1)]
        return [self._hole(expression, 2)]

    def _words_of(self, element: ast.expr, depth: int = 0) -> list[Text]:
        if isinstance(element, ast.Starred):
            return self.words(element.value, depth + 1)
        return [self._word(element)]

    def _word(self, expression: ast.expr) -> Text:
        node = self.node(expression)
        if node.text is not None:
            return node.text
        known = isinstance(node.value, str)
        return made(node.value, self.source, node.origin) if known else self._hole(expression, 1)

    def _hole(self, expression: ast.expr, length: int) -> Text:
        return made(HOLE * length, self.source, self.origin(expression))
