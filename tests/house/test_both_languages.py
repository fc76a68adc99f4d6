"""Every text for users is really in both languages: a copy of the English is no Chinese, nor is its punctuation."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from pd_launch.launcher.rules.registry import all_rules
from tests.chinese_texts import FILLED_IN, HAN, half_width, prose, untranslated

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("launcher", "schemas", "connector")


class Text(NamedTuple):
    """A Chinese text and where it is written."""

    place: str
    zh: str


Function = ast.FunctionDef | ast.AsyncFunctionDef


def chinese_texts(module: ast.Module, name: str, parameters: dict[str, list[int]]) -> Iterator[Text]:
    """Yield the Chinese texts of a module, each with ``FILLED_IN`` for what is filled in.

    Chinese is the second part of a ``Msg``, what is assigned or passed to a name that ends in ``zh``, and a column of a
    table, or a part of what a function returns, that has Chinese in another row.
    """
    for node in ast.walk(module):
        for one in _chinese(node, parameters):
            for text in _texts(one):
                yield Text(f"{name}:{one.lineno}", text)


def _chinese(node: ast.AST, parameters: dict[str, list[int]]) -> Iterator[ast.expr]:
    if isinstance(node, ast.Call):
        called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        yield from (node.args[at] for at in parameters.get(called, ()) if at < len(node.args))
        yield from (word.value for word in node.keywords if _is_chinese(word.arg))
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _assigned(target, node.value)
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        yield from _assigned(node.target, node.value)
    elif isinstance(node, ast.Dict):
        yield from (
            value for key, value in zip(node.keys, node.values, strict=True) if getattr(key, "value", None) == "zh"
        )
        yield from _column(node.values)
    elif isinstance(node, ast.Tuple | ast.List | ast.Set):
        yield from _column(node.elts)
    elif isinstance(node, Function):
        yield from _column([one.value for one in ast.walk(node) if isinstance(one, ast.Return) and one.value])


def _is_chinese(name: str | None) -> bool:
    return name is not None and (name.lower() == "zh" or name.lower().endswith("_zh"))


def _assigned(target: ast.expr, value: ast.expr) -> Iterator[ast.expr]:
    if isinstance(target, ast.Name):
        if _is_chinese(target.id):
            yield value
    elif isinstance(target, ast.Tuple):
        for tuple_ in _branches(value):
            if isinstance(tuple_, ast.Tuple) and len(tuple_.elts) == len(target.elts):
                for part, given in zip(target.elts, tuple_.elts, strict=True):
                    yield from _assigned(part, given)


def _branches(value: ast.expr) -> list[ast.expr]:
    return [*_branches(value.body), *_branches(value.orelse)] if isinstance(value, ast.IfExp) else [value]


def _column(rows: Sequence[ast.expr]) -> Iterator[ast.expr]:
    """Yield the parts of rows that are in the column in which most rows have Chinese: rows are tuples of one length."""
    tuples = [one for row in rows for one in _branches(row) if isinstance(one, ast.Tuple)]
    for length in {len(one.elts) for one in tuples}:
        alike = [one.elts for one in tuples if len(one.elts) == length]
        for column in zip(*alike, strict=True):
            texts = [text for one in column for text in _texts(one)]
            if len(texts) > 1 and 2 * sum(bool(HAN.search(text)) for text in texts) > len(texts):
                yield from column


def _texts(value: ast.expr) -> Iterator[str]:
    """Yield the texts that an expression may be, as far as they are written there."""
    for one in _branches(value):
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            yield one.value
        elif isinstance(one, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else FILLED_IN for part in one.values)
        elif isinstance(one, ast.BinOp) and isinstance(one.op, ast.Add):
            yield FILLED_IN.join((*_texts(one.left), *_texts(one.right)))


def _parameters(module: ast.Module) -> dict[str, list[int]]:
    """Return which arguments of a module's functions are Chinese, by their parameters' names."""
    found: dict[str, list[int]] = {}
    for node in ast.walk(module):
        if isinstance(node, Function):
            names = [one.arg for one in node.args.args if one.arg not in ("self", "cls")]
            found[node.name] = [index for index, name in enumerate(names) if _is_chinese(name)]
    return found


@cache
def product_modules() -> dict[str, ast.Module]:
    """Return the modules of the product that have Chinese in them, by their paths."""
    paths = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
    texts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}
    return {path: ast.parse(text) for path, text in texts.items() if HAN.search(text)}


@cache
def product_texts() -> list[Text]:
    """Return every Chinese text in the product's code, and each section of the rules' Chinese pages."""
    modules = product_modules()
    own = {path: _parameters(module) for path, module in modules.items()}
    shared = {name: at for known in own.values() for name, at in known.items() if at and name[0] != "_"}
    found = [
        text
        for path, module in modules.items()
        for text in chinese_texts(module, path, shared | own[path] | {"Msg": [1]})
    ]
    found += [
        Text(f"{rule.code} {section}", text) for rule in all_rules().values() for section, text in rule.page_zh.items()
    ]
    return found


def test_chinese_is_chinese() -> None:
    """No Chinese text is English, as a whole or in a phrase of it."""
    assert [(*text, found) for text in product_texts() if (found := untranslated(text.zh))] == []


def test_punctuation_of_chinese_is_full_width() -> None:
    """No Chinese text has a half-width mark between its words and values, typed or joined."""
    assert [(*text, found) for text in product_texts() if (found := half_width(text.zh))] == []


def test_punctuation_of_chinese_pages_is_full_width() -> None:
    """Nor do the Chinese pages, outside code."""
    pages = [ROOT / "README.zh.md", *sorted((ROOT / "docs" / "zh").rglob("*.md"))]
    texts = {page.name: prose(page.read_text(encoding="utf-8")) for page in pages}
    ours = ("默认值", "新增", "不再有", "必须", "按")  # what a release's own files say is in English there
    lines = texts["changes.md"].splitlines()
    texts["changes.md"] = "\n".join(line for line in lines if line.partition("：")[2].startswith(ours))
    assert [(name, found) for name, text in texts.items() if (found := half_width(text))] == []


def test_rows_of_names_in_chinese() -> None:
    """A row of names in a Chinese text is made by ``series`` or ``listed``, not joined with half-width marks."""
    assert [found for path, module in product_modules().items() for found in joined_in_english(path, module)] == []


def joined_in_english(path: str, module: ast.Module) -> Iterator[str]:
    """Yield the Chinese texts of a module into which a function fills what it has joined with ASCII marks."""
    parameters = _parameters(module) | {"Msg": [1]}
    returning = {
        one.name
        for one in ast.walk(module)
        if isinstance(one, Function)
        and any(_joins(part.value) for part in ast.walk(one) if isinstance(part, ast.Return) and part.value)
    }
    for function in ast.walk(module):
        if isinstance(function, Function):
            rows = returning | {name for part in ast.walk(function) for name in _assigned_rows(part)}
            for one in (text for part in ast.walk(function) for text in _chinese(part, parameters)):
                # A row made by a name alone, such as `row.en`, is an attribute of a Msg: that is not this row.
                attributes = {part.value for part in ast.walk(one) if isinstance(part, ast.Attribute)}
                for part in ast.walk(one):
                    if _joins(part) or (isinstance(part, ast.Name) and part.id in rows and part not in attributes):
                        yield f"{path}:{one.lineno}: {ast.unparse(part)}"


def _assigned_rows(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=True))
            yield from (name.id for name, value in pairs if isinstance(name, ast.Name) and _joins(value))


def _joins(node: ast.AST) -> bool:
    """Whether an expression is, or begins with, ``", ".join(…)``."""
    if isinstance(node, ast.BinOp):
        return _joins(node.left)
    if isinstance(node, ast.BoolOp):
        return _joins(node.values[0])
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "join"
        and isinstance(node.func.value, ast.Constant)
        and str(node.func.value.value).strip() in (",", ";")
    )


@pytest.mark.parametrize(
    "code",
    [
        'Msg(f"one of {a}", f"one of {a}")',
        'en, zh = "not read", "not read"',
        'def say(en, zh): ...\nsay("keep one of them", "keep one of them")',
        'A = {"a": ("lost", "丢失"), "b": ("kept", "保留"), "c": ("gone", "gone")}',
        'Msg("please remove it", "请 remove the flag from this line")',
    ],
)
def test_copied_english_is_found(code: str) -> None:
    """The ways in which a pair is written are all looked at."""
    module = ast.parse(code)
    texts = chinese_texts(module, "here", _parameters(module) | {"Msg": [1]})
    assert any(untranslated(text.zh) for text in texts)


@pytest.mark.parametrize("text", ["MC2", "--enforce-eager", "□：□", "pd-launch logs", "写 --port 8000，或 `a, b`"])
def test_names_are_no_copied_english(text: str) -> None:
    """Names, flags and numbers need no translation."""
    assert not untranslated(text)


@pytest.mark.parametrize(
    "text", ["共 □ 个 token,□ 个客户端", "写 fp8, int8", "□:□", "在 --x:□ 及以前", "要写吗?", "先写 `a`, `b`"]
)
def test_half_width_marks_are_found(text: str) -> None:
    """The patterns find what they are for."""
    assert half_width(text)


@pytest.mark.parametrize(
    "text", ['写 {"a": 1, "b": 2}', "decode.sh:3:5，第 3 行", "-v □:□", "写 pp_size: 2", "`a, b` 之一"]
)
def test_code_keeps_its_marks(text: str) -> None:
    """What is to be pasted is left alone."""
    assert not half_width(text)


def test_joined_rows_are_found() -> None:
    """A row joined in a function, or in the text itself, is found."""
    code = 'def f(a):\n    row = ", ".join(a)\n    return Msg(f"one of {row}", f"{row} 之一")'
    assert list(joined_in_english("here", ast.parse(code)))
    assert not list(
        joined_in_english("here", ast.parse(code.replace('", ".join', "series").replace("{row}", "{row.zh}")))
    )
