"""Kernels gone wrong: real programs with tokens, lines and expressions changed, and the newest syntax put in.

``python mutations.py COUNT [FIRST]`` checks that many with every rule, fixes included, in the worker processes of
``kernlint check``, which outlive a parser that dies, and prints the seed of each that ends badly.
"""

from __future__ import annotations

import ast
import random
import re
import sys
import textwrap
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

from kernlint.lint.diagnostics import DIAGNOSTICS
from kernlint.lint.job import Job, Result
from kernlint.lint.settings import FileSettings
from kernlint.rules.registry import all_rules

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"

TOKEN = re.compile(
    r"""'''.*?'''|\"\"\".*?\"\"\"|'[^'\n]*'|"[^"\n]*"|\#[^\n]*|\w+|<<|>>|\*\*|//|[-+*/]=|[^\w\s]""", re.DOTALL
)

#: What a token becomes; each is a sign, a name or an expression of its own.
ODD_TOKENS = (
    "( ) [ ] { } : , . ; = == := -> @ * ** ... ' \" ''' # \\ ! ~ | ^ None True False 0 -1 1e999 1j b'\\x00' '' () [] {} "
    "self cls tl torch triton float int len range print type __import__ NotImplemented lambda yield await async match "
    "case global nonlocal del import from with try finally raise assert return pass break continue if else for while "
    "tl.float32 tl.constexpr torch.int8 1_000_000_007 0xFFFFFFFFFFFFFFFFFFFF ñ 核 ﬁ x\u0301 \u00a0 \u200b \u2028 \f \t \x1f \0"
).split(" ")

#: What an expression becomes; ``$`` is what it was, ``~`` another name of the program.
ODD_EXPRESSIONS = (
    "(_w := $)", "(~ := $)", 'f"{$!r:>{~}}"', "f'{f\"{$}\"}'", 'f"{"{"}{$}"', "f'''{\n$\n=}'''", "(*$,)", "*$", "**$",
    "($ if ~ else $)", "(lambda: $)", "(lambda ~=$, /, *, _k=~: _k)", "[$ for ~ in $]", "{$: ~ for ~ in ~ if $}",
    "[$ async for ~ in ~]", "sum(~ for ~ in $)", "$[~]", "$[::~]", "$[None, :]", "$[..., None]", "$[-1]", "$[*~]",
    "$[~:$, ::-1]", "(-$)", "(not $)", "(~ and $)", "(~ < $ < ~)", "(yield $)", "(await $)", "($,)", "{**$}", "$()",
    "$(~)", "$(*~, **$)", "$(~=$)", "$.shape[-1]", "$.to(~)", "$.T.t()", "$.item()", "$.__class__", "$.~", "($ ** ~)",
    "($ @ ~)", "($ // 0)", "($ % 0)", "($ / 0.0)", "($ << 1000)", "($ << -1)", "(1 << $)", "($ * 10 ** 300)", "-1", "'$'",
    "($\n)", "(  # kernlint: ignore[KL101]\n$)", "$ # kernlint: ignore[KL999, ] ñ\n", "$ \\\n", "len($)", "range($)",
    "tl.load($)", "tl.dot($, ~)", "tl.dot($, ~, ~, ~)", "tl.arange($, ~)", "tl.arange(0, $)", "tl.sum($, axis=~)",
    "tl.zeros($, ~)", "tl.cdiv($, ~)", "tl.where($, ~, $)", "tl.constexpr($)", "tl.static_range($)", "tl.trans($)",
    "tl.program_id($)", "tl.reshape($, ~)", "tl.join($, ~)", "tl.reduce($, ~, ~)", "tl.inline_asm_elementwise($)",
    "tl.make_block_ptr($, ~, ~, ~, ~, ~)", "torch.empty($)", "torch.empty_like($)", "torch.cat([$, ~])", "$.view(~, -1)",
    "torch.matmul($, ~)", "torch.einsum('ij,jk->ik', $, ~)", "$.permute(0, $)", "$.expand(~)", "$.stride($)", "getattr($, ~)",
    "triton.cdiv($, ~)", "triton.next_power_of_2($)", "triton.autotune($, key=~)", "[$] * ~", "($, ~)[~]", "$ = ~",
    "(" * 60 + "$" + ")" * 60, "[" * 40 + "$" + "]" * 40, "$" + " + 1" * 150, "$" + ".T" * 60, "-" * 60 + "$",
    "f" + "(f" * 40 + "($)" + ")" * 40, "not " * 40 + "$", "$" + "[0]" * 60, "9" * 5000, "1e" + "9" * 30, "0x" + "f" * 500,
)  # fmt: skip

