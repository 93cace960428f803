"""What programs import of Triton's compiled part. `nvidia.cublas.CublasLt`, which they compare their kernels with, is here
torch's way to cuBLAS."""
import os
from types import SimpleNamespace


class CublasLt:
    def __init__(self, workspace=None):
        self.workspace = workspace

    def matmul(self, a, b, c):
        """c = a @ b.T"""
        import torch

        if a.dtype.itemsize == 1:
            one = torch.ones((), device=a.device)
            torch._scaled_mm(a.contiguous(), b.contiguous().T, one, one, out_dtype=c.dtype, use_fast_accum=True, out=c)
            return
        torch.matmul(a, b.T, out=c)

    def gemm(self, a, b, c, d, alpha, beta):
        """d = alpha * (a @ b.T) + beta * c"""
        import torch

        torch.addmm(c, a, b.T, beta=beta, alpha=alpha, out=d)


nvidia = SimpleNamespace(cublas=SimpleNamespace(CublasLt=CublasLt))
amd = SimpleNamespace()  # programs import both names and use the one of their GPU


def get_cache_invalidating_env_vars():
    """What of the environment changes compiled code, for the keys of programs that keep results on disk."""
    names = ("NEREID_DEVICE", "TRITON_DEBUG", "TRITON_DEFAULT_FP_FUSION", "TRITON_OVERRIDE_ARCH")
    return {name: os.environ[name] for name in names if name in os.environ}
