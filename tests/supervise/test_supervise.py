"""Several engines on one node: signals, the grace period, statuses, and that nothing is ever left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from pd_launch.launcher.supervise.keeper import Keeper
from pd_launch.launcher.supervise.output import Sink
from tests.supervise.harness import PATIENCE, Bench, positions, wait_for

BOTH = ("--no-host", "--grace", "8")


def launch(bench: Bench, profile: str, *words: str, **env: str) -> subprocess.Popen[bytes]:
    return bench.start("decode", "--profile", profile, *BOTH, *words, **env)


def ready(bench: Bench, profile: str, *words: str, **env: str) -> subprocess.Popen[bytes]:
    process = launch(bench, profile, *words, **env)
    bench.until_ready(2)
    return process


def test_both_engines_run_with_their_own_port_and_rank(bench: Bench, external: str) -> None:
    process = ready(bench, external)
    first, second = bench.given(0), bench.given(1)
    ports = [int(given["argv"][given["argv"].index("--port") + 1]) for given in (first, second)]
    assert ports[1] == ports[0] + 1
    assert first["group"] == first["pid"], "an engine has a process group of its own"
    assert second["group"] == second["pid"]
    process.terminate()
    assert process.wait(PATIENCE) == 0, bench.err
    assert "[dp0] hello from rank 0\n" in bench.out
    assert "[dp1] hello from rank 1\n" in bench.out
    assert "[dp1] warning from rank 1\n" in bench.err
    assert "warning" not in bench.out
    positions(bench.err, "dp0 started, pid", r"dp[01] is ready, 1 of 2", "all 2 engines are ready after", "got SIGTERM")
    bench.assert_nothing_left()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_reach_every_engine_once(bench: Bench, external: str, number: signal.Signals) -> None:
    process = ready(bench, external)
    process.send_signal(number)
    assert process.wait(PATIENCE) == 0, bench.err
    for rank in (0, 1):
        assert bench.out.count(f"rank {rank} got {number.name}") == 1
    bench.assert_nothing_left()


def test_the_first_failure_stops_the_rest_and_gives_the_status(bench: Bench, external: str) -> None:
    status = bench.run("decode", "--profile", external, *BOTH, STUB="later:37", STUB_RANK="1")
    assert status == 37
    assert "dp1 ended: status 37" in bench.err
    assert "rank 0 got SIGTERM" in bench.out
    bench.assert_nothing_left()


def test_a_rank_that_dies_at_start(bench: Bench, external: str) -> None:
    assert bench.run("decode", "--profile", external, *BOTH, STUB="exit:3", STUB_RANK="0") == 3
    assert "dp0 ended: status 3" in bench.err
    bench.assert_nothing_left()


def test_a_rank_that_is_killed_gives_128_and_its_signal(bench: Bench, external: str) -> None:
    assert bench.run("decode", "--profile", external, *BOTH, STUB="dies", STUB_RANK="1") == 128 + signal.SIGKILL
    assert "dp1 ended: killed by SIGKILL" in bench.err
    bench.assert_nothing_left()


def test_the_status_of_an_engine_that_ends_badly_on_term(bench: Bench, external: str) -> None:
    process = ready(bench, external, STUB="status:5", STUB_RANK="1")
    process.terminate()
    assert process.wait(PATIENCE) == 5, bench.err


def test_kill_follows_when_the_grace_period_is_over(bench: Bench, external: str) -> None:
    process = ready(bench, external, "--grace", "1", STUB="deaf,child", STUB_RANK="1")
    process.terminate()
    assert process.wait(PATIENCE) == 128 + signal.SIGKILL, bench.err
    positions(bench.err, "KILL follows in 1 s", "dp1 did not end: KILL")
    assert "dp0 did not end" not in bench.err
    bench.assert_nothing_left()


def test_the_grace_period_is_respected(bench: Bench, external: str) -> None:
    process = ready(bench, external, STUB="slow,status:0")
    process.terminate()
    assert process.wait(PATIENCE) == 0, bench.err
    assert "did not end" not in bench.err


def test_interrupted_twice_kills_at_once(bench: Bench, external: str) -> None:
    process = ready(bench, external, "--grace", "600", STUB="deaf,child")
    process.send_signal(signal.SIGINT)
    wait_for(lambda: "rank 0 got SIGINT" in bench.out and "rank 1 got SIGINT" in bench.out, "the first INT")
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 128 + signal.SIGKILL, bench.err
    assert "SIGINT again: killing" in bench.err
    bench.assert_nothing_left()


def test_term_after_an_interrupt_is_passed_on(bench: Bench, external: str) -> None:
    process = ready(bench, external, "--grace", "600", STUB="deaf")
    process.send_signal(signal.SIGINT)
    wait_for(lambda: "rank 1 got SIGINT" in bench.out, "INT")
    process.terminate()
    wait_for(lambda: "rank 0 got SIGTERM" in bench.out and "rank 1 got SIGTERM" in bench.out, "TERM")
    process.send_signal(signal.SIGINT)
    process.wait(PATIENCE)
    bench.assert_nothing_left()


def test_a_killed_front_leaves_nothing(bench: Bench, external: str) -> None:
    process = ready(bench, external, "--grace", "1", STUB="deaf,child")
    process.kill()
    process.wait()
    bench.assert_nothing_left(15)
    assert "the process that started us was killed" in bench.err


def test_a_killed_keeper_leaves_nothing(bench: Bench, external: str) -> None:
    process = ready(bench, external, STUB="deaf,child")
    bench.keeper(process).kill()
    assert process.wait(PATIENCE) == 128 + signal.SIGKILL, bench.err
    bench.assert_nothing_left()


def test_both_killed_at_once_still_ends_the_engines(bench: Bench, external: str) -> None:
    process = ready(bench, external)
    keeper = bench.keeper(process)
    os.kill(process.pid, signal.SIGSTOP)  # so that the first does not see the second one's end
    keeper.kill()
    process.kill()
    process.wait()
    bench.assert_nothing_left()


def test_what_an_engine_left_behind_is_ended(bench: Bench, external: str) -> None:
    status = bench.run("decode", "--profile", external, *BOTH, "--grace", "20", STUB="orphan")
    assert status == 0
    assert "left behind" in bench.err
    bench.assert_nothing_left()


def test_shared_memory_of_a_killed_engine_is_removed(bench: Bench, external: str) -> None:
    process = ready(bench, external, "--grace", "0", STUB="deaf,shm", STUB_RANK="0")
    segment = Path("/dev/shm") / (bench.log / "segment").read_text().lstrip("/")
    assert segment.exists()
    process.terminate()
    process.wait(PATIENCE)
    wait_for(lambda: not segment.exists(), "the segment is unlinked", 3)
    bench.assert_nothing_left()


def test_one_engine_that_ends_well_takes_the_others_along(bench: Bench, external: str) -> None:
    status = bench.run("decode", "--profile", external, *BOTH, "--grace", "1", STUB="later:0", STUB_RANK="0")
    assert status == 1
    positions(bench.err, "dp0 ended: status 0", "have 1 s to end as well", "they did not end: SIGTERM to dp1")
    bench.assert_nothing_left()


def test_engines_that_all_end_well(bench: Bench, external: str) -> None:
    assert bench.run("decode", "--profile", external, *BOTH, STUB="later:0") == 0
    bench.assert_nothing_left()


def test_a_full_disk_for_the_output_does_not_stop_an_engine(bench: Bench, external: str) -> None:
    with Path("/dev/full").open("wb", buffering=0) as full:
        process = bench.start("decode", "--profile", external, *BOTH, stdout=full, STUB="loud", STUB_RANK="0")
        bench.until_ready(2)
        engine = psutil.Process(bench.given(0)["pid"])
        before = engine.io_counters().write_chars
        wait_for(lambda: engine.io_counters().write_chars > before + 200_000, "the loud engine goes on")
        assert process.poll() is None
        process.terminate()
        assert process.wait(PATIENCE) == 0, bench.err
    bench.assert_nothing_left()


def test_lines_lost_to_a_full_disk_are_counted(bench: Bench, external: str) -> None:
    """A limit on the file's size stands for the disk: it fails the same way, and can be lifted."""
    process = ready(bench, external)
    keeper, engine = bench.keeper(process), bench.given(0)["pid"]
    wait_for(lambda: "hello from rank 0" in bench.out, "the first line")
    full = (bench.folder / "out").stat().st_size
    keeper.rlimit(psutil.RLIMIT_FSIZE, (full, psutil.RLIM_INFINITY))
    written = psutil.Process(engine).io_counters().write_chars
    for more in (5, 10):
        os.kill(engine, signal.SIGUSR1)
        wait_for(lambda more=more: psutil.Process(engine).io_counters().write_chars >= written + more, "a line")
    time.sleep(0.5)
    assert (bench.folder / "out").stat().st_size == full
    keeper.rlimit(psutil.RLIMIT_FSIZE, (psutil.RLIM_INFINITY, psutil.RLIM_INFINITY))
    os.kill(engine, signal.SIGUSR1)
    wait_for(lambda: "[dp0] ping" in bench.out, "the line after")
    assert "pd-launch: 2 lines of output were lost here: File too large\n[dp0] ping\n" in bench.out
    process.terminate()
    assert process.wait(PATIENCE) == 0, bench.err


