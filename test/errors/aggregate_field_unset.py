# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.language.core._aggregate
class Pair:
    x: tl.tensor
    y: tl.tensor

    def __init__(self, x):
        self.x = x


@triton.jit
def kernel(p):
    pair = Pair(tl.load(p))  # error: .:12 UninitializedField did not set `y`
    tl.store(p, pair.x)
