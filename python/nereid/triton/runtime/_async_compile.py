"""Within `with AsyncCompileMode(executor)`, `warmup` compiles on the executor's threads and gives a kernel to wait for."""
from contextvars import ContextVar

active_mode = ContextVar("active_mode", default=None)


class FutureKernel:
    def __init__(self, future):
        self.future = future

    def result(self, ignore_errors=False):
        try:
            return self.future.result()
        except Exception:
            if not ignore_errors:
                raise


class AsyncCompileMode:
    def __init__(self, executor, *, ignore_errors=False):
        self.executor, self.ignore_errors = executor, ignore_errors
        self.kernels = []

    def submit(self, compile):
        self.kernels.append(FutureKernel(self.executor.submit(compile)))
        return self.kernels[-1]

    def __enter__(self):
        if active_mode.get() is not None:
            raise RuntimeError("Another AsyncCompileMode is already active")
        active_mode.set(self)
        return self

    def __exit__(self, *exception):
        active_mode.set(None)
        for kernel in self.kernels:
            kernel.result(self.ignore_errors or exception[0] is not None)
