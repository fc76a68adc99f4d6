"""size: published numbers, amounts and what fits, the budget that decode then has, and what people get wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from pd_launch.launcher.cli import cli
from pd_launch.launcher.launch.prepare import LaunchOptions, prepare
from pd_launch.launcher.size.ask import Asked, answer
from pd_launch.schemas.core.units import GIB, MIB
from pd_launch.schemas.memory.cache_model import Placement, model_from_config, model_from_facts
from pd_launch.schemas.memory.kv_geometry import Geometry
from pd_launch.schemas.memory.kv_layers import KVLayoutError, Layer, lay_out, stage_sizes
from pd_launch.schemas.memory.sizing_numbers import Layout, Sizing, SizingError, for_memory, for_requests
from pd_launch.schemas.memory.states import state_of
from pd_launch.schemas.models.known import facts_by_name

# Bytes of KV for one token over all layers, in 16 bits, as others have published them.
PUBLISHED = [
    ("DeepSeek-V3", 70_272, "arXiv 2505.09343, table 1"),
    ("Qwen2.5-72B", 327_680, "arXiv 2505.09343, table 1"),
    ("Llama-3.1-405B", 516_096, "arXiv 2505.09343, table 1"),
    ("DeepSeek-V2", 60 * 576 * 2, "arXiv 2405.04434: 34.6 thousand elements"),
    ("Llama-2-7b", 524_288, "2 × 32 layers × 4096 × 2 bytes, half a MiB in many guides"),
    ("Llama-3-8B", 128 * 1024, "128 KiB in comparisons of attention kinds"),
    ("Mistral-7B-v0.3", 128 * 1024, "as Llama 3 8B: 32 layers, 8 KV heads of 128"),
]
OPT_13B = {
    "model_type": "opt",
    "hidden_size": 5120,
    "num_hidden_layers": 40,
    "num_attention_heads": 40,
    "torch_dtype": "float16",
}


@pytest.mark.parametrize(("name", "size", "source"), PUBLISHED)
def test_published_bytes_of_a_token(name: str, size: int, source: str) -> None:
    facts = facts_by_name(name)
    assert facts is not None, name
    layout = model_from_facts(facts).layout(Placement(block_tokens=1))
    assert layout.block_bytes == size, source


def test_published_bytes_of_opt() -> None:
    """800 KB for a token of OPT-13B: 2 × 5120 × 40 × 2 bytes (arXiv 2309.06180, section 3)."""
    assert model_from_config(OPT_13B).layout(Placement(block_tokens=1)).block_bytes == 2 * 5120 * 40 * 2


def test_sparse_rows_and_heads_that_differ() -> None:
    config = {
        "model_type": "deepseek_v32",
        "kv_lora_rank": 512,
        "qk_rope_head_dim": 64,
        "index_topk": 2048,
        "index_head_dim": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 8,
        "torch_dtype": "bfloat16",
    }
    model = model_from_config(config)
    assert model.layout(Placement(block_tokens=1, ascend=True)).block_bytes == 2 * (576 + 128) * 2
    assert model.layout(Placement(block_tokens=1)).block_bytes == 2 * (576 * 2 + 132)
    assert model.layout(Placement(block_tokens=1, sparse_rows=True)).block_bytes == 2 * (656 + 132)
    narrow = model_from_config({**config, "index_head_dim": 64})
    assert narrow.layout(Placement(block_tokens=1, ascend=True)).block_bytes == 2 * (576 + 64) * 2
    wide = {
        "num_hidden_layers": 1,
        "num_attention_heads": 4,
        "head_dim": 192,
        "v_head_dim": 128,
        "torch_dtype": "bfloat16",
    }
    assert model_from_config(wide).layout(Placement(block_tokens=1)).block_bytes == 4 * (192 + 128) * 2


STATES: list[tuple[str, dict[str, int], list[tuple[int, ...]]]] = [
    (
        "qwen3_next",
        {
            "linear_num_value_heads": 8,
            "linear_num_key_heads": 4,
            "linear_key_head_dim": 32,
            "linear_value_head_dim": 64,
            "linear_conv_kernel_dim": 3,
        },
        [((2 * 32 * 4 + 64 * 8) // 2, 3), (4, 64, 32)],
    ),
    ("qwen3_next", {"linear_num_value_heads": 8}, [((2 * 128 + 128 * 8) // 2, 4), (4, 128, 128)]),
    (
        "mamba2",
        {"mamba_n_heads": 8, "mamba_d_head": 32, "mamba_d_state": 16, "mamba_n_groups": 4, "mamba_d_conv": 3},
        [((8 * 32 + 2 * 4 * 16) // 2, 3), (4, 32, 16)],
    ),
    (
        "nemotron_h",
        {"mamba_num_heads": 8, "mamba_head_dim": 32, "ssm_state_size": 16, "n_groups": 3, "conv_kernel": 6},
        [((8 * 32 + 2 * 2 * 16) // 2, 6), (4, 32, 16)],
    ),
    ("mamba2", {"mamba_n_heads": 8}, [((8 * 64 + 2 * 2 * 128) // 2, 4), (4, 64, 128)]),
    (
        "jamba",
        {"mamba_d_state": 8, "hidden_size": 64, "mamba_expand": 3, "mamba_d_conv": 5},
        [(64 * 3 // 2, 4), (64 * 3 // 2, 8)],
    ),
    ("jamba", {"mamba_d_state": 8, "hidden_size": 64}, [(64 * 2 // 2, 3), (64 * 2 // 2, 8)]),
]


@pytest.mark.parametrize(("family", "config", "shapes"), STATES)
def test_the_shapes_of_a_state_follow_every_key_of_the_configuration(
    family: str, config: dict[str, int], shapes: list[tuple[int, ...]]
) -> None:
    """On one of two ranks with a draft of one token: it makes the convolution's window, of kernel - 1, one longer."""
    state = state_of(config, family, 2)
    assert state is not None and list(state.shapes(2, 1)) == shapes


