"""Scripts that a command runs, sends or writes: ``bash -c``, ``ssh``, ``trap``, what a shell is given to read."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pd_launch.launcher.sources.engine.fillers import FILLS, runs_lines, unfilled
from pd_launch.launcher.sources.engine.wrapped import SHELLS, STARTS, TALKS, hands_on, unwrap
from pd_launch.launcher.sources.engine.written_files import (
    entries_of,
    installs_programs,
    is_run_by_system,
    is_table,
    written_by,
)
from pd_launch.launcher.sources.shell.model import Command
from pd_launch.launcher.sources.text.weave import concat
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.values import HOLE, Text

_RUNS = lazy_pattern(r"-\w{0,20}c\w{0,20}")
_WITH_VALUE = lazy_pattern(r"[-+]\w{0,20}[oO]\w{0,20}|--(?:rc|init-)file")
"""Options of a shell that take the next word: ``-euo pipefail``."""
_BARE_SHELL = lazy_pattern(r"(?:sudo )?(?:/\S+/)?(?:ba|z|da|k)?sh(?: -[sleux]+)*")
_TAKES_SCRIPTS = frozenset(
    {"socat", "git"}
    | {"tmux", "screen", "parallel", "su", "runuser", "script", "flock", "watch", "pm2", "concurrently"}
    | {"ssh", "sshpass", "pdsh", "clush", "pssh", "parallel-ssh", "dsh", "rsh", "sbatch", "salloc", "ansible", "gcloud"}
)
"""Programs that give a word to a shell."""
_READS = frozenset(
    {"at", "batch", "ssh", "sshpass", "pdsh", "rsh", "sbatch", "qsub", "bsub", "su", "runuser", "doas", "newgrp", "sg"}
    | {"chroot", "nsenter", "unshare", "machinectl", "pkexec", "gosu", "su-exec", "fakeroot", "script"}
)
"""Programs that run what they read from standard input, as a shell does."""
_JOINS = frozenset({"ssh", "pdsh", "clush", "pssh", "parallel-ssh", "dsh", "rsh"})
"""Programs that join their words with blanks, for a shell over there to read as one line."""
_STARTED_WITH = lazy_pattern(r"\s--?[A-Za-z]")
_SHEBANG = lazy_pattern(r"#!.{0,80}\b(?:ba|z|da|k)?sh\b")
_RECIPES = lazy_pattern(r"(?:.{0,400}/)?(?:(?:GNU)?[Mm]akefile|[Jj]ustfile|.{1,200}\.mk)")
"""Files whose lines a shell runs."""
_PYTHON = lazy_pattern(r"python(?:3(?:\.\d+)?)?")
_TYPED_END = lazy_pattern(r"(?:\\[nr]|\^M)\Z")
"""The key that ends a line which ``screen -X stuff`` types."""
INTERPRETERS = lazy_pattern(r"(?:[gm]?awk|perl|ruby|node|lua|expect|php|Rscript|tclsh|python(?:3(?:\.\d+)?)?)")
"""Programs whose words are programs, not commands."""
_OPTION = lazy_pattern(r"[\w-]{1,40}=(?:[\w.-]{1,80}=)?|(?:EXEC|SYSTEM|SHELL):(?=[^,]{1,4000}\Z)")
"""What may be before a command in a word; an address of socat goes on with options after a comma."""


_READ_FIRST = ("BASH_ENV", "ENV")
"""Variables that name a file which a shell reads before anything else."""


def joined(words: Sequence[Text], between: str = " ") -> Text:
    """Return the words as one text, with a blank, or whatever ``between`` is, between each two."""
    first = words[0]
    parts = [first]
    for word in words[1:]:
        parts += [word.stand_in(between), word]
    return concat(parts, first.source, first.spots[0])


def scripts_of(words: Sequence[Text]) -> list[Text]:
    """Return the script texts that ``bash -c '…'``, ``eval "…"``, ``trap '…' EXIT`` and their like run."""
    rest, _ = unwrap(words)
    if len(rest) > 1 and rest[0].value == "eval":
        return [joined(rest[1:])]
    if len(rest) > 2 and rest[0].value == "trap":
        operands = [word for word in rest[1:] if word.value != "--"]
        return operands[:1]
    if not rest or program_of(rest) not in SHELLS:
        return []
    at, runs = _behind_options(rest)
    return rest[at : at + 1] if runs else []


def parameters_of(words: Sequence[Text]) -> dict[int, Text]:
    """Return the positional parameters of ``bash -c SCRIPT NAME ARGUMENT…``; none where any number of words is one."""
    rest, _ = unwrap(words)
    if program_of(rest) not in SHELLS:
        return {}
    at, runs = _behind_options(rest)
    given = rest[at + 1 :] if runs else []
    return dict(enumerate(given)) if HOLE * 2 not in [word.value for word in given] else {}


def shell_operands(words: Sequence[Text]) -> list[Text]:
    """Return the script file that a shell runs, and its arguments; nothing after ``-c``."""
    at, runs = _behind_options(words)
    return [] if runs else list(words[at:])


def _behind_options(words: Sequence[Text]) -> tuple[int, bool]:
    """Return where the options of a shell end, and whether it takes a script as a word."""
    at, runs = 1, False
    while at < len(words) and words[at].value.startswith(("-", "+")):
        option = words[at].value
        at += 2 if _WITH_VALUE.fullmatch(option) else 1
        runs = runs or _RUNS.fullmatch(option) is not None
    return at, runs


def program_of(words: Sequence[Text]) -> str:
    """Return the name of the program that words start, without its folder."""
    return words[0].value.rpartition("/")[2] if words else ""


def is_remote(values: Sequence[str]) -> bool:
    """Whether a command runs what follows it on another machine."""
    return values[:1] == ["ssh"] or values[:2] == ["kubectl", "exec"]


def scripts_inside(command: Command, run: Collection[str] = ()) -> list[Text]:
    """Return the scripts that a command runs or writes; ``run`` are files that others run as scripts."""
    words, _ = unwrap(command.words)
    values = [word.value for word in words]
    texts = scripts_of(words)
    name = program_of(words)
    for index, value in enumerate(values[1:] if name not in TALKS and not texts else ()):
        if value.rpartition("/")[2] in SHELLS:
            found = scripts_of(words[index + 1 :])
            if name in _JOINS and any(text.value[:1] in ("'", '"') for text in found):
                found = [joined(words[index + 1 :])]  # ssh HOST bash -c "'…'": the shell over there takes these quotes
            texts += [unfilled(text) if name in FILLS else text for text in found]
    if not texts and (name not in TALKS or hands_on(words)) and name not in SHELLS:
        texts = _strings(words, name)
    if values[:1] == ["ssh"] and not texts and len(words) > 2 and " " in values[-1]:
        texts.append(words[-1])
    if values[:1] == ["ssh"] and command.body is not None and _BARE_SHELL.fullmatch(values[-1]):
        texts = []  # ssh HOST 'bash -s': the shell over there reads the here-document
    written = command.body if command.body is not None else command.prints
    if command.body is not None and runs_lines(words):
        return [command.body]
    if command.body is not None and reads_scripts(words) and not texts:
        texts.append(command.body)
    elif written is not None and _is_table(words, target_of(command)):
        texts += entries_of(written)
    elif written is not None and _is_script(target_of(command), written, run):
        texts.append(written)
    return texts


def _is_table(words: Sequence[Text], file: str) -> bool:
    """Whether what a command is given becomes a table of cron."""
    return (program_of(words) == "crontab" and not file) or is_table(file)


def _is_script(file: str, text: Text, run: Collection[str]) -> bool:
    """Whether a file that a command writes is a script: by its name, by what others do with it, by its first line."""
    if not file or file.endswith(".py"):
        return False
    if file.endswith((".sh", ".bash")) or file in run or is_run_by_system(file):
        return True
    return _RECIPES.fullmatch(file) is not None or _SHEBANG.match(text.value) is not None


def files_run(commands: Sequence[Command]) -> set[str]:
    """Return the files that commands run, or let be run: ``./a``, ``chmod +x a``, ``srun --multi-prog a``."""
    files: set[str] = set()
    for command in commands:
        files.update(command.env[name][0].value for name in _READ_FIRST if name in command.env)
        table = any(word.value == "--multi-prog" for word in command.words)  # of srun: lines such as "0-3 COMMAND"
        words = command.words if table else unwrap(command.words)[0]
        values = [word.value for word in words]
        runs = table or program_of(words) in (*SHELLS, "source", ".", "chmod")
        if runs or (program_of(words) == "install" and installs_programs(values)):
            files.update(value for value in values[1:] if not value.startswith(("-", "+")))
        elif values and "/" in values[0]:
            files.add(values[0])
    return files | {file.removeprefix("./") for file in files}


def runs_python(command: Command) -> bool:
    """Whether a command's here-document is a Python program that it runs or writes."""
    words, _ = unwrap(command.words)
    if target_of(command).endswith(".py"):
        return True
    return _PYTHON.fullmatch(program_of(words)) is not None and all(word.value.startswith("-") for word in words[1:])


