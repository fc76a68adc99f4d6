#!/usr/bin/env python3
"""Draw the terminal pictures of docs/img from real output: a finding and a status in both languages, the demo's table.

usage: pictures.py [--demo FILE | --check]

Findings come from ``pd-launch check`` on docs/examples/decode.sh. The demo's table is docs/img/demo.txt, which
``make demo > demo.txt; scripts/pictures.py --demo demo.txt`` replaces. The status is the last look of
docs/img/status.jsonl, which ``pd-launch status --record`` wrote beside such a pair. With --check nothing is written;
status 1 if anything would change.
"""

from __future__ import annotations

import argparse
import html
import json
import pathlib
import re
import subprocess
import sys
import unicodedata

ROOT = pathlib.Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "img"
COLUMNS = 100
CELL, LINE, MARGIN = 8.4, 20, 16
PALETTE = {"32": "#3fb950", "31": "#ff7b72", "33": "#e3b341", "36": "#76e3ea", "2": "#8b949e"}
REPLAY = ["status", "--replay", "../img/status.jsonl"]
CHECK = ["check", "decode.sh", "--target", "vllm-ascend==0.23.0", "--select", "PD301"]


def output_of(arguments: list[str]) -> str:
    """Return what pd-launch prints in colour, run beside the example script."""
    done = subprocess.run(
        [sys.executable, "-m", "pd_launch", *arguments, "--color", "always"],
        cwd=ROOT / "docs" / "examples",
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 1) or not done.stdout:
        raise SystemExit(f"pictures.py: pd-launch {' '.join(arguments)}: {done.stderr}")
    return done.stdout


def width(character: str) -> int:
    """Return the columns that a character takes in a terminal."""
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def styled(line: str) -> list[tuple[str, str]]:
    """Split a line into characters with the style that the escape sequences before them give."""
    cells: list[tuple[str, str]] = []
    style = ""
    for part in re.split(r"(\033\[[\d;]*m)", line):
        if part.startswith("\033["):
            style = part[2:-1].strip("0;") if part != "\033[0m" else ""
        else:
            cells += [(character, style) for character in part]
    return cells


def wrapped(cells: list[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    """Break a line as a terminal of COLUMNS does, at a blank where there is one, going on under its first word."""
    text = "".join(character for character, _ in cells)
    indent = [(" ", "")] * (len(text) - len(text.lstrip()) + 2)
    rows = []
    while sum(width(character) for character, _ in cells) > COLUMNS:
        used, cut = 0, 0
        for index, (character, _) in enumerate(cells):
            used += width(character)
            if used > COLUMNS:
                break
            if character == " " or width(character) == 2:
                cut = index + 1
        rows.append(cells[:cut])
        cells = indent + cells[cut:]
    return [*rows, cells]


def spans(cells: list[tuple[str, str]]) -> str:
    """Return a row as SVG. Each word and each wide character has a place of its own: any font keeps the columns."""
    parts, word, place, column = [], "", 0, 0
    for index, (character, style) in enumerate(cells):
        if not word:
            place = column
        word += "" if character == " " else character
        column += width(character)
        last = index + 1 == len(cells)
        if last or character == " " or style != cells[index + 1][1] or width(character) == 2:
            parts.append(span(word, place, style))
            word = ""
    return "".join(parts)


def span(word: str, column: int, style: str) -> str:
    """Return a word as SVG; nothing for an empty one."""
    if not word:
        return ""
    colours = [PALETTE[code] for code in style.split(";") if code in PALETTE]
    fill = f' fill="{colours[0]}"' if colours else ""
    bold = ' font-weight="bold"' if "1" in style.split(";") else ""
    return f'<tspan x="{MARGIN + column * CELL:.1f}"{fill}{bold}>{html.escape(word)}</tspan>'


def picture(command: str, text: str, title: str) -> str:
    """Return a terminal with ``$ command`` and its output as SVG."""
    rows = [[("$", "2"), (" ", ""), *((character, "1") for character in command)]]
    for line in text.rstrip("\n").split("\n"):
        rows += wrapped(styled(line))
    wide = MARGIN * 2 + COLUMNS * CELL
    high = MARGIN * 2 + LINE * len(rows)
    body = "\n".join(
        f'<text y="{MARGIN + LINE * (number + 0.75):.0f}" xml:space="preserve">{spans(row)}</text>'
        for number, row in enumerate(rows)
        if row
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:.0f}" height="{high:.0f}" '
        f'viewBox="0 0 {wide:.0f} {high:.0f}" role="img">\n<title>{html.escape(title)}</title>\n'
        '<rect width="100%" height="100%" rx="8" fill="#0d1117"/>\n'
        '<g font-family="DejaVu Sans Mono, Menlo, Consolas, Noto Sans Mono CJK SC, monospace" '
        f'font-size="14" fill="#e6edf3">\n{body}\n</g>\n</svg>\n'
    )


def pictures(table: str) -> dict[pathlib.Path, str]:
    """Return every picture's file with its text."""
    command = f"pd-launch {' '.join(CHECK)}"
    look = json.loads((IMAGES / "status.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    asked = f"pd-launch status {' '.join(engine['url'] for engine in look['engines'])}"
    return {
        IMAGES / "status.svg": picture(asked, output_of(REPLAY), "A real pair of engines, by pd-launch status"),
        IMAGES / "status.zh.svg": picture(
            f"{asked} --lang zh", output_of([*REPLAY, "--lang", "zh"]), "pd-launch status 显示的一对真实引擎"
        ),
        IMAGES / "demo.txt": table,
        IMAGES / "demo.svg": picture("make demo", table, "The table that make demo prints"),
        IMAGES / "finding.svg": picture(command, output_of(CHECK), "Findings of pd-launch check"),
        IMAGES / "finding.zh.svg": picture(
            f"{command} --lang zh", output_of([*CHECK, "--lang", "zh"]), "pd-launch check 的输出"
        ),
    }


def main() -> int:
    """Write the pictures that are not as they should be, or name them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--demo", type=pathlib.Path, metavar="FILE", help="what make demo printed")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if anything would change")
    arguments = parser.parse_args()
    table = (arguments.demo or IMAGES / "demo.txt").read_text(encoding="utf-8")
    made = pictures(table)
    stale = [path for path, text in made.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        print(path.relative_to(ROOT))
        if not arguments.check:
            path.write_text(made[path], encoding="utf-8")
    return int(arguments.check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
