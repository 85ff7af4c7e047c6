"""A rule that names a cause of the headroom: its words, the headroom's gain, and kernels written anew as the remedy."""

import textwrap
from pathlib import Path

from kernlint.analysis import analysis
from kernlint.fix import fix_source
from kernlint.request import Request
from kernlint.rules.registry import find_rule

PAIR = Path(__file__).parents[2] / "fixtures/pairs/inplace-buffer"
PROGRAM = textwrap.dedent(find_rule("KL404").bad)
REFERENCE = """
import torch

class Model(torch.nn.Module):
    def forward(self, x, w, other):
        v = x.float().pow(2).mean(-1, keepdim=True)
        return (x.float() * torch.rsqrt(v + 1e-6) * w).to(x.dtype), other.clone()

def get_inputs():
    return [torch.randn(8192, 4096, dtype=torch.float16), torch.randn(4096), torch.randn(1024)]

def get_init_inputs():
    return []
"""


def test_the_name_is_the_rules_the_gain_the_headrooms():
    judgement = analysis(Request(PROGRAM, path="k.py", device="h100-sxm")).judgement
    chosen, headroom = judgement.chosen, judgement.headroom
    assert chosen is not None and chosen.finding.rule.code == "KL404"
    assert chosen in judgement.search.named and headroom is not None
    assert chosen.finding.cause in headroom.causes
    assert chosen.gains["gpu"].middle == headroom.without(chosen.finding.cause)[0]


def test_with_a_reference_it_is_written_anew():
    fixed = fix_source(Request(PROGRAM, path="k.py", reference=REFERENCE, device="h100-sxm"), unsafe=True)
    (made,) = fixed.applied
    assert made.code == "KL404" and made.anew and "tl.rsqrt" in fixed.after


def test_without_one_it_is_written_from_what_the_program_does():
    fixed = fix_source(Request(PROGRAM, path="k.py", device="h100-sxm"), unsafe=True)
    (made,) = fixed.applied
    assert made.code == "KL404" and made.anew and "tl.rsqrt" in fixed.after
    assert "from what the program computes" in made.effects.notes[0]


def test_at_about_equal_gain_a_local_change_goes_first():
    before, reference = ((PAIR / name).read_text() for name in ("before.py", "reference.py"))
    chosen = analysis(Request(before, path="before.py", reference=reference, device="h200")).judgement.chosen
    assert chosen is not None and chosen.finding.cause is None and chosen.finding.rule.code == "KL303"
