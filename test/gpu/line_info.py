# RUN: nereid compile %s:kernel --signature "*fp32:16, *fp32:16, 128" --target sm_90a --emit ptx | FileCheck %s
# Lines of the source, and nothing that makes ptxas spare optimisations.
import triton
import triton.language as tl


@triton.jit
def twice(a):
    return a * 2.0


# CHECK-NOT: debug
# CHECK: .target sm_90a{{$}}
# CHECK: .loc [[FILE:[0-9]+]] 21
# CHECK: ld.global
# CHECK: .loc [[FILE]] 9
# CHECK: .loc [[FILE]] 22
# CHECK: .file [[FILE]] "{{.*}}line_info.py"
@triton.jit
def kernel(x, y, N: tl.constexpr):
    a = tl.load(x + tl.arange(0, N))
    tl.store(y + tl.arange(0, N), twice(a))
