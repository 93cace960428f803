# RUN: nereid compile %s:attention --signature "tensordesc<fp16[128, 128]>, tensordesc<fp16[128, 128]>, tensordesc<fp16[128, 128]>, tensordesc<fp16[128, 128]>, i32:16, 128" --target sm_90a --emit gpu --num-stages 3 --num-warps 8 | FileCheck %s
# RUN: nereid compile %s:attention --signature "tensordesc<fp16[128, 128]>, tensordesc<fp16[128, 128]>, tensordesc<fp16[128, 128]>, tensordesc<fp16[128, 128]>, i32:16, 128" --target sm_90a --emit ptx --num-stages 3 --num-warps 8 | FileCheck %s --check-prefix PTX
# RUN: nereid compile %s:attention --signature "tensordesc<fp16[128, 64]>, tensordesc<fp16[64, 64]>, tensordesc<fp16[64, 64]>, tensordesc<fp16[128, 64]>, i32:16, 64" --target sm_90a --emit gpu --num-stages 3 --num-warps 8 | FileCheck %s --check-prefix SHORT
# Two warp groups compute the exponentials between long products in turns, each beside the products of the other.
import triton
import triton.language as tl


# The copy engine brings the queries too, before the first steps' blocks, which don't wait for them.
# CHECK-NOT: tile.desc_load
# CHECK: %[[Q:.*]] = tilegpu.ring : <1,
# CHECK: %[[QUERIES:.*]] = tilegpu.arrivals : <1>
# CHECK: %[[KEYS:.*]] = tilegpu.arrivals : <3>
# CHECK-NEXT: %[[VALUES:.*]] = tilegpu.arrivals : <3>
# CHECK: tilegpu.copy_bulk %[[Q]]{{.*}} arrives %[[QUERIES]]
# CHECK: tilegpu.copy_bulk {{.*}} arrives %[[KEYS]]
# CHECK-NEXT: tilegpu.copy_bulk {{.*}} arrives %[[VALUES]]
# CHECK: tilegpu.copy_bulk {{.*}} arrives %[[KEYS]]
# CHECK-NEXT: tilegpu.copy_bulk {{.*}} arrives %[[VALUES]]
# CHECK: }
# CHECK-NEXT: tilegpu.wait_bulk %[[QUERIES]]
# CHECK: tilegpu.open_turns
# The first product waits for the keys alone.
# CHECK: scf.for
# CHECK-NEXT: tilegpu.wait_bulk %[[KEYS]]
# CHECK-NOT: wait_bulk
# CHECK: tile.dot
# CHECK: tile.reduce
# CHECK-NOT: math.exp2
# CHECK: tilegpu.begin_turn
# CHECK: math.exp2
# CHECK: tilegpu.wait_bulk %[[VALUES]]
# CHECK: tilegpu.end_turn
# CHECK-NEXT: tile.dot
# CHECK: scf.yield
# CHECK: tilegpu.close_turns

# The last group lets the first one begin. Barrier 1 is the first group's.
# PTX: bar.arrive %r{{[0-9]+}}, 256;
# PTX: wgmma.wait_group.sync.aligned 0;
# PTX: bar.sync %r{{[0-9]+}}, 256;
# PTX: ex2.approx
# PTX: bar.arrive %r{{[0-9]+}}, 256;
# PTX: wgmma.wait_group.sync.aligned 1;
# PTX: bar.sync %r{{[0-9]+}}, 256;

# SHORT-NOT: _turn
@triton.jit
def attention(q_desc, k_desc, v_desc, out_desc, N, D: tl.constexpr):
    q = q_desc.load([0, 0])
    acc = tl.zeros([128, D], dtype=tl.float32)
    m = tl.full([128], -1e30, dtype=tl.float32)
    for start in range(0, N, D):
        s = tl.dot(q, k_desc.load([start, 0]).T)
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        acc = acc * tl.exp2(m - new)[:, None]
        acc = tl.dot(p.to(tl.float16), v_desc.load([start, 0]), acc)
        m = new
    out_desc.store([0, 0], acc.to(tl.float16))
