# nereid: compile %s:kernel --signature "*fp32" --emit tile
import triton
import triton.language as tl

class Box:
    def __init__(self, x):
        self.x = x


@triton.jit
def kernel(p):
    box = Box(tl.load(p))  # error: .:11 NotConstexpr is a plain class and can't hold run-time values
    tl.store(p, box.x)
# hint: aggregate
