# run: ref cpu gpu
# Tiles of 16-bit elements that are read along one dimension and written along the other.
import triton
import triton.language as tl


@triton.jit
def turn(x, y, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    tl.store(y + i * N + j, tl.load(x + i + j * M))

# expect: turn(x=arange(1024,i16), y=zeros(1024,i16), M=32, N=32) -> y == [n // 32 + n % 32 * 32 for n in range(1024)]
# expect: turn(x=arange(4096,i16), y=zeros(4096,i16), M=64, N=64) -> y == [n // 64 + n % 64 * 64 for n in range(4096)]
# expect: turn(x=arange(4096,i16), y=zeros(4096,i16), M=256, N=16) -> y == [n // 16 + n % 16 * 256 for n in range(4096)]
# expect: turn(x=arange(4096,i16), y=zeros(4096,i16), M=16, N=256) -> y == [n // 256 + n % 256 * 16 for n in range(4096)]
# expect: turn(x=arange(8192,i16), y=zeros(8192,i16), M=256, N=32) -> y == [n // 32 + n % 32 * 256 for n in range(8192)]
# expect: turn(x=arange(8192,i16), y=zeros(8192,i16), M=32, N=256) -> y == [n // 256 + n % 256 * 32 for n in range(8192)]
