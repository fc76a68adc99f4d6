"""What the keeper does after the start: health, time limits, new starts, log files, systemd, and odd signals."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from pd_launch.launcher.supervise.output import WAITING, RotatedFile, Sink
from tests.supervise.harness import PATIENCE, Bench, wait_for, zombie

BOTH = ("--no-host", "--grace", "2")


def launch(bench: Bench, profile: str, *words: str, **env: str) -> subprocess.Popen[bytes]:
    return bench.start("decode", "--profile", profile, *BOTH, *words, **env)


@pytest.fixture
def single(external: str) -> str:
    path = Path(external).with_name("single.yaml")
    path.write_text(Path(external).read_text().replace("parallel: {data: 2, launch: external}", "parallel: {data: 1}"))
    return str(path)


def test_an_engine_that_hangs_is_named_with_its_last_line(bench: Bench, external: str) -> None:
    process = launch(bench, external, "--health", "0.2")
    bench.until_ready(2)
    os.kill(bench.given(1)["pid"], signal.SIGSTOP)
    wait_for(lambda: "dp1 does not answer /health, 3 times in turn; its last line: " in bench.err, "it is named")
    assert process.poll() is None, "nobody asked for more"
    os.kill(bench.given(1)["pid"], signal.SIGCONT)
    wait_for(lambda: "dp1 answers again" in bench.err, "it goes on")
    process.terminate()
    assert process.wait(PATIENCE) == 0, bench.err


def test_a_group_that_hangs_is_started_anew(bench: Bench, external: str) -> None:
    process = launch(bench, external, "--health", "0.2", "--restart", "1")
    bench.until_ready(2)
    first = bench.given(0)["pid"]
    os.kill(first, signal.SIGSTOP)
    wait_for(lambda: "starting all engines again in 2 s, 1 of 1" in bench.err, bench.err)
    assert not psutil.pid_exists(first)
    wait_for(lambda: bench.err.count("all 2 engines are ready") == 2, bench.err)
    process.terminate()
    assert process.wait(PATIENCE) == 0, bench.err
    bench.assert_nothing_left()


def test_a_group_that_fails_again_and_again_is_given_up(bench: Bench, external: str) -> None:
    process = launch(bench, external, "--restart", "1", STUB="later:3", STUB_RANK="1")
    assert process.wait(PATIENCE) == 3
    assert bench.err.count("starting all engines again") == 1
    bench.assert_nothing_left()


def test_engines_that_end_in_the_same_moment_are_one_failure(bench: Bench, external: str) -> None:
    process = launch(bench, external, "--restart", "0", STUB="later:3")
    engines = [bench.given(rank) for rank in range(2)]
    keeper = engines[0]["ppid"]
    os.kill(keeper, signal.SIGSTOP)
    try:
        wait_for(lambda: all(zombie(engine["pid"]) for engine in engines), "both have ended, and nobody looked")
    finally:
        os.kill(keeper, signal.SIGCONT)
    assert process.wait(PATIENCE) == 3, bench.err
    assert "supervisor failed" not in bench.err
    bench.assert_nothing_left()


def test_a_signal_between_two_tries_ends_it(bench: Bench, external: str) -> None:
    process = launch(bench, external, "--restart", "5", STUB="exit:3")
    wait_for(lambda: "starting all engines again" in bench.err, "the first try")
    process.terminate()
    assert process.wait(PATIENCE) == 3
    assert bench.err.count("starting all engines again") == 1


def test_engines_that_do_not_get_ready_in_time(bench: Bench, external: str) -> None:
    process = launch(bench, external, "--ready-timeout", "2", STUB="quiet", STUB_RANK="1")
    assert process.wait(PATIENCE) == 1
    assert re.search(r"dp1 not ready after \d+ s; its last line: ", bench.err)
    assert "not all engines got ready in time: SIGTERM" in bench.err
    bench.assert_nothing_left()


@pytest.mark.parametrize("option", ["--log-dir", "--health", "--ready-timeout", "--restart"])
def test_one_engine_is_kept_only_where_something_asks_for_it(bench: Bench, single: str, option: str) -> None:
    value = str(bench.folder / "logs") if option == "--log-dir" else "60"
    process = launch(bench, single, option, value)
    bench.until_ready(1)
    assert bench.given(0)["pid"] != process.pid
    if option == "--log-dir":
        written = bench.folder / "logs" / "dp0.log"
        wait_for(lambda: written.exists() and "hello from rank 0\n" in written.read_text(), "the file")
        assert "[dp0] hello from rank 0\n" in bench.out
    process.terminate()
    assert process.wait(PATIENCE) == 0, bench.err
    bench.assert_nothing_left()
    plain = launch(bench, single, STUB="later:0")
    assert plain.wait(PATIENCE) == 0
    assert bench.given(0)["pid"] == plain.pid


def test_systemd_is_told(bench: Bench, external: str) -> None:
    path = bench.folder / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.bind(str(path))
        channel.settimeout(PATIENCE)
        process = launch(
            bench, external, "--notify", "--health", "0.2", NOTIFY_SOCKET=str(path), WATCHDOG_USEC="600000"
        )
        assert channel.recv(256).startswith(b"READY=1")
        assert {channel.recv(256), channel.recv(256)} == {b"WATCHDOG=1"}
        assert "NOTIFY_SOCKET" not in bench.given(0)["env"], "the engines are not to speak for us"
        os.kill(bench.given(1)["pid"], signal.SIGSTOP)
        wait_for(lambda: "dp1 does not answer" in bench.err, "the hang")
        channel.settimeout(1.0)
        with pytest.raises(TimeoutError):
            for _ in range(50):  # what was sent before
                channel.recv(256)
        process.terminate()
        channel.settimeout(PATIENCE)
        assert channel.recv(256) == b"STOPPING=1"
        process.wait(PATIENCE)


def test_a_reader_that_does_not_read_stalls_no_engine(bench: Bench, external: str) -> None:
    reader, writer = os.pipe()
    process = bench.start("decode", "--profile", external, *BOTH, stdout=writer, STUB="loud")
    os.close(writer)
    bench.until_ready(2)
    engines = [psutil.Process(bench.given(rank)["pid"]) for rank in (0, 1)]
    for _ in range(3):
        goals = [engine.io_counters().write_chars + 2 * WAITING for engine in engines]
        wait_for(
            lambda goals=goals: all(e.io_counters().write_chars > goal for e, goal in zip(engines, goals, strict=True)),
            "both go on",
        )
    got = b""
    end = time.monotonic() + PATIENCE
    while b"lines of output were lost here: nothing reads them fast enough" not in got and time.monotonic() < end:
        got = got[-200:] + os.read(reader, 1 << 16)
    assert b"were lost here" in got
    process.terminate()
    assert process.wait(PATIENCE) == 0, bench.err
    os.close(reader)


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGUSR2])
def test_signals_that_nobody_means_change_nothing(bench: Bench, external: str, number: signal.Signals) -> None:
    process = launch(bench, external)
    bench.until_ready(2)
    process.send_signal(number)
    bench.keeper(process).send_signal(number)
    time.sleep(0.5)
    assert process.poll() is None and len(bench.left()) == 2
    process.terminate()
    assert process.wait(PATIENCE) == 0, bench.err


def test_quit_stops_as_term_does(bench: Bench, external: str) -> None:
    process = launch(bench, external)
    bench.until_ready(2)
    process.send_signal(signal.SIGQUIT)
    assert process.wait(PATIENCE) == 0, bench.err
    assert "got SIGTERM" in bench.err and "rank 1 got SIGTERM" in bench.out
    bench.assert_nothing_left()


def test_an_interrupt_behind_term_kills_at_once(bench: Bench, external: str) -> None:
    process = launch(bench, external, "--grace", "600", STUB="deaf")
    bench.until_ready(2)
    process.terminate()
    wait_for(lambda: "rank 1 got SIGTERM" in bench.out, "TERM")
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 128 + signal.SIGKILL
    bench.assert_nothing_left()


def test_without_any_descriptor(bench: Bench, external: str) -> None:
    """Else a pipe of ours takes the number of standard error, and our own messages are read as signals."""
    words = bench.command("decode", "--profile", external, *BOTH)
    (bench.folder / "err").touch()
    shell = ["bash", "-c", 'exec "$@" 0<&- 1>&- 2>&-', "bash", *words]
    process = subprocess.Popen(shell, env=bench.environment())
    bench.running.append(process)
    bench.given(0), bench.given(1)
    time.sleep(2)
    assert process.poll() is None and len(bench.left()) == 2
    process.terminate()
    assert process.wait(PATIENCE) == 0
    bench.assert_nothing_left()


def test_log_files_rotate(tmp_path: Path) -> None:
    file = RotatedFile(tmp_path / "dp0.log", 100, 3)
    for number in range(40):
        file.write(f"line {number:03}\n".encode())
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["dp0.log", "dp0.log.1", "dp0.log.2"]
    lines = "".join((tmp_path / name).read_text() for name in reversed(names)).splitlines()
    assert lines == [f"line {number:03}" for number in range(40)][-len(lines) :] and len(lines) >= 22
    again = RotatedFile(tmp_path / "dp0.log", 100, 3)
    again.write(b"next\n")
    assert (tmp_path / "dp0.log").read_text().endswith("line 039\nnext\n")


def test_a_sink_keeps_the_order_and_counts_what_it_drops() -> None:
    written: list[bytes] = []
    sink = Sink(written.append)
    line = b"x" * 1024
    for _ in range(WAITING // 1024 + 7):
        sink.line(line)
    sink.line(b"pd-launch: said all the same", ours=True)
    sink.close()
    sink.start()
    sink.join(PATIENCE)
    assert sum(entry == line + b"\n" for entry in written) == WAITING // 1024
    assert written[0].startswith(b"pd-launch: 7 lines of output were lost here: nothing reads")
    assert written[-1] == b"pd-launch: said all the same\n"


def test_an_early_interrupt_shows_no_traceback(bench: Bench) -> None:
    for code, name in (("130", "SIGINT"),):
        text = f"import pd_launch.__main__, os, signal; os.kill(os.getpid(), signal.{name}); input()"
        words = [bench.command()[0], "-c", text]
        run = subprocess.run(words, env=bench.environment(), capture_output=True, text=True, check=False)
        assert (str(run.returncode), run.stdout, run.stderr) == (code, "", "")


def test_term_ends_process_1_from_the_first_moment_on(bench: Bench) -> None:
    """The kernel drops a signal for which process 1 has no handler."""
    text = "import pd_launch.__main__, os, signal, time; os.kill(1, signal.SIGTERM); time.sleep(5); print('still here')"
    words = ["unshare", "--pid", "--fork", "--kill-child", bench.command()[0], "-c", text]
    probe = subprocess.run(["unshare", "--pid", "--fork", "true"], check=False, capture_output=True)
    if probe.returncode:
        pytest.skip("no process namespaces here")
    run = subprocess.run(words, env=bench.environment(), capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (143, "")


@pytest.mark.parametrize("mounted", [True, False])
def test_in_a_namespace_of_its_own_only_its_own_processes_are_ended(bench: Bench, external: str, mounted: bool) -> None:
    """With the /proc of the namespace outside, the numbers there are those of other processes: it is refused."""
    words = ["unshare", "--pid", "--fork", "--kill-child", *(["--mount-proc"] if mounted else [])]
    probe = subprocess.run([*words, "true"], check=False, capture_output=True)
    if probe.returncode:
        pytest.skip("no process namespaces here")
    with (bench.folder / "err").open("wb") as err, (bench.folder / "out").open("wb") as out:
        launch = [*words, *bench.command("decode", "--profile", external)]
        process = subprocess.Popen(launch, env=bench.environment(), stdout=out, stderr=err)
    bench.running.append(process)
    if not mounted:
        assert process.wait(PATIENCE) == 78
        assert "unshare --mount-proc" in bench.err and not bench.pids()
        return
    try:
        bench.until_ready(2)
        psutil.Process(process.pid).children()[0].send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        assert "left behind" not in bench.err and "was killed" not in bench.err
    finally:
        process.kill()  # and with it the namespace
        for path in bench.log.glob("*.pid"):
            path.unlink()  # they are numbers of that namespace, not of ours
