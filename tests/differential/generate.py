"""Command lines for the differential test: valid ones, and mutations of them, from one seed."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any

Words = list[str]
FLAGS: dict[str, list[str]] = {
    "tensor-parallel-size": ["1", "2", "8", " 4", "8_0", "0", "-1", "two", "2.0", ""],
    "pipeline-parallel-size": ["1", "4", "0", "x"],
    "data-parallel-size": ["1", "2", "1e1", "0"],
    "data-parallel-size-local": ["1", "0", "one"],
    "data-parallel-start-rank": ["0", "2", "a"],
    "data-parallel-rpc-port": ["13389", "port"],
    "data-parallel-backend": ["mp", "ray"],
    "decode-context-parallel-size": ["1", "0", "b"],
    "port": ["8000", "http", "8000.0"],
    "host": ["0.0.0.0", "::"],
    "max-model-len": ["4096", "32k", "32K", "25.6k", "25.6K", "auto", "-1", "AUTO", "1e4", "4,096", "32kb", "4k "],
    "max-num-batched-tokens": ["2048", "8k", "1.5K", "auto", "2M", "2 k"],
    "max-num-seqs": ["32", "0", "-3", "32k", "many"],
    "gpu-memory-utilization": ["0.9", "1", ".5", "90%", "1.5", "0", "nan", "9e-1"],
    "kv-cache-memory-bytes": ["16G", "1073741824", "16GiB", "16gb"],
    "kv-cache-dtype": ["auto", "fp8", "fp9", "FP8", "bfloat16"],
    "block-size": ["32", "128", "0", "16.0", "None"],
    "dtype": ["auto", "bfloat16", "bf16", "Float16", "half"],
    "seed": ["0", "42", "", "None", "1.5"],
    "scheduling-policy": ["fcfs", "priority", "FCFS", "lifo"],
    "distributed-executor-backend": ["mp", "ray", "uni", "anything.at.all"],
    "tokenizer-mode": ["auto", "slow", "mine"],
    "load-format": ["auto", "dummy", "zip"],
    "quantization": ["fp8", "ascend", "none"],
    "runner": ["auto", "generate", "pooling", "draft"],
    "uvicorn-log-level": ["info", "warning", "warn", "INFO"],
    "served-model-name": ["m", "a"],
    "reasoning-parser": ["qwen3", "x"],
    "swap-space": ["4"],
    "optimization-level": ["2", "9", "O2", "fast"],
    "max-lora-rank": ["16", "17", "sixteen"],
    "cpu-offload-gb": ["0", "4", "4GB", "-1"],
    "stream-interval": ["1", "0", "a"],
    "prefix-caching-hash-algo": ["sha256", "md5"],
    "mm-processor-cache-gb": ["4", "-2", "4g"],
    "moe-backend": ["auto", "AUTO", "triton", "none-such"],
    "kv-offloading-size": ["16", "16GiB", "1.5"],
    "num-gpu-blocks-override": ["24", "x"],
    "api-server-count": ["1", "one"],
    "cudagraph-capture-sizes": ["1", "8", "eight"],
    "long-prefill-token-threshold": ["0", "t"],
    "generation-config": ["auto", "vllm"],
    "limit-mm-per-prompt": ['{"image": 2}', '{"image": 2', "image=2"],
    "override-generation-config": ['{"temperature": 0}', "temperature=0"],
    "hf-overrides": ['{"a": 1}', "{a: 1}"],
    "structured-outputs-config": ['{"backend": "auto"}', '{"backend": "no"}', '{"backnd": "auto"}', "[]"],
    "max-logprobs": ["20", "-1", "x"],
    "data-parallel-rank": ["0", "r"],
    "nnodes": ["1", "0", "n"],
    "node-rank": ["0", "-1", "n"],
}
"""Values of flags, right and wrong ones together: the engine says which are which."""

SWITCHES = (
    "enforce-eager", "enable-prefix-caching", "enable-expert-parallel", "trust-remote-code", "async-scheduling",
    "enable-chunked-prefill", "headless", "disable-hybrid-kv-cache-manager", "enable-eplb", "disable-log-stats",
    "enable-log-requests", "disable-uvicorn-access-log", "enable-sleep-mode", "skip-tokenizer-init",
)  # fmt: skip
GONE = (
    "--disable-log-requests", "--task generate", "--num-scheduler-steps 8", "--use-v2-block-manager", "--swap-space 4",
    "--guided-decoding-backend xgrammar", "--rope-scaling {}", "--enable-reasoning", "--preemption-mode swap",
    "--worker-use-ray", "--kv-offload 3", "--cpu-bytes-to-use 8", "--recompute-scheduler-enable", "--prefill",
    "--jit-monitor-mode warn", "--enable-shm-tensor-arena", "--log-level INFO", "--spec-method ngram",
)  # fmt: skip
SHORT = ("-tp 2", "-tp=2", "-tp2", "-pp 1", "-dp 2", "-n 1", "-q fp8", "-qfp8", "-t 2", "-d 2", "-x 1", "-asc 2", "-ep")
V1 = "vllm.distributed.kv_transfer.kv_connector.v1"
CONNECTORS = ("NixlConnector", "OffloadingConnector", "ExampleConnector", "DecodeBenchConnector", "MultiConnector")


def command_lines(seed: int, count: int) -> list[Words]:
    """Return ``count`` different command lines, each the words behind ``vllm``."""
    source = random.Random(seed)
    found: dict[tuple[str, ...], Words] = {}
    while len(found) < count:
        words = _line(source)
        found[tuple(words)] = words
    return list(found.values())


def _line(source: random.Random) -> Words:
    words = ["serve", "/models/m"]
    kind = source.random()
    if kind < 0.35:
        config = kv_config(source)
        if source.random() < 0.75:
            config = source.choice(KV_MUTATIONS)(config, source)
        words += _kv_words(config, source)
    elif kind < 0.45:
        words += source.choice(OBJECTS)
    if kind >= 0.35 or source.random() < 0.25:
        for name in source.sample(sorted(FLAGS), source.randint(1, 3)):
            words += [f"--{name}", _value(name, source)]
        words += [f"--{name}" for name in source.sample(SWITCHES, source.randint(0, 2))]
        if source.random() < 0.45:
            words = source.choice(MUTATIONS)(words, source)
    return words


def _value(name: str, source: random.Random) -> str:
    values = FLAGS[name]
    return values[0] if source.random() < 0.7 else source.choice(values)


def kv_config(source: random.Random) -> dict[str, Any]:
    """Return a --kv-transfer-config that the engine takes."""
    name = source.choice(CONNECTORS)
    config: dict[str, Any] = {"kv_connector": name, "kv_role": source.choice(["kv_consumer", "kv_producer", "kv_both"])}
    if name == "MultiConnector":
        children = source.sample(CONNECTORS[:4], source.randint(1, 2))
        config["kv_connector_extra_config"] = {
            "connectors": [{"kv_connector": child, "kv_role": config["kv_role"]} for child in children]
        }
    elif name == "OffloadingConnector":
        config["kv_connector_extra_config"] = {"cpu_bytes_to_use": 17179869184}
    options = {"kv_port": 36000, "engine_id": "a", "kv_load_failure_policy": "fail", "kv_buffer_device": "cpu"}
    for key in source.sample(sorted(options), source.randint(0, 2)):
        config[key] = options[key]
    return config


Config = Any
KVMutation = Callable[[dict[str, Any], random.Random], Config]


def _with(key: str, *values: Any) -> KVMutation:
    return lambda config, source: {**config, key: source.choice(values)}


def _without(key: str) -> KVMutation:
    return lambda config, _: {name: value for name, value in config.items() if name != key}


def _misspelt(config: dict[str, Any], source: random.Random) -> Config:
    key = source.choice(sorted(config))
    at = source.randrange(len(key))
    return {**_without(key)(config, source), key[:at] + key[at + 1 :]: config[key]}


def _child(change: KVMutation) -> KVMutation:
    def mutate(config: dict[str, Any], source: random.Random) -> Config:
        config = copy.deepcopy(config)
        children = config.get("kv_connector_extra_config", {}).get("connectors")
        if not children:
            return change(config, source)
        children[0] = change(children[0], source)
        return config

    return mutate


KV_MUTATIONS: list[KVMutation] = [
    _with("kv_connector", "NixlConector", "MooncakeConnectorV1", "RecomputeCPUOffloadConnector", "P2pNcclConnector", 3),
    _with("kv_role", "consumer", "kv_consumer ", "KV_BOTH", None, 1),
    _with("kv_port", "36000", "port", 36000.5, 36000.0, None, [1], True, "36000.0"),
    _with("engine_id", 5, None, "x", ["a"], True),
    _with("kv_buffer_device", "npu", 3, None),
    _with("kv_load_failure_policy", "recompute", "retry", None, True, ""),
    _with("enable_permute_local_kv", True, "yes", "maybe", 2, 1, None, 0.0),
    _with("kv_connector_extra_config", [], None, "x", {}, 3),
    _with("kv_connector_module_path", "", None, 7, f"{V1}.nixl"),
    _with("kv_ip", "127.0.0.1", 3),
    _with("kv_rank", 0, "one"),
    _with("kv_parallel_size", 2, "2"),
    _with("kv_buffer_size", 1e9, "1e9", "big"),
    _with("kv_extra_config", {}),
    _without("kv_role"),
    _without("kv_connector"),
    _misspelt,
    _misspelt,
    _child(_without("kv_role")),
    _child(_without("kv_connector")),
    _child(_misspelt),
    _child(_with("engine_id", "e")),
    _child(_with("kv_connector", "NoConnector", "MultiConector", "AscendStoreConnector")),
    _child(_with("kv_role", "both", "kv_producer")),
    _child(_with("kv_port", "x", 1)),
    lambda config, _: {**config, "kv_connector": "MultiConnector", "kv_connector_extra_config": {}},
    lambda config, _: {**config, "kv_connector_extra_config": {"connectors": [{}]}, "kv_connector": "MultiConnector"},
    lambda config, _: [config],
    lambda config, _: "text",
    lambda config, _: None,
]


def _kv_words(config: Config, source: random.Random) -> Words:
    text = json.dumps(config)
    style = source.random()
    if style < 0.12:
        text = source.choice([
            text[:-1], text.replace("}", ",}", 1), text.replace('"', "'"), text + "}", f"'{text}'", text[1:],
            text.replace("null", "None"), text.replace("true", "True"), text.replace(": ", " : "), text + " ",
            text.replace("17179869184", "16g"), text.replace("17179869184", "16GiB"), text.replace("36000", "36k"),
            text.replace("36000", "0x8ca0"), text.replace(",", ",\n"),
        ])  # fmt: skip
    elif style < 0.22 and isinstance(config, dict):
        return [
            word
            for key, value in config.items()
            for word in (f"--kv-transfer-config.{key}", value if isinstance(value, str) else json.dumps(value))
        ]
    flag = source.choice(["--kv-transfer-config", "--kv-transfer-config", "--kv_transfer_config", "--kv-transfer"])
    return [f"{flag}={text}"] if source.random() < 0.2 else [flag, text]


OBJECTS: list[Words] = [
    ["--compilation-config", text]
    for text in (
        '{"cudagraph_mode": "FULL_DECODE_ONLY"}', '{"cudagraph_mode": "full"}', '{"cudagraph_mode": "ALL"}',
        '{"cudagraph_capture_sizes": [1, 2, 8]}', '{"cudagraph_capture_sizes": 8}', '{"cudagraph_sizes": [1]}',
        '{"mode": 3}', '{"level": 3}', '{"pass_config": {"fuse_norm_quant": true}}', '{"pass_config": {"fuse": true}}',
        '{"custom_ops": ["all"]}', '{"custom_ops": "all"}', "3", "{}", '{"max_cudagraph_capture_size": "x"}',
        '{"max_cudagraph_capture_size": "64"}', '{"debug_dump_path": 3}',
    )
] + [
    ["--speculative-config", text]
    for text in (
        '{"method": "ngram", "num_speculative_tokens": 3}', '{"method": "ngram", "num_spec_tokens": 3}',
        "{'method': 'ngram'}", '{"method": "ngram", "num_speculative_tokens": 3,}',
    )
] + [
    ["--additional-config", '{"a": 1}'], ["--additional-config", '{"a": True}'], ["--additional-config", "{a: 1}"],
    ["--additional-config", '{"a": 80m}'], ["--additional-config.a", "1"], ["--additional-config", "None"],
    ["--kv-events-config", '{"enable_kv_cache_events": true, "publisher": "null"}'],
    ["--kv-events-config", '{"enable_kv_cache_events": "maybe"}'],
    ["--kv-events-config", '{"publisher": "none-such"}'],
    ["--eplb-config", '{"window_size": 100}'], ["--eplb-config", '{"window_size": "x"}'],
    ["--eplb-config.window_size", "100"], ["--eplb-config.window", "100"],
    ["--port.x", "3"], ["--no-such-config.x", "3"],
]  # fmt: skip

Mutation = Callable[[Words, random.Random], Words]


def _at(words: Words, source: random.Random, prefix: str = "--") -> int | None:
    places = [i for i, word in enumerate(words) if i > 1 and word.startswith(prefix) and "=" not in word]
    return source.choice(places) if places else None


def _on_flag(change: Callable[[str, random.Random], str]) -> Mutation:
    def mutate(words: Words, source: random.Random) -> Words:
        at = _at(words, source)
        return words if at is None else [*words[:at], change(words[at], source), *words[at + 1 :]]

    return mutate


def _drop_letter(word: str, source: random.Random) -> str:
    at = source.randrange(3, len(word))
    return word[:at] + word[at + 1 :]


def _swap_letters(word: str, source: random.Random) -> str:
    at = source.randrange(2, len(word) - 1)
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def _insert(*texts: str) -> Mutation:
    def mutate(words: Words, source: random.Random) -> Words:
        at = source.choice([2, len(words)])
        given = [part.replace("_", " ") for part in source.choice(texts).split(" ")]
        return [*words[:2], *given, *words[2:]] if " " in given[0] else [*words[:at], *given, *words[at:]]

    return mutate


def _cut_value(words: Words, source: random.Random) -> Words:
    at = _at(words, source)
    valued = at is not None and words[at][2:] in FLAGS and at + 1 < len(words)
    return [*words[: at + 1], *words[at + 2 :]] if at is not None and valued else words


def _glue(words: Words, source: random.Random) -> Words:
    at = _at(words, source)
    if at is None or at + 1 >= len(words) or words[at + 1].startswith("--"):
        return words
    return [*words[:at], f"{words[at]}={words[at + 1]}", *words[at + 2 :]]


MUTATIONS: list[Mutation] = [
    _on_flag(_drop_letter),
    _on_flag(_swap_letters),
    _on_flag(lambda word, source: word[: source.randrange(4, max(5, len(word)))]),
    _on_flag(lambda word, _: word.replace("-", "_").replace("__", "--", 1)),
    _insert("--enforce-eager_", "--enable-expert-parallel_"),
    _on_flag(lambda word, _: word[1:]),
    _on_flag(lambda word, _: f"--no-{word[2:]}"),
    _on_flag(lambda word, _: word.upper()),
    _on_flag(lambda word, _: f"{word}=true"),
    _on_flag(lambda word, _: f"{word}="),
    _insert(*GONE),
    _insert(*GONE),
    _insert(*SHORT),
    _insert("true", "extra", "8000"),
    _insert(*(f"--{name} false" for name in SWITCHES[:4]), *(f"--no-{name}" for name in SWITCHES)),
    _cut_value,
    _glue,
]
