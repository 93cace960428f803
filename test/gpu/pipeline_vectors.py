# RUN: nereid compile %s:rows --signature "*fp16:16, *fp16:16, *fp32:16, *fp32:16, i32:16" --target sm_90a --emit gpu --num-stages 3 | FileCheck %s
# RUN: nereid compile %s:rows --signature "*fp16:16, *fp16:16, *fp32:16, *fp32:16, i32:16" --target sm_90a --emit ptx --num-stages 3 | FileCheck %s --check-prefix=PTX
# A vector of a step waits in a ring as the tiles do, and is read where its users want it: no load waits for memory in the
# step, and no conversion needs a barrier.
import triton
import triton.language as tl


# CHECK: tilegpu.ring : <3, tensor<64xf32, #[[LOADED:.*]]>>
# CHECK: scf.for
# CHECK-NOT: tile.load
# CHECK: tilegpu.read_slot {{.*}} : <3, tensor<64xf32, #[[LOADED]]>> -> tensor<64xf32, #[[WANTED:.*]]>
# CHECK-NOT: convert_layout
# CHECK: tile.expand_dims {{.*}} : tensor<64xf32, #[[WANTED]]>
# CHECK: scf.yield

# PTX: wgmma.mma_async
# PTX-NOT: ld.global
# PTX: cp.async.wait_group
@triton.jit
def rows(q, k, m, out, n):
    i = tl.arange(0, 64)
    tile = i[:, None] * 64 + i[None, :]
    a = tl.load(q + tile)
    acc = tl.zeros((64, 64), tl.float32)
    for start in range(0, n, 64):
        b = tl.load(k + start * 64 + tile)
        top = tl.load(m + start + i)
        s = tl.dot(a, b.T)
        p = tl.math.exp2(s - top[None, :])
        acc += tl.dot(p.to(tl.float16), b)
    tl.store(out + tile, acc)
