"""The protocol: what an editor says goes to the desk, what the desk shows goes to the editor."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import field
from typing import Any

from lsprotocol import types
from pygls import uris
from pygls.exceptions import JsonRpcException, JsonRpcInternalError
from pygls.lsp.server import LanguageServer

from pd_launch import __version__
from pd_launch.launcher.lsp import show
from pd_launch.launcher.lsp.client import Worker
from pd_launch.launcher.lsp.desk import PAUSE, Desk
from pd_launch.launcher.lsp.model import Settings, Shown, Span, Spot
from pd_launch.launcher.lsp.protocol import Protocol
from pd_launch.launcher.lsp.worker import fault
from pd_launch.schemas.core.record import dataclass

_WATCHED = ("**/pd-launch.toml", "**/pyproject.toml", "**/.gitignore", "**/*.sh", "**/*.{yaml,yml,json}")


@dataclass
class _Session:
    """One editor."""

    server: Any
    settings: Settings
    pages: str | None
    pause: float = PAUSE
    desk: Desk = field(init=False)
    uris: dict[str, str] = field(default_factory=dict)
    """How the editor writes the paths of what it opened."""
    versions: dict[str, Any] = field(default_factory=dict)
    versioned: bool = False

    def __post_init__(self) -> None:
        self.worker = Worker(self.settings)
        self.desk = Desk(self.worker, self.show, self.say, self.pause)

    @property
    def lang(self) -> str:
        return self.desk.lang or self.settings.lang or self.settings.locale

    def show(self, path: str, shown: list[Shown]) -> None:
        """Send what is shown in a file."""
        uri = self.uris.get(path) or show.uri_of(path)
        diagnostics = [show.diagnostic(one, self.lang, self.pages) for one in shown]
        params = types.PublishDiagnosticsParams(uri, diagnostics, self.versions.get(uri))
        self.server.text_document_publish_diagnostics(params)

    def say(self, message: str, must_be_seen: bool) -> None:
        """Say something to the user, or write it into the editor's log."""
        kind = types.MessageType.Error if must_be_seen else types.MessageType.Warning
        if must_be_seen:
            self.server.window_show_message(types.ShowMessageParams(kind, f"pd-launch: {message}"))
        else:
            self.server.window_log_message(types.LogMessageParams(kind, f"pd-launch: {message}"))

    def path(self, uri: str) -> str | None:
        """Return the absolute path of a URI; None where it is no file, which is not checked."""
        path = uris.to_fs_path(uri) if uri.startswith("file:") else None
        return None if path is None or "\0" in path else os.path.normpath(path)

    def add_roots(self, folders: Sequence[Any]) -> None:
        """Take folders of the workspace."""
        paths = [self.path(folder.uri) for folder in folders]
        self.desk.roots += [path for path in paths if path is not None and path not in self.desk.roots]


def make_server(settings: Settings, pages: str | None = None, pause: float = PAUSE) -> Any:
    """Return a server that has not been started.

    Args:
        settings: what the command line says.
        pages: the address below which the rules' pages are; without it, those that lie beside this program.
        pause: seconds without a key until a check begins.
    """
    # All of a text at each change: what a line is, editors and pygls do not count alike (form feeds, U+2028).
    kind = types.TextDocumentSyncKind.Full
    server: Any = LanguageServer(show.SOURCE, __version__, text_document_sync_kind=kind, protocol_cls=Protocol)
    session = _Session(server, settings, pages, pause)

    def said(error: Exception, _source: Any) -> None:
        session.say(_fault(error), False)

    server.report_server_error = said
    _lifetime(server, session)
    _texts(server, session)
    _questions(server, session)
    return server


def _fault(error: Exception) -> str:
    """Return the line of the log about an error: the editor's, or our own."""
    if isinstance(error, JsonRpcException) and not isinstance(error, JsonRpcInternalError):
        return f"a message that does not follow the protocol was not handled: {type(error).MESSAGE}"
    return f"internal fault: {fault(error)}"


def _lifetime(server: Any, session: _Session) -> None:
    def initialize(params: Any) -> None:
        capabilities = params.capabilities
        edits = capabilities.workspace.workspace_edit if capabilities.workspace else None
        session.versioned = bool(edits and edits.document_changes)
        if params.workspace_folders:
            session.add_roots(params.workspace_folders)
        elif params.root_uri:
            session.add_roots([types.WorkspaceFolder(params.root_uri, "")])

    async def initialized(_params: Any) -> None:
        encoding = server.workspace.position_encoding
        session.desk.encoding = str(getattr(encoding, "value", encoding) or "utf-16")
        await session.worker.start()
        workspace = server.client_capabilities.workspace
        watched = workspace.did_change_watched_files if workspace else None
        if watched and watched.dynamic_registration:
            watchers = [types.FileSystemWatcher(pattern) for pattern in _WATCHED]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            wanted = types.Registration("files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            await server.client_register_capability_async(types.RegistrationParams([wanted]))

    def shutdown(_params: Any) -> None:
        session.desk.stop()

    def watched_files(_params: Any) -> None:
        session.desk.look_afresh()

    def folders(params: Any) -> None:
        gone = {session.path(folder.uri) for folder in params.event.removed}
        session.desk.roots = [root for root in session.desk.roots if root not in gone]
        session.add_roots(params.event.added)
        session.desk.look_afresh()

    server.feature(types.INITIALIZE)(initialize)
    server.feature(types.INITIALIZED)(initialized)
    server.feature(types.SHUTDOWN)(shutdown)
    server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)(watched_files)
    server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)(folders)


