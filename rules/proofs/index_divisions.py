"""Divisions of an index that is tiles and lanes in one, ``tile * program + lane``: the two ways to write them.

*Apart*, each division is one of lanes or one of programs, as far as tile and divisor divide one another: what a question
about program ids and strides wants. *Whole*, each is one of the index itself, whatever the divisor: what tells the digits of
the index apart. The interpreter writes some of them in either way; whoever asks brings all of them into one.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd

from kernlint.workload import Size, concrete
from kernlint.workload.expr import Atom, Expr, Lane, Opaque, ProgramId, floordiv, lift, mod, opaque


def apart(expr: Expr, lanes: Mapping[Atom, int]) -> Expr:
    """``expr`` with ``(n * x + lane) // (n * m)`` written as ``x // m`` and its remainder as ``n * (x % m) + lane``, where the
    lanes stay below n."""

    def change(atom: Atom) -> Size | None:
        if not isinstance(atom, Opaque) or atom.op not in ("floordiv", "mod") or len(atom.args) != 2:
            return None
        divided, divisor = atom.args[0], concrete(atom.args[1])
        inner = Expr({m: c for m, c in divided.terms.items() if len(m) == 1 and m[0] in lanes})
        outer = divided - inner
        if divisor is None or divisor <= 0 or not inner.terms or any(a in lanes for a in outer.atoms()):
            return None
        step = gcd(divisor, *outer.terms.values())
        if min(inner.terms.values()) < 0 or sum(c * (lanes[m[0]] - 1) for m, c in inner.terms.items()) >= step:
            return None
        steps = Expr({m: c // step for m, c in outer.terms.items()})
        if atom.op == "floordiv":
            return floordiv(steps, divisor // step)
        return step * lift(mod(steps, divisor // step)) + inner

    return expr.rewrite(change) if any(isinstance(atom, Opaque) for atom in expr.atoms()) else expr


def whole(expr: Expr, program: ProgramId, tile: int) -> Expr:
    """``expr`` with all digits as divisions of the flat index itself. The interpreter drops multiples of the divisor of a
    remainder, and takes a quotient apart where the divisor divides the tile: ``flat // d`` is then
    ``program * (tile // d) + lane // d``."""
    lane, flat = Expr.atom(Lane(0)), flat_index(program, tile)

    def change(atom: Atom) -> Expr | None:
        divisor = atom.args[1].value if isinstance(atom, Opaque) and len(atom.args) == 2 else None
        if not isinstance(atom, Opaque) or divisor is None or divisor < 2:
            return None
        if atom.op == "mod" and all(factor % divisor == 0 for factor in (atom.args[0] - flat).terms.values()):
            return opaque("mod", flat, divisor)
        if atom.op == "floordiv" and atom.args[0] == lane and tile % divisor == 0:
            return opaque("floordiv", flat, divisor) - Expr.atom(program) * (tile // divisor)
        return None

    return expr.rewrite(change)


def flat_index(program: ProgramId, tile: int) -> Expr:
    """The index of each lane of a tile, counted over all programs."""
    return Expr.atom(program) * tile + Expr.atom(Lane(0))
