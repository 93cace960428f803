# run: ref cpu gpu
# Products of f16 summed in f16, as `out_dtype` or the sum says: of whole numbers whose sums f16 holds, each order gives the same. 64 rows are a product
# of a warp group, which stays in flight from step to step; 16 rows are one of warps; the last is summed anew in each step.
import triton
import triton.language as tl


@triton.jit
def product(x, y, z, M: tl.constexpr, KEEP: tl.constexpr):
    m = tl.arange(0, M)[:, None]
    n = tl.arange(0, 64)[None, :]
    for start in range(0, 256, 64):
        across = start + tl.arange(0, 64)[None, :]
        down = start + tl.arange(0, 64)[:, None]
        tl.store(x + m * 256 + across, (m % 5 - 2 + (across % 64 == m)).to(tl.float16))
        tl.store(y + down * 64 + n, (n % 7 - 3 + down % 2).to(tl.float16))
    tl.debug_barrier()
    acc = tl.zeros([M, 64], dtype=tl.float16)
    for start in range(0, 256, 64):
        a = tl.load(x + m * 256 + start + tl.arange(0, 64)[None, :])
        b = tl.load(y + (start + tl.arange(0, 64)[:, None]) * 64 + n)
        if KEEP:
            acc = tl.dot(a, b, acc)
        else:
            acc = acc * 0.5 + tl.dot(a, b, out_dtype=tl.float16) * 0.5
    tl.store(z + m * 64 + n, acc)


# expect: product(x=zeros(16384,f16), y=zeros(16384,f16), z=zeros(4096,f16), M=64, KEEP=True)
#     -> z == [(i // 64 % 5 - 2) * (256 * (i % 64 % 7 - 3) + 128) + 4 * (i % 64 % 7 - 3) + 4 * (i // 64 % 2) for i in range(4096)]
# expect: product(x=zeros(4096,f16), y=zeros(16384,f16), z=zeros(1024,f16), M=16, KEEP=True)
#     -> z == [(i // 64 % 5 - 2) * (256 * (i % 64 % 7 - 3) + 128) + 4 * (i % 64 % 7 - 3) + 4 * (i // 64 % 2) for i in range(1024)]
# expect: product(x=zeros(16384,f16), y=zeros(16384,f16), z=zeros(4096,f16), M=64, KEEP=False)
#     -> z ~= [15 / 16 * ((i // 64 % 5 - 2) * (64 * (i % 64 % 7 - 3) + 32) + i % 64 % 7 - 3 + i // 64 % 2) for i in range(4096)] within 0.5
