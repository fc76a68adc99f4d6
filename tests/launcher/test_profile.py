"""Profiles: every fault at its place with the nearest name, ``--set``, and which file a name means."""

from __future__ import annotations

from pathlib import Path

import pytest

from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.profiles.deployment import profile_deployment
from pd_launch.launcher.sources.profiles.load import SettingError, load_profile
from pd_launch.launcher.sources.profiles.shipped import SHIPPED, ProfileNotFound, find_profile, shipped_names
from pd_launch.launcher.sources.read import read_texts
from pd_launch.schemas.core.units import GIB
from pd_launch.schemas.core.values import SourceFile

BASE = "version: 1\nhardware: a3\nmodel: /m\n"


def faults(text: str, *settings: str, exact: bool = True) -> list[tuple[int, int, str]]:
    loaded = load_profile(SourceFile("p.yaml", text, exact), settings)
    deployment = profile_deployment(loaded)
    return [(f.origin.line, f.origin.column, f.detail.en) for f in deployment.faults]


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("", 1, 1, "the profile is empty"),
        ("[1]\n", 1, 1, "a profile must be a mapping"),
        ("hardware: a3\nmodel: m\ndecode: {}\n", 1, 1, "the key version is missing"),
        (BASE, 1, 1, "needs a section decode or prefill"),
        ("version: 2\nhardware: a3\nmodel: m\ndecode: {}\n", 1, 10, "version: must be 1, not 2"),
        (
            "version: 1\nhardware: a4\nmodel: m\ndecode: {}\n",
            2,
            11,
            "hardware: must be 'a2', 'a3', 'cuda' or 'cpu', not 'a4'",
        ),
        (
            "version: 1\nhardware: {kind: a9}\nmodel: m\ndecode: {}\n",
            2,
            18,
            "must be 'a2', 'a3', 'cuda' or 'cpu', not 'a9'",
        ),
        (
            "version: 1\nhardware: {kind: a2, devices: x}\nmodel: m\ndecode: {}\n",
            2,
            31,
            "hardware.devices: must be a whole number, not a string",
        ),
        ("version: 1\nhardware: {kind: a2, cards: 8}\nmodel: m\ndecode: {}\n", 2, 22, "unknown key hardware.cards"),
        ("version: 1\nhardware: {}\nmodel: m\ndecode: {}\n", 2, 1, "the key hardware.kind is missing"),
        (BASE + "decode:\n  paralel: {tensor: 8}\n", 5, 3, "unknown key decode.paralel"),
        (BASE + "decode:\n  parallel: {tensr: 8}\n", 5, 14, "unknown key decode.parallel.tensr"),
        (
            BASE + "decode: {parallel: {tensor: 0}}\n",
            4,
            29,
            "decode.parallel.tensor: must be 1 or more, not 0",
        ),
        (
            BASE + "decode: {parallel: {tensor: '8'}}\n",
            4,
            29,
            "decode.parallel.tensor: must be a whole number, not a string",
        ),
        (
            BASE + "decode: {parallel: {data: 4, ranks: [1, 2]}}\n",
            4,
            20,
            "decode.parallel: ranks add up to 3, but data is 4",
        ),
        (BASE + "decode: {parallel: {launch: ray}}\n", 4, 29, "must be 'internal', 'external' or 'hybrid', not 'ray'"),
        (BASE + "decode: {port: 70000}\n", 4, 16, "decode.port: must be 65535 or less, not 70000"),
        (BASE + "decode: {offload: {per_rank: 16Gigs}}\n", 4, 30, "'16Gigs' has the unknown unit 'Gigs'"),
        (BASE + "decode: {offload: {per_rank: 0}}\n", 4, 30, "decode.offload.per_rank: must be more than 0, not 0"),
        (
            BASE + "decode: {offload: {}}\n",
            4,
            19,
            "give exactly one of per_rank, per_engine, per_node, cpu_bytes_to_use, ratio; found none",
        ),
        (BASE + "decode: {offload: {per_rank: 1GiB, ratio: 1.0}}\n", 4, 19, "found per_rank and ratio"),
        (BASE + "decode: {offload: {cpu_bytes_to_use: 16GiB}}\n", 4, 38, "must be a number of bytes as an integer"),
        (BASE + "decode: {offload: {cpu_bytes_to_use: true}}\n", 4, 38, "must be a number of bytes as an integer"),
        (BASE + "decode: {offload: {ratio: -1}}\n", 4, 27, "must be a finite number above 0"),
        (BASE + "decode: {offload: {ratio: 1" + "0" * 400 + "}}\n", 4, 27, "must be a finite number above 0"),
        (
            BASE + "decode: {offload: {per_node: 10}, parallel: {tensor: 3}}\n",
            4,
            20,
            "per_node: 10 bytes do not divide evenly over 3 ranks",
        ),
        (BASE + "prefill: {offload: {per_rank: 1GiB}}\n", 4, 11, "unknown key prefill.offload"),
        (BASE + "decode: {env: {'A B': 1}}\n", 4, 16, "'A B' is not a valid environment variable name"),
        (BASE + "decode: {env: {'X; id': 1}}\n", 4, 16, "'X; id' is not a valid environment variable name"),
        (BASE + "env: {A: [1]}\ndecode: {}\n", 4, 10, "env.A: must be a string or a number, not a list"),
        (
            BASE + "decode: {engine: {tensor-parallel-size: 8}}\n",
            4,
            19,
            "tensor-parallel-size follows from parallel.tensor; set it there",
        ),
        (BASE + "decode: {engine: {tensor_parallel_size: 8}}\n", 4, 19, "tensor-parallel-size follows from"),
        (
            BASE + "engine: {kv-transfer-config.kv_role: kv_both}\ndecode: {}\n",
            4,
            10,
            "follows from transfer and decode.offload",
        ),
        (BASE + "engine: {no-enable-expert-parallel: true}\ndecode: {}\n", 4, 10, "follows from parallel.expert"),
        (BASE + "engine: {--seed: 1}\ndecode: {}\n", 4, 10, "'--seed' is not a flag's long name without dashes"),
        (BASE + "engine: {'a b': 1}\ndecode: {}\n", 4, 10, "'a b' is not a flag's long name"),
        (
            BASE + "decode: {engine: {additional-config: 5}, offload: {per_rank: 1GiB}}\n",
            4,
            19,
            "additional-config must be a mapping",
        ),
        (BASE + "decode: {engine: {compilation-config: '{\"a\": 1,}'}}\n", 4, 47, "trailing comma"),
        (
            BASE + "decode: {}\nnodes: {decode: [{address: a}, {address: b}, {addres: c}]}\n",
            5,
            47,
            "unknown key nodes.decode.2.addres",
        ),
        (
            BASE + "decode: {parallel: {data: 3}}\nnodes: {decode: [{address: a}, {address: b}]}\n",
            4,
            27,
            "3 ranks cannot be spread evenly over 2 nodes",
        ),
        (
            BASE + "decode: {parallel: {data: 3, ranks: [3]}}\nnodes: {decode: [{address: a}, {address: b}]}\n",
            4,
            37,
            "parallel.ranks has one entry for each node: 2 nodes, not 1",
        ),
        (BASE + "decode: {}\ntransfer: {kv_port: 1}\n", 5, 1, "the key transfer.connector is missing"),
        (BASE + "decode: {}\ntarget: latest\n", 5, 9, "'latest' is not a release"),
        (BASE + "decode: {}\ntarget: {}\n", 5, 9, "name one release, of vllm_ascend or of vllm"),
        (BASE + "decode: {}\ntarget: {vllm: '0.32.0', vllm_ascend: '0.28.0rc1'}\n", 5, 9, "name one release"),
        (BASE + "decode: {}\ntarget: {torch: '2'}\n", 5, 10, "target.torch: must be"),
        (BASE + "decode: {}\n---\n" + BASE, 6, 1, "a profile must be the only YAML document in its file"),
        (BASE + "decode: {}\nname: \ufffd\n", 5, 7, "the file is not valid UTF-8 here"),
    ],
)
def test_faults(text: str, line: int, column: int, words: str) -> None:
    found = faults(text, exact="\ufffd" not in text)
    assert [f[:2] for f in found] == [(line, column)], found
    assert words in found[0][2]
    findings = check([profile_deployment(load_profile(SourceFile("p.yaml", text, "\ufffd" not in text)))])
    assert any(f.severity == "error" and (f.line, f.column) == (line, column) for f in findings)


