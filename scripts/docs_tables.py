"""Pages made from the tables: what each release has, and the profile's keys."""

from __future__ import annotations

import textwrap
from typing import Any

from pd_launch.launcher.check.schema_docs import described_schema
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.pairing import ASCEND_COMPANIONS, ASCEND_PAIRS, VLLM_RELEASES
from pd_launch.schemas.core.target import Target, ascend_target, vllm_target
from pd_launch.schemas.core.words import series
from pd_launch.schemas.engine.kv_transfer import offload_name
from pd_launch.schemas.profile import Profile
from pd_launch.schemas.releases.additional_keys import is_strict
from pd_launch.schemas.releases.connectors import names, supports_hma
from pd_launch.schemas.releases.hooks import has_preemption_hook
from pd_launch.schemas.releases.kv_fields import KV_FIELDS
from pd_launch.schemas.releases.offloads import BUILTIN, RATIO
from pd_launch.schemas.releases.schedulers import NESTED

RELEASES_HEAD = """# Releases

Generated from the tables by `scripts/build_docs.py`. Releases are [data](decisions/0006-releases-are-data.md).
A release between two rows counts as the older one, and PD902 says so; a build of your own is read from
[its own files](guide/checking.md#your-own-build). Where a fact comes from (read from a release's files, run, or
documented) is given with [each of them](facts.md), and under Sources on each
[rule's page](rules/README.md).

## vllm-ascend
"""
RELEASES_ZH = """# 版本

由 `scripts/build_docs.py` 根据版本表生成。两行之间的版本按较旧的一行处理，PD902 会说明；
自己构建的版本由[它自己的文件](guide/checking.md)决定。每项事实的来源（读自发布文件、
实际运行，或者只见于文档）写在版本表（`schemas/releases/`）和[规则页面](rules/README.md)的“来源”一节。

## vllm-ascend
"""
ASCEND_COLUMNS = {
    False: ("Release", "vLLM", "CANN", "Mooncake", "its own offload connector", "recompute switch", "preemption hook",
            "default budget", "unknown additional-config keys"),
    True: ("版本", "vLLM", "CANN", "Mooncake", "内置的卸载连接器", "重计算开关的位置", "抢占钩子", "预算默认值",
           "未知的 additional-config 键"),
}  # fmt: skip
CONNECTORS = {
    False: "Releases that register a name, and those of them that are known to support the hybrid KV cache manager\n"
    "(– where none is).\n",
    True: "注册了该名称的版本，以及其中已知支持混合 KV 缓存管理器的版本（“–”表示没有记录）。\n",
}


def releases_page(lang: str) -> str:
    """Return the compatibility tables."""
    zh = lang == "zh"
    parts = [RELEASES_ZH if zh else RELEASES_HEAD, "\n| " + " | ".join(ASCEND_COLUMNS[zh]) + " |\n", "|---" * 9 + "|\n"]
    parts += [_ascend_row(release, zh) for release in ASCEND_PAIRS]
    known_releases = series(VLLM_RELEASES).text(lang) + ("。" if zh else ".")
    parts.append(f"\n## vLLM\n\n{textwrap.fill(known_releases, 120)}\n\n")
    parts.append(
        "| 版本 | 不再接受的 --kv-transfer-config 字段 |\n"
        if zh
        else "| Release | no longer in --kv-transfer-config |\n"
    )
    parts.append("|---|---|\n")
    parts += [f"| {release} | {_dropped(release).text(lang)} |\n" for release in VLLM_RELEASES if _dropped(release)]
    parts.append(f"\n## {'连接器' if zh else 'Connectors'}\n\n{CONNECTORS[zh]}")
    for title, targets in (("vllm-ascend", _ascend_targets()), ("vLLM", _vllm_targets())):
        parts.append(
            f"\n### {title}\n\n"
            + ("| 名称 | 版本 | 混合管理器 |\n" if zh else "| Name | Releases | Hybrid manager |\n")
            + "|---|---|---|\n"
        )
        known = dict.fromkeys(name for target in targets for name in names(target))
        parts += [_connector_row(name, targets, lang) for name in known]
    return "".join(parts)


def _ascend_targets() -> list[Target]:
    return [ascend_target(release, "unknown") for release in ASCEND_PAIRS]


