# nereid: compile %s:sums --signature "*fp32:16, i32, 8" --target sm_90a --emit ptx --num-ctas 2 --launch-pdl
# What is accepted and changes nothing is said where it stands.
import triton
import triton.language as tl


@triton.jit
def sums(x, n, N: tl.constexpr):  # note: . IgnoredOption `num_ctas=2` changes nothing # note: . IgnoredOption `launch_pdl` changes nothing
    total = 0.0
    for i in tl.range(0, n, warp_specialize=True):  # note: . IgnoredOption `warp_specialize` changes nothing
        total += tl.sum(tl.load(x + i * N + tl.arange(0, N)))
    for i in tl.range(0, n, loop_unroll_factor=4):  # note: . IgnoredOption `loop_unroll_factor` changes nothing
        total += tl.load(x + i)
    tl.store(x, total)
