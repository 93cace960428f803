# run: ref cpu gpu
# Integers that are known to be small as floats: the ends of each range, of every width, with a sign and without.
import triton
import triton.language as tl


@triton.jit
def masked(x, y, MASK: tl.constexpr, OFF: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(y + at, ((tl.load(x + at) & MASK) - OFF).to(y.dtype.element_ty))

# expect: masked(x=iota(1024,i32), y=zeros(1024,f16), MASK=1023, OFF=0, N=1024) -> y == [i for i in range(1024)]
# expect: masked(x=iota(1024,i32), y=zeros(1024,f16), MASK=1023, OFF=512, N=1024) -> y == [i - 512 for i in range(1024)]
# expect: masked(x=iota(1024,i32), y=zeros(1024,f16), MASK=1023, OFF=513, N=1024) -> y == [i - 513 for i in range(1024)]
# expect: masked(x=iota(2048,i32), y=zeros(2048,f16), MASK=2047, OFF=0, N=2048) -> y == [i for i in range(2048)]
# expect: masked(x=iota(1024,i64), y=zeros(1024,f16), MASK=15, OFF=8, N=1024) -> y == [i % 16 - 8 for i in range(1024)]
# expect: masked(x=iota(1024,i16), y=zeros(1024,bf16), MASK=15, OFF=8, N=1024) -> y == [i % 16 - 8 for i in range(1024)]
# expect: masked(x=iota(1024,i32), y=zeros(1024,bf16), MASK=127, OFF=0, N=1024) -> y == [i % 128 for i in range(1024)]
# expect: masked(x=iota(1024,i32), y=zeros(1024,f32), MASK=8388607, OFF=0, N=1024) -> y == [i for i in range(1024)]
# expect: masked(x=values([i - 512 for i in range(1024)], i32), y=zeros(1024,f32), MASK=8388607, OFF=4194304, N=1024)
#     -> y == [(i - 512) % 8388608 - 4194304 for i in range(1024)]
# expect: masked(x=values([i - 512 for i in range(1024)], i32), y=zeros(1024,f32), MASK=8388607, OFF=0, N=1024)
#     -> y == [(i - 512) % 8388608 for i in range(1024)]
# expect: masked(x=values([i - 512 for i in range(1024)], i32), y=zeros(1024,f64), MASK=15, OFF=8, N=1024) -> y == [i % 16 - 8 for i in range(1024)]


# What each op leaves of a range.
@triton.jit
def parts(x, y, N: tl.constexpr):
    at = tl.arange(0, N)
    v = tl.load(x + at)
    tl.store(y + at, (v >> 24).to(tl.float16))
    tl.store(y + N + at, (v.to(tl.uint32, bitcast=True) >> 23).to(tl.float16))
    tl.store(y + 2 * N + at, (v.to(tl.uint32, bitcast=True) % 1000).to(tl.float16))
    tl.store(y + 3 * N + at, (v % 500).to(tl.float16))
    tl.store(y + 4 * N + at, (((v & 7) | 16) ^ 33).to(tl.float16))
    tl.store(y + 5 * N + at, ((v & 31) * (15 - (v & 31))).to(tl.float16))
    tl.store(y + 6 * N + at, tl.where(v > 0, v & 3, 2 - (v & 511)).to(tl.float16))
    tl.store(y + 7 * N + at, (v & 0xFFFF).to(tl.int16).to(tl.float32).to(tl.float16))
    tl.store(y + 8 * N + at, (v & 1).to(tl.float16))

# expect: parts(x=values([(i * 2654435761 + 77) % 4294967296 - 2147483648 for i in range(512)], i32), y=zeros(4608,f16), N=512)
#     -> y ~= [((i % 512 * 2654435761 + 77) % 4294967296 - 2147483648 >> 24) if i < 512
#     else ((i % 512 * 2654435761 + 77 + 2147483648) % 4294967296 >> 23) if i < 1024
#     else ((i % 512 * 2654435761 + 77 + 2147483648) % 4294967296 % 1000) if i < 1536
#     else abs((i % 512 * 2654435761 + 77) % 4294967296 - 2147483648) % 500 * (1 if (i % 512 * 2654435761 + 77) % 4294967296 > 2147483648 else -1) if i < 2048
#     else (((i % 512 * 2654435761 + 77) % 8 | 16) ^ 33) if i < 2560
#     else ((i % 512 * 2654435761 + 77) % 32 * (15 - (i % 512 * 2654435761 + 77) % 32)) if i < 3072
#     else ((i % 512 * 2654435761 + 77) % 4 if (i % 512 * 2654435761 + 77) % 4294967296 > 2147483648 else 2 - (i % 512 * 2654435761 + 77) % 512) if i < 3584
#     else (((i % 512 * 2654435761 + 77) % 65536 + 32768) % 65536 - 32768) if i < 4096
#     else (i % 512 * 2654435761 + 77) % 2 for i in range(4608)] within 0.001
