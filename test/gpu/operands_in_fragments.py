# RUN: nereid compile %s:gated --signature "*fp16:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, i32:16, 32" --num-warps 1 --target sm_90a --emit gpu | FileCheck %s
# RUN: nereid compile %s:gated --signature "*fp16:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, i32:16, 32" --num-warps 1 --target sm_90a --emit ptx | FileCheck %s --check-prefix PTX
# RUN: nereid compile %s:gated --signature "*fp16:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, i32:16, 64" --num-warps 2 --target sm_90a --emit ptx | FileCheck %s --check-prefix PTX
# RUN: nereid compile %s:turned --signature "*fp16:16, *fp16:16, *fp32:16, *fp32:16, i32:16" --target sm_90a --emit ptx | FileCheck %s --check-prefix TURNED
# RUN: nereid compile %s:chained --signature "*fp16:16, *fp16:16, *fp16:16, *fp32:16, i32:16" --target sm_90a --emit ptx | FileCheck %s --check-prefix CHAINED
# RUN: nereid compile %s:diagonal --signature "*bf16:16, *bf16:16, *bf16:16, *fp32:16, i32:16" --target sm_90a --emit ptx | FileCheck %s --check-prefix DIAGONAL
# Operands of words that are computed of slots, words among them, are computed where their products want them: the order along K is free, so a lane has eight neighbours of each row. Nothing is written to shared
# memory, and an operand of two products is computed once. A left operand of `wgmma` comes in registers too; a right one is written four words at once.
import triton
import triton.language as tl


# CHECK: scf.for
# CHECK-NOT: convert_layout
# CHECK: tile.dot %[[LEFT:[0-9]+]], {{.*}} tilegpu.neighbours = 8 : i32}
# CHECK: tile.dot %[[LEFT]], {{.*}} tilegpu.neighbours = 8 : i32}
# CHECK: scf.yield
# PTX: cp.async.wait_group
# PTX-NOT: st.shared
# PTX: ld.shared.v4
# PTX-NOT: {{st.shared|ldmatrix}}
# PTX: mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32
# PTX-NOT: st.shared
# PTX: cp.async.wait_group 0
@triton.jit
def gated(q_ptr, g_ptr, b_ptr, out_ptr, row_ptr, T, K: tl.constexpr):
    i, j = tl.arange(0, 16), tl.arange(0, K)
    first, second = tl.zeros([16, 16], dtype=tl.float32), tl.zeros([16, 16], dtype=tl.float32)
    for t in range(0, T, K):
        q = tl.load(q_ptr + i[:, None] * T + t + j[None, :]).to(tl.float32)
        g = tl.load(g_ptr + i[:, None] * T + t + j[None, :])
        b = tl.load(b_ptr + i[:, None] * T + t + j[None, :])
        row = tl.load(row_ptr + t + j)
        left = q * tl.exp2(g - row[None, :])
        first += tl.dot(left, tl.trans(b * 2.0), input_precision="tf32")
        second += tl.dot(left, tl.trans(b + row[None, :]), input_precision="tf32")
    at = i[:, None] * 16 + i[None, :]
    tl.store(out_ptr + at, first)
    tl.store(out_ptr + 256 + at, second)


# TURNED: cp.async.wait_group
# TURNED-NOT: st.shared.{{f32|b32|v2}}
# TURNED: ldmatrix.sync.aligned.m8n8.x4.trans
# TURNED: st.shared.v4
# TURNED-NOT: st.shared.{{f32|b32|v2}}
# TURNED: wgmma.mma_async.sync.aligned.m64n32k8.f32.tf32.tf32 {{{.*}}}, {
@triton.jit
def turned(q_ptr, b_ptr, row_ptr, out_ptr, T):
    i, j, k = tl.arange(0, 64), tl.arange(0, 32), tl.arange(0, 64)
    total = tl.zeros([64, 32], dtype=tl.float32)
    for t in range(0, T, 64):
        q = tl.load(q_ptr + i[:, None] + (t + k)[None, :] * 64).to(tl.float32)
        b = tl.load(b_ptr + (t + k)[:, None] * 32 + j[None, :]).to(tl.float32)
        row = tl.load(row_ptr + t + k)
        total += tl.dot(q * row[None, :], b, input_precision="tf32")
    tl.store(out_ptr + i[:, None] * 32 + j[None, :], total)


# The left operand of the second product is what the first one gave, in another order along K, which the right one has as well: a thread's four words of it along K are
# two of the ones that lie in its slot apart.
# CHAINED: ldmatrix.sync.aligned.m8n8.x4.shared
# CHAINED: wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 {{{.*}}}, {
# CHAINED-NOT: st.shared.{{f32|b32|v2}}
# CHAINED: st.shared.v4
# CHAINED-NOT: st.shared.{{f32|b32|v2}}
# CHAINED: wgmma.mma_async.sync.aligned.m64n32k8.f32.tf32.tf32 {{{.*}}}, {
@triton.jit
def chained(q_ptr, k_ptr, v_ptr, out_ptr, T):
    i, j = tl.arange(0, 64), tl.arange(0, 32)
    total = tl.zeros([64, 32], dtype=tl.float32)
    for t in range(0, T, 64):
        q = tl.load(q_ptr + (t + i)[:, None] * 64 + i[None, :]).to(tl.float32)
        k = tl.load(k_ptr + i[:, None] + (t + i)[None, :] * 64).to(tl.float32)
        v = tl.load(v_ptr + (t + i)[:, None] * 32 + j[None, :]).to(tl.float32)
        scores = tl.where(i[:, None] >= i[None, :], tl.dot(q, k, input_precision="tf32"), 0)
        total += tl.dot(scores, v, input_precision="tf32")
    tl.store(out_ptr + i[:, None] * 32 + j[None, :], total)


# Warps of `mma.sync` have columns of the sum that others want: it moves between them, one word after the other, into the order in which keys and values come by `ldmatrix`. Values are written
# nowhere: they lie along N, so that each word of them would meet fifteen others in its bank.
# DIAGONAL: cp.async.wait_group 1
# DIAGONAL-COUNT-8: ldmatrix.sync.aligned.m8n8.x4.shared
# DIAGONAL-COUNT-4: ldmatrix.sync.aligned.m8n8.x4.trans
# DIAGONAL: mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32
# DIAGONAL-NOT: ldmatrix
# DIAGONAL-COUNT-8: st.shared.f32
# DIAGONAL-NOT: {{st.shared|ldmatrix}}
# DIAGONAL: mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32
# DIAGONAL-NOT: {{st.shared|ldmatrix}}
# DIAGONAL: cp.async.wait_group 0
@triton.jit
def diagonal(q_ptr, k_ptr, v_ptr, out_ptr, T):
    i, j = tl.arange(0, 32), tl.arange(0, 128)
    q = tl.load(q_ptr + i[:, None] * 128 + j[None, :]).to(tl.float32)
    total = tl.zeros([32, 128], dtype=tl.float32)
    for t in range(0, T, 32):
        k = tl.load(k_ptr + (t + i)[None, :] * 128 + j[:, None]).to(tl.float32)
        v = tl.load(v_ptr + (t + i)[:, None] * 128 + j[None, :]).to(tl.float32)
        scores = tl.dot(q, k, input_precision="tf32") * (i[:, None] + T - t - i[None, :])
        total += tl.dot(scores, v, input_precision="tf32")
    tl.store(out_ptr + i[:, None] * 128 + j[None, :], total)
