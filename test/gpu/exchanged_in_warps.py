# RUN: nereid compile %s:sorted_rows --signature "*fp16:16, 128" --num-warps 2 --target sm_90a --emit ptx | FileCheck %s
# RUN: nereid compile %s:turned --signature "*fp32:16" --num-warps 1 --target sm_90a --emit ptx | FileCheck %s --check-prefix=TURNED
# Elements that change lanes within their warps go by shuffles, without barriers.
import triton
import triton.language as tl


# Each warp has a row of its own, four elements a thread: where the two sides of a comparator are in other lanes, they meet by one
# shuffle of two halves that share a word, and the store's lanes get theirs by two.
# CHECK-NOT: .shared
# CHECK-COUNT-20: shfl.sync.bfly
# CHECK-NOT: shfl.sync.bfly
# CHECK-COUNT-2: shfl.sync.idx
# CHECK: st.global
@triton.jit
def sorted_rows(x_ptr, N: tl.constexpr):
    at = tl.program_id(0) * 2 * N + tl.arange(0, 2)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(x_ptr + at, tl.sort(tl.load(x_ptr + at)))


# TURNED-NOT: .shared
# TURNED: shfl.sync
# TURNED-NOT: .shared
@triton.jit
def turned(x_ptr):
    i, j = tl.arange(0, 8)[:, None], tl.arange(0, 8)[None, :]
    tl.store(x_ptr + i * 8 + j, tl.trans(tl.load(x_ptr + i * 8 + j)))
