"""Gluon, as far as programs need it that have kernels in both languages, such as vLLM: they are imported, and a launch
of a kernel in Gluon is refused. Gluon spells out the layouts and instructions of one GPU; the engine compiles Triton."""
from ...runtime.jit import JITFunction, constexpr_function
from . import language

__all__ = ["constexpr_function", "jit", "language"]


class GluonJITFunction(JITFunction):
    def run(self, *args, grid, warmup, **kwargs):
        from ...compiler import UnsupportedLanguageConstruct

        raise UnsupportedLanguageConstruct(
            None, None, f"`{self.__name__}` ({self.file_name}:{self.def_file_line_number}) is a kernel in Gluon, which "
            "is not compiled here\nhint: take the program's kernel in Triton")

    def is_gluon(self):
        return True


def jit(fn=None, **options):
    """Names a kernel in Gluon."""
    return GluonJITFunction(fn, **options) if fn is not None else lambda fn: GluonJITFunction(fn, **options)
