# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.language.core._aggregate
class Pair:
    x: tl.tensor
    n: tl.constexpr

    def __init__(self, x, n):
        self.x = x
        self.n = n  # error: .:9 FieldMismatch field `n` of `Pair`


@triton.jit
def kernel(p):
    pair = Pair(tl.load(p), tl.load(p))
    tl.store(p, pair.x)
