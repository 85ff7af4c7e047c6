"""Faults about element types: casts, literals and seeds that make the types of a kernel fit."""

from __future__ import annotations

import libcst as cst

from kernlint.rewrite.bindings import variable
from kernlint.rewrite.conversions import assigned_value, converted, followed_by, origin_expression
from kernlint.rewrite.effects import Effects, Rewriting
from kernlint.rewrite.function import argument
from kernlint.rewrite.mended_faults import mends
from kernlint.rewrite.site import Site
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rules.faults import MendedFault
from kernlint.syntax.names import dotted_name
from kernlint.workload import dtype as dt


@mends("specialised-scalar")
def cast_argument(site: Site, fault: MendedFault) -> list[TextEdit]:
    """``stride.to(T)`` becomes ``tl.cast(stride, T)``."""
    source = site.source
    call = source.at(fault.place, cst.Call)
    if not isinstance(call.func, cst.Attribute) or call.func.attr.value != "to" or not call.args:
        raise CannotRewrite("the cast is not written as a method call")
    receiver = source.whole(call.func.value)
    return [
        TextEdit(receiver[0], receiver[0], f"{source.spelled('triton.language.cast')}("),
        TextEdit(receiver[1], source.start(call.args[0]), ", "),
    ]


@mends("math-type")
def operand_in_float32(site: Site, fault: MendedFault) -> list[TextEdit]:
    """The operand of a function such as ``tl.exp`` in float32."""
    source = site.source
    call = source.at(fault.place, cst.Call)
    operand = call.args[0].value if call.args else call.func.value if isinstance(call.func, cst.Attribute) else None
    if operand is None or len(call.args) > 1:
        raise CannotRewrite(f"`{fault.name}` has more than one operand")
    return converted(source, operand, "float32")


@mends("unsigned-wrap")
def signed_difference(site: Site, fault: MendedFault) -> list[TextEdit]:
    """The minuend of ``(q - 8).to(tl.float32)`` in int32."""
    source = site.source
    call = source.at(fault.place, cst.Call)
    value = call.func.value if isinstance(call.func, cst.Attribute) and call.func.attr.value == "to" else None
    if value is None:
        value = argument(call, "input", 0)
    difference = origin_expression(source, value) if value is not None else None
    if not isinstance(difference, cst.BinaryOperation) or not isinstance(difference.operator, cst.Subtract):
        raise CannotRewrite("the difference does not stand in this function")
    return converted(source, difference.left, "int32")


@mends("host-dtype")
def tritons_type(site: Site, fault: MendedFault) -> list[TextEdit]:
    """``torch.float32`` becomes ``tl.float32``."""
    source = site.source
    call = source.at(fault.place, cst.Call)
    dtype = dt.find(fault.name.removeprefix("torch."))
    if dtype is None:
        raise CannotRewrite("the type is none of PyTorch's that Triton has")
    target = source.spelled(f"triton.language.{dtype.triton}")
    edits = [source.replace(arg.value, target) for arg in call.args if source.origin(arg.value) == fault.name]
    if not edits:
        raise CannotRewrite(f"`{fault.name}` is not written in the call")
    return edits


@mends("literal-range")
def literal_of_same_bits(site: Site, fault: MendedFault) -> list[TextEdit]:
    """``bits & 0xFFFF0000`` becomes ``bits & -0x10000`` where the bits are int32 and nothing but bits is read of the result."""
    source = site.source
    dtype = dt.find(fault.name)
    node = source.at(fault.place, cst.BinaryOperation)
    if dtype is None or not isinstance(node.operator, (cst.BitAnd, cst.BitOr, cst.BitXor)):
        raise CannotRewrite("the literal is no mask of bits")
    literals = [side for side in (node.left, node.right) if isinstance(side, cst.Integer)]
    if len(literals) != 1 or not 1 << (dtype.bits - 1) <= literals[0].evaluated_value < 1 << dtype.bits:
        raise CannotRewrite("the literal is no unsigned number of as many bits as the other operand")
    if not _is_read_as_bits(site, node, dtype):
        raise CannotRewrite("what is computed from it may ask for the sign, as a shift right does")
    signed = literals[0].evaluated_value - (1 << dtype.bits)
    return [source.replace(literals[0], hex(signed) if literals[0].value[:2] in ("0x", "0X") else str(signed))]


