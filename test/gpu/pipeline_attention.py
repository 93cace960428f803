# RUN: nereid compile %s:attention --signature "*fp16:16, *fp16:16, *fp16:16, *fp16:16, i32:16" --target sm_90a --emit gpu --num-stages 3 | FileCheck %s
# The second product is in flight while the next step's scores are computed; its sum is waited for where it is
# scaled. Queries lie in shared memory through both loops.
import triton
import triton.language as tl


# CHECK: %[[Q:.*]] = tilegpu.ring : <1, tensor<64x64xf16
# CHECK: tilegpu.write_slot %[[Q]]
# CHECK: %[[QS:.*]] = tilegpu.read_slot %[[Q]]
# CHECK: scf.for {{.*}}iter_args(%[[ACC:[a-z0-9]+]] =
# CHECK: tile.dot %[[QS]]
# CHECK-NOT: pending
# CHECK: tilegpu.wait_products %[[ACC]]
# CHECK: tile.dot {{.*}}tilegpu.pending = 1
# CHECK: tilegpu.wait_copies 0
# CHECK: tilegpu.copy_async
# CHECK: scf.yield
# CHECK: tilegpu.drain
# CHECK-NOT: tilegpu.write_slot
# CHECK: scf.for
# CHECK: tile.dot %[[QS]]
# CHECK: scf.yield
# CHECK: tilegpu.drain
# CHECK: tilegpu.drain %[[Q]]
@triton.jit
def attention(q_ptr, k_ptr, v_ptr, out_ptr, N):
    i = tl.arange(0, 64)
    at = i[:, None] * 64 + i[None, :]
    q = tl.load(q_ptr + at)
    acc = tl.zeros([64, 64], dtype=tl.float32)
    m = tl.full([64], -1e30, dtype=tl.float32)
    for start in range(0, N, 64):
        s = tl.dot(q, tl.trans(tl.load(k_ptr + start * 64 + at)))
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        acc = acc * tl.exp2(m - new)[:, None]
        acc = tl.dot(p.to(tl.float16), tl.load(v_ptr + start * 64 + at), acc)
        m = new
    for start in range(N, 2 * N, 64):
        s = tl.dot(q, tl.trans(tl.load(k_ptr + start * 64 + at)))
        acc = tl.dot(s.to(tl.float16), tl.load(v_ptr + start * 64 + at), acc)
    tl.store(out_ptr + at, acc.to(tl.float16))
