"""Findings, pages and fixes as the protocol writes them. Pure: nothing here knows of a connection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls import uris

from pd_launch.launcher.check.explain import explain_text, find_rule
from pd_launch.launcher.lsp.model import Change, Shown, Span, Spot
from pd_launch.schemas.core.msg import Msg

SOURCE = "pd-launch"
FIX_ALL = "source.fixAll.pd-launch"
_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "info": types.DiagnosticSeverity.Information,
}
_DOCS = Path(__file__).resolve().parents[2] / "docs"
Version = Callable[[str], Any]
"""Returns the version of an open file by its URI; None of another one."""


def diagnostic(shown: Shown, lang: str, pages: str | None) -> Any:
    """Return a finding as a diagnostic, with a link to its rule's page where there is one."""
    page = page_address(shown.code, lang, pages)
    related = [
        types.DiagnosticRelatedInformation(types.Location(uri_of(path), as_range(span)), message)
        for path, span, message in shown.related
    ]
    return types.Diagnostic(
        range=as_range(shown.span),
        message=shown.message,
        severity=_SEVERITIES[shown.severity],
        code=shown.code,
        code_description=types.CodeDescription(href=page) if page else None,
        source=SOURCE,
        related_information=related or None,
    )


def page_address(code: str, lang: str, pages: str | None) -> str | None:
    """Return where a rule's page is: below ``pages``, else in the documentation that this program lies beside."""
    if pages is not None:
        return f"{pages.rstrip('/')}/{code}/"
    page = (_DOCS / "zh" if lang == "zh" else _DOCS) / "rules" / f"{code}.md"
    return page.as_uri() if page.is_file() else None


def hover(shown: Sequence[Shown], spot: Spot, lang: str) -> Any:
    """Return the pages of the rules that have a finding at a place; None where there is none."""
    there = [one for one in shown if covers(one.span, spot)]
    if not there:
        return None
    codes = list(dict.fromkeys(one.code for one in there))
    text = "\n\n---\n\n".join(_page(code, lang) for code in codes)
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), as_range(there[0].span))


def _page(code: str, lang: str) -> str:
    head, _, rest = explain_text(find_rule(code), lang).partition("\n\n")
    return f"**{head}**\n\n{rest}"


def covers(span: Span, spot: Spot) -> bool:
    """Whether a place lies in a part of a text, its end included: a cursor may be right after a word."""
    return span.start <= spot <= span.end


def meets(span: Span, other: Span) -> bool:
    """Whether two parts of a text have a line in common: the cursor need not be on the word."""
    return span.start.line <= other.end.line and other.start.line <= span.end.line


def quick_fixes(
    shown: Sequence[Shown], within: Span, lang: str, pages: str | None, version: Version, versioned: bool
) -> list[Any]:
    """Return an action for each fix of a finding that touches a part of the text."""
    return [
        types.CodeAction(
            title=f"{one.repair.message} ({one.code})",
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[diagnostic(one, lang, pages)],
            is_preferred=True if one.repair.safe else None,
            edit=edit(one.repair.changes, version, versioned),
        )
        for one in shown
        if one.repair is not None and meets(one.span, within)
    ]


def fix_all(changes: Sequence[Change], lang: str, version: Version, versioned: bool) -> Any:
    """Return the action that makes all fixes that are certain."""
    title = Msg("pd-launch: apply all fixes that are certain", "pd-launch：应用所有确定的修复")
    return types.CodeAction(title=title.text(lang), kind=FIX_ALL, edit=edit(changes, version, versioned))


def edit(changes: Sequence[Change], version: Version, versioned: bool) -> Any:
    """Return changes as an edit of the workspace; an editor refuses a versioned one of a text that is older."""
    files: dict[str, list[Any]] = {}
    for change in changes:
        files.setdefault(uri_of(change.path), []).append(types.TextEdit(as_range(change.span), change.text))
    if not versioned:
        return types.WorkspaceEdit(changes=files)
    return types.WorkspaceEdit(
        document_changes=[
            types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(uri, version(uri)), edits)
            for uri, edits in files.items()
        ]
    )


def as_range(span: Span) -> Any:
    """Return a part of a text as the protocol writes it."""
    return types.Range(types.Position(*span.start), types.Position(*span.end))


def uri_of(path: str) -> str:
    """Return the URI of an absolute path."""
    return uris.from_fs_path(path) or Path(path).as_uri()