@pytest.mark.parametrize(
    ("text", "near"),
    [
        (BASE + "decode:\n  paralel: {tensor: 8}\n", "parallel"),
        (BASE + "decode:\n  parallel: {tensr: 8}\n", "tensor"),
        (BASE + "decode:\n  offload: {per_rnk: 1GiB, per_rank: 1GiB}\n", "per_rank"),
        (BASE + "hardwar: a3\ndecode: {}\n", "hardware"),
        (BASE + "decode: {}\nnodes: {decode: [{adress: c, address: d}]}\n", "address"),
    ],
)
def test_the_nearest_name_is_suggested_and_fixes_it(text: str, near: str) -> None:
    source = SourceFile("p.yaml", text)
    [fault] = load_profile(source).faults
    assert fault.help.en == f"did you mean {near}?"
    [(place, new)] = fault.fix
    assert new == near and not fault.fix_is_safe
    start, end = source.offset(place.line, place.column), source.offset(place.end_line, place.end_column)
    fixed = load_profile(SourceFile("p.yaml", text[:start] + new + text[end:]))
    assert not any("unknown key" in f.detail.en for f in fixed.faults)


def test_a_name_like_no_other_lists_the_known_ones() -> None:
    [fault] = load_profile(SourceFile("p.yaml", BASE + "decode: {parallel: {zzz: 1}}\n")).faults
    assert fault.help.en == (
        "known keys here: tensor, pipeline, prefill_context, decode_context, data, expert, launch, ranks"
    )


