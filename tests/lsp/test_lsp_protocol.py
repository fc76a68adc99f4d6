"""The protocol, spoken with the server as an editor does (pytest-lsp)."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pytest_lsp", reason="pytest-lsp is not installed (the extra dev has it)")
pytest.importorskip("pygls", reason="pygls is not installed (the extra lsp has it)")

import pytest_asyncio
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = "import pd_launch.__main__ as program; program.main()"
START = f"import sys; sys.path.insert(0, {str(ROOT)!r}); sys.argv[0] = 'pd-launch'; {PROGRAM}"
TARGET = "# pd-launch: target vllm==0.32.0\n"
COMMA = """vllm serve /models/m --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_both",}'\n"""
TYPO = "vllm serve /models/m --max-num-batched-tokns 64\n"
PREFILL = (
    """vllm serve /models/a --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_producer"}'\n"""
)
DECODE = """vllm serve /models/b --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer"}'\n"""


class Editor:
    """An editor with a folder open. ``shown`` has the newest findings of each file, with the version they are of."""

    def __init__(self, client: LanguageClient, folder: Path) -> None:
        self.client = client
        self.folder = folder
        self.shown: dict[str, tuple[int | None, list[Any]]] = {}
        self.versions: dict[str, int] = {}
        self.news = asyncio.Event()

    def received(self, params: Any) -> None:
        self.shown[self.name(params.uri)] = (params.version, list(params.diagnostics))
        self.news.set()

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def name(self, uri: str) -> str:
        return uri.removeprefix(self.folder.as_uri() + "/")

    def open(self, name: str, text: str) -> None:
        self.versions[name] = 1
        item = types.TextDocumentItem(self.uri(name), "shellscript", 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def change(self, name: str, text: str) -> None:
        self.versions[name] += 1
        file = types.VersionedTextDocumentIdentifier(self.versions[name], self.uri(name))
        whole = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(file, [whole]))

    def save(self, name: str) -> None:
        file = types.TextDocumentIdentifier(self.uri(name))
        self.client.text_document_did_save(types.DidSaveTextDocumentParams(file))

    def close(self, name: str) -> None:
        file = types.TextDocumentIdentifier(self.uri(name))
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(file))

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(30) if sys.version_info >= (3, 11) else _nothing():
            while not condition():
                self.news.clear()
                await self.news.wait()

    async def found(self, name: str) -> list[Any]:
        """Wait for what is found in the newest version of a file."""
        await self.until(lambda: name in self.shown and self.shown[name][0] == self.versions[name])
        return self.shown[name][1]

    async def actions(self, name: str, only: list[str] | None = None) -> list[Any]:
        whole = types.Range(types.Position(0, 0), types.Position(999, 0))
        context = types.CodeActionContext([], only=only)
        params = types.CodeActionParams(types.TextDocumentIdentifier(self.uri(name)), whole, context)
        return list(await self.client.text_document_code_action_async(params) or [])


class _nothing:  # noqa: N801
    async def __aenter__(self) -> None:
        return None

    async def __aexit__(self, *_: object) -> None:
        return None


def codes(diagnostics: Iterable[Any]) -> list[str]:
    return [str(one.code) for one in diagnostics]


def place(one: Any) -> tuple[int, int, int]:
    return one.range.start.line, one.range.start.character, one.range.end.character


async def connected(
    folder: Path, *options: str, encodings: list[str] | None = None, **env: str
) -> tuple[LanguageClient, Editor]:
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", **env}
    command = [sys.executable, "-c", START, "lsp", *options]
    client = await ClientServerConfig(server_command=command, server_env=environment).start()
    assert isinstance(client, LanguageClient)
    editor = Editor(client, folder)
    client.protocol.fm._features[types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS] = editor.received
    workspace = types.WorkspaceClientCapabilities(workspace_edit=types.WorkspaceEditClientCapabilities(True))
    general = types.GeneralClientCapabilities(position_encodings=encodings) if encodings else None
    capabilities = types.ClientCapabilities(workspace=workspace, general=general)
    roots = [types.WorkspaceFolder(folder.as_uri(), "w")]
    await client.initialize_session(types.InitializeParams(capabilities, workspace_folders=roots))
    return client, editor


