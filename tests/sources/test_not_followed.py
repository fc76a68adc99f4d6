"""What was not looked at is said: each limit has a finding where it was met, and only what matters counts."""

from __future__ import annotations

import dataclasses
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pd_launch.launcher import budget
from pd_launch.launcher.check.run import Selection, check, run_checks
from pd_launch.launcher.rules.registry import Hit, all_rules
from pd_launch.launcher.sources.read import Inputs, read, read_texts
from pd_launch.launcher.sources.shell.follow import MAX_COMMANDS, MAX_EXPORTED
from pd_launch.launcher.sources.shell.state import MAX_ITEMS, MAX_MADE
from pd_launch.launcher.sources.text.limits import NOT_FOLLOWED
from pd_launch.launcher.sources.text.weave import MAX_TEXT
from pd_launch.launcher.sources.trees.yaml_tree import MAX_NODES
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Origin, SourceFile
from pd_launch.schemas.finding import Finding

WRONG = "vllm serve m --tensor-parallel-sizee 8\n"
EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "decode.sh"


def found(text: str, name: str = "a.sh") -> list[Finding]:
    return check(read_texts({name: text}, target="vllm:0.32.0"))


def limits(text: str, name: str = "a.sh") -> list[tuple[int, str]]:
    return [(f.line, f.message.partition(":")[0]) for f in found(text, name) if f.code == "PD014"]


def loop(rounds: int, body: str) -> str:
    return f"for i in $(seq 1 {rounds}); do\n{body}done\n"


@pytest.mark.parametrize(
    "before",
    [
        "vllm serve ok --port 8000\n" + loop(50, "".join(f"  log step {k}\n" for k in range(60))),
        loop(200, loop(20, "  echo $i\n  sleep 1\n")),
        "wait_ready() { curl -s localhost:8000 || { sleep 1; wait_ready; wait_ready; }; }\nwait_ready\n",
        "log() { local level=$1; shift; echo $level; }\n" + "log info x\n" * 3000,
        "echo hi\n" * 2500,
        "A=1\n" * 10_500,
        "".join(f"if x; then A{i}=1; fi\n" for i in range(3000)),
        "python train.py --a 1\nmkdir -p x\ncd x\n" * 1500,
    ],
    ids=["log", "loops", "recursion", "function", "echo", "assignments", "conditions", "programs"],
)
def test_plain_commands_use_nothing_up(before: str) -> None:
    codes = [f.code for f in found(before + WRONG)]
    assert codes == ["PD004"]


def test_an_engine_behind_thousands_of_commands_is_checked_like_one_alone() -> None:
    alone = [f.message for f in found(EXAMPLE.read_text("utf-8"))]
    behind = [f.message for f in found("mkdir -p logs\ncd logs\necho start\n" * 1000 + EXAMPLE.read_text("utf-8"))]
    assert behind == alone and alone


@pytest.mark.parametrize(
    ("text", "line", "limit"),
    [
        (f"{WRONG}" * (MAX_COMMANDS + 10), MAX_COMMANDS + 1, f"more than {MAX_COMMANDS} commands"),
        ("".join(f"export A{i}=1\n" for i in range(MAX_EXPORTED + 5)) + WRONG, MAX_EXPORTED + 1, "exported variables"),
        ("N=0\n" + loop(300, loop(300, "N=$((N+1))\n")) + WRONG, 3, "steps in loops and functions"),
        (f"for i in {{1..{MAX_ITEMS + 1}}}; do A=$i; done\n" + WRONG, 1, f"more than {MAX_ITEMS} elements"),
        (f"A=({'x ' * (MAX_ITEMS + 1)})\n" + WRONG, 1, f"more than {MAX_ITEMS} elements"),
        ("A=xxxxxxxxxx\n" + "A=$A$A\n" * 40 + WRONG, 16, f"a value of more than {MAX_TEXT} characters"),
        (f"A={'x' * 100_000}\n" + "B=y$A\n" * 200 + WRONG, 101, f"values of more than {MAX_MADE} characters"),
        ("if a; then\n" * 300 + WRONG + "fi\n" * 300, 201, "nested"),
        ("".join(f"f{i}() {{ f{i + 1}; }}\n" for i in range(30)) + f"f30() {{ {WRONG} }}\nf0\n", 20, "deep"),
    ],
    ids=["commands", "exports", "steps", "sequence", "array", "text", "made", "depth", "calls"],
)
def test_the_place_and_the_name_of_a_limit(text: str, line: int, limit: str) -> None:
    told = [(at, message) for at, message in limits(text) if limit in message]
    assert told and abs(told[0][0] - line) <= 1, limits(text)


