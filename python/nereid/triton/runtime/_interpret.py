"""TRITON_INTERPRET=1: launches run on the reference interpreter, which verifies every access."""
from ..language import core


def _memory(value, name, ranges, moved):
    """Notes the memory behind an argument; gives the argument as the interpreter takes it."""
    value = core._unwrap_if_constexpr(value)
    if isinstance(value, tuple) and not hasattr(value, "block_shape"):
        items = [_memory(item, f"{name}[{i}]", ranges, moved) for i, item in enumerate(value)]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if hasattr(value, "block_shape") and hasattr(value, "base"):
        base = _memory(value.base, name, ranges, moved)
        if base is value.base:
            return value
        import copy

        value = copy.copy(value)
        value.base = base
        return value
    tensor = value
    while type(tensor).__name__ == "TensorWrapper":
        tensor = tensor.base
    if hasattr(tensor, "untyped_storage"):
        if tensor.device.type != "cpu":
            key = id(tensor)
            if key not in moved:
                moved[key] = (tensor, tensor.cpu())
            copied = moved[key][1]
            from .jit import TensorWrapper

            value = TensorWrapper(copied, value.dtype) if value is not tensor else copied
            tensor = copied
        storage = tensor.untyped_storage()
        ranges[storage.data_ptr()] = (storage.nbytes(), name)
    elif hasattr(tensor, "__array_interface__") and getattr(tensor, "shape", ()) != ():
        owner = tensor
        while getattr(owner, "base", None) is not None and hasattr(owner.base, "__array_interface__"):
            owner = owner.base
        ranges[owner.__array_interface__["data"][0]] = (owner.nbytes, name)
    return value


def run(function, grid, args, kwargs):
    ranges, moved = {}, {}
    args = tuple(_memory(value, function.arg_names[i] if i < len(function.arg_names) else str(i), ranges, moved)
                 for i, value in enumerate(args))
    kwargs = {name: _memory(value, name, ranges, moved) for name, value in kwargs.items()}
    memory = [(address, size, name) for address, (size, name) in sorted(ranges.items()) if size]
    function._interpret(grid, args, kwargs, memory, False)
    for original, copied in moved.values():
        original.copy_(copied)
