"""The model table's rows for the Qwen families."""

from __future__ import annotations

from dataclasses import replace

from pd_launch.schemas.models.facts import ModelFacts, Row, dense, hybrid, kinds, moe

_QWEN25 = {
    "0.5b": (24, 14, 2, 64, 896), "1.5b": (28, 12, 2, 128, 1536), "3b": (36, 16, 2, 128, 2048),
    "7b": (28, 28, 4, 128, 3584), "14b": (48, 40, 8, 128, 5120), "32b": (64, 40, 8, 128, 5120),
    "72b": (80, 64, 8, 128, 8192),
}  # fmt: skip
_QWEN3 = {
    "0.6b": (28, 16, 8, 128, 1024), "1.7b": (28, 16, 8, 128, 2048), "4b": (36, 32, 8, 128, 2560),
    "8b": (36, 32, 8, 128, 4096), "14b": (40, 40, 8, 128, 5120), "32b": (64, 64, 8, 128, 5120),
}  # fmt: skip
_QWEN3_MOE = {"30b-a3b": (48, 32, 4, 128, 2048), "235b-a22b": (94, 64, 4, 128, 4096)}
_QWEN3_VL = {**{k: v for k, v in _QWEN3.items() if k in ("4b", "8b", "32b")}, "2b": (28, 16, 8, 128, 2048)}
# Layers, heads, KV heads, head size, hidden size; experts, top-k; every fourth layer is full attention.
_QWEN35 = {
    "397b-a17b": ((60, 32, 2, 256, 4096), (512, 10)), "122b-a10b": ((48, 32, 2, 256, 3072), (256, 8)),
    "35b-a3b": ((40, 16, 2, 256, 2048), (256, 8)), "27b": ((64, 24, 4, 256, 5120), None),
    "9b": ((32, 16, 4, 256, 4096), None), "4b": ((32, 16, 4, 256, 2560), None),
}  # fmt: skip


def _qwen35(size: str) -> ModelFacts:
    numbers, experts = _QWEN35[size]
    facts = dense("qwen3.5", f"Qwen/Qwen3.5-{size.upper()}", (*numbers, 262144))
    if experts is not None:
        facts = moe(facts, *experts, shared=1)
    return hybrid(facts, numbers[0] // 4)


def _rows() -> list[Row]:
    rows = [Row(rf"qwen3\.[56]-{size}", _qwen35(size)) for size in _QWEN35]
    rows += [
        Row(r"qwen3\.[56]-\d+b-a\d+b", hybrid(kinds("qwen3.5", "Qwen/Qwen3.5-397B-A17B", "gqa", True))),
        Row(r"qwen3\.[56]-[\d.]+b", hybrid(kinds("qwen3.5", "Qwen/Qwen3.5-27B", "gqa", False))),
        Row(r"qwen3\.[56]", replace(kinds("qwen3.5", "Qwen/Qwen3.5-27B", "gqa", None), hybrid=True)),
    ]
    next_80b = moe(dense("qwen3-next", "Qwen/Qwen3-Next-80B-A3B-Instruct", (48, 16, 2, 256, 2048, 262144)), 512, 10, 1)
    rows += [Row(r"qwen3-next", hybrid(next_80b, 12)), Row(r"qwen3-coder-next", hybrid(next_80b, 12))]
    coder = dense("qwen3-moe", "Qwen/Qwen3-Coder-480B-A35B-Instruct", (62, 96, 8, 128, 6144, 262144))
    rows.append(Row(r"qwen3-coder-480b", moe(coder, 160, 8)))
    for size, numbers in _QWEN3_MOE.items():
        repo = f"Qwen/Qwen3-{size.upper()}"
        rows += [
            Row(rf"qwen3-vl-{size}", moe(dense("qwen3-vl", repo, (*numbers, 262144)), 128, 8)),
            Row(
                rf"qwen3-({size}-(instruct|thinking)-2507|coder-{size})",
                moe(dense("qwen3-moe", repo, (*numbers, 262144)), 128, 8),
            ),
            Row(rf"qwen3-{size}", moe(dense("qwen3-moe", repo, (*numbers, 40960)), 128, 8)),
        ]
    for size, numbers in _QWEN3_VL.items():
        rows.append(
            Row(
                rf"qwen3-vl-{size}",
                dense("qwen3-vl", f"Qwen/Qwen3-VL-{size.upper()}-Instruct", (*numbers, 262144)),
            )
        )
    rows.append(
        Row(
            r"qwen3-4b-(instruct|thinking)-2507",
            dense("qwen3", "Qwen/Qwen3-4B-Instruct-2507", (*_QWEN3["4b"], 262144)),
        )
    )
    for size, numbers in _QWEN3.items():
        rows.append(Row(rf"qwen3-{size}", dense("qwen3", f"Qwen/Qwen3-{size.upper()}", (*numbers, 40960))))
    for size, numbers in _QWEN25.items():
        repo = f"Qwen/Qwen2.5-{size.upper()}-Instruct"
        rows += [
            Row(rf"qwen2\.5-{size}-instruct-1m", dense("qwen2.5", repo, (*numbers, None))),
            Row(rf"qwen2\.5-(coder-)?{size}-instruct", dense("qwen2.5", repo, (*numbers, 32768))),
            Row(rf"qwen2\.5-(coder-|math-|vl-)?{size}", dense("qwen2.5", repo, (*numbers, None))),
        ]
    rows.append(Row(r"qwq-32b", dense("qwen2.5", "Qwen/QwQ-32B", (*_QWEN25["32b"], None))))
    return rows


QWEN_ROWS = tuple(_rows())
