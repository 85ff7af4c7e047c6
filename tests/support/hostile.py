"""Generated source that is cheap to write and dear to parse; ``python hostile.py KIND COUNT`` tries one.

Run as a program it parses in its own process, because what it guards against is a segmentation fault. It prints
"parsed" or "refused: ..." and exits 0, or dies.
"""

import sys

HOSTILE = {
    "parentheses": lambda n: "x = " + "(" * n + "1" + ")" * n,
    "lists": lambda n: "x = " + "[" * n + "1" + "]" * n,
    "dictionaries": lambda n: "x = " + "{1:" * n + "1" + "}" * n,
    "calls of calls": lambda n: "x = " + "f(" * n + "1" + ")" * n,
    "with parentheses": lambda n: "with " + "(" * n + "a" + ")" * n + ": pass",
    "case pattern": lambda n: "match x:\n case " + "(" * n + "a" + ")" * n + ": pass",
    "case lists": lambda n: "match x:\n case " + "[" * n + "a" + "]" * n + ": pass",
    "sets of lambdas": lambda n: "x = " + "{lambda:" * n + "1" + "}" * n,
    "unclosed calls": lambda n: "x = tl.load(\n" * n,
    "unopened": lambda n: "x = 1" + ")" * n,
    "sum": lambda n: "x = " + "1 + " * n + "1",
    "sum in parentheses over lines": lambda n: "x = (1\n" + "+ 1\n" * n + ")",
    "continued lines": lambda n: "x = 1" + " + \\\n1" * n,
    "attributes": lambda n: "x = a" + ".b" * n,
    "subscripts": lambda n: "x = a" + "[0]" * n,
    "chained calls": lambda n: "x = a" + "()" * n,
    "comparisons": lambda n: "x = 1" + " < 1" * n,
    "and": lambda n: "x = 1" + " and 1" * n,
    "power": lambda n: "x = 1" + "**1" * n,
    "minus": lambda n: "x = " + "-" * n + "1",
    "not": lambda n: "x = " + "not " * n + "1",
    "conditional expressions": lambda n: "x = " + "1 if 1 else " * n + "1",
    "lambdas": lambda n: "x = " + "lambda:" * n + "1",
    "lambdas with arguments": lambda n: "x = " + "lambda a, b: " * n + "1",
    "adjacent strings": lambda n: "x = (" + '"a" ' * n + ")",
    "left-deep parentheses": lambda n: "x = " + "(" * min(n, 199) + "1" + " + 1 + 1 + 1 + 1 + 1 + 1)" * min(n, 199),
    "elif": lambda n: "if a: pass\n" + "elif a: pass\n" * n,
    "else if": lambda n: "".join(" " * i + "if a: pass\n" + " " * i + "else:\n" for i in range(n)) + " " * n + "pass\n",
    "indentation": lambda n: "".join(" " * i + "if a:\n" for i in range(n)) + " " * n + "pass\n",
    "tab indentation": lambda n: "".join("\t" * i + "if a:\n" for i in range(n)) + "\t" * n + "pass\n",
    "nested functions": lambda n: "".join(" " * i + "def f():\n" for i in range(n)) + " " * n + "pass\n",
    "f-strings, one quote": lambda n: "x = " + 'f"{' * n + "1" + '}"' * n,
    "f-string format specs": lambda n: 'x = f"' + "{a:" * n + "}" * n + '"',
    "f-string brackets": lambda n: 'x = f"{' + "(" * n + "1" + ")" * n + '}"',
    "unclosed f-strings": lambda n: 'x = f"{' * n,
    "comprehensions": lambda n: "x = [a" + " for a in b" * n + "]",
    "relative import": lambda n: "from " + "." * n + " import a",
    "decorators": lambda n: "@a\n" * n + "def f(): pass",
    "semicolons": lambda n: "a;" * n,
    "assignments": lambda n: "x = " * n + "1",
    "case alternatives": lambda n: "match x:\n case " + "1|" * n + "1: pass",
    "except": lambda n: "try: pass\n" + "except A: pass\n" * n,
}


def main() -> None:
    from kernlint.errors import SourceError
    from kernlint.syntax import parse_module, walk

    kind, count = sys.argv[1:]
    try:
        module = parse_module(HOSTILE[kind](int(count)), "hostile.py")
    except SourceError as error:
        print(f"refused: {error}")
        return
    nodes = list(walk(module.tree))
    module.span(nodes[-1])
    print("parsed")


if __name__ == "__main__":
    main()
