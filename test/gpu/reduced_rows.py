# RUN: nereid compile %s:normed --signature "*fp32:16, *fp32:16, i32:16" --target sm_90a --emit ptx | FileCheck %s
# RUN: nereid compile %s:scanned --signature "*fp32:16, *fp32:16, i32:16" --target sm_90a --emit ptx | FileCheck %s --check-prefix=SCAN
# RUN: nereid compile %s:both --signature "*fp16:16, *fp32:16, *fp32:16, i32:16" --target sm_90a --emit gpu | FileCheck %s --check-prefix=BOTH
# Rows that are reduced lie in as few lanes as read two lines of 128 bytes, and each in one warp: sixteen lanes of 16 bytes, so four
# shuffles for each of a thread's eight rows, and no way through shared memory.
import triton
import triton.language as tl


# CHECK-COUNT-16: ld.global.v4.b32
# CHECK-NOT: ld.global
# CHECK-NOT: bar.sync
# CHECK-COUNT-32: shfl.sync
# CHECK-NOT: shfl.sync
# CHECK-NOT: bar.sync
# CHECK: st.global.v4.b32
@triton.jit
def normed(x_ptr, y_ptr, stride):
    at = tl.arange(0, 64)[:, None] * stride + tl.arange(0, 128)[None, :]
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, (x * tl.rsqrt(tl.sum(x * x, 1))[:, None]))


# SCAN-NOT: bar.sync
# SCAN: shfl.sync
# SCAN-NOT: bar.sync
# SCAN: st.global.v4.b32
@triton.jit
def scanned(x_ptr, y_ptr, stride):
    at = tl.arange(0, 16)[:, None] * stride + tl.arange(0, 256)[None, :]
    tl.store(y_ptr + at, tl.cumsum(tl.load(x_ptr + at), 1))


# A tile that is reduced along both lies as others do.
# BOTH: [[LAYOUT:#layout[0-9]*]] = #tilegpu.layout<2, register = {{\[\[}}0, 1], [0, 2], [0, 4], [8, 0], [16, 0], [32, 0]], lane = {{\[\[}}0, 8], [0, 16], [0, 32], [0, 64], [1, 0]], warp = {{\[\[}}2, 0], [4, 0]]>
# BOTH: tile.load {{.*}}[[LAYOUT]]
@triton.jit
def both(x_ptr, rows_ptr, columns_ptr, stride):
    i, j = tl.arange(0, 64), tl.arange(0, 128)
    x = tl.load(x_ptr + i[:, None] * stride + j[None, :]).to(tl.float32)
    tl.store(rows_ptr + i, tl.sum(x, 1))
    tl.store(columns_ptr + j, tl.sum(x, 0))