def _is_read_as_bits(site: Site, node: cst.BinaryOperation, dtype: dt.Dtype) -> bool:
    """Whether ``node`` is cast as bits, or stored where integers of no more than the bits of ``dtype`` are."""
    call = site.source.around(node, cst.Call)
    if call is None:
        return False
    if isinstance(call.func, cst.Attribute) and call.func.value is node:
        bitcast = argument(call, "bitcast", None)
        return bitcast is not None and dotted_name(bitcast) == "True"
    if site.source.origin(call.func) != "triton.language.store" or argument(call, "value", 1) is not node:
        return False
    launches, span = site.workload.launches(), site.module.span(call)
    held = [one.tensor(store.base) for one in launches for store in one.kernel.stores() if store.span == span]
    types = [tensor.dtype if tensor is not None else None for tensor in held]
    return bool(types) and all(one is not None and one.is_integer and one.bits <= dtype.bits for one in types)


@mends("loop-carried-type")
def seed_of_its_type(site: Site, fault: MendedFault) -> list[TextEdit]:
    """``s = 0`` in front of a loop that adds floats becomes ``s = 0.0``."""
    source = site.source
    statement = source.statement(source.node_at(fault.place))
    function, loop = source.function(statement), source.around(statement, (cst.For, cst.While))
    if function is None or loop is None:
        raise CannotRewrite("the loop is not in this file")
    found = variable(source, fault.name, function)
    seeds = [one for one in found.bindings if source.start(one) < source.start(loop)]
    seed = assigned_value(seeds[-1]) if seeds else None
    number = seed.expression if isinstance(seed, cst.UnaryOperation) else seed
    if not isinstance(number, cst.Integer) or "fp32" not in fault.text:
        raise CannotRewrite(f"`{fault.name}` does not begin as an integer that becomes float32")
    if any(source.end(seeds[-1]) <= source.start(read) < source.start(loop) for read in found.reads):
        raise CannotRewrite(f"`{fault.name}` is read as an integer in front of the loop")
    return [source.replace(number, f"{number.evaluated_value}.0")]


@mends("dot-type")
def dot_of_one_type(site: Site, fault: MendedFault) -> Rewriting:
    """An ``out_dtype=tl.bfloat16`` becomes a cast of the result."""
    source = site.source
    call = source.at(fault.place, cst.Call)
    out = argument(call, "out_dtype", None)
    if out is None or source.origin(out) != "triton.language.bfloat16":
        return _operand_rounded(site, call, fault)
    dropped = [arg for arg in call.args if arg.value is out]
    edits = source.drop_arguments(call, dropped) + followed_by(source, call, f".to({source.code(out)})")
    return Rewriting(tuple(edits))


def _operand_rounded(site: Site, call: cst.Call, fault: MendedFault) -> Rewriting:
    """The operand of more bits in the type of the other one."""
    source = site.source
    dot = next((d for launch in site.workload.launches() for d in launch.kernel.dots() if d.span == fault.place), None)
    left, right = argument(call, "input", 0), argument(call, "other", 1)
    if dot is None or left is None or right is None or not (dot.a.known and dot.b.known):
        raise CannotRewrite("the types of the operands are not known")
    if not (dot.a.dtype.is_float and dot.b.dtype.is_float) or dot.a.dtype.bits == dot.b.dtype.bits:
        raise CannotRewrite(f"{dot.a.dtype} and {dot.b.dtype}: neither is the other one with more bits")
    wide, narrow, dtype = (
        (left, right, dot.b.dtype) if dot.a.dtype.bits > dot.b.dtype.bits else (right, left, dot.a.dtype)
    )
    if isinstance(narrow, cst.Name):
        edits = followed_by(source, wide, f".to({narrow.value}.dtype)")
    else:
        edits = converted(source, wide, dtype.name)
    rounds = f"`{source.code(wide)}` is rounded to {dtype}"
    return Rewriting(tuple(edits), Effects("unsafe", "changed", notes=(rounds,)))
