# RUN: nereid compile %s:product --signature "*fp16:16, *i8:16, *fp32:16, i32:16" --target sm_90a --emit gpu | FileCheck %s
# Numbers of 8 bits go through rings too; `other=0.0` is a zero of their type.
import triton
import triton.language as tl


# CHECK: tilegpu.copy_async {{.*}}xi8
# CHECK: scf.for
# CHECK-NOT: tile.load
# CHECK: tile.dot
# CHECK: scf.yield
@triton.jit
def product(x, y, z, K):
    m = tl.arange(0, 64)
    k = tl.arange(0, 64)
    acc = tl.zeros([64, 64], dtype=tl.float32)
    for start in range(0, K, 64):
        inside = start + k < K
        a = tl.load(x + m[:, None] * 1024 + start + k[None, :], mask=inside[None, :], other=0.0)
        b = tl.load(y + (start + k)[:, None] * 64 + m[None, :], mask=inside[:, None], other=0.0)
        acc = tl.dot(a, b.to(tl.float16), acc)
    tl.store(z + m[:, None] * 64 + m[None, :], acc)
