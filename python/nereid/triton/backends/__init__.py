"""The back ends by name, as programs that make kernels look for them: `backends["nvidia"].driver`, `.compiler`."""
from dataclasses import dataclass

from ..runtime.driver import CpuDriver, CudaDriver
from .compiler import BaseBackend, CpuBackend, CudaBackend


@dataclass(frozen=True)
class Backend:
    compiler: type
    driver: type


backends = {"nvidia": Backend(CudaBackend, CudaDriver), "cpu": Backend(CpuBackend, CpuDriver)}

__all__ = ["Backend", "backends", "BaseBackend"]