@pytest.mark.parametrize(
    ("settings", "path", "value"),
    [
        (["decode.parallel.data=4"], "decode.parallel.data", 4),
        (["decode.offload={per_rank: 2GiB}"], "decode.offload.per_rank", 2 * GIB),
        (["decode.offload.per_rank=3GiB"], "decode.offload.per_rank", 3 * GIB),
        (["name=x=y"], "name", "x=y"),
        (["model=/n", "model=/o"], "model", "/o"),
        (["decode.engine.seed=5"], "decode.engine", {"seed": 5}),
    ],
)
def test_set(settings: list[str], path: str, value: object) -> None:
    loaded = load_profile(SourceFile("p.yaml", BASE + "decode: {}\n"), settings)
    assert not loaded.faults and loaded.profile is not None
    found: object = loaded.profile
    for step in path.split("."):
        found = getattr(found, step)
    assert found == value


@pytest.mark.parametrize(
    ("setting", "part"),
    [
        ("decode.offload={per_rank: 1Gigs}", "1Gigs"),
        ("decode.offload={per_node: 257}", "per_node"),
        ("decode.offload={per_rnk: 1GiB, per_rank: 1GiB}", "per_rnk"),
        ("decode.engine={seed: 1, tensor-parallel-size: 8}", "tensor-parallel-size"),
        ("decode={parallel: {tensor: 2}, env: {'A B': 1}}", "'A B'"),
        ("nodes={decode: [{address: &a x, env: {o k: 1}}]}", "o k"),
        ("decode={env: {A: &x [[1]], B: *x}, engine: {--seed: 1}}", "&x"),
    ],
)
def test_places_of_set_values_are_those_of_the_argument(setting: str, part: str) -> None:
    text = BASE + "decode: {parallel: {tensor: 2}}\n"
    loaded = load_profile(SourceFile("p.yaml", text), [setting])
    places = {(f.origin.file, f.origin.line, f.origin.column, f.origin.via) for f in profile_deployment(loaded).faults}
    assert ("<command line>", 1, setting.index(part) + 1, "--set") in places


