"""Twins that keep a script's text, with its comments and lines: in other quotes, or inside something else."""

from __future__ import annotations

import re
from collections.abc import Callable

from fixture import Files, Fixture
from shell_twins import Quote, double, single


def kept(change: Callable[[str], str | None]) -> Callable[[Fixture], Files | None]:
    """Return a form that changes the text of each script of a fixture; None where nothing is changed."""

    def write(fixture: Fixture) -> Files | None:
        files: Files = {}
        for name, text in fixture.files.items():
            changed = change(text) if name.endswith(".sh") else text
            if changed is None:
                return None
            files[name] = changed
        return files if files != fixture.files else None

    return write


def double_json(text: str) -> str:
    return re.sub(r"'(\{[^']*\})'", lambda match: double(match[1]), text)


def crlf(text: str) -> str | None:
    return text.replace("\n", "\r\n") if "\r" not in text else None


def as_crlf(form: Callable[[Fixture], Files | None]) -> Callable[[Fixture], Files | None]:
    def write(fixture: Fixture) -> Files | None:
        files = form(fixture)
        return None if files is None else {name: text.replace("\n", "\r\n") for name, text in files.items()}

    return write


def _no_heredoc(text: str) -> bool:
    return "<<" not in text and not re.search(r"^\S*\(\)", text, re.MULTILINE)


def kept_in(before: str, behind: str) -> Callable[[str], str | None]:
    def change(text: str) -> str | None:
        head = "#!/bin/bash\n" if text.startswith("#!") else ""
        return f"{head}{before}\n{text[len(head) :].rstrip()}\n{behind}\n" if _no_heredoc(text) else None

    return change


def kept_heredoc(quoted: bool) -> Callable[[str], str | None]:
    def change(text: str) -> str | None:
        if not _no_heredoc(text):
            return None
        body = text if quoted else re.sub(r"([\\$`])", r"\\\1", text)
        return f"cat > engine.sh <<{single('EOF') if quoted else 'EOF'}\n{body.rstrip()}\nEOF\nbash engine.sh\n"

    return change


def kept_handed(quote: Quote) -> Callable[[str], str | None]:
    return lambda text: f"bash -c {quote(text.rstrip())}\n" if _no_heredoc(text) else None