def test_pages_of_two_sizes() -> None:
    """A page that divides the largest holds more tokens; another one is padded."""
    layout = lay_out([Layer("full", 1024, 16), Layer("window", 512, 16, 64)])
    assert [(group.kind, group.tokens) for group in layout.groups] == [("full", 16), ("window", 32)]
    assert layout.block_bytes == 1024
    padded = lay_out([Layer("full", 1024, 16), Layer("window", 768, 16, 64)])
    assert [group.tokens for group in padded.groups] == [16, 16] and padded.block_bytes == 1024


def test_no_layers() -> None:
    with pytest.raises(KVLayoutError, match="keeps no KV"):
        lay_out([])


@given(st.integers(1, 200), st.integers(1, 16))
def test_stages_hold_all_layers(layers: int, stages: int) -> None:
    sizes = stage_sizes(layers, stages)
    assert sum(sizes) == layers and max(sizes) - min(sizes) <= 1


@given(st.integers(1, 4000), st.integers(0, 3))
def test_tokens_in_blocks_is_the_inverse(blocks: int, drafts: int) -> None:
    layers = [Layer("full", 64, 16)] * 2 + [Layer("window", 64, 16, 128)] * 4 + [Layer("state", 64, 0)] * 2
    layout = lay_out(layers)
    tokens = layout.tokens_in(blocks, drafts)
    assert layout.blocks_for(tokens + 1, drafts) > blocks
    assert tokens == 0 or layout.blocks_for(tokens, drafts) <= blocks


CPU = ("--hardware", "cpu", "--target", "vllm==0.32.0")
LAYOUT = Layout(world=8, engines=2, data=2, nodes=1, rings=4160 * MIB, ascend=True)
GEOMETRY = Geometry(128, 61 * 576 * 2 * 128, True)


@given(st.integers(1, 500), st.integers(1, 200_000), st.integers(0, 1))
def test_what_is_proposed_holds_what_was_asked(requests: int, tokens: int, null: int) -> None:
    layout = Layout(8, 2, 2, 1, 4160 * MIB, True, null_blocks=null)
    sizing = for_requests(layout, GEOMETRY, tokens, requests)
    assert sizing.requests >= requests
    less = Sizing(layout, GEOMETRY, tokens, sizing.per_rank - MIB)
    assert (
        less.requests < requests or sizing.per_rank - MIB >= requests * sizing.blocks_per_request * GEOMETRY.block_bytes
    )


