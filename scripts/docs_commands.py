"""The commands as a page and as a man page, read from the command line's own definition."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass

import click

from pd_launch import __version__
from pd_launch.launcher.cli import cli


@dataclass(frozen=True)
class Page:
    """What one command says of itself. ``options`` are pairs of how it is written and what it does."""

    name: str
    usage: str
    text: list[str]
    examples: list[str]
    options: list[tuple[str, str]]


def pages() -> Iterator[Page]:
    """Yield every command below pd-launch, groups before what is below them."""
    yield from _pages(cli, "pd-launch")


def _pages(command: click.Command, name: str) -> Iterator[Page]:
    yield _page(command, name)
    if isinstance(command, click.Group):
        for below, child in command.commands.items():
            yield from _pages(child, f"{name} {below}")


def _page(command: click.Command, name: str) -> Page:
    text, examples = _split(inspect.cleandoc(command.help or ""))
    options = [p for p in command.params if isinstance(p, click.Option)]
    words = [p.metavar or (p.name or "").upper() for p in command.params if isinstance(p, click.Argument)]
    usage = [name, "[OPTIONS]", "COMMAND …" if isinstance(command, click.Group) else "", *words]
    return Page(
        name,
        " ".join(word for word in usage if word),
        text,
        examples,
        [(_written(option), _does(option)) for option in options],
    )


def _split(text: str) -> tuple[list[str], list[str]]:
    """Split a help text into its paragraphs and its examples."""
    paragraphs, examples = [], []
    for part in text.split("\n\n"):
        if part.startswith("\b\n"):
            examples += [line.strip() for line in part.split("\n")[2:]]
        else:
            paragraphs.append(" ".join(part.split()))
    return paragraphs, examples


def _written(option: click.Option) -> str:
    names = ", ".join(option.opts)
    if option.secondary_opts:
        return f"{names} / {', '.join(option.secondary_opts)}"
    if option.is_flag or option.count:
        return names
    return f"{names} {_value(option)}"


def _value(option: click.Option) -> str:
    if option.metavar:
        return option.metavar
    if isinstance(option.type, click.Choice):
        return "|".join(map(str, option.type.choices))
    return "N" if option.type.name.startswith("integer") else option.type.name.upper()


def _does(option: click.Option) -> str:
    notes = []
    if option.required:
        notes.append("required")
    if option.show_default and isinstance(option.default, str | int | float) and not option.is_flag:
        notes.append(f"default: {option.default}")
    if option.multiple:
        notes.append("may be repeated")
    return " ".join(filter(None, [option.help or "", f"({'; '.join(notes)})" if notes else ""]))


HEAD = """# Commands

Generated from the program by `scripts/build_docs.py`; `pd-launch COMMAND --help` shows the same, as does the man page
(`make man`, then `man -l docs/man/pd-launch.1`). `pd-launch completion bash` prints completion for bash, zsh or fish.
"""
VARIABLES = """
## Variables

Every option has a variable: `PD_LAUNCH_`, the command, the option's long form, in capitals with underscores, such as
`PD_LAUNCH_CHECK_FAIL_ON=warning`, `PD_LAUNCH_DECODE_PROFILE=my.yaml` or `PD_LAUNCH_FACTS_DIFF_FORMAT=json`. The command
line wins. A flag's variable is 1 or 0; that of an option that may be repeated holds words separated by blanks. Others:

| Variable | is for |
|---|---|
"""
OTHERS = {
    "PD_LAUNCH_LANG": "language of all messages, `en` or `zh`, before that of the locale",
    "PD_LAUNCH_CACHE": "folder for engines' environments, small models and the demo's logs (`~/.cache/pd-launch`)",
    "NO_COLOR": "no colours, whatever its value",
}
STATUS = [
    ("0", "nothing at or above --fail-on; it fits; the offload is active and healthy, or idle"),
    ("1", "findings, or something was lost on the way"),
    ("2", "a file or an option that cannot be used"),
    ("78", "a launch that was refused"),
    ("130", "interrupted"),
]


def commands_page() -> str:
    """Return docs/reference/commands.md."""
    parts = [HEAD]
    for page in pages():
        parts.append(f"\n## {page.name}\n\n```text\n{page.usage}\n```\n\n" + "\n\n".join(page.text) + "\n")
        if page.examples:
            parts.append("\n```text\n" + "\n".join(page.examples) + "\n```\n")
        if page.options:
            parts.append("\n| Option | |\n|---|---|\n")
            parts += [
                f"| `{written}` | {_cell(does)} |\n".replace("|`", "| `") for written, does in _cells(page.options)
            ]
    parts.append("\n## Exit status\n\n| | |\n|---|---|\n")
    parts += [f"| {status} | {meaning} |\n" for status, meaning in STATUS]
    parts.append("\nA launched engine's status is its own. See [contracts](../contracts.md).\n")
    parts.append(VARIABLES)
    parts += [f"| `{name}` | {what} |\n" for name, what in OTHERS.items()]
    return "".join(parts)


def _cells(options: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(written.replace("|", "\\|"), does) for written, does in options]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def man_page() -> str:
    """Return docs/man/pd-launch.1."""
    lines = [
        f'.TH PD\\-LAUNCH 1 "" "pd\\-launch {__version__}" "User Commands"',
        ".SH NAME",
        "pd\\-launch \\- check, render and launch the vLLM engines of a prefill/decode deployment",
        ".SH SYNOPSIS",
    ]
    found = list(pages())
    for page in found[1:]:
        lines += [".B " + _roff(page.name), _roff(page.usage.removeprefix(page.name).strip()), ".br"]
    lines += [".SH DESCRIPTION", *map(_roff, found[0].text), ".SH COMMANDS"]
    for page in found[1:]:
        lines += [f".SS {_roff(page.name)}", *[f".P\n{_roff(paragraph)}" for paragraph in page.text]]
        for written, does in page.options:
            lines += [".TP", f".B {_roff(written)}", _roff(does)]
    lines += [".SH EXIT STATUS"]
    for status, meaning in STATUS:
        lines += [".TP", f".B {status}", _roff(meaning)]
    lines += [
        ".SH ENVIRONMENT",
        _roff("Every option has a variable, such as PD_LAUNCH_CHECK_TARGET for check --target."),
    ]
    for name, what in OTHERS.items():
        lines += [".TP", f".B {_roff(name)}", _roff(what.replace("`", ""))]
    lines += [".SH EXAMPLES", ".nf"]
    lines += [_roff(example) for page in found for example in page.examples]
    lines += [".fi"]
    return "\n".join(lines) + "\n"


def _roff(text: str) -> str:
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
