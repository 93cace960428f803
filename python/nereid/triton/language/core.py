"""Types and constants of the language as Python objects."""
import builtins
import enum
import functools
import operator

from nereid import _C

# --- names that only kernels use ---


class builtin:
    """A function of the language. As a decorator, as Triton has it, it only marks a function."""
    on_host = None  # what answers where it is called outside of kernels

    def __new__(cls, path, doc=""):
        if not isinstance(path, str):
            path.__triton_builtin__ = True
            return path
        return super().__new__(cls)

    def __init__(self, path, doc=""):
        self.__name__ = path.rpartition(".")[2]
        self.__qualname__ = self.__name__
        self._path, self._key = path, "triton.language." + path
        self.__module__ = "triton.language" + ("." + path.rpartition(".")[0] if "." in path else "")
        self.__doc__ = doc
        self.__triton_builtin__ = True

    def __call__(self, *args, **kwargs):
        if self.on_host:
            return self.on_host(*args, **kwargs)
        raise ValueError("Did you forget to add @triton.jit ? (`_semantic` argument must be provided outside of JIT "
                         "functions.)")

    def __repr__(self):
        return f"<function triton.language.{self._path}>"

    def __reduce__(self):
        return _builtin, (self._path,)


extern = builtin  # the decorator of functions that call `extern_elementwise`

_rows = {}
for _name, _aliases, _signature, _summary, _status, _is_function, _is_method in _C.vocabulary():
    if _is_function:
        _rows[_name] = (_signature, _summary)
        for _alias in _aliases.split():
            _rows.setdefault(_alias.removeprefix("old:"), (_signature, _summary))
_builtins = {}


def _builtin(path):
    known = _builtins.get(path)
    if known is None:
        signature, summary = _rows.get(path, ("", ""))
        known = _builtins[path] = builtin(path, f"{path.rpartition('.')[2]}({signature})\n\n{summary}")
    return known


def _fill(names, prefix, source=None):
    """Puts the functions below `prefix` of the vocabulary into a module."""
    for name in _rows:
        if name.startswith(prefix):
            rest = name[len(prefix):]
            if "." not in rest and rest.isidentifier() and rest not in names:
                names[rest] = _builtin(name)


# --- constants ---


def _unwrap_if_constexpr(x):
    if isinstance(x, list):
        return [_unwrap_if_constexpr(item) for item in x]
    if isinstance(x, builtins.tuple) and hasattr(x, "_fields"):
        return type(x)(*(_unwrap_if_constexpr(item) for item in x))
    if isinstance(x, builtins.tuple):
        return type(x)(_unwrap_if_constexpr(item) for item in x)
    return x.value if isinstance(x, constexpr) else x


_unwrap_shape = _unwrap_if_constexpr


class constexpr_type:
    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, constexpr_type) and self.value == other.value

    def __hash__(self):
        return hash(self.value)

    def __repr__(self):
        return f"constexpr_type[{self.value}]"


class constexpr:
    """A value known at compile time."""

    def __init__(self, value):
        while isinstance(value, constexpr):
            value = value.value
        self.value = value
        self.type = constexpr_type(value)

    def __repr__(self):
        return f"constexpr[{self.value}]"

    def __hash__(self):
        return hash((self.value, self.type))

    def __index__(self):
        return self.value

    def __bool__(self):
        return bool(self.value)

    def __call__(self, *args, **kwargs):
        return self.value(*args, **kwargs)

    def __getitem__(self, *args):
        return constexpr(self.value.__getitem__(*(_unwrap_if_constexpr(x) for x in args)))

    def __not__(self):
        return constexpr(not self.value)

    def logical_and(self, other):
        return constexpr(self.value and _unwrap_if_constexpr(other))

    def logical_or(self, other):
        return constexpr(self.value or _unwrap_if_constexpr(other))


def _operator(function, swapped=False):
    def method(self, *others):
        values = [self.value] + [_unwrap_if_constexpr(other) for other in others]
        return constexpr(function(*(reversed(values) if swapped else values)))

    return method


for _word in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and", "or", "xor"):
    _function = getattr(operator, _word + "_" if _word in ("and", "or") else _word)
    setattr(constexpr, f"__{_word}__", _operator(_function))
    setattr(constexpr, f"__r{_word}__", _operator(_function, swapped=True))