@pytest_asyncio.fixture
async def editor(tmp_path: Path) -> AsyncIterator[Editor]:
    client, editor = await connected(tmp_path)
    yield editor
    await client.shutdown_session()


@pytest.mark.asyncio
async def test_findings_while_typing(editor: Editor) -> None:
    text = TARGET + "echo 预填充🚀; " + COMMA
    editor.open("decode.sh", text)
    (one,) = await editor.found("decode.sh")
    line = text.split("\n")[1]
    at = line.index(",}")
    assert (one.code, one.severity, one.source) == ("PD001", types.DiagnosticSeverity.Error, "pd-launch")
    assert place(one) == (1, at + 1, at + 2)  # the rocket has two units of UTF-16
    assert one.code_description.href == (ROOT / "docs" / "rules" / "PD001.md").as_uri()
    assert one.message.startswith("trailing comma before '}'")
    position = types.Position(1, at + 1)
    hover = await editor.client.text_document_hover_async(
        types.HoverParams(types.TextDocumentIdentifier(editor.uri("decode.sh")), position)
    )
    assert hover is not None and "## What it does" in hover.contents.value
    editor.change("decode.sh", text.replace(",}", "}"))
    assert await editor.found("decode.sh") == []


@pytest.mark.asyncio
@pytest.mark.parametrize(("encoding", "more"), [("utf-8", 9), ("utf-32", 0)])
async def test_the_encoding_is_what_the_editor_prefers(tmp_path: Path, encoding: str, more: int) -> None:
    client, editor = await connected(tmp_path, encodings=[encoding])
    text = TARGET + "echo 预填充🚀; " + COMMA
    editor.open("decode.sh", text)
    (one,) = await editor.found("decode.sh")
    assert place(one)[1] == text.split("\n")[1].index(",}") + more
    await client.shutdown_session()


@pytest.mark.asyncio
async def test_fixes_are_those_that_would_be_made(editor: Editor) -> None:
    more = """ \\\n --override-generation-config '{"temperature": 1,}' --max-num-batched-tokns 64\n"""
    editor.open("decode.sh", TARGET + COMMA.rstrip() + more)
    assert codes(await editor.found("decode.sh")) == ["PD001", "PD001", "PD004"]
    first, second, third = await editor.actions("decode.sh", ["quickfix"])
    assert (first.kind, first.is_preferred) == ("quickfix", True)
    (change,) = first.edit.document_changes
    assert (change.text_document.version, len(change.edits), change.edits[0].new_text) == (1, 1, "")
    assert second.edit.document_changes[0].edits[0].range.start.line == 2
    assert (third.is_preferred, third.edit.document_changes[0].edits[0].new_text) == (None, "--max-num-batched-tokens")
    (every,) = await editor.actions("decode.sh", ["source.fixAll.pd-launch"])
    written = "".join(edit.new_text for edit in every.edit.document_changes[0].edits)
    assert ",}" not in written and "tokns" in written  # what is only plausible is left
    assert await editor.actions("decode.sh", ["refactor"]) == []
    editor.change("decode.sh", TARGET + TYPO)
    assert await editor.actions("decode.sh", ["source.fixAll"]) == []


@pytest.mark.asyncio
async def test_files_of_a_deployment_are_read_together_unsaved_text_first(editor: Editor) -> None:
    (editor.folder / "pd-launch.toml").write_text('target = "vllm==0.32.0"\n[[deployment]]\nfiles = ["prod/*.sh"]\n')
    (editor.folder / "prod").mkdir()
    (editor.folder / "prod" / "prefill.sh").write_text(PREFILL)
    (editor.folder / "prod" / "decode.sh").write_text(DECODE)
    (editor.folder / "other.sh").write_text(DECODE)
    editor.open("prod/decode.sh", DECODE)
    there = codes(await editor.found("prod/decode.sh"))
    await editor.until(lambda: "prod/prefill.sh" in editor.shown or bool(there))
    pair = [c for name in ("prod/decode.sh", "prod/prefill.sh") for c in codes(editor.shown.get(name, (0, []))[1])]
    assert any(code.startswith("PD6") for code in pair), pair
    editor.open("prod/prefill.sh", PREFILL.replace("models/a", "models/b"))
    await editor.found("prod/prefill.sh")
    await editor.until(
        lambda: not any(code.startswith("PD6") for _, shown in editor.shown.values() for code in codes(shown))
    )
    editor.open("other.sh", DECODE)
    assert not any(code.startswith("PD6") for code in codes(await editor.found("other.sh")))


