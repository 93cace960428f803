"""What the configurations of an autotuned kernel leave in its tensors: one that computes something else than most is not taken."""
import os
import sys

from nereid import _C

from ..language import core
from ..tools.tensor_descriptor import TensorDescriptor

# Configurations sum in different orders and precisions; a wrong one is off by more than that, measured against the tensor's largest element.
_tolerances = {8: 1e-9, 4: 2e-3, 2: 3e-2, 1: 0.3}
# Bytes of all tensors of a launch that are copied: on a CPU, on a GPU, from a GPU to the host.
_most, _most_on_gpu, _most_from_gpu = 16 << 20, 2 << 30, 64 << 20
# Results of these many kinds say nothing of who is right.
_most_kinds = 4


class _Torch:
    def __init__(self, tensor):
        # Without a version of its own, so that autograd sees no change where the contents come back.
        self.tensor, self.bytes = tensor.data, tensor.numel() * tensor.element_size()
        self.key = (tensor.data_ptr(), tuple(tensor.shape), tuple(tensor.stride()))
        self.on_gpu = tensor.device.type == "cuda"

    def copy(self):
        return self.tensor.clone()

    def put(self, values):
        self.tensor.copy_(values)

    @staticmethod
    def equal(a, b):
        import torch

        if a.element_size() == 1 and a.is_floating_point():  # no comparison of its own
            a, b = a.view(torch.uint8), b.view(torch.uint8)
        return torch.equal(a, b)

    @classmethod
    def agree(cls, a, b):
        import torch

        if cls.equal(a, b) or a.is_complex():
            return True
        if not a.is_floating_point():
            return False
        tolerance = _tolerances[a.element_size()]
        wide = torch.float64 if a.element_size() == 8 else torch.float32
        a, b = a.to(wide), b.to(wide)
        size = b.abs()
        size = torch.where(torch.isfinite(size), size, torch.zeros_like(size)).max()
        good = (a == b) | ((a - b).abs() <= tolerance * size) | (torch.isnan(a) & torch.isnan(b))
        return bool(good.all())


class _NumPy:
    def __init__(self, array):
        self.tensor, self.bytes = array, array.nbytes
        self.key = (array.ctypes.data, array.shape, array.strides)
        self.on_gpu = False

    def copy(self):
        return self.tensor.copy()

    def put(self, values):
        self.tensor[...] = values

    @staticmethod
    def equal(a, b):
        import numpy

        return numpy.array_equal(a, b)

    @classmethod
    def agree(cls, a, b):
        import numpy

        if cls.equal(a, b) or a.dtype.kind not in "fiub":
            return True
        if a.dtype.kind != "f":
            return False
        tolerance = _tolerances[a.dtype.itemsize]
        a, b = a.astype("f8"), b.astype("f8")
        with numpy.errstate(invalid="ignore"):
            size = numpy.abs(b[numpy.isfinite(b)]).max(initial=0)
            return bool(((a == b) | (abs(a - b) <= tolerance * size) | (numpy.isnan(a) & numpy.isnan(b))).all())


class Memory:
    """What a framework without copies of its own has on a device: `__cuda_array_interface__`, DLPack, `data_ptr()`. Contents
    are bytes on the host, from the first element in memory to the last."""
    on_gpu = True

    def __init__(self, value):
        from .jit import _adapt

        self.address, self.word, self.device = _adapt(value)[:3]
        interface = None if hasattr(value, "data_ptr") else getattr(value, "__cuda_array_interface__", None)
        if interface is not None:
            shape, strides = interface["shape"], interface.get("strides")
        elif hasattr(value, "shape"):
            shape, strides = value.shape, None
            if callable(getattr(value, "stride", None)):
                strides = [step * self._width() for step in value.stride()]
        else:
            shape, strides = _C.dlpack(value.__dlpack__(stream=1))[3:]
            strides = strides and [step * self._width() for step in strides]
        dense, plain = self._width(), []
        for extent in reversed(shape):
            plain.insert(0, dense)
            dense *= extent
        strides = plain if strides is None else strides
        self.is_dense = all(extent < 2 or step == other for extent, step, other in zip(shape, strides, plain))
        ends = [0 if 0 in shape else (extent - 1) * step for extent, step in zip(shape, strides)]
        self.address += sum(end for end in ends if end < 0)
        self.bytes = 0 if 0 in shape else sum(map(abs, ends)) + self._width()
        self.key = (self.address, tuple(shape), tuple(strides))

    def _width(self):
        return core._by_signature[self.word].primitive_bitwidth + 7 >> 3

    @property
    def tensor(self):
        return _C.read(self.device, self.address, self.bytes)

    def copy(self):
        return self.tensor

    def put(self, values):
        _C.write(self.device, self.address, values)

    @staticmethod
    def equal(a, b):
        return a == b

    def agree(self, a, b):
        return _NumPy.agree(self._numbers(a), self._numbers(b))

    def _numbers(self, contents):
        import numpy

        if self.word == "bf16":
            return (numpy.frombuffer(contents, "u2").astype("u4") << 16).view("f4")
        kind = "f" if self.word.startswith("fp") else "u" if self.word.startswith("u") else "i"
        return numpy.frombuffer(contents, f"{kind}{self._width()}")

    def is_comparable(self):
        try:
            import numpy  # noqa: F401
        except ImportError:
            return False
        return self.bytes % self._width() == 0 and not self.word.startswith("fp8")


