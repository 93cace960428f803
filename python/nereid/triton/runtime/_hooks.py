"""What hooks of a compilation get: a kernel's class of arguments in Triton's words, and back from those words to the
kernel. Launches that no hook watches never come here."""
import json
from collections import namedtuple
from types import SimpleNamespace

from .. import knobs
from ..language import core
from .driver import current_device, driver

JitFunctionInfo = namedtuple("JitFunctionInfo", ["module", "name", "jit_function"])


class DeviceCaches(dict):
    """By device what Triton keeps: (the compiled kernels by their class of arguments, that of launches by its parts,
    None, None, the binder, which gives (the arguments by name, the parts of their class, the options))."""

    def __init__(self, function):
        self.function = function

    def __missing__(self, device):
        if device == -1 or not isinstance(device, int):
            device = "cpu"
            if device in self:
                return self[device]
        return self.setdefault(device, ({}, {}, None, None, self._bind))

    def _bind(self, *args, **kwargs):
        found = Specialization(self.function, args, kwargs)
        return found.bound, found.parts, found.options


def specialize(value, is_const=False, specialize_value=True, align=True):
    """(type, what is known of the value): ("i32", "D") for a multiple of 16."""
    from .jit import JITCallable, _adapt

    if value is None:
        return "constexpr", None
    if isinstance(value, bool):
        return "u1", None
    if isinstance(value, int):
        if value == 1 and specialize_value:
            return "constexpr", 1
        kind = "i32" if -2**31 <= value < 2**31 else "u64" if value >= 2**63 else "i64"
        return kind, ("D" if align and value % 16 == 0 else "") if specialize_value else None
    if isinstance(value, float):
        return "fp32", None
    if isinstance(value, JITCallable):
        return "constexpr", getattr(value, "cache_key", repr(value))
    if isinstance(value, (core.constexpr, core.dtype)):
        return "constexpr", value
    if isinstance(value, (tuple, list)):
        each = [specialize(one) for one in value]
        return tuple(one[0] for one in each), tuple(one[1] for one in each)
    if hasattr(value, "block_shape"):
        return f"tensordesc<{specialize(value.base)[0][1:]}{list(value.block_shape)}>", None
    adapted = _adapt(value)
    if type(adapted) is not tuple:
        return specialize(adapted, is_const, specialize_value, align)
    address, word, _ = adapted
    return ("*k" if is_const else "*") + word, ("D" if align and address % 16 == 0 else "") if specialize_value else None


def _leaves(value, path=()):
    if type(value) is tuple:
        for index, one in enumerate(value):
            yield from _leaves(one, (*path, index))
    else:
        yield path, value


def _at(value, path):
    for index in path:
        value = value[index]
    return value


class Specialization:
    """A call's class."""

    def __init__(self, function, args, kwargs):
        bound = args if isinstance(args, dict) else function._bound(args, kwargs)
        self.function = function
        each = [("constexpr", bound[one.name]) if one.is_constexpr else
                specialize(bound[one.name], one.is_const, not one.do_not_specialize,
                           not one.do_not_specialize_on_alignment) for one in function.params]
        for number, one in enumerate(function.params):  # an annotation decides the type
            word = one.annotation.rpartition(".")[2]
            known = getattr(core, word, None)
            if isinstance(known, core.dtype) and isinstance(each[number][0], str) and each[number][0][:1] in "iufb":
                each[number] = (next(k for k, v in core._by_signature.items() if v == known), each[number][1])
        types = tuple(one[0] for one in each)
        values = list(bound.values())
        self.signature = {one.name: kind for one, kind in zip(function.params, types)}
        self.on_host = any(isinstance(kind, str) and kind[:1] == "*" and _on_host(value) for kind, value in zip(types, values))
        self.constants = {path: _at(values, path) for path, kind in _leaves(types) if kind == "constexpr"}
        self.attrs = {path: [["tt.divisibility", 16]] for path, known in _leaves(tuple(one[1] for one in each))
                      if known == "D"}
        self.options = {"num_warps": 4, "num_ctas": 1, "num_stages": 3, "enable_fp_fusion": bool(knobs.language.default_fp_fusion),
                        "launch_cooperative_grid": False, "extern_libs": (),
                        "debug": bool(function.debug or knobs.runtime.debug)}
        self.options.update((k, tuple(v.items()) if isinstance(v, dict) else v) for k, v in kwargs.items()
                            if k not in function.arg_names)
        self.options["debug"] = bool(self.options["debug"] or knobs.runtime.debug)
        self.bound = bound
        self.parts = [(kind, known if not isinstance(known, core.constexpr) else known.value) for kind, known in each]
        self.key = f"{self.parts}{self.options}"

    def named(self):
        """What `repr=` of a kernel gets: constants by the names of their parameters."""
        names = [one.name for one in self.function.params]
        return SimpleNamespace(signature=self.signature, attrs=self.attrs, constants={
            names[path[0]] if len(path) == 1 else path: value for path, value in self.constants.items()})

    @property
    def text(self):
        """As JSON, for `preload`."""
        return serialized(_name(self.function), self.signature, self.constants, self.attrs, self.options, self.key, self.on_host)

    def tell(self, hook, warmup):
        if not hook:
            return None
        o, function = self.options, self.function
        names = ("num_warps", "num_ctas", "num_stages", "enable_fp_fusion", "launch_cooperative_grid")
        said = ", ".join(f"{name}={o[name]}" for name in names)
        types = ", ".join(f"{name}: {kind}" for name, kind in self.signature.items())
        return hook(
            key=self.key, repr=f"{function.__qualname__}[{said}]({types})",
            fn=JitFunctionInfo(function.fn.__module__, function.fn.__qualname__, function),
            compile={"key": self.key, "signature": self.signature, "device": current_device(),
                     "constants": self.constants, **{name: o[name] for name in (*names, "extern_libs")},
                     "configs": [self.attrs], "specialization_data": self.text, "is_warmup": warmup},
            is_manual_warmup=warmup, already_compiled=False)


