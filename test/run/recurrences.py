# run: ref cpu gpu
# A state that a loop carries and reduces along either axis, while memory holds none of its shape.
import triton
import triton.language as tl


@triton.jit
def recurrent(k, v, gate, out, T, ALONG: tl.constexpr, D: tl.constexpr, N: tl.constexpr):
    p_k = k + tl.arange(0, D)
    p_v = v + tl.arange(0, N)
    p_gate = gate + tl.arange(0, D)
    p_out = out + tl.arange(0, N)
    if ALONG == 0:
        state = tl.zeros([D, N], tl.float32)
    else:
        state = tl.zeros([N, D], tl.float32)
    for _ in tl.range(0, T, num_stages=3):
        key = tl.expand_dims(tl.load(p_k), 1 - ALONG)
        state *= tl.exp2(tl.expand_dims(tl.load(p_gate), 1 - ALONG))
        state += key * tl.expand_dims(tl.load(p_v), ALONG)
        tl.store(p_out, tl.sum(state * key, ALONG))
        p_k += D
        p_v += N
        p_gate += D
        p_out += N


# Keys are ones and gates halve: the state of a step is its value and half of the one before.
# expect: recurrent(k=full(512,1,f32), v=[i % 8 for i in range(256)]:f32, gate=full(512,-1,f32), out=zeros(256,f32), T=8, ALONG=0, D=64, N=32)
#     -> out == [64 * (i % 8) * (2 - 0.5 ** (i // 32)) for i in range(256)]
# expect: recurrent(k=full(512,1,f32), v=[i % 8 for i in range(256)]:f32, gate=full(512,-1,f32), out=zeros(256,f32), T=8, ALONG=1, D=64, N=32)
#     -> out == [64 * (i % 8) * (2 - 0.5 ** (i // 32)) for i in range(256)]
# expect: recurrent(k=full(256,1,f32), v=[i % 8 for i in range(512)]:f32, gate=full(256,-1,f32), out=zeros(512,f32), T=2, ALONG=1, D=128, N=256)
#     -> out == [128 * (i % 8) * (2 - 0.5 ** (i // 256)) for i in range(512)]
# expect: recurrent(k=ones(16,f32), v=zeros(4,f32), gate=ones(16,f32), out=full(4,7,f32), T=0, ALONG=0, D=16, N=4) -> out == [7, 7, 7, 7]
