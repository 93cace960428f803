# run: ref cpu
# A package that asks whether Triton is there gets Triton, whatever it asks.
import os

import triton_finder  # a module that is not here

try:
    HAS_TRITON = triton_finder.is_active() and os.environ.get(triton_finder.VARIABLE) != "0"
    if triton_finder.is_new():
        HAS_TRITON = False
except Exception:
    HAS_TRITON = False
if HAS_TRITON:
    import triton
    import triton.language as tl
else:
    class Placeholder:
        def jit(self, function):
            return function

    triton = Placeholder()
    tl = Placeholder()

if not HAS_TRITON:
    tl = None


@triton.jit
def double(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, tl.load(x + i) * 2)

# expect: double(x=iota(4), N=4) -> y == [0, 2, 4, 6]
