"""Doubles a vector, and forgets the mask: the last program reads and writes past the end.

    nereid check examples/out_of_bounds.py:double --arg "x=randn(1000,f32)" --arg "y=zeros(1000,f32)" --const BLOCK=256 --grid "(4,)"
"""
import triton
import triton.language as tl


@triton.jit
def double(x, y, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i)
    tl.store(y + i, value * 2)
