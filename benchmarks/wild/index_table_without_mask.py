"""A table of indices is filled by whole blocks without a mask: what lies behind it is overwritten.

    TRITON_INTERPRET=1 python index_table_without_mask.py

Stands for `calculate_batch_indices_kernel` (kron.py) of flag-gems, of which the table has two entries a batch and the grid
cdiv(batch, 256) programs.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def pairs(table, n1, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(table + 2 * i, i // n1)
    tl.store(table + 2 * i + 1, i % n1)


def overwritten(batch):
    """Entries behind the table that are no longer what they were."""
    # The table is a view of a larger buffer, so that what follows its end can be seen.
    buffer = torch.full((4096,), -1, dtype=torch.int64)
    pairs[(triton.cdiv(batch, 256),)](buffer[: 2 * batch], 3, 256)
    return int((buffer[2 * batch :] != -1).sum())


for batch in (256, 12):
    print(f"{batch} batches: {overwritten(batch)} elements overwritten behind the table")
assert overwritten(256) == 0 and overwritten(12) == 488