for _word in ("eq", "ne", "lt", "le", "gt", "ge", "neg", "pos", "invert"):
    setattr(constexpr, f"__{_word}__", _operator(getattr(operator, _word)))


# --- types ---


class base_type:
    pass


class base_value:
    pass


_widths = {
    "void": 0, "int1": 1, "int8": 8, "int16": 16, "int32": 32, "int64": 64, "uint8": 8, "uint16": 16, "uint32": 32,
    "uint64": 64, "fp8e5": 8, "fp8e5b16": 8, "fp8e4nv": 8, "fp8e4b8": 8, "fp8e4b15": 8, "fp16": 16, "bf16": 16,
    "fp32": 32, "fp64": 64,
}
_mantissa = {"fp8e5": 2, "fp8e5b16": 2, "fp8e4nv": 3, "fp8e4b8": 3, "fp8e4b15": 3, "fp16": 10, "bf16": 7, "fp32": 23,
             "fp64": 52}
_bias = {"fp8e5": 15, "fp8e5b16": 16, "fp8e4nv": 7, "fp8e4b8": 8, "fp8e4b15": 15, "fp16": 15, "bf16": 127, "fp32": 127,
         "fp64": 1023}


class dtype(base_type):
    SINT_TYPES = ["int8", "int16", "int32", "int64"]
    UINT_TYPES = ["int1", "uint8", "uint16", "uint32", "uint64"]
    FP_TYPES = list(_mantissa)
    STANDARD_FP_TYPES = ["fp16", "bf16", "fp32", "fp64"]
    OTHER_TYPES = ["void"]

    class SIGNEDNESS(enum.Enum):
        SIGNED = 0
        UNSIGNED = 1

    class KIND(enum.Enum):
        BOOLEAN = 0
        INTEGRAL = 1
        FLOATING = 2

    def __init__(self, name):
        name = _unwrap_if_constexpr(name)
        assert name in _widths, name
        self.name = name
        self.primitive_bitwidth = _widths[name]
        self.itemsize = self.primitive_bitwidth // 8
        if name in _mantissa:
            self.fp_mantissa_width = _mantissa[name]
            self.exponent_bias = _bias[name]
        else:
            self.int_signedness = (dtype.SIGNEDNESS.SIGNED if name in dtype.SINT_TYPES else dtype.SIGNEDNESS.UNSIGNED)
            self.int_bitwidth = self.primitive_bitwidth

    def is_fp8(self):
        return "fp8" in self.name

    def is_floating(self):
        return self.name in _mantissa

    def is_standard_floating(self):
        return self.name in dtype.STANDARD_FP_TYPES

    def is_int_signed(self):
        return self.name in dtype.SINT_TYPES

    def is_int_unsigned(self):
        return self.name in dtype.UINT_TYPES

    def is_int(self):
        return self.name in dtype.SINT_TYPES + dtype.UINT_TYPES

    def is_bool(self):
        return self.name == "int1"

    def kind(self):
        return (dtype.KIND.BOOLEAN if self.is_bool() else dtype.KIND.INTEGRAL if self.is_int() else dtype.KIND.FLOATING)

    def get_int_max_value(self):
        return 2**(self.int_bitwidth - (self.int_signedness is dtype.SIGNEDNESS.SIGNED)) - 1

    def get_int_min_value(self):
        return -2**(self.int_bitwidth - 1) if self.int_signedness is dtype.SIGNEDNESS.SIGNED else 0

    @staticmethod
    def is_dtype(type_str):
        return type_str in _widths

    is_void = staticmethod(lambda: False)
    is_block = staticmethod(lambda: False)
    is_ptr = staticmethod(lambda: False)
    is_const = staticmethod(lambda: False)

    @property
    def scalar(self):
        return self

    def codegen_name(self):
        return self.name

    @property
    def cache_key_part(self):
        return self.name

    def mangle(self):
        return self.name

    def __eq__(self, other):
        other = _unwrap_if_constexpr(other)
        return isinstance(other, dtype) and self.name == other.name

    def __hash__(self):
        return hash((self.name,))

    def __str__(self):
        return self.name

    def __repr__(self):
        return "triton.language." + {"fp8e5": "float8e5", "fp16": "float16", "bf16": "bfloat16", "fp32": "float32",
                                     "fp64": "float64"}.get(self.name, self.name.replace("fp8", "float8"))


