from ..runtime.driver import GPUTarget  # noqa: F401
