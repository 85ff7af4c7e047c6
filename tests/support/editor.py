"""A client of ``kernlint server``, over the pipes of a real process, as an editor is one."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Union

from lsprotocol import types
from pygls.lsp.client import LanguageClient
from pygls.protocol import default_converter

#: Starting a worker on a machine that is busy with other tests.
PATIENCE_S = 120.0


def _converter() -> Any:
    """The converter of the library, which takes an action that has a command for a bare command."""
    converter = default_converter()

    def action(found: Any, _: Any) -> Any:
        kind = types.Command if isinstance(found.get("command"), str) else types.CodeAction
        return converter.structure(found, kind)

    converter.register_structure_hook(Union[types.Command, types.CodeAction], action)
    return converter


class Editor(LanguageClient):
    def __init__(self) -> None:
        super().__init__("test-editor", "1", converter_factory=_converter)
        self.published: dict[str, list[types.PublishDiagnosticsParams]] = {}
        self.messages: list[str] = []
        self.applied: list[types.WorkspaceEdit] = []
        self.refreshed = 0
        self.watched: list[str] = []
        self.news = asyncio.Event()
        self.versions: dict[str, int] = {}
        self.capabilities: types.ServerCapabilities

        @self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def publish(params: types.PublishDiagnosticsParams) -> None:
            self.published.setdefault(params.uri, []).append(params)
            self.news.set()

        @self.feature(types.WINDOW_SHOW_MESSAGE)
        def show(params: types.ShowMessageParams) -> None:
            self.messages.append(params.message)
            self.news.set()

        @self.feature(types.WINDOW_LOG_MESSAGE)
        def log(params: types.LogMessageParams) -> None:
            self.messages.append(params.message)

        @self.feature(types.WORKSPACE_APPLY_EDIT)
        def apply(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
            self.applied.append(params.edit)
            return types.ApplyWorkspaceEditResult(True)

        @self.feature(types.WORKSPACE_DIAGNOSTIC_REFRESH)
        def refresh(*_: Any) -> None:
            self.refreshed += 1
            self.news.set()

        @self.feature(types.WORKSPACE_CODE_LENS_REFRESH)
        def refresh_lenses(*_: Any) -> None:
            pass

        @self.feature(types.CLIENT_REGISTER_CAPABILITY)
        def register(params: types.RegistrationParams) -> None:
            self.watched += [registration.method for registration in params.registrations]

    def open(self, uri: str, text: str, language: str = "python") -> None:
        self.versions[uri] = 1
        item = types.TextDocumentItem(uri, language, 1, text)
        self.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def edit(self, uri: str, text: str) -> None:
        self.versions[uri] += 1
        self.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(self.versions[uri], uri),
                [types.TextDocumentContentChangeWholeDocument(text)],
            )
        )

    async def pull(self, uri: str, previous: str | None = None) -> Any:
        """All that is found."""
        await self.all_found(uri)
        return await self.pull_at_once(uri, previous)

    async def all_found(self, uri: str) -> None:
        """Once all is found: actions are offered for no less."""
        behind = types.Position(10**6, 0)
        await self.actions(uri, types.Range(behind, behind), ["quickfix"])

    async def pull_at_once(self, uri: str, previous: str | None = None) -> Any:
        return await asyncio.wait_for(
            self.text_document_diagnostic_async(
                types.DocumentDiagnosticParams(types.TextDocumentIdentifier(uri), previous_result_id=previous)
            ),
            PATIENCE_S,
        )

    async def pushed(self, uri: str, version: int | None = None, code: str = "") -> list[types.Diagnostic]:
        """What was published last, once there is something for ``version``, with a finding of ``code`` where that is given."""

        async def look() -> list[types.Diagnostic]:
            while True:
                self.news.clear()
                for params in reversed(self.published.get(uri, [])):
                    if version in (None, params.version) and (not code or code in {d.code for d in params.diagnostics}):
                        return list(params.diagnostics)
                await self.news.wait()

        return await asyncio.wait_for(look(), PATIENCE_S)

    async def asked_again(self, before: int) -> None:
        """Once the server has asked for more pulls than ``before``."""

        async def look() -> None:
            while self.refreshed <= before:
                self.news.clear()
                await self.news.wait()

        await asyncio.wait_for(look(), PATIENCE_S)

    async def told(self, part: str) -> str:
        """The first message that holds ``part``, once there is one."""

        async def look() -> str:
            while True:
                self.news.clear()
                for message in self.messages:
                    if part in message:
                        return message
                await self.news.wait()

        return await asyncio.wait_for(look(), PATIENCE_S)

    async def actions(self, uri: str, range_: types.Range, only: list[str] | None = None) -> list[types.CodeAction]:
        params = types.CodeActionParams(types.TextDocumentIdentifier(uri), range_, types.CodeActionContext([], only))
        found = await asyncio.wait_for(self.text_document_code_action_async(params), PATIENCE_S)
        return [action for action in found or [] if isinstance(action, types.CodeAction)]

    async def hover(self, uri: str, line: int, character: int) -> str:
        params = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(line, character))
        found = await asyncio.wait_for(self.text_document_hover_async(params), PATIENCE_S)
        return "" if found is None else found.contents.value  # type: ignore[union-attr]

    async def lenses(self, uri: str) -> list[types.CodeLens]:
        params = types.CodeLensParams(types.TextDocumentIdentifier(uri))
        return list(await asyncio.wait_for(self.text_document_code_lens_async(params), PATIENCE_S) or [])


def capabilities(
    pull: bool = True, resolve: bool = False, encodings: list[str] | None = None, refresh: bool = True
) -> types.ClientCapabilities:
    return types.ClientCapabilities(
        general=types.GeneralClientCapabilities(position_encodings=encodings),  # type: ignore[arg-type]
        text_document=types.TextDocumentClientCapabilities(
            diagnostic=types.DiagnosticClientCapabilities() if pull else None,
            publish_diagnostics=types.PublishDiagnosticsClientCapabilities(related_information=True),
            code_action=types.CodeActionClientCapabilities(
                resolve_support=types.ClientCodeActionResolveOptions(["edit"]) if resolve else None
            ),
        ),
        workspace=types.WorkspaceClientCapabilities(
            diagnostics=types.DiagnosticWorkspaceClientCapabilities(refresh_support=refresh),
            workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=resolve),
            did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True),
        ),
    )


@asynccontextmanager
async def editor(
    folder: Path,
    client: types.ClientCapabilities | None = None,
    options: Mapping[str, Any] | None = None,
    command: tuple[str, ...] = ("-m", "kernlint", "server"),
) -> AsyncIterator[Editor]:
    """A client that has shaken hands with a server working in ``folder``; on leaving, it says good-bye as it should."""
    ls = Editor()
    await ls.start_io(sys.executable, *command, cwd=str(folder))
    answer = await asyncio.wait_for(
        ls.initialize_async(
            types.InitializeParams(
                capabilities=client or capabilities(),
                process_id=os.getpid(),
                root_uri=folder.as_uri(),
                initialization_options=dict(options or {}),
            )
        ),
        PATIENCE_S,
    )
    ls.capabilities = answer.capabilities
    ls.initialized(types.InitializedParams())
    try:
        yield ls
    finally:
        await asyncio.wait_for(ls.shutdown_async(None), PATIENCE_S)
        ls.exit(None)
        assert ls._server is not None
        assert await asyncio.wait_for(ls._server.wait(), PATIENCE_S) == 0
        await ls.stop()


def applied(text: str, edits: list[types.TextEdit]) -> str:
    """``text`` with ``edits``, whose columns count UTF-16 units."""
    lines = text.splitlines(keepends=True) or [""]

    def offset(position: types.Position) -> int:
        before = sum(map(len, lines[: position.line]))
        if position.line >= len(lines):
            return before
        units = lines[position.line].encode("utf-16-le")[: 2 * position.character]
        return before + len(units.decode("utf-16-le"))

    for edit in sorted(edits, key=lambda e: (e.range.start.line, e.range.start.character), reverse=True):
        text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]
    return text
