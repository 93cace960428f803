"""A kernel that says which configurations to try: nereid tune examples/autotuned.py:scale_rows --arg "x=randn(4096x1000,f32)" ..."""
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": block}, num_warps=warps) for block, warps in ((128, 1), (512, 4), (1024, 4), (1024, 8))],
                 key=["columns"])
@triton.jit
def scale_rows(x, out, columns, BLOCK: tl.constexpr):
    """Divides each row by the root of its mean square."""
    row = tl.program_id(0).to(tl.int64) * columns
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        i = start + tl.arange(0, BLOCK)
        v = tl.load(x + row + i, mask=i < columns, other=0.0)
        squares += v * v
    scale = tl.rsqrt(tl.sum(squares, 0) / columns + 1e-6)
    for start in range(0, columns, BLOCK):
        i = start + tl.arange(0, BLOCK)
        v = tl.load(x + row + i, mask=i < columns, other=0.0)
        tl.store(out + row + i, v * scale, mask=i < columns)
