"""What programs ask of a back end: its options and a hash. The engine, which compiles, is not asked through here."""
from dataclasses import dataclass, fields

from nereid import _C

from ..runtime.driver import GPUTarget

__all__ = ["BaseBackend", "CpuBackend", "CudaBackend", "GPUTarget", "Options"]


@dataclass(frozen=True)
class Options:
    num_warps: int = 4
    num_stages: int = 3
    num_ctas: int = 1
    maxnreg: int = None
    debug: bool = False
    enable_fp_fusion: bool = True
    launch_cooperative_grid: bool = False
    launch_pdl: bool = False
    sanitize_overflow: bool = False
    default_dot_input_precision: str = "tf32"
    allowed_dot_input_precisions: tuple = ("tf32", "tf32x3", "ieee")
    supported_fp8_dtypes: tuple = ("fp8e4nv", "fp8e5", "fp8e4b15")
    deprecated_fp8_dot_operand_dtypes: tuple = ()
    max_num_imprecise_acc_default: int = 0
    extern_libs: tuple = ()
    backend_name: str = ""
    arch: str = None


class BaseBackend:
    name, binary_ext = "", ""

    def __init__(self, target):
        self.target = target

    @classmethod
    def supports_target(cls, target):
        return target.backend == cls.name

    def hash(self):
        return f"nereid-{_C.version}-{self.target}"

    def parse_options(self, options):
        known = {field.name for field in fields(Options)}
        given = {name: value for name, value in options.items() if name in known}
        return Options(**{"backend_name": self.name, "arch": str(self.target.arch), **given})

    def get_module_map(self):
        return {}


class CudaBackend(BaseBackend):
    name, binary_ext = "cuda", "cubin"


class CpuBackend(BaseBackend):
    name, binary_ext = "cpu", "object"
