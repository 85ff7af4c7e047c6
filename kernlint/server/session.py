"""A session of an editor: its open documents, its options, and what it is told of them."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from lsprotocol import types
from pygls.capabilities import get_capability
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer

from kernlint.errors import KernlintError, UsageError
from kernlint.links import rule_url
from kernlint.lint.diagnostics import ANALYSIS_FAILED
from kernlint.lint.model import Finding
from kernlint.rules.base import MIN_GAIN
from kernlint.server.document import TIMEOUT_S, Document, Superseded, path_of, touches
from kernlint.server.editing import Asked, rule_page
from kernlint.server.notes import kernel_at
from kernlint.server.positions import Positions
from kernlint.server.worker import Lane
from kernlint.version import __version__

SOURCE = "kernlint"


#: Said in a suppression comment until somebody says why.
REASON = "TODO: say why"


FIX_ALL = "source.fixAll.kernlint"


#: A command of the server: suppress a finding with a reason. Arguments: URI, fingerprint of the finding, reason.
SUPPRESS = "kernlint.suppress"


#: A command of the client, where it has one: ask for the reason, then run SUPPRESS. Arguments: URI, fingerprint, code.
ASK_REASON = "kernlint.askReason"


_SEVERITY = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "info": types.DiagnosticSeverity.Information,
}


#: What editors show faded or struck through.
_TAGS = {
    "unused-suppression": types.DiagnosticTag.Unnecessary,
    "deprecated-api": types.DiagnosticTag.Deprecated,
}


_CODE = re.compile(r"\bKL\d{3}\b")


class Options:
    """What the editor says: a device and selectors of rules on top of the configuration files, whether to show a lens above
    kernels, and how a finding is suppressed."""

    def __init__(self, said: object = None) -> None:
        table: dict[str, Any] = said if isinstance(said, dict) else {}
        self.device = _text(table.get("device"))
        self.select = _texts(table.get("select"))
        self.extend_select = _texts(table.get("extendSelect")) or ()
        self.ignore = _texts(table.get("ignore")) or ()
        self.code_lens = table.get("codeLens") is not False
        self.reason = " ".join((_text(table.get("suppressReason")) or REASON).split())
        self.asks_for_reason = table.get("asksForReason") is True

    def asked(self, path: str, generation: int) -> Asked:
        return Asked(path, self.device, self.select, self.extend_select, self.ignore, generation)


class Server(LanguageServer):
    """The state of a session: open documents, the editor's options and the lanes to the workers, which work in ``folder``."""

    def __init__(self, folder: str) -> None:
        # A document is small, and what text editors count as lines differs: whole texts cannot be misunderstood.
        super().__init__(SOURCE, __version__, text_document_sync_kind=types.TextDocumentSyncKind.Full)
        self.options = Options()
        self.documents: dict[str, Document] = {}
        self.folder = folder
        self.fast, self.slow = Lane(folder), Lane(folder)
        #: Counts the changes of configuration files.
        self.generation = 0
        self.pulls = False
        self._last_note = ""
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def encoding(self) -> str:
        return str(getattr(self.workspace.position_encoding, "value", self.workspace.position_encoding) or "utf-16")

    def can(self, capability: str) -> bool:
        """Whether the client says that it has a capability."""
        return bool(get_capability(self.client_capabilities, capability, False))

    def document(self, uri: str) -> Document:
        """The open document at ``uri``. Raises ``JsonRpcInvalidParams`` where it is not open."""
        found = self.documents.get(uri)
        if found is None:
            raise JsonRpcInvalidParams(f"not an open document: {uri}")
        return found

    # -- what changes ----------------------------------------------------------------------------------------------

    def opened(self, item: types.TextDocumentItem) -> None:
        document = self.documents[item.uri] = Document(
            item.uri, path_of(item.uri, item.language_id, self.folder), self.fast, self.slow
        )
        self._updated(document, item.text, item.version)

    def changed(self, uri: str, version: int | None) -> None:
        document = self.documents.get(uri)
        if document is not None:
            self._updated(document, self.workspace.get_text_document(uri).source, version)

    def closed(self, uri: str) -> None:
        document = self.documents.pop(uri, None)
        if document is not None:
            document.forget()
            if not self.pulls:
                self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def reconfigured(self) -> None:
        """Ask everything again, under settings that may be others now."""
        self.generation += 1
        self._last_note = ""
        self._again(list(self.documents.values()))

    def saved(self, paths: Iterable[str]) -> None:
        """Ask again about documents that depend on one of the files at ``paths``."""
        changed = set(paths)
        self._again([one for one in self.documents.values() if changed.intersection(one.beside)])

    def _again(self, documents: Sequence[Document]) -> None:
        if not documents:
            return
        for document in documents:
            self._updated(document, document.text, document.version)
        if self.pulls and self.can("workspace.diagnostics.refresh_support"):
            self._later(self.workspace_diagnostic_refresh_async(None))
        if self.can("workspace.code_lens.refresh_support"):
            self._later(self.workspace_code_lens_refresh_async(None))

    def _updated(self, document: Document, text: str, version: int | None) -> None:
        document.update(text, version, self.options.asked(document.path, self.generation))
        if not self.pulls:
            self._later(self._publish(document))

    async def _publish(self, document: Document) -> None:
        """Tell what is found in a document, at first what is told at once."""
        version, asked = document.version, document.asked
        told = None
        for whole in (False, True):
            try:
                found = await self.diagnostics(document, whole)
            except Superseded:
                return
            if self.documents.get(document.uri) is not document or (document.version, document.asked) != (
                version,
                asked,
            ):
                return
            if found != told:
                told = found
                self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(document.uri, found, version))

    async def pulled(self, document: Document) -> list[types.Diagnostic]:
        """What is found in a document that a client asks about: soon, where the client can be told to come again for the rest."""
        if not self.can("workspace.diagnostics.refresh_support"):
            return await self.diagnostics(document, whole=True)
        found = await self.diagnostics(document, whole=False)
        if not document.followed:
            document.followed = True
            self._later(self._follow(document, found))
        return found

    async def _follow(self, document: Document, told: list[types.Diagnostic]) -> None:
        """Have the client ask again once more is found than it was ``told``."""
        try:
            found = await self.diagnostics(document, whole=True)
        except Superseded:
            return
        if found != told:
            await self.workspace_diagnostic_refresh_async(None)

    def _later(self, work: Any) -> None:
        async def run() -> None:
            try:
                await work
            except Exception as error:  # of no request, so that nobody else hears of it
                self.window_log_message(types.LogMessageParams(types.MessageType.Warning, f"kernlint: {error}"))

        task = asyncio.ensure_future(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def tell(self, error: UsageError) -> None:
        """Show what is wrong with the configuration, once."""
        text = f"kernlint: {error}"
        if text != self._last_note:
            self._last_note = text
            self.window_show_message(types.ShowMessageParams(types.MessageType.Error, text))

    # -- answers ---------------------------------------------------------------------------------------------------

    async def diagnostics(self, document: Document, whole: bool) -> list[types.Diagnostic]:
        """What is found in a document: all of it, or what is found soon."""
        try:
            found = await (document.findings() if whole else document.soon())
        except UsageError as error:  # the configuration is wrong, which is no fault of the document
            self.tell(error)
            return []
        except KernlintError as error:
            found = (ANALYSIS_FAILED.at(document.path, str(error)),)
        positions = document.positions(self.encoding)
        return [self.diagnostic(finding, positions, document.uri) for finding in found]

    def diagnostic(self, finding: Finding, positions: Positions, uri: str) -> types.Diagnostic:
        message = finding.message
        if finding.gain is not None:
            numbers = finding.gain.scopes.get("gpu") or finding.gain.scopes.get("call") or {}
            if numbers.get("speedup", 1.0) >= MIN_GAIN.default:
                message += f" (predicted {numbers['low']:.2g} to {numbers['high']:.2g}x on {finding.gain.device})"
        if finding.advice:
            message += f"\n{finding.advice}"
        related = None
        if self.can("text_document.publish_diagnostics.related_information") and finding.evidence:
            here = types.Location(uri, positions.range(finding.place))
            related = [types.DiagnosticRelatedInformation(here, text) for text in finding.evidence]
        return types.Diagnostic(
            range=positions.range(finding.place),
            message=message,
            severity=_SEVERITY[finding.severity],
            code=finding.code,
            code_description=types.CodeDescription(rule_url(finding.code)),
            source=SOURCE,
            tags=[_TAGS[finding.name]] if finding.name in _TAGS else None,
            related_information=related,
            data={"fingerprint": finding.fingerprint, "name": finding.name},
        )

    async def actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        document = self.document(params.text_document.uri)
        wanted = params.context.only
        found: list[types.CodeAction] = []
        if _wants(wanted, types.CodeActionKind.QuickFix):
            found += await self._quick_fixes(document, params)
        if (wanted and _wants(wanted, FIX_ALL)) or (not wanted and self._resolves):
            found += await self._fix_all(document)
        return found

    async def _quick_fixes(self, document: Document, params: types.CodeActionParams) -> list[types.CodeAction]:
        first, last = params.range.start.line + 1, params.range.end.line + 1
        here = [f for f in await document.findings() if touches(f.place, first, last)]
        if not here:
            return []
        fixes = {f.fingerprint: f for f in await document.fixable()}
        positions = document.positions(self.encoding)
        actions = []
        for finding in here:
            made = fixes.get(finding.fingerprint)
            if made is None or made.fix is None:
                continue
            safe = made.fix.applicability == "safe"
            note = "" if safe else " (unsafe: may change results)"
            actions.append(
                types.CodeAction(
                    f"{finding.code}: {made.fix.message}{note}",
                    types.CodeActionKind.QuickFix,
                    [self.diagnostic(finding, positions, document.uri)],
                    is_preferred=safe,
                    edit=self._edit(document, [positions.edit(edit) for edit in made.fix.edits]),
                )
            )
        return actions + await self._suppressions(document, [f for f in here if f.category != "diagnostic"], positions)

    async def _suppressions(
        self, document: Document, found: Sequence[Finding], positions: Positions
    ) -> list[types.CodeAction]:
        edits: list[list[types.TextEdit]] = [[] for _ in found]
        if found and not self.options.asks_for_reason:
            edits = await document.suppressions(found, self.options.reason, self.encoding)
        actions = []
        for finding, change in zip(found, edits):
            title = f"{finding.code}: suppress with a reason"
            if not self.options.asks_for_reason and not change:
                continue
            action = types.CodeAction(
                title, types.CodeActionKind.QuickFix, [self.diagnostic(finding, positions, document.uri)]
            )
            if self.options.asks_for_reason:
                action.command = types.Command(
                    title, ASK_REASON, arguments=[document.uri, finding.fingerprint, finding.code]
                )
            else:
                action.edit = self._edit(document, change)
            actions.append(action)
        return actions

    @property
    def _resolves(self) -> bool:
        """Whether the client asks for the edit of an action when it needs it."""
        resolved = get_capability(
            self.client_capabilities, "text_document.code_action.resolve_support.properties", None
        )
        return "edit" in (resolved or ())

    async def _fix_all(self, document: Document) -> list[types.CodeAction]:
        action = types.CodeAction(
            "kernlint: make all safe fixes", FIX_ALL, data={"uri": document.uri, "version": document.version}
        )
        if self._resolves:
            return [action] if document.concerns_us else []
        edits = await document.all_fixed(self.encoding)
        action.edit = self._edit(document, edits)
        return [action] if edits else []

    async def resolved(self, action: types.CodeAction) -> types.CodeAction:
        if action.kind == FIX_ALL and isinstance(action.data, dict):
            document = self.document(str(action.data.get("uri")))
            if document.version != action.data.get("version"):
                raise Superseded
            action.edit = self._edit(document, await document.all_fixed(self.encoding))
        return action

    def _edit(self, document: Document, edits: list[types.TextEdit]) -> types.WorkspaceEdit:
        if self.can("workspace.workspace_edit.document_changes"):
            identifier = types.OptionalVersionedTextDocumentIdentifier(document.uri, document.version)
            return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(identifier, list(edits))])
        return types.WorkspaceEdit({document.uri: edits})

    async def suppress(self, uri: str, fingerprint: str, reason: str) -> None:
        """Suppress a finding of an open document for ``reason``, through an edit that the client applies."""
        document = self.document(uri)
        found = [f for f in await document.findings() if f.fingerprint == fingerprint]
        reason = " ".join(reason.split()) or self.options.reason
        edits = await document.suppressions(found[:1], reason, self.encoding) if found else []
        if not edits or not edits[0]:
            raise JsonRpcException("the finding cannot be suppressed by a comment", code=-32803)  # RequestFailed
        await self.workspace_apply_edit_async(
            types.ApplyWorkspaceEditParams(self._edit(document, edits[0]), "suppress a finding")
        )

    async def hover(self, params: types.HoverParams) -> types.Hover | None:
        document = self.document(params.text_document.uri)
        positions = document.positions(self.encoding)
        line = params.position.line
        column = positions.column(params.position)
        for match in _CODE.finditer(positions.line(line)):
            if "kernlint:" in positions.line(line) and match.start() <= column <= match.end():
                return self._shown(await self._pages([match.group()]))
        here = [
            f.code
            for f in (await document.so_far()).findings
            if (f.place.line, f.place.column) <= (line + 1, column + 1) < (f.place.end_line, f.place.end_column)
            or (f.place.line, f.place.column) == (line + 1, column + 1)
        ]
        parts = []
        # In the body of a kernel its budget would be in the way of everything else; its head is where one looks for it.
        if here or "def " in positions.line(line):
            note = kernel_at(await document.notes(), line + 1)
            if note is not None and (here or _is_name(positions.line(line), column, note.name)):
                parts.append(note.markdown)
        return self._shown([*await self._pages(dict.fromkeys(here)), *parts])

    async def _pages(self, codes: Iterable[str]) -> list[str]:
        pages = []
        for code in codes:
            try:
                pages.append(str(await self.fast.ask(rule_page, {"code": code}, TIMEOUT_S, patient=True)).rstrip())
            except KernlintError:  # a code that there is none of
                continue
        return pages

    def _shown(self, parts: Sequence[str]) -> types.Hover | None:
        if not parts:
            return None
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, "\n\n---\n\n".join(parts)))

    async def lenses(self, params: types.CodeLensParams) -> list[types.CodeLens]:
        document = self.document(params.text_document.uri)
        if not self.options.code_lens:
            return []
        gains: dict[str, float] = {}
        for finding in await document.findings():
            if finding.gain is not None and "gpu" in finding.gain.scopes:
                gain = finding.gain.scopes["gpu"]["speedup"]
                gains[finding.kernel] = max(gain, gains.get(finding.kernel, 1.0))
        lenses = []
        for note in await document.notes():
            title = note.title(gains.get(note.name, 1.0))
            if title:
                at = types.Position(note.first_line - 1, 0)
                lenses.append(types.CodeLens(types.Range(at, at), types.Command(title, "")))
        return lenses

    def close(self) -> None:
        self.fast.close()
        self.slow.close()


