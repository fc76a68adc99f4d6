"""Files that a script reads with ``source``: followed where they may be opened, each value at its own place."""

from __future__ import annotations

from pathlib import Path

import pytest

from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.read import Inputs, read
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.values import SourceFile
from tests.sources.reading import at, deployment, flag, value, variables

COMMON = 'start() {\n  vllm serve "/m/$1" --port $2 &\n}\n'
ENV = "export HCCL_BUFFSIZE=300\nPORT=8100\nBASE=81\n"


def given(files: dict[str, str], **options: bool) -> list[Deployment]:
    return read(Inputs([SourceFile(name, text) for name, text in files.items()], **options))


def engine(script: str, **others: str) -> tuple[NodeLaunch, Deployment]:
    found = deployment({"run.sh": script, **{name.replace("_", "."): text for name, text in others.items()}})
    assert len(found.nodes) == 1, found.nodes
    return found.nodes[0], found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a script's folder in it, and a file beside it that is nobody's business."""
    made = tmp_path / "work" / "scripts"
    made.mkdir(parents=True)
    (tmp_path / "outside.sh").write_text("PORT=1\n")
    monkeypatch.chdir(made.parent)
    return made


def on_disk(folder: Path, **files: str) -> Deployment:
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    [found] = given({"scripts/run.sh": files["run_sh"]}, separate=True)
    return found


@pytest.mark.parametrize(
    "how",
    [
        "source env.sh",
        ". ./env.sh",
        "set -a; source ./env.sh; set +a",
        '. "$(dirname "$0")/env.sh"',
        'source "${BASH_SOURCE%/*}/env.sh"',
        'HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)\nsource "$HERE/env.sh"',
    ],
)
def test_variables_of_a_file_are_known_at_their_places(how: str) -> None:
    node, found = engine(f"{how}\nvllm serve m --port $PORT --max-num-seqs ${{BASE}}1\n", env_sh=ENV)
    assert value(node, "port") == "8100" and value(node, "max-num-seqs") == "811"
    assert variables(node)["HCCL_BUFFSIZE"] == "300" and node.env_open is None
    assert at(found, node.env["HCCL_BUFFSIZE"].value.origin) == (1, "300")
    assert node.env["HCCL_BUFFSIZE"].value.origin.file == "env.sh" and flag(node, "port").origin.file == "run.sh"


@pytest.mark.parametrize("how", ["source $X/env.sh", "source /etc/pd/env.sh.not", "source other.sh", '. "$(cat f)"'])
def test_another_file_may_set_anything(how: str) -> None:
    node, _ = engine(f"{how}\nvllm serve m --port $PORT\n", env_sh=ENV)
    assert not flag(node, "port").known and node.env_open is not None


def test_a_file_beside_the_script_or_in_the_working_folder_is_opened(folder: Path) -> None:
    (folder.parent / "work.sh").write_text("SEQS=9\n")
    script = ". ./env.sh\n. work.sh\nvllm serve m --port $PORT --max-num-seqs $SEQS\n"
    found = on_disk(folder, run_sh=script, env_sh=ENV)
    assert value(found.nodes[0], "port") == "8100" and value(found.nodes[0], "max-num-seqs") == "9"
    assert set(found.sources) == {"scripts/run.sh", "scripts/env.sh", "work.sh"}


@pytest.mark.parametrize("name", ["../../outside.sh", "link.sh", "pipe.sh", "folder", "nul.sh"])
def test_nothing_else_is_opened(folder: Path, name: str) -> None:
    import os

    (folder / "link.sh").symlink_to(folder.parent.parent / "outside.sh")
    os.mkfifo(folder / "pipe.sh")
    (folder / "folder").mkdir()
    (folder / "nul.sh").write_bytes(b"PORT=1\n\0")
    found = on_disk(folder, run_sh=f"source {name}\nvllm serve m --port $PORT\n")
    assert not flag(found.nodes[0], "port").known and found.nodes[0].env_open is not None


def test_a_container_has_other_files() -> None:
    command = "[bash, -c, '. ./env.sh; vllm serve m --port $PORT']"
    pod = f"apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - command: {command}\n"
    found = deployment({"pod.yaml": pod, "env.sh": ENV})
    assert not flag(found.nodes[0], "port").known


def test_functions_of_a_file_start_engines_where_they_are_called() -> None:
    node, _ = engine("source common.sh\nstart decode 8200\n", common_sh=COMMON)
    assert node.model is not None and node.model.value == "/m/decode" and value(node, "port") == "8200"
    assert node.origin.file == "common.sh" and node.host == "host of run.sh" and not node.foreground


def test_an_engine_counts_once_whichever_file_comes_first() -> None:
    files = {"run.sh": "source common.sh\nstart decode 8200\n", "common.sh": COMMON + "vllm serve x --port 9\n"}
    for names in (files, reversed(files)):
        [found] = given({name: files[name] for name in names})
        assert sorted(str(value(node, "port")) for node in found.nodes) == ["8200", "9"]


def test_two_files_that_read_each_other_are_said_and_end() -> None:
    [found] = given({"a.sh": "source b.sh\nvllm serve m --port 1\n", "b.sh": "source a.sh\n"})
    assert [fault.kind for fault in found.faults] == ["not-followed"] and len(found.nodes) == 1
    assert found.faults[0].origin.file == "b.sh"


def test_a_chain_of_files_ends() -> None:
    files = {f"f{n}.sh": f"source f{n + 1}.sh\n" for n in range(20)}
    files["f0.sh"] += "vllm serve m\n"
    [found] = given(files)
    assert [fault.kind for fault in found.faults] == ["not-followed"] and len(found.nodes) == 1


def test_a_loop_of_readings_ends() -> None:
    loop = "for i in $(seq 0 3999); do for j in $(seq 0 99); do . ./env.sh; done; done\nvllm serve m --port $PORT\n"
    node, _ = engine(loop, env_sh=f"{ENV}I=$((I + 1))\n")
    assert not flag(node, "port").known or value(node, "port") == "8100"


def test_words_behind_the_name_are_its_parameters() -> None:
    node, _ = engine("set -- 5\n. ./env.sh 7000\nvllm serve m --port $P --max-num-seqs $1\n", env_sh="P=$1\n")
    assert value(node, "port") == "7000" and value(node, "max-num-seqs") == "5"


def test_functions_call_each_other_across_files() -> None:
    script = "say() { echo $1; }\n. ./env.sh\nset_port 5\nvllm serve m --port $PORT --max-num-seqs $(two)\n"
    node, _ = engine(script, env_sh="set_port() { keep $1; say x; }\nkeep() { PORT=$1; }\ntwo() { echo 2; }\n")
    assert value(node, "port") == "5" and not flag(node, "max-num-seqs").known


def test_what_a_branch_reads_is_not_sure() -> None:
    node, _ = engine("PORT=1\nif [ -f env.sh ]; then . ./env.sh; fi\nvllm serve m --port $PORT\n", env_sh=ENV)
    assert not flag(node, "port").known


def test_a_value_that_two_files_make_has_no_place_of_its_own_to_fix() -> None:
    node, found = engine(
        '. ./env.sh\nARGS+=" --max-num-seqs 8"\nvllm serve m $ARGS\n', env_sh='ARGS="--max-num-seqss 4"\n'
    )
    assert value(node, "max-num-seqss") == "4" and value(node, "max-num-seqs") == "8"
    assert at(found, flag(node, "max-num-seqs").origin) == (2, "8")


def test_a_finding_in_a_file_that_nobody_gave_has_no_fix(folder: Path) -> None:
    common = "go() { vllm serve m --max-num-seqss 4; }\n"
    (folder / "common.sh").write_text(common)
    found = check(given({"scripts/run.sh": ". ./common.sh\ngo\n"}, separate=True))
    assert [(f.code, f.file, f.line) for f in found if f.severity == "error"] == [("PD004", "scripts/common.sh", 1)]
