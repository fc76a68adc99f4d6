"""Python files: engines that are built from literals, read from the syntax tree and never executed."""

from __future__ import annotations

import ast
import warnings
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from pd_launch.launcher import budget
from pd_launch.launcher.sources.engine.found import Found
from pd_launch.launcher.sources.engine.unfollowed import unseen
from pd_launch.launcher.sources.python.calculations import calculated
from pd_launch.launcher.sources.python.classes import Plainly, classes_of, uses_of
from pd_launch.launcher.sources.python.commands import PAIR, RUNNERS, SERVERS, Commands, variables
from pd_launch.launcher.sources.python.flow import written_out
from pd_launch.launcher.sources.python.held import MOST, held_back, shown_parts
from pd_launch.launcher.sources.python.names import Names
from pd_launch.launcher.sources.python.own_arguments import OwnArguments
from pd_launch.launcher.sources.python.texts import literals, made, spelled
from pd_launch.launcher.sources.shell.weight import word_matters
from pd_launch.launcher.sources.text.limits import NOT_PYTHON, not_followed
from pd_launch.launcher.sources.trees.json_tree import parse_json
from pd_launch.schemas.core.flag_shapes import LISTS
from pd_launch.schemas.core.launch import Arg, EnvVar, Fault, NodeLaunch
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import HOLE, Node, Origin, Site, SourceFile, Text, Unknown
from pd_launch.schemas.core.whole import is_boundless

CLASSES = frozenset({"LLM", "EngineArgs", "AsyncEngineArgs"})
ENGINES = CLASSES | {"LLMConfig"}
RAY_ARGUMENTS = "engine_kwargs"
"""Where Ray Serve's LLMConfig takes the engine's arguments; its own are none of the engine's."""
RAY = "LLMConfig"
KV_CONFIG = "KVTransferConfig"
_TESTERS = ("unittest", "pytest", "mock")
_LONE_RETURN = lazy_pattern(r"\r(?!\n)")
_SHOWN = 100
"""Characters of an expression that are kept of one that is not known."""
ENVIRON = ("os.environ", "environ")
_LEFT = Msg("the engines it starts from here on are not checked", "其余引擎没有检查")


def read_python(source: SourceFile, found: Found) -> None:
    """Add the engines that a Python file builds to ``found``."""
    try:
        with warnings.catch_warnings():  # they quote the file, raw, on standard error
            warnings.simplefilter("ignore")
            text = _LONE_RETURN.sub(" ", source.text)  # Python ends a line there, an editor does not
            tree = ast.parse(f"\f{text[1:]}" if text.startswith("\ufeff") else text)  # a sign that is no blank
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line, column = getattr(error, "lineno", None) or 1, getattr(error, "offset", None) or 1
        line = min(line, len(source.starts))
        origin = Origin(source.path, line, column, line, column + 1)
        message = getattr(error, "msg", None) or str(error)
        found.faults.append(
            Fault(NOT_PYTHON, origin, Msg(f"not valid Python: {message}", f"不是有效的 Python：{message}"))
        )
        return
    nodes, nested = len(found.nodes), len(found.nested)
    cuts: list[tuple[Fault, Sequence[ast.AST]]] = []

    def cut(node: Any, inside: Sequence[ast.AST], limit: Msg) -> None:
        place = Origin(source.path, node.lineno, 1, node.lineno, 2)
        cuts.append((not_followed(place, limit, _LEFT), inside))

    try:
        classes = classes_of(tree, CLASSES) if "vllm" in source.text else None
        uses: list[ast.expr] = []
        if classes is not None and classes.named:
            tree = Plainly(classes).visit(tree)
            tests = any(_tests(node) for node in ast.walk(tree))  # which look at classes in many ways
            uses = [] if tests else uses_of(tree, classes, shown_parts(tree))
        starts = ENGINES | RUNNERS | SERVERS | {PAIR, KV_CONFIG}
        _Reader(source, written_out(tree, starts, cut), found, uses).read()
        lines = [node.origin.line for node in found.nodes[nodes:]]
        lines += [item.text.origin().line for item in found.nested[nested:] if word_matters(item.text.value)]
        found.add_faults([fault for fault, inside in cuts if _holds(inside, lines)])
    except RecursionError:
        found.add_faults([not_followed(source.origin(0, 0), Msg("nested too deep", "嵌套过深"))])


def _holds(inside: Sequence[ast.AST], lines: Sequence[int]) -> bool:
    """Whether something that starts an engine is in one of these parts: others may go on as often as they like."""
    spans = [(getattr(part, "lineno", 0), getattr(part, "end_lineno", 0)) for part in inside]
    return any(first <= line <= last for first, last in spans for line in lines)


