# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.jit
def ping(x):
    return pong(x)  # error: .|.+5:12 RecursionTooDeep ping -> pong -> ping


@triton.jit
def pong(x):
    return ping(x)


@triton.jit
def kernel(p):
    tl.store(p, ping(tl.load(p)))
