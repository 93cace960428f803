# RUN: nereid compile %s:found --signature "*fp32:16, *i64:16, *i64:16, i32:16" --num-warps 8 --target sm_90a --emit gpu | FileCheck %s
# What is loaded at the place that a reduction finds in a row is loaded where the row's threads know the place: in a step nothing of it moves between threads.
import triton
import triton.language as tl


# CHECK: scf.for
# CHECK: tile.reduce
# CHECK-NOT: convert_layout
# CHECK: tile.load {{.*}} -> tensor<8xi64
# CHECK-NOT: convert_layout
# CHECK: scf.yield
@triton.jit
def found(x, names, out, N):
    rows, columns = tl.arange(0, 8), tl.arange(0, 128)
    last = tl.zeros([8], tl.int64) - 1
    for start in range(0, N, 128):
        v = tl.load(x + rows[:, None] * N + start + columns[None, :])
        hit = v > 0
        place = tl.argmax(hit.to(tl.int32), 1)
        last = tl.where(tl.sum(hit, 1) > 0, tl.load(names + rows * N + start + place), last)
    tl.store(out + rows, last)
