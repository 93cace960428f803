# A heuristic that asks for the type of an argument is answered by the signature, in whatever way it is written.
# RUN: nereid compile %s:lambdas -s "*fp16:16, i32" --emit tile | FileCheck %s --check-prefix=HALF
# RUN: nereid compile %s:lambdas -s "*fp32:16, i32" --emit tile | FileCheck %s --check-prefix=SINGLE
# RUN: nereid compile %s:loops -s "*bf16:16, i32" --emit tile | FileCheck %s --check-prefix=HALF
# RUN: nereid compile %s:loops -s "*fp64, i32" --emit tile | FileCheck %s --check-prefix=SINGLE
# RUN: not nereid compile %s:shapes -s "*fp32:16, i32" --emit tile 2>&1 | FileCheck %s --check-prefix=SHAPE
# HALF: tile.arange 0 to 64
# SINGLE: tile.arange 0 to 32
# SHAPE: error: {{.*}}the heuristic for `BLOCK` is not known while compiling: it comes from `the argument `x`.shape
import torch
import triton
import triton.language as tl


@triton.heuristics({"BLOCK": lambda args: 64 if args["x"].dtype in (torch.float16, torch.bfloat16) else 32})
@triton.jit
def lambdas(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, 1.0, mask=i < n)


def block(args):
    size = 256
    while size * args["x"].element_size() > 128:
        size //= 2
    return max(size, 32)


@triton.heuristics({"BLOCK": block})
@triton.jit
def loops(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, 1.0, mask=i < n)


@triton.heuristics({"BLOCK": lambda args: args["x"].shape[0]})
@triton.jit
def shapes(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, 1.0, mask=i < n)