for _name in _widths:
    if _name not in ("void",) and not _name.startswith(("fp", "bf")):
        def _is(self, _name=_name):
            return self.name == _name
        setattr(dtype, "is_" + _name, _is)
    elif _name != "void":
        setattr(dtype, "is_" + _name, lambda self, _name=_name: self.name == _name)


class pointer_type(dtype):
    def __init__(self, element_ty, address_space=1, const=False):
        element_ty = _unwrap_if_constexpr(element_ty)
        self.element_ty = element_ty
        self.address_space = address_space
        self.const = const
        self.name = f"pointer<{element_ty}>" if not const else f"const_pointer<{element_ty}>"
        self.primitive_bitwidth = 64
        self.itemsize = 8

    def is_ptr(self):
        return True

    def is_const(self):
        return self.const

    def __eq__(self, other):
        return isinstance(other, pointer_type) and (self.element_ty, self.const) == (other.element_ty, other.const)

    def __hash__(self):
        return hash((self.name, self.const))

    __repr__ = dtype.__str__


class block_type(dtype):
    def __init__(self, element_ty, shape):
        self.element_ty = element_ty
        self.shape = builtins.tuple(_unwrap_if_constexpr(shape))
        self.numel = functools.reduce(operator.mul, self.shape, 1)
        self.name = f"<{list(self.shape)}, {element_ty}>"
        self.primitive_bitwidth = element_ty.primitive_bitwidth

    def is_block(self):
        return True

    def get_block_shapes(self):
        return self.shape

    @property
    def scalar(self):
        return self.element_ty

    def __eq__(self, other):
        return isinstance(other, block_type) and (self.element_ty, self.shape) == (other.element_ty, other.shape)

    def __hash__(self):
        return hash(self.name)

    __repr__ = dtype.__str__


class tuple_type(base_type):
    def __init__(self, types, fields=None):
        self.types, self.fields = types, fields


class tensor(base_value):
    """What an expression of a kernel is; here only a name for annotations."""


class tensor_descriptor_base(base_value):
    pass


class tensor_descriptor(tensor_descriptor_base):
    pass


class tensor_descriptor_type(base_type):
    pass


class const:
    """Annotates a pointer whose memory the kernel does not write."""


class tuple(builtins.tuple):  # noqa: A001  the language's own name
    def __new__(cls, args=(), type=None, fields=None):
        made = super().__new__(cls, args)
        made._names = builtins.tuple(fields or getattr(type, "fields", None) or ())
        return made

    def __getattr__(self, name):
        if name != "_names" and name in self._names:
            return self[self._names.index(name)]
        raise AttributeError(name)

    @property
    def values(self):
        return list(self)


class range:  # noqa: A001
    """`tl.range` of kernels."""

    def __init__(self, *args, **kwargs):
        raise RuntimeError("tl.range can only be used in @triton.jit'd functions")


class static_range(range):
    pass


class slice:  # noqa: A001
    def __init__(self, start, stop=None, step=None):
        self.start, self.stop, self.step = start, stop, step


class condition:
    def __init__(self, arg1, disable_licm=False):
        raise RuntimeError("tl.condition can only be used in @triton.jit'd functions")


class PropagateNan(enum.Enum):
    NONE = 0
    ALL = 0xFFFF


void = dtype("void")
int1, int8, int16, int32, int64 = (dtype(_n) for _n in ("int1", "int8", "int16", "int32", "int64"))
uint8, uint16, uint32, uint64 = (dtype(_n) for _n in ("uint8", "uint16", "uint32", "uint64"))
float8e5, float8e5b16, float8e4nv = (dtype(_n) for _n in ("fp8e5", "fp8e5b16", "fp8e4nv"))
float8e4b8, float8e4b15, float16 = (dtype(_n) for _n in ("fp8e4b8", "fp8e4b15", "fp16"))
bfloat16, float32, float64 = (dtype(_n) for _n in ("bf16", "fp32", "fp64"))
pi32_t = pointer_type(int32)
_by_signature = {
    "void": void, "i1": int1, "u1": int1, "B": int1, "i8": int8, "i16": int16, "i32": int32, "i64": int64,
    "u8": uint8, "u16": uint16, "u32": uint32, "u64": uint64, "fp8e5": float8e5, "fp8e5b16": float8e5b16,
    "fp8e4nv": float8e4nv, "fp8e4b8": float8e4b8, "fp8e4b15": float8e4b15, "fp16": float16, "bf16": bfloat16,
    "fp32": float32, "fp64": float64,
}


