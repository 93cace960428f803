"""Functions, classes and values of a running program as source units of the engine."""
import ast
import collections
import dis
import enum
import functools
import hashlib
import inspect
import linecache
import os
import re
import sys
import types

from ..language import core

# Modules that the engine knows itself, under the name that it knows them by.
_native = {"math", "torch", "numpy", "builtins", "operator", "functools", "typing", "enum", "dataclasses", "collections"}

# Text that was compiled from a string, so that kernels made by `exec` have a source: the latest ones, as bytes.
_strings = collections.deque(maxlen=64)
_watching = False


def watch():
    """Keeps the text of what is compiled from strings from here on."""
    global _watching
    if _watching:
        return
    _watching = True
    strings = _strings

    def hook(event, args):
        if event == "compile" and args[0] is not None and isinstance(args[0], (bytes, str)) and args[1] == "<string>":
            if b"def " in args[0] if isinstance(args[0], bytes) else "def " in args[0]:
                strings.append(args[0])

    sys.addaudithook(hook)


def native_name(module_name):
    """The engine's name for a module, or None."""
    if module_name.startswith("nereid.triton"):
        return module_name[len("nereid."):]
    return module_name if module_name in _native else None


_paths = {}  # of the files that sources came from, by the name that diagnostics have for them; None where two have it


def with_lines(text):
    """A message with the lines that it names, each with a caret below."""
    lines = []
    for line in text.split("\n"):
        lines.append(line)
        place = re.match(r"\s*([^:]+):(\d+):(\d+): ", line)
        path = place and _paths.get(place[1])
        source = linecache.getline(path, int(place[2])).rstrip() if path else ""
        if source:
            before = source.encode()[:int(place[3]) - 1].decode(errors="ignore")
            blank = re.sub(r"[^\t]", " ", before)
            lines += [f"{place[2]:>5} | {source}", f"      | {blank}^"]
    return "\n".join(lines)


class Source:
    """The text of a function or class: dedented, with the place of its first line; `lines` as they stand, decorators too."""

    def __init__(self, item):
        code = getattr(item, "__code__", None)
        try:
            lines, first = inspect.getsourcelines(item)
            self.path = inspect.getsourcefile(item) or "<string>"
        except (OSError, TypeError):
            lines, first = self._from_strings(item, code)
            self.path = "<string>"
        self.lines, self.first_line = list(lines), first
        indent = len(lines[0]) - len(lines[0].lstrip())
        if indent:
            lines = [line[indent:] if not line[:indent].strip() else line for line in lines]
        word = "class" if code is None else r"(?:async\s+)?def"
        start = next((i for i, line in enumerate(lines) if re.match(rf"{word}\s+\w", line)), None)
        if start is None:
            raise ValueError("@jit functions should be defined in a Python file")
        self.text = "".join(lines[start:])
        if code is not None:
            self.text = _annotated(self.text, getattr(item, "__annotations__", None) or {})
        self.line, self.column = first + start, indent
        self.file = os.path.basename(self.path)
        if _paths.setdefault(self.file, self.path) != self.path:
            _paths[self.file] = None

    @staticmethod
    def _from_strings(item, code):
        missing = ValueError("@jit functions should be defined in a Python file: the source of "
                             f"`{item.__name__}` is not known; register it with `linecache`")
        if code is None:
            raise missing
        for text in reversed(_strings):
            text = text.decode(errors="replace") if isinstance(text, bytes) else text
            lines = text.splitlines(keepends=True)[code.co_firstlineno - 1:]
            if not lines or not any(re.match(rf"\s*def\s+{code.co_name}\b", line) for line in lines[:20]):
                continue
            if not lines[-1].endswith("\n"):
                lines[-1] += "\n"
            try:
                return inspect.getblock(lines), code.co_firstlineno
            except (SyntaxError, IndentationError):
                continue
        raise missing