def _tests(node: ast.AST) -> bool:
    """Whether this imports what tests are written with, or is a test."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return node.name.startswith("test_")
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").partition(".")[0] in _TESTERS
    return isinstance(node, ast.Import) and any(name.name.partition(".")[0] in _TESTERS for name in node.names)


def _entries(mapping: ast.Dict) -> dict[str, ast.expr]:
    """Return the entries of a mapping whose names are written in it."""
    pairs = zip(mapping.keys, mapping.values, strict=True)
    return {key.value: value for key, value in pairs if isinstance(key, ast.Constant) and isinstance(key.value, str)}


class _Reader:
    def __init__(self, source: SourceFile, tree: ast.Module, found: Found, uses: Sequence[ast.expr]) -> None:
        self.source = source
        self.uses = uses
        """Where the file uses classes of engines: each must have been read in the end."""
        self.taken: set[tuple[int, int]] = set()
        """Where the calls of such classes begin that were read."""
        self.whole = Text.verbatim(source, 0, len(source.text))
        self.tree = tree
        self.found = found
        self.names = Names(tree)
        self.used: set[int] = set()
        self.env: dict[str, EnvVar] = {}
        self.following: set[int] = set()
        self.aliases: dict[str, str] = {}
        """Names that an import gives to a class: ``from vllm import LLM as Engine``."""
        self.entries: dict[str, dict[str, ast.expr]] = {}
        """What the file assigns to entries of a mapping, by the mapping's name."""
        self.spread: set[str] = set()
        """Names of functions' ``**kwargs``: each call has its own, so that entries of one say nothing of another."""

    def read(self) -> None:
        nodes = list(ast.walk(self.tree))
        self.spread = {node.kwarg.arg for node in nodes if isinstance(node, ast.arguments) and node.kwarg is not None}
        for node in nodes:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self.assign(target, node.value)
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                self.assign(node.target, node.value)
            elif isinstance(node, ast.ImportFrom):
                self.aliases.update({name.asname: name.name for name in node.names if name.asname})
        calls = [node for node in nodes if isinstance(node, ast.Call)]
        commands = Commands(self.source, self.found, self.node, self.names.only, self.env, self.entries, self.origin)
        for call in calls:
            self.update(call)
        for call in calls:
            if self.called(call) in ENGINES:
                self.engine(call, self.called(call) == RAY)
            else:
                commands.read(self.called(call), call, self.origin(call.func))
        for node in nodes:
            if isinstance(node, ast.Dict):
                commands.container(_entries(node), self.origin(node), self.env)
        tests = any(_tests(node) for node in nodes)
        OwnArguments(self.source, commands, self.origin, self.env).read(nodes, tests)
        if "vllm" in self.source.text and (commands.unknown or not tests):
            followed = sorted(self.followed())
            for part in held_back(self.tree, commands.seen, commands.unknown):
                place = self.origin(part)
                first = bisect_left(followed, self.source.offset(place.line, place.column))
                end = self.source.offset(place.end_line, place.end_column)
                if first == len(followed) or followed[first] >= end:
                    self.found.add_faults([unseen(place)])
        left = (use for use in self.uses if (use.lineno, use.col_offset) not in self.taken)
        self.found.add_faults([unseen(self.origin(use)) for use in islice(left, MOST)])
        if tests:
            return  # a test makes one to look at it, right or wrong
        for call in calls:
            if self.called(call) == KV_CONFIG and id(call) not in self.used:
                launch = self.launch(call)
                launch.partial = True  # the rest of the engine's arguments is elsewhere
                launch.add(self.argument("kv-transfer-config", call, call.func))
                self.found.nodes.append(launch)

    def followed(self) -> Iterator[int]:
        """Iterate over where words and scripts are that are read."""
        for node in self.found.nodes:
            for value in (node.model, *(arg.value for arg in node.args)):
                if value is not None and value.text is not None:
                    yield value.text.spots[0]
        for item in self.found.nested:
            yield item.text.spots[len(item.text.value) // 2]

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Subscript):
            name = self.node(target.slice).value
            if isinstance(name, str) and ast.unparse(target.value) in ENVIRON:
                found, before = self.entry(target.slice, value), self.env.get(name)
                if before is not None and before.value.value != found.value:
                    found = Node(Unknown(name), found.origin)  # one of them, and which engine has it is not known
                self.env[name] = EnvVar(name, found, "python")
            elif isinstance(name, str) and isinstance(target.value, ast.Name) and target.value.id not in self.spread:
                self.entries.setdefault(target.value.id, {})[name] = value

    def entry(self, key: ast.expr, value: ast.expr) -> Node:
        """Return a value with the place of its key."""
        name = self.node(key)
        return replace(self.node(value), key=name.origin, key_text=name.text, shadowed=[])

    def update(self, call: ast.Call) -> None:
        """Follow ``os.environ.update({…})`` and ``os.environ.setdefault("A", "1")``."""
        function = call.func
        if not isinstance(function, ast.Attribute) or ast.unparse(function.value) not in ENVIRON or not call.args:
            return
        if function.attr == "setdefault" and len(call.args) == 2:
            name = self.node(call.args[0]).value
            if isinstance(name, str):
                self.env[name] = EnvVar(name, self.entry(*call.args), "python")
        elif function.attr == "update":
            self.env |= variables(self.node(call.args[0]))

    def called(self, call: ast.Call) -> str:
        function = call.func
        if isinstance(function, ast.Attribute):
            if function.attr == "from_cli" and isinstance(function.value, ast.Name):
                return self.aliases.get(function.value.id, function.value.id)
            return function.attr
        return self.aliases.get(function.id, function.id) if isinstance(function, ast.Name) else ""

    def launch(self, call: ast.Call) -> NodeLaunch:
        origin = self.origin(call.func)
        return NodeLaunch("python", origin, self.source.path, env=dict(self.env), env_open=origin, program="python")

    def engine(self, call: ast.Call, ray: bool) -> None:
        launch = self.launch(call)
        self.taken.add((call.func.lineno, call.func.col_offset))
        launch.partial = ray
        if call.args and not isinstance(call.args[0], ast.Starred):
            launch.model = self.node(call.args[0])
        keywords = [k for k in call.keywords if not ray or k.arg == RAY_ARGUMENTS]
        if ray and not keywords:
            return
        for keyword in keywords:
            if keyword.arg is None or keyword.arg == RAY_ARGUMENTS:
                self.add_all(launch, keyword.value)
            else:
                start = self.source.offset(keyword.lineno, self.column(keyword.lineno, keyword.col_offset))
                place = Text.verbatim(self.source, start, start + len(keyword.arg))
                self.add(launch, keyword.arg, self.node(keyword.value), place)
        self.found.nodes.append(launch)

    def add_all(self, launch: NodeLaunch, mapping: ast.expr) -> None:
        """Add the entries of a mapping, and those that the file assigns to it later; one that is not known has more."""
        given = self.node(mapping)
        launch.partial |= not isinstance(given.value, dict)
        entries = dict(given.items())
        later = self.entries.get(mapping.id, {}) if isinstance(mapping, ast.Name) else {}
        entries.update({name: self.node(value) for name, value in later.items()})
        launch.partial |= entries.pop(HOLE, None) is not None
        for name, node in entries.items():
            self.add(launch, name, node, node.key_text or made(name, self.source, node.origin))

    def add(self, launch: NodeLaunch, name: str, value: Node, key: Text) -> None:
        flag, place = name.replace("_", "-"), key.origin()
        if flag == "model":
            launch.model = value
        elif value.value is True:
            launch.add(Arg(flag, name, place, text=key))
        elif value.value is False:
            launch.add(Arg(f"no-{flag}", name, place, text=key))
        elif flag in LISTS and isinstance(value.value, list) and value.value:
            launch.add(Arg(flag, name, place, value.value[0], tuple(value.value[1:]), key))
        elif value.value is not None:
            launch.add(Arg(flag, name, place, value, text=key))

    def argument(self, flag: str, value: ast.expr, place: ast.expr) -> Arg:
        return Arg(flag, flag, self.origin(place), self.node(value))

    def node(self, expression: ast.expr) -> Node:
        """Return an expression's value as far as it is literal; the rest is Unknown."""
        budget.step()
        origin = self.origin(expression)
        if isinstance(expression, ast.Constant):
            text = self.string(expression) if isinstance(expression.value, (str, bytes)) else None
            if isinstance(expression.value, bytes) and text is not None:
                return Node(text.value, origin, text=text)  # a program takes them like a string
            known = isinstance(expression.value, (str, int, float, bool, type(None)))
            if is_boundless(expression.value):
                return Node(Unknown("…"), origin)
            value = expression.value if known else Unknown(ast.unparse(expression))
            return Node(value, origin, text=text, site=self.site(origin))
        if isinstance(expression, ast.Dict):
            return Node(self.mapping(expression), origin, site=self.site(origin))
        if isinstance(expression, (ast.List, ast.Tuple)):
            return Node([self.node(element) for element in expression.elts], origin, site=self.site(origin))
        if isinstance(expression, (ast.Name, ast.Attribute)):
            return self.name(expression)
        text = spelled(expression, self.node, self.source, origin)
        if text is not None:
            return Node(text.node().value, origin, text=text)
        if isinstance(expression, ast.Call):
            return self.call(expression)
        value = calculated(expression)
        return Node(Unknown(ast.unparse(expression)) if value is None else value, origin)

    def mapping(self, expression: ast.Dict) -> dict[str, Node]:
        found: dict[str, Node] = {}
        for key, value in zip(expression.keys, expression.values, strict=True):
            if key is None:
                found.update(self.more(value))
                continue
            name = self.node(key).value
            if not isinstance(name, str):
                found[HOLE] = Node(Unknown(ast.unparse(value)[:_SHOWN]), self.origin(value))
            elif not isinstance(key, ast.Constant):
                found[name] = self.entry(key, value)
            else:
                entry = self.entry(key, value)
                if entry.site is not None and entry.origin == self.origin(value):
                    first = self.origin(key)
                    entry.site = replace(entry.site, entry=self.source.offset(first.line, first.column))
                if name in found:
                    entry.shadowed = [found[name]]
                found[name] = entry
        return found

    def more(self, expression: ast.expr) -> dict[str, Node]:
        """Return the entries that ``**`` adds; of what is not known, one whose key nobody knows.

        A program's own environment is none of these: what it may hold counts as unset everywhere.
        """
        given = self.node(expression)
        if isinstance(given.value, dict):
            return dict(given.items())
        if ast.unparse(expression).removesuffix(".copy()") in ENVIRON:
            return {}
        return {HOLE: Node(Unknown(ast.unparse(expression)[:_SHOWN]), given.origin)}

    def name(self, expression: ast.Name | ast.Attribute) -> Node:
        value = self.names.held(expression)
        if value is None or id(value) in self.following:
            return Node(Unknown(ast.unparse(expression)), self.origin(expression))
        self.following.add(id(value))
        found = self.node(value)
        self.following.discard(id(value))
        return found

    def call(self, expression: ast.Call) -> Node:
        name = self.called(expression)
        if name == KV_CONFIG:
            self.used.add(id(expression))
            if expression.args:
                return self.json(expression.args[0])
            entries: dict[str, Node] = {}
            for keyword in expression.keywords:
                if keyword.arg is None:
                    entries.update(self.more(keyword.value))
                    continue
                node = self.node(keyword.value)
                start = self.source.offset(keyword.lineno, self.column(keyword.lineno, keyword.col_offset))
                written = Text.verbatim(self.source, start, start + len(keyword.arg))
                site = replace(node.site, entry=start) if node.site else None
                entries[keyword.arg] = replace(node, shadowed=[], key=written.origin(), key_text=written, site=site)
            return Node(entries, self.origin(expression))
        if name == "loads" and expression.args:
            return self.json(expression.args[0])
        if name == "dict" and len(expression.args) < 2:
            known = self.more(expression.args[0]) if expression.args else {}
            for keyword in expression.keywords:
                known |= {keyword.arg: self.node(keyword.value)} if keyword.arg else self.more(keyword.value)
            return Node(known, self.origin(expression))
        return Node(Unknown(f"{name}(…)"), self.origin(expression))

    def site(self, origin: Origin) -> Site:
        start = self.source.offset(origin.line, origin.column)
        return Site(self.whole, start, self.source.offset(origin.end_line, origin.end_column), "python")

    def json(self, expression: ast.expr) -> Node:
        node = self.node(expression)
        if node.text is None:
            return node
        tree, faults = parse_json(node.text)
        self.found.faults += faults
        return tree

    def string(self, expression: ast.Constant) -> Text | None:
        """Return a string literal's characters, also of one with escapes or put together of several."""
        origin = self.origin(expression)
        start = self.source.offset(origin.line, origin.column)
        end = self.source.offset(origin.end_line, origin.end_column)
        raw = self.source.text[start:end]
        for quotes in ('"""', "'''", '"', "'"):
            if raw.startswith(quotes) and raw.endswith(quotes) and raw[len(quotes) : -len(quotes)] == expression.value:
                text = Text.verbatim(self.source, start + len(quotes), end - len(quotes))
                return text.quoted("python", start, quotes)
        value = expression.value
        return literals(
            self.source, start, end, value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        )

    def origin(self, node: Any) -> Origin:
        line, end_line = node.lineno, node.end_lineno or node.lineno
        column = self.column(line, node.col_offset)
        return Origin(self.source.path, line, column, end_line, self.column(end_line, node.end_col_offset or 0))

    def column(self, line: int, byte: int) -> int:
        """Turn Python's byte offset in a line into a column."""
        text = self.source.line(line)
        return byte + 1 if text.isascii() else len(text.encode()[:byte].decode("utf-8", "replace")) + 1
