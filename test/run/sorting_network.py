# run: ref cpu gpu
# A sorting network that is written out: on a CPU thousands of loops of two steps, which take another list of LLVM's passes.
import triton
import triton.language as tl


@triton.jit
def bit_of(n: tl.constexpr, axis: tl.constexpr):
    return tl.reshape(tl.arange(0, 2), [1] * axis + [2] + [1] * (n - axis - 1))


@triton.jit
def network(h, n: tl.constexpr):
    for stage in tl.static_range(1, n + 1):
        for step in tl.static_range(stage):
            axis: tl.constexpr = n - stage + step
            low, high = tl.min(h, axis, keep_dims=True), tl.max(h, axis, keep_dims=True)
            if stage < n:
                h = tl.where(bit_of(n, axis) == bit_of(n, n - 1 - stage), low, high)
            else:
                h = tl.where(bit_of(n, axis) == 0, low, high)
    return h


@triton.jit
def sort(x, y, n: tl.constexpr):
    i = tl.arange(0, 1 << n)
    up = network(tl.reshape(tl.load(x + i * 167 % (1 << n)), [2] * n), n)
    down = -network(-up, n)
    tl.store(y, tl.sum((tl.reshape(up, [1 << n]) == i).to(tl.int32)))
    tl.store(y + 1, tl.sum((tl.reshape(down, [1 << n]) == (1 << n) - 1 - i).to(tl.int32)))

# expect: sort(x=iota(256), n=8) -> y:i32 == [256, 256]
