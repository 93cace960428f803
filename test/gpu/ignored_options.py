# RUN: nereid compile %s:sums --signature "*fp32:16, i32, 8" --target sm_90a --emit ptx --num-ctas 2 2> %t.notes > %t.ptx
# RUN: nereid compile %s:sums --signature "*fp32:16, i32, 8" --target sm_90a --emit ptx 2> /dev/null | diff %t.ptx -
# RUN: FileCheck %s --input-file %t.notes
# RUN: nereid compile %s:sums --signature "*fp32:16, i32, 8" --num-ctas 2 --emit llvm 2>&1 | FileCheck %s --check-prefix CPU
# `num_ctas` is told of once and leaves the code as it is; a CPU has no blocks to tell of.
import triton
import triton.language as tl


# CHECK-COUNT-1: `num_ctas=2` changes nothing: each program runs as one block, with the same results [IgnoredOption]
# CHECK-NOT: num_ctas=
# CPU-NOT: IgnoredOption
@triton.jit
def sums(x, n, N: tl.constexpr):
    total = 0.0
    for i in tl.range(0, n, warp_specialize=True):
        total += tl.sum(tl.load(x + i * N + tl.arange(0, N)))
    tl.store(x, total)