@pytest.mark.asyncio
async def test_a_configuration_is_obeyed_and_a_wrong_one_is_said(editor: Editor) -> None:
    config = editor.folder / "pd-launch.toml"
    config.write_text('target = "vllm==0.32.0"\nignore = ["PD004"]\nlang = "zh"\nexclude = ["drafts/"]\n')
    editor.open("decode.sh", COMMA.rstrip() + " --max-num-batched-tokns 64\n")
    (one,) = await editor.found("decode.sh")
    assert one.code == "PD001" and "逗号" in one.message
    editor.open("drafts/decode.sh", TARGET + COMMA)
    assert await editor.found("drafts/decode.sh") == []
    config.write_text('ignore = ["PD999"]\n')
    editor.save("decode.sh")
    await editor.until(lambda: editor.shown["decode.sh"][1] == [])
    assert [message.message for message in editor.client.messages] == [
        f"pd-launch: {Path('pd-launch.toml')}: ignore: PD999: no rule has this code; pd-launch rules lists them"
    ]


@pytest.mark.asyncio
async def test_files_that_name_no_engine_have_no_findings(editor: Editor) -> None:
    for name, text in {
        "build.sh": "echo 'unclosed\n",
        "notes.txt": COMMA,
        "README.md": f"```sh\n{COMMA}```\n",
        "values.yaml": "a: [\n",
        "odd.sh": "\0vllm serve",
    }.items():
        editor.open(name, text)
        assert await editor.found(name) == [], name


@pytest.mark.asyncio
async def test_what_is_half_typed_says_nothing_of_other_lines(editor: Editor) -> None:
    text = TARGET + "\n" + TYPO + 'echo "it\'s"\n' + TYPO
    expected = [("PD004", 2), ("PD004", 4)]
    for number, typed in enumerate(
        ["echo 'I am", 'N="', "cat <<EOF", "cat >x <<'END'", "if true; then", "(cd x", "a \\"]
    ):
        name = f"decode{number}.sh"
        editor.open(name, text)
        before = await editor.found(name)
        assert [(one.code, one.range.start.line) for one in before] == expected
        for end in range(1, len(typed) + 1):
            editor.change(name, text.replace("\n\n", f"\n{typed[:end]}\n", 1))
            now = await editor.found(name)
            far = [(one.code, one.range.start.line) for one in now if one.range.start.line != 1]
            assert far == expected, typed[:end]
    editor.save("decode0.sh")  # what is saved is meant
    await editor.until(lambda: codes(editor.shown["decode0.sh"][1]) != ["PD004", "PD004"])


@pytest.mark.asyncio
async def test_a_half_typed_line_in_yaml_says_nothing_of_other_lines(editor: Editor) -> None:
    image = "image: vllm/vllm-openai:v0.32.0"
    text = f"services:\n  decode:\n    {image}\n    command: >-\n      {TYPO.rstrip()}\n    ports: []\n"
    editor.open("compose.yaml", text)
    before = await editor.found("compose.yaml")
    assert "PD004" in codes(before)
    editor.change("compose.yaml", text.replace("services:", "services:\n  prefill: {image: 'x"))
    now = await editor.found("compose.yaml")
    assert [(str(one.code), one.range.start.line - 1) for one in now if one.range.start.line > 1] == [
        (str(one.code), one.range.start.line) for one in before
    ]


