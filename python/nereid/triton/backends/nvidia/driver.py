from ...runtime.driver import CudaDriver

__all__ = ["CudaDriver"]
