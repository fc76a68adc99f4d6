"""``--fix`` mends what is certain, touches nothing else, and never leaves a file worse or half-written."""

from __future__ import annotations

import json
import os
import stat
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pd_launch.launcher.check.fix import Fixed, fix_inputs
from pd_launch.launcher.check.run import Selection, check
from pd_launch.launcher.cli import cli
from pd_launch.launcher.files import write_atomically
from pd_launch.launcher.sources.read import Inputs, read_texts
from pd_launch.schemas.core.target import parse_target
from pd_launch.schemas.core.values import SourceFile
from pd_launch.schemas.finding import Finding

CASES = Path(__file__).parent.parent / "cases"
ROWS = [
    json.loads(line) for name in ("cases", "good") for line in (CASES / f"{name}.jsonl").read_text("utf-8").splitlines()
]


def fixed(files: dict[str, str], target: str | None, host: dict[str, Any] | None, unsafe: bool) -> Fixed:
    sources = [SourceFile(name, text) for name, text in files.items()]
    wanted = parse_target(target) if target else None
    return fix_inputs(Inputs(sources, target=wanted, host=host), Selection(), unsafe)


def errors(findings: list[Finding]) -> set[tuple[str, str]]:
    return {(f.code, f.file) for f in findings if f.severity == "error"}


def spoken_lines(finding: Finding, file: str) -> set[int]:
    """Return the lines of ``file`` that a finding and its fix speak of."""
    lines = set(range(finding.line, finding.end_line + 1)) if finding.file == file else set()
    lines |= {related.line for related in finding.related if related.file == file}
    for edit in finding.fix.edits if finding.fix else ():
        if edit.file == file:
            lines |= set(range(edit.line, edit.end_line + 1))
    return lines


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_a_round_trip_makes_nothing_worse(row: dict[str, Any]) -> None:
    before = check(read_texts(row["files"], row["target"], row["host"]))
    result = fixed(row["files"], row["target"], row["host"], unsafe=True)
    after = check(read_texts(result.after, row["target"], row["host"]))
    assert errors(after) <= errors(before)
    again = fixed(result.after, row["target"], row["host"], unsafe=True)
    assert again.after == result.after
    if not result.done:
        assert result.after == row["files"]
    for path in result.changed:
        old, new = row["files"][path].split("\n"), result.after[path].split("\n")
        same = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
        kept = {line for block in same for line in range(block.a + 1, block.a + block.size + 1)}
        spoken = set().union(*(spoken_lines(f, path) for f in [*before, *result.done]))
        assert set(range(1, len(old) + 1)) - kept <= spoken


def test_safe_fixes_alone_leave_plausible_ones() -> None:
    text = "vllm serve /models/m --tensor-paralel-size 8\n"
    target = "vllm==0.32.0"
    assert fixed({"a.sh": text}, target, None, unsafe=False).after["a.sh"] == text
    assert fixed({"a.sh": text}, target, None, unsafe=True).after["a.sh"] == text.replace("paralel", "parallel")


def test_comments_quoting_and_layout_stay() -> None:
    text = """#!/bin/bash
# decode   node
vllm serve   /models/m \\
    --additional-config   '{ "enable_cpu_binding" : true , }'   # keep
"""
    after = fixed({"a.sh": text}, "0.25.1rc1", None, unsafe=False).after["a.sh"]
    assert after == text.replace("true , }", "true  }")


@pytest.mark.parametrize(
    "text",
    [
        "#!/bin/bash\r\nvllm serve /models/m --port 8000\r\n",
        "#!/bin/bash\nvllm serve /models/m \\\r\n  --port 8000\r\n# mixed\n",
        "vllm serve /models/m --additional-config '{\"enable_cpu_binding\": true,}'\r\n# end\r\n",
        "#!/bin/bash\r\necho no engine\r\n",
    ],
)
def test_a_script_with_windows_line_ends_is_one_finding_and_one_fix(text: str) -> None:
    found = [f for f in check(read_texts({"a.sh": text}, "vllm==0.32.0")) if "CR LF" in f.message]
    assert [(f.code, f.severity, f.fix is not None and f.fix.safe) for f in found] == [("PD003", "error", True)]
    after = fixed({"a.sh": text}, "0.25.1rc1", None, unsafe=False).after["a.sh"]
    assert after == text.replace("\r\n", "\n").replace("true,}", "true}")


