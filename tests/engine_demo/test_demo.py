"""The demo around its engines: figures, verdicts, and that no engine outlives it. The engines are stubs."""

from __future__ import annotations

import copy
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).resolve().parents[2]
STUB = Path(__file__).with_name("stub_engine.py")
sys.path.append(str(ROOT / "scripts"))
sys.path.append(str(STUB.parent))

import demo  # noqa: E402
import demo_traffic  # noqa: E402
from demo_engines import DemoError, free_ports  # noqa: E402
from stub_engine import CONFIG  # noqa: E402

RUNNER = """
import sys, time
sys.path.insert(0, {scripts!r})
import demo, demo_engines
sleep = time.sleep
time.sleep = lambda seconds: sleep(min(seconds, 0.05))  # stub engines are ready at once
demo.PROGRAM = [sys.executable, {stub!r}]
demo_engines.GRACE_SECONDS = 0.5
demo_engines.CHILDREN_SECONDS = 0.3
sys.exit(demo.main(sys.argv[1:]))
"""


@pytest.fixture
def start(tmp_path: Path):  # type: ignore[no-untyped-def]
    """Start the demo with stub engines of its own file, by which what is left over can be found."""
    stub = tmp_path / "stub_engine.py"
    stub.write_text(STUB.read_text())
    runner = tmp_path / "runner.py"
    runner.write_text(RUNNER.format(scripts=str(ROOT / "scripts"), stub=str(stub)))

    def begin(played: str = "", *arguments: str) -> subprocess.Popen[str]:
        env = os.environ | {
            "STUB": played,
            "PD_LAUNCH_CACHE": str(tmp_path / "cache"),
            "PYTHONPATH": str(ROOT),
        }
        return subprocess.Popen(
            [sys.executable, str(runner), *arguments],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    yield begin
    left = leftovers(tmp_path)
    for process in left:
        process.kill()
    assert not left, "the demo left processes behind"


def leftovers(folder: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        words = process.info["cmdline"] or []
        if any(str(folder / "stub_engine.py") in word for word in words) and process.info["status"] != "zombie":
            found.append(process)
    return found


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=90)
    return process.returncode, out, err


def test_demo_as_it_must_be(start) -> None:  # type: ignore[no-untyped-def]
    status, out, err = finish(start())
    assert status == 0, out + err
    rows = {line.split("  ")[0]: line.split()[-2:] for line in out.splitlines()}
    assert rows["requests"] == ["8", "8"]
    assert rows["preempted on the decode node"] == ["5", "5"]
    assert rows["parked in host memory"] == rows["restored from host memory"] == ["5", "0"]
    assert rows["bytes device to host"] == ["1,048,576", "0"]
    assert rows["tokens recomputed on the decode node"] == ["0", "800"]
    assert rows["seconds lost to preemption on the decode node"] == ["0.00", "0.10"]
    assert rows["identical to a single engine's answers"] == ["yes", "yes"]
    saved = "saved by the connector: 800 tokens and 0.10 seconds of the decode node's steps"
    assert out.splitlines()[-2] == saved
    assert out.splitlines()[-1] == "as it must be"
    assert "starting the prefill engine" in err


@pytest.mark.parametrize(
    ("played", "fault"),
    [
        ("recomputes", "tokens recomputed with the connector"),
        ("differs", "answers with differ"),
        ("calm", "only 2 preempted"),
        ("leaks", "4 restored"),
    ],
)
def test_demo_fails_when_a_figure_is_wrong(start, played: str, fault: str) -> None:  # type: ignore[no-untyped-def]
    status, out, _ = finish(start(played))
    assert status == 1
    assert fault in out
    assert "as it must be" not in out.splitlines()


def test_control_must_differ(start) -> None:  # type: ignore[no-untyped-def]
    status, out, _ = finish(start("recomputes", "--control"))
    assert status == 0
    assert "identical to a single engine's answers" in out
    assert out.splitlines()[-2].split()[-1] == "no"
    status, out, _ = finish(start("blind", "--control"))
    assert status == 1
    assert "the check is blind" in out


def test_engine_that_dies_shows_its_log_and_ends_the_demo(start) -> None:  # type: ignore[no-untyped-def]
    status, out, err = finish(start("dies"))
    assert status == 1
    assert out == ""
    assert "the decode engine ended by itself (exit status 1)" in err
    assert "| no such model: the last line of the log" in err
    assert "Traceback" not in err


def test_engine_that_refuses_ends_the_demo(start) -> None:  # type: ignore[no-untyped-def]
    status, _, err = finish(start("refuses"))
    assert status == 1
    assert err.count("the first hand-over failed; once more") == demo.HAND_OVER_TRIES - 1
    assert "refused a request (500): no KV" in err
    assert "Traceback" not in err


def test_engine_that_ignores_sigterm_is_killed_with_its_children(start) -> None:  # type: ignore[no-untyped-def]
    status, out, err = finish(start("stays"))
    assert status == 0, out + err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("played", ["", "stays"])
def test_interrupted_demo_stops_everything(  # type: ignore[no-untyped-def]
    start, tmp_path: Path, number: signal.Signals, played: str
) -> None:
    process = start(played)
    deadline = time.monotonic() + 60
    while len(leftovers(tmp_path)) < (4 if played else 2) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(number)
    time.sleep(0.2)
    process.send_signal(number)  # an impatient second one changes nothing
    status, _, err = finish(process)
    assert status == 130
    assert err.splitlines()[-1] == "demo: interrupted; every engine is stopped"


def test_killed_demo_takes_its_engines_along(start, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    process = start()
    deadline = time.monotonic() + 60
    while len(leftovers(tmp_path)) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.5)
    process.kill()
    finish(process)
    while leftovers(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.05)


def test_only_the_last_runs_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PD_LAUNCH_CACHE", str(tmp_path))
    for i in range(8):
        (tmp_path / "demo" / f"20200101-00000{i}-1").mkdir(parents=True)
    newest = demo.run_folder()
    kept = sorted(path.name for path in (tmp_path / "demo").iterdir())
    assert len(kept) == demo.KEPT_RUNS
    assert kept[-1] == newest.name


def test_counter_is_added_and_our_connector_replaced_or_left_out(tmp_path: Path) -> None:
    before = copy.deepcopy(CONFIG)
    with_ours = demo.counted(CONFIG, demo.OURS, tmp_path / "c.json")
    children = with_ours["kv_connector_extra_config"]["connectors"]
    assert [c.get("kv_connector_module_path") for c in children] == [None, demo.OURS, "bench.step_counter"]
    assert children[-1]["kv_connector_extra_config"] == {"file": str(tmp_path / "c.json")}
    without = demo.counted(CONFIG, None, tmp_path / "c.json")["kv_connector_extra_config"]["connectors"]
    assert [c.get("kv_connector_module_path") for c in without] == [None, "bench.step_counter"]
    wrong = demo.counted(CONFIG, demo.REVERSED, tmp_path / "c.json")["kv_connector_extra_config"]["connectors"]
    assert wrong[1]["kv_connector_module_path"] == "bench.reversed_restore"
    assert wrong[1]["kv_connector"] == "RecomputeCPUOffloadConnector"
    assert before == CONFIG
    with pytest.raises(DemoError, match=r"renders no connector of pd_launch\.connector"):
        demo.counted({**CONFIG, "kv_connector_extra_config": {"connectors": without}}, demo.OURS, tmp_path / "c.json")


GOOD = demo.Figures(8, 5, 5, 5, 0, 1, 1, 0, True, 0.01)
CONTROL = demo.Figures(8, 6, 0, 0, 0, 0, 0, 870, True, 0.26)


@pytest.mark.parametrize(
    ("ours", "control", "word"),
    [
        (GOOD, CONTROL, ""),
        (replace(GOOD, identical=False), None, ""),
        (GOOD, None, "blind"),
        (replace(GOOD, fallen_back=1), CONTROL, "1 fell back"),
        (replace(GOOD, parked=4), CONTROL, "4 were parked"),
        (replace(GOOD, recomputed=-1), CONTROL, "-1 tokens recomputed"),
        (GOOD, replace(CONTROL, recomputed=0), "the count is blind"),
        (GOOD, replace(CONTROL, identical=False), "answers without differ"),
    ],
)
def test_faults(ours: demo.Figures, control: demo.Figures | None, word: str) -> None:
    found = demo.faults(ours, control)
    assert [word in text for text in found] == ([True] if word else [])


def test_what_is_saved_is_said_in_tokens_and_seconds() -> None:
    said = "saved by the connector: 870 tokens and 0.25 seconds of the decode node's steps"
    assert demo.saved(GOOD, CONTROL) == said


def test_metrics_are_summed_over_their_labels() -> None:
    text = '# TYPE a counter\na{engine="0",reason="x y"} 2.0\na{engine="1"} 3\nb 1e3\nc{q="}"} 4.5\n'
    assert demo_traffic.parse_metrics(text) == {"a": 5.0, "b": 1000.0, "c": 4.5}


def test_prompts_are_the_same_every_time_and_hold_no_special_token() -> None:
    work = demo_traffic.prompts()
    assert work == demo_traffic.prompts()
    assert [len(prompt) for prompt in work] == list(demo_traffic.PROMPT_TOKENS)
    assert len({len(prompt) % 32 for prompt in work}) == demo_traffic.REQUESTS  # cpu-tiny's block_size
    assert {token for prompt in work for token in prompt} <= set(range(3, 512))


def test_free_ports_differ() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20


@pytest.mark.skipif(sys.platform != "linux", reason="reads the kernel's range from /proc")
def test_free_ports_are_not_given_to_others_meanwhile() -> None:
    """An engine binds them seconds later, and others ask the kernel for any free port all the time."""
    first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    assert max(free_ports(20)) < max(first, 20_000)


def test_missing_count_is_told(tmp_path: Path) -> None:
    with pytest.raises(DemoError, match="the step counter left no count"):
        demo_traffic.scheduled_tokens(tmp_path / "absent.json")


@pytest.mark.parametrize(
    ("preempted", "rounds", "last_differs"),
    [([5], 1, False), ([2, 4], 2, False), ([0, 1, 2], 3, False), ([2, 4], 2, True)],
)
def test_too_little_pressure_sends_the_requests_again(
    preempted: list[int], rounds: int, last_differs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, reference = demo.prompts(), [[1, 2], [3]]
    sent = [reference] * (rounds - 1) + [[[1, 2], [4]] if last_differs else reference]
    answers, counts = iter(copy.deepcopy(sent)), iter(preempted)
    monkeypatch.setattr(demo, "prompts", lambda: work[:2])
    monkeypatch.setattr(demo, "first_hand_over", lambda *_: 10)
    monkeypatch.setattr(demo, "answer_by_pair", lambda *_: next(answers))
    monkeypatch.setattr(demo, "settled", lambda _: demo._Counts({"vllm:num_preemptions_total": next(counts)}))
    monkeypatch.setattr(demo, "preemption_seconds", lambda _: 0.5)
    monkeypatch.setattr(demo, "scheduled_tokens", lambda _: 10 + 3 * rounds + 7)
    engine = type("Engine", (), {"name": "decode"})()
    found = demo.burst(engine, engine, Path("counter"), reference)
    assert (found.requests, found.preempted, found.recomputed) == (2 * rounds, preempted[-1], 7)
    assert found.identical is not last_differs
