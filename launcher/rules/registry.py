"""How a rule is written down, and how all of them are found.

A rule is one small generator function that is given a node (or the whole deployment) and yields hits. Its docstring
is its page: a title, then ``## What it does``, ``## Why it matters``, ``## Example``, ``## Use instead``,
``## Releases`` and ``## Sources``. The same page in Chinese is given to the decorator; it may leave out examples.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache, cached_property
from typing import Literal, cast

from pd_launch.launcher import budget
from pd_launch.schemas.core.build import UnreadError
from pd_launch.schemas.core.chinese import typeset
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import NOTHING, Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.severity import Confidence, Severity
from pd_launch.schemas.core.values import Origin, Splice

TITLES = {
    "What it does": Msg("What it does", "作用"),
    "Why it matters": Msg("Why it matters", "为什么重要"),
    "Example": Msg("Example", "示例"),
    "Use instead": Msg("Use instead", "应当这样写"),
    "Releases": Msg("Releases", "适用版本"),
    "Sources": Msg("Sources", "来源"),
}
"""The sections of a rule's page, under their English names."""
SECTIONS = tuple(TITLES)
_STATED = lazy_pattern(r"<(?:since|until|last|before|all)\s")
EXAMPLES = ("Example", "Use instead")
FAMILIES = {
    "PD0": Msg("Reading the input", "读取输入"),
    "PD1": Msg("Role and scheduler", "角色与调度器"),
    "PD2": Msg("Connectors", "连接器"),
    "PD3": Msg("Budget and host memory", "预算与主机内存"),
    "PD4": Msg("Topology, devices, ports", "拓扑、设备与端口"),
    "PD5": Msg("Engine sizing", "引擎规格"),
    "PD6": Msg("Both sides", "两侧一致性"),
    "PD7": Msg("Environment", "环境变量"),
    "PD8": Msg("Containers and clusters", "容器与集群"),
    "PD9": Msg("Releases", "版本"),
}


@dataclass(frozen=True)
class FixEdits:
    """Changes that remove a finding, as :mod:`pd_launch.launcher.rules.edits` writes them."""

    message: Msg
    edits: tuple[Splice, ...]
    safe: bool


@dataclass(frozen=True)
class Hit:
    """One place where a rule fires. Without a severity of its own it has the rule's."""

    origin: Origin
    message: Msg
    help: Msg = NOTHING
    severity: Severity | None = None
    related: tuple[tuple[Origin, Msg], ...] = ()
    fix: FixEdits | None = None
    releases: tuple[str, ...] = ()
    """The releases that it is found for, where it depends on them; what runs the rule fills it in."""


NodeRule = Callable[[NodeLaunch, Deployment], Iterator[Hit]]
DeploymentRule = Callable[[Deployment], Iterator[Hit]]


@dataclass(frozen=True)
class Rule:
    """A registered rule. ``needs``: C one configuration, P both sides, H host facts, R the target release."""

    code: str
    name: str
    severity: Severity
    confidence: Confidence
    needs: str
    scope: Literal["node", "deployment"]
    function: Callable[..., Iterator[Hit]]
    zh: str

    def hits(self, deployment: Deployment, nodes: Sequence[NodeLaunch] | None = None) -> Iterator[Hit]:
        """Run the rule over a deployment; one that looks at engines by themselves only over ``nodes``, where given.

        Of what could not be read of a build it says nothing.
        """
        if self.scope == "deployment":
            with suppress(UnreadError):
                yield from cast("DeploymentRule", self.function)(deployment)
        else:
            for node in deployment.nodes if nodes is None else nodes:
                budget.step()
                with suppress(UnreadError):
                    yield from cast("NodeRule", self.function)(node, deployment)

    @cached_property
    def page(self) -> dict[str, str]:
        """The rule's English page: ``title`` and one entry for each section."""
        page = _page(inspect.getdoc(self.function) or "", SECTIONS)
        return {name: text if name in EXAMPLES else _stated(text, "en") for name, text in page.items()}

    @cached_property
    def page_zh(self) -> dict[str, str]:
        """The rule's Chinese page, under the English section names; its examples may be the English ones."""
        found = _page(typeset(_stated(inspect.cleandoc(self.zh), "zh")), tuple(title.zh for title in TITLES.values()))
        page = {name: found[title.zh] for name, title in TITLES.items()}
        examples = {name: page[name] or self.page[name] for name in EXAMPLES}
        return {"title": found["title"], **page, **examples}

    def page_in(self, lang: str) -> dict[str, str]:
        """The rule's page in one language, under the English section names."""
        return self.page_zh if lang == "zh" else self.page

    @cached_property
    def why(self) -> Msg:
        """Why it matters, in one sentence."""
        return Msg(self.reason("en"), self.reason("zh"))

    def reason(self, lang: str) -> str:
        """Return why it matters, in one sentence of one language."""
        return _first_sentence(self.page_in(lang)["Why it matters"], _SENTENCE_END[lang])


_RULES: dict[str, Rule] = {}
_SENTENCE_END = {"en": r"(?<=[.!?])\s", "zh": r"(?<=[。！？!?])"}


def rule(
    code: str,
    name: str,
    severity: Severity,
    *,
    zh: str,
    confidence: Confidence = "high",
    needs: str = "C",
) -> Callable[[Callable[..., Iterator[Hit]]], Callable[..., Iterator[Hit]]]:
    """Register a rule: a function of the deployment alone, or of a node and its deployment."""

    def register(function: Callable[..., Iterator[Hit]]) -> Callable[..., Iterator[Hit]]:
        if code in _RULES:
            raise ValueError(f"{code} is registered twice")
        scope: Literal["node", "deployment"] = "node" if function.__code__.co_argcount == 2 else "deployment"
        _RULES[code] = Rule(code, name, severity, confidence, needs, scope, function, zh)
        return function

    return register


@cache
def all_rules() -> dict[str, Rule]:
    """Return every rule by code, in order of codes. The first call imports them."""
    for family in pkgutil.iter_modules(importlib.import_module(__package__).__path__):
        if family.ispkg and family.name.startswith("pd"):
            package = importlib.import_module(f"{__package__}.{family.name}")
            for module in pkgutil.iter_modules(package.__path__):
                importlib.import_module(f"{package.__name__}.{module.name}")
    return dict(sorted(_RULES.items()))


def unknown_codes(words: Iterable[str]) -> list[str]:
    """Return the words that select no rule: neither the beginning of a code nor a rule's name."""
    rules = all_rules().values()
    found = []
    for word in words:
        code = word.upper() if word.upper().startswith("PD") else "-"
        if not any(rule.code.startswith(code) or rule.name == word for rule in rules):
            found.append(word)
    return found


def _stated(text: str, lang: str) -> str:
    """Return a text with the releases that the tables say in place of ``<since FACT>`` and its like."""
    if not _STATED.search(text):
        return text
    from pd_launch.schemas.releases.registry import stated

    paragraphs = text.split("\n\n")
    return "\n\n".join(stated(one, lang) if _STATED.search(one) else one for one in paragraphs)


def _page(text: str, sections: tuple[str, ...]) -> dict[str, str]:
    title, *parts = re.split(r"^## +", text, flags=re.MULTILINE)
    page = dict.fromkeys(sections, "")
    page["title"] = title.strip()
    for part in parts:
        head, _, body = part.partition("\n")
        page[head.strip()] = body.strip()
    return page


def _first_sentence(text: str, end: str) -> str:
    paragraph = " ".join(text.split("\n\n")[0].split())
    return re.split(end, paragraph, maxsplit=1)[0].strip()
