"""Functions and loops of Python files that start engines: a copy of the body for each call and each element.

A name that a copy assigns gets a name of its own there, and a parameter is replaced by what the call gives, so each
copy reads like code that was written out.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from pd_launch.schemas.core.msg import Msg

MAX_COPIES = 64
"""Bodies of loops and functions that are written out."""
_MAX_NODES = 20_000
_MAX_DEPTH = 4
_MAX_RANGE = 32
_STARTERS = ("Process", "Thread", "submit", "apply_async", "run_in_executor")
"""What calls the function that it is given."""

_APPENDING = ("append", "extend")

Bindings = Mapping[str, ast.expr]
Cut = Callable[[ast.AST, Sequence[ast.AST], Msg], None]
"""Is told where following stops, what is not followed there, and at which limit, in English and Chinese."""


def written_out(tree: ast.Module, starts: Collection[str], cut: Cut) -> ast.Module:
    """Return the module with a copy of each function and loop that calls one of ``starts``, for each use of it."""
    return _Flow(tree, starts, cut).module() if _calls(tree, starts) else tree


class _Flow:
    def __init__(self, tree: ast.Module, starts: Collection[str], cut: Cut) -> None:
        self.tree = tree
        self.cut = cut
        self.direct = starts
        self.counted = 0
        self.partial = False
        """Whether the mapping that was looked at last has entries that are not known."""
        self.active: dict[str, list[str]] = {}
        """The functions that are being followed, each with what it starts itself."""
        self.copies = self.nodes = self.nodes_added = 0
        self.lists: dict[str, list[ast.expr]] = {}
        functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                self.lists.setdefault(node.targets[0].id, []).append(node.value)
        names = set(starts)
        for _ in range(_MAX_DEPTH):  # a function that calls one that starts an engine starts one too
            names |= {function.name for function in functions if _calls(function, names)}
        self.starts = names
        named = [function.name for function in functions]
        self.functions = {f.name: f for f in functions if f.name in names and named.count(f.name) == 1}

    def module(self) -> ast.Module:
        used = [node for node in ast.walk(self.tree) if isinstance(node, ast.Call) and self.used(node)]
        called = {name for call in used if (name := self.used(call))}
        inside = {id(node) for name in called for node in ast.walk(self.functions[name])}
        if not called and not any(isinstance(node, ast.For) for node in ast.walk(self.tree)):
            return self.tree
        for node in list(ast.walk(self.tree)):
            if isinstance(inner := getattr(node, "body", None), list):
                node.body = [s for s in inner if not (_is_function(s) and s.name in called)]  # type: ignore[attr-defined]
        met = {id(node) for s in self.tree.body if not _is_function(s) for node in ast.walk(s)}
        body = self.block(self.tree.body, 0)
        for call in used:
            if id(call) not in inside and id(call) not in met:  # in a class or in a function that nothing calls
                body += self.call(call, 0)
        return ast.Module(body, self.tree.type_ignores)

    def used(self, call: ast.Call) -> str | None:
        """Return the function of the file that a call runs, by itself or in a process of its own."""
        name = _name(call.func)
        if name in self.functions and isinstance(call.func, ast.Attribute) == _is_method(self.functions[name]):
            return name
        target = next((k.value for k in call.keywords if k.arg == "target"), None)
        if name in _STARTERS and target is None and call.args:
            target = call.args[0]
        given = _name(target) if target is not None and name in _STARTERS else ""
        return given if given in self.functions else None

    def block(self, statements: list[ast.stmt], depth: int) -> list[ast.stmt]:
        """Return statements with those loops and calls written out that start engines."""
        made: list[ast.stmt] = []
        for statement in statements:
            if isinstance(statement, ast.For) and _builds(statement):
                made += self.added(statement)
                continue
            if isinstance(statement, ast.For) and _calls(statement, self.starts):
                made += self.loop(statement, depth)
                continue
            for name in ("body", "orelse", "finalbody"):
                inner = getattr(statement, name, None)
                if isinstance(inner, list) and _calls(statement, self.starts) and not _is_function(statement):
                    setattr(statement, name, self.block(inner, depth))
            made.append(statement)
            heads = _heads(statement)
            made += [new for head in heads for call in _calls_in(head) for new in self.call(call, depth)]
        return made

    def loop(self, loop: ast.For, depth: int) -> list[ast.stmt]:
        elements = self.elements(loop.iter)
        if self.counted > _MAX_RANGE:
            self.left(loop, Msg(f"more than {_MAX_RANGE} rounds of a loop", f"循环超过 {_MAX_RANGE} 轮"))
            self.counted = 0
        bound = [_bound(loop.target, element) for element in elements]
        if bound and None not in bound and self.too_deep(loop, depth):
            return [loop]
        if not bound or None in bound:
            loop.body = self.block(loop.body, depth)
            return [loop]
        made: list[ast.stmt] = []
        for bindings in bound:
            made += self.copied(loop.body, bindings or {}, depth, loop)
        return made

    def added(self, loop: ast.For) -> list[ast.stmt]:
        """Return what each round of a loop adds to lists and texts; the loop itself where not all of it can be said."""
        self.partial = False
        elements = self.elements(loop.iter)
        whole, self.counted = self.counted <= _MAX_RANGE and not self.partial, 0
        bound = [bindings for element in elements if (bindings := _bound(loop.target, element)) is not None]
        self.nodes_added += len(elements) * sum(1 for statement in loop.body for _ in ast.walk(statement))
        if not elements or not whole or len(bound) < len(elements) or self.nodes_added > _MAX_NODES:
            return [loop]
        return [_Names(one, set(), "").visit(copy.deepcopy(statement)) for one in bound for statement in loop.body]

    def left(self, node: ast.AST, limit: Msg) -> None:
        """Tell that a loop or a call is followed no further, with the functions that it calls."""
        inside, met = [node], set[str]()
        for part in inside:
            names = {name for call in _calls_in(part) if (name := self.used(call)) and name not in met}
            met |= names
            inside += [self.functions[name] for name in sorted(names)]
        self.cut(node, inside, limit)

    def too_deep(self, node: ast.AST, depth: int) -> bool:
        """Whether loops and calls are inside each other too deep to be followed."""
        if depth >= _MAX_DEPTH:
            self.left(
                node,
                Msg(f"more than {_MAX_DEPTH} loops and calls inside each other", f"循环和调用嵌套超过 {_MAX_DEPTH} 层"),
            )
        return depth >= _MAX_DEPTH

    def call(self, call: ast.Call, depth: int) -> list[ast.stmt]:
        name = self.used(call)
        if name is None:
            return []
        function = self.functions[name]
        bindings = _arguments(function, call, _name(call.func) != name)
        started = self.started(function, bindings)
        outer = self.active.get(name)
        if outer == started or self.too_deep(call, depth):
            return []  # one that calls itself starts the same again
        self.active[name] = started
        made = self.copied(function.body, bindings, depth, call)
        if outer is None:
            del self.active[name]
        else:
            self.active[name] = outer
        return made

    def started(self, function: ast.FunctionDef | ast.AsyncFunctionDef, bindings: Bindings) -> list[str]:
        """Return what a call of a function starts by itself, to compare with another."""
        found = [call for call in _calls_in(function) if _name(call.func) in self.direct]
        return [ast.dump(_Names(bindings, set(), "").visit(copy.deepcopy(call))) for call in found]

    def copied(self, body: list[ast.stmt], bindings: Bindings, depth: int, place: ast.AST) -> list[ast.stmt]:
        if self.copies >= MAX_COPIES:
            self.left(
                place, Msg(f"more than {MAX_COPIES} rounds of loops and calls", f"循环和调用超过 {MAX_COPIES} 次")
            )
            return []
        self.nodes += sum(1 for statement in body for _ in ast.walk(statement))
        if self.nodes > _MAX_NODES:
            self.left(place, Msg("loops and calls too long to expand", "循环和调用太长，无法展开"))
            return []
        self.copies += 1
        local = {
            node.id
            for statement in body
            for node in ast.walk(statement)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        shared = {n for s in body for node in ast.walk(s) if isinstance(node, ast.Global) for n in node.names}
        names = _Names(bindings, local - shared, f"·{self.copies}")
        made = [names.visit(copy.deepcopy(statement)) for statement in body]
        for name, values in [(n + names.suffix, v) for n in local for v in self.lists.get(n, [])]:
            self.lists.setdefault(name, []).append(names.visit(copy.deepcopy(values)))
        return self.block(made, depth + 1)

    def elements(self, iterated: ast.expr) -> list[ast.expr]:
        """Return the elements that a loop runs over, where they are written in the file."""
        if isinstance(iterated, ast.Name):
            values = self.lists.get(iterated.id, [])
            return self.elements(values[0]) if len(values) == 1 and not isinstance(values[0], ast.Name) else []
        if isinstance(iterated, (ast.List, ast.Tuple)):
            return [] if any(isinstance(element, ast.Starred) for element in iterated.elts) else list(iterated.elts)
        if not isinstance(iterated, ast.Call):
            return []
        name = _name(iterated.func)
        if name == "range":
            numbers = [a.value for a in iterated.args if isinstance(a, ast.Constant) and isinstance(a.value, int)]
            known = numbers and len(numbers) == len(iterated.args) <= 2
            counted = range(*numbers) if known else range(0)
            self.counted = max(self.counted, min(len(counted), _MAX_RANGE + 1))
            return [ast.copy_location(ast.Constant(number), iterated) for number in counted[:_MAX_RANGE]]
        if name == "items" and isinstance(iterated.func, ast.Attribute):
            mapping = iterated.func.value
            found = self.lists.get(mapping.id, []) if isinstance(mapping, ast.Name) else [mapping]
            table = found[0] if len(found) == 1 else None
            if isinstance(table, ast.Call) and _name(table.func) == "dict" and not table.args:
                names = [ast.copy_location(ast.Constant(k.arg), k.value) if k.arg else None for k in table.keywords]
                table = ast.Dict([*names], [keyword.value for keyword in table.keywords])
            if not isinstance(table, ast.Dict):
                return []
            self.partial = None in table.keys  # ``**more``
            pairs = zip(table.keys, table.values, strict=True)
            return [_tuple([key, value], value) for key, value in pairs if key is not None]
        columns = [self.elements(argument) for argument in iterated.args]
        if name == "enumerate" and len(columns) == 1:
            return [_tuple([ast.copy_location(ast.Constant(i), e), e], e) for i, e in enumerate(columns[0])]
        if name == "zip" and columns:
            return [_tuple(list(row), row[0]) for row in zip(*columns, strict=False)]
        return []


class _Names(ast.NodeTransformer):
    """Puts what is bound in the place of names, and gives the names of one copy a suffix."""

    def __init__(self, bindings: Bindings, local: set[str], suffix: str) -> None:
        self.bindings = {name: value for name, value in bindings.items() if name not in local}
        self.local, self.suffix = local, suffix

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.local:
            node.id += self.suffix
        elif node.id in self.bindings and isinstance(node.ctx, ast.Load):
            return copy.deepcopy(self.bindings[node.id])
        return node


def _tuple(elements: list[ast.expr], place: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Tuple(elements, ast.Load()), place)


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _calls(node: ast.AST, names: Collection[str]) -> bool:
    """Whether a call, or a function that is handed on, below ``node`` has one of ``names``."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call):
            given = [keyword.value for keyword in inner.keywords if keyword.arg == "target"] + inner.args[:1]
            if _name(inner.func) in names or (
                _name(inner.func) in _STARTERS and any(_name(value) in names for value in given)
            ):
                return True
    return False


