"""What of a launch or a log the simulator plays, and what it says that it does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pd_launch.launcher.cli import cli
from pd_launch.schemas.sim.drafts import Drafts, chance_of

WORK = ["--workload", "requests=8,prompt=100,output=150", "--format", "json", "--lang", "en"]
SIZE = ["--blocks", "24", "--block-size", "32", "--no-async-scheduling"]


def played(tmp_path: Path, *words: str, line: str = "", log: str = "") -> dict[str, Any]:
    files = []
    if line:
        script = tmp_path / "decode.sh"
        script.write_text(f"vllm serve /models/own --max-num-seqs 8 --max-num-batched-tokens 2048 {line}\n")
        files.append(str(script))
    if log:
        (tmp_path / "e.log").write_text(f"INFO 1 non-default args: {{'model': 'm', 'max_num_seqs': 8, {log}}}\n")
        files += ["--log", str(tmp_path / "e.log")]
    result = CliRunner().invoke(cli, ["simulate", *files, *SIZE, *WORK, *words])
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def _connector(name: str, role: str = "kv_consumer", **extra: Any) -> str:
    config = {"kv_connector": name, "kv_role": role, "kv_connector_extra_config": extra}
    if name == "RecomputeCPUOffloadConnector" and extra.pop("bundled", True):
        config["kv_connector_module_path"] = "pd_launch.connector"
    return f"--kv-transfer-config '{json.dumps(config)}'"


VLLM, ASCEND = ("--target", "vllm==0.32.0"), ("--target", "vllm-ascend==0.27.1rc1")
SPECULATION = '--speculative-config \'{"method": "mtp", "num_speculative_tokens": 3}\''


@pytest.mark.parametrize(
    ("line", "log", "told"),
    [
        (SPECULATION, "", "--acceptance"),
        ("--pipeline-parallel-size 2", "", "pipeline stages"),
        ("--enable-lora", "", "LoRA"),
        ("--decode-context-parallel-size 2", "", "context parallelism"),
        (_connector("OffloadingConnector", "kv_both"), "", "KV that OffloadingConnector keeps"),
        (_connector("NixlConnector", "kv_producer"), "", "waits to be fetched"),
        ("", "'pipeline_parallel_size': 2", "pipeline stages"),
        ("", "'enable_lora': True", "LoRA"),
        ("", "'speculative_config': {'method': 'ngram', 'num_speculative_tokens': 3}", "--acceptance"),
        ("", "'kv_transfer_config': KVTransferConfig(kv_connector='LMCacheConnectorV1', kv_role='kv_both')", "LMCache"),
        (
            "",
            "'kv_transfer_config': KVTransferConfig(kv_connector='NixlConnector', kv_role='kv_consumer')",
            "--arrival-steps",
        ),
    ],
)
def test_what_is_not_played_is_listed(tmp_path: Path, line: str, log: str, told: str) -> None:
    found = played(tmp_path, *VLLM, line=line, log=log)
    assert any(told in text for text in found["not_modelled"]), found["not_modelled"]


def test_an_offload_alone_is_no_transfer(tmp_path: Path) -> None:
    log = "'kv_transfer_config': KVTransferConfig(kv_connector='RecomputeCPUOffloadConnector', kv_role='kv_consumer')"
    found = played(tmp_path, *VLLM, log=log)
    assert len(found["not_modelled"]) == 1 and "attention" in found["not_modelled"][0]


def test_drafts_are_played(tmp_path: Path) -> None:
    found = played(tmp_path, *VLLM, "--acceptance", "0.6", line=SPECULATION)
    assert found["engine"]["draft_tokens"] == 3
    run = found["without"]
    assert run["steps"] < 250
    assert run["accepted"] / run["drafted"] == pytest.approx(0.6, abs=0.06)
    none = played(tmp_path, *VLLM, "--draft-tokens", "0", line=SPECULATION)
    assert none["engine"]["draft_tokens"] == 0 and none["without"]["steps"] == 410


def test_a_log_says_how_many_drafts_were_right(tmp_path: Path) -> None:
    log = "'speculative_config': {'method': 'ngram', 'num_speculative_tokens': 2}}\nSpecDecoding metrics: Mean "
    log += "acceptance length: 1.50, Accepted throughput: 1.00 tokens/s, Drafted throughput: 4.00 tokens/s, Accepted: "
    found = played(tmp_path, *VLLM, log=log + "50 tokens, Drafted: 200 tokens, Per-position")
    assert found["engine"]["draft_tokens"] == 2
    assert any("25.0 %" in text for text in found["assumed"])


def test_the_chance_of_a_share() -> None:
    for rate, tokens in ((0.3, 1), (0.6, 3), (0.9, 5), (0.0, 2), (1.0, 2)):
        chance = chance_of(rate, tokens)
        assert sum(chance**n for n in range(1, tokens + 1)) / tokens == pytest.approx(rate, abs=1e-6)
        drafts = Drafts(tokens, chance, seed=1)
        mean = sum(drafts.accepted(n, 100, tokens) for n in range(4000)) / 4000 / tokens
        assert mean == pytest.approx(rate, abs=0.03)


SWITCH = "--additional-config '{\"recompute_scheduler_enable\": true}'"


def test_what_the_recompute_scheduler_hands_back_is_counted(tmp_path: Path) -> None:
    """Without an offload every victim goes back; the bundled connector keeps all, the built-in one what fits."""
    own = _connector("RecomputeCPUOffloadConnector", cpu_bytes_to_use_per_rank=4096)
    found = played(tmp_path, *ASCEND, "--budget", "3blocks", line=f"{own} {SWITCH}")
    assert found["engine"]["hands_back"]
    assert found["without"]["handed_back"] == found["without"]["preempted"] > 0
    assert found["without"]["handed_back_tokens"] > 0
    assert [run["handed_back"] for run in found["with"]] == [0, 0]
    builtin = own.replace(', "kv_connector_module_path": "pd_launch.connector"', "")
    assert builtin != own
    found = played(tmp_path, *ASCEND, "--budget", "3blocks", line=f"{builtin} {SWITCH}")
    assert found["with"][1]["handed_back"] > 0
    assert any("own offload connector" in text for text in found["not_modelled"])
    off = played(tmp_path, *ASCEND, line=own)
    assert not off["engine"]["hands_back"] and off["without"]["handed_back"] == 0


def test_options_of_the_bundled_connector_count(tmp_path: Path) -> None:
    """Restores beside the steps take longer than those in them; without the bytes of a block the option is listed."""
    words = [*VLLM, "--bytes-per-block", "1MiB", "--budget", "100blocks"]
    plain = played(tmp_path, *words, line=_connector("RecomputeCPUOffloadConnector", cpu_bytes_to_use_per_rank=9999))
    options = {"cpu_bytes_to_use_per_rank": 9999, "async_restore_bytes": 0}
    beside = played(tmp_path, *words, line=_connector("RecomputeCPUOffloadConnector", **options))
    assert beside["with"][1]["steps"] != plain["with"][1]["steps"]
    unsized = played(tmp_path, *VLLM, line=_connector("RecomputeCPUOffloadConnector", **options))
    assert any("async_restore_bytes" in text for text in unsized["not_modelled"])


def test_the_launch_s_own_budget_is_played(tmp_path: Path) -> None:
    line = _connector("RecomputeCPUOffloadConnector", cpu_bytes_to_use_per_rank=5 << 20)
    found = played(tmp_path, *VLLM, "--bytes-per-block", "1MiB", line=line)
    assert [run["budget_blocks"] for run in found["with"]] == [found["least_budget_blocks"], 5]
