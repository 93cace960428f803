# RUN: nereid compile %s:states --signature "*fp16:16, *fp16:16, *fp16:16, i32" --target sm_90a --emit gpu | FileCheck %s --check-prefix AHEAD
# RUN: nereid compile %s:in_place --signature "*fp16:16, *fp16:16, i32" --target sm_90a --emit gpu | FileCheck %s --check-prefix INPLACE
# Steps that store their state (linear attention by chunks): what they read through other arguments is copied ahead, what they read of the same waits.
import triton
import triton.language as tl


# AHEAD: tilegpu.ring
# AHEAD: tilegpu.copy_async
# AHEAD: scf.for
# AHEAD: tile.store
# AHEAD: tilegpu.copy_async
@triton.jit
def states(k, v, h, n):
    i = tl.arange(0, 64)
    at = i[:, None] * 64 + i[None, :]
    state = tl.zeros([64, 64], tl.float32)
    for t in range(n):
        tl.store(h + t * 4096 + at, state.to(tl.float16))
        state += tl.dot(tl.load(k + t * 4096 + at), tl.load(v + t * 4096 + at))


# INPLACE: scf.for
# INPLACE: %[[V:.*]] = tile.load
# INPLACE: tile.store
@triton.jit
def in_place(k, v, n):
    i = tl.arange(0, 64)
    at = i[:, None] * 64 + i[None, :]
    state = tl.zeros([64, 64], tl.float32)
    for t in range(n):
        before = tl.load(v + t * 4096 + at)
        tl.store(v + t * 4096 + 4096 + at, state.to(tl.float16))
        state += tl.dot(tl.load(k + t * 4096 + at), before)
