"""The parts of the language server without a connection: places, what is held while typing, what is checked when."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pd_launch.launcher.lsp.board import Board
from pd_launch.launcher.lsp.client import Worker, WorkerFailed
from pd_launch.launcher.lsp.desk import Desk
from pd_launch.launcher.lsp.hold import compared, held, is_torn
from pd_launch.launcher.lsp.model import Answer, Job, Settings, Shown, Span, Spot
from pd_launch.launcher.lsp.places import Places
from pd_launch.launcher.lsp.worker import fault

ROOT = Path(__file__).resolve().parents[2]


def shown(code: str, line: int, path: str = "/w/a.sh", grammar: bool = False) -> Shown:
    return Shown(code, "n", "error", code, path, Span(Spot(line, 0), Spot(line, 4)), grammar=grammar)


@pytest.mark.parametrize(
    ("encoding", "column"),
    [("utf-8", 3 * 2 + 4), ("utf-16", 2 + 2), ("utf-32", 3)],
)
def test_columns_are_units_of_the_encoding(encoding: str, column: int) -> None:
    text = "a\r\n汉字🚀x\rlast"
    places = Places(text, encoding)
    assert places.spot(text.index("x")) == (1, column)
    assert places.spot(text.index("last")) == (2, 0)
    assert places.offset(Spot(1, 99)) == text.index("\rlast")
    assert places.offset(Spot(9, 0)) == len(text)


@given(st.text("a汉🚀\r\n\x0c\u2028", max_size=30), st.sampled_from(["utf-8", "utf-16", "utf-32"]))
def test_places_and_offsets_are_each_others_reverse(text: str, encoding: str) -> None:
    places = Places(text, encoding)
    for offset in range(len(text) + 1):
        if text[offset - 1 : offset + 1] != "\r\n" or offset == 0:  # between the two there is no place
            assert places.offset(places.spot(offset)) == offset


def test_lines_are_followed_through_edits() -> None:
    lines = compared("a\nb\nc\nd", "a\nx\ny\nc\nd")
    assert lines.changed == {1, 2}
    assert lines.now == {0: 0, 2: 3, 3: 4}
    assert compared("a\nb", "a\nb").changed == set()
    assert compared("a\nb\nc", "a\nc").changed == {0, 1}  # where the line was taken out


@pytest.mark.parametrize("end", ["\\", ">", "cat <", "|", "&&"])
def test_a_line_that_goes_on_in_another_command_is_torn(end: str) -> None:
    assert compared("a\nvllm serve m", f"a {end}\nvllm serve m").dangling
    assert not compared("a\nvllm serve m", f"a {end}\n --new\nvllm serve m").dangling
    assert not compared(f"vllm serve m {end}\n  --x 1", f"vllm serve m {end}\n --new {end}\n  --x 1").dangling


def test_of_a_torn_text_only_the_edited_lines_are_new() -> None:
    before = Answer([shown("PD004", 0), shown("PD004", 3), shown("PD602", 1, "/w/b.sh")])
    lines = compared("a\nb\nc\nd", "a\n'\nb\nc\nd")
    answer = Answer([shown("PD003", 1, grammar=True), shown("PD007", 4)], open={"/w/a.sh"})
    assert is_torn(before, answer, "/w/a.sh", lines)
    now = [(one.code, one.path, one.span.start.line) for one in held(before, answer, "/w/a.sh", lines)]
    assert now == [("PD004", "/w/a.sh", 0), ("PD003", "/w/a.sh", 1), ("PD004", "/w/a.sh", 4), ("PD602", "/w/b.sh", 1)]


def test_a_text_that_was_open_before_is_not_held() -> None:
    before = Answer([shown("PD003", 3, grammar=True)], open={"/w/a.sh"})
    answer = Answer([shown("PD003", 3, grammar=True), shown("PD004", 0)], open={"/w/a.sh"})
    assert not is_torn(before, answer, "/w/a.sh", compared("a\nb", "x\nb"))


def test_a_finding_of_two_checks_is_shown_once() -> None:
    board = Board()
    assert board.put("/w/a.sh", [shown("PD004", 1, "/w/env.sh")]) == {"/w/env.sh"}
    board.put("/w/b.sh", [shown("PD004", 1, "/w/env.sh"), shown("PD001", 0, "/w/b.sh")])
    assert [one.code for one in board.of("/w/env.sh")] == ["PD004"]
    assert board.put("/w/a.sh", []) == {"/w/env.sh"}
    assert [one.code for one in board.of("/w/env.sh")] == ["PD004"]


class Slow(Worker):
    """A worker that answers when it is told to."""

    def __init__(self, answer: Callable[[Job], Answer]) -> None:
        super().__init__(Settings())
        self.jobs: list[Job] = []
        self.go = asyncio.Event()
        self.answer = answer

    async def ask(self, job: Job) -> Answer:
        self.jobs.append(job)
        await self.go.wait()
        return self.answer(job)


def test_however_many_keys_one_check_waits() -> None:
    async def typed() -> tuple[list[str], dict[str, list[Shown]]]:
        seen: dict[str, list[Shown]] = {}
        worker = Slow(lambda job: Answer([shown("PD004", 0)], members=[job.path], reads={job.path}))
        desk = Desk(worker, lambda path, found: seen.update({path: found}), lambda *_: None, pause=0.01)
        desk.open("/w/a.sh", "0")
        await asyncio.sleep(0.1)
        for key in range(100):
            desk.change("/w/a.sh", f"{key + 1}")
        worker.go.set()
        await desk.settled()
        return [job.texts["/w/a.sh"] for job in worker.jobs], seen

    texts, seen = asyncio.run(typed())
    assert texts == ["0", "100"]
    assert [one.code for one in seen["/w/a.sh"]] == ["PD004"]


def test_a_worker_that_dies_is_started_again(tmp_path: Path) -> None:
    async def asked() -> Answer:
        worker = Worker(Settings())
        job = Job("look", str(tmp_path / "a.sh"), str(tmp_path), {str(tmp_path / "a.sh"): "vllm serve m --x 1\n"})
        await worker.ask(job)
        assert worker._process is not None
        worker._process.kill()
        await worker._process.wait()
        answer = await worker.ask(job)
        waiting = asyncio.ensure_future(worker.ask(job))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        worker.end()
        with pytest.raises(WorkerFailed, match="ended"):
            await waiting
        worker.end()
        await asyncio.sleep(0.2)  # the loop takes note of processes that ended
        return answer

    assert [one.code for one in asyncio.run(asked()).shown] == ["PD004"]


def test_an_internal_fault_says_where_and_nothing_of_the_input() -> None:
    try:
        Places("x").offset(None)  # type: ignore[arg-type]
    except AttributeError as error:
        said = fault(error)
    assert said.startswith("AttributeError at ") and "lsp/places.py:" in said


@pytest.mark.parametrize("missing", ["pygls", "lsprotocol"])
def test_without_pygls_a_message_says_what_to_install(tmp_path: Path, missing: str) -> None:
    code = (
        f"import importlib.util as u, sys; find = u.find_spec\n"
        f"u.find_spec = lambda name, *a: None if name == {missing!r} else find(name, *a)\n"
        f"sys.path.insert(0, {str(ROOT)!r}); sys.argv = ['pd-launch', 'lsp']\n"
        "from pd_launch.__main__ import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.strip() == (
        "Error: the language server needs pygls: pip install 'pd-launch[lsp,scripts]', or pip install 'pygls>=2'"
    )


def test_a_wrong_release_is_refused_at_the_start(tmp_path: Path) -> None:
    pytest.importorskip("pygls", reason="pygls is not installed (the extra lsp has it)")
    command = [sys.executable, "-m", "pd_launch", "lsp", "--target", "nonsense"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    assert done.returncode == 2 and "is not a release" in done.stderr
    assert tmp_path.exists()
