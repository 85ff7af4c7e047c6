"""The counts of ``calibration/sass.py``, from text as the disassembler and the compiler print it."""

import pytest
from sass import class_of, copies, executed, ptx_lines, sass_lines

SASS = """
\t//## File "/tmp/kernel.py", line 4
        /*0000*/                   LDG.E.128 R4, desc[UR4][R2.64] ;
        /*0010*/              @!P0 LDG.E.U16 R8, desc[UR4][R2.64] ;
\t//## File "/usr/lib/triton/language/standard.py", line 300
        /*0020*/                   FADD R4, R4, R8 ;
\t//## File "/tmp/kernel.py", line 5
        /*0030*/                   MUFU.EX2 R4, R4 ;
        /*0040*/                   MUFU.EX2 R5, R5 ;
        /*0050*/                   MUFU.EX2 R6, R6 ;
        /*0060*/                   MUFU.EX2 R7, R7 ;
        /*0070*/                   NOP ;
"""
LOOP = """
\t//## File "/tmp/kernel.py", line 3
        /*0000*/                   MOV R1, R2 ;
.L_x_0:
\t//## File "/tmp/kernel.py", line 5
        /*0010*/                   FADD R4, R4, R8 ;
\t//## File "/usr/lib/triton/language/standard.py", line 300
        /*0020*/                   FMUL R4, R4, R8 ;
        /*0030*/              @!P0 BRA `(.L_x_0) ;
        /*0040*/                   SHFL.BFLY R4, R4, 1 ;
\t//## File "/tmp/kernel.py", line 7
        /*0050*/                   STG.E R4, R5 ;
"""
PTX = """
\t.file\t1 "/tmp" "kernel.py"
\t.loc\t1 5 3
\tex2.approx.f32 %f1, %f2;
\tex2.approx.f32 %f3, %f4;
"""


def test_instructions_go_to_the_lines_of_the_program() -> None:
    found = sass_lines(SASS, "kernel.py")
    assert found.found == {4: {"load": 2, "float": 1}, 5: {"special": 4}}
    assert found.widths == {"LDG 128": 1, "LDG 16": 1}


def test_a_loop_that_stands_twice_counts_once_a_trip() -> None:
    sass, ptx = sass_lines(SASS, "kernel.py"), ptx_lines(PTX.replace('"/tmp" "kernel.py"', '"kernel.py"'), "kernel.py")
    assert copies(sass, ptx, range(5, 6)) == 2
    assert executed(sass, ptx, {range(5, 6): 10.0}) == {"load": 2, "float": 1, "special": 20}


def test_what_follows_a_loop_is_no_part_of_it() -> None:
    found = sass_lines(LOOP, "kernel.py").found
    assert found == {3: {"integer": 1, "shuffle": 1}, 5: {"float": 2, "branch": 1}, 7: {"store": 1}}


def test_what_has_no_landmark_stands_once() -> None:
    sass = sass_lines(SASS, "kernel.py")
    assert copies(sass, ptx_lines("", "kernel.py"), range(5, 6)) == 1
    assert not sass_lines("no instructions", "kernel.py").found


@pytest.mark.parametrize(
    ("name", "kind"),
    [("HGMMA.64x64x8.F32.TF32", "matrix"), ("R2UR", "uniform"), ("IMAD.WIDE", "integer"), ("STL.64", "local"), ("RED.E.ADD", "atomic")],
)  # fmt: skip
def test_classes(name: str, kind: str) -> None:
    assert class_of(name) == kind
