"""The options that each connector reads from ``kv_connector_extra_config``, out of the sources of a build.

Read are the connector's own module and what it imports of the folders that connectors are made of, other connectors
left out; and what the engine itself reads: for the connector that it asks for by name, else, as ``*``, for every one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field

from pd_launch.launcher.builds.named import OPTIONS, one_of, outer_nodes, picked, spoken_of
from pd_launch.launcher.builds.source import Module, Package
from pd_launch.schemas.core.record import dataclass

FOLDERS = (
    "vllm.distributed.kv_transfer", "vllm.v1.kv_offload", "vllm.v1.simple_kv_offload",
    "vllm_ascend.distributed.kv_transfer", "vllm_ascend.kv_offload", "vllm_ascend.simple_kv_offload",
)  # fmt: skip
"""What connectors are made of."""

_ENGINE = ("vllm/config", "vllm/v1/core", "vllm_ascend")
_NOT_ENGINE = ("/kv_transfer/", "/ec_transfer/", "/model_loader/", "/kv_offload/", "/simple_kv_offload/")
_HANDS_OUT = "get_from_extra_config"
"""The function that gives every option to whoever asks, whatever it is called."""
_SPECS = "vllm.v1.kv_offload.factory"
_OFFLOADING = "vllm.distributed.kv_transfer.kv_connector.v1.offloading"
_MOST_MODULES = 400
_ASKED = frozenset({"get", "pop", "setdefault"})
_CASTS = {"int": "int", "float": "float", "bool": "truth", "str": "str"}

EVERY = "*"
"""Stands for every connector, and after a connector's name for keys that it reads whatever they are called."""


def read_options(package: Package, connectors: dict[str, list[str]]) -> dict[str, str]:
    """Return ``CONNECTOR.key`` → how it is read, for every registered connector.

    ``int`` and ``float`` are converted, ``str`` taken as a text, ``truth`` only looked at for being true; empty is
    anything else.
    """
    own = {module for module, _ in connectors.values()}
    found: dict[str, str] = {}
    seen: dict[str, _Reads] = {}
    for name, (start, _) in sorted(connectors.items()):
        reads = _Reads()
        for read in _closure(package, start, own - {start}, seen):
            reads.add(seen[read.name])
        found |= {f"{name}.{key}": kind for key, kind in reads.kinds()}
    reads = _Reads(names=frozenset(connectors))
    for path in (path for folder in _ENGINE for path in package.files.below(folder)):
        if not any(part in path for part in _NOT_ENGINE) and _asks(package, path):
            module = package.module(path.removesuffix(".py").replace("/", "."))
            if module is not None:
                reads.look(module)
    for name, of_it in reads.of_one.items():
        found |= {f"{name}.{key}": kind for key, kind in of_it.kinds() if f"{name}.{key}" not in found}
    return found | {f"{EVERY}.{key}": kind for key, kind in reads.kinds()}


def _asks(package: Package, path: str) -> bool:
    text = package.files.text(path) or ""
    return OPTIONS in text or _HANDS_OUT in text


def _closure(package: Package, start: str, others: set[str], known: dict[str, _Reads]) -> Iterator[Module]:
    """Iterate over a connector's module and the modules of the connectors' folders that it comes to.

    What each reads is put into ``known``.
    """
    waiting, seen = [start], {start}
    while waiting and len(seen) <= _MOST_MODULES:
        module = package.module(waiting.pop())
        if module is None:
            continue
        if module.name not in known:
            known[module.name] = _Reads(imports=sorted(_imported(module)))
            known[module.name].look(module)
        yield module
        # the specs of OffloadingConnector are registered as texts, in a factory that knows nothing of others
        wanted = [*known[module.name].imports, *([_SPECS] if module.name.startswith(_OFFLOADING) else [])]
        for name in wanted:
            is_factory = name.endswith(".factory") and name != _SPECS
            if name not in seen and name not in others and name.startswith(FOLDERS) and not is_factory:
                seen.add(name)
                waiting.append(name)