def _wants(only: Sequence[str] | None, kind: str) -> bool:
    """Whether actions of ``kind`` are asked for: by it or one of the kinds that it is of."""
    return not only or any(kind == wanted or kind.startswith(f"{getattr(wanted, 'value', wanted)}.") for wanted in only)


def _is_name(line: str, column: int, name: str) -> bool:
    """Whether ``column`` of ``line`` is in the word ``name``."""
    return any(match.start() <= column <= match.end() for match in re.finditer(rf"\b{re.escape(name)}\b", line))


def _text(value: object) -> str | None:
    return value.strip() or None if isinstance(value, str) else None


def _texts(value: object) -> tuple[str, ...] | None:
    """A list of selectors, or one text of several; None where there is none."""
    if isinstance(value, str):
        value = value.split(",")
    found = tuple(item.strip() for item in value if isinstance(item, str)) if isinstance(value, list) else ()
    return tuple(item for item in found if item) or None


def plain(value: Any) -> Any:
    """JSON as lists and dictionaries: the protocol library hands over what it knows no type of as objects."""
    if isinstance(value, (list, tuple)) and not hasattr(value, "_asdict"):
        return [plain(item) for item in value]
    if hasattr(value, "_asdict"):
        return {name: plain(item) for name, item in value._asdict().items()}
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return value


def result_id(found: Sequence[types.Diagnostic]) -> str:
    """What names these diagnostics: equal ones have equal names, so that what has not changed need not be sent."""
    text = json.dumps([repr(diagnostic) for diagnostic in found])
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
