# run: ref cpu gpu
# What is loaded at places that reductions find, of rows in a warp each and of several in one, in a loop and behind one, with a mask and of a column of a product.
import triton
import triton.language as tl


@triton.jit
def found(x, names, out, best, N, ROWS: tl.constexpr):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, 128)
    last = tl.zeros([ROWS], tl.int32) - 1
    most, where = tl.zeros([ROWS], tl.float32), tl.zeros([ROWS], tl.int32)
    for start in range(0, N, 128):
        v = tl.load(x + rows[:, None] * N + start + columns[None, :])
        hit = v > 90
        place = tl.argmax(hit.to(tl.int32), 1)
        is_hit = tl.sum(hit.to(tl.int32), 1) > 0
        last = tl.where(is_hit, tl.load(names + rows * N + start + place, mask=is_hit, other=-5), last)
        now = tl.max(v, 1)
        where = tl.where(now > most, start + tl.argmax(v, 1), where)
        most = tl.maximum(most, now)
    tl.store(out + rows, last)
    tl.store(best + rows, tl.load(names + rows * N + where))


# expect: found(x=values([n * 37 % 97 if n // 128 % 2 == 0 else 0 for n in range(4096)], f32), names=iota(4096,i32), out=zeros(8,i32), best=zeros(8,i32), N=512, ROWS=8)
#     -> out == [min([r * 512 + 256 + c for c in range(128) if (r * 512 + 256 + c) * 37 % 97 > 90]) for r in range(8)]
#     and best == [min([r * 512 + c for c in range(512) if c // 128 % 2 == 0 and (r * 512 + c) * 37 % 97 == 96]) for r in range(8)]
# expect: found(x=values([n * 37 % 97 for n in range(8192)], f32), names=iota(8192,i32), out=zeros(64,i32), best=zeros(64,i32), N=128, ROWS=64)
#     -> out == [min([r * 128 + c for c in range(128) if (r * 128 + c) * 37 % 97 > 90]) for r in range(64)]
#     and best == [min([r * 128 + c for c in range(128) if (r * 128 + c) * 37 % 97 == 96]) for r in range(64)]