def _strings(words: Sequence[Text], name: str) -> list[Text]:
    """Return the words that are commands: of a program known to run such, or with options of an engine."""
    found = []
    for word in words[1:] if not INTERPRETERS.fullmatch(name) else ():
        word = unfilled(word) if name in FILLS else word
        option = _OPTION.match(word.value)
        text = word.part(option.end(), len(word.value)) if option else word
        start = STARTS.search(text.value) if " " in text.value else None
        if start and (name in _TAKES_SCRIPTS or _STARTED_WITH.search(text.value, start.end())):
            end = _TYPED_END.search(text.value) if name in ("screen", "tmux") else None
            found.append(text.part(0, end.start()) if end else text)
    return found


def reads_scripts(words: Sequence[Text]) -> bool:
    """Whether a command runs what it reads: a shell without a script of its own, here or after another program."""
    name = program_of(words)
    if not words or name in SHELLS or name in _READS:  # of wrappers alone, ``sudo -i``, a shell is left
        return True
    values = [word.value for word in words]
    if name in ("source", ".") and values[1:2]:
        return True
    behind = next((at for at, value in enumerate(values) if at and value.rpartition("/")[2] in SHELLS), None)
    return name not in TALKS and behind is not None and all(v.startswith("-") for v in values[behind + 1 :])


def target_of(command: Command) -> str:
    """Return the file that a command writes, by a redirection or as ``tee``; empty if none."""
    return written_by(unwrap(command.words)[0], command.target)
