# run: ref cpu gpu
# Block pointers and descriptors made in the kernel; out of bounds reads as zero and stores nothing.
import triton
import triton.language as tl


@triton.jit
def block_pointers(x, y, M, N, B: tl.constexpr):
    source = tl.make_block_ptr(x, shape=(M, N), strides=(N, 1), offsets=(0, 0), block_shape=(B, B), order=(1, 0))
    target = tl.make_block_ptr(y, shape=(M, N), strides=(N, 1), offsets=(0, 0), block_shape=(B, B), order=(1, 0))
    for _ in range(0, N, B):
        tl.store(target, tl.load(source, boundary_check=(0, 1)) * 2, boundary_check=(0, 1))
        source = tl.advance(source, (0, B))
        target = target.advance((0, B))


@triton.jit
def descriptors(x, y, M, N, B: tl.constexpr, C: tl.constexpr):
    source = tl.make_tensor_descriptor(x, shape=[M, N], strides=[N, 1], block_shape=[B, C])
    target = tl.make_tensor_descriptor(y, shape=[M, N], strides=[N, 1], block_shape=[B, C])
    tl.store_tensor_descriptor(target, [0, 0], tl.load_tensor_descriptor(source, [0, 0]) + 1)

# expect: block_pointers(x=arange(6,f32), y=zeros(6,f32), M=2, N=3, B=2) -> y == [0, 2, 4, 6, 8, 10]
# expect: descriptors(x=iota(12), y=zeros(12,f32), M=3, N=4, B=4, C=4) -> y == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]


@triton.jit
def old_spellings(x, y, N: tl.constexpr):
    source = tl.make_tensor_descriptor(x, shape=[N, N], strides=[N, 1], block_shape=[N, N])
    target = tl.make_tensor_descriptor(y, shape=[N, N], strides=[N, 1], block_shape=[N, N])
    tl._experimental_descriptor_store(target, tl._experimental_descriptor_load(source, [0, 0], [N, N], tl.float32) * 2, [0, 0])

# expect: old_spellings(x=iota(16), y=zeros(16,f32), N=4) -> y == [2 * i for i in range(16)]
