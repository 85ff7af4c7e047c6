"""``kernlint mcp``: the Model Context Protocol over standard input and output, for agents that write kernels.

The low-level server of the SDK is used, as the types of what tools return are kernlint's own JSON Schemas. Sources come as text:
no tool opens a file, and none changes anything.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types as types
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from kernlint.errors import KernlintError
from kernlint.records import dataclass
from kernlint.request import Request
from kernlint.schema import load
from kernlint.server import tools
from kernlint.server.tools import Answer
from kernlint.server.worker import Lane
from kernlint.version import __version__

#: Characters of one source; kernels have a hundredth of it.
MAX_SOURCE = 1_000_000

#: Seconds of the processor that a question may take.
TIMEOUT_S = 60.0

_INSTRUCTIONS = """\
kernlint judges Triton kernels without running them: what a call takes on a GPU, what it would take if it were well written, what \
holds it back and which change to make. Pass whole sources as text: the kernel with the Python that launches it and, where there is \
one, the PyTorch reference it replaces (its sizes and dtypes decide the answer).
A loop that works: `analyze`; make the change it plans (`fix_source` makes many of them); `compare` the old with the new version; \
keep it only where the answer is `faster`; stop when `headroom_after` is below 1.2. All times are predictions: measure the result \
on the device before you believe it."""


@dataclass(frozen=True)
class _Tool:
    """A tool: its name, what it is for, the JSON Schemas of its arguments and of what it returns, and what computes it, which is
    given the arguments and returns a function for a worker with its own; it may take ``patience`` times as long as a verdict."""

    name: str
    title: str
    description: str
    properties: dict[str, Any]
    required: tuple[str, ...]
    output: dict[str, Any]
    question: Callable[[Mapping[str, Any]], tuple[Callable[..., Answer], dict[str, Any]]]
    patience: float = 1.0

    @property
    def input(self) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": self.properties,
            "required": list(self.required),
            "additionalProperties": False,
        }

    def listed(self) -> types.Tool:
        hints = types.ToolAnnotations(
            title=self.title, read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        )
        return types.Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=self.input,
            output_schema=self.output,
            annotations=hints,
        )


def _source(what: str) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "maxLength": MAX_SOURCE, "description": what}


_SOURCE = _source(
    "The kernel and the Python that launches it, whole; or a Markdown task file that holds them (then say so by `filename`)"
)
_REFERENCE = _source("The PyTorch code that it replaces (Model, get_inputs), where it is not in the source")
_FILENAME = {
    "type": "string",
    "pattern": r"^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,100}\.(py|md)$",
    "default": "kernel.py",
    "description": "What to call the source in answers; .md for a Markdown task file. No file is opened",
}
_DEVICE = {
    "type": "string",
    "maxLength": 100,
    "description": "The GPU, such as h100-sxm (the default), a100, rtx-4090, mi300x",
}
_SCOPE = {
    "enum": ["gpu", "call"],
    "default": "gpu",
    "description": "Device time of one call, or wall time of one call in an eager loop",
}
_ENTRY = {
    "type": "string",
    "maxLength": 200,
    "description": "The function to analyse; ModelNew.forward, or each that launches",
}
_SET = {
    "type": "object",
    "maxProperties": 100,
    "additionalProperties": {"type": ["integer", "number", "boolean"]},
    "description": 'Module-level constants to override, such as {"M": 4096}',
}
_ASSUME = {
    "type": "array",
    "maxItems": 100,
    "items": {"type": "string", "maxLength": 200},
    "description": "Facts about arguments where nothing else tells: x:int8[128,2048], or M=128",
}
_RULES = {"type": "array", "maxItems": 300, "items": {"type": "string", "maxLength": 100}}
_TASK = {
    "source": _SOURCE,
    "reference": _REFERENCE,
    "filename": _FILENAME,
    "device": _DEVICE,
    "scope": _SCOPE,
    "entry": _ENTRY,
    "set": _SET,
    "assume": _ASSUME,
}


def _task(given: Mapping[str, Any], source: str = "source") -> Request:
    return Request(
        given[source],
        given.get("filename", "kernel.py"),
        given.get("reference"),
        device=given.get("device"),
        scope=given.get("scope", "gpu"),
        entry=given.get("entry"),
        overrides=given.get("set") or {},
        assumptions=tuple(given.get("assume", ())),
    )


def self_contained(schema: Mapping[str, Any]) -> dict[str, Any]:
    """``schema`` with all that it refers to in other schemas of kernlint among its own definitions: a client resolves nothing."""
    pool: dict[str, Any] = {}

    def local(node: Any, home: str) -> Any:
        if isinstance(node, list):
            return [local(item, home) for item in node]
        if not isinstance(node, dict):
            return node
        changed = {key: local(value, home) for key, value in node.items() if key not in ("$defs", "$id", "$schema")}
        reference = node.get("$ref")
        if isinstance(reference, str):
            urn, _, name = reference.partition("#/$defs/")
            changed["$ref"] = f"#/$defs/{define(name, urn.split(':')[-2] if urn else home)}"
        return changed

    def define(name: str, home: str) -> str:
        known = f"{home}_{name}"
        if known not in pool:
            pool[known] = {}
            pool[known] = local(load(home)["$defs"][name], home)
        return known

    home = str(schema.get("$id", "urn:kernlint:schema:mcp:1")).split(":")[-2]
    root: dict[str, Any] = local(dict(schema), home)
    return {**root, "$defs": dict(sorted(pool.items()))}


def _output(name: str) -> dict[str, Any]:
    return self_contained(load("mcp")["$defs"][name])


def make_tools() -> dict[str, _Tool]:
    """All tools by name."""
    found = [
        _Tool(
            "analyze",
            "Judge a Triton kernel",
            "One verdict: is it worth optimizing, what is the bottleneck, which one change to make, how, and how much faster that "
            "is predicted to be. Also says what is wrong with it, and names the rule behind each finding.",
            _TASK,
            ("source",),
            self_contained(load("verdict")),
            lambda given: (tools.analyze, {"task": _task(given)}),
        ),
        _Tool(
            "headroom",
            "How much faster it could be",
            "Time of one call now, in a well-written version of the same computation, and at the limits of the hardware; and the "
            "causes of the difference in microseconds. Cheaper than `analyze`; a ratio below 1.2 means: stop.",
            {name: schema for name, schema in _TASK.items() if name != "scope"},
            ("source",),
            _output("headroom_answer"),
            lambda given: (tools.headroom, {"task": _task(given)}),
        ),
        _Tool(
            "explain_rule",
            "Explain a rule",
            "The documentation of a rule by code or name: what it finds, why it is slow or wrong, when not, a bad and a good example.",
            {"rule": {"type": "string", "minLength": 1, "maxLength": 100, "description": "Such as KL101"}},
            ("rule",),
            _output("rule_answer"),
            lambda given: (tools.explain_rule, {"rule": given["rule"]}),
        ),
        _Tool(
            "check_source",
            "Lint a source",
            "Every finding of the linter with its place, severity, evidence and, where there is one, the edits that mend it. For "
            "wrong code as well as slow code; needs no launch to be in view.",
            {
                **{name: _TASK[name] for name in ("source", "reference", "filename", "device")},
                "select": {**_RULES, "description": "Only these rules: codes, prefixes such as KL7, or names"},
                "ignore": {**_RULES, "description": "Not these rules"},
            },
            ("source",),
            _output("check_answer"),
            lambda given: (
                tools.check_source,
                {"task": _task(given), "select": given.get("select"), "ignore": given.get("ignore", ())},
            ),
        ),
        _Tool(
            "fix_source",
            "Make the change",
            "The source with the verdict's change made, where that can be done automatically, each change read and priced again "
            "before it counts. Returns the new source and a diff; writes nothing.",
            {
                **_TASK,
                "rules": {**_RULES, "description": "Fix what these rules find instead of what the verdict advises"},
                "follow_ups": {"type": "boolean", "default": False, "description": "Go on until nothing is worth it"},
                "unsafe": {
                    "type": "boolean",
                    "default": False,
                    "description": "Make changes too that may alter results",
                },
            },
            ("source",),
            _output("fix_answer"),
            lambda given: (
                tools.fix_source,
                {
                    "task": _task(given),
                    "rules": tuple(given.get("rules", ())),
                    "follow_ups": given.get("follow_ups", False),
                    "unsafe": given.get("unsafe", False),
                },
            ),
            5.0,  # each change is followed by a fresh analysis
        ),
        _Tool(
            "compare",
            "Compare two versions",
            "Two versions of one program, of the same reference: which is predicted to be faster, by how much, whether the second "
            "breaks something that a rule is sure of, and what headroom is left.",
            {
                "before": _source("The version there is"),
                "after": _source("The version to judge"),
                **{name: schema for name, schema in _TASK.items() if name != "source"},
            },
            ("before", "after"),
            _output("compare_answer"),
            lambda given: (tools.compare, {"before": _task(given, "before"), "after": _task(given, "after")}),
        ),
    ]
    return {tool.name: tool for tool in found}


class Lanes:
    """A few lanes, so that one long question does not keep the others waiting."""

    def __init__(self, count: int, folder: str) -> None:
        self._free: asyncio.Queue[Lane] = asyncio.Queue()
        self._all = [Lane(folder) for _ in range(count)]
        for lane in self._all:
            self._free.put_nowait(lane)

    async def ask(self, call: Callable[..., Answer], arguments: Mapping[str, Any], timeout_s: float) -> Answer:
        lane = await self._free.get()
        try:
            answer: Answer = await lane.ask(call, arguments, timeout_s)
            return answer
        finally:
            self._free.put_nowait(lane)

    def close(self) -> None:
        for lane in self._all:
            lane.close()


@asynccontextmanager
async def _lanes(_: Server[Lanes]) -> AsyncIterator[Lanes]:
    """The lanes of a session. Workers work in an empty folder: what a source imports is not to be looked for on this machine."""
    with tempfile.TemporaryDirectory(prefix="kernlint-mcp-") as folder:
        lanes = Lanes(min(4, os.cpu_count() or 1), folder)
        try:
            yield lanes
        finally:
            lanes.close()


def make_server() -> Server[Lanes]:
    """The server, not yet connected to anybody."""
    known = make_tools()
    validators = {name: Draft202012Validator(tool.input) for name, tool in known.items()}

    async def list_tools(ctx: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[tool.listed() for tool in known.values()])

    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = known.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"no tool named {params.name!r}; there is {', '.join(known)}")
        arguments = params.arguments or {}
        wrong = best_match(validators[tool.name].iter_errors(arguments))
        if wrong is not None:
            return _failed(_complaint(wrong))
        call, question = tool.question(arguments)
        lanes: Lanes = ctx.lifespan_context
        try:
            answer = await lanes.ask(call, question, tool.patience * TIMEOUT_S)
        except KernlintError as error:
            return _failed(str(error))
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=answer.text)], structured_content=answer.data
        )

    return Server(
        "kernlint",
        version=__version__,
        title="kernlint",
        description="A static analyser for Triton GPU kernels",
        instructions=_INSTRUCTIONS,
        lifespan=_lanes,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _failed(reason: str) -> types.CallToolResult:
    """A question that has no answer: said to the agent, which can ask better."""
    return types.CallToolResult(content=[types.TextContent(type="text", text=f"error: {reason}")], is_error=True)


def _complaint(wrong: Any) -> str:
    """What is wrong with arguments, in one line that does not repeat a whole source."""
    where = ".".join(map(str, wrong.absolute_path)) or "arguments"
    if wrong.validator == "maxLength":
        return f"{where}: longer than {wrong.validator_value:,} characters"
    text = " ".join(str(wrong.message).split())
    return f"{where}: {text if len(text) <= 300 else text[:300] + ' ...'}"


def run() -> None:
    """Serve one client over standard input and output until it leaves."""

    async def serve() -> None:
        server = make_server()
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(serve)
