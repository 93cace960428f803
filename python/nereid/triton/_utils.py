"""Small helpers that programs import."""


def _value(x):
    return getattr(x, "value", x)


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