@given(st.integers(140, 4000))
def test_what_fits_a_memory_stays_below_it(gib: int) -> None:
    sizing = for_memory(LAYOUT, GEOMETRY, 32768, gib * GIB)
    assert sizing.per_node + LAYOUT.rings + LAYOUT.ranks * 8 * GIB <= gib * GIB
    assert sizing.pod_memory <= gib * GIB
    assert sizing.per_rank % MIB == 0


def test_a_budget_is_enough_on_every_processor() -> None:
    """Without AMX a block of MLA has 16 tokens, with AMX the 128 of the default: the larger one rounds more up."""
    found = json.loads(run("--model", "DeepSeek-V3", *CPU, "--requests", "4", "--tokens", "1000", "--format", "json"))
    assert (found["block_tokens"], found["exact"], found["requests"]) == (128, False, 4)
    assert "without AMX a block is 16 tokens" in found["note"] and "with AMX a block is 128 tokens" in found["note"]


def test_a_block_that_vllm_refuses_on_cpus_is_not_sized() -> None:
    words = ("--model", "Qwen/Qwen3-32B", *CPU, "--requests", "1", "--tokens", "5", "--block-size", "16")
    result = CliRunner().invoke(cli, ["size", *words])
    assert result.exit_code == 1 and "refuses blocks of 16 tokens" in result.output, result.output


def test_too_little_memory() -> None:
    with pytest.raises(SizingError, match="leave no block"):
        for_memory(LAYOUT, GEOMETRY, 32768, 100 * GIB)


def run(*words: str, status: int = 0) -> str:
    result = CliRunner().invoke(cli, ["size", *words])
    assert result.exit_code == status, result.output
    return result.output


@pytest.mark.parametrize(
    "words",
    [
        ("--profile", "a3-dp2tp8", "--requests", "8"),
        ("--profile", "a3-dp2tp8", "--memory", "1TiB"),
        ("--profile", "a2-dp4tp2", "--requests", "4", "--tokens", "9000"),
        ("--profile", "a3-moe-external", "--requests", "3"),
        ("--profile", "a3-moe-external", "--memory", "900GiB", "--mtp", "3"),
        ("--profile", "cuda-nixl", "--requests", "16"),
        ("--profile", "cpu-tiny", "--requests", "4"),
    ],
)
def test_decode_has_the_budget_that_was_proposed(words: tuple[str, ...], tmp_path: Path) -> None:
    """The fragment goes into the profile, and the plan of decode shows the same bytes, blocks and sums."""
    if words[1] == "cpu-tiny":
        words = (*words, "--bytes-per-block", "32KiB")
    numbers = json.loads(run(*words, "--format", "json"))
    fragment = yaml.safe_load(run(*words, "--format", "profile"))
    assert fragment == numbers["profile"]
    text = (Path(__file__).parents[2] / "profiles" / f"{words[1]}.yaml").read_text()
    profile = yaml.safe_load(text)
    profile["decode"]["offload"] = fragment["decode"]["offload"]
    profile["container"] = {**profile.get("container", {}), **fragment["container"]}
    if "--mtp" in words:
        profile["decode"]["engine"]["speculative-config"] = {"method": "mtp", "num_speculative_tokens": 3}
    path = tmp_path / "sized.yaml"
    path.write_text(yaml.safe_dump(profile))
    launch = prepare(LaunchOptions("decode", str(path), dry_run=True, node_rank=0))
    assert launch.plan is not None
    budget = launch.plan.budget
    for key in ("per_rank_bytes", "per_engine_bytes", "per_node_bytes", "ranks_per_engine", "engines_on_node"):
        assert getattr(budget, key) == numbers[key], key
    assert budget.shm_bytes == numbers["ring_bytes"]
    if numbers["exact"] and "--bytes-per-block" not in words:
        assert budget.blocks == numbers["blocks"]
    assert not [f for f in launch.findings if f.code in ("PD304", "PD305", "PD306")]


