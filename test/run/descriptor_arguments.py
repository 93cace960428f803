# run: ref cpu gpu
# A kernel takes a descriptor of a tensor with gaps, reads its zeros beyond the edge, and writes only inside.
import triton
import triton.language as tl


@triton.jit
def shift(source, target):
    tile = source.load([0, 1])
    target.store([1, 0], tile + 1)

# expect: shift(source=descriptor(values([[1, 2, 3, 4], [5, 6, 7, 8]], i32), (2, 4)),
#     target=descriptor(zeros((2, 4), i32, strides=(8, 1)), (2, 4))) -> target == [[0, 0, 0, 0], [3, 4, 5, 1]]
