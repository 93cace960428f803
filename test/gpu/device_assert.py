# RUN: nereid compile %s:checked --signature "*i32:16, *i32:16, i32, 128" --target sm_90a --debug --emit ptx | FileCheck %s
# RUN: nereid compile %s:checked --signature "*i32:16, *i32:16, i32, 128" --target sm_90a --emit ptx | FileCheck %s --check-prefix NONE
# A failed assertion is a record and no trap: the context survives, and what follows is computed.
import triton
import triton.language as tl


# One counter of failed assertions beside the buffer, and a record that is complete once its kind is.
# CHECK-LABEL: .func nereid_record(
# CHECK: red.relaxed.gpu.global.add.u32
# CHECK: atom.relaxed.gpu.global.add.u64
# CHECK: st.release.gpu.global.b16
# CHECK-LABEL: .visible .entry checked(
# CHECK-NOT: trap
# CHECK-NOT: exit
# CHECK: @%p{{[0-9]+}} bra
# CHECK: call.uni
# CHECK-NEXT: nereid_record
# CHECK: st.global.b32
# CHECK-NOT: trap
# CHECK: ret;
# NONE-NOT: nereid_record
# NONE-NOT: trap
@triton.jit
def checked(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0)
    tl.device_assert(v < 10, "too large", mask=i < n)
    tl.store(y + i, v, mask=i < n)