def _vllm_targets() -> list[Target]:
    return [vllm_target(release, "unknown") for release in VLLM_RELEASES]


def _ascend_row(release: str, zh: bool) -> str:
    target = ascend_target(release, "unknown")
    companions = ASCEND_COMPANIONS.get(release, {})
    builtin = BUILTIN.holds(target)
    nested = NESTED.holds(target)
    if not builtin:
        budget = "–"
    elif RATIO.holds(target):
        budget = "与设备缓存相同" if zh else "as the device cache"
    else:
        budget = "每个引擎 8 GiB" if zh else "8 GiB an engine"
    cells = [
        release,
        ASCEND_PAIRS[release],
        companions.get("cann", ""),
        companions.get("mooncake", ""),
        offload_name(target) if builtin else "–",
        "`scheduler_config`" if nested else ("顶层" if zh else "top level"),
        ("有" if zh else "yes") if has_preemption_hook(target) else ("无" if zh else "no"),
        budget,
        ("报错" if zh else "refused") if is_strict(target) else ("忽略" if zh else "ignored"),
    ]
    return "| " + " | ".join(cells) + " |\n"


def _dropped(release: str) -> Msg:
    return series(f"`{name}`" for name, fact in KV_FIELDS.items() if fact.until == release)


def _connector_row(name: str, targets: list[Target], lang: str) -> str:
    have = [target for target in targets if name in names(target)]
    hybrid = [target for target in have if supports_hma(name, target)]
    spans = [_span(found, targets).text(lang) or "–" for found in (have, hybrid)]
    return f"| `{name}` | {' | '.join(spans)} |\n"


def _span(found: list[Target], targets: list[Target]) -> Msg:
    """Return the first and last of ``found``; releases in a row are one span."""
    spans: list[list[Target]] = []
    for target in found:
        if spans and targets.index(target) == targets.index(spans[-1][-1]) + 1:
            spans[-1].append(target)
        else:
            spans.append([target])
    texts = [_number(part[0]) if len(part) == 1 else f"{_number(part[0])} – {_number(part[-1])}" for part in spans]
    return series(texts)


def _number(target: Target) -> str:
    return target.vllm_ascend or target.vllm


PROFILE_HEAD = """# The profile's keys

Generated from the schema by `scripts/build_docs.py`. The schema itself, for editors: `pd-launch schema profile`, or
[profile.schema.json](../schemas/profile.schema.json). What is made of each key: [contracts](../contracts.md#profile).
"""


def profile_page() -> str:
    """Return the reference of the profile's keys."""
    schema = described_schema(Profile)
    parts = [PROFILE_HEAD, _section("top level", schema, schema)]
    parts += [_section(_title(name), part, schema) for name, part in schema["$defs"].items()]
    return "".join(parts)


def _title(name: str) -> str:
    return name.removesuffix("Section").lower() if name != "SideSection" else "prefill"


def _section(title: str, part: dict[str, Any], schema: dict[str, Any]) -> str:
    lines = [
        f"\n## {title}\n\n{part.get('description', '').split(chr(10) * 2)[0]}\n\n| Key | Value | |\n|---|---|---|\n"
    ]
    required = part.get("required", [])
    for key, entry in part.get("properties", {}).items():
        text = entry.get("description", "").replace("\n", " ").replace("|", "\\|")
        needed = " Required." if key in required else ""
        lines.append(f"| `{key}` | {_kind(entry)} | {text}{needed} |\n")
    return "".join(lines)


def _kind(entry: dict[str, Any]) -> str:
    if "$ref" in entry:
        title = _title(entry["$ref"].rpartition("/")[2])
        return f"[{title}](#{title})"
    if "enum" in entry:
        return " \\| ".join(f"`{value}`" for value in entry["enum"])
    if "const" in entry:
        return f"`{entry['const']}`"
    if "anyOf" in entry:
        kinds = [_kind(option) for option in entry["anyOf"] if option.get("type") != "null"]
        return " \\| ".join(dict.fromkeys(kinds))
    if entry.get("type") == "array":
        return f"list of {_kind(entry.get('items', {}))}"
    kind = str(entry.get("type", "any"))
    return {"object": "mapping", "boolean": "true \\| false"}.get(kind, kind)
