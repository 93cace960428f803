# RUN: nereid compile %s:kernel --signature "*fp32:16, *i32:16, i32" --const XBLOCK=1 --const BLOCK=2048 --target sm_90a --emit gpu | FileCheck %s
# A sum of what a loop computes of ranges and of a few elements that all threads have: the tile is spread over the threads.
import triton
import triton.language as tl


# CHECK: layout<2, register = {{\[\[}}0, 128], [0, 256], [0, 512], [0, 1024]], lane = {{\[\[}}0, 1]
# CHECK: tile.reduce
@triton.jit
def kernel(out_ptr, label_ptr, n, XBLOCK: tl.constexpr, BLOCK: tl.constexpr):
    x = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:, None]
    label = tl.load(label_ptr + x)
    acc = tl.zeros([XBLOCK, BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        column = start + tl.arange(0, BLOCK)[None, :]
        acc += tl.where((label == column) & (column < n), 1.0, 0.0)
    tl.store(out_ptr + x, tl.sum(acc, 1)[:, None])
