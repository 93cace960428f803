# nereid: compile %s:k --signature "*fp32, i32" --emit tile
import triton
import triton.language as tl
import triton.profiler.language as pl


@triton.jit
def k(x, n):
    with tl.load(x):  # error: .:10 UnsupportedSyntax `with` needs an object that has `__enter__` and `__exit__`, not a `tensor`
        tl.store(x, 1.0)
