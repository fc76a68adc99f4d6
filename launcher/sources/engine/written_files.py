"""Files that a script writes: by which command, and which of them the system runs by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.values import Text

_INPUT = ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "-")
_RUN_BY_SYSTEM = lazy_pattern(
    r"(?:.*/)?(?:rc\.local|(?:rc\d?|init|profile|cron\.(?:hourly|daily|weekly|monthly))\.?d?/[\w.-]{1,200}"
    r"|etc/(?:profile|bash\.bashrc|bashrc|zshrc)|\.(?:bash|zsh)(?:rc|_profile|_login|_logout)|\.(?:profile|zprofile|zshenv|xprofile))"
)
"""Files of shell commands that run when a machine starts, when somebody logs in, or once a day."""
_TABLE = lazy_pattern(r"(?:.*/)?(?:crontabs?|cron\.d/[\w.-]{1,200}|(?:cron|crontabs)/[\w.-]{1,200})")
_ENTRY = lazy_pattern(
    r"[ \t]{0,40}(?:@[a-z]{1,20}|(?:[\d*/,A-Za-z-]{1,80}[ \t]{1,40}){4}[\d*/,A-Za-z-]{1,80})[ \t]{1,40}(?=\S)"
)
_MODE = lazy_pattern(r"-[a-zA-Z]{0,9}m(?P<glued>\d{3,4})?|--mode")
_PUTS = lazy_pattern(r"(?:/.{0,200}/[ \t]{0,9}|\d{0,9}|\$)?[ \t]{0,9}[iac](?:\\|[ \t])")
_RUN_OR_SCRIPT = lazy_pattern(r".{1,400}\.(?:sh|bash)")


def written_by(words: Sequence[Text], redirected: str) -> str:
    """Return the file that a command writes of what it is given: by a redirection, or as ``tee`` and its like."""
    name = words[0].value.rpartition("/")[2] if words else ""
    values = [word.value for word in words[1:]]
    operands = [value for value in values if not value.startswith("-") or value == "-"]
    if name in ("tee", "sponge"):
        return next((value for value in operands if value != "-"), redirected)
    if name in ("install", "cp") and len(operands) > 1 and any(value in _INPUT for value in operands[:-1]):
        return operands[-1]
    if name == "dd":
        return next((value[3:] for value in values if value.startswith("of=")), redirected)
    return redirected


def installs_programs(values: Sequence[str]) -> bool:
    """Whether ``install`` makes files that can be run: it does, unless a mode says otherwise."""
    given = [(_MODE.fullmatch(value), behind) for value, behind in zip(values, [*values[1:], ""], strict=True)]
    modes = [match["glued"] or behind for match, behind in given if match is not None]
    modes += [value.partition("=")[2] for value in values if value.startswith("--mode=")]
    return not modes or not modes[-1].isdecimal() or any(int(digit) % 2 for digit in modes[-1])


def is_run_by_system(file: str) -> bool:
    """Whether a file is one of shell commands that the system runs by itself."""
    return _RUN_BY_SYSTEM.fullmatch(file) is not None


def is_table(file: str) -> bool:
    """Whether a file is a table of cron."""
    return _TABLE.fullmatch(file) is not None


def entries_of(table: Text) -> Iterator[Text]:
    """Iterate over the commands of a table of cron, without their times."""
    at = 0
    for line in table.value.splitlines(keepends=True):
        entry = _ENTRY.match(line)
        if entry is not None:
            yield table.part(at + entry.end(), at + len(line.rstrip("\r\n")))
        at += len(line)


def is_edited_script(words: Sequence[Text]) -> bool:
    """Whether ``sed -i`` puts lines into a script, or into a file that the system runs."""
    values = [word.value for word in words]
    if values[:1] != ["sed"] or not any(value.startswith(("-i", "--in-place")) for value in values):
        return False
    file = values[-1]
    runs = is_run_by_system(file) or is_table(file) or _RUN_OR_SCRIPT.fullmatch(file) is not None
    return runs and any(_PUTS.match(value) for value in values[1:-1])
