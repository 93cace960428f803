# RUN: %nereid-ast --print %s | FileCheck %s --match-full-lines --strict-whitespace
# RUN: %nereid-ast --check %s

#      CHECK:@triton.jit
# CHECK-NEXT:def scale(x_ptr, n, BLOCK: tl.constexpr = 128):
# CHECK-NEXT:    """Doubles."""
# CHECK-NEXT:    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
# CHECK-NEXT:    if BLOCK > 1 and n != 0:
# CHECK-NEXT:        x = tl.load(x_ptr + i, mask=i < n)[:, None]
# CHECK-NEXT:    elif n:
# CHECK-NEXT:        pass
# CHECK-NEXT:    tl.store(x_ptr + i, x * 2, mask=i < n)
@triton.jit
def scale(x_ptr, n,
          BLOCK: tl.constexpr = 0x80):  # comments do not come back
    '''Doubles.'''
    i = (tl.program_id(0) * BLOCK) + tl.arange(0, BLOCK)
    if (BLOCK > 1 and
            n != 0):
        x = tl.load(x_ptr + i, mask=(i < n))[:, None]
    else:
        if n: pass
    tl.store(x_ptr + i, x * 2, mask=(i < n))
