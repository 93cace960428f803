# A kernel is tuned on a GPU by events in the stream, which here say a millisecond for four warps (test/fake_cuda); and a configuration that takes 1.2 times
# as long as the fastest by a quarter of its samples is not measured further. Glances of a quarter of 400, 200 and 400 samples: 100 + 25 + 100; then the two that are close, in three turns of 40 each.
# REQUIRES: fake_cuda
# RUN: rm -rf %t && mkdir %t && cp %s %t/kernel.py
# RUN: env LD_LIBRARY_PATH=%fake_cuda FAKE_CUDA=report NEREID_CACHE_DIR=%t/cache nereid tune %t/kernel.py:fill --device cuda:0 --arg "x=zeros(64,f32)" --arg n=64 --seconds 0.4 > %t/out 2>&1
# RUN: FileCheck %s < %t/out
# CHECK-DAG: fill {{.*}} BLOCK=64 num_warps=4 num_stages=3 1000.0 2000.0 {{.*}} 3/3
# CHECK-DAG: cuEventElapsedTime: 465
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": 64}, num_warps=4), triton.Config({"BLOCK": 64}, num_warps=8), triton.Config({"BLOCK": 32}, num_warps=4)], key=["n"])
@triton.jit
def fill(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, 1.0, mask=i < n)
