import triton
import triton.language as tl

from parts.deep.facts import LIMIT
from ..facts import LIMIT as AGAIN

VALUE = tl.constexpr(LIMIT + AGAIN)


@triton.jit
def fill(x):
    tl.store(x, VALUE)