def is_memory(value):
    # In this order: torch refuses the interface of a tensor that has a gradient, by an error of another kind than `hasattr` takes.
    return hasattr(value, "data_ptr") or hasattr(value, "__cuda_array_interface__") or hasattr(value, "__dlpack_device__")


def _tensors(arguments):
    """One of the above for each tensor; None if there is one that they do not know."""
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    found = {}
    for value in arguments.values():
        if isinstance(value, TensorDescriptor):
            value = value.base
        if not is_memory(value) and not (hasattr(value, "dtype") and hasattr(value, "shape")):
            continue
        if torch and type(value) in (torch.Tensor, torch.nn.Parameter):
            one = _Torch(value)
        elif numpy and type(value) is numpy.ndarray:
            one = _NumPy(value)
        elif numpy and isinstance(value, numpy.generic):
            continue
        elif is_memory(value) and type(value).__module__.partition(".")[0] != "torch":
            one = Memory(value)
            if one.device < 0 or not one.is_comparable():
                return None
        else:
            return None
        found[one.key] = one
    return list(found.values())


class Results:
    """Contents before the first launch, and the kinds of results that launches on these contents gave."""

    @classmethod
    def of(cls, built, arguments):
        """None where comparing is not sound (the order of atomic operations is not the same twice), costs too much, or is not wanted."""
        if os.environ.get("NEREID_AUTOTUNE_CHECK", "1") == "0" or len(built) < 3:
            return None
        tensors = _tensors(arguments)
        if not tensors:
            return None
        most = _most
        if any(isinstance(one, Memory) for one in tensors):
            most = _most_from_gpu
        elif any(one.on_gpu for one in tensors):
            import torch

            if torch.cuda.is_current_stream_capturing():
                return None
            most = min(_most_on_gpu, torch.cuda.mem_get_info()[0] // 8)
        if sum(one.bytes for one in tensors) > most or "atomic" in built[0].asm["ttir"]:
            return None
        return cls(tensors)

    def __init__(self, tensors):
        self._before = [(one, one.copy()) for one in tensors]
        if any(isinstance(one, _Torch) and one.on_gpu for one in tensors):  # launches may go to another stream
            import torch

            torch.cuda.synchronize()
        self._written = set()  # tensors, by their places in the list
        self._kinds = []  # results of a launch, and the configurations that gave them

    def begin(self):
        """Before the first launch of a configuration."""
        for place in self._written:
            one, values = self._before[place]
            one.put(values)

    def end(self, config):
        """After it."""
        found = {}
        for place, (one, values) in enumerate(self._before):
            if not one.equal(one.tensor, values):
                found[place] = one.copy()
        self._written |= found.keys()

        def agree(other):
            return all(one.agree(found.get(place, values), other.get(place, values)) for place, (one, values) in enumerate(self._before)
                       if place in found or place in other)

        for results, configs in self._kinds:
            if agree(results):
                configs.append(config)
                return
        if len(self._kinds) <= _most_kinds:
            self._kinds.append((found, [config]))

    def wrong(self):
        """The configurations that differ from more than half of all, and how many those are."""
        sizes = [len(configs) for _, configs in self._kinds]
        if len(sizes) < 2 or len(sizes) > _most_kinds or 2 * max(sizes) <= sum(sizes):
            return []
        return [(config, max(sizes)) for _, configs in self._kinds if len(configs) < max(sizes) for config in configs]