#: Statements, put before one at its indentation; ``$`` and ``~`` are names of the program.
ODD_STATEMENTS = (
    "match $:\n    case [~, *_] if ~: pass\n    case {'a': 1, **_r}: $ = ~\n    case tl.float32 | None: $ = 1\n    case _: pass",
    "type _T[_A: (int, str), *_B, **_C = ...] = $[_A]", "def _g[_T: int = ~, *_Ts](a: _T, *b: *_Ts) -> $: return a",
    "class _C[_T](~, metaclass=$): x: _T = ~", "try: $\nexcept ~, $: pass", "try: $\nexcept* ~ as $: pass\nelse: ~\nfinally: $",
    "with (open(~) as $, ~ as _b,): pass", "async def _h():\n    async with $ as ~:\n        async for ~ in $: await ~",
    "for $ in ~: pass\nelse: $ = ~", "for $, *~ in [($, ~)]: break", "while $: $ = ~; continue", "while True: pass",
    "if $: pass\nelif ~: $ = 1\nelse: del $", "del $, ~", "global $", "nonlocal $", "$: ~ = $", "$: ~", "$ += ~", "$ @= ~",
    "$ = ~ = $ = None", "$, *~ = ~", "[$, (~, _c)] = ~", "$[~] = ~", "$.~ = $", "*$, = ~", "($) = ~", "$ = yield ~",
    "return", "return $, *~", "raise $ from ~", "assert $, ~", "import ~ as $", "from ~ import *", "from .. import $",
    "from __future__ import annotations", "import triton.language as $", "print >>$, ~", "exec '$'", "lambda: (yield)",
    "@$\n@~($)\ndef _d(*, $=~, **_k): return $", "@triton.jit\ndef $(~, $: tl.constexpr = 1): return $(~)",
    "@triton.jit\ndef _loop(x):\n    return _loop(x)\n_loop[(1,)]($)", "@triton.autotune([$], key=[~])\n@triton.jit\ndef _a(x): pass",
    "$ = 1\nfor _i in range(10 ** 9): $ = $ + ~", "$ = [~]\nfor _ in range(99): $ = $ + $", "$ = lambda *~: $(~)", "$()",
    "# kernlint: ignore[KL101] why", "# kernlint: file-ignore[ALL]", "# kernlint: ignore", "'''\n$\n'''", "r'''\\'''", "\f",
    "if True:\n" + "".join("    " * n + "if $:\n" for n in range(1, 30)) + "    " * 30 + "pass",
    "$ = " + "1 if $ else " * 60 + "0", "$ = (" + "\n    1 +" * 200 + " 0)", "$ = [" + "~, " * 3000 + "]", "x = t'{$}'",
    "$ = " + "{" * 30 + "1: 1" + "}" * 30, "$\\\n  = ~", "$ = 0_", "$ = 0777", "$ = 1if ~else 2", "$ = '\\N{DASH}\\ud800'",
)  # fmt: skip


def programs() -> list[str]:
    """What is changed: the programs that rules document themselves with, and the kernels of the fixtures."""
    documented = [textwrap.dedent(text) for rule in all_rules() for text in (rule.bad, rule.good)]
    kernels = [path.read_text(encoding="utf-8") for path in sorted(FIXTURES.glob("pairs/*/[ab]*er*.py"))]
    return [*documented, *kernels]


@cache
def _programs() -> list[str]:
    return programs()


def changed(seed: int) -> str:
    """One program with one to five things changed: always the same for a ``seed`` and a Python."""
    chance = random.Random(seed)
    source = chance.choice(_programs())
    for _ in range(chance.choice((1, 1, 2, 3, 5))):
        new = chance.choices(*_CHANGES)[0](source, chance)
        # Most are to reach what comes behind the parser.
        if chance.random() < 0.1 or _is_python(new):
            source = new
    return source


