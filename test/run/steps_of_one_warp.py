# run: ref cpu gpu
# What the steps of a loop keep in shared memory one after another lies apart, also where one warp waits for itself alone.
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({}, num_warps=1)], key=[])
@triton.jit
def twice_gathered(x, out, STEPS):
    columns = tl.arange(0, 128)
    for step in range(STEPS):
        row = tl.load(x + step * 128 + columns)
        row = tl.gather(row, 127 - columns, 0)
        row = tl.gather(row * 2, columns ^ 64, 0)
        tl.store(out + step * 128 + columns, row)


# expect: twice_gathered(x=arange(384, f32), out=zeros(384, f32), STEPS=3) -> out == [2.0 * (i // 128 * 128 + 127 - (i % 128 ^ 64)) for i in range(384)]