def _annotated(text, annotations):
    """The text with the annotations that a program has set on the function without writing them."""
    words = {}
    for name, value in annotations.items():
        word = f"tl.{value.name}" if isinstance(value, core.dtype) else (
            "tl.constexpr" if value is core.constexpr else value)
        if name != "return" and isinstance(word, str) and not re.search(rf"[(,]\s*{name}\s*:", text):
            words[name] = word
    if not words:
        return text
    parameters = ast.parse(text).body[0].args
    lines = text.encode().splitlines(keepends=True)  # ast counts bytes
    for one in reversed([*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs]):
        if one.arg in words and one.annotation is None:
            line = lines[one.end_lineno - 1]
            lines[one.end_lineno - 1] = line[:one.end_col_offset] + f": {words[one.arg]!r}".encode() + line[one.end_col_offset:]
    return b"".join(lines).decode()


def _codes(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _chains(code):
    """Dotted names that start at a global or at a variable of a function around: ["tl", "load"]."""
    chain, outer = None, set(code.co_freevars)
    for one in _codes(code):
        for instruction in dis.get_instructions(one):
            name = instruction.opname
            if name in ("LOAD_GLOBAL", "LOAD_NAME") or (name in ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_CLOSURE") and
                                                        instruction.argval in outer):
                if chain:
                    yield tuple(chain)
                chain = [instruction.argval]
            elif name in ("LOAD_ATTR", "LOAD_METHOD") and chain:
                chain.append(instruction.argval)
            elif name not in ("CACHE", "PUSH_NULL", "PRECALL", "EXTENDED_ARG", "RESUME"):
                if chain:
                    yield tuple(chain)
                chain = None
    if chain:
        yield tuple(chain)


class Unit:
    """A source unit in the making."""

    def __init__(self, name, text, file, line, column):
        self.name, self.text, self.file, self.line, self.column = name, text, file, line, column
        self.globals = {}

    def plain(self):
        return (self.name, self.text, self.file, self.line, self.column, self.globals)


class Closure:
    """All units that a function reaches."""

    def __init__(self, allow_globals=False):
        self.units, self.known, self.guards = [], {}, []
        self.used_names = set()
        self.allow_globals = allow_globals
        self.digest = None

    def plain(self):
        return [unit.plain() for unit in self.units]

    def _open(self, key, base, text, file="<values>", line=1, column=0):
        name = base = re.sub(r"\W", "_", base)
        count = 1
        while name in self.used_names:
            count += 1
            name = f"{base}_{count}"
        self.used_names.add(name)
        unit = Unit(name, text, file, line, column)
        self.units.append(unit)
        self.known[key] = unit.name
        return unit

    # --- functions and classes ---

    def function(self, fn, decorator, source=None, text=None):
        """The unit of a function; its name there is the function's own."""
        key = ("function", id(fn), decorator, text)
        if key in self.known:
            return self.known[key]
        source = source or Source(fn)
        text = text if text is not None else source.text
        head = f"@__triton__.{decorator}\n" if decorator else ""
        unit = self._open(key, f"{fn.__module__}.{fn.__qualname__}", head + text, source.file,
                          source.line - (1 if head else 0), source.column)
        unit.globals["__triton__"] = ("m", "triton")
        self._defaults(unit, fn, fn.__name__)
        self._names(unit, fn, text)
        return unit.name

    def _defaults(self, unit, fn, prefix):
        try:
            parameters = inspect.signature(fn).parameters.values()
        except (ValueError, TypeError):
            return
        for parameter in parameters:
            if parameter.default is not inspect.Parameter.empty:
                value = self.value(parameter.default)
                unit.globals[f"{prefix}.{parameter.name}"] = value if value[0] == "x" else ("x", value)

    def _names(self, unit, fn, text):
        """Gives the unit what the function's names stand for."""
        cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or ()))
        names = fn.__globals__
        code = fn.__code__
        if text is not None and getattr(fn, "__nereid_text__", None) not in (None, text):
            code = compile(text, unit.file, "exec")

        def look(name):
            if name in cells:
                try:
                    return True, cells[name].cell_contents, None
                except ValueError:
                    return False, None, None
            if name in names:
                return True, names[name], names
            return False, None, None

        chains = collections.defaultdict(set)
        for chain in _chains(code):
            chains[chain[0]].add(chain[1:])
        own = fn.__name__
        for name, rests in sorted(chains.items()):
            found, value, where = look(name)
            # pytest rewrites `assert` to calls of modules that it names `@...`, which the text does not.
            if not found or name in unit.globals or not name.isidentifier():
                continue
            if isinstance(value, types.ModuleType):
                unit.globals[name] = self.module(value, rests)
                continue
            if name == own and (value is fn or getattr(value, "fn", None) is fn):
                continue
            unit.globals[name] = self.value(value)
            if where is not None and isinstance(value, (core.constexpr, core.dtype, int, float, str, bool, type(None))):
                self.guards.append((where, name, value))
        # Names of annotations and the like, which leave no instruction: only what cannot change matters.
        for name in set(re.findall(r"[A-Za-z_]\w*", text or "")) - set(unit.globals):
            found, value, _ = look(name)
            if not found:
                continue
            if isinstance(value, types.ModuleType):
                if native_name(value.__name__):
                    unit.globals[name] = ("m", native_name(value.__name__))
            elif isinstance(value, (core.dtype, core.builtin)) or value is core.constexpr:
                unit.globals[name] = self.value(value)

    def module(self, module, rests):
        """A module of which a kernel uses the attributes `rests`."""
        native = native_name(module.__name__)
        if native:
            return ("m", native)
        key = ("module", module.__name__)
        if key in self.known:
            unit = next(one for one in self.units if one.name == self.known[key])
        else:
            unit = self._open(key, module.__name__, "")
        below = collections.defaultdict(set)
        for rest in rests:
            if rest:
                below[rest[0]].add(rest[1:])
        for name, further in sorted(below.items()):
            try:
                value = getattr(module, name)
            except AttributeError:
                continue
            if isinstance(value, types.ModuleType):
                unit.globals[name] = self.module(value, further)
            elif name not in unit.globals:
                unit.globals[name] = self.value(value)
                if isinstance(value, (core.constexpr, core.dtype, int, float, str)):
                    self.guards.append((module.__dict__, name, value))
        return ("m", unit.name)

    def type(self, cls):
        key = ("class", cls)
        if key in self.known:
            return ("a", self.known[key], cls.__name__)
        try:
            source = Source(cls)
        except (ValueError, OSError, TypeError):
            source = None
        if source is None:
            if issubclass(cls, tuple) and hasattr(cls, "_fields"):
                text = f"from collections import namedtuple\n{cls.__name__} = namedtuple({cls.__name__!r}, {list(cls._fields)!r})\n"
                return ("a", self._open(key, cls.__qualname__, text).name, cls.__name__)
            return ("a", cls.__module__, cls.__qualname__)
        aggregate, data = cls.__dict__.get("__triton_aggregate__"), "__dataclass_fields__" in cls.__dict__
        head = "@__triton__.aggregate\n" if aggregate else "@__dataclasses__.dataclass\n" if data else ""
        unit = self._open(key, f"{cls.__module__}.{cls.__qualname__}", head + source.text, source.file,
                          source.line - (1 if head else 0), source.column)
        unit.globals["__triton__"] = ("m", "triton")
        if data:
            unit.globals["__dataclasses__"] = ("m", "dataclasses")
        for name, member in cls.__dict__.items():
            if getattr(member, "__nereid_made__", False) or (data and _is_made(member)):
                continue
            member = getattr(member, "fn", member)
            member = getattr(member, "__func__", getattr(member, "fget", None) or member)
            member = getattr(member, "fn", member)
            if isinstance(member, types.FunctionType):
                self._names(unit, member, None)
        # Words of the class body: bases, annotations, decorators of methods.
        names = sys.modules[cls.__module__].__dict__ if cls.__module__ in sys.modules else {}
        for word in set(re.findall(r"[A-Za-z_]\w*", source.text)) - set(unit.globals) - {cls.__name__} - set(vars(cls)):
            if word in names:
                value = names[word]
                if isinstance(value, types.ModuleType):
                    if native_name(value.__name__):
                        unit.globals[word] = ("m", native_name(value.__name__))
                else:
                    unit.globals[word] = self.value(value)
        return ("a", unit.name, cls.__name__)

    # --- values ---

    def value(self, value):
        from .jit import ConstexprFunction, JITFunction

        if isinstance(value, core.constexpr):
            if isinstance(value.value, (dict, set, frozenset)):
                return self._collection(value.value, "tl.constexpr")
            inner = self.value(value.value)
            return inner if inner[0] in ("a", "m") else ("x", inner)
        if value is None or isinstance(value, (bool, int, float, str)):
            if isinstance(value, enum.Enum):
                value = value.value
            plain = ("c", value)
            return ("x", plain) if self.allow_globals else plain
        if type(value) is core.dtype:
            return ("d", value.name) if value.name != "void" else ("c", None)
        if isinstance(value, (core.pointer_type, core.block_type)):
            key = ("type", value.name)
            if key not in self.known:
                unit = self._open(key, "type", f"NAMED = {_spelled(value)}\n")
                unit.globals["tl"] = ("m", "triton.language")
            return ("a", self.known[key], "NAMED")
        if isinstance(value, core.builtin):
            if value.__module__ == "triton.profiler.language":
                return ("a", value.__module__, value.__name__)
            module, _, name = value._path.rpartition(".")
            return ("a", "triton.language" + ("." + module if module else ""), name)
        inner = getattr(value, "__nereid_fn__", None)
        if isinstance(value, JITFunction):
            return ("a", value._add_to(self), value.fn.__name__)
        if isinstance(value, ConstexprFunction):
            if not isinstance(value.fn, types.FunctionType) or native_name(value.fn.__module__ or ""):
                return self.value(value.fn)  # known while compiling as it is
            return ("a", self.function(value.fn, "constexpr_function"), value.fn.__name__)
        if isinstance(inner, JITFunction) or isinstance(getattr(value, "fn", None), JITFunction):
            return self.value(inner or value.fn)
        if isinstance(value, types.ModuleType):
            return self.module(value, ())
        if isinstance(value, functools.partial):
            return ("a", "functools", "partial")
        if isinstance(value, types.FunctionType):
            native = native_name(value.__module__ or "")
            if native:
                inner = native.startswith("triton") and not native.startswith("triton.language")
                return ("a", "triton" if inner else native, value.__name__)
            if value.__name__ != "<lambda>":
                return ("a", self.function(value, ""), value.__name__)
        if isinstance(value, types.BuiltinFunctionType):
            return ("a", value.__module__ or "builtins", value.__name__)
        if isinstance(value, type):
            native = native_name(value.__module__)
            if native and native != "builtins":
                return ("a", "triton.language" if native.startswith("triton") else native, value.__name__)
            if native:
                return ("a", "builtins", value.__name__)
            return self.type(value)
        if isinstance(value, (tuple, list)):
            fields = tuple(value._fields) if hasattr(value, "_fields") else None
            elements = tuple(self.value(item) for item in value)
            return ("t", elements, fields)
        if type(value).__module__ == "torch" and type(value).__name__ == "dtype":
            return ("a", "torch", str(value).removeprefix("torch."))
        if isinstance(value, enum.Enum) and value.name in type(value).__members__:
            return self._named(value, f"{type(value).__name__}.{value.name}", {type(value).__name__: self.type(type(value))})
        if _is_dataclass(value) and "__init__" not in _written(type(value)):
            fields = _fields(value)
            return self._named(value, f"{type(value).__name__}({', '.join(f'{name}=_{name}' for name in fields)})",
                               {type(value).__name__: self.type(type(value)), **{f"_{name}": self.value(getattr(value, name)) for name in fields}})
        if isinstance(value, (dict, set, frozenset)):
            return self._collection(value, "")
        return ("a", type(value).__module__, type(value).__name__)

    def _named(self, value, text, names):
        """An object, by an expression of what `names` holds."""
        key = ("object", id(value), text)
        if key not in self.known:
            unit = self._open(key, f"{type(value).__module__}.{type(value).__name__}.object", f"NAMED = {text}\n")
            unit.globals.update(names)
        return ("a", self.known[key], "NAMED")

    def _collection(self, value, wrapper):
        """A dict or set, by its items."""
        words = {f"_{i}": self.value(one) for i, one in enumerate(value)}
        items = list(words)
        if isinstance(value, dict):
            found = {f"_{name}": self.value(one) for name, one in zip(words, value.values())}
            items = [f"{name}: _{name}" for name in words]
            words |= found
        text = f"{{{', '.join(items)}}}" if items or isinstance(value, dict) else "set()"
        return self._named(value, f"{wrapper}({text})", {"tl": ("m", "triton.language"), **words})


