"""Inputs made by formula for recorded launches, and digests of results. Plain Python, no packages:
the recorder and the replay in CI must make the same numbers."""
import math


def extent(fact):
    """Elements of memory that a recorded tensor spans."""
    if 0 in fact["shape"]:
        return 0
    return 1 + sum((n - 1) * s for n, s in zip(fact["shape"], fact["strides"]))


def stream(seed):
    """Uniform numbers in [0, 1): a 64-bit multiplicative congruence, upper bits."""
    state = (seed * 2654435761 + 1442695040888963407) & 0xFFFFFFFFFFFFFFFF
    while True:
        state = (state * 6364136223846793005 + 1442695040888963407) & 0xFFFFFFFFFFFFFFFF
        yield (state >> 40) / (1 << 24)


def makeInput(fact, index):
    """The memory of the tensor at argument `index`: uniform over the range that was recorded.

    Floats are multiples of 2^-10 of the range's width, so that they are exact in f32.
    """
    if "values" in fact:
        return list(fact["values"])
    numbers = stream(index + 1)
    low, high = fact.get("range", [0, 0])
    if fact["dtype"].startswith(("fp", "bf")):
        low, high = max(low, -1e4), min(high, 1e4)
        step = 2.0 ** (math.frexp(high - low)[1] - 10) if high > low else 0.0
        base = math.floor(low * 1024) / 1024
        # Not below a positive low nor above a negative high: logarithms and square roots stay defined.
        base = max(base, 2.0**-12) if low > 0 else base
        return [min(base + step * math.floor(next(numbers) * 1024), high) for _ in range(extent(fact))]
    return [low + math.floor(next(numbers) * (high - low + 1)) for _ in range(extent(fact))]


def digest(values):
    """Sum, sum of magnitudes, a weighted sum that sees the order, count of non-finite values, and samples."""
    finite = [(i, v) for i, v in enumerate(values) if math.isfinite(v)]
    count = len(values)
    places = sorted({0, count // 3, count // 2, count - 1})
    return {
        "sum": math.fsum(v for _, v in finite),
        "magnitude": math.fsum(abs(v) for _, v in finite),
        "ordered": math.fsum(v * ((i * 37 % 101) / 101 - 0.5) for i, v in finite),
        "nonfinite": count - len(finite),
        "samples": [[i, values[i] if math.isfinite(values[i]) else str(values[i])] for i in places],
    }


def differs(got, want, rel, quantum):
    """Why two digests don't agree, or None. `rel` is relative to the sum of magnitudes, `quantum` absolute for an element."""
    if got["nonfinite"] != want["nonfinite"]:
        return f"{got['nonfinite']} values are not finite, expected {want['nonfinite']}"
    count = max(1, len(want["samples"]))
    allowed = rel * want["magnitude"] + quantum
    for field in ("sum", "ordered", "magnitude"):
        if abs(got[field] - want[field]) > allowed:
            return f"{field} is {got[field]:.9g}, expected {want[field]:.9g} within {allowed:.3g}"
    scale = want["magnitude"] / count
    for (i, a), (_, b) in zip(got["samples"], want["samples"]):
        if isinstance(a, str) or isinstance(b, str):
            if a != b:
                return f"element {i} is {a}, expected {b}"
        elif abs(a - b) > 100 * rel * max(abs(b), min(scale, 1.0)) + quantum:
            return f"element {i} is {a:.9g}, expected {b:.9g}"
    return None
