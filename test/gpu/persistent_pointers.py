# RUN: nereid compile %s:matmul --signature "*fp16:16, *fp16:16, *fp16:16, i32, i32, i32:16" --target sm_90a --emit gpu --num-stages 3 --num-warps 8 | FileCheck %s
# RUN: nereid compile %s:matmul --signature "*fp16:16, *fp16:16, *fp16:16, i32, i32, i32:16" --target sm_80 --emit gpu --num-stages 3 --num-warps 8 | FileCheck %s
# A loop over tiles that may be flattened, by pointers: copies go on into the next tile's steps. What they need of a tile,
# its rows and columns, is computed once a tile and goes through the steps.
import triton
import triton.language as tl


# CHECK-COUNT-2: tilegpu.ring
# CHECK: %[[FIRST:.*]]:5 = scf.for
# CHECK-COUNT-2: tilegpu.copy_async
# CHECK-NEXT: tilegpu.commit_copies
# CHECK: scf.for {{.*}} -> (i1, i64, tensor<128x1x!tile.ptr<f16>, #{{.*}}>, tensor<1x128x!tile.ptr<f16>, #{{.*}}>, i32, i32)
# CHECK-NOT: tilegpu.copy_async
# CHECK: %[[STEPS:.*]]:{{[0-9]+}} = scf.for
# CHECK: tilegpu.wait_copies 1
# CHECK-COUNT-2: tilegpu.copy_async
# CHECK-NEXT: tilegpu.commit_copies
# CHECK: scf.if
# CHECK: scf.yield
# CHECK: tile.divsi
# CHECK: scf.yield
# CHECK-NOT: tilegpu.copy_async
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
