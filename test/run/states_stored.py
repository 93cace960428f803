# run: ref cpu gpu
# Loops of products that store their state in each step (linear attention by chunks), through another argument than they read, and through the same.
import triton
import triton.language as tl


@triton.jit
def states(k, v, h, steps):
    i, j = tl.arange(0, 64), tl.arange(0, 32)
    state = tl.zeros([64, 32], tl.float32)
    for t in range(steps):
        tl.store(h + t * 2048 + i[:, None] * 32 + j[None, :], state)
        state += tl.dot(tl.load(k + t * 4096 + i[:, None] * 64 + i[None, :]), tl.load(v + t * 2048 + i[:, None] * 32 + j[None, :]))

# expect: states(k=ones(20480,f16), v=ones(10240,f16), h=zeros(10240,f32), steps=5) -> h == [64.0 * (n // 2048) for n in range(10240)]
# expect: states(k=ones(4096,f16), v=ones(2048,f16), h=ones(2048,f32), steps=1) -> h == [0.0] * 2048
# expect: states(k=ones(1,f16), v=ones(1,f16), h=ones(4,f32), steps=0) -> h == [1.0] * 4


# What a step writes the next one reads: nothing of it goes ahead.
@triton.jit
def handed_on(k, v, steps):
    i, j = tl.arange(0, 64), tl.arange(0, 32)
    for t in range(steps):
        at = i[:, None] * 32 + j[None, :]
        product = tl.dot(tl.load(k + i[:, None] * 64 + i[None, :]), tl.load(v + t * 2048 + at))
        tl.store(v + (t + 1) * 2048 + at, (product / 64 + 1).to(tl.float16))
        tl.debug_barrier()

# expect: handed_on(k=ones(4096,f16), v=zeros(10240,f16), steps=4) -> v == [n // 2048 for n in range(10240)]


# Stores of whole blocks behind copies of whole blocks.
@triton.jit
def blocks(k, v, h, steps):
    of_k = tl.make_tensor_descriptor(k, [steps * 64, 64], [64, 1], [64, 64])
    of_v = tl.make_tensor_descriptor(v, [steps * 64, 64], [64, 1], [64, 64])
    of_h = tl.make_tensor_descriptor(h, [steps * 64, 64], [64, 1], [64, 64])
    state = tl.zeros([64, 64], tl.float32)
    for t in range(steps):
        of_h.store([t * 64, 0], state.to(tl.float16))
        state += tl.dot(of_k.load([t * 64, 0]), of_v.load([t * 64, 0]))

# expect: blocks(k=ones(20480,f16), v=ones(20480,f16), h=ones(20480,f16), steps=5) -> h == [64.0 * (n // 4096) for n in range(20480)]
