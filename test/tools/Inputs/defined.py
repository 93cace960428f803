import triton
import triton.language as tl
from somewhere import config

ACC = config.acc_type
OP = config.op
BLOCK = config.block


@triton.jit
def square(v):
    return v * v


@triton.jit
def apply(x, y):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, OP(tl.load(x + i).to(ACC)))
