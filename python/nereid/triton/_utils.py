"""Small helpers that programs import."""
from .language.core import constexpr


# By its class: `torch.compile` traces the helpers below with sizes that are symbols, which it can't ask for an attribute.
def _value(x):
    return x.value if isinstance(x, constexpr) else x


def cdiv(x, y):
    """x / y, rounded up."""
    x, y = _value(x), _value(y)
    return (x + y - 1) // y


def next_power_of_2(n):
    """The least power of two that is at least `n`; 0 for 0."""
    n = _value(n)
    return 1 << (n - 1).bit_length() if n > 0 else 0


def must_use_result(x, s=True):
    return x if not isinstance(x, str) else lambda fn: fn


TRITON_MAX_TENSOR_NUMEL = 1048576


def is_power_of_two(x):
    return (x & (x - 1)) == 0


def validate_block_shape(shape):
    """The number of elements of a tile of the language."""
    numel = 1
    for at, size in enumerate(shape):
        if not isinstance(size, int):
            raise TypeError(f"Shape element {at} must have type `constexpr[int]`, got `constexpr[{type(size)}]`")
        if not is_power_of_two(size):
            raise ValueError(f"Shape element {at} must be a power of 2")
        numel *= size
    if numel > TRITON_MAX_TENSOR_NUMEL:
        raise ValueError(f"numel ({numel}) exceeds triton maximum tensor numel ({TRITON_MAX_TENSOR_NUMEL})")
    return numel


def is_namedtuple(kind):
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def is_iterable(x):
    return isinstance(x, (list, tuple))


def get_iterable_path(iterable, path):
    """What nested tuples have at a path of indices."""
    for index in path:
        iterable = iterable[index]
    return iterable


def set_iterable_path(iterable, path, value):
    get_iterable_path(iterable, path[:-1])[path[-1]] = value


def apply_with_path(value, call):
    """`call(path, item)` for each item that is no tuple or list."""

    def walk(path, item):
        if is_iterable(item):
            for index, one in enumerate(item):
                walk((*path, index), one)
        else:
            call(path, item)

    walk((), value)


def find_paths_if(iterable, predicate):
    """The paths of the items for which `predicate(path, item)` holds."""
    found = []
    apply_with_path(iterable, lambda path, item: found.append(path or (0, )) if predicate(path, item) else None)
    return found
