"""A kernel that turns a buffer into its running sum in place, autotuned without restore_value: the first call is wrong.

    TRITON_INTERPRET=1 python autotuned_running_sum.py

Stands for `chunk_fwd_kernel_h_reduction` and `chunk_bwd_kernel_dh_reduction` of fla-core. The stub benchmark calls each
configuration twice, as few times as any benchmark could.
"""

import torch
import triton
import triton.language as tl


def bench(call, quantiles=None):
    call()
    call()
    return [1.0, 1.0, 1.0]


def running_sum(h, steps, BLOCK: tl.constexpr):
    column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for step in range(steps):
        total += tl.load(h + step * 64 + column)
        tl.store(h + step * 64 + column, total)


def call(**safeguards):
    configs = [triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 64})]
    kernel = triton.autotune(configs=configs, key=["steps"], do_bench=bench, **safeguards)(triton.jit(running_sum))
    h = torch.ones(8, 64)
    kernel[lambda meta: (64 // meta["BLOCK"],)](h, 8)
    return h[:, 0].tolist()


expected = [float(i) for i in range(1, 9)]
plain, restored = call(), call(restore_value=["h"])
print("expected     ", expected)
print("autotuned    ", plain)
print("restore_value", restored)
assert plain != expected and restored == expected
