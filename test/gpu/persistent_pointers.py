# RUN: nereid compile %s:matmul --signature "*fp16:16, *fp16:16, *fp16:16, i32, i32, i32:16" --target sm_90a --emit gpu --num-stages 3 --num-warps 8 | FileCheck %s
# RUN: nereid compile %s:matmul --signature "*fp16:16, *fp16:16, *fp16:16, i32, i32, i32:16" --target sm_80 --emit gpu --num-stages 3 --num-warps 8 | FileCheck %s
# A loop over tiles that may be flattened, by pointers: the next tile's first copies start before this tile is stored,
# in the slots behind those of its last steps.
import triton
import triton.language as tl


# CHECK-COUNT-2: tilegpu.ring
# CHECK-COUNT-4: tilegpu.copy_async
# CHECK: tilegpu.commit_copies
# CHECK: scf.for {{.*}} iter_args(%[[SLOT:.*]] = {{.*}}) -> (i32)
# CHECK-NOT: tilegpu.copy_async
# CHECK: %[[STEPS:.*]]:2 = scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %[[SLOT]])
# CHECK: tilegpu.wait_copies 1
# CHECK-COUNT-2: tilegpu.copy_async
# CHECK: scf.yield
# CHECK: tile.barrier
# CHECK: arith.addi %[[STEPS]]#1
# CHECK-COUNT-2: tilegpu.copy_async
# CHECK-NEXT: tilegpu.commit_copies
# CHECK-COUNT-2: tilegpu.copy_async
# CHECK-NEXT: tilegpu.commit_copies
# CHECK: tile.store
# CHECK: scf.yield %[[STEPS]]#1
# CHECK: tilegpu.drain
@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K):
    columns = tl.cdiv(N, 128)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, 128) * columns, tl.num_programs(0), flatten=True):
        m = tile // columns * 128 + tl.arange(0, 128)
        n = tile % columns * 128 + tl.arange(0, 128)
        acc = tl.zeros([128, 128], dtype=tl.float32)
        for step in range(tl.cdiv(K, 64)):
            k = step * 64 + tl.arange(0, 64)
            a = tl.load(a_ptr + m[:, None] * K + k[None, :], mask=k[None, :] < K, other=0.0)
            b = tl.load(b_ptr + n[None, :] * K + k[:, None], mask=k[:, None] < K, other=0.0)
            acc = tl.dot(a, b, acc)
        tl.store(c_ptr + m[:, None] * N + n[None, :], acc.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))
