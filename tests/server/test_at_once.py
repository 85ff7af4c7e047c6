"""What an edit is answered with at once, and how the rest follows."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.late import Late, needs
from support.lint import DOT, KERNEL

from kernlint.rules.base import NOT_ABOUT_SPEED
from kernlint.server.editing import Asked, findings, findings_at_once
from tests.server.test_lsp import KL101_LINE, codes, session

if TYPE_CHECKING:
    from lsprotocol import types
else:
    types = Late("lsprotocol.types")
editing, exceptions = Late("support.editor"), Late("pygls.exceptions")
pytestmark = needs("pygls", "lsp")

#: An error of the language, beside a finding that has a price.
WRONG = KERNEL.replace("ks = tl.arange(0, BK)", "ks = tl.arange(0, 100)")
MENDED = KERNEL.replace(".to(tl.float32)", "")


@pytest.fixture(scope="module")
def pulling(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with session(tmp_path_factory.mktemp("at-once")) as (client, run):
        yield client, run, tmp_path_factory.getbasetemp()


def keys(diagnostics: list[types.Diagnostic]) -> set[tuple[Any, str, int]]:
    return {(one.code, one.message, one.range.start.line) for one in diagnostics}


# -- a client that pulls ----------------------------------------------------------------------------------------------


def all_told(client: Any, run: Any, uri: str, first: list[types.Diagnostic]) -> list[types.Diagnostic]:
    """What the client has in the end: more than in the ``first`` answer only if it was asked to come again."""
    run(client.all_found(uri))
    whole = run(client.pull_at_once(uri)).items
    if keys(whole) != keys(first):
        run(client.asked_again(0))
    return list(whole)


def test_an_error_of_the_language_takes_no_price(tmp_path):
    first = findings_at_once(WRONG, Asked(str(tmp_path / "k.py"), isolated=True))
    assert not first.complete and "KL705" in {finding.code for finding in first.findings}


def test_an_error_is_in_the_first_answer_and_the_rest_is_asked_for(pulling):
    client, run, folder = pulling
    uri = (folder / "wrong.py").as_uri()
    client.open(uri, KERNEL)
    run(client.pull(uri))
    client.refreshed = 0
    client.edit(uri, WRONG)
    first = run(client.pull_at_once(uri)).items
    assert "KL705" in codes(first)
    assert keys(first) <= keys(all_told(client, run, uri, first))
    assert client.published == {}


def test_what_has_a_price_follows_and_comes_where_it_stands_now(pulling):
    client, run, folder = pulling
    uri = (folder / "moved.py").as_uri()
    client.open(uri, KERNEL)
    for text, line in ((KERNEL, KL101_LINE), ("x = 1\n" + KERNEL, KL101_LINE + 1), (KERNEL, KL101_LINE)):
        client.refreshed = 0
        client.edit(uri, text)
        first = run(client.pull_at_once(uri)).items
        assert [d.range.start.line for d in first if d.code == "KL101"] in ([], [line])
        whole = all_told(client, run, uri, first)
        assert [d.range.start.line for d in whole if d.code == "KL101"] == [line]


def test_a_finding_whose_ground_is_gone_is_never_shown(pulling):
    client, run, folder = pulling
    uri = (folder / "mended.py").as_uri()
    client.open(uri, KERNEL)
    assert "KL101" in codes(run(client.pull(uri)).items)
    client.edit(uri, MENDED)
    assert "KL101" not in codes(run(client.pull_at_once(uri)).items)
    assert "KL101" not in codes(run(client.pull(uri)).items)


def test_of_two_edits_in_quick_succession_the_last_one_is_answered(pulling):
    client, run, folder = pulling
    uri = (folder / "quick.py").as_uri()
    client.open(uri, KERNEL)
    run(client.pull_at_once(uri))  # what follows is being worked on when the edits come
    for text in (WRONG, MENDED, WRONG, KERNEL, MENDED):
        client.edit(uri, text)
    assert not {"KL101", "KL705"} & set(codes(run(client.pull_at_once(uri)).items))
    assert not {"KL101", "KL705"} & set(codes(run(client.pull(uri)).items))
    client.edit(uri, KERNEL)
    assert "KL101" in codes(run(client.pull(uri)).items)


def test_one_document_does_not_wait_for_all_of_another(pulling):
    client, run, folder = pulling
    for name in ("one", "other"):
        client.open((folder / f"{name}.py").as_uri(), KERNEL)
        run(client.pull_at_once((folder / f"{name}.py").as_uri()))
    for name in ("one", "other"):
        assert "KL101" in codes(run(client.pull((folder / f"{name}.py").as_uri())).items)


def test_a_client_that_cannot_be_asked_to_come_again_gets_all_at_once(tmp_path):
    with session(tmp_path, client=editing.capabilities(refresh=False)) as (client, run):
        uri = (tmp_path / "k.py").as_uri()
        client.open(uri, KERNEL)
        assert "KL101" in codes(run(client.pull_at_once(uri)).items)
        client.edit(uri, MENDED)
        assert "KL101" not in codes(run(client.pull_at_once(uri)).items)
        assert client.refreshed == 0


def test_the_lens_waits_for_what_it_says(pulling):
    client, run, folder = pulling
    uri = (folder / "lens.py").as_uri()
    client.open(uri, KERNEL)
    run(client.pull_at_once(uri))
    (before,) = run(client.lenses(uri))
    client.edit(uri, KERNEL.replace("2048, 2048, 2048, BM", "2048, 2048, 1024, BM"))
    run(client.pull_at_once(uri))
    (after,) = run(client.lenses(uri))
    assert before.command.title != after.command.title


# -- a client that is told --------------------------------------------------------------------------------------------


def test_a_client_that_is_told_hears_of_errors_first(tmp_path):
    with session(tmp_path, client=editing.capabilities(pull=False)) as (client, run):
        uri = (tmp_path / "k.py").as_uri()
        client.open(uri, KERNEL)
        run(client.pushed(uri, 1, "KL101"))
        client.edit(uri, WRONG)
        assert "KL705" in codes(run(client.pushed(uri, 2)))
        first = next(told for told in client.published[uri] if told.version == 2)
        assert "KL705" in codes(first.diagnostics)
        assert client.refreshed == 0


# -- coming and going -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pull", [True, False])
def test_a_client_may_leave_while_the_rest_is_worked_on(tmp_path, pull):
    begun = time.monotonic()
    with session(tmp_path, client=editing.capabilities(pull=pull)) as (client, run):
        uri = (tmp_path / "k.py").as_uri()
        client.open(uri, KERNEL)
        run(client.pull_at_once(uri) if pull else client.pushed(uri))
        begun = time.monotonic()
    assert time.monotonic() - begun < 30


def test_a_document_may_be_closed_while_the_rest_is_worked_on(pulling):
    client, run, folder = pulling
    uri = (folder / "closed.py").as_uri()
    client.open(uri, KERNEL)
    run(client.pull_at_once(uri))
    client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))
    with pytest.raises(exceptions.JsonRpcException, match="not an open document"):
        run(client.pull_at_once(uri))
    client.open(uri, KERNEL)
    assert "KL101" in codes(run(client.pull(uri)).items)
    assert client.messages == []


# -- the analysis -----------------------------------------------------------------------------------------------------

HOSTILE = {
    "empty": "",
    "no kernel": "import triton\n",
    "no Python": KERNEL + "def f(:\n",
    "an entry that raises": KERNEL + "\n\nraise SystemExit\n",
    "a suppression of nothing": KERNEL.replace(DOT, f"{DOT}  # kernlint: ignore[KL102] not here"),
    "a suppression that is wrong": KERNEL + "# kernlint: ignore[\n",
    "a kernel that nobody launches": WRONG.partition("\n\ndef multiply")[0],
    "sizes that are open": KERNEL.replace("    a = torch", "    A = torch").replace("    b = torch", "    B = torch"),
    "an error": WRONG,
}


ROOT = Path(__file__).parents[2]
PAIRS = ("gemm-int8-upcast-copy", "loop-launch-per-batch", "elementwise-ok", "cumsum-sequential")


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_the_two_halves_are_the_whole(text):
    holds(text, Asked("k.py", isolated=True))


@pytest.mark.parametrize("name", PAIRS)
def test_they_are_for_programs_with_references(tmp_path, name):
    folder = ROOT / "fixtures" / "pairs" / name
    (tmp_path / "kernlint.toml").write_text(f"[references]\n'before.py' = {str(folder / 'reference.py')!r}\n")
    text = (folder / "before.py").read_text()
    for edited in (text, f"# a line\n{text}"):
        holds(edited, Asked(str(tmp_path / "before.py")))


def test_they_are_for_a_page():
    holds((ROOT / "fixtures" / "seed" / "task.md").read_text(), Asked("task.md", isolated=True))


def holds(text: str, asked: Asked) -> None:
    """What is told at once is among all that is found, but for prices, and that is what is found in one go."""
    alone = findings(text, asked)
    first = findings_at_once(text, asked)
    whole = findings(text, asked)
    assert whole == alone
    assert first == whole or not first.complete
    known = {(f.code, f.place, f.severity, f.message): f for f in whole.findings}
    for finding in first.findings:
        same = known[finding.code, finding.place, finding.severity, finding.message]
        assert same == finding or (finding.gain is None and finding.category in NOT_ABOUT_SPEED)


def test_a_half_that_nobody_asks_the_rest_of_is_let_go():
    asked = Asked("k.py", isolated=True)
    assert not findings_at_once(KERNEL, asked).complete
    assert "KL101" not in {f.code for f in findings(MENDED, asked).findings}
    assert "KL101" in {f.code for f in findings(KERNEL, asked).findings}