def _is_made(member):
    """Whether `dataclass` has made a method, from a string."""
    code = getattr(inspect.unwrap(member) if isinstance(member, types.FunctionType) else None, "__code__", None)
    return code is not None and code.co_filename == "<string>"


def _written(cls):
    """Names of the functions that the text of a class and its bases defines."""
    return {name for one in cls.__mro__[:-1] for name, member in vars(one).items()
            if isinstance(member, types.FunctionType) and not _is_made(member)}


def _spelled(value):
    """A type as a program writes it."""
    if isinstance(value, core.pointer_type):
        return f"tl.pointer_type({_spelled(value.element_ty)}, {value.address_space}, {value.const})"
    if isinstance(value, core.block_type):
        return f"tl.block_type({_spelled(value.element_ty)}, {list(value.shape)})"
    return f"tl.dtype({value.name!r})"


def digest(closure):
    """A hash of all units, of what a function means, when they are complete."""
    if closure.digest is None:
        closure.digest = hashlib.sha256(repr(closure.plain()).encode()).hexdigest()
    return closure.digest


def prefix(closure):
    """What the names of its units begin with in the program of another kernel."""
    return "u" + digest(closure)[:16] + "_"


def key(closure, unit, name):
    """The constant that stands for `name` of one of its units as an argument."""
    return f"{prefix(closure)}{unit}.{name}@{digest(closure)[:16]}"


