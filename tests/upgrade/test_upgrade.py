"""What an upgrade says and writes, form by form."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pd_launch.launcher.cli import cli
from pd_launch.launcher.sources.read import Inputs
from pd_launch.launcher.upgrade.between import differences
from pd_launch.launcher.upgrade.entries import Entry
from pd_launch.launcher.upgrade.step import Step
from pd_launch.launcher.upgrade.work import Upgrade, upgrade
from pd_launch.schemas.core.pairing import ASCEND_PAIRS
from pd_launch.schemas.core.target import parse_target
from pd_launch.schemas.core.values import SourceFile

A, B = "vllm-ascend==0.23.0", "vllm-ascend==0.30.0rc2"
NO_ENGINE = ["--from", A, "--to", A]
DECODE = """\
#!/bin/bash
# pd-launch: target vllm-ascend==0.23.0
export VLLM_ASCEND_ENABLE_NZ=1  # weights stay as they are
vllm serve /models/m \\
  --swap-space 4 \\
  --tensor-parallel-size 8 \\
  --additional-config '{"recompute_scheduler_enable": true}' \\
  --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer",
    "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 17179869184}}' \\
  --disable-log-requests
"""
WRITTEN = """\
#!/bin/bash
# pd-launch: target vllm-ascend==0.30.0rc2
# weights stay as they are
vllm serve /models/m \\
  --tensor-parallel-size 8 \\
  --additional-config '{"scheduler_config": {"recompute_scheduler_enable": true}, "weight_nz_mode": 1}' \\
  --kv-transfer-config '{"kv_connector": "PreemptOffloadConnector", "kv_role": "kv_consumer",
    "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 17179869184}}'
"""


def made(files: dict[str, str], a: str = A, b: str = B, unsafe: bool = False, only: str | None = None) -> Upgrade:
    inputs = Inputs([SourceFile(name, text) for name, text in files.items()])
    return upgrade(inputs, Step(parse_target(a), parse_target(b)), unsafe, only)


def after(text: str, name: str = "decode.sh", a: str = A, b: str = B, unsafe: bool = False) -> str:
    return made({name: text}, a, b, unsafe).texts[name]


def entry(found: Upgrade, subject: str) -> Entry:
    return next(one for one in found.entries if one.subject == subject)


def run(folder: Path, *words: str) -> Result:
    done = CliRunner().invoke(cli, ["upgrade", *words], env={"PD_LAUNCH_LANG": "en"})
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def test_a_script_goes_from_one_release_to_another() -> None:
    found = made({"decode.sh": DECODE})
    assert found.texts["decode.sh"] == WRITTEN
    assert not found.left
    assert {one.subject: one.group for one in found.entries} == {
        "--swap-space": "stops",
        "--disable-log-requests": "stops",
        "RecomputeCPUOffloadConnector": "stops",
        "VLLM_ASCEND_ENABLE_NZ": "differs",
        "target": "cleans",
        "PD103": "cleans",
    }


def test_it_goes_back_again() -> None:
    back = made({"decode.sh": WRITTEN}, B, A)
    text = back.texts["decode.sh"]
    assert "RecomputeCPUOffloadConnector" in text
    assert '{"recompute_scheduler_enable": true' in text
    assert "target vllm-ascend==0.23.0" in text
    assert '"weight_nz_mode": 1' in text, "0.23.0 reads it too"


def test_the_default_budget_of_the_renamed_connector_is_told_and_kept_where_that_is_wanted() -> None:
    text = DECODE.replace(
        """,
    "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 17179869184}}'""",
        "}'",
    )
    found = made({"decode.sh": text})
    told = entry(found, "offload budget")
    assert (told.kind, told.how, told.group) == ("default", "plausible", "differs")
    assert '"cpu_bytes_to_use_per_rank": 1073741824' in after(text, unsafe=True)
    assert "cpu_bytes" not in found.texts["decode.sh"]


def test_a_default_that_turns_is_a_note() -> None:
    found = made({"a.sh": "vllm serve m\n"}, "vllm==0.19.1", "vllm==0.20.0")
    assert entry(found, "--gpu-memory-utilization").how == "note"
    assert not found.left
    said = made({"a.sh": "vllm serve m --gpu-memory-utilization 0.8\n"}, "vllm==0.19.1", "vllm==0.20.0")
    assert "--gpu-memory-utilization" not in {one.subject for one in said.entries}


def test_the_runner_turns_where_nothing_was_said_of_it() -> None:
    found = made({"a.sh": "vllm serve m\n"}, "vllm==0.28.0", "vllm==0.29.0")
    assert entry(found, "VLLM_USE_V2_MODEL_RUNNER").after == "V2"
    kept = made({"a.sh": "VLLM_USE_V2_MODEL_RUNNER=0 vllm serve m\n"}, "vllm==0.28.0", "vllm==0.29.0")
    assert not kept.entries