def _imported(module: Module) -> Iterator[str]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom):
            name = module.absolute(node)
            yield name
            yield from (f"{name}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith(FOLDERS):
            yield node.value


@dataclass
class _Reads:
    """Keys that were seen to be read, each with every way in which it is."""

    found: dict[str, set[str]] = field(default_factory=dict)
    imports: list[str] = field(default_factory=list)
    names: frozenset[str] = frozenset()
    """Connectors of which the engine's own code may speak by name."""
    of_one: dict[str, _Reads] = field(default_factory=dict)
    """What it reads for one of these alone."""

    def add(self, other: _Reads) -> None:
        """Take over what another module was seen to read."""
        for key, ways in other.found.items():
            self.found.setdefault(key, set()).update(ways)

    def kinds(self) -> Iterator[tuple[str, str]]:
        """Iterate over the keys, each with how it is read; empty where that differs."""
        for key, ways in sorted(self.found.items()):
            yield key, next(iter(ways)) if len(ways) == 1 else ""

    def look(self, module: Module) -> None:
        """Note what a module reads."""
        if "extra_config" not in module.text:
            return
        names, lists = _names(module.tree), picked(module.tree, self.names)
        outer = outer_nodes(module.tree)
        for node in _outside(module.tree, _HANDS_OUT):
            key, default = _read(node, names)
            owner = one_of(_asked(node), lists)
            if owner:
                key, default = _key_of(node)
            if key is None:
                if isinstance(node, ast.Call) and _whole(node, names):
                    self._note(EVERY, "", "")
                continue
            if not isinstance(node, ast.expr):
                continue
            owner = owner or spoken_of(node, outer, self.names)
            for word in _words(key, module):
                self._note(word, _kind(outer.get(id(node)), default), owner)

    def _note(self, key: str, kind: str, owner: str) -> None:
        reads = self.of_one.setdefault(owner, _Reads()) if owner else self
        reads.found.setdefault(key, set()).add(kind)


def _outside(node: ast.AST, function: str) -> Iterator[ast.AST]:
    """Iterate over a tree's nodes, without what lies in functions of that name."""
    if isinstance(node, ast.FunctionDef) and node.name == function:
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _outside(child, function)


def _asked(node: ast.AST) -> ast.AST:
    """Return what a call or a subscript takes something out of, else the node itself."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ASKED:
        return node.func.value
    return node.value if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) else node


def _key_of(node: ast.AST) -> tuple[ast.expr | None, ast.expr | None]:
    if isinstance(node, ast.Call):
        return (node.args[0] if node.args else None), (node.args[1] if len(node.args) > 1 else None)
    return (node.slice, None) if isinstance(node, ast.Subscript) else (None, None)


def _names(tree: ast.Module) -> frozenset[str]:
    """Return the last parts of the names to which a module gives the options as a whole."""
    found: set[str] = set()
    for node in ast.walk(tree):
        value, targets = None, []
        if isinstance(node, ast.Assign):
            value, targets = node.value, list(node.targets)
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
            value, targets = node.value, [node.target]
        if value is not None and _is_whole(value, frozenset()):
            found |= {target.id if isinstance(target, ast.Name) else target.attr for target in targets
                      if isinstance(target, (ast.Name, ast.Attribute))}  # fmt: skip
    return frozenset(found)


def _is_whole(node: ast.expr, names: frozenset[str]) -> bool:
    """Whether an expression stands for all options of a connector."""
    if isinstance(node, ast.BoolOp):
        return _is_whole(node.values[0], names)
    if isinstance(node, ast.IfExp):
        return _is_whole(node.body, names) or _is_whole(node.orelse, names)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "dict"):
        return any(_is_whole(argument, names) for argument in node.args) or any(
            isinstance(argument, ast.Constant) and argument.value == OPTIONS for argument in node.args
        )
    if not isinstance(node, (ast.Name, ast.Attribute)):
        return False
    last = node.id if isinstance(node, ast.Name) else node.attr
    if last.endswith("extra_config"):
        return not last.startswith(("ec_", "model_loader"))
    return last in names


def _read(node: ast.AST, names: frozenset[str]) -> tuple[ast.expr | None, ast.expr | None]:
    """Return the key that a piece of code asks the options for, and the default."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        words = [*node.args, *(keyword.value for keyword in node.keywords)]
        own = node.func.attr == _HANDS_OUT
        if words and (own or (node.func.attr in _ASKED and _is_whole(node.func.value, names))):
            return words[0], words[1] if len(words) > 1 else None
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and _is_whole(node.value, names):
        return node.slice, None
    elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In) and _is_whole(node.comparators[0], names):
        return node.left, None
    return None, None


def _whole(call: ast.Call, names: frozenset[str]) -> bool:
    """Whether all options are gone through, whatever they are called."""
    function = call.func
    return isinstance(function, ast.Attribute) and function.attr == "items" and _is_whole(function.value, names)


def _words(key: ast.expr, module: Module) -> list[str]:
    """Return the keys that an expression may stand for; :data:`EVERY` where that is not known."""
    if isinstance(key, ast.Name):
        given = [
            node.value
            for node in ast.walk(module.tree)
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name) and target.id == key.id
        ]
        value = module.value(key)
        words = [value] if isinstance(value, str) else [w for expression in given for w in _texts(expression)]
        loops = [w for node in ast.walk(module.tree) if isinstance(node, (ast.For, ast.comprehension))
                 if isinstance(node.target, ast.Name) and node.target.id == key.id
                 for w in _of_loop(node.iter, module)]  # fmt: skip
        return list(dict.fromkeys([*words, *loops])) or [EVERY]
    return _texts(key) or [EVERY]


def _of_loop(over: ast.expr, module: Module) -> list[str]:
    value = module.value(over)
    return [word for word in value if isinstance(word, str)] if isinstance(value, (list, tuple, set)) else _texts(over)


def _texts(expression: ast.expr) -> list[str]:
    if isinstance(expression, ast.IfExp):
        return [*_texts(expression.body), *_texts(expression.orelse)]
    if isinstance(expression, (ast.Tuple, ast.List, ast.Set)):
        return [word for element in expression.elts for word in _texts(element)]
    return [expression.value] if isinstance(expression, ast.Constant) and isinstance(expression.value, str) else []


def _kind(outer: ast.AST | None, default: ast.expr | None) -> str:
    """Return how a value is read: by the call that it is given to, else a truth where its default is one."""
    if isinstance(outer, ast.Compare):
        return ""
    if isinstance(outer, ast.Call):
        name = outer.func.id if isinstance(outer.func, ast.Name) else ""
        return _CASTS.get(name, "") if len(outer.args) == 1 else ""
    truth = isinstance(default, ast.Constant) and isinstance(default.value, bool)
    return "truth" if truth else ""