def serialized(name, signature, constants, attrs, options, key, on_host=False):
    return json.dumps({
        "name": name, "target": _target(), "on_host": on_host, "signature": signature,
        "constant_keys": [list(path) for path in constants], "constant_vals": [_plain(value) for value in constants.values()],
        "attrs_keys": [list(path) for path in attrs], "attrs_vals": list(attrs.values()),
        "options": {k: v for k, v in options.items() if isinstance(v, (bool, int, float, str, type(None)))},
        "key": key})


def _name(function):
    return f"{function.fn.__module__}.{function.fn.__qualname__}"  # which a program may set after the decorator


def _on_host(value):
    from .jit import _adapt

    found = _adapt(value)
    return isinstance(found, tuple) and found[2] == -1


def _target():
    target = driver.active.get_current_target()
    return {"backend": target.backend, "arch": target.arch, "warp_size": target.warp_size}


def _plain(value):
    from .jit import JITFunction

    if isinstance(value, core.constexpr):
        return {"constexpr": _plain(value.value)}
    if isinstance(value, core.dtype):
        return {"dtype": value.name}
    if isinstance(value, JITFunction):
        return {"function": [value.module, value.__qualname__]}
    if isinstance(value, (tuple, list)):
        return {"tuple": [_plain(one) for one in value]}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return {"repr": repr(value)}  # says what it was; `preload` refuses it


def _restored(value):
    from .jit import _find

    if not isinstance(value, dict):
        return value
    (kind, inner), = value.items()
    if kind == "constexpr":
        return core.constexpr(_restored(inner))
    if kind == "dtype":
        return core.dtype(inner)
    if kind == "function":
        return _find(*inner)
    if kind == "tuple":
        return tuple(map(_restored, inner))
    raise RuntimeError(f"Specialization data cannot hold {inner}")


def before_launch(function, args, kwargs, warmup):
    """Compiles what is new, with the hooks around it. False if a hook does not want it."""
    kernels = function.device_caches[current_device()][0]
    one = Specialization(function, args, kwargs)
    is_known = one.key in kernels
    if is_known and not one.options["extern_libs"]:
        return True
    if not is_known and one.tell(knobs.runtime.jit_cache_hook, warmup):
        return False
    kernel = function._launch((1, ), args, kwargs, True)
    if is_known:
        # The engine's classes are finer than those that hooks see. A hook may set variables of a library in each module, so
        # that it is told of each that has one.
        if kernels[one.key] is kernel:
            return True
        one.key += kernel.hash
        if kernels.get(one.key) is kernel:
            return True
    _keep(kernels, one.key, kernel)
    one.tell(knobs.runtime.jit_post_compile_hook, warmup)
    return True


def _keep(kernels, key, kernel):
    for other in [other for other, known in kernels.items() if known is kernel]:
        del kernels[other]
    kernels[key] = kernel


def preload(function, text):
    """The kernel that `specialization_data` describes."""
    from .jit import MockTensor

    data = json.loads(text)
    if data["name"] != _name(function):
        raise RuntimeError(f"Specialization data is for {data['name']} but trying to preload for {_name(function)}")
    if data["target"] != _target():
        raise RuntimeError(f"Specialization data is for {data['target']} but the device is {_target()}")
    constants = {tuple(path): _restored(value) for path, value in zip(data["constant_keys"], data["constant_vals"])}
    aligned = {tuple(path) for path in data["attrs_keys"]}

    def stand_in(kind, path):
        if isinstance(kind, list):
            return tuple(stand_in(one, (*path, index)) for index, one in enumerate(kind))
        if kind == "constexpr":
            return constants[path]
        if kind.startswith("*"):
            return MockTensor(core._by_signature[kind.removeprefix("*").removeprefix("k")], aligned=path in aligned,
                              device=-1 if data.get("on_host") else None)
        if kind in ("u1", "i1"):
            return True
        if kind[0] in "iu":
            return (2**33 if kind == "i64" else 2**63 if kind == "u64" else 0) + (16 if path in aligned else 2)
        if kind[0] in "fb":
            return 0.5
        raise RuntimeError(f"Specialization data cannot stand for an argument of type {kind}")

    arguments = [stand_in(kind, (number, )) for number, kind in enumerate(data["signature"].values())]
    options = {name: value for name, value in data["options"].items() if value is not None}
    functions = [one for one in arguments if not isinstance(one, (int, float, MockTensor))]
    if functions:
        function._bring(functions)
    kernel = function._launch((1, ), tuple(arguments), options, True)
    _keep(function.device_caches[current_device()][0], data["key"], kernel)
    return kernel