def test_a_key_that_counts_no_longer_goes_where_it_is_decided() -> None:
    text = """vllm serve m --additional-config '{"enable_sparse_sfa_c8": true, "enable_sparse_li_c8": false}'\n"""
    found = made({"a.sh": text}, "vllm-ascend==0.28.0rc1", "vllm-ascend==0.29.0rc1", unsafe=True)
    assert found.texts["a.sh"] == "vllm serve m --additional-config '{}' --kv-cache-dtype fp8\n"
    assert entry(found, "additional_config.enable_sparse_sfa_c8").group == "differs"


@pytest.mark.parametrize("written", ["$SWAP", '"$SWAP"', '"${SWAP}"'])
def test_a_value_that_a_variable_fills_in_goes_with_its_argument(written: str) -> None:
    text = f"vllm serve m --swap-space {written} --port 1\n"
    assert after(text, a="vllm==0.23.0", b="vllm==0.24.0") == "vllm serve m --port 1\n"


def test_a_name_that_was_gone_before_the_first_row_is_an_entry() -> None:
    same = made({"a.sh": "vllm serve m --disable-log-requests\n"}, "vllm==0.23.0", "vllm==0.23.0")
    assert [one.subject for one in same.entries] == ["--disable-log-requests"]
    assert same.texts["a.sh"] == "vllm serve m\n"


def test_a_value_goes_where_it_is_written_now() -> None:
    assert after("vllm serve m --guided-decoding-backend xgrammar\n", a="vllm==0.23.0", b="vllm==0.24.0") == (
        "vllm serve m --structured-outputs-config.backend xgrammar\n"
    )
    assert after("vllm serve m --task embed --port 1\n", a="vllm==0.23.0", b="vllm==0.24.0") == (
        "vllm serve m --runner pooling --port 1\n"
    )
    assert after("vllm serve m --disable-mm-preprocessor-cache\n", a="vllm==0.23.0", b="vllm==0.24.0") == (
        "vllm serve m --mm-processor-cache-gb=0\n"
    )
    assert after("export VLLM_ATTENTION_BACKEND=FLASHINFER\nvllm serve m\n", a="vllm==0.23.0", b="vllm==0.24.0") == (
        "vllm serve m --attention-backend FLASHINFER\n"
    )


POD = """\
apiVersion: v1
kind: Pod
metadata: {name: decode}
spec:
  containers:
  - name: vllm
    image: vllm/vllm-openai:v0.23.0  # the engine
    env:
    - name: VLLM_RPC_TIMEOUT
      value: "4"
    - name: HF_HOME
      value: /cache
    command: ["vllm", "serve", "/m", "--swap-space", "4", "--port", "8000"]
    args:
    - --swap-space=4
    # scales
    - --calculate-kv-scales
    - --max-num-partial-prefills
    - "2"
    - --tensor-parallel-size
    - "2"
"""


def test_a_manifest_keeps_its_comments_and_loses_the_items() -> None:
    assert (
        after(POD, "pod.yaml", "vllm==0.23.0", "vllm==0.33.0", unsafe=True)
        == """\
apiVersion: v1
kind: Pod
metadata: {name: decode}
spec:
  containers:
  - name: vllm
    image: vllm/vllm-openai:v0.33.0  # the engine
    env:
    - name: HF_HOME
      value: /cache
    command: ["vllm", "serve", "/m", "--port", "8000"]
    args:
    # scales
    - --tensor-parallel-size
    - "2"
"""
    )


def test_the_next_image_that_is_built_on_another_is_for_the_reader_to_choose() -> None:
    written = "aibrix/vllm-openai:v0.23.0-aibrix0.7.0"
    found = made({"pod.yaml": POD.replace("vllm/vllm-openai:v0.23.0", written)}, "vllm==0.23.0", "vllm==0.33.0")
    image = entry(found, "image")
    assert (image.before, image.after, image.how) == (written, "", "by-hand")
    assert image.help is not None and image.help.en == "use an image that is built on 0.33.0"


def test_python_code_and_its_lists() -> None:
    text = (
        "import subprocess\n"
        "from vllm import LLM\n"
        'llm = LLM(model="m", swap_space=4, tensor_parallel_size=2)\n'
        'subprocess.run(["vllm", "serve", "m", "--swap-space", "4", "--port", "1"])\n'
    )
    assert after(text, "run.py", "vllm==0.18.0", "vllm==0.33.0") == (
        "import subprocess\n"
        "from vllm import LLM\n"
        'llm = LLM(model="m", tensor_parallel_size=2)\n'
        'subprocess.run(["vllm", "serve", "m", "--port", "1"])\n'
    )


