"""Scripts typed key by key, and edited at random: no check fails, each is bounded, and other lines keep their peace."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random

import pytest

from pd_launch.launcher.check.run import run_checks
from pd_launch.launcher.lsp.examine import Examiner
from pd_launch.launcher.lsp.hold import compared, held, is_torn
from pd_launch.launcher.lsp.model import Answer, Job, Settings
from pd_launch.launcher.sources.read import read_texts
from tests.sampling import SEED, sample, size

RULES = Path(__file__).resolve().parents[1] / "rules"
SCRIPTS = sorted(Random(22).sample(sorted(RULES.glob("PD*/*.sh")), 50))
PIECES = [
    "'",
    '"',
    "\\",
    "\n",
    "$(",
    "`",
    "{",
    "}",
    "<<EOF\n",
    "EOF\n",
    "#",
    "汉",
    "🚀",
    "\t",
    "|",
    "if true; then\n",
    "--x ",
]
MOST_SECONDS = 5.0
"""Processor time of one check: fifty times of what it takes, so that only what grows without bound fails."""


class Typist:
    """Checks what is typed as the server does, without a connection."""

    def __init__(self, folder: Path, name: str = "decode.sh") -> None:
        self.path = str(folder / name)
        self.folder = str(folder)
        self.examiner = Examiner(Settings())
        self.whole: tuple[str, Answer] | None = None

    def look(self, text: str, kind: str = "look") -> Answer:
        began = time.process_time()
        job = Job(kind, self.path, self.folder, {self.path: text})  # type: ignore[arg-type]
        answer = self.examiner.do(job)
        assert time.process_time() - began < MOST_SECONDS
        lines = text.count("\n") + text.count("\r") + 1
        assert all(0 <= shown.span.start.line < lines and shown.span.start <= shown.span.end for shown in answer.shown)
        return answer

    def type(self, text: str) -> None:
        answer = self.look(text)
        if self.whole is None:
            self.whole = (text, answer)
            return
        lines = compared(self.whole[0], text)
        if not is_torn(self.whole[1], answer, self.path, lines):
            self.whole = (text, answer)
            return
        known = {(shown.code, shown.message) for shown in self.whole[1].shown}
        for shown in held(self.whole[1], answer, self.path, lines):
            if shown.path == self.path and shown.span.start.line not in lines.changed:
                assert (shown.code, shown.message) in known


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the worker changes it: it is put back


@pytest.mark.parametrize("script", sample(SCRIPTS, 0.06, "typed"), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_typed_from_the_first_key_on(script: Path, tmp_path: Path) -> None:
    text = script.read_text("utf-8")
    typist = Typist(tmp_path)
    step = 1 if size(0, 1) else max(1, len(text) // 40)
    for end in [*range(0, len(text), step), len(text)]:
        typist.type(text[:end])
    assert typist.whole is not None and typist.whole[0] == text


@pytest.mark.parametrize("script", sample(SCRIPTS, 0.06, "edited"), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_edited_at_random(script: Path, tmp_path: Path) -> None:
    random = Random(f"{SEED} {script.name}")
    text = script.read_text("utf-8")
    typist = Typist(tmp_path)
    for number in range(size(25, 200)):
        start = random.randrange(len(text) + 1)
        end = min(len(text), start + random.choice([0, 0, 0, 1, 5]))
        text = text[:start] + random.choice(PIECES) + text[end:]
        typist.type(text)
        if number % 10 == 0:
            typist.look(text, "fixes")
            typist.look(text, "fix-all")


@pytest.mark.parametrize("script", sample(SCRIPTS, 0.12, "same"), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_script_has_the_findings_of_check(script: Path, tmp_path: Path) -> None:
    text = script.read_text("utf-8")
    shown = Typist(tmp_path).look(text).shown
    found = run_checks(read_texts({"decode.sh": text})).findings
    assert sorted((one.code, one.span.start.line) for one in shown) == sorted((f.code, f.line - 1) for f in found)
