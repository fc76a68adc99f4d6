"""The fenced examples of a document: its commands are run in order, in one shell, and what they print is compared.

- ```` ```console ````: lines behind ``$ `` are commands (``> `` goes on), the lines below what they print. ``…`` stands
  for any text, alone on a line for any lines. A command without output shown may print anything.
- ``<!-- file: NAME -->`` above a block: the block is written to that file before the commands below run.
- ``<!-- not run: REASON -->`` above a block: it is left out, for the reason given.
- ``<!-- fails -->`` above a block: the last command has to end with status 2 or more, or with 78.

Other blocks (``text``, ``json``, none) are pictures of something and are not commands.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

COMMANDS = ("bash", "sh", "console", "shell")
FILES = ("yaml", "toml", "python", "dockerfile")
_BLOCK = re.compile(
    r"^(?:<!-- (?P<mark>file|not run|fails)(?:: (?P<value>[^\n]*?))? -->\n)?```(?P<lang>\w*)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass
class Block:
    """A fenced block with the mark above it."""

    line: int
    language: str
    body: str
    mark: str = ""
    value: str = ""


@dataclass
class Command:
    """A command of a console block, and the lines that it is shown to print."""

    line: int
    text: str
    expected: list[str] = field(default_factory=list)
    fails: bool = False
    printed: str = ""
    status: int = 0

    def fault(self) -> str | None:
        """Return what is not as the document says, or None."""
        if (self.status > 1) != self.fails:
            return f"line {self.line}: {self.text}: status {self.status}\n{self.printed}"
        if self.expected and not matches(self.expected, self.printed):
            shown = "\n".join(self.expected)
            return f"line {self.line}: {self.text} is shown to print\n{shown}\nbut prints\n{self.printed}"
        return None


def blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a document."""
    return [
        Block(text.count("\n", 0, m.start()) + 1, m["lang"], m["body"], m["mark"] or "", m["value"] or "")
        for m in _BLOCK.finditer(text)
    ]


def unmarked(text: str) -> list[Block]:
    """Return blocks that hold commands or files, and are neither run, written nor marked with a reason."""
    return [
        block
        for block in blocks(text)
        if not block.value and (block.language in FILES or (block.language in COMMANDS and block.language != "console"))
    ]


def commands(block: Block) -> list[Command]:
    """Return the commands of a console block."""
    found: list[Command] = []
    for number, line in enumerate(block.body.rstrip("\n").split("\n"), start=block.line + 1):
        if line.startswith("$ "):
            found.append(Command(number, line[2:]))
        elif found and line.startswith("> "):
            found[-1].text += f"\n{line[2:]}"
        elif found:
            found[-1].expected.append(line)
    if block.mark == "fails" and found:
        found[-1].fails = True
    return found


def matches(expected: list[str], printed: str) -> bool:
    """Whether ``printed`` is what ``expected`` shows."""
    pattern = ""
    for line in expected:
        if line.strip() == "…":
            pattern += r"(?:[^\n]*\n)*?"
        else:
            pattern += ".*?".join(re.escape(part.rstrip()) for part in line.rstrip().split("…")) + r"[ ]*\n"
    return re.fullmatch(pattern, printed.rstrip("\n") + "\n") is not None


def run_document(text: str, folder: Path, env: dict[str, str], seconds: float = 600) -> list[Command]:
    """Run a document's commands in ``folder`` and return them with what they printed.

    Raises:
        AssertionError: the shell ended before the last command.
    """
    found: list[Command] = []
    script = ["exec 2>&1 < /dev/null"]
    for block in blocks(text):
        if block.mark == "not run":
            continue
        if block.mark == "file":
            end = "END_OF_FILE"
            script.append(f"cat > {block.value} <<'{end}'\n{block.body}{end}")
        elif block.language == "console":
            for command in commands(block):
                script.append(f"{command.text}\nprintf '\\n\\001%d\\002\\n' $?")
                found.append(command)
    done = subprocess.run(
        ["bash", "--norc", "-c", "\n".join(script)],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        timeout=seconds,
        check=False,
    )
    parts = re.split(r"\n\x01(\d+)\x02\n", done.stdout.decode("utf-8", "replace"))
    assert len(parts) == 2 * len(found) + 1, f"the shell stopped early:\n{parts[-1]}"
    for command, printed, status in zip(found, parts[::2], parts[1::2], strict=False):
        command.printed, command.status = printed, int(status)
    return found


def pd_launch_beside(folder: Path) -> str:
    """Make a program ``pd-launch`` of this Python in ``folder`` and return the folder for PATH."""
    program = folder / "pd-launch"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pd_launch "$@"\n')
    program.chmod(0o755)
    return str(folder)
