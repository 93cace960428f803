"""What `torch.compile` asks of Triton. Which tensors a kernel reads and writes torch reads out of Triton's IR, and takes all tensors,
with a warning, where there is none: Nereid's compiled kernels say it. And the host side of a launch is not traced where a function
falls back to plain Python."""
import importlib.abc
import importlib.util
import sys


def accesses(kernel, values, blocks):
    """Names of the tensors that the kernel reads and of those that it writes; all of them where it cannot be compiled for such values.

    `blocks` has the block shape of each argument that is a descriptor of the tensor given for it, or None where that is unknown."""
    import torch
    import torch._inductor.ir
    from nereid.triton.runtime.jit import MockTensor
    from nereid.triton.tools.tensor_descriptor import TensorDescriptor

    boxes = torch._inductor.ir.TensorBox
    tensors = [name for name, one in values.items() if isinstance(one, (torch.Tensor, boxes))]

    def given(name, one):
        if isinstance(one, (torch.Tensor, boxes)):
            dtype = one.get_dtype() if isinstance(one, boxes) else one.dtype
            if name not in blocks:
                return MockTensor(dtype)
            return TensorDescriptor.from_tensor(MockTensor(dtype, [16] * len(blocks[name])), list(blocks[name]))
        is_symbol = isinstance(one, (torch.SymInt, torch.SymFloat, torch.SymBool)) or type(one).__module__.startswith("sympy")
        return 2 if is_symbol else one

    if None in blocks.values():
        return tensors, tensors
    try:
        for config in getattr(kernel, "configs", ())[:1]:
            values, kernel = {**values, **config.kwargs}, kernel.fn
        facts = kernel.warmup(grid=(1, ), **{name: given(name, one) for name, one in values.items()}).facts
        return tuple([name for name in tensors if name in facts[way]] for way in ("reads", "writes"))
    except Exception:
        return tensors, tensors


def _tell_accesses(module):

    def told(kernel, values, descriptors):
        blocks = {}
        for name, metadata in (descriptors or {}).items():
            stable = module.maybe_unpack_tma_stable_metadata(metadata)
            blocks[name] = stable[0] if stable else None
        return accesses(kernel, values, blocks)

    def mutated(kernel, values, descriptors):
        return told(kernel, values, descriptors)[1]

    def accessed(kernel, values, descriptors):
        from torch._inductor.dependencies import ReadWrites, StarDep
        from torch.utils._ordered_set import OrderedSet
        reads, writes = (OrderedSet(map(StarDep, names)) for names in told(kernel, values, descriptors))
        return module.TensorAccesses(ReadWrites(reads=reads, writes=writes, index_exprs=OrderedSet()), can_fuse_epilogue=False)

    if hasattr(module, "identify_accessed_tensors"):  # from PyTorch 2.12 on
        module.identify_accessed_tensors = accessed
    else:
        module.identify_mutated_tensors = mutated


def _leave_out(module):
    # All that runs in a launch: what a left-out function calls is traced again. `cdiv` and `next_power_of_2` of a grid stay.
    for part in ("runtime", "compiler", "backends", "profiler", "knobs", "errors"):
        module.add("nereid.triton." + part)


_patches = {"torch._higher_order_ops.triton_kernel_wrap": _tell_accesses, "torch._dynamo.trace_rules": _leave_out}


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