def test_windows_line_ends_of_other_files_stay() -> None:
    text = (
        "services:\n  d:\n    image: vllm/vllm-openai:v0.32.0\n    ipc: host\n    command: [--tensor-paralel-size, '2']"
    )
    text = f"{text}\n".replace("\n", "\r\n")
    after = fixed({"c.yaml": text}, None, None, unsafe=True).after["c.yaml"]
    assert after == text.replace("paralel", "parallel")


def test_a_windows_script_is_read_as_the_same_script() -> None:
    text = "export A=1\r\nvllm serve m --port 8100 \\\r\n  --kv-cache-dtype fp8\r\n"
    nodes = [read_texts({"a.sh": t}, "vllm==0.32.0")[0].nodes[0] for t in (text, text.replace("\r", ""))]
    words = [[(arg.name, arg.value.plain() if arg.value else None, arg.origin) for arg in node.args] for node in nodes]
    assert words[0] == words[1]
    assert [node.variable("A") for node in nodes] == ["1", "1"]


def run(monkeypatch: pytest.MonkeyPatch, *words: str, text: str | None = None) -> Result:
    arguments = ["check", *words]
    monkeypatch.setattr("sys.argv", ["pd-launch", *arguments])
    return CliRunner().invoke(cli, arguments, input=text)


FAULTY = "vllm serve /models/m --additional-config '{\"enable_cpu_binding\": true,}'\n"
MENDED = FAULTY.replace(",}", "}")


def test_fix_writes_the_file_and_keeps_its_mode_and_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, link = tmp_path / "real.sh", tmp_path / "link.sh"
    real.write_text(FAULTY)
    real.chmod(0o750)
    link.symlink_to(real)
    result = run(monkeypatch, str(link), "--fix", "--target", "0.25.1rc1")
    assert result.exit_code == 0
    assert link.is_symlink()
    assert real.read_text() == MENDED
    assert stat.S_IMODE(real.stat().st_mode) == 0o750
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.sh", "real.sh"]


def test_diff_shows_and_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.sh"
    path.write_text(FAULTY)
    result = run(monkeypatch, str(path), "--diff", "--target", "0.25.1rc1")
    assert result.exit_code == 1
    assert f"-{FAULTY}" in result.output
    assert f"+{MENDED}" in result.output
    assert path.read_text() == FAULTY


@pytest.mark.parametrize(
    ("text", "lang", "said"),
    [
        (FAULTY, "en", "would fix 1\n"),
        (f"{FAULTY.rstrip()} --fooo 1\n", "en", "would fix 1; would remain: 1 error\n"),
        ("vllm serve m --fooo 1\n", "en", "would fix 0; would remain: 1 error\n"),
        ("vllm serve m --fooo 1\n", "zh", "会修复 0 处；还剩 1 个错误\n"),
    ],
)
def test_diff_says_what_would_remain(
    text: str, lang: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.sh"
    path.write_text(text)
    result = run(monkeypatch, str(path), "--diff", "--target", "0.25.1rc1", "--lang", lang)
    assert said in result.stderr and result.exit_code == 1


def test_standard_input_is_printed_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    result = run(monkeypatch, "-", "--fix", "--target", "0.25.1rc1", text=FAULTY)
    assert result.stdout == MENDED
    assert result.exit_code == 0


def test_unsafe_fixes_need_fix_or_diff(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.sh"
    path.write_text(FAULTY)
    result = run(monkeypatch, str(path), "--unsafe-fixes")
    assert result.exit_code != 0
    assert "--unsafe-fixes needs --fix" in result.output
    assert path.read_text() == FAULTY


def test_a_file_that_is_not_utf8_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.sh"
    data = b"# \xff\n" + FAULTY.encode()
    path.write_bytes(data)
    result = run(monkeypatch, str(path), "--fix", "--target", "0.25.1rc1")
    assert path.read_bytes() == data
    assert "is not valid UTF-8 and is not fixed" in result.output
    assert result.exit_code == 1


def test_a_failed_write_leaves_the_old_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.sh"
    path.write_text("old")

    def no_room(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_room)
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.sh"]
