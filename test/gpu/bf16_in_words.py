# RUN: nereid compile %s:scaled --signature "*bf16:16, *fp32:16, fp32, 1024" --target sm_80 --emit ptx | FileCheck %s
# RUN: nereid compile %s:scaled --signature "*bf16:16, *fp32:16, fp32, 1024" --target sm_90a --emit ptx | FileCheck %s
# A bf16 at the high end of a loaded word is f32 with zeros behind it: one `and` instead of two shifts.
import triton
import triton.language as tl


# CHECK: ld.global.v2.b32
# CHECK-COUNT-4: and.b32 {{.*}}, -65536;
# CHECK-NOT: -65536
# CHECK: ret;
@triton.jit
def scaled(x, out, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at).to(tl.float32) * factor)