@pytest.mark.asyncio
async def test_secrets_are_masked(editor: Editor) -> None:
    secret = "s3cr3t-hunter2"
    editor.open("decode.sh", f"{TARGET}vllm serve /models/m --api-key {secret} --max-num-seqs {secret}\n")
    found = await editor.found("decode.sh")
    assert found and not any(secret in str(one) for one in found)


@pytest.mark.asyncio
async def test_a_closed_file_has_no_findings(editor: Editor) -> None:
    editor.open("decode.sh", TARGET + COMMA)
    assert await editor.found("decode.sh")
    editor.close("decode.sh")
    await editor.until(lambda: editor.shown["decode.sh"][1] == [])


@pytest.mark.asyncio
async def test_an_unsaved_file_that_a_script_reads_counts(editor: Editor) -> None:
    (editor.folder / "env.sh").write_text("SEQS=8\n")
    editor.open("decode.sh", TARGET + ". ./env.sh\nvllm serve /models/m --max-num-seqs $SEQS\n")
    assert await editor.found("decode.sh") == []
    editor.open("env.sh", "SEQS=many\n")
    await editor.until(lambda: any(codes(shown) for _, shown in editor.shown.values()))


@pytest.mark.asyncio
async def test_the_language_and_the_release_of_the_command_line(tmp_path: Path) -> None:
    client, editor = await connected(tmp_path, "--target", "vllm==0.32.0", PD_LAUNCH_LANG="zh")
    editor.open("decode.sh", COMMA)
    (one,) = await editor.found("decode.sh")
    assert "逗号" in one.message
    await client.shutdown_session()
    assert client.error is None


@pytest.mark.asyncio
async def test_what_is_no_message_ends_nothing_and_is_logged_without_its_words(editor: Editor) -> None:
    transport = editor.client.protocol.writer
    assert transport is not None
    body = b'{"secret": "hunter2"}'
    editor.client.protocol.writer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    editor.open("decode.sh", TARGET + COMMA)
    assert codes(await editor.found("decode.sh")) == ["PD001"]
    logged = [message.message for message in editor.client.log_messages]
    assert len(logged) == 1 and "hunter2" not in logged[0]
    assert logged[0].startswith("pd-launch: a message that does not follow the protocol")


@pytest.mark.asyncio
async def test_odd_requests_are_answered(editor: Editor) -> None:
    editor.open("decode.sh", "\u2028\x0c\r" + TARGET + "echo \ud83d; " + COMMA)
    assert codes(await editor.found("decode.sh")) == ["PD001"]
    far = types.Position(4_000_000, 4_000_000)
    file = types.TextDocumentIdentifier(editor.uri("decode.sh"))
    assert await editor.client.text_document_hover_async(types.HoverParams(file, far)) is None
    for uri in ("untitled:Untitled-1", editor.uri("not-open.sh"), "file:///a%00b"):
        asked = types.CodeActionParams(
            types.TextDocumentIdentifier(uri), types.Range(far, far), types.CodeActionContext([])
        )
        assert not await editor.client.text_document_code_action_async(asked)


BEGIN = ({"id": 1, "method": "initialize", "params": {"capabilities": {}}}, {"method": "initialized", "params": {}})
END = ({"id": 999, "method": "shutdown"}, {"method": "exit"})
HOVER = "textDocument/hover"
INVALID_PARAMS, INVALID_REQUEST, NO_METHOD, NOT_INITIALIZED = -32602, -32600, -32601, -32002


def replies(folder: Path, messages: Iterable[Any]) -> tuple[int, dict[Any, list[Any]], str]:
    """Return the exit status, the replies (the code of an error, or the word ``ok``), and the log."""
    texts = [json.dumps({"jsonrpc": "2.0", **one} if isinstance(one, dict) else one).encode() for one in messages]
    sent = b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(text), text) for text in texts)
    command = [sys.executable, "-c", START, "lsp"]
    done = subprocess.run(command, input=sent, cwd=folder, capture_output=True, timeout=60, env={"PATH": "/usr/bin"})
    assert done.stderr == b""
    got: dict[Any, list[Any]] = {}
    log, rest = "", done.stdout
    while rest:
        head, _, rest = rest.partition(b"\r\n\r\n")
        size = int(head.split(b"\r\n")[0].removeprefix(b"Content-Length: "))
        reply, rest = json.loads(rest[:size]), rest[size:]
        if "method" in reply:
            log += str(reply["params"].get("message", "")) + "\n"
        else:
            got.setdefault(reply["id"], []).append(reply["error"]["code"] if "error" in reply else "ok")
    return done.returncode, got, log


