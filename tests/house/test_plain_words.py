"""Texts for users use words that a native speaker would choose: the phrases below have a plainer form."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from pd_launch.launcher.cli import cli
from pd_launch.launcher.rules.registry import all_rules

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("launcher", "schemas")

PLAINER = {
    r"(?<![Tt]here )\b(is|are) no (?!longer\b|more\b|slower\b)": "is not a …, is not a valid …",
    r"\bstands?\b(?! for)": "is, is set, is configured, appears",
    r"\bbehind\b": "after",
    r"\bof (its|their) own\b": "its own …, a separate …",
    r"\bexclude each other\b": "cannot be combined",
    r"\b(go|goes) on\b": "continues, keeps …",
    r"\bnobody\b": "nothing, no … ; or say it is ignored",
    r"\b(one|that|it|this|these) counts?\b": "takes effect, is used",
    r"\bis there already\b": "already exists",
    r"\bmust (be a|hold a) text\b": "must be a string",
    r"\btakes? .{1,30} for (a|an) \b": "treats … as",
    r"\bmended\b": "fixed",
    r"\blet it\b": "make it",
    r"\bthere (is|are) none\b": "none",
    r"\bas it is written\b": "literally, as written",
    r"\bnot looked at\b": "not checked",
    r"\bis said\b": "is reported",
    r"\bdoes not go with\b": "cannot be combined with",
    r"\bdo(es)? not go together\b": "cannot be combined",
    r"\b(and|or) (its|the) like\b|\band its kind\b": "and similar …",
    r"\b(are|is|for|with|from|of|by|to|has|have) (?!left\b)(?:[^\s.,;:]+ ){1,2}alone\b": "only …; on its own",
    r"\bwrite \S+ alone\b": "write only …",
    r"\bis there twice\b": "appears twice",
    r"\b(is|are) concerned\b": "is affected",
    r"\bsays so when\b": "fires when, reports",
    r"\bsomebody else's\b": "another …, a third-party …",
}
"""A pattern, and what to write instead."""
ON_PAGES = set(PLAINER) - {
    r"\b(one|that|it|this|these) counts?\b",
    r"\bthere (is|are) none\b",
    r"\bas it is written\b",
    r"\btakes? .{1,30} for (a|an) \b",
}
"""Patterns that fit long texts too: the others find what is right there."""
ELSEWHERE = ("changes.md", "facts.md")
"""Pages made of what the tables say."""
H = "[一-鿿]"
HAN = {
    "没有人读": "不会被读取",
    "互相排斥": "不能同时使用",
    "被告知": "按……（说清楚谁做什么）",
    "应当是文本": "应当是字符串",
    "字符串文件": "文本文件",
    "自带": "vllm-ascend 的写内置，pd-launch 的写附带",
    "停放": "暂存",
    "投机": "推测",
    "官方指南": "上游指南",
    "原生 vLLM": "原版 vLLM",
    "抢占接口": "抢占钩子",
    "网络接口": "网卡",
    "工作进程|工作器": "worker",
    "并行规模|并行尺寸": "并行大小",
    "捕获尺寸": "捕获大小",
    "答案": "回答",
    "主机事实": "主机信息",
    "登记了": "注册了",
    "recompute 调度器": "重计算调度器",
    "[Pp]refill 节点": "预填充节点",
    "[Dd]ecode 节点": "解码节点",
    f"{H} ?KV cache|KV cache ?{H}": "KV 缓存",
    f"{H} ?offload {H}|不用 offload|使用 offload": "卸载",
    f"{H}[,;!?]|[,;!?]{H}": "全角标点",
}
"""One Chinese word for each thing, the upstream guide's where it has one: a pattern, and what to write instead."""
ACCEPTED = {
    "behind": ("left behind", "leaves it behind", "behind a proxy", "ahead nor behind", "what stands behind"),
    "stands": ("what stands behind",),
    "stand": ("stand-in",),
    "of their own": ("of their own options",),
}


def _texts() -> Iterator[tuple[str, str]]:
    """Yield the literal parts of each ``Msg`` and of each error raised; what is filled in at run time is left out."""
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                call = node.exc if isinstance(node, ast.Raise) else node
                if isinstance(call, ast.Call) and (call is not node or getattr(call.func, "id", None) == "Msg"):
                    for argument in call.args:
                        yield f"{path.relative_to(ROOT)}:{argument.lineno}", _literal(argument)


