# RUN: nereid compile %s:means --signature "*fp32:16, *fp32:16, 1, 2048" --num-warps 16 --target sm_90a --emit ptx | FileCheck %s --check-prefixes=ALL,ONE
# RUN: nereid compile %s:means --signature "*fp32:16, *fp32:16, 2, 2048" --num-warps 16 --target sm_90a --emit ptx | FileCheck %s --check-prefixes=ALL,TWO
# Of 16 warps' parts each thread reads four, lanes that hold the same row different ones: two exchanges of three numbers are left. Within a warp
# a combination that is symmetric but for rounding is not put in order: lanes take the result of one of them.
import triton
import triton.language as tl


# ALL: bar.sync
# ALL-NOT: bar.sync
# ONE-COUNT-3: ld.shared.v4
# TWO-COUNT-12: ld.shared.f32
# ALL-NOT: ld.shared
# ALL-COUNT-6: shfl.sync.bfly
# ALL-NOT: shfl.sync.bfly
@triton.jit
def welford(mean1, m1, n1, mean2, m2, n2):
    n = n1 + n2
    delta = mean2 - mean1
    part = tl.where(n == 0.0, 0.0, n2 / n)
    return mean1 + delta * part, m1 + m2 + delta * delta * n1 * part, n


@triton.jit
def means(x, y, M: tl.constexpr, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    mean, m, n = tl.reduce((v, v * 0, v * 0 + 1), 1, welford)
    tl.store(y + tl.arange(0, M), mean + m / n)
