# REQUIRES: ptxas
# RUN: nereid compile %root/kernels/matvec/kernel.py:matvec_rows --signature "*i8:16, *fp16:16, *fp32:16, None, *fp16:16, i32:16, i32:16, i32:16, 4, 512, True" --target sm_90a --emit artifact -o %t.rows
# RUN: not grep -aq minnctapersm %t.rows
# RUN: nereid compile %s:squares --signature "*bf16:16, *fp32:16, i32:16, i32:16, i32:16" --target sm_90a --num-warps 8 --emit artifact -o %t.squares
# RUN: grep -aq "minnctapersm 4" %t.squares
# RUN: nereid compile %root/kernels/rms_norm/kernel.py:rms_norm_row --signature "*bf16:16, *bf16:16, *bf16:16, *bf16:16, *bf16:16, *fp32:16, i32:16, fp32, 1024" --target sm_90a --num-warps 2 --emit artifact -o %t.summed
# RUN: grep -aq "maxnreg 32" %t.summed
# Registers by what the assembler makes of them. A vector times rows of bytes has all loads of a step on their way with 40; the
# sum of squares below waits for each before it starts the next, until it is told that 64 are its own.
# A norm takes a few above 32, with which 25 blocks fit an SM for 32: its code is as long without them.
import triton
import triton.language as tl


@triton.jit
def squares(v, out, depth, height, width):
    rows = tl.program_id(0) * 4 + tl.arange(0, 4)[:, None]
    columns = tl.arange(0, 1024)[None, :]
    sums = tl.zeros([4, 1024], dtype=tl.float32)
    for first in range(0, depth * width, 1024):
        at = first + columns
        plane = at // width
        x = tl.load(v + plane * height * width + rows * width + at % width, mask=(plane < depth) & (rows < height))
        sums += x * x
    tl.store(out + rows, tl.sum(sums, axis=1)[:, None], mask=rows < height)
