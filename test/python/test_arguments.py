"""Arguments that are no tensors or numbers: functions, members of enumerations, dataclasses. What they mean is in their source."""
import dataclasses
import unittest
from enum import Enum, IntEnum

import numpy as np
import nereid.triton as triton
import nereid.triton.language as tl
import nereid.triton.profiler.language as pl
from nereid.triton.profiler.language import enter_scope


@triton.jit
def square(x):
    return x * x


@triton.jit
def cube(x):
    return x * x * x


@triton.jit
def applies(x, y, FN: tl.constexpr):
    i = tl.arange(0, 4)
    v = tl.load(x + i)
    if FN is not None:
        v = FN(v)
    tl.store(y + i, v)


@triton.jit
def sums(y, *inputs, N: tl.constexpr = 4):
    i = tl.arange(0, N)
    total = tl.zeros([N], tl.float32)
    for x in tl.static_range(len(inputs)):
        total += tl.load(inputs[x] + i)
    tl.store(y + i, total)


@triton.jit
def scaled(y, x, *factors):
    i = tl.arange(0, 4)
    first, *others = factors
    v = tl.load(x + i) * first
    for k in tl.static_range(len(others)):
        v *= others[k]
    tl.store(y + i, v)


class Mode(Enum):
    FIRST = "first"
    SECOND = "second"


class Number(IntEnum):
    ONE = 1
    TWO = 2


SECOND = tl.constexpr(Mode.SECOND)


@triton.jit
def by_mode(y, MODE: tl.constexpr, NUMBER: tl.constexpr):
    tl.store(y, 1 if MODE == SECOND else 0)
    tl.store(y + 1, 1 if MODE is Mode.FIRST else 0)
    tl.store(y + 2, 1 if MODE.value == "second" else 0)
    tl.store(y + 3, NUMBER)


@dataclasses.dataclass(frozen=True)
class Scale:
    by: float
    power: int = 1
    mode: Mode = Mode.FIRST
    shift: int = dataclasses.field(default=0, repr=False)

    def twice(self):
        return 2 * self.by


@triton.jit
def by_scale(x, y, SCALE: tl.constexpr):
    i = tl.arange(0, 4)
    v = tl.load(x + i)
    for _ in tl.static_range(SCALE.power):
        v *= SCALE.by
    if SCALE.mode == SECOND:
        v += SCALE.twice() + SCALE.shift
    tl.store(y + i, v)


@triton.constexpr_function
def doubled(n):
    return 2 * n


@triton.jit
def counts(y, FN: tl.constexpr):
    tl.store(y, FN(21))


TABLE = {1: "one", "two": tl.float32, tl.int32: 3}
KNOWN = tl.constexpr({"by": 5, Mode.FIRST: 7})
NAMES = tl.constexpr(frozenset(("a", "b")))


@triton.constexpr_function
def looked_up(key):
    return TABLE[key]


@triton.jit
def by_tables(y, KEY: tl.constexpr):
    tl.store(y, looked_up(tl.int32))
    tl.store(y + 1, KNOWN["by"])
    tl.store(y + 2, KNOWN[Mode.FIRST])
    tl.store(y + 3, 1 if KEY in NAMES else 0)
    tl.static_assert(looked_up("two") == tl.float32)


@triton.jit
def reads_table(y):
    tl.store(y, TABLE[tl.int32])


@triton.jit
def marked(y, n):
    with pl.scope("outer"):
        enter_scope("inner")
        tl.store(y, n)
        pl.exit_scope("inner")


class Arguments(unittest.TestCase):
    def setUp(self):
        self.x, self.y = np.arange(4, dtype="f4"), np.zeros(4, "f4")

    def test_function_at_a_later_launch(self):
        for function, power in ((None, 1), (square, 2), (cube, 3), (None, 1), (square, 2)):
            applies[(1, )](self.x, self.y, function)
            np.testing.assert_array_equal(self.y, self.x**power)

    def test_enumerations(self):
        by_mode[(1, )](self.y, Mode.FIRST, Number.TWO)
        np.testing.assert_array_equal(self.y, [0, 1, 0, 2])
        by_mode[(1, )](self.y, Mode.SECOND, Number.ONE)
        np.testing.assert_array_equal(self.y, [1, 0, 1, 1])

    def test_dataclass(self):
        for scale, wanted in ((Scale(3.0), self.x * 3), (Scale(3.0, 2), self.x * 9), (Scale(1, 1), self.x),
                              (Scale(1.0, 1, Mode.SECOND), self.x + 2), (Scale(1.0, 1, Mode.SECOND, 5), self.x + 7)):
            by_scale[(1, )](self.x, self.y, scale)
            np.testing.assert_array_equal(self.y, wanted)

    def test_any_number_of_arguments(self):
        x = np.arange(4, dtype="f4")
        for count in (0, 1, 3):
            y = np.full(4, -1, "f4")
            sums[(1, )](y, *[x] * count)
            self.assertEqual(y.tolist(), (x * count).tolist())
        y = np.full(4, -1, "f4")
        sums[(1, )](y, x, x, N=2)
        self.assertEqual(y.tolist(), [0, 2, -1, -1])
        sums[lambda meta: (len(meta["inputs"]), )](y, x, x)
        self.assertEqual(y.tolist(), (2 * x).tolist())
        scaled[(1, )](y, x, 2, 3.5)
        self.assertEqual(y.tolist(), (7 * x).tolist())
        scaled[(1, )](y, x, 2, 3)
        self.assertEqual(y.tolist(), (6 * x).tolist())
        with self.assertRaisesRegex(TypeError, "sums.. missing 1 required positional argument: 'y'"):
            sums[(1, )]()

    def test_more_warps_than_a_gpu_has(self):
        x, y = np.arange(4, dtype="f4"), np.zeros(4, "f4")
        applies[(1, )](x, y, FN=square, num_warps=128)
        self.assertEqual(y.tolist(), (x * x).tolist())

    def test_function_that_runs_while_compiling(self):
        counts[(1, )](self.y, doubled)
        self.assertEqual(self.y[0], 42)

    def test_dicts_and_sets(self):
        by_tables[(1, )](self.y, "b")
        np.testing.assert_array_equal(self.y, [3, 5, 7, 1])
        with self.assertRaisesRegex(triton.CompilationError, "`TABLE` is a global `dict`, and kernels may read only constexpr globals"):
            reads_table[(1, )](self.y)

    def test_marks_of_scopes(self):
        pl.enable_semantic("triton")
        marked[(1, )](self.y, 7)
        self.assertEqual(self.y[0], 7)

    def test_what_has_no_source(self):
        with self.assertRaisesRegex(TypeError, "argument `FN` of `applies`: cannot convert an argument of type builtins.object"):
            applies[(1, )](self.x, self.y, object())

    def test_lists_for_memory(self):
        with self.assertRaisesRegex(triton.CompilationError, "argument `x` of `applies` is a list.*a tensor or an array"):
            applies[(1, )]([1.0, 2.0, 3.0, 4.0], self.y, square)


if __name__ == "__main__":
    unittest.main()