def test_wrong_divisions_are_explained() -> None:
    output = run("--profile", "a3-dp2tp8", "--per-rank", "16GiB")
    assert "137438953472" in output  # the engine's total: 8 ranks × 16 GiB
    assert "DP 2, which would give 64 GiB for a card; the code gives 16 GiB" in output


def test_a_config_file_with_windows(tmp_path: Path) -> None:
    config = {
        "model_type": "gpt_oss",
        "num_hidden_layers": 24,
        "num_attention_heads": 64,
        "num_key_value_heads": 8,
        "head_dim": 64,
        "sliding_window": 128,
        "layer_types": ["sliding_attention", "full_attention"] * 12,
        "torch_dtype": "bfloat16",
        "max_position_embeddings": 131072,
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    words = ("--model", str(tmp_path), "--hardware", "cuda", "--tp", "2", "--block-size", "64", "--requests", "2")
    numbers = json.loads(run(*words, "--format", "json"))
    assert numbers["block_bytes"] == 12 * 64 * 2 * 4 * 64 * 2 and numbers["exact"]
    whole = 131072 // 64
    assert whole < numbers["blocks_per_request"] <= whole + 4


def test_tables_and_bars() -> None:
    table = run("--model", "Qwen/Qwen3-32B", "--hardware", "cuda", "--memory", "512GiB", "--over", "tp=1,2,4")
    rows = [line.split() for line in table.splitlines() if line[:3].strip() in ("1", "2", "4")]
    assert [row[0] for row in rows] == ["1", "2", "4"]
    bars = run("--profile", "a3-dp2tp8", "--requests", "1", "--plot")
    lengths = [line.count("█") for line in bars.splitlines() if "█" in line]
    assert len(lengths) == 6 and lengths == sorted(lengths) and lengths[-1] == 40


def test_a_choice_that_cannot_be_keeps_its_row() -> None:
    output = run("--model", "Qwen/Qwen3-32B", "--hardware", "a2", "--requests", "1", "--over", "memory=4GiB,512GiB")
    assert "4GiB  4 GiB leave no block" in output and "512GiB" in output


def test_png(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "a.png"
    run("--profile", "a3-dp2tp8", "--requests", "2", "--png", str(path))
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (("--model", "nobody/knows-this", "--requests", "1"), 1, "give the path of its config.json"),
        (("--model", "Qwen/Qwen3-32B"), 1, "--requests N to park, or --memory SIZE"),
        ((), 1, "give --profile, or --model"),
        (("--model", "openai/gpt-oss-20b", "--requests", "1"), 1, "config.json"),
        (("--model", "Qwen/Qwen3-32B", "--requests", "1", "--memory", "1GiB"), 2, "give one of them"),
        (("--model", "Qwen/Qwen3-32B", "--memory", "1.5.2GiB"), 2, "is not a size"),
        (("--model", "Qwen/Qwen3-32B", "--memory", "0"), 2, "more than 0"),
        (("--model", "Qwen/Qwen3-32B", "--requests", "1", "--over", "colour=red"), 2, "NAME=VALUE"),
        (("--model", "Qwen/Qwen3-32B", "--requests", "1", "--over", "requests=0"), 2, "whole numbers above 0"),
        (("--model", "Qwen/Qwen3-32B", "--requests", "1", "--kv-cache-dtype", "nvfp4"), 1, "nvfp4"),
        (("--profile", "a3-dp2tp9", "--requests", "1"), 1, "did you mean"),
        (("--profile", "a3-dp2tp8", "--requests", "1", "--nodes", "3"), 1, "cannot be spread over 3 nodes"),
        (("--config", "/nowhere/config.json", "--model", "m", "--requests", "1"), 1, "no such file"),
    ],
)
def test_mistakes_are_explained(words: tuple[str, ...], status: int, message: str) -> None:
    result = CliRunner().invoke(cli, ["size", *words])
    assert result.exit_code == status, result.output
    assert message in result.output + (result.stderr if result.stderr_bytes else "")
    assert "Traceback" not in result.output


