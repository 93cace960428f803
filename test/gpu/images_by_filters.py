# REQUIRES: ptxas
# RUN: nereid compile %s:filtered --signature "*fp32:16, *fp32:16, *fp16:16, i32:16, i32, i32, i32:16, i32" --target sm_90a --num-stages 2 --emit gpu | FileCheck %s
# A product of an image and the places of a filter. Pixels are neighbours but where a row ends, so a warp lies along them, not along the channels that
# are a plane apart; weights along the stride that is no multiple of 16. Bounds of rows, whatever they cost, lie as the loads that they are for: none
# moves, least of all in a step.
# CHECK: #[[PIXELS:layout[0-9]*]] = #tilegpu.layout<2, register = {{.*}}, lane = {{\[\[}}1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = {{\[\[}}32, 0]
# CHECK: scf.for
# CHECK-NOT: convert_layout
# CHECK: tilegpu.copy_async {{.*}}#[[PIXELS]]
# CHECK-NOT: convert_layout
# CHECK: tilegpu.copy_async {{.*}}#[[WEIGHTS:layout[0-9]*]]
# CHECK-NOT: convert_layout
# CHECK: tile.dot
# CHECK: convert_layout {{.*}}128x64xf16
# CHECK-NOT: convert_layout
# CHECK: tile.store
import triton
import triton.language as tl


@triton.jit
def filtered(image, weights, out, channels, height, width, plane, places):
    pixel = tl.program_id(0) * 128 + tl.arange(0, 128)
    feature = tl.arange(0, 64)
    x, row = pixel % width, pixel // width
    y, sample = row % height, row // height
    acc = tl.zeros([128, 64], tl.float32)
    for h in range(3):
        for w in range(3):
            for c in range(0, channels, 32):
                k = c + tl.arange(0, 32)
                at_y, at_x = y + h - 1, x + w - 1
                inside = (sample < 8)[:, None] & (k < channels)[None, :] & (0 <= at_y)[:, None] & (at_y < height)[:, None] & (0 <= at_x)[:, None] & (at_x < width)[:, None]
                a = tl.load(image + (sample * channels * plane + at_y * width + at_x)[:, None] + (plane * k)[None, :], mask=inside)
                b = tl.load(weights + (places * k)[:, None] + (channels * feature)[None, :] * 16 + h * 3 + w, mask=(k < channels)[:, None])
                acc += tl.dot(a.to(tl.float16), b.to(tl.float16))
    tl.store(out + (sample * 64 * plane + y * width + x)[:, None] + (plane * feature)[None, :], acc, mask=(sample < 8)[:, None])