def _is_python(source: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


def _names(source: str) -> list[str]:
    return sorted({token for token in TOKEN.findall(source) if token.isidentifier()}) or ["x"]


def _filled(form: str, was: str, source: str, chance: random.Random) -> str:
    return "".join(
        was if char == "$" else chance.choice(_names(source)) if char == "~" else char
        for char in form
    )  # fmt: skip


def _tokens(source: str, chance: random.Random) -> str:
    """A token gone, doubled, exchanged with another one, or become something else."""
    tokens = list(TOKEN.finditer(source))
    if not tokens:
        return source
    one, two = sorted(chance.choices(tokens, k=2), key=lambda token: token.start())
    before, between, after = source[: one.start()], source[one.end() : two.start()], source[two.end() :]
    what = chance.randrange(4)
    if what == 0:
        return before + source[one.end() :]
    if what == 1:
        return source[: one.end()] + " " + source[one.start() :]
    if what == 2 and one.start() != two.start():
        return before + two.group() + between + one.group() + after
    return before + chance.choice([*ODD_TOKENS, *_names(source)]) + source[one.end() :]


def _lines(source: str, chance: random.Random) -> str:
    """Lines gone, doubled, exchanged, moved in or out, or joined."""
    lines = source.splitlines(keepends=True) or [""]
    one, two = chance.randrange(len(lines)), chance.randrange(len(lines))
    what = chance.randrange(7)
    if what == 0:
        del lines[min(one, two) : min(one, two) + chance.choice((1, 1, 2, 5))]
    elif what == 1:
        lines[one:one] = lines[two : two + chance.choice((1, 2, 9))]
    elif what == 2:
        lines[one], lines[two] = lines[two], lines[one]
    elif what == 3:
        lines[one] = chance.choice(("    ", " ", "\t")) + lines[one]
    elif what == 4:
        lines[one] = lines[one].lstrip()
    elif what == 5:
        lines[one] = lines[one].rstrip("\n") + chance.choice(("", ";", "\\\n", "\r", "\r\n", "\v", "\x0c", "  # ñ\n"))
    else:
        lines = lines[:one]
    return "".join(lines)


def _expression(source: str, chance: random.Random) -> str:
    """A name or number become part of an expression."""
    tokens = [token for token in TOKEN.finditer(source) if re.match(r"\w", token.group())]
    if not tokens:
        return source
    token = chance.choice(tokens)
    new = _filled(chance.choice(ODD_EXPRESSIONS), token.group(), source, chance)
    return source[: token.start()] + new + source[token.end() :]


def _statement(source: str, chance: random.Random) -> str:
    """A statement put before a line, at its indentation."""
    lines = source.splitlines(keepends=True) or [""]
    at = chance.randrange(len(lines))
    names = [*TOKEN.findall(lines[at]), *_names(source)] if chance.random() < 0.5 else _names(source)
    was = chance.choice([name for name in names if name.isidentifier()] or ["x"])
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())].rstrip("\n")
    new = textwrap.indent(_filled(chance.choice(ODD_STATEMENTS), was, source, chance), indent) + "\n"
    return "".join([*lines[:at], new, *lines[at:]])


def _renaming(source: str, chance: random.Random) -> str:
    """A name become another one everywhere: one of the program, or one of no ASCII, which Python normalises."""
    old = chance.choice(_names(source))
    new = chance.choice([*_names(source), "ñ", "核", "ﬁx", "x\u0301", "µ", "𝐱", "self", "tl", "_" * 300])
    return re.sub(rf"\b{re.escape(old)}\b", lambda _: new, source)


def _layout(source: str, chance: random.Random) -> str:
    """Other line ends, tabs, a byte-order mark, form feeds, or the whole inside of something."""
    whole = textwrap.indent(source, "    ")
    return chance.choice((
        source.replace("\n", "\r\n"), source.replace("\n", "\r"), source.replace("    ", "\t"), "\ufeff" + source,
        source.replace("\n\n", "\n\f\n"), source.rstrip("\n"), "if True:\n" + whole, "class _C:\n" + whole,
        "def _f():\n" + whole, "try:\n" + whole + "\nfinally: pass\n", "async def _f():\n" + whole, source + source,
        "match 1:\n  case 1:\n" + whole, f"_s = r'''{source}'''\n{source}", source.replace("tl.", "triton.language."),
        source.replace("@triton.jit", "@triton.jit()\n@triton.heuristics({'BM': lambda args: args['M']})"),
    ))  # fmt: skip


_CHANGES: tuple[list[Callable[[str, random.Random], str]], list[int]] = (
    [_tokens, _lines, _expression, _statement, _renaming, _layout],
    [5, 4, 8, 5, 2, 1],
)


def job(seed: int) -> Job:
    """What checks :func:`changed` of ``seed`` with every rule, and works out fixes for each fourth."""
    codes = frozenset(item.code for item in (*all_rules(), *DIAGNOSTICS))
    data = changed(seed).encode("utf-8", "surrogatepass")
    return Job(f"seed{seed}.py", data, FileSettings(codes), fixes=seed % 4 == 0)


def bad_ends(seeds: Iterable[int], results: Iterable[tuple[int, Result]]) -> Iterator[tuple[int, str]]:
    """Seed and complaint of each result that is neither findings nor one diagnostic that names the file's own fault."""
    numbers = list(seeds)
    for index, result in results:
        failures = [finding for finding in result.findings if finding.code in ("KL901", "KL902", "KL903")]
        bugs = [f.message for f in failures if f.code == "KL902" and "too deeply nested" not in f.message]
        if bugs or len(failures) > 1:
            yield numbers[index], "; ".join(bugs or [f.message for f in failures])


def main() -> None:
    from kernlint.lint.pool import run_jobs

    count, first = (int(text) for text in [*sys.argv[1:], "0"][:2])
    ends: Counter[str] = Counter()
    for start in range(first, first + count, 500):
        seeds = range(start, min(start + 500, first + count))
        results = list(run_jobs([job(seed) for seed in seeds], workers=1))
        for _, result in results:
            ends.update(
                {finding.code for finding in result.findings if finding.code.startswith("KL90")} or {"analysed"}
            )
        for seed, complaint in bad_ends(seeds, results):
            print(f"seed {seed}: {complaint}", flush=True)
    print(dict(ends))


if __name__ == "__main__":
    main()
