# RUN: nereid compile %s:recurrence --signature "*fp32:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, i32" --target sm_90a --emit gpu | FileCheck %s
# RUN: nereid compile %s:stateless --signature "*fp32:16, *fp32:16, *fp32:16, *fp32:16, i32" --target sm_90a --emit gpu | FileCheck %s --check-prefix=COPIES
# RUN: nereid compile %s:columns --signature "*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16" --target sm_90a --emit gpu | FileCheck %s --check-prefix=COLUMNS
# A state that a loop carries lies as it is loaded and stored, not as one of the vectors that update it, and each thread loads what it needs of those.
import triton
import triton.language as tl


# CHECK: #[[STATE:layout[0-9]*]] = #tilegpu.layout<2, register = {{\[}}[1, 0], [2, 0], [0, 8], [0, 16], [0, 32]]
# CHECK: scf.for {{.*}} -> (tensor<64x64xf32, #[[STATE]]>
# CHECK-COUNT-3: tile.load
# CHECK-NOT: convert_layout
# CHECK: tile.reduce{{.*}} #[[STATE]]>)
# CHECK: scf.yield
@triton.jit
def recurrence(q_ptr, k_ptr, v_ptr, h_ptr, o_ptr, T):
    i = tl.arange(0, 64)
    state = h_ptr + i[None, :] * 64 + i[:, None]
    h = tl.load(state)
    for t in range(T):
        k = tl.load(k_ptr + t * 64 + i)
        v = tl.load(v_ptr + t * 64 + i)
        q = tl.load(q_ptr + t * 64 + i) * 0.125
        h = h * 0.5 + k[None, :] * v[:, None]
        tl.store(o_ptr + t * 64 + i, tl.sum(h * q[None, :], axis=1))
    tl.store(state, h)


# Numbers of columns that a loop carries, of which its mask is made, lie as the tile that they are repeated to: no way through shared memory in each step.
# COLUMNS-LABEL: func.func @columns
# COLUMNS: scf.for
# COLUMNS-NOT: convert_layout
# COLUMNS: scf.yield
@triton.jit
def columns(x_ptr, y_ptr, out_ptr, M, N):
    rows = tl.program_id(0) * 8 + tl.arange(0, 8)
    columns = tl.arange(0, 128)
    offsets = rows[:, None] * N + columns
    total = tl.zeros([8, 128], dtype=tl.float32)
    for _ in range(0, N, 128):
        mask = (rows[:, None] < M) & (columns < N)
        total += tl.load(x_ptr + offsets, mask=mask).to(tl.float32) * tl.load(y_ptr + offsets, mask=mask).to(tl.float32)
        columns += 128
        offsets += 128
    tl.store(out_ptr + rows, tl.sum(total, 1), mask=rows < M)


# Vectors that have fewer elements than there are threads do not say where a state lies that no access touches, as threads would
# compute it twice: a thread has a piece of what is summed up.
# COPIES: #[[STATE:layout[0-9]*]] = #tilegpu.layout<2, register = {{\[}}[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], {{.*}}warp = {{\[}}[0, 32], [32, 0]]>
# COPIES-LABEL: func.func @stateless
# COPIES: scf.for {{.*}} -> (tensor<64x64xf32, #[[STATE]]>
# COPIES: tile.reduce{{.*}} #[[STATE]]>)
@triton.jit
def stateless(q_ptr, k_ptr, v_ptr, o_ptr, T):
    i = tl.arange(0, 64)
    h = tl.zeros([64, 64], dtype=tl.float32)
    for t in range(T):
        h += tl.load(k_ptr + t * 64 + i)[:, None] * tl.load(v_ptr + t * 64 + i)[None, :]
        tl.store(o_ptr + t * 64 + i, tl.sum(h * tl.load(q_ptr + t * 64 + i)[:, None], axis=0))