def test_a_reader_that_goes_away_does_not_stop_the_engines(bench: Bench, external: str) -> None:
    reader, writer = os.pipe()
    process = bench.start("decode", "--profile", external, *BOTH, stdout=writer, STUB="loud", STUB_RANK="1")
    os.close(writer)
    bench.until_ready(2)
    os.close(reader)
    time.sleep(0.3)
    assert process.poll() is None
    process.terminate()
    assert process.wait(PATIENCE) == 0, bench.err
    bench.assert_nothing_left()


def test_a_reader_that_does_not_read_does_not_delay_the_end(bench: Bench, external: str) -> None:
    reader, writer = os.pipe()
    process = bench.start("decode", "--profile", external, *BOTH, stdout=writer, STUB="loud,status:0")
    os.close(writer)
    bench.given(0), bench.given(1)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    wait_for(lambda: "got SIGINT" in bench.err, "the first INT")
    process.send_signal(signal.SIGINT)
    process.wait(6)
    os.close(reader)
    bench.assert_nothing_left()


def test_progress_bars_and_endless_lines_are_cut(bench: Bench, external: str) -> None:
    assert bench.run("decode", "--profile", external, *BOTH, STUB="bar") == 0
    lines = bench.err.splitlines()
    for rank in (0, 1):
        assert f"[dp{rank}] 10%" in lines
        assert f"[dp{rank}] 20%" in lines
        assert f"[dp{rank}] no newline" in lines
        pieces = [line for line in lines if line.startswith(f"[dp{rank}] xx")]
        assert sum(line.count("x") for line in pieces) == 200_000
        assert max(map(len, pieces)) < 200_000


