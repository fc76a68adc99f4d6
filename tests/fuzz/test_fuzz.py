"""A short run of the fuzzer, hostile inputs, and the same for the command line, --set, host facts and config files."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from grammar import generated
from hostile import HOSTILE
from mutations import mutate
from oracle import judge, raw
from seeds import TARGETS, case, seeds

from pd_launch.launcher.cli import main
from tests.sampling import SEED, sample, size

pytestmark = pytest.mark.slow
FORMS = ("text", "concise", "json", "sarif", "github", "junit")
PROFILE = Path(__file__).resolve().parents[2] / "profiles" / "a3-dp2tp8.yaml"


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["pd-launch", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        assert not raw(captured.out + captured.err)
        return int(ended.value.code or 0), captured.out, captured.err

    return call


def told(problems: list[object]) -> str:
    return "\n".join(map(str, problems))


@pytest.mark.parametrize("part", range(size(6, 50)))
def test_mutated_inputs(part: int) -> None:
    start = SEED * 1_000_000 + part * 40
    for number in range(start, start + 40):
        problems = judge(*case(number), fix=number % 4 == 0)
        assert not [p for p in problems if p.what != "slow"], f"input {number}: {told([*problems])}"


FIXED = size(8, 100)
"""Of how many inputs of the grammar one is fixed, too, which takes ten times as long."""


@pytest.mark.parametrize("start", range(0, size(160, 50_000), 40))
def test_inputs_of_the_grammar(start: int) -> None:
    for number in range(start, start + 40):
        problems = judge(generated(number), TARGETS[number % len(TARGETS)], fix=number % FIXED == 0)
        assert not [p for p in problems if p.what != "slow"], f"input {number}: {told([*problems])}"


@pytest.mark.parametrize("name", sample(sorted(HOSTILE), 0.5, "hostile"))
def test_hostile_inputs(name: str) -> None:
    file, text = HOSTILE[name]
    problems = judge({file: text[:150_000]})
    assert not [p for p in problems if p.what != "slow"], told([*problems])


@pytest.mark.parametrize("number", range(size(12, 120)))
def test_the_command_leaves_its_input_alone(number: int, tmp_path: Path, run: Run) -> None:
    random = Random(f"{SEED} {number}")
    name, text = random.choice(list(random.choice(seeds()).items()))
    content = mutate(random, text, text).encode("utf-8", "replace")
    content = (
        content[: len(content) // 2]
        + random.choice((b"", b"\xff\xfe", b"\x00", b"\xc3("))
        + content[len(content) // 2 :]
    )
    path = tmp_path / name
    path.write_bytes(content)
    status, _, err = run("check", "--format", FORMS[number % len(FORMS)], str(path))
    assert status in (0, 1), err
    assert path.read_bytes() == content


@pytest.mark.parametrize("number", range(size(12, 120)))
def test_command_lines(number: int, run: Run) -> None:
    random = Random(f"{SEED} {number}")
    text = random.choice([t for files in seeds() for name, t in files.items() if name.endswith(".sh")])
    words = [word for word in mutate(random, text, text).split() if "\0" not in word][:60]
    status, out, err = run("check", "--format", "json", "--", "vllm", "serve", *words)
    assert status in (0, 1), err
    json.loads(out)


@pytest.mark.parametrize("number", range(size(12, 120)))
def test_settings(number: int, run: Run) -> None:
    random = Random(f"{SEED} {number}")
    line = random.choice(
        ("decode.parallel.data=4", "decode.offload={per_rank: 1GiB}", "nodes.decode=[{address: auto}]")
    )
    line = mutate(random, line, "decode.engine.max-num-seqs=8").replace("\0", "")
    status, _, err = run("decode", "--dry-run", "--profile", str(PROFILE), f"--set={line[:2000]}")
    assert status in (0, 1, 2), err


@pytest.mark.parametrize("number", range(size(12, 120)))
def test_host_facts_and_config_files(number: int, tmp_path: Path, run: Run) -> None:
    random = Random(f"{SEED} {number}")
    facts = '{"mem_total": 1099511627776, "npus": 8, "ports_in_use": [8000], "memlock": 65536, "vllm": "0.25.1"}'
    config = '[tool.pd-launch]\nselect = ["PD1"]\nfail_on = "error"\n[tool.pd-launch.severity]\nPD406 = "info"\n'
    (tmp_path / "decode.sh").write_text("vllm serve m --tensor-parallel-size 8\n", "utf-8")
    (tmp_path / "host.json").write_bytes(mutate(random, facts, facts).encode("utf-8", "replace"))
    (tmp_path / "pyproject.toml").write_bytes(mutate(random, config, facts).encode("utf-8", "replace"))
    arguments = ["check", "--host-facts", str(tmp_path / "host.json"), str(tmp_path / "decode.sh")]
    status, _, err = run(*arguments)
    assert status in (0, 1, 2), err
