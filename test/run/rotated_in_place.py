# run: ref cpu gpu
# Pairs of a row are rotated in place, head by head: fewer elements than threads, so some warps have copies of what others load and store.
import triton
import triton.language as tl


@triton.jit
def rotate(p, angles, HEADS, B: tl.constexpr):
    i = tl.arange(0, B)
    angle = tl.load(angles + i)
    for head in range(HEADS):
        row = p + (tl.program_id(0) * HEADS + head) * 2 * B
        a, b = tl.load(row + i), tl.load(row + B + i)
        tl.store(row + i, a - b * angle)
        tl.store(row + B + i, b + a * angle)


# Each step loads what the step before stored.
@triton.jit
def follow(p, N, B: tl.constexpr):
    i = tl.arange(0, B)
    for step in range(N):
        tl.store(p + (step + 1) * B + i, tl.load(p + step * B + i) + 1)


# Each step loads half of what the step before stored.
@triton.jit
def overlap(p, N, B: tl.constexpr):
    i = tl.arange(0, B)
    for step in range(N):
        at = p + step * (B // 2) + i
        tl.store(at + B // 2, tl.load(at) + 1)


# expect: rotate[2](p=values([n % 11 for n in range(1024)], f32), angles=values([n % 3 for n in range(64)], f32), HEADS=4, B=64)
#     -> p == [n % 11 + ((n - 64) % 11 * (n % 64 % 3) if n // 64 % 2 else 0 - (n + 64) % 11 * (n % 64 % 3)) for n in range(1024)]
# expect: follow(p=values([n % 7 for n in range(320)], i32), N=4, B=64) -> p == [n % 64 % 7 + n // 64 for n in range(320)]
# expect: overlap(p=zeros(192,i32), N=4, B=64) -> p == [0 if n < 32 else (n - 32) // 32 + 1 if n < 160 else 4 for n in range(192)]
