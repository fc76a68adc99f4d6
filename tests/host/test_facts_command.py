"""``facts``: the dump, the difference of two nodes, and what all nodes must have alike."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pd_launch.launcher.cli import cli
from pd_launch.launcher.host import all_facts
from pd_launch.launcher.host.contract import FACTS, MOST_LOOKED_UP, FactsError, read_facts, unknown_keys

NODE: dict[str, Any] = {
    "vllm": "0.25.1",
    "vllm_ascend": "0.25.1rc1",
    "cann": "9.1.0",
    "npu_driver": "25.2.0",
    "npus": 16,
    "mem_total": 1 << 40,
    "mem_available": 1 << 39,
    "ports_in_use": [22],
    "environment": {"HCCL_IF_IP": "192.0.2.11", "PYTHONHASHSEED": "0"},
    "interfaces": {"eth0": ["192.0.2.11"]},
}


def other(**changes: Any) -> dict[str, Any]:
    own = {"HCCL_IF_IP": "192.0.2.12", "PYTHONHASHSEED": "0"}
    return {**NODE, "environment": own, **changes}


def run(tmp_path: Path, command: list[str], *nodes: dict[str, Any]) -> tuple[int, str]:
    paths = []
    for number, facts in enumerate(nodes):
        (tmp_path / f"n{number}.json").write_text(json.dumps(facts))
        paths.append(str(tmp_path / f"n{number}.json"))
    result = CliRunner().invoke(cli, ["facts", *command[:1], *paths, *command[1:]], env={"LANG": "C"})
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    return result.exit_code, result.output.replace(f"{tmp_path}/", "")


def test_json_is_what_host_facts_reads() -> None:
    result = CliRunner().invoke(cli, ["facts", "--format", "json"])
    assert result.exit_code == 0
    assert json.loads(result.output)["format_version"] == 1
    facts = read_facts(result.output, "out")
    assert "format_version" not in facts and unknown_keys(facts) == []
    assert {"mem_total", "mem_available", "shm_total", "shm_free", "ports_in_use"} <= set(facts)
    assert facts["mem_available"] <= facts["mem_total"]


def test_facts_of_a_later_form_are_refused() -> None:
    with pytest.raises(FactsError, match="format_version 2 is not known; this pd-launch reads 1"):
        read_facts('{"format_version": 2}', "f.json")


def test_this_machine_writes_known_keys_only() -> None:
    assert unknown_keys(all_facts()) == []


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("memtotal", "mem_total"),
        ("MemAvailable", "mem_available"),
        ("npu", "npus"),
        ("port_in_use", "ports_in_use"),
        ("vllm-ascend", "vllm_ascend"),
        ("devmm", None),
        ("zzz", None),
    ],
)
def test_unknown_keys(key: str, near: str | None) -> None:
    assert unknown_keys({**NODE, key: 1}) == [(key, near)]
    assert read_facts(json.dumps({key: 1}), "f") == {key: 1}


COMMANDS = [
    ["check", "p.yaml", "--host-facts", "f.json"],
    ["decode", "--profile", "p.yaml", "--dry-run", "--host-facts", "f.json"],
    ["doctor", "--profile", "p.yaml", "--host-facts", "f.json"],
    ["facts", "diff", "f.json", "g.json"],
    ["facts", "check", "f.json", "g.json"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_says_which_keys_it_does_not_use(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.yaml").write_text("version: 1\ntarget: vllm==0.32.0\nhardware: cpu\nmodel: m\ndecode: {}\n")
    Path("g.json").write_text("{}")
    said = {}
    for name, facts in (
        ("plain", {"mem_total": 1 << 40}),
        ("more", {"mem_total": 1 << 40, "memtotal": 1, "a\x1b[1m": 2}),
    ):
        Path("f.json").write_text(json.dumps(facts))
        said[name] = CliRunner().invoke(cli, command)
    assert said["plain"].stderr == ""
    assert said["more"].stderr.splitlines() == [
        "pd-launch: f.json: the key memtotal is not used: did you mean mem_total?",
        "pd-launch: f.json: the key a�[1m is not used: no fact has this name",
    ]
    if command[0] != "facts":
        assert said["more"].exit_code == said["plain"].exit_code


def test_the_block_for_an_issue_names_every_fact() -> None:
    result = CliRunner().invoke(cli, ["facts"], env={"VLLM_API_KEY": "sk-very-secret", "HCCL_BUFFSIZE": "7"})
    assert result.exit_code == 0
    for fact in FACTS:
        assert f"- `{fact}`: " in result.output
    assert "`HCCL_BUFFSIZE=7`" in result.output
    assert "sk-very-secret" not in result.output
    assert "- `npu_driver`: unknown" in result.output


def test_a_difference_is_shown_with_both_values(tmp_path: Path) -> None:
    status, text = run(tmp_path, ["diff"], NODE, other(cann="9.0.1", npu_driver=None, ports_in_use=[22, 80]))
    assert status == 1
    rows = {line.split("  ")[0]: line for line in text.splitlines()}
    assert rows["cann"].endswith("9.1.0 | 9.0.1")
    assert rows["npu_driver"].endswith("25.2.0 | unknown")
    assert rows["environment.HCCL_IF_IP"].endswith("192.0.2.11 | 192.0.2.12")
    assert "ports_in_use" not in text
    assert "vllm" not in text


def test_equal_nodes_do_not_differ(tmp_path: Path) -> None:
    assert run(tmp_path, ["diff"], NODE, {**NODE, "mem_available": 5}) == (0, "no difference\n")


def test_a_difference_as_json(tmp_path: Path) -> None:
    status, text = run(tmp_path, ["diff", "--format", "json"], NODE, {**NODE, "cann": "9.0.1"})
    assert status == 1
    difference = {"fact": "cann", "first": "9.1.0", "second": "9.0.1"}
    assert json.loads(text) == {"format_version": 1, "differences": [difference]}


def test_nodes_that_agree(tmp_path: Path) -> None:
    assert run(tmp_path, ["check"], NODE, other()) == (0, "2 nodes agree\n")


@pytest.mark.parametrize(
    ("changes", "status", "said"),
    [
        ({"vllm_ascend": "0.25.1rc2"}, 1, "error: vllm_ascend must agree: n0.json: 0.25.1rc1, n1.json: 0.25.1rc2"),
        ({"npu_driver": "24.1"}, 1, "error: npu_driver must agree"),
        ({"npus": 8}, 0, "warning: npus should agree: n0.json: 16, n1.json: 8"),
        ({"mem_total": 1 << 39}, 0, "warning: mem_total should agree"),
        ({"mem_total": (1 << 40) - 1000}, 0, "2 nodes agree"),
        ({"cann": None}, 0, "2 nodes agree"),
        ({"environment": {"HCCL_IF_IP": "192.0.2.12"}}, 1, "PYTHONHASHSEED must agree: n0.json: 0, n1.json: not set"),
        ({"environment": NODE["environment"]}, 1, "HCCL_IF_IP must differ on each node, but n0.json and n1.json have"),
    ],
)
def test_what_does_not_agree(tmp_path: Path, changes: dict[str, Any], status: int, said: str) -> None:
    found, text = run(tmp_path, ["check"], NODE, other(**changes))
    assert said in text
    assert found == status


def test_three_nodes_in_chinese_and_as_json(tmp_path: Path) -> None:
    third = {**other(vllm="0.26.0"), "environment": {"HCCL_IF_IP": "192.0.2.13", "PYTHONHASHSEED": "0"}}
    status, text = run(tmp_path, ["check", "--lang", "zh"], NODE, other(), third)
    assert status == 1
    assert "错误: vllm 必须一致" in text
    status, text = run(tmp_path, ["check", "--format", "json"], NODE, other(), third)
    (found,) = json.loads(text)["disagreements"]
    assert found["fact"] == "vllm"
    assert list(found["values"].values()) == ["0.25.1", "0.25.1", "0.26.0"]


@pytest.mark.parametrize("command", [["diff"], ["check"]])
def test_files_that_cannot_be_read(tmp_path: Path, command: list[str]) -> None:
    good = tmp_path / "good.json"
    good.write_text("{}")
    bad = tmp_path / "bad.json"
    bad.write_text("[")
    for second in ("/nowhere/x.json", str(bad)):
        result = CliRunner().invoke(cli, ["facts", *command, str(good), second], standalone_mode=True)
        assert result.exit_code != 0
        assert "Traceback" not in result.output


def test_one_node_alone_is_no_comparison(tmp_path: Path) -> None:
    status, text = run(tmp_path, ["check"], NODE)
    assert status == 2
    assert "two or more nodes" in text


def test_many_unknown_keys_are_counted_and_looked_up_for_some_only(tmp_path: Path) -> None:
    (tmp_path / "f.json").write_text(json.dumps({f"key_{i}": 1 for i in range(100_000)} | {"k" * 5000: 1}))
    begun = time.process_time()
    result = CliRunner().invoke(cli, ["doctor", "--host-facts", str(tmp_path / "f.json")])
    said = result.stderr.splitlines()
    assert len(said) == MOST_LOOKED_UP + 1 and "99981 further keys are not used" in said[-1]
    assert time.process_time() - begun < 20
