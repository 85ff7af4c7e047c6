"""Why no rule answers an evidence row, or why a rule that is there does not find the row's own example.

Each begins with its kind: *measurement* (the sign or the size of the effect is not in the source), *run-time data* (what
decides is a value of the call), *intent* (the source cannot tell a fault from a decision), *not built* (a rule could exist and
does not).
"""

from __future__ import annotations

REASONS: dict[str, str] = {
    "PERF-006": "intent: `acc += tl.dot(...)` is also how exact fp32 accumulation of fp8 products is forced; nothing in the source tells "
    "the two apart.",
    "PERF-007": "measurement: an opportunity on consumer GPUs only; whether sums overflow fp16 is a property of the data.",
    "PERF-008": "not built: needs the form of an operand (tile times scalar), which the workload does not keep; one multiply per element, "
    "hidden where the loop is bound by memory.",
    "PERF-009": "measurement: Triton lowers tl.exp to exp2 and one multiply; what that multiply costs in a given loop is below what the "
    "cost model resolves, and a saved logsumexp would change its base.",
    "PERF-010": "measurement: which tiles lose wgmma is a lowering fact, but whether swapped operands gain depends on the memory-bound "
    "shapes that such tiles are chosen for; the tile rules price M < 64 already.",
    "PERF-012": "run-time data: in the example nothing says that M is small; where it is known, KL201 prices smaller tiles and finds no "
    "gain at its shape (the weight's traffic decides).",
    "PERF-021": "measurement: padded head dimensions waste products only where the tensor cores are the limit; the remedy (two dots) "
    "costs registers and code.",
    "PERF-023": "intent: whether the function runs under torch.compile with dynamic shapes is not in the file that launches.",
    "PERF-027": "the example has one K step: without a loop over K the order of programs has no operand to reuse. KL205 finds the pattern "
    "in the pair gemm-no-swizzle.",
    "PERF-028": "measurement: whether overlapping epilogue and prologue gains depends on occupancy and the epilogue's own cost; the row's "
    "threads report both signs.",
    "PERF-029": "intent: a literal grid of a persistent kernel may be the resident count that a grid barrier needs.",
    "PERF-030": "measurement: the sign of the effect differs by GPU (the row says so).",
    "PERF-031": "measurement: fewer partial rows mean more work per program; the row's threads rejected it for small shapes.",
    "PERF-032": "measurement: how many bytes in flight saturate memory depends on the tile and the device; where the model knows the loop "
    "to be latency-bound, KL208 reports it.",
    "PERF-033": "measurement: whether the L2 serves the repeated keys depends on the order of programs and the batch.",
    "PERF-041": "measurement: the row's own compile check finds some 7 % more instructions on current Triton, and removing the mask is a "
    "bug wherever K is not a multiple.",
    "PERF-042": "measurement: cache hints make things worse as easily as better.",
    "PERF-043": "measurement: descriptors gain on Hopper and later for large tiles and lose on short kernels; removed block pointers are a "
    "matter of portability, not of speed.",
    "PERF-044": "run-time data: in the example the second kernel's cast is named in a comment only; following a tensor through two kernels "
    "into a cast is not built.",
    "PERF-046": "measurement: how often two programs meet at one address decides; KL306 speaks only where contention is certain.",
    "PERF-048": "a negative finding: there is nothing to report on NVIDIA, and int64 indices may be needed.",
    "PERF-050": "measurement: integer division by a run-time size is visible only in kernels that are not bound by memory.",
    "PERF-056": "not built: that a mask tensor equals a predicate is a property of its values, unless its construction is in view.",
    "PERF-059": "not built for norms and quantisation in front of a product: KL401 fuses elementwise chains into the kernel that reads "
    "them; a row statistic in front of a tiled product needs another pass or an epilogue scale.",
    "PERF-061": "a matter of memory rather than speed (the row says so): tokens times vocabulary decides, and chunking costs time.",
    "PERF-064": "not built: KL404 follows row-wise chains; a product summed over a middle axis is none.",
    "PERF-065": "measurement: a single sum over a few partials is cheap; KL401 and KL404 price what follows it.",
    "PERF-066": "run-time data: whether a chain of small index operations runs per step or once per request is not in the file.",
    "PERF-067": "not built for masked scores: KL501 follows product, scale, softmax, product; `masked_fill` and casts in between end it.",
    "PERF-069": "not built for columns: KL503 scans along contiguous memory; in the example a step is a whole row apart, where a block of "
    "channels per program is the first remedy.",
    "PERF-071": "the example is a single square tile without loop or grid, in which no axis can be told to be the contracted one; KL502 "
    "finds tiles that a loop or a program index moves.",
    "PERF-072": "measurement: a product with one row is bound by memory on either path; whether the padded dot costs anything depends on "
    "occupancy.",
    "PERF-073": "kernlint reads programs that launch Triton kernels; KL506 finds the direct convolution written as a kernel.",
    "PERF-074": "the good example waits for the device itself: torch.bincount reads its largest element back, whatever `minlength` is. "
    "The loop over the experts is gone in it.",
    "PERF-075": "intent: reported once for a project as information at most; the verdict itself says when PyTorch's own "
    "kernels are faster.",
    "PERF-080": "conflict with PERF-038: listing a size in do_not_specialize costs vector loads where it bounds the contiguous "
    "axis, and "
    "whether three variants compile in production depends on the traffic.",
    "PERF-081": "run-time data: whether a stride changes between calls depends on how the tensor was allocated, outside the file.",
    "PERF-083": "run-time data: call frequency, and whether the GPU is starved, decide; the scope `call` prices the launch itself.",
    "PERF-084": "in the example nothing tells the weight from the activation; KL606 finds descriptors of tensors that an object keeps.",
}