def test_places_below_an_alias_are_moved_once() -> None:
    setting = "decode.env={A: &x [7], B: *x}"
    tree = load_profile(SourceFile("p.yaml", BASE + "decode: {}\n"), [setting]).tree
    seven = tree.get("decode", "env", "A", 0)
    assert seven is not None and seven is tree.get("decode", "env", "B", 0)
    assert seven.origin.column == setting.index("7") + 1


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("decode", "write KEY=VALUE, for example decode.parallel.data=4"),
        ("=5", "write KEY=VALUE"),
        ("name.x=5", "--set name.x: 'x' is below something that is not a mapping"),
        ("model.x.y=5", "--set model.x.y: 'x' is below something that is not a mapping"),
        ("env.HF_TOKEN.x=hf_secret", "--set env.HF_TOKEN.x: "),
        ("a=[1", "--set a: the value is not valid YAML"),
        ("a=*x", "names no finished anchor"),
        ("a=--- 1\n--- 2", "more than one document"),
    ],
)
def test_wrong_settings(setting: str, words: str) -> None:
    text = BASE + "name: n\nenv: {HF_TOKEN: t}\ndecode: {}\n"
    with pytest.raises(SettingError) as error:
        load_profile(SourceFile("p.yaml", text), [setting])
    assert words in str(error.value)
    assert "hf_secret" not in str(error.value)


def test_unknown_keys_by_set_are_faults_there() -> None:
    [fault] = load_profile(SourceFile("p.yaml", BASE + "decode: {}\n"), ["decode.paralel.data=4"]).faults
    assert fault.detail.en == "unknown key decode.paralel" and fault.origin.file == "<command line>"


def test_find_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert {"a3-dp2tp8", "a2-one-card", "cpu-tiny"} <= set(shipped_names())
    assert find_profile("cpu-tiny") == find_profile("cpu-tiny.yaml") == SHIPPED / "cpu-tiny.yaml"
    (tmp_path / "cpu-tiny").write_text("own")
    assert find_profile("cpu-tiny") == Path("cpu-tiny")
    for name, words in [
        ("a3-dp2tp9", "did you mean the shipped profile a3-dp2tp8?"),
        ("./a3-dp2tp8", "there is no such file"),
        ("zzzzzz", "shipped: a2-"),
        ("", "there is no such file"),
        ("\x00", "there is no such file"),
    ]:
        with pytest.raises(ProfileNotFound) as error:
            find_profile(name)
        assert words in str(error.value)


@pytest.mark.parametrize("name", shipped_names())
def test_shipped_profiles_are_clean(name: str) -> None:
    path = SHIPPED / f"{name}.yaml"
    loaded = load_profile(SourceFile(str(path), path.read_text()))
    assert loaded.profile is not None and loaded.profile.name == name
    findings = check([profile_deployment(loaded)])
    assert [f for f in findings if f.severity != "info"] == []


@pytest.mark.parametrize(
    "line",
    [
        'model: "--trust-remote-code"',
        'container: {image: "--privileged"}',
        'nodes: {decode: [{address: "--privileged"}]}',
        'decode: {engine: {chat-template: "--enable-sleep-mode"}}',
    ],
)
def test_a_value_is_no_option(line: str) -> None:
    given = {"model": "model: m", "decode": "decode: {}"}
    given[line.partition(":")[0]] = line
    text = "\n".join(["version: 1", 'target: "vllm==0.32.0"', "hardware: cuda", *given.values()])
    found = check(read_texts({"p.yaml": text}))
    assert [f.code for f in found if f.severity == "error"] == ["PD012"] and "must not begin with -" in found[0].message


def test_no_word_of_a_list_is_an_option() -> None:
    """A misspelt flag and a secret in a list would be on the command line without a check, and in clear."""
    words = '["a", "--tensor-parallel-sizee", "8", "--api-key", "hunter2S3cretZq", "-1"]'
    text = (
        "version: 1\ntarget: vllm==0.32.0\nhardware: cuda\nmodel: m\n"
        f"decode: {{engine: {{served-model-name: {words}}}}}\n"
    )
    deployments = read_texts({"p.yaml": text})
    said = [fault.detail.en for fault in deployments[0].faults if fault.kind == "profile"]
    assert len(said) == 2 and {detail.partition(":")[0] for detail in said} == {
        "the value of served-model-name must not begin with -"
    }
    assert [f.code for f in check(deployments) if f.severity == "error"] == ["PD012", "PD012"]


def test_a_negative_number_is_a_value() -> None:
    text = 'version: 1\ntarget: "vllm==0.32.0"\nhardware: cuda\nmodel: m\ndecode: {engine: {max-model-len: -1}}\n'
    assert check(read_texts({"p.yaml": text})) == []