def test_what_stands_behind_a_loop_without_end_is_followed_once() -> None:
    codes = [f.code for f in found("N=0\n" + loop(300, loop(300, "N=$((N+1))\n")) + WRONG)]
    assert codes.count("PD014") == 1 and "PD004" in codes


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("services:\n" + "".join(f"  s{i}: {{a: 1}}\n" for i in range(MAX_NODES)), f"more than {MAX_NODES} values"),
        ("services: {a: " + "[" * 200 + "]" * 200 + "}\n", "nested more than"),
    ],
)
def test_yaml(text: str, limit: str) -> None:
    assert any(limit in message for _, message in limits(text, "a.yaml"))


def test_each_document_counts_alone_and_those_before_a_limit_are_read() -> None:
    pod = "apiVersion: v1\nkind: Pod\nspec: {containers: [{image: i, command: [vllm, serve, m, --portt, '1']}]}\n---\n"
    many = pod + ("a: [" + "1, " * (MAX_NODES // 2) + "]\n---\n") * 4
    assert [f.code for f in found(many, "a.yaml")] == ["PD004"]
    assert [f.code for f in found(f"{pod}a: [{'1, ' * MAX_NODES}]\n", "a.yaml")] == ["PD004", "PD014"]


def test_a_python_function_that_calls_itself() -> None:
    head = "import os\ndef f(n):\n    os.system(f'vllm serve m --port {n}')\n"
    assert limits(head + "    f(n)\nf(8000)\n", "a.py") == []
    assert limits(head + "    f(n + 1)\nf(8000)\n", "a.py") == [(4, "more than 4 loops and calls inside each other")]


LARGE = Inputs([], max_size=1000)


@pytest.mark.parametrize(
    ("name", "text", "codes"),
    [
        ("a.sh", "# x\n" * 300 + WRONG, ["PD014"]),
        ("a.sh", "# x\n" * 100 + WRONG, ["PD004"]),
        ("a.yaml", "a: 1\n---\n" * 300 + "services: {a: {command: vllm serve m --portt 1}}\n", ["PD004"]),
        ("a.yaml", "a: 1\n" * 300, ["PD014"]),
    ],
)
def test_a_file_that_is_too_large_is_named(name: str, text: str, codes: list[str]) -> None:
    inputs = Inputs([SourceFile(name, text), SourceFile("b.sh", "vllm serve m\n")], max_size=1000)
    assert [f.code for f in check(read(inputs))] == codes


def test_a_budget_ends_reading_and_rules_with_a_finding() -> None:
    sources = [SourceFile(f"{i}.sh", WRONG) for i in range(3)]
    with budget.limited(seconds=-1):
        deployments = read(Inputs(list(sources), separate=True))
    assert [f.code for f in check(deployments)] == ["PD014"] * 3
    deployments = read(Inputs(list(sources), separate=True))
    with budget.limited(seconds=-1):
        findings = check(deployments)
    assert [f.code for f in findings] == ["PD014"] * 3 and "PD001 on were not applied" in findings[0].message
    with budget.limited(memory=-1):
        assert "memory" in check(read(Inputs([sources[0]])))[0].message


@pytest.mark.parametrize(
    "text", ["echo\n" * 2000 + WRONG, "a: [" + "1, " * 5000 + "]\nservices: {a: {command: vllm}}\n"]
)
def test_a_budget_may_end_in_the_middle_of_a_file(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter([None] * 3)

    def look(self: object) -> None:
        if next(looks, "over") == "over":
            raise budget.Spent(Msg("the time is used up", "时间已用完"))

    monkeypatch.setattr(budget._Budget, "look", look)
    with budget.limited():
        deployments = read_texts({"a.yaml" if "services" in text else "a.sh": text})
    faults = [fault for d in deployments for fault in d.faults if fault.kind == NOT_FOLLOWED]
    assert len(faults) == 1 and faults[0].detail.en.startswith("the time is used up")


def _without_end(*_: object) -> Iterator[Hit]:
    yield Hit(Origin("0.sh", 1, 1, 1, 2), Msg("found before", "之前"), Msg("", ""))
    while True:
        pass


def _one_expression(*_: object) -> Iterator[Hit]:
    re.fullmatch("(x+x+)+y", "x" * 60)
    yield from ()


@pytest.mark.parametrize("body", [_without_end, _one_expression])
def test_one_rule_on_one_engine_is_interrupted(
    body: Callable[..., Iterator[Hit]], monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = dataclasses.replace(all_rules()["PD004"], function=body)
    monkeypatch.setitem(all_rules(), "PD004", rule)
    deployments = read_texts({"0.sh": WRONG}, target="vllm:0.32.0")
    with budget.limited(seconds=0.1):
        findings = check(deployments)
    assert any(f.code == "PD014" and "PD004 on were not applied" in f.message for f in findings)
    assert (body is _without_end) == any(f.message == "found before" for f in findings)


def test_one_step_of_reading_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "pd_launch.launcher.sources.followed_scripts.read_shell", lambda *_: re.fullmatch("(x+x+)+y", "x" * 60)
    )
    with budget.limited(seconds=0.1):
        deployments = read_texts({"0.sh": WRONG, "1.sh": WRONG})
    assert [fault.kind for fault in deployments[0].faults] == [NOT_FOLLOWED] * 2


def test_a_budget_in_a_thread_does_without_a_timer() -> None:
    found_: list[Finding] = []

    def work() -> None:
        with budget.limited():
            found_.extend(found(WRONG))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert [f.code for f in found_] == ["PD004"]


def test_nothing_to_report_is_only_said_of_what_was_followed(run_check: Callable[..., str]) -> None:
    Path("a.sh").write_text("N=0\n" + loop(300, loop(300, "N=$((N+1))\n")) + "vllm serve m\n")
    assert "nothing to report" not in run_check("--ignore", "PD014", "a.sh")
    assert "reading stopped once (PD014)" in run_check("--ignore", "PD014", "a.sh")
    assert "PD014" in run_check("--ignore", "PD014", "--lang", "zh", "a.sh")
    assert run_checks(read_texts({"a.sh": "vllm serve m\n"}), Selection()).cut == 0


@pytest.fixture
def run_check(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., str]:
    from pd_launch.launcher.cli import main

    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> str:
        monkeypatch.setattr("sys.argv", ["pd-launch", "check", *words])
        with pytest.raises(SystemExit):
            main()
        return capsys.readouterr().out

    return call


def test_max_size(run_check: Callable[..., str]) -> None:
    Path("a.sh").write_text("# a comment\n" * 200_000 + WRONG)
    assert "larger than 2 MiB" in run_check("a.sh") or "larger than 2MiB" in run_check("a.sh")
    assert "PD004" in run_check("--max-size", "4MiB", "--target", "vllm==0.32.0", "a.sh")
    assert "PD014" in run_check("--max-size", "40", "a.sh")


def test_a_file_that_cannot_be_held_does_not_keep_others_from_being_checked(
    run_check: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pd_launch.launcher.commands.check_inputs.MAX_FILE", 100)
    monkeypatch.setattr("pd_launch.launcher.commands.check.MAX_SIZE", 100)
    Path("a.sh").write_text("# x\n" * 100)
    Path("b.sh").write_text(WRONG)
    out = run_check("--target", "vllm==0.32.0", "a.sh", "b.sh")
    assert "PD014" in out and "PD004" in out


def test_scripts_inside_loops_share_the_steps_of_their_file() -> None:
    inner = "cat > run.sh <<'E'\nA=0\nfor ((k=0; k<3000; k++)); do A=$((A+1)); done\nvllm serve m\nE\n"
    assert {message for _, message in limits(loop(160, inner))} == {"more than 10000 steps in loops and functions"}


def test_a_loop_over_many_hosts_is_followed_to_its_end() -> None:
    inner = 'ssh "host$i" bash -s <<E\n' + "cd /x\n" * 100 + "vllm serve m --port 8000\nE\n"
    assert limits(loop(150, inner)) == []
    template = "export A=1\n" * 100 + "vllm serve m --data-parallel-rank $4 --port $2\n"
    call = "python launch_online_dp.py --dp-size 200 --dp-size-local 200 --tp-size 1 --vllm-start-port 8000\n"
    found = check(read_texts({"run_dp_template.sh": template, "a.sh": call}, target="vllm:0.32.0"))
    assert "PD014" not in {finding.code for finding in found}
