"""Which releases a report is about, and who decided that, in one line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.util import find_spec

from pd_launch.schemas.core.findings import Finding
from pd_launch.schemas.core.msg import NOTHING, Msg
from pd_launch.schemas.core.target import Choice, Target

Choices = Sequence[tuple[str, Choice]]
"""Files with what their engines were checked for."""

_FAMILIES = {True: "vllm-ascend", False: "vLLM"}
_SHOWN = 3
"""Releases that one line names."""
_BY = {
    "--target": Msg("as --target says", "由 --target 指定"),
    "profile": Msg("as the profile says", "由配置指定"),
    "comment": Msg("as a comment says", "由注释指定"),
    "plan": Msg("as the plan says", "由启动计划指定"),
    "config": Msg("as the configuration file says", "由 pd-launch.toml 指定"),
    "image": Msg("as the image says", "由镜像得知"),
    "requirement": Msg("which the input installs", "由输入中的安装命令得知"),
    "installed": Msg("which is installed here", "本机安装的版本"),
    "path": Msg("as --target says", "由 --target 指定"),
    "assumed": Msg("as nothing names another", "未指定时的默认版本"),
}


def releases_text(choices: Choices, lang: str) -> str:
    """Return the releases with who decided each; empty where nothing was checked for one."""
    found = list(dict.fromkeys(choice for _, choice in choices))
    shown = " + ".join(_choice(choice, lang) for choice in found[:_SHOWN])
    more = len(found) - _SHOWN
    if more <= 0:
        return shown
    return Msg(f"{shown} and {more} more", f"{shown}，另有 {more} 个版本").text(lang)


def releases_line(choices: Choices, lang: str) -> str:
    """Return one line for forms that have no summary."""
    text = releases_text(choices, lang)
    said = Msg(f"pd-launch: checked for {text}", f"pd-launch：检查目标：{text}")
    return (said if text else Msg("pd-launch: checked against no release", "pd-launch：没有检查任何版本")).text(lang)


def ranges(finding: Finding) -> Msg:
    """Return the releases of a finding as ranges; empty where it has none."""
    return Msg(", ".join(finding.releases), "、".join(map(_zh, finding.releases)))


class OfReleases:
    """Says the releases that a finding is for, where that says more than the report as a whole."""

    def __init__(self, choices: Choices, lang: str = "en") -> None:
        self._lang = lang
        self._every = list(dict.fromkeys(choice for _, choice in choices))
        self._of_file: dict[str, list[Choice]] = {}
        for file, choice in choices:
            self._of_file.setdefault(file, []).append(choice)
        self._undecided = len(self._every) > 1 or any(choice.decided is None for choice in self._every)

    def __call__(self, finding: Finding) -> str:
        """Return the releases of ``finding`` as ranges; empty where there is nothing to say."""
        if not finding.releases or not self._undecided or self._is_all(finding):
            return ""
        return ranges(finding).text(self._lang)

    def _is_all(self, finding: Finding) -> bool:
        """Whether a finding is for every release that its file may be for."""
        own = self._of_file.get(finding.file) or self._every
        names = {_FAMILIES[family] for choice in own for family in choice.families}
        return all(choice.decided is None for choice in own) and names == set(finding.releases)


def _zh(text: str) -> str:
    """Return a range of releases in Chinese."""
    name, _, rest = text.partition(" ")
    first, to, last = rest.partition(" to ")
    if rest.startswith("from "):
        return f"{name} {rest[5:]} 起"
    if rest.startswith("up to "):
        return f"{name} {rest[6:]} 及以前"
    return f"{name} {first} 至 {last}" if to else text


def _choice(choice: Choice, lang: str) -> str:
    if choice.decided is not None:
        by = _BY[choice.decided.decided_by]
        return Msg(f"{choice.decided}, {by.en}", f"{choice.decided}，{by.zh}").text(lang)
    names = _names(choice.leads, lang)
    here = next((ascend for ascend in choice.families if _is_installed(ascend)), None)
    more = NOTHING if here is None else Msg(", and --host uses the one installed here", "，--host 使用本机安装的版本")
    return Msg(
        f"{names}: the input names no release; --target names one{more.en}",
        f"{names}；输入没有写明版本，可用 --target 指定{more.zh}",
    ).text(lang)


def _names(targets: Iterable[Target], lang: str) -> str:
    """Return releases by family: ``vllm-ascend 0.30.0rc2 and 0.23.0.post1, vLLM 0.33.0``."""
    families: dict[str, list[str]] = {}
    for target in targets:
        name, _, row = str(target).partition(" ")
        families.setdefault(name, []).append(row)
    both, between = Msg(" and ", "、").text(lang), Msg(", ", "，").text(lang)
    return between.join(f"{name} {both.join(rows)}" for name, rows in families.items())


def _is_installed(ascend: bool) -> bool:
    """Whether the running Python has the engine; a vLLM beside vllm-ascend is the one that it brings."""
    return find_spec("vllm_ascend") is not None if ascend else find_spec("vllm") is not None
