from ..errors import TritonError


class _Message(TritonError):
    def __init__(self, error_message=None):
        super().__init__(error_message)
        self.error_message = error_message

    def __str__(self):
        return self.error_message or ""


class InterpreterError(_Message):
    """What the interpreter found wrong while a kernel ran."""


class PTXASError(_Message):
    pass


class AutotunerError(_Message):
    def __str__(self):
        return f"Autotuner error: {self.error_message or ''}"


class OutOfResources(TritonError):
    def __init__(self, required, limit, name):
        super().__init__(required, limit, name)
        self.required, self.limit, self.name = required, limit, name

    def __str__(self):
        return (f"out of resource: {self.name}, Required: {self.required}, Hardware limit: {self.limit}. Reducing "
                "block sizes or `num_stages` may help.")


class GridKeyError(KeyError):
    """A function that gives a grid, or a heuristic, asked for a name that is no parameter of the kernel."""

    def __init__(self, key, message):
        super().__init__(key)
        self.message = message

    def __str__(self):
        return self.message


_options = ("num_warps", "num_stages", "num_ctas", "maxnreg", "stream", "grid", "warmup")


class _Asked(dict):
    def __missing__(self, key):
        raise GridKeyError(key, "")


def raise_for_key(function, arguments, failure, whose, what):
    """Raises `failure`, a KeyError of a function of a launch's arguments; one about its argument with the names that there are."""
    import difflib

    try:
        function(_Asked(arguments))
    except GridKeyError as asked:
        key = asked.args[0]
    except Exception:
        raise failure from None
    else:
        raise failure
    there = ", ".join(f"`{name}`" for name in arguments if name not in ("grid", "warmup"))
    said = f"the {whose} asks for {key!r}, and its function is given {what}: {there or 'there are none'}"
    if key in _options:
        said += f"; `{key}` is an option of the launch, not a parameter"
    elif near := difflib.get_close_matches(str(key), map(str, arguments), 1, 0.5):
        said += f"; did you mean `{near[0]}`?"
    raise GridKeyError(key, said).with_traceback(failure.__traceback__) from None


def _raise_for_grid(grid, arguments, failure, kernel):
    raise_for_key(grid, arguments, failure, f"grid of `{kernel}`", "the parameters of the kernel")
