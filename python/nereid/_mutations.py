"""What `torch.compile` asks of Triton. Which tensors a kernel writes torch reads out of Triton's IR, and takes all tensors, with a
warning, where there is none: Nereid's compiled kernels say it. And the host side of a launch is not traced where a function falls
back to plain Python."""
import importlib.abc
import importlib.util
import sys


def mutated(kernel, values, descriptors):
    """Names of the tensors that the kernel writes; all of them where it cannot be compiled for such values."""
    import torch
    import torch._inductor.ir
    from nereid.triton.runtime.jit import MockTensor

    boxes = torch._inductor.ir.TensorBox
    tensors = [name for name, one in values.items() if isinstance(one, (torch.Tensor, boxes))]

    def given(one):
        if isinstance(one, (torch.Tensor, boxes)):
            return MockTensor(one.get_dtype() if isinstance(one, boxes) else one.dtype)
        is_symbol = isinstance(one, (torch.SymInt, torch.SymFloat, torch.SymBool)) or type(one).__module__.startswith("sympy")
        return 2 if is_symbol else one

    if descriptors:
        return tensors
    try:
        for config in getattr(kernel, "configs", ())[:1]:
            values, kernel = {**values, **config.kwargs}, kernel.fn
        compiled = kernel.warmup(grid=(1, ), **{name: given(one) for name, one in values.items()})
        return [name for name in tensors if name in compiled.facts["writes"]]
    except Exception:
        return tensors


def _tell_mutations(module):
    module.identify_mutated_tensors = mutated


def _leave_out(module):
    # All that runs in a launch: what a left-out function calls is traced again. `cdiv` and `next_power_of_2` of a grid stay.
    for part in ("runtime", "compiler", "backends", "profiler", "knobs", "errors"):
        module.add("nereid.triton." + part)


_patches = {"torch._higher_order_ops.triton_kernel_wrap": _tell_mutations, "torch._dynamo.trace_rules": _leave_out}


class _Patcher(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds a module as the others do, and patches it once it is executed."""

    def __init__(self, name):
        self.name = name

    def find_spec(self, name, path=None, target=None):
        if name != self.name or getattr(self, "loader", None):
            return None
        self.loader = self
        spec = importlib.util.find_spec(name)
        self.loader = spec.loader
        spec.loader = self
        return spec

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        self.loader.exec_module(module)
        module.__loader__ = module.__spec__.loader = self.loader
        _patches[self.name](module)


def watch():
    for name, patch in _patches.items():
        if name in sys.modules:
            patch(sys.modules[name])
        else:
            sys.meta_path.insert(0, _Patcher(name))
