"""``kernlint server`` as a real client process sees it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from support.late import Late, needs
from support.lint import DOT, KERNEL

if TYPE_CHECKING:
    from lsprotocol import types
    from support.editor import Editor
else:
    types = Late("lsprotocol.types")
editing, exceptions = Late("support.editor"), Late("pygls.exceptions")
pytestmark = needs("pygls", "lsp")

_T = TypeVar("_T")
Run = Callable[[Awaitable[Any]], Any]

FAKE = (str(Path(__file__).parents[1] / "support" / "fake_server.py"),)
KL101_LINE = KERNEL.split("\n").index(DOT)


@contextmanager
def session(folder: Path, **options: Any) -> Iterator[tuple[Editor, Run]]:
    """A client and what runs its coroutines, so that one server serves several tests."""
    loop = asyncio.new_event_loop()
    context = editing.editor(folder, **options)
    try:
        yield loop.run_until_complete(context.__aenter__()), loop.run_until_complete
    finally:
        loop.run_until_complete(context.__aexit__(None, None, None))
        loop.close()


@pytest.fixture(scope="module")
def pulling(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Editor, Run, Path]]:
    folder = tmp_path_factory.mktemp("pulling")
    with session(folder) as (client, run):
        yield client, run, folder


@pytest.fixture(scope="module")
def able(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Editor, Run, Path]]:
    """A client that counts in UTF-8, resolves actions and asks for reasons, and wants no lenses at first."""
    folder = tmp_path_factory.mktemp("able")
    can = editing.capabilities(resolve=True, encodings=["utf-8"])
    with session(folder, client=can, options={"asksForReason": True, "codeLens": False}) as (client, run):
        yield client, run, folder


@pytest.fixture(scope="module")
def fake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Editor, Run]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAKE_TIMEOUT_S", "2")
        with session(tmp_path_factory.mktemp("fake"), command=FAKE) as found:
            yield found


def everything() -> types.Range:
    return types.Range(types.Position(0, 0), types.Position(100, 0))


def codes(diagnostics: list[types.Diagnostic]) -> list[Any]:
    return [diagnostic.code for diagnostic in diagnostics]


def edits_of(action: types.CodeAction, uri: str) -> list[types.TextEdit]:
    assert action.edit is not None
    if action.edit.changes is not None:
        return list(action.edit.changes[uri])
    (change,) = action.edit.document_changes or ()
    assert isinstance(change, types.TextDocumentEdit)
    assert change.text_document.uri == uri
    return [edit for edit in change.edits if isinstance(edit, types.TextEdit)]


# -- diagnostics ------------------------------------------------------------------------------------------------------


def test_a_client_that_pulls_is_answered_and_nothing_is_pushed(pulling):
    client, run, folder = pulling
    uri = (folder / "pulled.py").as_uri()
    client.open(uri, KERNEL)
    report = run(client.pull(uri))
    assert report.kind == "full"
    (found,) = (d for d in report.items if d.code == "KL101")
    assert (found.source, found.severity) == ("kernlint", types.DiagnosticSeverity.Warning)
    assert found.range.start == types.Position(KL101_LINE, DOT.index("a.to("))
    assert "predicted" in found.message
    assert "int8" in found.message
    assert found.related_information

    assert run(client.pull(uri, report.result_id)).kind == "unchanged"
    client.edit(uri, KERNEL + "\n# nothing that matters\n")
    assert run(client.pull(uri, report.result_id)).kind == "unchanged"
    client.edit(uri, "\n" + KERNEL)
    moved = run(client.pull(uri, report.result_id))
    assert moved.kind == "full"
    assert [d.range.start.line for d in moved.items if d.code == "KL101"] == [KL101_LINE + 1]
    client.edit(uri, "x = 1\n")
    assert not run(client.pull(uri)).items
    assert client.published == {}


def test_a_client_that_cannot_pull_is_told_of_every_version(tmp_path):
    for name in ("libcst", "pygls", "triton"):  # a workspace is read, and nothing of it is imported
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')\n")
    with session(tmp_path, client=editing.capabilities(pull=False)) as (client, run):
        uri = (tmp_path / "pushed.py").as_uri()
        client.open(uri, KERNEL)
        run(client.pushed(uri, 1, "KL101"))
        for _ in range(5):  # faster than they are answered: only the last one counts
            client.edit(uri, KERNEL.replace(".to(tl.float32)", ""))
        assert "KL101" not in codes(run(client.pushed(uri, 6)))
        run(client.all_found(uri))
        assert "KL101" not in {d.code for told in client.published[uri] for d in told.diagnostics if told.version == 6}
        count = len(client.published[uri])
        client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))
        run(asyncio.sleep(0.5))
        assert len(client.published[uri]) == count + 1
        assert not client.published[uri][-1].diagnostics


@pytest.mark.parametrize(("encoding", "units"), [("utf-16", 2 * 2 + 1), ("utf-8", 2 * 4 + 2), ("utf-32", 2 + 1)])
def test_positions_count_what_the_client_counts(request, tmp_path, encoding, units):
    source = KERNEL.replace(DOT, f'        "😀😀é"; {DOT.strip()}')
    with ExitStack() as stack:
        if encoding == "utf-32":
            client, run = stack.enter_context(session(tmp_path, client=editing.capabilities(encodings=[encoding])))
        else:
            client, run, _ = request.getfixturevalue("pulling" if encoding == "utf-16" else "able")
        uri = (tmp_path / "k.py").as_uri()
        assert client.capabilities.position_encoding == encoding
        client.open(uri, source)
        (found,) = (d for d in run(client.pull(uri)).items if d.code == "KL101")
        assert found.range.start.character == len('        "') + units + len('"; acc += tl.dot(')
        page = run(client.hover(uri, KL101_LINE, found.range.start.character + 2))
        assert "int8-upcast-before-dot" in page
        assert run(client.hover(uri, KL101_LINE, 10)) == ""


def test_wrong_uses_of_the_language_are_found_as_they_are_typed(pulling):
    """What the one other editor extension for Triton looks for: sizes that are no powers of two, shapes of dots, old names."""
    client, run, folder = pulling
    uri = (folder / "api.py").as_uri()
    client.open(
        uri,
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef kernel(x_ptr, y_ptr):\n"
        "    i = tl.arange(0, 100)\n"
        "    x = tl.load(x_ptr + i)\n"
        "    a = tl.zeros((16, 32), tl.float16)\n    b = tl.zeros((64, 16), tl.float16)\n"
        "    c = tl.dot(a, b)\n"
        "    d = tl.dot(a, tl.trans(a), allow_tf32=True)\n"
        "    tl.store(y_ptr + tl.program_id(0), tl.sum(c) + tl.sum(d) + tl.sum(x))\n",
    )
    items = run(client.pull(uri)).items
    assert {d.code for d in items if d.tags} == {"KL802"}
    found = {(d.code, d.range.start.line, d.severity) for d in items}
    # Warnings, as nothing in view launches the kernel; an error where it is launched.
    assert ("KL705", 6, types.DiagnosticSeverity.Warning) in found
    assert ("KL715", 10, types.DiagnosticSeverity.Warning) in found
    assert ("KL802", 11, types.DiagnosticSeverity.Information) in found


def test_documents_that_lie_nowhere_and_markdown_are_read_too(pulling):
    client, run, folder = pulling
    client.open("untitled:Untitled-1", KERNEL)
    assert "KL101" in codes(run(client.pull("untitled:Untitled-1")).items)
    uri = (folder / "page.md").as_uri()
    client.open(uri, f"# Page\n\n```python\n{KERNEL}```\n", "markdown")
    (found,) = (d for d in run(client.pull(uri)).items if d.code == "KL101")
    assert found.range.start.line == KL101_LINE + 3
    client.open((folder / "x.c").as_uri(), KERNEL, "c")
    assert not run(client.pull((folder / "x.c").as_uri())).items
    with pytest.raises(exceptions.JsonRpcException, match="not an open document"):
        run(client.pull("file:///never/opened.py"))


# -- actions ----------------------------------------------------------------------------------------------------------


def test_quick_fixes_mend_and_suppress(pulling):
    client, run, folder = pulling
    uri = (folder / "actions.py").as_uri()
    client.open(uri, KERNEL)
    here = types.Range(types.Position(KL101_LINE, 10), types.Position(KL101_LINE, 10))
    actions = run(client.actions(uri, here))
    titles = [action.title for action in actions]
    assert all(action.diagnostics and action.diagnostics[0].code in action.title for action in actions)
    fix = next(a for a in actions if a.title.startswith("KL101: ") and "suppress" not in a.title)
    assert fix.is_preferred
    fixed = editing.applied(KERNEL, edits_of(fix, uri))
    assert "tl.dot(a, b)" in fixed
    suppress = titles.index("KL101: suppress with a reason")
    suppressed = editing.applied(KERNEL, edits_of(actions[suppress], uri))
    assert "# kernlint: ignore[KL101] TODO: say why\n" + DOT in suppressed
    for text in (fixed, suppressed):
        client.edit(uri, text)
        assert "KL101" not in codes(run(client.pull(uri)).items)
    assert run(client.actions(uri, types.Range(types.Position(0, 0), types.Position(0, 0)))) == []


def test_everything_safe_is_fixed_at_once(able):
    client, run, folder = able
    uri = (folder / "safe.py").as_uri()
    client.open(uri, KERNEL)
    (action,) = run(client.actions(uri, everything(), only=["source.fixAll"]))
    assert action.kind == "source.fixAll.kernlint"
    assert action.edit is None
    resolved = run(client.code_action_resolve_async(action))
    client.edit(uri, editing.applied(KERNEL, edits_of(resolved, uri)))
    assert "KL101" not in codes(run(client.pull(uri)).items)
    with pytest.raises(exceptions.JsonRpcException):  # of a version that is gone
        run(client.code_action_resolve_async(action))


def test_fix_all_carries_its_edit_where_the_client_cannot_resolve(pulling):
    client, run, folder = pulling
    uri = (folder / "all.py").as_uri()
    client.open(uri, KERNEL)
    (action,) = run(client.actions(uri, everything(), only=["source.fixAll.kernlint"]))
    assert "tl.dot(a, b)" in editing.applied(KERNEL, edits_of(action, uri))
    assert run(client.actions(uri, everything(), only=["source.organizeImports"])) == []


def test_a_reason_is_asked_for_where_the_client_can_ask(able):
    client, run, folder = able
    uri = (folder / "reason.py").as_uri()
    client.open(uri, KERNEL)
    here = types.Range(types.Position(KL101_LINE, 10), types.Position(KL101_LINE, 10))
    action = next(a for a in run(client.actions(uri, here)) if a.title == "KL101: suppress with a reason")
    assert action.edit is None
    assert action.command is not None
    assert action.command.command == "kernlint.askReason"
    of_uri, fingerprint, code = action.command.arguments or ()
    assert (of_uri, code) == (uri, "KL101")
    command = types.ExecuteCommandParams("kernlint.suppress", [uri, fingerprint, "scales are\nnot powers of two"])
    run(client.workspace_execute_command_async(command))
    ((change,),) = (edit.document_changes or [edit] for edit in client.applied)
    assert "# kernlint: ignore[KL101] scales are not powers of two" in str(change)
    with pytest.raises(exceptions.JsonRpcException, match="cannot be suppressed"):
        run(
            client.workspace_execute_command_async(
                types.ExecuteCommandParams("kernlint.suppress", [uri, "no such", "why"])
            )
        )


# -- hover and lens ---------------------------------------------------------------------------------------------------


def test_the_time_of_a_kernel_stands_above_it_and_its_waterfall_over_its_name(pulling):
    client, run, folder = pulling
    uri = (folder / "lens.py").as_uri()
    client.open(uri, KERNEL)
    (lens,) = run(client.lenses(uri))
    head = KERNEL.split("\n").index("@triton.jit")
    assert lens.range.start.line == head
    assert " us on h100-sxm, " in lens.command.title
    budget = run(client.hover(uri, head + 1, 6))
    assert "**product**" in budget
    assert "| achievable |" in budget
    assert "| bound |" in budget
    assert run(client.hover(uri, head + 2, 6)) == ""
    page = run(client.hover(uri, KL101_LINE, DOT.index("a.to(") + 1))
    assert page.startswith("# int8-upcast-before-dot (KL101)")
    assert "**product**" in page
    client.edit(uri, KERNEL.replace(DOT, f"{DOT}  # kernlint: ignore[KL101] as asked"))
    comment = f"{DOT}  # kernlint: ignore[KL101]"
    assert run(client.hover(uri, KL101_LINE, len(comment) - 3)).startswith("# int8-upcast-before-dot")


def test_no_lens_where_sizes_are_open_or_none_is_wanted(able):
    client, run, folder = able
    uri = (folder / "lens.py").as_uri()
    client.open(uri, KERNEL)
    assert run(client.lenses(uri)) == []
    said = types.DidChangeConfigurationParams({"kernlint": {"asksForReason": True, "codeLens": True}})
    client.workspace_did_change_configuration(said)
    assert len(run(client.lenses(uri))) == 1
    client.edit(uri, KERNEL.replace('torch.empty((2048, 2048), device="cuda", dtype=torch.int8)', "a"))
    client.edit(uri, KERNEL.replace("a = torch", "A = torch").replace("(16, 16)](a, b, c, 2048", "(n, n)](a, b, c, n"))
    assert run(client.lenses(uri)) == []


# -- settings ---------------------------------------------------------------------------------------------------------


def test_configuration_is_reloaded(pulling):
    client, run, folder = pulling
    below = folder / "configured"
    below.mkdir()
    config, uri = below / "kernlint.toml", (below / "k.py").as_uri()

    def configure(text: str) -> list[types.Diagnostic]:
        config.write_text(text)
        before = client.refreshed
        event = types.FileEvent(config.as_uri(), types.FileChangeType.Changed)
        client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
        found = run(client.pull(uri)).items
        assert client.refreshed > before
        return found

    client.open(uri, KERNEL)
    assert "KL101" in codes(run(client.pull(uri)).items)
    assert types.WORKSPACE_DID_CHANGE_WATCHED_FILES in client.watched
    assert "KL101" not in codes(configure('ignore = ["KL101"]'))
    (found,) = (d for d in configure('severity = { KL101 = "error" }') if d.code == "KL101")
    assert found.severity == types.DiagnosticSeverity.Error
    assert not configure('selekt = ["KL101"]')
    assert "did you mean select?" in run(client.told("selekt"))
    assert not configure('exclude = ["k.py"]')
    assert "KL101" in codes(configure(""))


def test_what_the_editor_says_comes_on_top(tmp_path):
    (tmp_path / "kernlint.toml").write_text('ignore = ["KL101"]')
    with session(tmp_path, options={"settings": {"select": ["KL101"], "device": "a100"}}) as (client, run):
        uri = (tmp_path / "k.py").as_uri()
        client.open(uri, KERNEL)
        items = run(client.pull(uri)).items
        assert codes(items) == ["KL101"]
        assert "on a100" in items[0].message
        said = types.DidChangeConfigurationParams({"kernlint": {"device": "no such device"}})
        client.workspace_did_change_configuration(said)
        assert not run(client.pull(uri)).items
        assert "no such device" in run(client.told("no such device"))


def test_a_changed_reference_is_read_again(pulling):
    client, run, folder = pulling
    below = folder / "referred"
    below.mkdir()
    (below / "kernlint.toml").write_text('[references]\n"k.py" = "model.py"\n')
    model, uri = below / "model.py", (below / "k.py").as_uri()
    model.write_text("x = 1\n")
    client.open(uri, KERNEL)
    assert "KL902" not in codes(run(client.pull(uri)).items)
    model.write_text("def f(:\n")
    client.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(model.as_uri())))
    assert "KL901" in codes(run(client.pull(uri)).items)


# -- what goes wrong --------------------------------------------------------------------------------------------------

JIT = "import triton  # jit\n"


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("# crash", "SIGSEGV"),
        ("# exit", "status 7"),
        ("# bug", "internal error, please report it: ValueError: two lines"),
        ("# memory", "GiB of memory"),
        ("# hang", "took longer than 2 s"),
        ("# spin", "took longer than 2 s"),
    ],
)
def test_the_server_survives_its_analysis(fake, tmp_path, what, said):
    client, run = fake
    uri = (tmp_path / "k.py").as_uri()
    client.open(uri, JIT + what)
    (failed,) = run(client.pull(uri)).items
    assert failed.code == "KL902"
    assert said in failed.message
    # Editors show a failed request as a message, at every move of the cursor.
    assert run(client.actions(uri, everything())) == []
    assert run(client.hover(uri, 0, 0)) == ""
    client.edit(uri, JIT)
    assert codes(run(client.pull(uri)).items) == ["KL101"]
    assert client.messages == []


def test_nothing_that_is_printed_gets_between_the_messages(fake, tmp_path):
    client, run = fake
    uri = (tmp_path / "print.py").as_uri()
    client.open(uri, JIT + "# print")
    assert codes(run(client.pull(uri)).items) == ["KL101"]


def test_a_question_that_is_cancelled_or_overtaken_ends_at_once(tmp_path):
    with session(tmp_path, command=FAKE) as (client, run):
        uri = (tmp_path / "k.py").as_uri()
        client.open(uri, JIT)
        run(client.pull(uri))  # a worker is there

        async def cancel() -> None:
            client.edit(uri, JIT + "# spin")
            asked = asyncio.ensure_future(client.pull_at_once(uri))
            await asyncio.sleep(0.3)
            (number,) = client.protocol._request_futures
            client.cancel_request(types.CancelParams(number))
            with pytest.raises(exceptions.JsonRpcException) as caught:
                await asked
            assert caught.value.code == -32800

        async def overtake() -> None:
            client.edit(uri, JIT + "# spin")
            asked = asyncio.ensure_future(client.pull_at_once(uri))
            await asyncio.sleep(0.3)
            client.edit(uri, JIT + "# calm")
            with pytest.raises(exceptions.JsonRpcException) as caught:
                await asked
            assert caught.value.code == -32802

        for ending in (cancel, overtake):
            run(ending())
            begun = time.monotonic()
            client.edit(uri, JIT)
            assert codes(run(client.pull(uri)).items) == ["KL101"]
            assert time.monotonic() - begun < 20


@pytest.mark.parametrize("text", ["x = " + "(" * 20_000, "x = tl.load(\n" * 5_388, "def f(:\n"])
def test_source_that_no_parser_takes_is_a_finding(pulling, text):
    client, run, folder = pulling
    uri = (folder / f"hostile{len(text)}.py").as_uri()
    client.open(uri, JIT + text)
    assert set(codes(run(client.pull(uri)).items)) <= {"KL901", "KL902"}
    assert run(client.lenses(uri)) == []
    assert run(client.hover(uri, 0, 0)) == ""
    client.edit(uri, KERNEL)
    assert "KL101" in codes(run(client.pull(uri)).items)


def test_halves_of_characters_and_odd_line_ends_do_not_confuse(pulling):
    client, run, folder = pulling
    uri = (folder / "odd.py").as_uri()
    client.open(uri, '"\u2028 \x0c \x1c"\r\n' + KERNEL)
    (found,) = (d for d in run(client.pull(uri)).items if d.code == "KL101")
    assert found.range.start.line == KL101_LINE + 1


# -- coming and going -------------------------------------------------------------------------------------------------


def test_a_client_that_is_gone_is_not_waited_for(tmp_path):
    done = subprocess.run([sys.executable, "-m", "kernlint", "server"], input=b"", cwd=tmp_path, timeout=60)
    assert done.returncode == 0


def test_what_is_missing_is_named(tmp_path):
    program = "import sys; sys.modules['pygls'] = None; from kernlint.cli.main import main; sys.exit(main(['server']))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert done.returncode == 2
    assert "pip install 'kernlint[lsp]'" in done.stderr
    assert len(done.stderr.splitlines()) == 1