def _literal(node: ast.expr) -> str:
    return " ".join(one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str))


def _helps(command: click.Command, name: str) -> Iterator[tuple[str, str]]:
    yield name, command.help or ""
    for parameter in command.params:
        yield f"{name} {parameter.name}", getattr(parameter, "help", None) or ""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for below in command.list_commands(context):
            one = command.get_command(context, below)
            if one is not None:
                yield from _helps(one, f"{name} {below}")


def _pages() -> Iterator[tuple[str, str]]:
    """Yield the Chinese pages and the Chinese page of each rule, without the code in them."""
    for path in [ROOT / "README.zh.md", *sorted((ROOT / "docs" / "zh").rglob("*.md"))]:
        yield str(path.relative_to(ROOT)), _prose(path.read_text(encoding="utf-8"))
    for rule in all_rules().values():
        for section, text in rule.page_zh.items():
            yield f"{rule.code} {section}", _prose(text)


def _english_pages() -> Iterator[tuple[str, str]]:
    """Yield the paragraphs of the English pages and of each rule's page, without the code in them."""
    for path in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]:
        place = path.relative_to(ROOT)
        if place.parts[:2] != ("docs", "zh") and place.name not in (*ELSEWHERE, "README.zh.md", "CHANGELOG.md"):
            for paragraph in _prose(path.read_text(encoding="utf-8")).split("\n\n"):
                yield str(place), paragraph


def _prose(text: str) -> str:
    return re.sub(r"^```.*?^```|`[^`\n]*`|https?://\S+", "", text, flags=re.MULTILINE | re.DOTALL)


def _odd(texts: Iterator[tuple[str, str]], phrases: dict[str, str] = PLAINER | HAN) -> list[str]:
    patterns = [(re.compile(pattern), better) for pattern, better in phrases.items()]
    return [
        f"{place}: {found[0]!r} in {text!r}: write {better}"
        for place, text in texts
        for pattern, better in patterns
        if (found := pattern.search(text)) and not any(good in text for good in ACCEPTED.get(found[0], ()))
    ]


def test_messages() -> None:
    """No message has one of the phrases."""
    assert _odd(_texts()) == []


def test_help() -> None:
    """No help of a command or option has one of the phrases."""
    assert _odd(_helps(cli, "pd-launch")) == []


def test_english_pages() -> None:
    """No page has one of the phrases that are wrong there as well."""
    assert _odd(_english_pages(), {pattern: PLAINER[pattern] for pattern in ON_PAGES}) == []


def test_chinese_pages() -> None:
    """Pages use the same Chinese words as messages."""
    assert _odd(_pages(), HAN) == []


@pytest.mark.parametrize(
    "text", ["vllm-ascend 自带的连接器", "设备的 KV cache 太小", "已停放 3 个", "写错了,请改", "不用 offload"]
)
def test_chinese_phrases_are_found(text: str) -> None:
    """The Chinese patterns find what they are for."""
    assert _odd(iter([("here", text)]))


@pytest.mark.parametrize("text", ["vllm-ascend 内置的连接器", "KV 缓存太小", "写错了，请改", "decode.sh:3:5，第 3 行"])
def test_ordinary_chinese(text: str) -> None:
    """Chinese as it should be is left alone."""
    assert not _odd(iter([("here", text)]))


@pytest.mark.parametrize(
    "text",
    [
        "'x' is no port",
        "the limit stands here",
        "write a number behind --port",
        "this one counts",
        "a and b exclude each other",
        "give each a path of its own",
        "the option is for guidance alone",
        "ngram and its like",
        "write --enforce-eager alone",
    ],
)
def test_phrases_are_found(text: str) -> None:
    """The patterns find what they are for."""
    assert _odd(iter([("here", text)]))


@pytest.mark.parametrize(
    "text",
    ["it is no longer read", "what {x} stands for", "there is no module x", "it is left alone", "a request runs alone"],
)
def test_ordinary_words(text: str) -> None:
    """What is ordinary English is left alone."""
    assert not _odd(iter([("here", text)]))
