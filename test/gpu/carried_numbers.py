# RUN: nereid compile %s:blocks --signature "*fp16:16, *fp16:16, *fp32:16, i32:16" --target sm_90a --emit gpu | FileCheck %s
# Offsets that a loop carries are a number and a range: they are computed as each access wants them, and nothing of them moves between threads.
import triton
import triton.language as tl


# CHECK: scf.for
# CHECK-NOT: convert_layout {{.*}}xi32
# CHECK: tile.dot
# CHECK-NOT: convert_layout {{.*}}xi32
# CHECK: scf.yield
@triton.jit
def blocks(a, b, y, n):
    i, j = tl.arange(0, 64), tl.arange(0, 32)
    places = tl.arange(0, 64)
    for step in range(n):
        left = tl.load(a + i[:, None] + places[None, :] * 64, mask=places[None, :] < n, other=0.0)
        right = tl.load(b + places[:, None] * 32 + j[None, :], mask=places[:, None] < n, other=0.0)
        tl.store(y + places[:, None] * 32 + j[None, :], tl.dot(left, right), mask=places[:, None] < n)
        places += 64