def test_a_program_that_cannot_be_executed(bench: Bench, external: str) -> None:
    (bench.folder / "bin/vllm").write_text("#!/nowhere/at/all\n")
    assert bench.run("decode", "--profile", external, *BOTH) == 126
    assert "cannot be executed" in bench.err
    assert "Traceback" not in bench.err


def test_nohup_keeps_its_meaning(bench: Bench, external: str) -> None:
    command = ["nohup", *bench.command("decode", "--profile", external, *BOTH)]
    with (bench.folder / "out").open("wb") as out, (bench.folder / "err").open("wb") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err, env=bench.environment())
    bench.running.append(process)
    bench.until_ready(2)
    process.send_signal(signal.SIGHUP)
    time.sleep(0.3)
    assert process.poll() is None
    process.terminate()
    assert process.wait(PATIENCE) == 0, bench.err


def test_the_terminals_interrupt_reaches_the_engines_once(bench: Bench, external: str) -> None:
    """Ctrl-C goes to the whole foreground group; the engines are in groups of their own."""
    command = bench.command("decode", "--profile", external, *BOTH)
    with (bench.folder / "out").open("wb") as out, (bench.folder / "err").open("wb") as err:
        process = subprocess.Popen(
            command, stdout=out, stderr=err, env=bench.environment(STUB="slow,status:0"), start_new_session=True
        )
    bench.running.append(process)
    bench.until_ready(2)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(PATIENCE) == 0, bench.err
    assert bench.out.count("rank 0 got SIGINT") == 1
    assert "killing" not in bench.err
    bench.assert_nothing_left()


@pytest.mark.parametrize("started", [True, False])
def test_the_end_waits_for_messages_whether_their_thread_has_ended_or_never_began(started: bool) -> None:
    """One that had ended between two looks at it was started again, and a supervisor that had done all gave 70."""
    said: list[bytes] = []
    keeper = object.__new__(Keeper)
    keeper._out, keeper._err = Sink(said.append), Sink(said.append)
    keeper._pumps, keeper._files = [], []
    keeper._say("the last message")
    if started:
        keeper._err.close()
        keeper._err.start()
        keeper._err.join()
    keeper._finish_output()
    assert said == [b"pd-launch: the last message\n"]
