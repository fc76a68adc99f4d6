"""The model table: what is known of a model by the last part of its name, each row with its source.

Numbers are those of the checkpoint's published config.json; what is not surely known is left out (None). The patterns
match a name in lower case with dashes for underscores. Earlier rows win.
"""

from __future__ import annotations

from dataclasses import replace

from pd_launch.schemas.models.facts import Row, dense, hybrid, kinds, mla, moe
from pd_launch.schemas.models.table_qwen import QWEN_ROWS

_V3 = (61, 128, 256, 8, 1, 7168, 163840)
_GLM5 = (78, 64, 256, 8, 1, 6144)
_DEEPSEEK = [
    Row(r"deepseek-?r1(-\d+)?-distill-llama", kinds("llama", "deepseek-ai/DeepSeek-R1-Distill-Llama-8B", "gqa", False)),
    Row(r"deepseek-?r1(-\d+)?-distill-qwen", kinds("qwen2.5", "deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", "gqa", False)),
    Row(
        r"deepseek-?r1(-\d+)?-qwen3-8b",
        dense("qwen3", "deepseek-ai/DeepSeek-R1-0528-Qwen3-8B", (36, 32, 8, 128, 4096, None)),
    ),
    Row(
        r"deepseek-?(coder-)?v2-lite",
        mla("deepseek-v2", "deepseek-ai/DeepSeek-V2-Lite", (27, 16, 64, 6, 2, 2048, 163840)),
    ),
    Row(
        r"deepseek-?(coder-)?v2(\.5)?",
        mla("deepseek-v2", "deepseek-ai/DeepSeek-V2", (60, 128, 160, 6, 2, 5120, 163840)),
    ),
    Row(
        r"deepseek-?v4-?flash",
        replace(
            mla("deepseek-v4", "deepseek-ai/DeepSeek-V4-Flash", (43, 64, 256, 6, 1, 4096, 1048576), sparse=True),
            kv_lora_rank=None,
            rope_dim=None,
            sliding_window=True,
            kv_heads=1,
            head_dim=512,
        ),
    ),
    Row(
        r"deepseek-?v4-?pro",
        replace(
            mla("deepseek-v4", "deepseek-ai/DeepSeek-V4-Pro", (61, 128, 384, 6, 1, 7168, 1048576), sparse=True),
            kv_lora_rank=None,
            rope_dim=None,
            sliding_window=True,
            kv_heads=1,
            head_dim=512,
        ),
    ),
    Row(
        r"deepseek-?v4",
        replace(kinds("deepseek-v4", "deepseek-ai/DeepSeek-V4-Flash", "mla", True), sparse=True, sliding_window=True),
    ),
    Row(r"deepseek-?v3\.2t?", mla("deepseek-v3.2", "deepseek-ai/DeepSeek-V3.2", _V3, sparse=True)),
    Row(r"deepseek-?v3(\.1)?", mla("deepseek-v3", "deepseek-ai/DeepSeek-V3.1", _V3)),
    Row(r"deepseek-?r1", mla("deepseek-v3", "deepseek-ai/DeepSeek-R1", _V3)),
]
_KIMI = [
    Row(r"kimi-linear", hybrid(kinds("kimi-linear", "moonshotai/Kimi-Linear-48B-A3B-Instruct", "mla", True))),
    Row(
        r"kimi-?k2-(thinking|instruct-0905)",
        mla("kimi-k2", "moonshotai/Kimi-K2-Thinking", (61, 64, 384, 8, 1, 7168, 262144)),
    ),
    Row(r"kimi-?k2\.\d", mla("kimi-k2", "moonshotai/Kimi-K2.5", (61, 64, 384, 8, 1, 7168, 262144))),
    Row(r"kimi-?k2", mla("kimi-k2", "moonshotai/Kimi-K2-Instruct", (61, 64, 384, 8, 1, 7168, 131072))),
]
_GLM = [
    Row(r"glm-?5\.3-flash", hybrid(replace(kinds("glm-5-next", "zai-org/GLM-5.3-Flash", "mla", True), sparse=True))),
    Row(r"glm-?5\.[23]", mla("glm-5", "zai-org/GLM-5.2", (*_GLM5, None), sparse=True)),
    Row(r"glm-?5(\.1)?", mla("glm-5", "zai-org/GLM-5", (*_GLM5, 202752), sparse=True)),
    Row(r"glm-?4\.7-flash", mla("glm-4.7-flash", "zai-org/GLM-4.7-Flash", (47, 20, 64, 4, 1, 2048, 202752))),
    Row(r"glm-?4\.[56]-?air", moe(dense("glm-4.5", "zai-org/GLM-4.5-Air", (46, 96, 8, 128, 4096, 131072)), 128, 8, 1)),
    Row(r"glm-?4\.[56]v", moe(kinds("glm-4.5v", "zai-org/GLM-4.5V", "gqa", True), None, None, None)),
    Row(r"glm-?4\.5", moe(dense("glm-4.5", "zai-org/GLM-4.5", (92, 96, 8, 128, 5120, 131072)), 160, 8, 1)),
    Row(r"glm-?4\.[67]", moe(dense("glm-4.5", "zai-org/GLM-4.7", (92, 96, 8, 128, 5120, 202752)), 160, 8, 1)),
    Row(r"glm-?4-9b-0414", dense("glm-4", "zai-org/GLM-4-9B-0414", (40, 32, 2, 128, 4096, 32768))),
    Row(r"glm-?4-9b", dense("glm-4", "zai-org/glm-4-9b-chat", (40, 32, 2, 128, 4096, None))),
    Row(r"glm-?(4|z1)-32b", kinds("glm-4", "zai-org/GLM-4-32B-0414", "gqa", False)),
]

