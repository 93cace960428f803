# run: ref cpu gpu
# Steps around a loop of products of warp groups: what they keep in shared memory for a while is apart from that loop's rings.
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({}, num_warps=8)], key=[])
@triton.jit
def turned_and_products(x_desc, y_desc, z, out, TILES, K):
    rows = tl.arange(0, 128)
    columns = tl.arange(0, 64)
    total = tl.zeros([128], dtype=tl.float32)
    for tile in range(TILES):
        for half in tl.static_range(2):
            first = (half * TILES + tile) * 128 * 64
            z_tile = tl.load(z + first + rows[:, None] * 64 + columns[None, :])
            tl.store(out + first + columns[:, None] * 128 + rows[None, :], tl.trans(z_tile))
        acc = tl.zeros([128, 128], dtype=tl.float32)
        for k in range(0, K, 64):
            acc = tl.dot(x_desc.load([0, k]), y_desc.load([tile * 128, k]).T, acc)
        total = total * 0.5 + tl.sum(acc, axis=0)
    tl.store(out + TILES * 128 * 128 + rows, total)


# expect: turned_and_products(x_desc=descriptor(full((128, 192), 0.5, f16), (128, 64)), y_desc=descriptor(ones((384, 192), f16), (128, 64)),
#     z=arange(49152, f32), out=zeros(49280, f32), TILES=3, K=192)
#     -> out == [i // 8192 * 8192 + i % 128 * 64 + i % 8192 // 128 for i in range(49152)] + [12288 * 1.75] * 128