def _adds(node: ast.AST) -> bool:
    """Whether a statement adds to what a name holds."""
    return isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and isinstance(node.target, ast.Name)


def _builds(loop: ast.For) -> bool:
    """Whether a loop does nothing but add to lists and texts, as a command is built, and nothing to itself."""
    grown, given = set[str](), set[str]()
    for statement in loop.body:
        if isinstance(statement, ast.AugAssign) and _adds(statement):
            target, values = statement.target, [statement.value]
        elif isinstance(statement, ast.Expr) and _appends(statement.value):
            target, values = statement.value.func.value, statement.value.args  # type: ignore[attr-defined]
        else:
            return False
        grown |= {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}
        given |= {node.id for value in values for node in ast.walk(value) if isinstance(node, ast.Name)}
    return not loop.orelse and not grown & given  # what adds itself to itself doubles


def _appends(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _APPENDING


def _calls_in(node: ast.AST) -> Iterator[ast.Call]:
    return (inner for inner in ast.walk(node) if isinstance(inner, ast.Call))


def _is_function(node: ast.AST) -> bool:
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))


def _is_method(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return [arg.arg for arg in function.args.args[:1]] in (["self"], ["cls"])


def _heads(statement: ast.stmt) -> list[ast.AST]:
    """Return the parts of a statement that it runs itself: not the blocks below it."""
    if _is_function(statement):
        return []
    return [child for child in ast.iter_child_nodes(statement) if not isinstance(child, ast.stmt)]


def _bound(target: ast.expr, element: ast.expr) -> dict[str, ast.expr] | None:
    """Return what a loop's names are for one element; None where that cannot be said."""
    if isinstance(target, ast.Name):
        return {target.id: element}
    if not isinstance(target, (ast.Tuple, ast.List)) or not isinstance(element, (ast.Tuple, ast.List)):
        return None
    if len(target.elts) != len(element.elts):
        return None
    found: dict[str, ast.expr] = {}
    for name, value in zip(target.elts, element.elts, strict=True):
        inner = _bound(name, value)
        if inner is None:
            return None
        found.update(inner)
    return found


def _arguments(function: ast.FunctionDef | ast.AsyncFunctionDef, call: ast.Call, handed: bool) -> dict[str, ast.expr]:
    """Return what the parameters of a function are in a call; of one that is handed on, what ``args`` gives."""
    args = function.args
    names = [arg.arg for arg in [*args.posonlyargs, *args.args]]
    found = dict(zip(names[len(names) - len(args.defaults) :], args.defaults, strict=True))
    found |= {arg.arg: value for arg, value in zip(args.kwonlyargs, args.kw_defaults, strict=True) if value is not None}
    positional, keywords = list(call.args), list(call.keywords)
    if handed:
        given = next((k.value for k in keywords if k.arg == "args"), None)
        more = next((k.value for k in keywords if k.arg == "kwargs"), None)
        positional = list(given.elts) if isinstance(given, (ast.Tuple, ast.List)) else positional[1:]
        keywords = [k for k in more.keywords if k.arg] if isinstance(more, ast.Call) else []
        if isinstance(more, ast.Dict):
            entries = zip(more.keys, more.values, strict=True)
            found |= {str(k.value): v for k, v in entries if isinstance(k, ast.Constant)}
    if _is_method(function):
        names = names[1:]
    if not any(isinstance(value, ast.Starred) for value in positional):
        found |= dict(zip(names, positional, strict=False))
        if args.vararg is not None:
            found[args.vararg.arg] = ast.copy_location(ast.Tuple(positional[len(names) :], ast.Load()), call)
    elif args.vararg is not None and not names:
        found[args.vararg.arg] = ast.copy_location(ast.Tuple(positional, ast.Load()), call)
    return found | {k.arg: k.value for k in keywords if k.arg in {*names, *(arg.arg for arg in args.kwonlyargs)}}
