"""The rules of the back end for GPUs that programs such as Helion ask for."""
from ..compiler import CudaBackend as CUDABackend

__all__ = ["CUDABackend", "min_dot_size"]


def min_dot_size(target):
    """The least (M, N, K) of `tl.dot`, by its operands' types: M and N are padded, K is 32 bytes."""
    return lambda lhs, rhs: (1, 1, 256 // lhs.scalar.primitive_bitwidth)
