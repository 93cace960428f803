# RUN: nereid compile %s:tiles --signature "*fp16:16, *fp16:16, *fp16:16, i32, i32, i32" --target sm_90a --emit gpu --num-stages 3 | FileCheck %s
# RUN: nereid compile %s:loads --signature "*fp16:16, *fp16:16, *fp16:16, i32, i32, i32" --target sm_90a --emit gpu --num-stages 3 | FileCheck %s --check-prefix=LOADS
# A branch that finds the next tile is computed ahead too, and not for a step that never runs: it would divide by what is 0 there.
import triton
import triton.language as tl


# CHECK: scf.for {{.*}} iter_args
# CHECK: tilegpu.wait_copies 1
# CHECK: %[[RUNS:.*]] = arith.cmpi ugt
# CHECK: %[[BOTH:.*]] = arith.andi {{.*}}, %[[RUNS]]
# CHECK: scf.if %[[BOTH]]
# CHECK: tile.divsi
# CHECK: tilegpu.copy_async
# CHECK: tilegpu.copy_async
# CHECK: tile.dot
@triton.jit
def tiles(a, b, c, steps, count, width):
    step = -1
    at = 0
    i = tl.arange(0, 64)
    j = tl.arange(0, 64)
    for _ in range(0, steps * count):
        step = tl.where(step == steps - 1, 0, step + 1)
        if step == 0:
            at += 1
            i = at // (count - at) * 64 + tl.arange(0, 64)
        k = step * 64 + j
        x = tl.load(a + i[:, None] * width * 8 + k[None, :])
        y = tl.load(b + k[:, None] * width * 8 + j[None, :])
        tl.store(c + i[:, None] * 64 + j[None, :] + step, tl.dot(x, y).to(tl.float16))


# A branch that loads is not.
# LOADS-NOT: copy_async
@triton.jit
def loads(a, b, c, steps, count, width):
    i = tl.arange(0, 64)
    j = tl.arange(0, 64)
    at = 0
    for step in range(0, steps):
        if step % count == 0:
            at = tl.load(b + step).to(tl.int32)
        x = tl.load(a + (at + i)[:, None] * width * 8 + j[None, :])
        tl.store(c + i[:, None] * 64 + j[None, :] + step, tl.dot(x, x).to(tl.float16))
