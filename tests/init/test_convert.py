"""Conversion: what goes where in the profile, and what is named because it cannot go anywhere."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from pd_launch.launcher.init.canonical import canonical, canonical_transfer
from pd_launch.launcher.init.convert import Converted, convert
from pd_launch.launcher.sources.read import read_texts

P_SIZES = '"prefill":{"dp_size":1,"tp_size":4},"decode":{"dp_size":1,"tp_size":4}'


def make(target: str = "0.25.1rc1", **files: str) -> Converted:
    return convert(read_texts({f"{name}.sh": f"#!/bin/bash\n{text}\n" for name, text in files.items()}, target))


def profile(made: Converted) -> dict[str, Any]:
    data = yaml.safe_load(made.text)
    assert isinstance(data, dict)
    return data


def serve(role: str, port: int, extra: str = "", sizes: str = P_SIZES) -> str:
    config = (
        f'{{"kv_connector":"MooncakeConnectorV1","kv_role":"{role}","kv_port":"{port}",'
        f'"kv_connector_extra_config":{{{sizes}}}}}'
    )
    return f"vllm serve /m --tensor-parallel-size 4 --seed 7 {extra} --kv-transfer-config '{config}'"


def test_two_sides_share_what_they_share() -> None:
    made = make(prefill=serve("kv_producer", 30000, "--max-num-seqs 8"), decode=serve("kv_consumer", 30100))
    data = profile(made)
    assert (made.equal, made.left) == (2, [])
    assert data["engine"] == {"seed": 7}
    assert data["transfer"] == {"connector": "MooncakeConnectorV1"}
    assert data["prefill"]["transfer"] == {"kv_port": 30000} and data["decode"]["transfer"] == {"kv_port": 30100}
    assert data["prefill"]["engine"] == {"max-num-seqs": 8}
    assert "engine" not in data["decode"]


def test_sizes_of_a_side_that_is_not_given_are_kept() -> None:
    data = profile(make(decode=serve("kv_consumer", 30100)))
    assert data["transfer"]["prefill"] == {"dp_size": 1, "tp_size": 4}
    assert "decode" not in data["transfer"]


def test_sizes_that_differ_from_the_flags_are_kept_as_written() -> None:
    sizes = '"prefill":{"dp_size":1,"tp_size":4},"decode":{"dp_size":2,"tp_size":4}'
    made = make(decode=serve("kv_consumer", 30100, sizes=sizes))
    assert made.left == []
    assert profile(made)["transfer"]["decode"] == {"dp_size": 2, "tp_size": 4}


def test_offload_below_multi_connector() -> None:
    child = (
        '{"kv_connector":"MooncakeConnectorV1","kv_role":"kv_consumer","kv_port":1,"kv_connector_extra_config":{%s}}'
    )
    ours = (
        '{"kv_connector":"RecomputeCPUOffloadConnector","kv_role":"kv_consumer","kv_connector_module_path":'
        '"pd_launch.connector","kv_connector_extra_config":{"cpu_bytes_to_use_per_rank":17179869184}}'
    )
    config = (
        '{"kv_connector":"MultiConnector","kv_role":"kv_consumer","kv_connector_extra_config":{"connectors":['
        f"{child % P_SIZES},{ours}]}}}}"
    )
    additional = '{"scheduler_config":{"recompute_scheduler_enable":true}}'
    made = make(
        decode="vllm serve /m --tensor-parallel-size 4 "
        f"--additional-config '{additional}' --kv-transfer-config '{config}'"
    )
    data = profile(made)
    assert made.left == []
    assert data["decode"]["offload"] == {"per_rank": "16GiB"}
    assert "kv_transfer_config" not in data["decode"]


def test_what_has_no_words_of_its_own_is_written_out() -> None:
    config = '{"kv_connector":"AscendStoreConnector","kv_role":"kv_both","kv_connector_extra_config":{"backend":"x"}}'
    made = make(serve=f"vllm serve /m --kv-transfer-config '{config}'")
    assert made.left == []
    assert profile(made)["decode"]["kv_transfer_config"]["kv_role"] == "kv_both"


def test_numbers_and_words_stay_as_written() -> None:
    made = make(
        decode="NO=no HEX=0x10 OCT=010 vllm serve /m --gpu-memory-utilization 0.90 --dtype auto --load-format 1e3"
    )
    assert made.left == []
    data = profile(made)
    assert data["decode"]["env"] == {"NO": "no", "HEX": "0x10", "OCT": "010"}
    assert data["decode"]["engine"]["load-format"] == "1e3"


def test_secrets_are_named_and_not_written() -> None:
    made = make(decode="export HF_TOKEN=hf_abcdefgh\nvllm serve /m --api-key sk-12345678")
    assert "hf_abcdefgh" not in made.text and "sk-12345678" not in made.text
    assert {left.what for left in made.left} == {"HF_TOKEN", "--api-key"}
    assert all("secret" in left.why.en and "12345678" not in left.why.en for left in made.left)
    assert made.equal == 0


def test_a_secret_inside_json_is_not_written() -> None:
    config = '{"kv_connector":"X","kv_role":"kv_consumer","kv_connector_extra_config":{"access_key":"abcdefgh","a":1}}'
    made = make(decode=f"vllm serve /m --kv-transfer-config '{config}'")
    assert "abcdefgh" not in made.text
    assert [left.what for left in made.left] == ["--kv-transfer-config"]
    assert "abcdefgh" not in made.left[0].why.en


def test_unknown_values_are_named() -> None:
    made = make(decode='vllm serve /m --max-num-seqs "$1" --port 9 --seed ${SEED}')
    assert {left.what for left in made.left} == {"--max-num-seqs", "--seed"}
    assert all("not known" in left.why.en for left in made.left)
    assert made.left[0].origin is not None and made.left[0].origin.line == 2
    assert profile(made)["decode"]["port"] == 9


def test_a_flag_given_twice_counts_once_and_is_told() -> None:
    made = make(decode="vllm serve /m --seed 1 --seed 2")
    assert profile(made)["decode"]["engine"] == {"seed": 2}
    assert any("given 2 times" in note.en for note in made.notes)


def test_a_flag_of_which_each_one_adds_a_value_keeps_them_all() -> None:
    made = make(decode="vllm serve /m --middleware a.B --port 9 --middleware c.D")
    assert profile(made)["decode"]["engine"] == {"middleware": ["a.B", "c.D"]}
    assert not any("given 2 times" in note.en for note in made.notes)
    assert (made.equal, made.left) == (1, [])


def test_nodes_of_one_side_that_differ() -> None:
    base = "vllm serve /m --data-parallel-size 2 --data-parallel-size-local 1 --data-parallel-address 192.0.2.1"
    made = make(
        one=f"HCCL_IF_IP=192.0.2.1 A=1 {base}",
        two=f"HCCL_IF_IP=192.0.2.2 A=2 {base} --data-parallel-start-rank 1 --headless",
    )
    data = profile(made)
    assert (made.equal, made.left) == (2, [])
    assert data["nodes"]["decode"] == [{"address": "192.0.2.1"}, {"address": "192.0.2.2", "env": {"A": 2}}]


def test_flags_that_differ_between_nodes_are_named() -> None:
    base = "vllm serve /m --data-parallel-size 2 --data-parallel-size-local 1 --data-parallel-address 192.0.2.1"
    made = make(
        one=f"HCCL_IF_IP=192.0.2.1 {base} --seed 1",
        two=f"HCCL_IF_IP=192.0.2.2 {base} --data-parallel-start-rank 1 --headless --seed 2",
    )
    assert made.equal == 1
    assert [(left.what, left.why.en) for left in made.left] == [("--seed", "2 becomes 1")]


def test_a_second_instance_of_a_side_is_named() -> None:
    made = make(one="vllm serve /m --port 1", two="vllm serve /m --port 2")
    assert made.equal == 1 and [left.what for left in made.left] == ["engine"]


def test_another_model_on_the_other_side_is_named() -> None:
    made = make(p=serve("kv_producer", 1), d=serve("kv_consumer", 1).replace("/m", "/n"))
    assert [left.what for left in made.left] == ["model"]


def test_container_of_a_docker_line() -> None:
    made = make(
        decode="docker run --shm-size=16g -v /models:/models --device /dev/davinci0 "
        "quay.io/ascend/vllm-ascend:v0.25.1rc1-a3 vllm serve /m"
    )
    data = profile(made)
    assert made.left == []
    assert data["hardware"] == "a3" and data["container"]["mounts"] == ["/models:/models"]
    assert any("devices" in note.en for note in made.notes)


def test_faults_of_the_input_are_told() -> None:
    made = make(decode="vllm serve /m --additional-config '{\"a\": 1,}'")
    assert any("fault" in note.en for note in made.notes)


def test_an_engine_made_in_python_is_told() -> None:
    text = "from vllm import LLM\nllm = LLM(model='/m', max_model_len=64)\n"
    made = convert(read_texts({"x.py": text}, "0.25.1rc1"))
    assert made.left == [] and any("Python" in note.en for note in made.notes)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("vllm serve /m --port 8000", "vllm serve /m"),
        ("vllm serve /m --seed 1 --dtype half", "vllm serve /m --dtype half --seed=1"),
        ("vllm serve /m --max-model-len 10", "vllm serve /m --max-model-len '10'"),
        ("python -m vllm.entrypoints.openai.api_server --model /m", "vllm serve /m"),
    ],
)
def test_what_is_the_same(one: str, other: str) -> None:
    nodes = [read_texts({"x.sh": f"{text}\n"}, "0.25.1rc1")[0].nodes[0] for text in (one, other)]
    assert canonical(nodes[0]) == canonical(nodes[1])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("vllm serve /m --port 8001", "vllm serve /m"),
        ("vllm serve /m", "vllm serve /n"),
        ("vllm serve /m --enable-prefix-caching", "vllm serve /m --no-enable-prefix-caching"),
        ("A=1 vllm serve /m", "A=2 vllm serve /m"),
        ("vllm serve /m --headless", "vllm serve /m"),
        ("vllm serve /m --speculative-config '{\"a\":1}'", "vllm serve /m --speculative-config '{\"a\":2}'"),
    ],
)
def test_what_is_not_the_same(one: str, other: str) -> None:
    nodes = [read_texts({"x.sh": f"{text}\n"}, "0.25.1rc1")[0].nodes[0] for text in (one, other)]
    assert canonical(nodes[0]) != canonical(nodes[1])


def test_sizes_beside_a_child_that_says_others_count() -> None:
    child = {"kv_connector": "M", "kv_connector_extra_config": {"decode": {"tp_size": 4}}}
    multi = {"kv_connector": "MultiConnector", "kv_connector_extra_config": {"connectors": [child]}}
    same = {**multi, "kv_connector_extra_config": {"connectors": [child], "decode": {"tp_size": 4}}}
    other = {**multi, "kv_connector_extra_config": {"connectors": [child], "decode": {"tp_size": 8}}}
    assert canonical_transfer(same) == canonical_transfer(multi) != canonical_transfer(other)


OFFLOAD = (
    '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer", '
    '"kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 1073741824}}'
)


@pytest.mark.parametrize(
    ("target", "offload"),
    [
        ("vllm==0.32.0", {"per_rank": "1GiB"}),
        ("0.27.1rc1", {"per_rank": "1GiB", "connector": "builtin"}),
    ],
)
def test_the_connectors_name_alone_is_the_bundled_one_where_the_engine_has_none(
    target: str, offload: dict[str, str]
) -> None:
    recompute = "--additional-config '{\"recompute_scheduler_enable\": true}'" if "connector" in offload else ""
    text = f"vllm serve /m --port 1 {recompute} --kv-transfer-config '{OFFLOAD}'\n"
    made = convert(read_texts({"d.sh": text}, target))
    assert profile(made)["decode"]["offload"] == offload
    assert not [left for left in made.left if left.what == "--kv-transfer-config"]


def test_with_its_module_path_a_name_says_the_same_on_vllm_alone() -> None:
    alone = {"kv_connector": "PreemptOffloadConnector", "kv_role": "kv_both"}
    pathed = {**alone, "kv_connector_module_path": "pd_launch.connector"}
    below = [{"kv_connector_extra_config": {"connectors": [child]}} for child in (alone, pathed)]
    for one, other in ((alone, pathed), [{"kv_connector": "MultiConnector", **extra} for extra in below]):
        assert canonical_transfer(one, by_name=True) == canonical_transfer(other, by_name=True)
        assert canonical_transfer(one) != canonical_transfer(other)
    other = {**alone, "kv_connector_module_path": "mine"}
    assert canonical_transfer(alone, by_name=True) != canonical_transfer(other, by_name=True)


@pytest.mark.parametrize(
    ("before", "line"),
    [
        ("source /etc/env.sh", "decode.sh:2"),
        ("if [ $1 = a ]; then\n. ./site.env\nfi", "decode.sh:3"),
        ("export HCCL_IF_IP=10.0.0.1", None),
        ("numactl -N 0 true", None),
    ],
)
def test_variables_that_the_input_takes_from_elsewhere_are_named(before: str, line: str | None) -> None:
    notes = [note.en for note in make(decode=f"{before}\n{serve('kv_consumer', 30100)}").notes]
    named = [note for note in notes if "variables that come from" in note]
    assert len(named) == (line is not None) and all(f"from what {line} names" in note for note in named)
