# RUN: nereid compile %s:rotate --signature "*fp16:16, *fp16:16, *fp16:16" --target sm_90a --emit gpu | FileCheck %s
# RUN: nereid compile %s:two_kinds --signature "*fp16:16, *fp16:16, *fp16:16" --target sm_90a --emit gpu | FileCheck %s --check-prefix=TWO
# RUN: nereid compile %s:rotate_pairs --signature "*fp16:16, *fp16:16, *fp16:16" --target sm_90a --emit gpu | FileCheck %s --check-prefix=MOVED
# What is repeated over heads is loaded by each of them, if those are few accesses: it does not move between threads.
import triton
import triton.language as tl


# CHECK-COUNT-3: tile.load
# CHECK-NOT: convert_layout
# CHECK: tile.store
@triton.jit
def rotate(x_ptr, cos_ptr, y_ptr):
    t, h, d = tl.arange(0, 16)[:, None, None], tl.arange(0, 4)[None, :, None], tl.arange(0, 64)[None, None, :]
    x = tl.load(x_ptr + (t * 4 + h) * 128 + d)
    z = tl.load(x_ptr + (t * 4 + h) * 128 + 64 + d)
    tl.store(y_ptr + (t * 4 + h) * 64 + d, (x + z) * tl.load(cos_ptr + t * 64 + d) - z)


# Every second number of a row: 16 accesses of one number each are more than the way through shared memory.
# MOVED: convert_layout
@triton.jit
def rotate_pairs(x_ptr, cos_ptr, y_ptr):
    t, h, d = tl.arange(0, 16)[:, None, None], tl.arange(0, 4)[None, :, None], tl.arange(0, 32)[None, None, :]
    x = tl.load(x_ptr + (t * 4 + h) * 64 + 2 * d)
    tl.store(y_ptr + (t * 4 + h) * 64 + 2 * d, x * tl.load(cos_ptr + t * 32 + d))


# Rows of queries and of keys lie differently: the cosines are loaded for both.
# TWO-COUNT-4: tile.load
# TWO-NOT: convert_layout
@triton.jit
def two_kinds(q_ptr, k_ptr, cos_ptr):
    d = tl.arange(0, 64)
    cos = tl.load(cos_ptr + tl.program_id(0) * 64 + d)
    q, k = q_ptr + tl.arange(0, 32)[:, None] * 64 + d, k_ptr + tl.arange(0, 8)[:, None] * 64 + d
    tl.store(q, tl.load(q) * cos)
    tl.store(k, tl.load(k) * cos)