def get_int_dtype(bitwidth, signed):
    return _by_signature[("i" if signed or bitwidth == 1 else "u") + str(bitwidth)]


def _field_value(name, kind, value):
    """What a field of an aggregate holds of a value that the host gives."""
    if kind is constexpr or kind is None:
        return constexpr(value)
    if kind is tuple and isinstance(value, builtins.tuple):
        return tuple((one if isinstance(one, (constexpr, base_value)) else constexpr(one) for one in value),
                     fields=getattr(value, "_fields", None))
    if isinstance(kind, type) and not isinstance(value, kind):
        raise TypeError(f"Expected {kind} for attribute '{name}', got {type(value)}")
    return value


def _fields_of(cls):
    """{field: annotation} of an aggregate and those it inherits from, theirs first."""
    import typing

    try:
        hints = typing.get_type_hints(cls)
    except Exception:  # a name that only kernels know
        hints = {}
    fields = {}
    for base in reversed(cls.__mro__):
        for name, kind in base.__dict__.get("__annotations__", {}).items():
            fields[name] = hints.get(name, kind)
    return fields


def _aggregate(cls):
    """Makes a class whose annotated fields are values of a kernel. On the host too it is constructed from its fields,
    which do not change from then on."""
    for base in cls.__mro__[1:-1]:
        if not base.__dict__.get("__triton_aggregate__"):
            raise TypeError(f"Aggregates can only inherit from other aggregates, but {cls.__name__} inherits from "
                            f"{base.__name__}")
    fields = _fields_of(cls)
    made = cls.__dict__.get("__init__") or cls.__init__
    if made is object.__init__ or getattr(made, "__nereid_made__", False):

        def made(self, *args, **kwargs):
            given = dict(zip(fields, args))
            if len(args) > len(fields) or given.keys() & kwargs.keys() or kwargs.keys() - fields.keys():
                raise TypeError(f"{cls.__name__} takes its fields: {', '.join(fields)}")
            given.update(kwargs)
            for name, kind in fields.items():
                if name not in given and not hasattr(cls, name):
                    raise TypeError(f"{cls.__name__}() missing field '{name}'")
                setattr(self, name, _field_value(name, kind, given.get(name, getattr(cls, name, None))))
            if hasattr(self, "__post_init__"):
                self.__post_init__()

    def init(self, *args, **kwargs):
        made(self, *args, **kwargs)
        if type(self) is cls:
            object.__setattr__(self, "_is_made", True)

    def set_field(self, name, value):
        if getattr(self, "_is_made", False):
            raise AttributeError(f"cannot assign to field '{name}' on immutable aggregate {cls.__name__}")
        object.__setattr__(self, name, value)

    init.__nereid_made__ = getattr(made, "__nereid_made__", False) or made.__qualname__.startswith("_aggregate.")
    init.fn, set_field.__nereid_made__ = getattr(made, "fn", made), True
    cls.__init__, cls.__setattr__ = init, set_field
    cls.__triton_aggregate__ = True
    return cls


def aggregate_replace(instance, **changes):
    """A copy of an aggregate with some fields changed."""
    if not getattr(type(instance), "__triton_aggregate__", False):
        raise TypeError(f"aggregate_replace expects an aggregate instance, got {type(instance).__name__}")
    fields = _fields_of(type(instance))
    for name in changes:
        if name not in fields:
            raise TypeError(f"{type(instance).__name__} has no field '{name}'")
    return type(instance)(**{name: changes.get(name, getattr(instance, name)) for name in fields})


aggregate_replace.__module__ = "nereid.triton.language"  # where kernels know it


def must_use_result(x, s=True):
    return x if not isinstance(x, str) else lambda fn: fn


_fill(globals(), "")
__all__ = [_n for _n in list(globals()) if not _n.startswith("_") and _n not in ("enum", "functools", "operator", "builtin", "builtins")]

CONSTEXPR_0 = constexpr(0)  # Triton's own functions have it as a default
