# check: add[4](x=[1, 2, 3, 4]:i32, out=zeros(1,i32))
import triton
import triton.language as tl


@triton.jit
def add(x, out):
    value = tl.load(x + tl.program_id(0))
    old = tl.atomic_add(out, 0)
    seen = tl.atomic_cas(out, old, old + value)
    while seen != old:
        old = seen
        seen = tl.atomic_cas(out, old, old + value)
