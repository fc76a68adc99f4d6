"""``size`` on files that people have, and on sizes with which no engine starts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pd_launch.launcher.cli import cli

OFFLOAD = (
    '{"kv_connector":"RecomputeCPUOffloadConnector","kv_role":"kv_consumer",'
    '"kv_connector_extra_config":{"cpu_bytes_to_use_per_rank":8589934592}}'
)
POD = """apiVersion: apps/v1
kind: StatefulSet
metadata: {name: decode}
spec:
  template:
    spec:
      containers:
      - name: vllm
        image: vllm/vllm-openai:v0.32.0
        command: [vllm, serve, Qwen/Qwen3-32B, --tensor-parallel-size, "4", --block-size, "16", --max-model-len, "8000"]
"""


def size(*words: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(cli, ["size", *words], input=stdin)


def numbers(*words: str, stdin: str | None = None) -> dict[str, object]:
    result = size(*words, "--format", "json", stdin=stdin)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert isinstance(found, dict)
    return {key: value for key, value in found.items() if key not in ("target", "profile")}


BY_MODEL = ("--model", "Qwen/Qwen3-32B", "--hardware", "cuda", "--block-size", "16", "--max-model-len", "8000")


def test_a_script_a_manifest_and_a_model_give_the_same(tmp_path: Path) -> None:
    script = "vllm serve Qwen/Qwen3-32B --tensor-parallel-size 4 --block-size 16 --max-model-len 8000\n"
    (tmp_path / "decode.sh").write_text(
        f"# pd-launch: target vllm==0.32.0\nexport CUDA_VISIBLE_DEVICES=0,1,2,3\n{script}"
    )
    (tmp_path / "pod.yaml").write_text(POD)
    asked = ("--requests", "4", "--target", "vllm==0.32.0")
    wanted = numbers(*BY_MODEL, "--tp", "4", *asked)
    for name in ("decode.sh", "pod.yaml"):
        found = numbers(str(tmp_path / name), *asked)
        assert found == wanted
    found = numbers("-", *asked, stdin=(tmp_path / "decode.sh").read_text())
    assert found == wanted


def test_what_a_script_configures_is_what_is_sized(tmp_path: Path) -> None:
    path = tmp_path / "decode.sh"
    path.write_text(f"vllm serve Qwen/Qwen3-32B --block-size 128 --kv-transfer-config '{OFFLOAD}'\n")
    result = size(str(path), "--tokens", "8000")
    assert "8 GiB = 256 blocks" in result.output  # 128 tokens of 64 layers, 8 KV heads of 128, keys and values, 2 bytes
    assert '"cpu_bytes_to_use_per_rank": 8589934592' in result.output and "In the profile" not in result.output


def test_a_value_that_is_not_known_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "decode.sh"
    path.write_text("vllm serve Qwen/Qwen3-32B --max-model-len 8000 --tensor-parallel-size $7\n")
    result = size(str(path), "--requests", "2")
    assert result.exit_code == 1 and f"{path}:1: --tensor-parallel-size is not known before the launch" in result.output
    assert "give --tp" in result.output
    assert size(str(path), "--requests", "2", "--tp", "4").exit_code == 0


def test_files_that_start_a_profile_are_that_profile(tmp_path: Path) -> None:
    path = tmp_path / "unit.service"
    path.write_text("[Unit]\n[Service]\nExecStart=pd-launch decode --profile cuda-nixl\n")
    assert numbers(str(path), "--requests", "2") == numbers("--profile", "cuda-nixl", "--requests", "2")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("echo nothing\n", "no engine was found"),
        ('vllm serve m --kv-transfer-config \'{"kv_connector":"P","kv_role":"kv_producer"}\'\n', "only a prefill side"),
        ("vllm serve nobody/knows-this\n", "does not know this model"),
    ],
)
def test_files_without_an_answer(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "x.sh"
    path.write_text(text)
    result = size(str(path), "--requests", "2")
    assert result.exit_code == 1 and said in result.output and "Traceback" not in result.output
    assert size(str(path), "--profile", "cuda-nixl", "--requests", "2").exit_code == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--tp", "3"), "3 does not divide the model's 64 attention heads"),
        (("--tp", "3"), "give 1, 2, 4, 8, 16, 32 or 64"),
        (("--pp", "65"), "65 is more than the model's 64 layers"),
        (("--tp", "4", "--set", "decode.parallel.decode_context=3"), "give 1, 2 or 4"),
    ],
)
def test_sizes_with_which_no_engine_starts(words: tuple[str, ...], said: str) -> None:
    result = size("--model", "Qwen/Qwen3-32B", "--hardware", "cuda", "--requests", "2", *words)
    assert result.exit_code == 1 and said in result.output


def test_heads_of_the_kv_cache(tmp_path: Path) -> None:
    """48 heads are divided by 6 ranks; of 4 KV heads, 6 ranks could keep neither whole ones nor whole copies."""
    config = {"model_type": "qwen3", "num_hidden_layers": 8, "num_attention_heads": 48, "num_key_value_heads": 4}
    (tmp_path / "config.json").write_text(
        json.dumps({**config, "head_dim": 128, "hidden_size": 6144, "torch_dtype": "bfloat16"})
    )
    words = ("--model", str(tmp_path), "--hardware", "cuda", "--tokens", "100", "--requests", "2")
    result = size(*words, "--tp", "6")
    assert (
        result.exit_code == 1 and "4 KV heads" in result.output and "give 1, 2, 4, 8, 12, 16, 24 or 48" in result.output
    )
    assert all(size(*words, "--tp", n).exit_code == 0 for n in ("1", "2", "4", "8", "12"))


@pytest.mark.parametrize("model", ["Qwen/Qwen3-Next-80B-A3B-Instruct", "Qwen/Qwen3.5-397B-A17B", "openai/gpt-oss-120b"])
def test_models_whose_blocks_differ_are_refused_by_name(model: str) -> None:
    result = size("--model", model, "--requests", "2", "--tokens", "8000")
    assert result.exit_code == 1 and "config.json" in result.output
