"""``kernlint mcp`` as the SDK's own client sees it, in this process and over the pipes of a real one."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from jsonschema import Draft202012Validator
from support.late import Late, needs
from support.lint import KERNEL

from kernlint import __version__, schema

if TYPE_CHECKING:
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters
mcp, stdio, exceptions = Late("mcp"), Late("mcp.client.stdio"), Late("mcp.shared.exceptions")
ours = Late("kernlint.server.mcp")
pytestmark = needs("mcp", "mcp")

_T = TypeVar("_T")

ROOT = Path(__file__).parents[2]
FAKE = Path(__file__).parents[1] / "support" / "fake_mcp.py"

#: The same product, its dot fed with int8.
MENDED = (
    KERNEL.replace("tl.dot(a.to(tl.float32), b.to(tl.float32))", "tl.dot(a, b)")
    .replace("dtype=tl.float32)\n    for", "dtype=tl.int32)\n    for")
    .replace("cols[None, :], acc)", "cols[None, :], acc.to(tl.float32))")
)
NAMES = ["analyze", "headroom", "explain_rule", "check_source", "fix_source", "compare"]


def ask(talk: Callable[[Client], Awaitable[_T]], server: Any = None, **options: Any) -> _T:
    """What ``talk`` returns of a session with ``server``, else with one in this process."""

    async def session() -> _T:
        async with mcp.Client(server or ours.make_server(), **options) as client:
            return await asyncio.wait_for(talk(client), 300)

    return asyncio.run(session())


def over_stdio(*command: str, cwd: Path) -> StdioServerParameters:
    return stdio.StdioServerParameters(command=sys.executable, args=[*command], cwd=cwd)


def text_of(result: Any) -> str:
    (block,) = result.content
    return str(block.text)


def test_tools_say_what_they_take_and_return():
    listed = ask(lambda client: client.list_tools()).tools
    assert [tool.name for tool in listed] == NAMES
    for tool in listed:
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint
        assert tool.annotations.open_world_hint is False
        for of in (tool.input_schema, tool.output_schema):
            Draft202012Validator.check_schema(of)
            assert of["type"] == "object"
            # A client resolves nothing that lies elsewhere.
            assert set(re.findall(r'"\$ref": "(#?)[^"]*"', json.dumps(of))) <= {"#"}
        assert len(json.dumps(tool.output_schema)) < 30_000
        assert len(tool.description or "") < 400
    assert listed[0].output_schema["required"] == schema.load("verdict")["required"]


def test_the_agent_is_told_how_to_go_on():
    async def talk(client: Client) -> Any:
        return client.server_info, client.instructions

    info, instructions = ask(talk)
    assert (info.name, info.version) == ("kernlint", __version__)
    assert "stop when `headroom_after` is below 1.2" in instructions


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_loop_of_judging_and_mending(mode):
    """Each answer fits its schema: the client checks that."""

    async def talk(client: Client) -> list[Any]:
        task = {"source": KERNEL, "device": "h100-sxm"}
        verdict = await client.call_tool("analyze", task)
        fixed = await client.call_tool("fix_source", task)
        compared = await client.call_tool(
            "compare", {"before": KERNEL, "after": fixed.structured_content["source"], "device": "h100-sxm"}
        )
        room = await client.call_tool("headroom", task)
        return [verdict, fixed, compared, room]

    verdict, fixed, compared, room = ask(talk, mode=mode)
    assert not any(result.is_error for result in (verdict, fixed, compared, room))
    assert verdict.structured_content["worth_optimizing"] == "yes"
    assert verdict.structured_content["details"]["rule"]["code"] == "KL101"
    assert text_of(verdict).startswith("worth optimizing: yes\nreason: ")
    (change,) = fixed.structured_content["applied"]
    assert (change["code"], change["applicability"]) == ("KL101", "safe")
    assert "tl.dot(a, b)" in fixed.structured_content["source"]
    assert fixed.structured_content["diff"].startswith("--- kernel.py\n+++ kernel.py\n")
    assert compared.structured_content["answer"] == "faster"
    assert compared.structured_content["speedup"]["low"] > 1
    assert compared.structured_content["headroom_after"] < compared.structured_content["headroom_before"]
    assert text_of(compared).startswith("faster: ")
    assert room.structured_content["ratio"] == compared.structured_content["headroom_before"]
    assert [kernel["name"] for kernel in room.structured_content["kernels"]] == ["product"]
    assert room.structured_content["headroom"]["causes"]


def test_what_a_comparison_can_say():
    async def talk(client: Client) -> list[Any]:
        pairs = [
            (MENDED, KERNEL),
            (KERNEL, KERNEL),
            (KERNEL, KERNEL.replace("BM=128", "BM=96")),
            (KERNEL, KERNEL.replace("c = torch.empty((2048, 2048)", "c = torch.empty((2048, 1024)")),
            (
                KERNEL,
                KERNEL.replace("def multiply", "def other")
                + KERNEL[KERNEL.index("def multiply") :].replace("multiply", "third"),
            ),
        ]
        return [await client.call_tool("compare", {"before": one, "after": other}) for one, other in pairs]

    slower, unclear, wrong, other, lost = ask(talk)
    assert slower.structured_content["answer"] == "slower"
    assert unclear.structured_content["answer"] == "unclear"
    assert unclear.structured_content["speedup"]["middle"] == 1
    assert wrong.structured_content["answer"] == "wrong"
    assert any(error.startswith("KL705") for error in wrong.structured_content["new_errors"])
    assert other.structured_content["answer"] == "wrong"
    assert other.structured_content["same_outputs"] is False
    assert lost.is_error
    assert "name one with `entry`" in text_of(lost)


def test_sizes_that_are_open_are_named_and_can_be_given():
    source = KERNEL.replace("def multiply(a, b):", "N = 2048\n\n\ndef multiply(a, b, n):").replace(
        "[(16, 16)](a, b, c, 2048", "[(n // 128, 16)](a, b, c, n"
    )

    async def talk(client: Client) -> list[Any]:
        asked = [{"source": source}, {"source": source, "assume": ["n=2048"]}]
        return [await client.call_tool("headroom", one) for one in asked]

    open_, given = ask(talk)
    assert open_.structured_content["ratio"] is None
    assert open_.structured_content["missing"] == ["n"]
    assert "`assume`" in text_of(open_)
    assert given.structured_content["ratio"] > 1


def test_check_and_rules():
    async def talk(client: Client) -> list[Any]:
        return [
            await client.call_tool("check_source", {"source": KERNEL, "select": ["KL101"]}),
            await client.call_tool("check_source", {"source": KERNEL, "ignore": ["KL"], "device": "a100"}),
            await client.call_tool("check_source", {"source": "def f(:\n", "filename": "broken.py"}),
            await client.call_tool("explain_rule", {"rule": "int8-upcast-before-dot"}),
            await client.call_tool("explain_rule", {"rule": "KL901"}),
        ]

    found, nothing, broken, rule, diagnostic = ask(talk)
    (finding,) = found.structured_content["findings"]
    assert (finding["code"], finding["file"]) == ("KL101", "kernel.py")
    assert finding["fix"]["edits"]
    assert text_of(found).startswith(f"{finding['location']['line']}:")
    assert text_of(nothing) == "nothing found"
    assert broken.structured_content["errors"] == 1
    assert rule.structured_content["code"] == "KL101"
    assert rule.structured_content["page"] == text_of(rule)
    assert diagnostic.structured_content["category"] == "diagnostic"


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("analyze", {}, "'source' is a required property"),
        ("analyze", {"source": "x = 1"}, "no Triton kernel in it"),
        ("analyze", {"source": "def f(:"}, "syntax error"),
        ("analyze", {"source": "("}, "kernel.py:1"),
        ("analyze", {"source": "(" * 1_000_001}, "longer than 1,000,000 characters"),
        ("analyze", {"source": KERNEL, "filename": "../../etc/passwd"}, "filename: "),
        ("analyze", {"source": KERNEL, "path": "/etc/passwd"}, "'path' was unexpected"),
        ("analyze", {"source": KERNEL, "device": "h1000"}, "h1000"),
        ("analyze", {"source": KERNEL, "scope": "moon"}, "'moon' is not one of"),
        ("analyze", {"source": KERNEL, "set": {"NO_SUCH": 3}}, "NO_SUCH"),
        ("explain_rule", {"rule": "KL000"}, "KL000"),
        ("fix_source", {"source": KERNEL, "rules": ["nonsense"]}, "nonsense"),
        ("check_source", {"source": KERNEL, "select": ["nonsense"]}, "nonsense"),
    ],
)
def test_what_cannot_be_answered_is_said_in_one_line(tool, arguments, said):
    result = ask(lambda client: client.call_tool(tool, arguments))
    assert result.is_error
    assert said in text_of(result)
    assert text_of(result).startswith("error: ")
    assert len(text_of(result).splitlines()) == 1
    assert len(text_of(result)) < 1000


def test_a_tool_that_there_is_none_of():
    async def talk(client: Client) -> None:
        with pytest.raises(exceptions.MCPError, match="no tool named 'run'; there is analyze"):
            await client.call_tool("run", {})

    ask(talk)


def test_every_definition_is_in_one_of_the_tools():
    used = json.dumps([tool.output for tool in ours.make_tools().values()])
    assert all(f"mcp_{name}" in used or name.endswith("_answer") for name in schema.load("mcp")["$defs"])


# -- over the pipes of a process --------------------------------------------------------------------------------------


def test_over_stdio(tmp_path):
    for name in ("helper", "libcst", "mcp_types", "jsonschema"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')\n")
    source = f"import helper\n{KERNEL}"

    async def talk(client: Client) -> list[Any]:
        names = [tool.name for tool in (await client.list_tools()).tools]
        many = [client.call_tool("headroom", {"source": source, "device": device}) for device in ("h100-sxm", "a100")]
        return [names, *await asyncio.gather(*many)]

    names, h100, a100 = ask(talk, over_stdio("-m", "kernlint", "mcp", cwd=tmp_path))
    assert names == NAMES
    assert h100.structured_content["device"] == "h100-sxm"
    assert a100.structured_content["device"].startswith("a100")


def test_the_server_survives_its_analysis_and_shows_it_no_files(tmp_path):
    (tmp_path / "secret.py").write_text("")

    async def talk(client: Client) -> list[Any]:
        sources = ["# crash", "# hang", "# print", "calm"]
        return [await client.call_tool("analyze", {"source": source}) for source in sources]

    crash, hang, prints, calm = ask(talk, over_stdio(str(FAKE), cwd=tmp_path))
    assert all(result.is_error for result in (crash, hang, prints, calm))
    assert "SIGSEGV" in text_of(crash)
    assert "longer than 2 s" in text_of(hang)
    assert text_of(prints) == text_of(calm) == "error: files here: []"


def test_a_call_that_is_given_up_does_not_keep_the_others_waiting(tmp_path):
    async def talk(client: Client) -> str:
        await client.call_tool("analyze", {"source": "calm"})
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(client.call_tool("analyze", {"source": "# hang"}), 0.5)
        return text_of(await client.call_tool("analyze", {"source": "calm"}))

    assert ask(talk, over_stdio(str(FAKE), cwd=tmp_path)) == "error: files here: []"


def test_a_client_that_is_gone_is_not_waited_for(tmp_path):
    command = [sys.executable, "-m", "kernlint", "mcp"]
    done = subprocess.run(command, input=b"", cwd=tmp_path, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, b"")


def test_what_is_missing_is_named(tmp_path):
    program = "import sys; sys.modules['mcp'] = None; from kernlint.cli.main import main; sys.exit(main(['mcp']))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert done.returncode == 2
    assert "pip install 'kernlint[mcp]'" in done.stderr
    assert len(done.stderr.splitlines()) == 1