def test_a_unit_and_a_compose_file() -> None:
    unit = "[Service]\nEnvironment=VLLM_RPC_TIMEOUT=4\nExecStart=/usr/bin/vllm serve m --swap-space 4 --port 8000\n"
    assert after(unit, "d.service", "vllm==0.18.0", "vllm==0.33.0") == (
        "[Service]\nExecStart=/usr/bin/vllm serve m --port 8000\n"
    )
    compose = (
        "services:\n  d:\n    image: vllm/vllm-openai:v0.18.0\n    environment:\n      VLLM_RPC_TIMEOUT: 4\n"
        "      HF_HOME: /c\n    command: --model m --swap-space 4 --port 8000\n"
    )
    assert after(compose, "compose.yaml", "vllm==0.18.0", "vllm==0.33.0") == (
        "services:\n  d:\n    image: vllm/vllm-openai:v0.33.0\n    environment:\n      HF_HOME: /c\n"
        "    command: --model m --port 8000\n"
    )


def test_a_profile_and_its_target() -> None:
    text = (Path(__file__).parents[2] / "profiles" / "a3-dp2tp8.yaml").read_text("utf-8")
    text = text.replace("hardware: a3\n", 'hardware: a3\ntarget: "vllm-ascend==0.23.0"  # ours\n')
    old = text.replace("  quantization: ascend\n", "  quantization: ascend\n  swap-space: 4\n")
    assert after(old, "my.yaml") == text.replace("==0.23.0", "==0.30.0rc2")


def test_another_familys_engine_stays_as_it_is() -> None:
    two = POD + "---\n" + POD.replace("vllm/vllm-openai:v0.23.0", "quay.io/ascend/vllm-ascend:v0.23.0")
    text = after(two, "pods.yaml", "vllm-ascend==0.23.0", "vllm-ascend==0.30.0rc2", unsafe=True)
    assert text.startswith(POD)
    assert "vllm-ascend:v0.30.0rc2" in text


PAIR = """\
vllm serve m --port {port} --kv-transfer-config '{{"kv_connector": "{name}", "kv_role": "{role}"}}'
"""


def test_a_mixed_pair_is_refused_or_told() -> None:
    files = {
        "p.sh": PAIR.format(port=1, name="NixlConnector", role="kv_producer"),
        "d.sh": PAIR.format(port=2, name="NixlConnector", role="kv_consumer"),
    }
    mixed = made(files, "vllm==0.28.0", "vllm==0.29.0", only="decode")
    refused = entry(mixed, "NixlConnector handshake")
    assert (refused.how, refused.origin.file) == ("by-hand", "d.sh")
    assert all(one.origin.file == "d.sh" for one in mixed.entries)
    both = made(files, "vllm==0.28.0", "vllm==0.29.0")
    assert entry(both, "NixlConnector handshake").how == "note"
    same = made(
        {name: text.replace("NixlConnector", "MooncakeConnector") for name, text in files.items()},
        "vllm==0.28.0", "vllm==0.29.0", only="decode",
    )  # fmt: skip
    assert not any("handshake" in one.subject for one in same.entries)


def test_what_is_written_and_the_exit_status(tmp_path: Path) -> None:
    path = tmp_path / "decode.sh"
    path.write_text(DECODE, "utf-8")
    assert run(tmp_path, str(path), "--to", B).exit_code == 1
    assert path.read_text("utf-8") == DECODE
    shown = run(tmp_path, str(path), "--to", B, "--diff")
    assert "+# pd-launch: target vllm-ascend==0.30.0rc2" in shown.output
    done = run(tmp_path, str(path), "--to", B, "--write")
    assert done.exit_code == 0, done.output
    assert path.read_text("utf-8") == WRITTEN
    again = run(tmp_path, str(path), "--from", A, "--to", B, "--write")
    assert again.exit_code == 0
    assert path.read_text("utf-8") == WRITTEN


def test_the_json_is_the_contract(tmp_path: Path) -> None:
    path = tmp_path / "decode.sh"
    path.write_text(DECODE, "utf-8")
    data = json.loads(run(tmp_path, str(path), "--to", B, "--format", "json").output)
    assert (data["format_version"], data["from"], data["to"]) == (1, A, B)
    assert {"kind", "subject", "before", "after", "why", "source", "how"} <= set(data["changes"][0])
    assert all(one["why"] and one["line"] >= 1 for one in data["changes"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--to", B], "name no release"),
        (["--from", "vllm==0.23.0", "--to", B], "not of the same family"),
        (["--from", "nonsense", "--to", B], "not a release"),
        (["--from", A, "--to", B, "--unsafe"], "--unsafe needs --write"),
        (NO_ENGINE, "hold no engine"),
    ],
)
def test_a_wrong_call_is_told(tmp_path: Path, words: list[str], said: str) -> None:
    path = tmp_path / "a.sh"
    path.write_text("vllm serve m\n" if words != NO_ENGINE else "echo nothing\n", "utf-8")
    done = run(tmp_path, str(path), *words)
    assert done.exit_code == 2
    assert said in done.output