def is_described(value):
    """Whether an argument stands for its source: a member of an enumeration, a dataclass, a function that runs while compiling."""
    from .jit import ConstexprFunction

    if isinstance(value, enum.Enum):
        return not isinstance(value, (int, float, str))
    return isinstance(value, (ConstexprFunction, types.FunctionType)) or (
        _is_dataclass(value) and not hasattr(value, "data_ptr") and not hasattr(value, "block_shape"))


def _is_dataclass(value):
    return hasattr(type(value), "__dataclass_fields__")


def _fields(value):
    """Names of what a dataclass's `__init__` takes."""
    return [name for name, one in value.__dataclass_fields__.items() if one.init and one._field_type.name == "_FIELD"]


_described = {}


def described(value):
    """The closure of such an argument, with its `key`; None for any other value."""
    if not is_described(value):
        return None
    identity = _identity(value)
    if identity is None or identity not in _described:
        closure = Closure()
        found = closure.value(value)
        if found[0] != "a" or found[1] not in closure.used_names:
            return None
        closure.key = key(closure, *found[1:])
        if identity is None:
            return closure
        _described[identity] = closure
    return _described[identity]


def _identity(value):
    """What tells a value from others, types included; None if that is not known."""
    if _is_dataclass(value):
        parts = tuple(_identity(getattr(value, name)) for name in _fields(value))
    elif isinstance(value, tuple):
        parts = tuple(map(_identity, value))
    elif value is None or isinstance(value, (bool, int, float, str, enum.Enum, core.dtype, types.FunctionType, type)):
        return (type(value), repr(value) if isinstance(value, float) else value)
    else:
        return None
    return None if None in parts else (type(value), parts)
