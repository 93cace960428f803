"""Errors of a compilation, as the engine's diagnostics say them."""
import re

from ..errors import TritonError


class CompilationError(TritonError):
    """A kernel that cannot be compiled. `diagnostics` has each (severity, code, message, file, line, column, hint,
    notes)."""

    def __init__(self, src=None, node=None, error_message=None, diagnostics=()):
        super().__init__(src, node, error_message)
        self.src, self.node, self.error_message = src, node, error_message
        self.diagnostics = tuple(diagnostics)
        where = f"at {node.lineno}:{node.col_offset}:\n" if hasattr(node, "lineno") else ""
        self.message = where + (error_message or "")

    def __str__(self):
        return self.message

    def __reduce__(self):
        return type(self), (self.src, self.node, self.error_message, self.diagnostics)


class CompileTimeAssertionFailure(CompilationError):
    """A `tl.static_assert` that does not hold."""


class UnsupportedLanguageConstruct(CompilationError):
    """Something of Python that kernels cannot have."""


class _Place:
    """Stands for the syntax node that Triton's errors carry."""

    def __init__(self, lineno, col_offset):
        self.lineno, self.col_offset = lineno, col_offset


# Triton's words for the same mistake, which programs and tests look for in messages: by code, and by what the message
# says where a code stands for several; "" is any code.
_words = [
    ("MixedSignedness", "", "Cannot use the operator because they have different signedness"),
    ("OperandTypes", "", "invalid operands of type"),
    ("LiteralOutOfRange", "", "the scalar is out of range"),
    ("UnsupportedDType", "", "Expected dtype to be another"),
    ("UndefinedName", "", "is not defined"),
    ("GlobalNotConstexpr", "", "Cannot access global variable"),
    ("TileIndex", "", "unsupported tensor index"),
    ("AxisOutOfRange", r"axis (-?\d+) of `(?:program_id|num_programs)`", r"program_id axis must be 0, 1, or 2 but got \1"),
    ("AxisOutOfRange", r"axis (-?\d+) of", r"invalid axis \1"),
    ("WrongArgument", r"`axis` names dimension (\d+) of the result twice",
     r"duplicate axes, normalized axes = [\1, \1]"),
    ("", r"last dimension of a descriptor's block must have at least 16 bytes",
     "Descriptor block shape must have at least 16 bytes in the last dimension"),
    ("DotTooSmall", r"needs at least (\d+)", r"Input shapes should have M >= 1, N >= 1 and K >= \1"),
    ("ConstPointer", "`tl.store`", "Cannot store to a constant pointer"),
    ("BranchMismatch", r"`(\w+)` is .* after the two branches", r"Mismatched type for \1"),
    ("BranchMismatch", "", "Ternary expression with dynamic condition has inconsistent type"),
    ("ReturnMismatch", "", "Return type mismatch: "),
    ("IncompatibleShapes", r"`tl.cat` takes two tiles of one", "tl.cat requires tensors of the same shape"),
]


def _in_tritons_words(code, text):
    for known, pattern, words in _words:
        found = re.search(pattern, text) if known in (code, "") else None
        if found:
            return f"\n(in Triton's words: {found.expand(words)})"
    return ""


def make(what, text, diagnostics):
    """The exception for a failure of the engine."""
    from ..runtime._sources import with_lines
    from ..runtime.errors import InterpreterError, OutOfResources, PTXASError

    error = next((one for one in diagnostics if one[0] == "error"), None)
    if error is None:
        if too_much := re.search(r"needs (\d+) bytes of shared memory; \S+ has (\d+)", what):
            return OutOfResources(int(too_much[1]), int(too_much[2]), "shared memory")
        if too_many := re.search(r"out of resource: threads, Required: (\d+), Hardware limit: (\d+)", what):
            return OutOfResources(int(too_many[1]), int(too_many[2]), "threads")
        if "cannot launch" in what and " shared memory" in what:
            return OutOfResources(0, 0, "shared memory")
        kind = TypeError if "is a value that only a `tl.constexpr`" in what or "is a tensor, and" in what else (
            OverflowError if "does not fit" in what else RuntimeError)
        return kind(with_lines(text))
    if what.endswith("does what no kernel may"):
        return InterpreterError(text)
    code = error[1]
    kind = {"StaticAssertFailed": CompileTimeAssertionFailure, "StaticAssertionFailed": CompileTimeAssertionFailure,
            "UnsupportedSyntax": UnsupportedLanguageConstruct}.get(code, CompilationError)
    if code in ("PtxasFailed", ):
        return PTXASError(text)
    text = with_lines(text) + _in_tritons_words(code, text)
    exception = kind(None, _Place(error[4], error[5]), text, diagnostics)
    exception.__cause__ = ValueError(text)
    return exception
