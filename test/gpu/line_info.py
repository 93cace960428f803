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


# A helper of a helper: the calls that the code came through.
# RUN: nereid compile %s:nested --signature "*fp32:16, *fp32:16, 128" --target sm_90a --emit ptx | FileCheck %s --check-prefix=CALLS
@triton.jit
def inner(a):
    return tl.sqrt(a) + 1.0


@triton.jit
def outer(a):
    return inner(a) * a


# CALLS: .loc [[FILE:[0-9]+]] 46 35{{$}}
# CALLS-NEXT: .loc [[FILE]] 34 12, function_name [[NAME:\$L__inlined_[0-9]+]], inlined_at [[FILE]] 46 35
# CALLS-NEXT: .loc [[FILE]] 29 12, function_name [[NAME]], inlined_at [[FILE]] 34 12
# CALLS: sqrt
# CALLS: .section .debug_str
# CALLS: [[NAME]]:
@triton.jit
def nested(x, y, N: tl.constexpr):
    a = tl.load(x + tl.arange(0, N))
    tl.store(y + tl.arange(0, N), outer(a))