def test_a_broken_config_is_explained(tmp_path: Path) -> None:
    for text, message in (("{", "is not JSON"), ("[]", "not a model's config.json"), ("{}", "num_hidden_layers")):
        (tmp_path / "config.json").write_text(text)
        result = CliRunner().invoke(cli, ["size", "--model", str(tmp_path), "--requests", "1", "--tokens", "5"])
        assert result.exit_code == 1 and message in result.output, result.output


@pytest.mark.parametrize("layers", [10_001, 10**9, 10**30])
def test_layers_that_no_model_has_take_no_memory(tmp_path: Path, layers: int) -> None:
    text = json.dumps({"model_type": "qwen3", "num_hidden_layers": layers, "num_attention_heads": 8, "hidden_size": 64})
    (tmp_path / "config.json").write_text(text)
    result = CliRunner().invoke(cli, ["size", "--model", str(tmp_path), "--requests", "1", "--tokens", "5"])
    assert result.exit_code == 1 and "num_hidden_layers of config.json is not between" in result.output, result.output


@pytest.mark.parametrize(
    ("key", "written"),
    [
        *(("num_hidden_layers", text) for text in ("-3", "0", '"36"', "36.5", "true", "[1]", "1e400")),
        *(("head_dim", text) for text in ("NaN", "-128", "0", '"\\u001b[31m"', "1.5", "Infinity", "9" * 400)),
        *(("num_key_value_heads", text) for text in ("0", "-1", '"8"', "[8, 8]")),
        ("kv_lora_rank", "NaN"),
        ("num_nextn_predict_layers", "-1"),
    ],
)
def test_a_size_that_is_no_number_is_refused_and_not_left_out(tmp_path: Path, key: str, written: str) -> None:
    numbers = '"num_attention_heads": 8, "hidden_size": 64, "torch_dtype": "bfloat16"'
    layers = "" if key == "num_hidden_layers" else '"num_hidden_layers": 4, '
    (tmp_path / "config.json").write_text(f'{{"model_type": "qwen3", {layers}{numbers}, "{key}": {written}}}')
    result = CliRunner().invoke(cli, ["size", "--model", str(tmp_path), "--requests", "1", "--tokens", "5"])
    assert result.exit_code == 1 and f"{key} of config.json is " in result.output, result.output
    assert "a whole number from" in result.output and "\x1b" not in result.output
    (tmp_path / "config.json").write_text(f'{{"model_type": "qwen3", "num_hidden_layers": 4, {numbers}}}')
    assert (
        CliRunner().invoke(cli, ["size", "--model", str(tmp_path), "--requests", "1", "--tokens", "5"]).exit_code == 0
    )


def test_the_builtin_connector_loses_a_block() -> None:
    settings = ("decode.offload.connector=builtin",)
    sizing = answer(Asked(profile="a3-dp2tp8", requests=1, tokens=128, settings=settings)).sizing
    assert sizing.layout.null_blocks == 1 and sizing.usable == sizing.blocks - 1 and sizing.requests >= 1


def test_drafts_add_their_layer_and_the_layers_split() -> None:
    def block(**options: Any) -> int:
        return answer(Asked(model="DeepSeek-V3", requests=1, tokens=1, **options)).sizing.geometry.block_bytes

    token = 576 * 2 * 128
    assert block() == 61 * token
    assert block(mtp=1) == 62 * token
    assert block(keys={"pp": "2"}) == 31 * token
    assert block(keys={"pp": "2"}, mtp=1) == 31 * token


@pytest.mark.parametrize("model", ["Qwen/Qwen3-Next-80B-A3B-Instruct", "openai/gpt-oss-120b"])
def test_a_model_whose_blocks_differ_is_not_sized_by_its_name(model: str) -> None:
    """Only its config.json says how they differ; a number without the states would be far too small."""
    result = CliRunner().invoke(cli, ["size", "--model", model, "--requests", "1", "--tokens", "8192"])
    assert result.exit_code != 0 and "config.json" in result.output
    known = ["size", "--model", model, "--requests", "1", "--tokens", "8192", "--bytes-per-block", "12MiB"]
    assert CliRunner().invoke(cli, known).exit_code == 0