WRONG_PARAMS = [
    *(None, [], 5, "x", {}, {"textDocument": 5}, {"textDocument": {"uri": "file:///x"}}, {"position": "hunter2"}),
    {"textDocument": {"uri": "file:///x"}, "position": {"line": "a", "character": 0}},
    {"jsonrpc": "2.0", "id": 4, "method": "shutdown"},
]


@pytest.mark.parametrize("method", [HOVER, "textDocument/codeAction"])
def test_a_request_with_wrong_params_gets_an_error(tmp_path: Path, method: str) -> None:
    asked = [{"id": 10 + at, "method": method, "params": params} for at, params in enumerate(WRONG_PARAMS)]
    asked.append({"id": 30, "method": method})
    status, got, log = replies(tmp_path, [*BEGIN, *asked, *END])
    assert status == 0
    assert got == {1: ["ok"], 999: ["ok"]} | {one["id"]: [INVALID_PARAMS] for one in asked}
    assert "hunter2" not in log and "internal fault" not in log


@pytest.mark.parametrize(
    "params", [None, [], 5, {}, {"capabilities": 5}, {"capabilities": {}, "workspaceFolders": [{"uri": "file:///x"}]}]
)
def test_a_session_that_begins_wrong_can_begin_again(tmp_path: Path, params: Any) -> None:
    first = {"id": 7, "method": "initialize", "params": params}
    status, got, _ = replies(tmp_path, [first, *BEGIN, *END])
    assert (status, got) == (0, {7: [INVALID_PARAMS], 1: ["ok"], 999: ["ok"]})


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        ({"id": 5, "method": "no/such"}, {5: [NO_METHOD]}),
        ({"id": 5, "method": "no/such", "params": {}}, {5: [NO_METHOD]}),
        ({"id": 5, "method": 5}, {5: [INVALID_REQUEST]}),
        ({"id": 5, "method": ["x"]}, {5: [INVALID_REQUEST]}),
        ({"id": [5], "method": HOVER}, {None: [INVALID_REQUEST]}),
        ({"id": True, "method": HOVER}, {None: [INVALID_REQUEST]}),
        ({"id": 5, "method": HOVER, "jsonrpc": "1.0"}, {5: [INVALID_REQUEST]}),
        ([1], {None: [INVALID_REQUEST]}),
        ({"id": 5}, {}),
        ({"id": 5, "result": {}}, {}),
        ({"id": 5, "error": 7}, {}),
        ({"method": "textDocument/didOpen", "params": 7}, {}),
        ({"method": "no/such", "params": 7}, {}),
    ],
)
def test_what_is_no_request_ends_nothing(tmp_path: Path, message: Any, wanted: dict[Any, Any]) -> None:
    status, got, log = replies(tmp_path, [*BEGIN, message, *END])
    assert (status, got) == (0, {1: ["ok"], 999: ["ok"], **wanted})
    assert "internal fault" not in log


def test_requests_before_the_beginning_and_after_the_end_get_an_error(tmp_path: Path) -> None:
    where = {"textDocument": {"uri": "file:///x"}, "position": {"line": 0, "character": 0}}
    early, late = ({"id": number, "method": HOVER, "params": where} for number in (5, 6))
    status, got, _ = replies(tmp_path, [early, *BEGIN, END[0], late, END[1]])
    assert (status, got) == (0, {5: [NOT_INITIALIZED], 1: ["ok"], 999: ["ok"], 6: [INVALID_REQUEST]})


def test_the_server_ends_with_its_editor(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", START, "lsp"], input=b"", cwd=tmp_path, capture_output=True, timeout=60, env={}
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
