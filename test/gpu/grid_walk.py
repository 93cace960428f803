# RUN: nereid compile %s:grouped --signature "*fp16:16, *fp16:16, *fp16:16, i32, i32:16, i32:16, i32, 'walk'" --num-stages 4 --target sm_90a --emit gpu | FileCheck %s --check-prefix ALONE
# RUN: nereid compile %s:grouped --signature "*fp16:16, *fp16:16, *fp16:16, i32, i32:16, i32:16, 132, 'walk'" --num-stages 4 --target sm_90a --emit gpu | FileCheck %s --check-prefix ALONE
# RUN: nereid compile %s:grouped --signature "*fp16:16, *fp16:16, *fp16:16, i32, i32:16, i32:16, i32, 'share'" --num-stages 4 --target sm_90a --emit gpu | FileCheck %s --check-prefix MANY
# RUN: nereid compile %s:grouped --signature "*fp16:16, *fp16:16, *fp16:16, i32, i32:16, i32:16, 1, 'walk'" --num-stages 4 --target sm_90a --emit gpu | FileCheck %s --check-prefix MANY
# RUN: nereid compile %s:searched --signature "*fp16:16, *fp16:16, *fp16:16, *i32, i32:16, i32:16, i32" --num-stages 4 --target sm_90a --emit gpu | FileCheck %s --check-prefix ALONE
# Programs that walk from their place in the grid on, past those of others, have a multiprocessor each: nothing stands against
# a slot more, which puts copies of a step more on their way. Where each has tiles of its own, other programs want that room.
import triton
import triton.language as tl


@triton.jit
def product(a_ptr, b_ptr, c_ptr, tile, N, K):
    m = tile // (N // 64) * 64 + tl.arange(0, 64)
    n = tile % (N // 64) * 64 + tl.arange(0, 64)
    k = tl.arange(0, 64)
    acc = tl.zeros([64, 64], dtype=tl.float32)
    for start in range(0, K, 64):
        a = tl.load(a_ptr + m[:, None] * K + start + k[None, :])
        b = tl.load(b_ptr + (start + k[:, None]) * N + n[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc.to(tl.float16))


# ALONE: tilegpu.ring : <5,
# ALONE: tilegpu.ring : <5,
# MANY: tilegpu.ring : <4,
# MANY: tilegpu.ring : <4,
@triton.jit
def grouped(a_ptr, b_ptr, c_ptr, TILES, N, K, PROGRAMS, HOW: tl.constexpr):
    if HOW == "walk":
        first, last, step = tl.program_id(0), TILES, PROGRAMS
    else:
        first, last, step = tl.program_id(0) * 4, tl.program_id(0) * 4 + 4, 1
    for tile in range(first, last, step):
        product(a_ptr, b_ptr, c_ptr, tile, N, K)


# The number goes through a loop over groups and a branch.
@triton.jit
def searched(a_ptr, b_ptr, c_ptr, sizes_ptr, N, K, PROGRAMS):
    tile = tl.program_id(0)
    done = 0
    for group in range(16):
        tiles = tl.load(sizes_ptr + group)
        if tiles > 0:
            while tile < done + tiles:
                product(a_ptr, b_ptr, c_ptr, tile, N, K)
                tile += PROGRAMS
            done += tiles
