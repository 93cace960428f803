# run: ref cpu gpu
# Three by three places around each of the 6 x 5 pixels of two images of 16 channels, whatever the rows that a tile of 32 pixels ends in.
import triton
import triton.language as tl


@triton.jit
def filtered(image, weights, out, height, width, count, BLOCK: tl.constexpr, C: tl.constexpr):
    pixel = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    k, feature = tl.arange(0, C), tl.arange(0, 16)
    x, row = pixel % width, pixel // width
    y, sample = row % height, row // height
    acc = tl.zeros([BLOCK, 16], tl.float32)
    for h in range(3):
        for w in range(3):
            at_y, at_x = y + h - 1, x + w - 1
            inside = (sample < count)[:, None] & (k < C)[None, :] & (0 <= at_y)[:, None] & (at_y < height)[:, None] & (0 <= at_x)[:, None] & (at_x < width)[:, None]
            a = tl.load(image + (sample * C * height * width + at_y * width + at_x)[:, None] + (height * width * k)[None, :], mask=inside, other=0)
            b = tl.load(weights + (9 * feature)[None, :] + h * 3 + w + 0 * k[:, None])
            acc += tl.dot(a.to(tl.float16), b.to(tl.float16))
    places = (sample * 16 * height * width + y * width + x)[:, None] + (height * width * feature)[None, :]
    tl.store(out + places, acc, mask=(sample < count)[:, None])


# expect: filtered[2](image=iota(960), weights=iota(144), out=zeros(960,f32), height=6, width=5, count=2, BLOCK=32, C=16)
#     -> out == [sum((n * 480 + k * 30 + (y + h - 1) * 5 + x + w - 1) * (f * 9 + h * 3 + w) for k in range(16) for h in range(3) for w in range(3) if 0 <= y + h - 1 < 6 and 0 <= x + w - 1 < 5) for n in range(2) for f in range(16) for y in range(6) for x in range(5)]
