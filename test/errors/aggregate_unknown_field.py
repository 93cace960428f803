# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl


@triton.language.core._aggregate
class Box:
    x: tl.tensor

    def __init__(self, x):
        self.x = x


@triton.jit
def kernel(p):
    box = Box(tl.load(p))
    tl.store(p, box.y)  # error: .:17 NoAttribute `y`
