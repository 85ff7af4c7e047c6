"""``kernlint server``: the Language Server Protocol over standard input and output."""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable
from typing import Any, NoReturn, TypeVar

from lsprotocol import types
from pygls import uris
from pygls.exceptions import JsonRpcContentModified, JsonRpcException

from kernlint.errors import KernlintError
from kernlint.server.document import Superseded
from kernlint.server.session import FIX_ALL, SOURCE, SUPPRESS, Options, Server, plain, result_id

_CONFIGURATION = re.compile(r"(^|[/\\])(kernlint|pyproject)\.toml$")


def _said(settings: object) -> object:
    """The options in what an editor sends: under our name, under ``settings``, or as they are."""
    for name in (SOURCE, "settings"):
        if isinstance(settings, dict) and isinstance(settings.get(name), dict):
            return settings[name]
    return settings


#: What registers each feature with a server.
_FEATURES: list[Callable[[Server], object]] = []
_Function = TypeVar("_Function", bound=Callable[..., Any])
_T = TypeVar("_T")


def _feature(name: str, options: Any = None) -> Callable[[_Function], _Function]:
    """Makes a function answer the message ``name`` of the protocol."""

    def register(function: _Function) -> _Function:
        _FEATURES.append(lambda server: server.feature(name, options)(function))
        return function

    return register


def _command(name: str) -> Callable[[_Function], _Function]:
    """Makes a function answer the command ``name``."""

    def register(function: _Function) -> _Function:
        _FEATURES.append(lambda server: server.command(name)(function))
        return function

    return register


@_feature(types.INITIALIZE)
def _initialize(ls: Server, params: types.InitializeParams) -> None:
    ls.options = Options(_said(plain(params.initialization_options)))
    ls.pulls = params.capabilities.text_document is not None and (
        params.capabilities.text_document.diagnostic is not None
    )


@_feature(types.INITIALIZED)
async def _initialized(ls: Server, params: types.InitializedParams) -> None:
    if ls.can("workspace.did_change_watched_files.dynamic_registration"):
        watchers = [
            types.FileSystemWatcher(pattern) for pattern in ("**/kernlint.toml", "**/pyproject.toml", "**/*.py")
        ]
        await ls.client_register_capability_async(
            types.RegistrationParams(
                [
                    types.Registration(
                        "kernlint-files",
                        types.WORKSPACE_DID_CHANGE_WATCHED_FILES,
                        types.DidChangeWatchedFilesRegistrationOptions(watchers),
                    )
                ]
            )
        )


@_feature(types.TEXT_DOCUMENT_DID_OPEN)
async def _did_open(ls: Server, params: types.DidOpenTextDocumentParams) -> None:
    ls.opened(params.text_document)


@_feature(types.TEXT_DOCUMENT_DID_CHANGE)
async def _did_change(ls: Server, params: types.DidChangeTextDocumentParams) -> None:
    ls.changed(params.text_document.uri, params.text_document.version)


@_feature(types.TEXT_DOCUMENT_DID_SAVE)
async def _did_save(ls: Server, params: types.DidSaveTextDocumentParams) -> None:
    path = uris.to_fs_path(params.text_document.uri)
    if path is not None:
        ls.saved([os.path.abspath(path)])


@_feature(types.TEXT_DOCUMENT_DID_CLOSE)
async def _did_close(ls: Server, params: types.DidCloseTextDocumentParams) -> None:
    ls.closed(params.text_document.uri)


@_feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
async def _did_change_files(ls: Server, params: types.DidChangeWatchedFilesParams) -> None:
    paths = [os.path.abspath(path) for change in params.changes if (path := uris.to_fs_path(change.uri)) is not None]
    if any(_CONFIGURATION.search(path) for path in paths):
        ls.reconfigured()
    else:
        ls.saved(paths)


@_feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
async def _did_change_configuration(ls: Server, params: types.DidChangeConfigurationParams) -> None:
    said = _said(plain(params.settings))
    if isinstance(said, dict) and said:
        asks = ls.options.asks_for_reason
        ls.options = Options(said)
        ls.options.asks_for_reason = ls.options.asks_for_reason or asks
    ls.reconfigured()


@_feature(
    types.TEXT_DOCUMENT_DIAGNOSTIC,
    types.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=False, identifier=SOURCE),
)
async def _diagnostic(ls: Server, params: types.DocumentDiagnosticParams) -> types.DocumentDiagnosticReport:
    try:
        found = await ls.pulled(ls.document(params.text_document.uri))
    except Superseded:
        # The client has the new text on its way, or asks for the new settings; this tells it to come again.
        raise JsonRpcException("superseded", code=-32802, data={"retriggerRequest": True}) from None
    name = result_id(found)
    if params.previous_result_id == name:
        return types.RelatedUnchangedDocumentDiagnosticReport(name)
    return types.RelatedFullDocumentDiagnosticReport(found, result_id=name)


@_feature(
    types.TEXT_DOCUMENT_CODE_ACTION,
    types.CodeActionOptions([types.CodeActionKind.QuickFix, FIX_ALL], resolve_provider=True),
)
async def _code_action(ls: Server, params: types.CodeActionParams) -> list[types.CodeAction]:
    return await _or_nothing(ls.actions(params), [])


@_feature(types.CODE_ACTION_RESOLVE)
async def _resolve(ls: Server, params: types.CodeAction) -> types.CodeAction:
    params.data = plain(params.data)
    try:
        return await ls.resolved(params)
    except (Superseded, KernlintError) as error:
        _refuse(error)


@_feature(types.TEXT_DOCUMENT_HOVER)
async def _hover(ls: Server, params: types.HoverParams) -> types.Hover | None:
    return await _or_nothing(ls.hover(params), None)


@_feature(types.TEXT_DOCUMENT_CODE_LENS, types.CodeLensOptions(resolve_provider=False))
async def _code_lens(ls: Server, params: types.CodeLensParams) -> list[types.CodeLens]:
    return await _or_nothing(ls.lenses(params), [])


@_command(SUPPRESS)
async def _suppress(ls: Server, *arguments: Any) -> None:
    uri, fingerprint, reason = (str(argument) for argument in (*arguments, "", "", "")[:3])
    try:
        await ls.suppress(uri, fingerprint, reason)
    except (Superseded, KernlintError) as error:
        _refuse(error)


@_feature(types.EXIT)
def _leave(ls: Server, *_: Any) -> None:
    ls.close()
    # Not by an exception: threads wait for standard input, which the client may keep open.
    os._exit(0 if ls.protocol._shutdown else 1)


async def _or_nothing(answer: Awaitable[_T], nothing: _T) -> _T:
    """``answer``, or ``nothing`` of a document that cannot be analysed, as its diagnostics say."""
    try:
        return await answer
    except Superseded:
        raise JsonRpcContentModified() from None
    except KernlintError:
        return nothing


def _refuse(error: Exception) -> NoReturn:
    """The error of the protocol that says what has become of a request."""
    if isinstance(error, Superseded):
        raise JsonRpcContentModified() from None
    raise JsonRpcException(str(error), code=-32803) from None  # RequestFailed


def make_server(folder: str) -> Server:
    """A server with all its features, not yet started, for a session in ``folder``."""
    server = Server(folder)
    for register in _FEATURES:
        register(server)
    return server


def run(folder: str) -> None:
    """Serve one client over standard input and output until it leaves; documents that lie nowhere count as lying in ``folder``."""
    server = make_server(folder)
    try:
        server.start_io()
    finally:
        server.close()