_LLAMA = [
    Row(r"llama-?4", kinds("llama-4", "meta-llama/Llama-4-Scout-17B-16E-Instruct", "gqa", True)),
    Row(r"(meta-)?llama-?3\.1-8b", dense("llama", "meta-llama/Llama-3.1-8B", (32, 32, 8, 128, 4096, 131072))),
    Row(r"(meta-)?llama-?3\.[13]-70b", dense("llama", "meta-llama/Llama-3.1-70B", (80, 64, 8, 128, 8192, 131072))),
    Row(r"(meta-)?llama-?3\.1-405b", dense("llama", "meta-llama/Llama-3.1-405B", (126, 128, 8, 128, 16384, 131072))),
    Row(r"(meta-)?llama-?3\.2-1b", dense("llama", "meta-llama/Llama-3.2-1B", (16, 32, 8, 64, 2048, 131072))),
    Row(r"(meta-)?llama-?3\.2-3b", dense("llama", "meta-llama/Llama-3.2-3B", (28, 24, 8, 128, 3072, 131072))),
    Row(r"(meta-)?llama-?3-8b", dense("llama", "meta-llama/Meta-Llama-3-8B", (32, 32, 8, 128, 4096, 8192))),
    Row(r"(meta-)?llama-?3-70b", dense("llama", "meta-llama/Meta-Llama-3-70B", (80, 64, 8, 128, 8192, 8192))),
    Row(r"(meta-)?llama-?2-7b", dense("llama", "meta-llama/Llama-2-7b-hf", (32, 32, 32, 128, 4096, 4096), "mha")),
    Row(r"(meta-)?llama-?2-13b", dense("llama", "meta-llama/Llama-2-13b-hf", (40, 40, 40, 128, 5120, 4096), "mha")),
    Row(r"(meta-)?llama-?2-70b", dense("llama", "meta-llama/Llama-2-70b-hf", (80, 64, 8, 128, 8192, 4096))),
]
_MISTRAL = [
    Row(
        r"mixtral-8x7b",
        moe(dense("mixtral", "mistralai/Mixtral-8x7B-Instruct-v0.1", (32, 32, 8, 128, 4096, 32768)), 8, 2),
    ),
    Row(
        r"mixtral-8x22b",
        moe(dense("mixtral", "mistralai/Mixtral-8x22B-Instruct-v0.1", (56, 48, 8, 128, 6144, 65536)), 8, 2),
    ),
    Row(
        r"mistral-7b(-instruct)?-v0\.1",
        replace(dense("mistral", "mistralai/Mistral-7B-v0.1", (32, 32, 8, 128, 4096, 32768)), sliding_window=True),
    ),
    Row(
        r"mistral-7b(-instruct)?-v0\.[23]",
        dense("mistral", "mistralai/Mistral-7B-Instruct-v0.3", (32, 32, 8, 128, 4096, 32768)),
    ),
    Row(r"mistral-nemo", dense("mistral", "mistralai/Mistral-Nemo-Instruct-2407", (40, 32, 8, 128, 5120, None))),
    Row(
        r"mistral-small-(3\.\d-)?24b",
        dense("mistral", "mistralai/Mistral-Small-24B-Instruct-2501", (40, 32, 8, 128, 5120, None)),
    ),
    Row(
        r"mistral-large-(instruct-)?24(07|11)",
        dense("mistral", "mistralai/Mistral-Large-Instruct-2411", (88, 96, 8, 128, 12288, 131072)),
    ),
    Row(r"mistral-large-3", kinds("mistral-large-3", "mistralai/Mistral-Large-3-675B-Instruct-2512", "mla", True)),
]
_OTHERS = [
    Row(
        r"minimax-?m1",
        hybrid(moe(dense("minimax-m1", "MiniMaxAI/MiniMax-M1-80k", (80, 64, 8, 128, 6144, None)), 32, 2), 10),
    ),
    Row(r"minimax-?m2\.\d", moe(dense("minimax-m2", "MiniMaxAI/MiniMax-M2.5", (62, 48, 8, 128, 3072, None)), 256, 8)),
    Row(r"minimax-?m2", moe(dense("minimax-m2", "MiniMaxAI/MiniMax-M2", (62, 48, 8, 128, 3072, 196608)), 256, 8)),
    Row(
        r"gpt-oss-120b",
        replace(
            moe(dense("gpt-oss", "openai/gpt-oss-120b", (36, 64, 8, 64, 2880, 131072)), 128, 4), sliding_window=True
        ),
    ),
    Row(
        r"gpt-oss-20b",
        replace(moe(dense("gpt-oss", "openai/gpt-oss-20b", (24, 64, 8, 64, 2880, 131072)), 32, 4), sliding_window=True),
    ),
]

TABLE: tuple[Row, ...] = (*_DEEPSEEK, *_KIMI, *_GLM, *QWEN_ROWS, *_LLAMA, *_MISTRAL, *_OTHERS)
