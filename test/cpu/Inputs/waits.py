import triton
import triton.language as tl


@triton.jit
def collatz(steps_ptr, n, WAIT: tl.constexpr):
    left = n + tl.program_id(0)
    while left > 1:
        seen = tl.atomic_add(steps_ptr, 1)
        if WAIT:
            left = left - seen
        else:
            left = left // 2
