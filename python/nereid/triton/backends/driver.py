"""What drivers of back ends derive from."""
from ..runtime.driver import Driver as DriverBase

__all__ = ["DriverBase", "GPUDriver"]


class GPUDriver(DriverBase):
    pass
