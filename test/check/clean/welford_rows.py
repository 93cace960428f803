# check: moments[3](x=randn(3x40,f32), out=empty(3x2,f32), N=40, BLOCK=16)
import triton
import triton.language as tl


@triton.jit
def moments(x, out, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    count = tl.zeros([BLOCK], dtype=tl.float32)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, N, BLOCK):
        value = tl.load(x + row * N + start + i, mask=start + i < N, other=0.0)
        count += (start + i < N).to(tl.float32)
        total += value
        squares += value * value
    n = tl.sum(count, axis=0)
    mean = tl.sum(total, axis=0) / n
    tl.store(out + row * 2, mean)
    tl.store(out + row * 2 + 1, tl.sum(squares, axis=0) / n - mean * mean)
