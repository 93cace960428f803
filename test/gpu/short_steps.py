# RUN: nereid compile %s:norm --signature "*fp32:16, *fp32:16, *fp32:16, i32:16, 128" --target sm_90a --emit gpu | FileCheck %s
# RUN: nereid compile %s:norm --signature "*fp32:16, *fp32:16, *fp32:16, i32:16, 512" --target sm_90a --emit gpu | FileCheck %s --check-prefix WIDE
# RUN: nereid compile %s:fill --signature "*fp16:16, *fp16:16, 3, 11" --target sm_90a --emit ptx | FileCheck %s --check-prefix FILL
# RUN: nereid compile %s:online --signature "*fp32:16, *fp32:16, i32:16" --target sm_90a --emit gpu | FileCheck %s --check-prefix ONLINE
# Four steps of 4 bytes a thread become one, whose loads start together; those of a row that is kept are in one branch. What lies beyond the end is neither loaded nor stored nor added.
import triton
import triton.language as tl


# CHECK: %[[ROOM:.*]] = tilegpu.kept_steps bytes 512
# CHECK: %[[PLACES:.*]] = arith.andi
# CHECK: scf.for
# CHECK-COUNT-4: tile.load
# CHECK: scf.if
# CHECK-COUNT-4: tilegpu.keep
# CHECK: arith.addf
# CHECK: arith.addf
# CHECK-NEXT: tile.splat
# CHECK-NEXT: arith.select
# One step runs as it was.
# CHECK: else
# CHECK: scf.for
# CHECK: tile.load
# CHECK: tilegpu.keep
# CHECK: tile.reduce
# CHECK: scf.if
# CHECK: scf.for
# CHECK-COUNT-4: tile.load
# CHECK: scf.if
# CHECK-COUNT-4: tilegpu.kept
# CHECK: else
# CHECK-COUNT-4: tile.load
# CHECK-COUNT-4: tile.store
# CHECK: else
# CHECK: scf.for
# CHECK: tile.store
# CHECK-NOT: tile.store
# A step of 16 bytes stays as it is.
# WIDE: scf.for
# WIDE: tile.load
# WIDE-NOT: tile.load
# WIDE: scf.yield
@triton.jit
def norm(x, w, y, N, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, N, BLOCK):
        total += tl.load(x + row * N + start + columns, mask=start + columns < N, other=0.0)
    mean = tl.sum(total, axis=0) / N
    for start in range(0, N, BLOCK):
        inside = start + columns < N
        weights = tl.load(w + row * N + start + columns, mask=inside)
        tl.store(y + row * N + start + columns, (tl.load(x + row * N + start + columns, mask=inside) - mean) * weights, mask=inside)


# Stores of joined steps need no barrier, as those of steps don't.
# FILL-NOT: bar.sync
# FILL-COUNT-4: ld.global
# FILL-NOT: bar.sync
# FILL-COUNT-4: st.global
# FILL-NOT: bar.sync
@triton.jit
def fill(x, y, first, last):
    rows, columns = tl.arange(0, 8), tl.arange(0, 32)
    place = rows[:, None] * 32 + columns[None, :]
    for at in range(first, last):
        tl.store(y + at * 256 + place, tl.load(x + (at - first) * 256 + place))


# A loop that reduces in its steps stays, and so does the other one that takes the same steps: what one keeps the other finds.
# ONLINE: scf.for
# ONLINE: tile.load
# ONLINE-NOT: tile.load
# ONLINE: tile.reduce
# ONLINE: scf.for
# ONLINE: tilegpu.kept
# ONLINE: tile.load
# ONLINE-NOT: tile.load
# ONLINE: tile.store
@triton.jit
def online(x, y, N):
    columns = tl.arange(0, 128)
    row = tl.program_id(0)
    most, total = -float("inf"), 0.0
    for start in range(0, N, 128):
        v = tl.load(x + row * N + start + columns, mask=start + columns < N, other=-float("inf"))
        now = tl.maximum(most, tl.max(v, axis=0))
        total = total * tl.exp(most - now) + tl.sum(tl.exp(v - now), axis=0)
        most = now
    for start in range(0, N, 128):
        inside = start + columns < N
        v = tl.load(x + row * N + start + columns, mask=inside, other=-float("inf"))
        tl.store(y + row * N + start + columns, tl.exp(v - most) / total, mask=inside)
