import triton


@triton.jit
def kernel(p):
    tl.store(p, (0.0)  # error: .:13 UnclosedBracket
