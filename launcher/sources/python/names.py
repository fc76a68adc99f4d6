"""What names of a Python file hold where they are used: assignments, and lists and texts that grow after them.

Statements are gone through in the order in which they are written out (``python.flow``). What is in a condition or
a loop may or may not have happened; a name that several branches set is not known.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

MAX_GROWN = 4_000
"""Elements that a list may grow by; one more is any number of them."""
_MOST_STEPS = 10
"""Names that stand for names."""
_METHODS = ("append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_Key = tuple[int, str]


class _Place(NamedTuple):
    at: int
    scope: int
    owner: int
    """The class around it."""


class _Event(NamedTuple):
    """Something that happens to a name."""

    at: int
    scope: int
    sure: bool
    repeated: bool
    """Whether it is in a loop, so that it may come before what is written before it."""
    sets: bool
    value: ast.expr | None
    """What is assigned or added; None: not known."""


class Names:
    """The names of one file."""

    def __init__(self, tree: ast.Module) -> None:
        self.events: dict[_Key, list[_Event]] = {}
        self.places: dict[int, _Place] = {}
        self.outer: dict[int, int] = {}
        self.functions: dict[str, list[ast.FunctionDef | ast.AsyncFunctionDef]] = {}
        self.made: dict[tuple[int, int], ast.expr] = {}
        self.at = 0
        self.shared: set[_Key] = set()
        self.block(tree.body, 0, 0, True, False)

    def block(self, statements: Sequence[ast.stmt], scope: int, owner: int, sure: bool, repeated: bool) -> None:
        """Go through statements of one scope."""
        for statement in statements:
            self.at += 1
            self.statement(statement, scope, owner, sure, repeated)

    def statement(self, statement: ast.stmt, scope: int, owner: int, sure: bool, repeated: bool) -> None:
        """Take in what one statement does to names."""
        place = _Place(self.at, scope, owner)
        if isinstance(statement, (*_FUNCTIONS, ast.ClassDef)):
            self.definition(statement, place, sure, repeated)
            return
        if isinstance(statement, ast.Global):
            self.shared.update((scope, name) for name in statement.names)
        for head in (child for child in ast.iter_child_nodes(statement) if not isinstance(child, ast.stmt)):
            self.expression(head, place, sure, repeated)
        for event_of, value, sets in _changes(statement):
            self.note(event_of, place, sure, repeated, sets, value)
        loops = isinstance(statement, (ast.For, ast.AsyncFor, ast.While))
        certain = isinstance(statement, (ast.With, ast.AsyncWith, ast.Try))
        for name in ("body", "orelse", "finalbody"):
            inner = getattr(statement, name, None)
            if isinstance(inner, list):
                self.block(inner, scope, owner, sure and certain, repeated or loops)
        for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
            self.block(part.body, scope, owner, False, repeated)

    def definition(
        self,
        made: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef,
        place: _Place,
        sure: bool,
        repeated: bool,
    ) -> None:
        """Go through a function or a class; parameters are what a call gives."""
        self.outer[id(made)] = place.scope
        for decorator in made.decorator_list:
            self.expression(decorator, place, sure, repeated)
        inner = _Place(self.at, id(made), id(made) if isinstance(made, ast.ClassDef) else place.owner)
        if not isinstance(made, ast.ClassDef):
            self.functions.setdefault(made.name, []).append(made)
            args = made.args
            for default in (*args.defaults, *(value for value in args.kw_defaults if value is not None)):
                self.expression(default, place, sure, repeated)
            every = (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg)
            for name in (arg.arg for arg in every if arg is not None):
                self.events.setdefault((id(made), name), []).append(_Event(self.at, id(made), True, False, True, None))
        self.block(made.body, inner.scope, inner.owner, True, False)

    def expression(self, head: ast.AST, place: _Place, sure: bool, repeated: bool) -> None:
        """Take in where the names of an expression are, and what it assigns by itself."""
        for node in ast.walk(head):
            if isinstance(node, (ast.Name, ast.Attribute, ast.Call)):
                self.places[id(node)] = place
            if isinstance(node, ast.NamedExpr):
                self.note(node.target, place, sure, repeated, True, node.value)
            elif isinstance(node, ast.comprehension):
                for name in (part for part in ast.walk(node.target) if isinstance(part, ast.Name)):
                    self.note(name, place, False, True, True, None)

    def note(
        self, target: ast.expr, place: _Place, sure: bool, repeated: bool, sets: bool, value: ast.expr | None
    ) -> None:
        """Take in that something happens to a name."""
        key = self.key(target, place)
        if key is not None:
            event = _Event(place.at, place.scope, sure, repeated, sets, value)
            self.events.setdefault(key, []).append(event)

    def key(self, target: ast.expr, place: _Place) -> _Key | None:
        """Return what a name is known by: its scope, or the class of an attribute of ``self``."""
        if isinstance(target, ast.Name):
            return (0 if (place.scope, target.id) in self.shared else place.scope), target.id
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self":
            return place.owner, f"self.{target.attr}"
        return None

    def only(self, expression: ast.expr) -> ast.expr:
        """Return what an expression stands for where that is known, by what else it may be written; else itself."""
        for _ in range(_MOST_STEPS):
            found = self.step(expression)
            if found is None:
                break
            expression = found
        return expression

    def step(self, expression: ast.expr) -> ast.expr | None:
        """Return what an expression stands for at once, or None."""
        if isinstance(expression, (ast.Name, ast.Attribute)):
            return self.held(expression)
        if isinstance(expression, ast.NamedExpr):
            return expression.value
        if isinstance(expression, ast.Subscript):
            return self.entry(expression)
        if isinstance(expression, ast.Call) and isinstance(expression.func, ast.Name):
            return self.returned(expression.func.id)
        return None

    def entry(self, expression: ast.Subscript) -> ast.expr | None:
        """Return the entry of a mapping that is written in the file."""
        table, key = self.only(expression.value), expression.slice
        if not isinstance(table, ast.Dict) or not isinstance(key, ast.Constant):
            return None
        pairs = list(zip(table.keys, table.values, strict=True))
        fitting = [value for name, value in pairs if isinstance(name, ast.Constant) and name.value == key.value]
        return fitting[0] if len(fitting) == 1 and all(name is not None for name, _ in pairs) else None

    def returned(self, name: str) -> ast.expr | None:
        """Return what a function of the file returns, where that is one expression."""
        made = self.functions.get(name, [])
        returns = [node for node in ast.walk(made[0]) if isinstance(node, ast.Return)] if len(made) == 1 else []
        return returns[0].value if len(returns) == 1 else None

    def held(self, use: ast.Name | ast.Attribute) -> ast.expr | None:
        """Return what a name holds at one use of it; None where that is not known."""
        place = self.places.get(id(use), _Place(self.at + 1, 0, 0))
        key = self.key(use, place)
        events = self.events.get(key) if key is not None else None
        scope = place.scope
        while events is None and key is not None and isinstance(use, ast.Name) and scope:
            scope = self.outer.get(scope, 0)
            events = self.events.get((scope, use.id))
        sets = [event for event in events or () if event.sets]
        if not events or not sets:
            return None
        before = [event for event in sets if event.at < place.at] if place.scope == sets[0].scope else sets
        if len(sets) > 1 and not (
            before and all(event.sure for event in sets) and place.scope == sets[0].scope == sets[-1].scope
        ):
            return None
        base = (before or sets)[-1]
        return self.grown(base, events, place) if base.value is not None else None

    def grown(self, base: _Event, events: Sequence[_Event], place: _Place) -> ast.expr:
        """Return the value of an assignment with what was added to it before a place."""
        here = place.scope == base.scope
        added = [
            event
            for event in events
            if not event.sets
            and event.at > base.at
            and not (here and event.scope == base.scope and event.at >= place.at and not event.repeated)
        ]
        assert base.value is not None
        known = (id(base.value), len(added))
        if not added:
            return base.value
        if known not in self.made:
            self.made[known] = _joined(self.only(base.value), base, added)
        return self.made[known]


def _changes(statement: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr | None, bool]]:
    """Iterate over what a statement changes: the target, the value, and whether it is set or added to."""
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            if isinstance(target, (ast.Tuple, ast.List)):
                yield from ((part, None, True) for part in ast.walk(target) if isinstance(part, ast.Name))
            else:
                yield target, statement.value, True
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        yield statement.target, statement.value, True
    elif isinstance(statement, ast.AugAssign):
        added = statement.value if isinstance(statement.op, ast.Add) else None
        yield statement.target, added, False
    elif isinstance(statement, (ast.For, ast.AsyncFor)):
        yield from ((part, None, True) for part in ast.walk(statement.target) if isinstance(part, ast.Name))
    elif isinstance(statement, (ast.With, ast.AsyncWith)):
        named = [item.optional_vars for item in statement.items if item.optional_vars is not None]
        yield from ((part, None, True) for name in named for part in ast.walk(name) if isinstance(part, ast.Name))
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        if isinstance(call.func, ast.Attribute) and call.func.attr in _METHODS:
            yield call.func.value, _added(call), False


def _added(call: ast.Call) -> ast.expr | None:
    """Return the list that ``append`` or ``extend`` adds, ``insert`` itself; None of what changes a list otherwise."""
    assert isinstance(call.func, ast.Attribute)
    if call.func.attr == "insert" and len(call.args) == 2:
        return call
    if len(call.args) != 1 or call.func.attr not in ("append", "extend"):
        return None
    if call.func.attr == "append":
        return ast.copy_location(ast.List([call.args[0]], ast.Load()), call)
    return call.args[0]


def _joined(value: ast.expr, base: _Event, added: Sequence[_Event]) -> ast.expr:
    """Return a value with what was added to it: one list of a list, sums of anything else; a mapping stays as it is."""
    assert base.value is not None
    if isinstance(value, (ast.Dict, ast.Set)) or (isinstance(value, ast.Call) and ast.unparse(value.func) == "dict"):
        return base.value
    parts = [event.value if event.sure and event.scope == base.scope else None for event in added]
    if not isinstance(value, (ast.List, ast.Tuple)):
        total = base.value
        for part in parts[:MAX_GROWN]:
            more = part if part is not None else _unknown(base.value)
            total = ast.copy_location(ast.BinOp(total, ast.Add(), more), base.value)
        return total
    elements = list(value.elts)
    for part in parts:
        if part is not None and (inserted := _inserted(part, elements)) is not None:
            elements = inserted
            continue
        if len(elements) > len(value.elts) + MAX_GROWN:
            elements.append(_starred(_unknown(value)))
            break
        elements += part.elts if isinstance(part, (ast.List, ast.Tuple)) else [_starred(part or _unknown(value))]
    return ast.copy_location(ast.List(elements, ast.Load()), value)


def _inserted(part: ast.expr, elements: list[ast.expr]) -> list[ast.expr] | None:
    """Return a list with what ``insert`` puts at a place in it that is known; None where it is not, or for others."""
    if not isinstance(part, ast.Call) or not isinstance(part.func, ast.Attribute) or part.func.attr != "insert":
        return None
    index = part.args[0].value if isinstance(part.args[0], ast.Constant) else None
    if not isinstance(index, int) or index < 0 or any(isinstance(one, ast.Starred) for one in elements[:index]):
        return None
    return [*elements[:index], part.args[1], *elements[index:]]


def _unknown(place: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Name("…", ast.Load()), place)


def _starred(value: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Starred(value, ast.Load()), value)
