# run: ref cpu gpu
# `with` in kernels: classes of context managers, whose methods build around the body; marks of scopes.
import triton
import triton.language as tl
import triton.profiler as proton
import triton.profiler.language as pl
from triton.language import core


@core._aggregate
class Noted:
    out: tl.tensor
    at: tl.constexpr

    def __init__(self, out, at):
        self.out = out
        self.at = tl.constexpr(at)

    @triton.jit
    def __enter__(self):
        tl.store(self.out + self.at, 1.0)
        return self.at

    @triton.jit
    def __exit__(self, kind, value, trace):
        tl.store(self.out + self.at + 1, tl.load(self.out) + 1)


@triton.jit
def k(out, x, n):
    with Noted(out, 0):
        v = tl.load(x)
        with pl.scope("twice"):
            v += v
        if n > 2:
            with pl.scope("more"):
                v += 1
        tl.store(out, v)
    pl.enter_scope("last")
    with Noted(out, 2) as at, proton.language.scope("inner"):
        tl.store(out + 4, at)
    pl.exit_scope("last")


# expect: k(x=[5.0]:f32, n=3) -> out == [11, 12, 1, 12, 2]
# expect: k(x=[5.0]:f32, n=2) -> out == [10, 11, 1, 11, 2]