def _texts(server: Any, session: _Session) -> None:
    def did_open(params: Any) -> None:
        document = params.text_document
        path = session.path(document.uri)
        if path is not None:
            session.uris[path] = document.uri
            session.versions[document.uri] = document.version
            session.desk.open(path, _text(document.text))

    def did_change(params: Any) -> None:
        path = session.path(params.text_document.uri)
        if path is not None:
            session.versions[params.text_document.uri] = params.text_document.version
            session.desk.change(path, _text(server.workspace.get_text_document(params.text_document.uri).source))

    def did_save(params: Any) -> None:
        path = session.path(params.text_document.uri)
        if path is not None:
            session.desk.save(path)

    def did_close(params: Any) -> None:
        path = session.path(params.text_document.uri)
        if path is not None:
            session.desk.close(path)
            session.versions.pop(params.text_document.uri, None)
            session.uris.pop(path, None)

    server.feature(types.TEXT_DOCUMENT_DID_OPEN)(did_open)
    server.feature(types.TEXT_DOCUMENT_DID_CHANGE)(did_change)
    server.feature(types.TEXT_DOCUMENT_DID_SAVE)(did_save)
    server.feature(types.TEXT_DOCUMENT_DID_CLOSE)(did_close)


def _text(text: str) -> str:
    """Return a text as a file could hold it; half of a surrogate pair, one unit too, becomes ``?``."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _questions(server: Any, session: _Session) -> None:
    async def hover(params: Any) -> Any:
        try:
            return _hover(params, session)
        except Exception as error:  # noqa: BLE001 - it goes to the log: an editor would show pygls' traceback
            session.say(f"internal fault: {fault(error)}", False)
            return None

    async def code_action(params: Any) -> list[Any]:
        try:
            return await _actions(params, session)
        except Exception as error:  # noqa: BLE001
            session.say(f"internal fault: {fault(error)}", False)
            return []

    kinds = [types.CodeActionKind.QuickFix, show.FIX_ALL]
    server.feature(types.TEXT_DOCUMENT_HOVER)(hover)
    server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=kinds))(code_action)


def _hover(params: Any, session: _Session) -> Any:
    path = session.path(params.text_document.uri)
    spot = Spot(params.position.line, params.position.character)
    return None if path is None else show.hover(session.desk.shown(path), spot, session.lang)


async def _actions(params: Any, session: _Session) -> list[Any]:
    path = session.path(params.text_document.uri)
    if path is None:
        return []
    only = params.context.only
    actions: list[Any] = []
    if _wants(only, types.CodeActionKind.QuickFix.value):
        shown = await session.desk.fixes(path)
        within = Span(Spot(*_place(params.range.start)), Spot(*_place(params.range.end)))
        version = session.versions.get
        actions = show.quick_fixes(shown, within, session.lang, session.pages, version, session.versioned)
    if only and _wants(only, show.FIX_ALL):  # asked for by name: a menu of fixes is not to wait for it
        changes = await session.desk.fix_all(path)
        actions += [show.fix_all(changes, session.lang, session.versions.get, session.versioned)] if changes else []
    return actions


def _place(position: Any) -> tuple[int, int]:
    return position.line, position.character


def _wants(only: Sequence[Any] | None, kind: str) -> bool:
    """Whether an editor asks for actions of a kind: of all, of it, or of one that it belongs to."""
    if not only:
        return True
    words = [str(getattr(word, "value", word)) for word in only]
    return any(kind == word or kind.startswith(f"{word}.") for word in words)


def serve(settings: Settings, pages: str | None = None) -> None:
    """Speak the protocol on standard input and output until the editor ends it."""
    with os.fdopen(os.dup(1), "wb") as out, os.fdopen(os.dup(0), "rb") as incoming:
        os.dup2(2, 1)  # whatever is printed by mistake must not get between messages
        for name in ("pygls", "asyncio"):  # their tracebacks quote messages, and with them the user's files
            logging.getLogger(name).addHandler(logging.NullHandler())
            logging.getLogger(name).propagate = False
        make_server(settings, pages).start_io(incoming, out)