def test_of_a_release_that_is_no_row_the_older_one_counts(tmp_path: Path) -> None:
    path = tmp_path / "a.sh"
    path.write_text("vllm serve m --calculate-kv-scales\n", "utf-8")
    done = run(tmp_path, str(path), "--from", "vllm==0.27.5", "--to", "vllm==0.28.0")
    assert "no release 0.27.5: vLLM 0.27.1 is used" in done.output
    assert "--calculate-kv-scales" in done.output


def test_a_secret_is_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "a.sh"
    path.write_text("HF_TOKEN=hf_abcdefghijklmnop vllm serve m --api-key verysecretkey99 --swap-space 4\n", "utf-8")
    for form in (["--format", "json"], ["--format", "text"], ["--diff"]):
        output = run(tmp_path, str(path), "--from", "vllm==0.18.0", "--to", "vllm==0.33.0", *form).output
        assert "verysecretkey99" not in output
        assert "hf_abcdefghijklmnop" not in output


def test_releases_are_listed_and_compared() -> None:
    listed = CliRunner().invoke(cli, ["releases", "--format", "json"])
    assert json.loads(listed.output)["vllm_ascend"][-1] == {
        "release": "0.30.0rc2", "vllm": "0.30.0", "cann": "9.2.0", "torch_npu": "2.10.0.post4",
        "mooncake": "0.3.11.post1",
    }  # fmt: skip
    done = CliRunner().invoke(cli, ["releases", "diff", A, B, "--format", "json"])
    changes = {(one["section"], one["name"]): one for one in json.loads(done.output)["changes"]}
    assert changes["connectors", "RecomputeCPUOffloadConnector"]["change"] == "removed"
    assert changes["flags", "max-num-partial-prefills"]["help"]
    assert any(section == "logged" for section, _ in changes)
    assert CliRunner().invoke(cli, ["releases", "diff", A, "vllm==0.33.0"]).exit_code == 2


def test_a_file_that_is_left_out_is_no_clean_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.sh").write_text("vllm serve m\n")
    words = ("--from", A, "--to", A)
    before = run(tmp_path, "a.sh", *words).exit_code
    (tmp_path / "b.sh").write_bytes("# caf\xe9\nvllm serve m --bad 1\n".encode("latin-1"))
    done = run(tmp_path, "a.sh", "b.sh", *words)
    assert before == 0 and done.exit_code == 2 and "b.sh is not valid UTF-8 and is left out" in done.output


def test_differences_of_releases_differ() -> None:
    """A difference has two sides that read differently, in both languages, and no side is empty."""
    changes = [
        change
        for a, b in pairwise([*ASCEND_PAIRS])
        for change in differences(parse_target(f"vllm-ascend=={a}"), parse_target(f"vllm-ascend=={b}"))
    ]
    words = [change.help for change in changes if change.help is not None]
    assert len(words) > 100
    for said in words:
        for text in (said.en, said.zh):
            sides = re.search(r"(?:default|默认值) (.*?) → (.*?)(?:[;；]|$)", text)
            assert sides is None or sides[1] != sides[2], text
            assert not re.search(
                r"read as ,|before (?:;|$)|按 {2}|no longer (.+); now also \1$|must be (any|;|$)", text
            ), text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("export VLLM_USE_V1=1; vllm serve m\n", "vllm serve m\n"),
        ("export VLLM_USE_V1=1 && vllm serve m\n", "vllm serve m\n"),
        ("set -e; export VLLM_USE_V1=1\nvllm serve m\n", "set -e\nvllm serve m\n"),
        ("VLLM_USE_V1=1; export VLLM_USE_V1; vllm serve m\n", "export VLLM_USE_V1; vllm serve m\n"),
        ("(export VLLM_USE_V1=1; vllm serve m)\n", "(vllm serve m)\n"),
        ("export A=1 VLLM_USE_V1=1\nvllm serve m\n", "export A=1\nvllm serve m\n"),
        ("export VLLM_USE_V1=1 || exit\nvllm serve m\n", "export VLLM_USE_V1=1 || exit\nvllm serve m\n"),
        ("f() {\n  export VLLM_USE_V1=1\n}\nf\nvllm serve m\n", "f() {\n  export VLLM_USE_V1=1\n}\nf\nvllm serve m\n"),
    ],
)
def test_a_variable_goes_with_its_statement(before: str, after: str, tmp_path: Path) -> None:
    """``export`` on its own would print every variable, secrets too, and a lone ``;`` is no shell."""
    file = tmp_path / "a.sh"
    file.write_text(before)
    CliRunner().invoke(cli, ["upgrade", "--from", "vllm==0.18.0", "--to", "vllm==0.33.0", "--write", str(file)])
    assert file.read_text() == after
