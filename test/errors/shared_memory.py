# nereid: compile %s:product --signature "*fp16, *fp16, *fp32" --num-warps 8 --target sm_80 --emit ptx
import triton
import triton.language as tl


@triton.jit
def product(a, b, c):
    rows = tl.arange(0, 256)
    inner = tl.arange(0, 512)
    columns = tl.arange(0, 128)
    x = tl.load(a + rows[:, None] * 512 + inner[None, :])
    y = tl.load(b + inner[:, None] * 128 + columns[None, :])
    z = tl.dot(x, y)  # error: . SharedMemory `product` needs 393216 bytes of shared memory, sm_80 has 166912
    # hint: take smaller blocks
    # note: .-2 - 393216 bytes for tiles here
    tl.store(c + rows[:, None] * 128 + columns[None, :], z)
