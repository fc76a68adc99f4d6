"""The pages of what changed between releases, out of the tables."""

from __future__ import annotations

from itertools import pairwise

from pd_launch.launcher.upgrade.between import differences, markdown
from pd_launch.schemas.core.target import Target, newest, parse_target, rows

JOURNEYS = (
    ("vllm-ascend==0.18.0", "vllm-ascend==0.23.0"),
    ("vllm-ascend==0.23.0", newest(True).written),
    ("vllm==0.18.0", "vllm==0.23.0"),
    ("vllm==0.23.0", newest(False).written),
)
"""The long ways, whole: with the vLLM behind a vllm-ascend."""
_HEAD = {
    "en": "# What changed between releases\n\nGenerated from the tables by `scripts/build_docs.py`; "
    "`pd-launch releases diff A B` says it for any two releases of one family, and "
    "[`pd-launch upgrade`](guide/upgrading.md) shows which of these changes affect your files. [中文](zh/changes.md)\n",
    "zh": "# 各版本之间的变化\n\n由 `scripts/build_docs.py` 根据数据表生成；"
    "`pd-launch releases diff A B` 可以比较同一系列的任意两个版本，"
    "[`pd-launch upgrade`](guide/upgrading.md) 说明其中哪些影响您的文件。"
    "“拒绝与其他事实”中的条目取自版本表，保留英文。[English](../changes.md)\n",
}


def changes_page(lang: str) -> str:
    """Return the page: the long ways first, then each neighbouring pair of both families, newest first."""
    parts = [_HEAD[lang]]
    for first, second in JOURNEYS:
        parts.append(_pair(parse_target(first), parse_target(second), lang, False))
    for ascend in (True, False):
        parts += [_pair(old, new, lang, True) for old, new in reversed(list(pairwise(rows(ascend))))]
    return "\n".join(parts)


def _pair(old: Target, new: Target, lang: str, own: bool) -> str:
    nothing = "没有区别。\n" if lang == "zh" else "No difference.\n"
    return f"## {old} → {new}\n\n{markdown(differences(old, new, own), lang) or nothing}"
