# RUN: nereid compile %s:flip --signature "*i8:16, *i8:16" --target sm_80 --emit ptx | FileCheck %s
# Two bytes that a thread stores at once are put together in a register, not in local memory.
import triton
import triton.language as tl


# CHECK-NOT: .local
# CHECK: st.global.b16
# CHECK-NOT: .local
@triton.jit
def flip(x_ptr, y_ptr):
    i = tl.arange(0, 256)
    tl.store(y_ptr + i, tl.load(x_ptr + 255 - i))
