# RUN: nereid inspect %s:turned --signature "*fp32:16, *fp32:16" --target sm_90a | FileCheck %s
# RUN: nereid inspect %s:sorted_rows --signature "*i64:16" --target sm_90a | FileCheck %s --check-prefix SORTED
# Who writes a tile to shared memory along one dimension and reads it along the other meets few banks: places within a line of all
# banks are permuted by its number (eight ways by rows 16 bytes apart before).
import triton
import triton.language as tl


# CHECK: shared memory{{ +}}16 KiB
# CHECK: store 4 1 32 2 1 2-way
# CHECK: load 16 4 8 4 4 1-way
@triton.jit
def turned(x, y):
    i = tl.arange(0, 64)
    tile = tl.load(x + i[:, None] * 64 + i[None, :])
    tl.store(y + i[:, None] * 64 + i[None, :], tl.trans(tile))


# SORTED: conflicts
# SORTED: 1-way
# SORTED-NOT: {{([2-9]|[0-9][0-9])}}-way
@triton.jit
def sorted_rows(x):
    i = tl.arange(0, 2048)
    tl.store(x + i, tl.sort(tl.load(x + i)))
