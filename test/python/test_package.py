"""The package on arrays of NumPy: launches, options, closures, errors, `import triton`, bad input."""
import contextlib
import io
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
import unittest.mock
import warnings
from typing import NamedTuple

import numpy as np

import nereid
import nereid.triton as triton
import nereid.triton.language as tl
from nereid.triton.language.target_info import cuda_capability_geq, current_target, is_cuda, is_hip

OFFSET = tl.constexpr(3)
KIND = tl.int32
plain = 3


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr = 128):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = o < n
    tl.store(out + o, tl.load(x + o, mask=m) + tl.load(y + o, mask=m), mask=m)


@triton.jit
def scaled(v, by: tl.constexpr = 2):
    return v * by + OFFSET


@triton.constexpr_function
def has_tensor_memory():
    return cuda_capability_geq(10, 0)


@triton.jit
def tell_target(out):
    tl.store(out, current_target().warp_size)
    tl.store(out + 1, 2 if cuda_capability_geq(8) else 1)
    tl.store(out + 2, 2 if has_tensor_memory() else 1)


@triton.constexpr_function
def element_type(of):
    if isinstance(of, tl.tensor_descriptor):
        return of.dtype
    elif isinstance(of, tl.tensor):
        return of.dtype.element_ty
    else:
        raise ValueError("no tensor")


@triton.constexpr_function
def one_more(of):
    return of + 1


@triton.jit
def tell_types(x, block, out, COMPUTE: tl.constexpr):
    IS_HALF: tl.constexpr = element_type(x) == tl.float16
    IS_FLOAT: tl.constexpr = element_type(block) == tl.float32
    tl.store(out, 1 if IS_HALF else 2)
    tl.store(out + 1, 1 if IS_FLOAT else 2)
    if COMPUTE:
        tl.store(out, one_more(tl.load(x)))


@triton.jit
def apply(x, f: tl.constexpr, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    tl.store(x + o, f(tl.load(x + o)))


@triton.jit
def doubled(v):
    return v + v


@triton.jit
def ways(x, out, WAY: tl.constexpr):
    i = tl.arange(0, 16)
    value = tl.load(x + i) + tl.load(out + i)
    if WAY == 0:
        value += 1
    if WAY == 5:
        value += 1e-4
    if WAY != 9:
        tl.store(out + i, value)


@triton.jit
def atomic_ways(x, out, WAY: tl.constexpr):
    i = tl.arange(0, 16)
    tl.atomic_add(out + i, tl.load(x + i) + (WAY == 0))


class Methods:
    @staticmethod
    @triton.jit
    def fill(x, value, BLOCK: tl.constexpr):
        tl.store(x + tl.arange(0, BLOCK), value)


def make_filler(value):
    @triton.jit
    def fill(x, BLOCK: tl.constexpr):
        tl.store(x + tl.arange(0, BLOCK), value)

    return fill


@triton.jit
def copy_block(source, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK
    tl.store(out + at + tl.arange(0, BLOCK), source.load([at]))


@triton.jit
def by_tuple(x, pair, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), pair[0] * 10 + pair[1])


class Point(NamedTuple):
    x: tl.constexpr
    y: int = 7


@triton.jit
def by_named_tuple(out, n, BLOCK: tl.constexpr):
    other = Point(y=n, x=4)
    tl.store(out + tl.arange(0, BLOCK), other.x * 10 + other.y + Point(1).y)


@triton.jit
def of_point(out, point, BLOCK: tl.constexpr):
    tl.store(out + tl.arange(0, BLOCK), point.x * 10 + point.y)


@triton.jit
def mixed_tuple(out, values, BLOCK):
    size: tl.constexpr = values[1][0]
    tl.static_assert(size == 16)
    tl.static_assert(BLOCK == 16)
    tl.store(out + tl.arange(0, size), values[0])


@triton.jit
def writes_const(x: tl.const):
    tl.store(x, 1.0)


@triton.aggregate
class Extent:
    rows: tl.constexpr
    columns: tl.constexpr = 4


@triton.jit
def no_such_name(x):
    tl.store(x, nothing_of_that_name)


@triton.jit
def reads_plain(x):
    tl.store(x, plain)


class memoryview_like:
    """Only `__array_interface__`."""

    def __init__(self, array):
        self.array = array
        self.__array_interface__ = array.__array_interface__


def program(text, *arguments, module=(), **environment):
    """Runs a file by `python -m nereid`; gives its output."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "program.py"
        path.write_text(textwrap.dedent(text))
        done = subprocess.run([sys.executable, "-m", "nereid", str(path), *arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=300, cwd=folder,
                              env={**os.environ, **environment})
    return done.returncode, done.stdout


@triton.jit
def squared_less(x, out, less, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i)
    tl.store(out + i, value * value - less)


NUMBERS, HALVES = tl.pointer_type(tl.float32), tl.pointer_type(tl.float16)


@triton.jit
def through_a_named_type(address, out):
    tl.static_assert(address.to(HALVES).dtype.element_ty == tl.float16)
    tl.store(out, tl.load(address.to(NUMBERS)) + 1)


class Launches(unittest.TestCase):
    def setUp(self):
        self.x = np.arange(1000, dtype="f4")
        self.y = np.ones(1000, "f4")
        self.out = np.zeros(1000, "f4")

    def test_grids(self):
        for grid in ((8, ), (8, 1), (8, 1, 1), lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]), ), [8],
                     (np.int64(8), )):
            self.out[:] = 0
            add[grid](self.x, self.y, self.out, 1000)
            np.testing.assert_array_equal(self.out, self.x + 1)

    def test_an_empty_grid_runs_nothing(self):
        add[(0, )](self.x, self.y, self.out, 1000)
        self.assertEqual(self.out.sum(), 0)

    def test_keywords_and_options(self):
        add[(4, )](out=self.out, y=self.y, x=self.x, n=1000, BLOCK=256, num_warps=8, num_stages=2, num_cpu_threads=0)
        np.testing.assert_array_equal(self.out, self.x + 1)

    def test_classes_of_a_number(self):
        for n in (1, 16, 17, 1000, 2**31):
            self.out[:] = 0
            add[(8, )](self.x[:1000], self.y, self.out, min(n, 1000))
            self.assertEqual(np.count_nonzero(self.out), min(n, 1000))

    def test_element_types(self):
        for name in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"):
            x = np.arange(1, 101).astype(name)
            out = np.zeros(100, name)
            add[(1, )](x, x, out, 100)
            np.testing.assert_array_equal(out, x + x)

    def test_annotations_that_a_program_sets(self):
        def kernel(out, value, n=3, *, BLOCK, kept: int = 3):
            tl.static_assert(value.dtype == tl.float16)
            tl.static_assert(n.dtype == tl.int64)
            tl.static_assert(value.type != tl.constexpr_type(3) and (3).type == tl.constexpr_type(4))
            tl.store(out + tl.arange(0, BLOCK), value + n, cache_modifier=".cs")
            tl.store(out + tl.load(out, cache_modifier=".cs").to(tl.int32), kept)

        kernel.__annotations__ = {"value": tl.float16, "n": "tl.int64", "BLOCK": tl.constexpr, "out": object, "kept": int}
        out = np.zeros(16, "f4")
        triton.jit(kernel)[(1, )](out, 0.1, 4, BLOCK=16)
        np.testing.assert_array_equal(out[:4], np.float16(0.1) + np.float16(4))
        self.assertEqual(out[4], 3)

    def test_functions_of_constants_ask_tiles_for_their_types(self):
        block = triton.tools.tensor_descriptor.TensorDescriptor.from_tensor(np.zeros((16, 16), "f4"), [16, 16])
        for kind, answer in (("f2", 1), ("f4", 2)):
            out = np.zeros(2, "i4")
            tell_types[(1, )](np.zeros(1, kind), block, out, False)
            self.assertEqual(out.tolist(), [answer, 1])
        with self.assertRaisesRegex(triton.CompilationError, "the result of `one_more` is a run-time value"):
            tell_types[(1, )](np.zeros(1, "f2"), block, out, True)

    def test_more_registers_than_a_thread_can_have_are_no_limit(self):
        x, out = np.ones(100, "f4"), np.zeros(100, "f4")
        add[(1, )](x, x, out, 100, maxnreg=256)
        self.assertTrue((out == 2).all())

    def test_where_a_function_stands(self):
        self.assertEqual(add.raw_src[0], "@triton.jit\n")
        self.assertEqual(add.def_file_line_number, add.starting_line_number + 1)
        self.assertEqual((os.path.basename(add.file_name), add.def_file_col_number), ("test_package.py", 1))

    def test_questions_about_the_target(self):
        out = np.zeros(3, "i4")
        tell_target[(1, )](out)
        target = triton.runtime.driver.active.get_current_target()
        self.assertEqual(current_target(), target)
        if target.backend == "cuda":
            self.assertEqual(out[:2].tolist(), [target.warp_size, 1 + cuda_capability_geq(8)])
        self.assertEqual(out[2], 1 + has_tensor_memory())
        self.assertEqual(is_cuda(), target.backend == "cuda")
        self.assertFalse(is_hip())

    def test_helpers_and_functions_as_arguments(self):
        for f, want in ((scaled, 2 * self.x[:16] + 3), (doubled, 2 * self.x[:16])):
            x = self.x[:16].copy()
            apply[(1, )](x, f, 16)
            np.testing.assert_array_equal(x, want)

    def test_closures_keep_their_own_values(self):
        for value in (5, 7):
            make_filler(tl.constexpr(value))[(1, )](self.out, 16)
            np.testing.assert_array_equal(self.out[:16], value)

    def test_kernels_in_classes(self):
        Methods.fill[(1, )](self.out, 4.0, 16)
        np.testing.assert_array_equal(self.out[:17], [4.0] * 16 + [0])

    def test_tuples(self):
        by_tuple[(1, )](self.out, (4, 2), 16)
        np.testing.assert_array_equal(self.out[:16], 42)

    def test_named_tuples(self):
        by_named_tuple[(1, )](self.out, 2, 16)
        np.testing.assert_array_equal(self.out[:16], 49)

        of_point[(1, )](self.out, Point(4, 2), 16)
        np.testing.assert_array_equal(self.out[:16], 42)
        of_point[(1, )](self.out, Point(tl.constexpr(5), 3), 16)
        np.testing.assert_array_equal(self.out[:16], 53)

    def test_constants_in_tuples(self):
        mixed_tuple[(1, )](self.out, (7.0, (tl.constexpr(16), )), tl.constexpr(16))
        np.testing.assert_array_equal(self.out[:17], [7] * 16 + [0])
        with self.assertRaisesRegex(triton.CompilationError, "static_assert"):
            mixed_tuple[(1, )](self.out, (7.0, (tl.constexpr(8), )), tl.constexpr(16))

    def test_aggregates_on_the_host(self):
        extent = Extent(3)
        self.assertEqual((extent.rows.value, extent.columns.value), (3, 4))
        self.assertEqual(tl.aggregate_replace(extent, rows=5).rows.value, 5)
        with self.assertRaisesRegex(AttributeError, "cannot assign to field 'rows'"):
            extent.rows = 1
        with self.assertRaises(TypeError):
            Extent(1, 2, 3)
        with self.assertRaisesRegex(TypeError, "no field 'depth'"):
            tl.aggregate_replace(extent, depth=1)

    def test_hooks_of_a_compilation(self):
        @triton.jit
        def fill(x, value, BLOCK: tl.constexpr):
            tl.store(x + tl.arange(0, BLOCK), value)

        before, after = [], []
        runtime = triton.knobs.runtime
        with runtime.scope():
            runtime.jit_cache_hook = lambda **told: before.append(told)
            runtime.jit_post_compile_hook = lambda **told: after.append(told)
            for value in (3, 5, 16, 32, 1):
                fill[(1, )](self.out, value, 16, num_warps=2)
                self.assertEqual(self.out[15], value)
            self.assertEqual((len(before), len(after)), (3, 3))  # of 16, of nothing, of 1
            told = before[0]
            self.assertEqual(told["compile"]["num_warps"], 2)
            self.assertEqual(told["compile"]["signature"], {"x": "*fp32", "value": "i32", "BLOCK": "constexpr"})
            self.assertIn("fill[num_warps=2", told["repr"])
            self.assertIs(told["fn"].jit_function, fill)
            self.assertEqual(told["compile"]["specialization_data"], after[0]["compile"]["specialization_data"])
            runtime.jit_cache_hook = lambda **told: True  # wants no compilation
            self.out[:] = 0
            self.assertIsNone(fill[(1, )](self.out, 3, 32))
            self.assertEqual(self.out.sum(), 0)
        # With a GPU, looking at the caches of its device makes one there too.
        kernels = max((one[0] for one in fill.device_caches.values()), key=len)
        self.assertEqual(len(kernels), 3)
        again = fill.preload(told["compile"]["specialization_data"])
        self.assertEqual(again.hash, fill.warmup(self.out, 3, 16, num_warps=2, grid=(1, )).hash)
        with self.assertRaisesRegex(RuntimeError, "Specialization data is for"):
            add.preload(told["compile"]["specialization_data"])

    def test_a_name_by_the_arguments(self):
        @triton.jit(repr=lambda one: f"fill_{one.signature['value']}_{one.constants['BLOCK']}")
        def fill(x, value, BLOCK: tl.constexpr):
            tl.store(x + tl.arange(0, BLOCK), value)

        self.assertEqual(fill[(1, )](self.out, 2.5, 16).name, "fill_fp32_16")
        self.assertEqual(fill[(1, )](self.out, 2**40, 32).name, "fill_i64_32")

    def test_compiled_for_a_gpu_that_is_not_here(self):
        source = triton.compiler.ASTSource(add, {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}, {"BLOCK": 128})
        target = triton.backends.compiler.GPUTarget("cuda", 80, 32)
        if not subprocess.run(["sh", "-c", "command -v ptxas || test -x /usr/local/cuda/bin/ptxas"],
                              stdout=subprocess.DEVNULL).returncode:
            kernel = triton.compile(source, target=target, options={"num_warps": 8})
            self.assertIn(".target sm_80", kernel.asm["ptx"])
            self.assertEqual((kernel.metadata.num_warps, kernel.metadata.target.arch), (8, 80))
            self.assertGreater(kernel.n_regs, 0)
            with tempfile.TemporaryDirectory() as folder:
                disassembler = pathlib.Path(folder) / "nvdisasm"
                disassembler.write_text("#!/bin/sh\nwc -c < $1\n")
                disassembler.chmod(0o755)
                with unittest.mock.patch.dict(os.environ, {"TRITON_NVDISASM_PATH": str(disassembler)}):
                    self.assertEqual(int(kernel.asm["sass"]), len(kernel.asm["cubin"]))

    def test_compiled_with_a_descriptor_for_a_gpu_that_is_not_here(self):
        @triton.jit
        def rows(source, out, BLOCK: tl.constexpr):
            at = tl.arange(0, BLOCK)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
            tl.store(out + at, source.load([0, 0]))

        target = triton.backends.compiler.GPUTarget("cuda", 90, 32)
        source = triton.compiler.ASTSource(rows, {"source": "tensordesc<fp16[64, 64]>", "out": "*fp16", "BLOCK": "constexpr"}, {"BLOCK": 64})
        self.assertIn(".target sm_90a", triton.compile(source, target=target).asm["ptx"])
        wrong = triton.compiler.ASTSource(rows, {"source": "tensordesc<fp16>", "out": "*fp16"}, {"BLOCK": 64})
        with self.assertRaisesRegex(ValueError, "type of `source` is not of the form"):
            triton.compile(wrong, target=target)

    def test_a_kernel_holds_no_tensor_of_a_descriptor(self):
        x, out = np.arange(16, dtype="f4"), np.zeros(16, "f4")
        held = sys.getrefcount(x)
        kernel = copy_block[(1, )](triton.tools.tensor_descriptor.TensorDescriptor(x, [16], [1], [16]), out, 16)
        self.assertIn("tile", kernel.asm["ttir"])
        np.testing.assert_array_equal(out, x)
        self.assertEqual(sys.getrefcount(x), held)

    def test_functions_of_the_language_known_while_compiling(self):
        integer = triton.constexpr_function(tl.core.get_int_dtype)
        logarithm = triton.constexpr_function(math.log2)

        @triton.jit
        def bits(x, out):
            kind: tl.constexpr = integer(bitwidth=x.dtype.element_ty.primitive_bitwidth, signed=True)
            tl.store(out, tl.load(x).to(kind, bitcast=True) + int(logarithm(8)))

        out = np.zeros(1, "i4")
        bits[(1, )](np.full(1, 1.0, "f4"), out)
        self.assertEqual(out[0], 0x3F800003)

    def test_options_that_change_nothing_are_told_once(self):
        @triton.jit
        def told(x, BLOCK: tl.constexpr):
            tl.static_print("a block of", BLOCK)
            tl.store(x + tl.arange(0, BLOCK), 0.0)

        line = told.fn.__code__.co_firstlineno + 1
        source = triton.compiler.ASTSource(told, {"x": "*fp32", "BLOCK": "constexpr"}, {"BLOCK": 128})
        target = triton.backends.compiler.GPUTarget("cuda", 90, 32)
        printed = io.StringIO()
        with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(printed):
            warnings.simplefilter("always")
            for warps in (4, 8):
                kernel = triton.compile(source, target=target, options={
                    "num_ctas": 2, "num_warps": warps, "launch_pdl": True, "launch_cooperative_grid": True})
        told = [(str(one.message).split(":")[0], one.lineno) for one in caught]
        self.assertEqual(told, [("`num_ctas=2` changes nothing", line), ("`launch_pdl` changes nothing", line)])
        self.assertIn(pathlib.Path(__file__).name, caught[0].filename)
        self.assertEqual(printed.getvalue(), "a block of 128\n")
        self.assertEqual((kernel.metadata.launch_pdl, kernel.metadata.launch_cooperative_grid), (True, True))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(2):
                add[(8, )](self.x, self.y, self.out, 1000, sanitize_overflow=True, ir_override=None, waves_per_eu=2)
        self.assertEqual([str(one.message) for one in caught], ["`sanitize_overflow` changes nothing"])

    def test_what_a_launch_gives(self):
        kernel = add[(8, )](self.x, self.y, self.out, 1000)
        self.assertEqual(kernel.n_regs, 32)
        self.assertEqual(kernel.n_spills, 0)
        self.assertGreaterEqual(kernel.metadata.shared, 1)
        self.assertIn("object", kernel.asm)
        self.assertIs(kernel, add[(8, )](self.x, self.y, self.out, 1000))

    def test_what_there_is_of_the_code(self):
        kernel = add.warmup(self.x, self.y, self.out, 1000, grid=(8, ))
        for key in ("ttir", "object"):
            self.assertTrue(kernel.asm[key])
        for key in ("ttgir", "llir", "nothing"):
            with self.assertRaisesRegex(KeyError, key):
                kernel.asm[key]

    def test_a_source_is_compiled(self):
        for alignment in ({}, {(0, ): [["tt.divisibility", 16]], (3, ): [["tt.divisibility", 16]]}):
            source = triton.compiler.ASTSource(
                add, {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": 128},
                alignment)
            kernel = triton.compile(source, options={"num_warps": 8, "enable_fp_fusion": True})
            self.assertEqual(kernel.metadata.num_warps, 8)
            self.assertIs(kernel.src, source)
            self.out[:] = 0
            kernel.run(8, 1, 1, 0, kernel.function, kernel.packed_metadata, None, None, None, self.x, self.y, self.out,
                       1000, 128)
            np.testing.assert_array_equal(self.out, self.x + 1)
        with self.assertRaises(TypeError):
            triton.compile("kernel.ttir")

    def test_backends_by_name(self):
        from nereid.triton import backends

        target = triton.runtime.driver.active.get_current_target()
        backend = triton.compiler.make_backend(target)
        self.assertIsInstance(backend, (backends.backends["cpu"].compiler, backends.backends["nvidia"].compiler))
        self.assertEqual(backend.parse_options({"num_warps": 2, "other": 1}).num_warps, 2)
        self.assertTrue(backends.backends["cpu"].driver.is_active())

    def test_products_and_sums_that_are_rounded_apart(self):
        x = np.full(64, 1 + 2.0**-12, "f4")  # the square is halfway between two numbers

        def difference(**options):
            out = np.full(64, 5, "f4")
            squared_less[(1, )](x, out, float(x[0])**2 - 2.0**-24, BLOCK=64, **options)
            return out

        for _ in range(2):
            np.testing.assert_array_equal(difference(enable_fp_fusion=False), 0)
            as_is = difference()[0]
            self.assertIn(as_is, (0, 2.0**-24))
        with triton.knobs.language.scope():
            triton.knobs.language.default_fp_fusion = False
            np.testing.assert_array_equal(difference(), 0)
            self.assertEqual(difference(enable_fp_fusion=True)[0], as_is)
        source = triton.compiler.ASTSource(squared_less, {"x": "*fp32", "out": "*fp32", "less": "fp32", "BLOCK": "constexpr"},
                                           constexprs={"BLOCK": 64})
        target = triton.backends.compiler.GPUTarget("cuda", 90, 32)
        code = [triton.compile(source, target=target, options=options).asm["ptx"]
                for options in ({}, {"enable_fp_fusion": False})]
        self.assertEqual(["fma.rn.f32" in ptx for ptx in code], [True, False])

    def test_warmup_launches_nothing(self):
        kernel = add.warmup(self.x, self.y, self.out, 1000, grid=(8, ))
        self.assertEqual(self.out.sum(), 0)
        self.assertIn("tt", kernel.asm["ttir"] + "tt")
        kernel[(8, )](self.x, self.y, self.out, 1000)
        np.testing.assert_array_equal(self.out, self.x + 1)

    def test_threads(self):
        outs = [np.zeros(1000, "f4") for _ in range(8)]

        def work(out):
            for block in (32, 64, 128):
                add[(32, )](self.x, self.y, out, 1000, BLOCK=block)

        threads = [threading.Thread(target=work, args=(out, )) for out in outs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for out in outs:
            np.testing.assert_array_equal(out, self.x + 1)

    def test_autotune_and_heuristics(self):
        seen = []
        tuned = triton.autotune(
            configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128}, num_warps=8)], key=["n"],
            reset_to_zero=["out"], do_bench=lambda call, quantiles: (seen.append(call()), [len(seen)] * 3)[1])(add)
        tuned[lambda meta: (triton.cdiv(1000, meta["BLOCK"]), )](self.x, self.y, self.out, 1000)
        np.testing.assert_array_equal(self.out, self.x + 1)
        self.assertEqual(len(seen), 2)
        self.assertEqual(tuned.best_config.kwargs, {"BLOCK": 64})
        heuristic = triton.heuristics({"BLOCK": lambda args: triton.next_power_of_2(args["n"])})(add)
        self.out[:] = 0
        heuristic[(1, )](self.x, self.y, self.out, 1000)
        np.testing.assert_array_equal(self.out, self.x + 1)


    def test_arrays_of_the_host_start_no_driver(self):
        @triton.jit
        def fresh(x):
            tl.store(x, 3)

        x = np.zeros(1, "f4")
        with unittest.mock.patch.object(sys.modules["nereid.triton.runtime.driver"], "_gpu_count",
                                        side_effect=AssertionError("looks for GPUs")):
            fresh[(1, )](x)
        self.assertEqual(x[0], 3)

    def test_a_launch_that_is_not_the_first_prepares_nothing(self):
        x = np.zeros(128, "f4")
        tuned = triton.autotune([triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 32})], key=["n"], warmup=1, rep=1)(add)
        one = triton.heuristics({"BLOCK": lambda arguments: 16})(add)
        compiled = add[(1, )](x, x, x, 1, BLOCK=16)
        launches = [lambda: tuned[(1, )](x, x, x, 1), lambda: one[(1, )](x, x, x, 1), lambda: compiled[(1, )](x, x, x, 1, 16),
                    lambda: compiled.run(1, 1, 1, 0, None, None, None, None, None, x, x, x, 1, 16)]
        for launch in launches:
            launch()
        with unittest.mock.patch.object(triton.JITFunction, "_refresh", side_effect=AssertionError("prepares again")):
            for launch in launches:
                launch()

    def test_pruned_configurations(self):
        measured, told = [], []

        def measure(call, quantiles):
            call()
            measured.append(True)
            return [float(len(measured))] * 3

        def tuned(**prune):
            return triton.autotune(configs=[triton.Config({"BLOCK": block}) for block in (16, 32, 64, 128)], key=["n"],
                                   prune_configs_by=prune, do_bench=measure)(add)

        grid = lambda meta: (triton.cdiv(1000, meta["BLOCK"]), )
        with triton.knobs.autotuning.scope():
            triton.knobs.autotuning.listener = lambda **what: told.append(what)
            one = tuned(early_config_prune=lambda configs, arguments, **words: configs[2:3])
            one[grid](self.x, self.y, self.out, 1000)
            self.assertEqual((one.best_config.kwargs, measured, told), ({"BLOCK": 64}, [], []))
            half = tuned(perf_model=lambda BLOCK, **words: -BLOCK, top_k=0.5)
            half[grid](self.x, self.y, self.out, 1000)
            self.assertEqual((half.best_config.kwargs, len(measured)), ({"BLOCK": 128}, 2))
            self.assertEqual((len(told), told[0]["cache_hit"], len(told[0]["configs_timings"])), (1, False, 2))
            with self.assertRaisesRegex(triton.TritonError, "Autotuner error: No valid autotuner configs"):
                tuned(early_config_prune=lambda configs, arguments, **words: [])[grid](self.x, self.y, self.out, 1000)
            with self.assertRaisesRegex(ValueError, "Conflicting meta-parameters: BLOCK"):
                half[grid](self.x, self.y, self.out, 1000, BLOCK=32)

    def test_configurations_are_compiled_before_any_is_measured(self):
        # Their hooks change one descriptor, so each is compiled for a copy of its own.
        calls = []
        run = copy_block.run

        def watched(*arguments, warmup, **words):
            calls.append("compile" if warmup else "launch")
            return run(*arguments, warmup=warmup, **words)

        def hook(arguments):
            arguments["source"].block_shape = [arguments["BLOCK"]]

        def measure(call, quantiles):
            call()
            return [0.0] * 3

        tuned = triton.autotune(configs=[triton.Config({"BLOCK": block}, pre_hook=hook) for block in (16, 32, 64)],
                                key=[], do_bench=measure)(copy_block)
        x = np.arange(64, dtype="f4")
        out = np.zeros(64, "f4")
        source = triton.tools.tensor_descriptor.TensorDescriptor.from_tensor(x, [1])
        copy_block.run = watched
        try:
            tuned[lambda meta: (64 // meta["BLOCK"], )](source, out)
        finally:
            del copy_block.run
        np.testing.assert_array_equal(out, x)
        self.assertEqual(calls, ["compile"] * 3 + ["launch"] * 4)
        # Blocks of other elements are measured anew.
        other = triton.tools.tensor_descriptor.TensorDescriptor.from_tensor(x.astype("f2"), [1])
        for one in (source, other):
            tuned[lambda meta: (64 // meta["BLOCK"], )](one, out)
        np.testing.assert_array_equal(out, x)
        self.assertEqual(len(tuned.cache), 2)

    def _tune(self, kernel, values, configs=None, **words):
        """The tuner after one launch on `values` and the warnings; each configuration is a WAY, the first the fastest."""
        timings = iter(range(100))
        tuned = triton.autotune(configs or [triton.Config({"WAY": way}) for way in range(4)], key=[], do_bench=lambda call, quantiles:
                                (call(), call(), [float(next(timings))] * 3)[2], **words)(kernel)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            tuned[(1, )](*values)
        return tuned, [str(one.message) for one in told]

    def test_a_wrong_configuration_is_not_chosen(self):
        # The fastest writes something else, the second adds to what is there, as the others do: all see the same contents.
        x, out = np.arange(16, dtype="f4"), np.ones(16, "f4")
        tuned, told = self._tune(ways, (x, out))
        self.assertEqual(tuned.best_config.kwargs, {"WAY": 1})
        self.assertEqual(len(told), 1, told)
        self.assertRegex(told[0], r"autotune of `ways`: the configuration \(WAY: 0, .*\) gives other results than 3 others of 4 and is not taken")
        self.assertEqual(tuned.configs_timings[triton.Config({"WAY": 0})], [float("inf")] * 3)
        # A fifth that writes nothing at all, and comes first.
        tuned, told = self._tune(ways, (x, out), [triton.Config({"WAY": way}) for way in (9, 1, 2, 3)])
        self.assertEqual((tuned.best_config.kwargs, len(told)), ({"WAY": 1}, 1))
        # Hooks of the tuner see each launch as without the comparison.
        tuned, told = self._tune(ways, (x, out), reset_to_zero=["out"])
        np.testing.assert_array_equal(out, x)
        self.assertEqual((tuned.best_config.kwargs, len(told)), ({"WAY": 1}, 1))

    def test_results_are_compared_only_where_that_is_sound(self):
        x, out = np.arange(16, dtype="f4"), np.ones(16, "f4")
        rounded = [triton.Config({"WAY": way}) for way in (5, 1, 2, 3)]  # 1e-4 off
        one_of_two = [triton.Config({"WAY": way}) for way in (0, 1)]
        for kernel, values, configs, first in ((ways, (x, out), rounded, 5), (ways, (x, out), one_of_two, 0),
                                               (ways, (np.zeros(5 << 20, "f4"), out), None, 0), (atomic_ways, (x, out), None, 0)):
            tuned, told = self._tune(kernel, values, configs)
            self.assertEqual((tuned.best_config.kwargs, told), ({"WAY": first}, []))
        with unittest.mock.patch.dict(os.environ, NEREID_AUTOTUNE_CHECK="0"):
            tuned, told = self._tune(ways, (x, out))
        self.assertEqual((tuned.best_config.kwargs, told), ({"WAY": 0}, []))

    def test_a_call_that_does_not_beat_another_is_measured_briefly(self):
        now, calls = [0.0], [0]

        def fn():
            calls[0] += 1
            now[0] += cost

        with unittest.mock.patch.object(triton.testing.time, "perf_counter", lambda: now[0]), unittest.mock.patch.object(triton.testing, "current_device", lambda: -1):
            for cost, least, expected in ((1e-3, float("inf"), 1 + 25 + 100), (1.1e-3, 1.0, 1 + 4 + 90), (1.5e-3, 1.0, 1 + 3 + 16), (3e-3, 1.0, 2)):
                calls[0] = 0
                median = triton.testing._do_bench(fn, 25, 100, quantiles=[0.5], least=least)
                self.assertAlmostEqual(median, cost * 1e3)
                self.assertEqual(calls[0], expected)

    def test_a_slow_configuration_is_measured_briefly(self):
        calls = {16: 0, 128: 0}

        def hook(arguments):
            calls[arguments["BLOCK"]] += 1
            if arguments["BLOCK"] == 16:
                time.sleep(0.02)

        configs = [triton.Config({"BLOCK": block}, pre_hook=hook) for block in (128, 16)]
        tuned = triton.autotune(configs=configs, key=["n"], warmup=20, rep=400)(add)
        with unittest.mock.patch.object(triton.testing, "current_device", lambda: -1):  # a GPU's clock does not see the host sleep
            tuned[lambda meta: (triton.cdiv(1000, meta["BLOCK"]), )](self.x, self.y, self.out, 1000)
        self.assertEqual(tuned.best_config.kwargs, {"BLOCK": 128})
        self.assertEqual(set(tuned.configs_timings), set(configs))
        self.assertLessEqual(calls[16], 2)
        self.assertGreater(calls[128], 2)


class Errors(unittest.TestCase):
    def test_a_diagnostic_has_the_line_of_the_kernel(self):
        with self.assertRaises(triton.CompilationError) as caught:
            no_such_name[(1, )](np.zeros(1, "f4"))
        line = pathlib.Path(__file__).read_text().split("nothing_of_that_name")[0].count("\n") + 1
        self.assertIn(f"test_package.py:{line}:", str(caught.exception))
        self.assertEqual(caught.exception.node.lineno, line)

    def test_constant_pointers_are_not_written(self):
        with self.assertRaisesRegex(triton.CompilationError, "Cannot store to a constant pointer"):
            writes_const[(1, )](np.zeros(1, "f4"))

    def test_dimensions_that_are_named_twice(self):
        @triton.jit
        def twice(x, BLOCK: tl.constexpr):
            tl.expand_dims(tl.arange(0, BLOCK), (0, -3))

        with self.assertRaisesRegex(triton.CompilationError, r"(?s)names dimension 0 of the result twice: \(0, -3\).*"
                                                             r"duplicate axes, normalized axes = \[0, 0\]"):
            twice[(1, )](np.zeros(1, "f4"), 16)

    def test_peak_rates_of_a_cpu(self):
        if triton.runtime.driver.active.get_current_target().backend == "cpu":
            with self.assertRaisesRegex(RuntimeError, "nereid bench"):
                triton.testing.get_dram_gbps()
        with self.assertRaisesRegex(RuntimeError, "nvidia-smi"):
            triton.testing.set_gpu_clock()

    def test_plain_globals_are_refused(self):
        with self.assertRaisesRegex(triton.CompilationError, "GlobalNotConstexpr"):
            reads_plain[(1, )](np.zeros(1, "f4"))

    def test_a_global_that_changes_is_found(self):
        global OFFSET
        x = np.zeros(16, "f4")
        apply[(1, )](x, scaled, 16)

        @triton.jit
        def direct(x, BLOCK: tl.constexpr):
            tl.store(x + tl.arange(0, BLOCK), OFFSET)

        direct[(1, )](x, 16)
        OFFSET = tl.constexpr(4)
        try:
            with self.assertRaisesRegex(RuntimeError, "Global variable OFFSET has changed"):
                direct[(1, )](x, 16)
        finally:
            OFFSET = tl.constexpr(3)
        direct[(1, )](x, 16)

    def test_types_at_module_level(self):
        x, out = np.array([41.5], "f4"), np.zeros(1, "f4")
        through_a_named_type[(1, )](x.ctypes.data, out)
        self.assertEqual(out[0], 42.5)

    def test_a_type_that_changes_is_found(self):
        global KIND

        @triton.jit
        def typed(x, BLOCK: tl.constexpr):
            tl.store(x + tl.arange(0, BLOCK), tl.full((BLOCK, ), 2.7, tl.float32).to(KIND))

        x = np.zeros(16, "f4")
        typed[(1, )](x, 16)
        np.testing.assert_array_equal(x, 2)
        KIND = tl.float32
        try:
            with self.assertRaisesRegex(RuntimeError, "Global variable KIND has changed"):
                typed[(1, )](x, 16)
        finally:
            KIND = tl.int32

    def test_bad_calls(self):
        x = np.zeros(128, "f4")
        for error, arguments, options in (
            (TypeError, (x, x), {}),
            (TypeError, (x, x, x, 1, 128, 5), {}),
            (TypeError, (x, x, x, 1), {"x": x}),
            (KeyError, (x, x, x, 1), {"BLOK": 64}),
            (AssertionError, (x, x, x, 1), {"num_warps": 3}),
            (TypeError, (object(), x, x, 1), {}),
            (TypeError, (x, x, x, 1), {"BLOCK": x}),
            (OverflowError, (x, x, x, 2**70), {}),
            (TypeError, (x.astype("c8"), x, x, 1), {}),
            (TypeError, (x.astype(">f4"), x, x, 1), {}),
            (TypeError, (x, x, x, 1), {"num_warps": "4"}),
            (TypeError, (x, x, x, 1), {"num_stages": 2.5}),
        ):
            with self.assertRaises(error, msg=(arguments, options)):
                add[(1, )](*arguments, **options)
        for grid, said in (((-1, ), "-1"), ((1, 2, 3, 4), "not 4"), ((), "not 0"), ("abc", "axis 0 of the grid is `'a'`"),
                           ((1 << 40, ), "1099511627776"), (None, "not `None`"), ((1.5, ), r"is `1\.5`.*triton\.cdiv"),
                           ((float("inf"), ), "is `inf`"), (lambda meta: None, "not `None`")):
            with self.assertRaisesRegex((ValueError, TypeError), said, msg=grid):
                add[grid](x, x, x, 1)
        add[(1.0, )](x, x, x, 1)
        with self.assertRaises(ZeroDivisionError):
            add[lambda meta: (1 // 0, )](x, x, x, 1)
        with self.assertRaises(RuntimeError):
            add(x, x, x, 1)
        with self.assertRaises(ValueError):
            tl.load(x)

    def test_calls_that_fail_leak_nothing(self):
        x, held = np.zeros(1 << 10, "f4"), object()
        calls = (
            lambda: add[(1, )](x, x),
            lambda: add[(1, )](held, x, x, 1),
            lambda: add[(1, )](x, x, x, (1, held)),
            lambda: add[(1, )](x, x, x, 1, BLOK=64),
            lambda: add[(1.5, )](x, x, x, 1),
            lambda: add[lambda meta: (1 // 0, )](x, x, x, 1),
            lambda: add[(1, )](x, x, x.astype(">f4"), 1),
            lambda: no_such_name[(1, )](x),
            lambda: writes_const[(1, )](x),
            lambda: copy_block[(1, )](triton.tools.tensor_descriptor.TensorDescriptor(x, [16], [1], [16]), held, 16),
        )

        def bytes_held():
            return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        for call in calls:
            def fail(times):
                for _ in range(times):
                    try:
                        call()
                    except Exception:
                        continue
                    self.fail("nothing was raised")

            fail(20)
            before = sys.getrefcount(x), sys.getrefcount(held), bytes_held()
            fail(300)
            self.assertEqual((sys.getrefcount(x), sys.getrefcount(held)), before[:2])
            self.assertLess(bytes_held() - before[2], 4 << 20)

    def test_what_may_not_be_written(self):
        x, out = np.ones(128, "f4"), np.zeros(128, "f4")
        x.flags.writeable = False
        for what in (x, np.frombuffer(bytes(512), "f4"), np.broadcast_to(np.float32(1), (128, ))):
            add[(1, )](what, what, out, 1)
            self.assertEqual(out[0], 2 * what[0])
            with self.assertRaisesRegex(triton.CompilationError, r"(?s)test_package.py:\d+:\d+: error: .*not writeable"):
                add[(1, )](out, out, what, 1)
        add[(1, )](out, out, out, 1)

    def test_functions_that_are_no_kernels(self):
        async def later(x):
            pass

        for wrong in (later, len, dict, add):
            with self.assertRaisesRegex(TypeError, "triton.jit decorates a function"):
                triton.jit(wrong)
        for decorator in (triton.autotune([triton.Config({})], key=[]), triton.heuristics({})):
            with self.assertRaisesRegex(TypeError, "`@triton.jit` goes below it"):
                decorator(later)

        @triton.jit
        def any_number(*pointers):
            pass

        with self.assertRaisesRegex(triton.CompilationError, r"`any_number` .* `\*pointers`"):
            any_number[(1, )](np.zeros(1, "f4"))

    def test_exceptions_in_hooks(self):
        def fails(*args, **kwargs):
            raise KeyError("of the hook")

        x, runtime = np.zeros(128, "f4"), triton.knobs.runtime
        for chain in (runtime.launch_enter_hook, runtime.launch_exit_hook):
            chain.add(fails)
            try:
                with self.assertRaisesRegex(KeyError, "of the hook"):
                    add[(1, )](x, x, x, 1)
            finally:
                chain.remove(fails)
        for name in ("jit_cache_hook", "jit_post_compile_hook", "kernel_load_start_hook", "kernel_load_end_hook"):
            @triton.jit
            def fresh(x):
                tl.store(x, 7)

            setattr(runtime, name, fails)
            try:
                with self.assertRaisesRegex(KeyError, "of the hook"):
                    fresh[(1, )](x)
            finally:
                setattr(runtime, name, None)
            fresh[(1, )](x)
            self.assertEqual(x[0], 7)

    def test_hooks_of_configurations_that_fail(self):
        running, seen, measured = [], [], []

        def before(arguments, reset_only=False):
            if not reset_only:
                running.append(arguments["BLOCK"])

        def after(arguments, exception):
            self.assertEqual(running.pop(), arguments["BLOCK"])
            seen.append((arguments["BLOCK"], type(exception)))

        def bench(call, quantiles):
            call()
            measured.append(call)
            return [float(len(measured))] * 3

        def prefers(arguments):
            if arguments["BLOCK"] == 16:
                raise triton.OutOfResources(1 << 20, 1 << 16, "shared memory")

        @triton.jit
        def filled(x, n, BLOCK: tl.constexpr):
            tl.store(x + tl.arange(0, BLOCK), n)

        def tuned(hook):
            return triton.autotune([triton.Config({"BLOCK": 16}, pre_hook=hook), triton.Config({"BLOCK": 32})], key=["n"],
                                   pre_hook=before, post_hook=after, do_bench=bench)(filled)

        x = np.zeros(32, "f4")
        kernel = tuned(prefers)
        kernel[(1, )](x, 5)
        self.assertEqual(kernel.best_config.kwargs, {"BLOCK": 32})
        self.assertEqual(sorted(timing[0] for timing in kernel.configs_timings.values()), [1.0, float("inf")])
        self.assertEqual((running, seen), ([], [(32, type(None))]))
        np.testing.assert_array_equal(x, 5)
        # What the launch itself raises reaches the hook behind it, and the caller.
        kernel, seen[:] = tuned(None), []
        with unittest.mock.patch.object(filled, "run", side_effect=ValueError("of the launch")):
            with self.assertRaisesRegex(ValueError, "of the launch"):
                kernel[(1, )](x, 6)
        self.assertEqual((running, seen), ([], [(16, ValueError)]))

    def test_threads_that_compile_one_kernel(self):
        @triton.jit
        def fresh(x, n, BLOCK: tl.constexpr):
            tl.store(x + tl.arange(0, BLOCK), n)

        found, start = [], threading.Barrier(8)

        def launch():
            x = np.zeros(64, "f4")
            start.wait()
            found.append((fresh[(1, )](x, 7, BLOCK=64), x.sum()))

        threads = [threading.Thread(target=launch) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([total for _, total in found], [7 * 64] * 8)
        # Threads that come at once may each prepare it; one of what they made is kept.
        later = [fresh[(1, )](np.zeros(64, "f4"), 7, BLOCK=64) for _ in range(3)]
        self.assertTrue(all(kernel is later[0] for kernel in later))
        self.assertIn(id(later[0]), [id(kernel) for kernel, _ in found])

    def test_a_profile(self):
        import nereid.profile
        x, out = np.ones(256, "f4"), np.zeros(256, "f4")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "trace.json"
            with nereid.profile.record(path) as profile:
                with nereid.profile.scope("step"):
                    add[(2, )](x, x, out, 256)
                    add[(2, )](x, x, out, 256)
            launches = [event for event in json.loads(path.read_text())["traceEvents"] if event.get("cat") == "launch"]
            self.assertEqual([event["name"] for event in launches], ["add", "add"])
            with self.assertRaisesRegex(Exception, "cannot write the trace"):
                with nereid.profile.record(pathlib.Path(folder) / "missing" / "trace.json"):
                    pass
        self.assertRegex(profile.table, r"launch +add +cpu +2 ")
        self.assertRegex(profile.table, r"range +step +host +1 ")

    def test_a_trace_of_a_whole_program(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "trace-%p.json"
            code, output = program("""
                import numpy as np, os
                import triton, triton.language as tl

                @triton.jit
                def one(x):
                    tl.store(x, 1.0)

                x = np.zeros(1, "f4")
                one[(1, )](x)
                one[(1, )](x)
                print(os.getpid(), x[0])
            """, NEREID_TRACE=str(path))
            self.assertEqual(code, 0, output)
            process, value = output.split()
            trace = json.loads((pathlib.Path(folder) / f"trace-{process}.json").read_text())
            launches = [event for event in trace["traceEvents"] if event.get("cat") == "launch"]
            self.assertEqual([event["name"] for event in launches], ["one", "one"])

    def test_launches_that_do_not_wait_for_the_compiler(self):
        with tempfile.TemporaryDirectory() as cache:
            code, output = program("""
                import time
                import numpy as np
                import triton, triton.language as tl

                @triton.jit
                def count(x, n, BLOCK: tl.constexpr):
                    i = tl.arange(0, BLOCK)
                    tl.store(x + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)

                x = np.zeros(64, "f4")
                for i in range(200):
                    count[(1, )](x, 48 if i % 2 else 1, 64)
                    time.sleep(0.001)
                print(x[0], x[47], x[48])
            """, NEREID_FREEZE="background", NEREID_CACHE_DIR=cache)
        self.assertEqual((code, output), (0, "200.0 100.0 0.0\n"))
        code, output = program("""
            import numpy as np
            import triton, triton.language as tl

            @triton.jit
            def one(x):
                tl.store(x, 1.0)

            one[(1, )](np.zeros(1, "f4"))
        """, NEREID_FREEZE="never")
        self.assertNotEqual(code, 0)
        self.assertIn('NEREID_FREEZE is "never"; it can be', output)

    def test_zero_sized_and_strided_arrays(self):
        empty = np.zeros(0, "f4")
        add[(1, )](empty, empty, empty, 0)
        wide = np.zeros((4, 8), "f4")
        Methods.fill[(1, )](wide[1], 2.0, 8)
        self.assertEqual(wide.sum(), 16)

    def test_arrays_that_are_no_plain_ones(self):
        x, out = np.arange(256, dtype="f4"), np.zeros(256, "f4")
        add[(2, )](np.ma.masked_array(x, x > 3), memoryview_like(x), out, 256)
        np.testing.assert_array_equal(out, 2 * x)
        strided = np.zeros((16, 2), "f4")[:, 0]
        Methods.fill[(1, )](strided, 1.0, 8)  # as in Triton, a tensor is its address: strides are arguments
        self.assertEqual(strided.sum(), 4)
        for scalar in (np.float32(2.5), np.array(2.5, "f4"), np.float64(2.5)):
            Methods.fill[(1, )](out, scalar, 8)
            np.testing.assert_array_equal(out[:8], 2.5)

    def test_what_a_kernel_prints_and_asserts(self):
        code, output = program("""
            import numpy as np
            import triton
            import triton.language as tl

            @triton.jit
            def kernel(x):
                v = tl.load(x)
                tl.device_print("v", v)
                tl.device_assert(v < 5, "small")

            for value in (3, 7):
                try:
                    kernel[(1,)](np.full(1, value), debug=True)
                except RuntimeError as error:
                    print("caught", error)
            """)
        self.assertEqual(code, 0, output)
        lines = output.splitlines()
        self.assertEqual(lines[:2], ["pid (0, 0, 0) idx () v: 3", "pid (0, 0, 0) idx () v: 7"])
        self.assertIn("program.py:10:", lines[2])
        self.assertIn("small", lines[2])

    def test_fork_after_use(self):
        x, out = np.ones(100000, "f4"), np.zeros(100000, "f4")
        add[(1000, )](x, x, out, 100000)
        child = os.fork()
        if child == 0:
            out[:] = 0
            add[(1000, )](x, x, out, 100000)
            os._exit(0 if (out == 2).all() else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


PROFILED = """
import contextlib, io, time
import numpy as np
import triton
import triton.language as tl
import triton.profiler as proton
import triton.profiler.viewer as viewer

def named(grid, kernel, arguments):
    return {"name": f"{kernel.name}_{arguments['n']}", "flops32": arguments["n"], "bytes": 8 * arguments["n"]}

@triton.jit(launch_metadata=named)
def kernel(x, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + o, tl.load(x + o, mask=o < n) + 1, mask=o < n)

x = np.zeros(4096, "f4")
session = proton.start("profile", hook="triton")
proton.deactivate()
kernel[(32,)](x, 4096, BLOCK=128)
proton.activate(session)
with proton.scope("outer", {"rows": 7}):
    for _ in range(3):
        kernel[(32,)](x, 4096, BLOCK=128)
    with proton.cpu_timed_scope("sleep"):
        time.sleep(0.05)
kernel[(8,)](x, 1024, BLOCK=128)
proton.finalize()
kernel[(32,)](x, 4096, BLOCK=128)
assert not triton.knobs.runtime.launch_enter_hook
tree, metrics = viewer.parse(["time/ms", "count", "gflop32/s", "cpu_time/ms", "rows"], "profile.hatchet")
outer, last = tree.children
assert (outer.name, last.name, last.values["count"]) == ("outer", "kernel_1024", 1)
assert [child.name for child in outer.children] == ["kernel_4096", "sleep"]
launches, sleep = outer.children
assert launches.values["count"] == 3 and launches.values["time/ms"] > 0 and launches.values["gflop32/s"] > 0
assert sleep.values["cpu_time/ms"] >= 50 and outer.values["rows"] == 7
assert outer.values["time/ms"] >= launches.values["time/ms"]
said = io.StringIO()
with contextlib.redirect_stdout(said):
    viewer.print_tree(tree, metrics)
assert "kernel_4096" in said.getvalue() and len(said.getvalue().splitlines()) == 6
for bad in ({"data": "trace"}, {"backend": "instrumentation"}, {"context": "other"}):
    try:
        proton.start("other", **bad)
        raise SystemExit(f"{bad} was taken")
    except ValueError:
        pass
print("passed")
"""

INTERRUPTED = """
import os, signal, sys, threading
import numpy as np
import triton
import triton.language as tl

@triton.jit
def kernel(x, N: tl.constexpr, SEED: tl.constexpr):
    v = tl.load(x + tl.arange(0, 64))
    for i in tl.static_range(N):
        v = tl.exp(v) + tl.sum(v * i) + SEED
    tl.store(x + tl.arange(0, 64), v)

signal.signal(signal.SIGINT, signal.default_int_handler)  # a run in the background ignores it
x = np.zeros(64, "f4")
kernel[(1,)](x, 1, 0)
caught = 0
for seed in range(1, 4):
    timer = threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        kernel[(1,)](x, 60, seed)
        timer.join()
    except KeyboardInterrupt:
        caught += 1
    timer.join()
x[:] = 0
kernel[(1,)](x, 1, 0)
assert (x == 1).all()
print("caught", caught)
"""

FORKS = """
import os, threading, time
import numpy as np
import triton
import triton.language as tl

@triton.jit
def kernel(x, y, SEED: tl.constexpr, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + o, tl.load(x + o) + SEED)

x = np.ones(1 << 12, "f4")

def right(seed):
    y = np.zeros_like(x)
    kernel[(4,)](x, y, seed, BLOCK=1024)
    return (y == 1 + seed).all()

def work(seed, step):
    while not done:
        right(seed)
        seed += step

done, bad = False, 0
assert right(0)
threads = [threading.Thread(target=work, args=(first, step)) for first, step in ((0, 0), (1000, 1), (2000, 1))]
for thread in threads:
    thread.start()
for number in range(24):
    child = os.fork()
    if child == 0:
        os._exit(0 if right(0) and right(100 + number) else 1)
    end = time.monotonic() + 60
    while (status := os.waitpid(child, os.WNOHANG)) == (0, 0):
        if time.monotonic() > end:
            os.kill(child, 9)
            status = os.waitpid(child, 0)
            break
        time.sleep(0.005)
    bad += status[1] != 0
    if bad:
        break
done = True
for thread in threads:
    thread.join()
print("bad", bad)
"""

SHUTDOWN = """
import sys, threading, time
import numpy as np
import triton
import triton.language as tl

@triton.jit
def kernel(x, y, N, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for i in range(N):
        tl.store(y + o, tl.exp(tl.load(x + o)))

x, y = np.ones(1 << 16, "f4"), np.ones(1 << 16, "f4")
kernel[(64,)](x, y, 1, BLOCK=1024)

def work():
    while True:
        kernel[(64,)](x, y, 20, BLOCK=1024)

for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
print("end")
"""

CELLS = """
import linecache
import numpy as np
import triton
import triton.language as tl

names = {"triton": triton, "tl": tl}

def cell(number, text):
    name = f"<cell {number}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec"), names)

HELPER = "@triton.jit\\ndef helper(v):\\n    return v + {}\\n"
KERNEL = "@triton.jit\\ndef kernel(x, N: tl.constexpr):\\n    o = tl.arange(0, N)\\n    tl.store(x + o, helper(tl.load(x + o)))\\n"
x = np.zeros(8, "f4")
cell(1, HELPER.format(1))
cell(2, KERNEL)
names["kernel"][(1,)](x, 8)
cell(3, HELPER.format(10))
cell(4, KERNEL)
names["kernel"][(1,)](x, 8)
assert (x == 11).all(), x
cell(5, KERNEL.replace("helper(", "no_such_helper("))
try:
    names["kernel"][(1,)](x, 8)
except triton.CompilationError as error:
    assert "<cell 5>:4:" in str(error), error
    print("passed")
"""

ADD = """
import sys
import numpy as np
import triton
import triton.language as tl
from triton.language.extra import libdevice

@triton.jit
def kernel(x, n, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    tl.store(x + o, tl.load(x + o, mask=o < n) + 1, mask=o < n + {beyond})

x = np.zeros(10, "f4")
kernel[(1,)](x, 10, 16)
assert (x == 1).all()
print("passed", triton.__name__, sys.argv[1:])
"""


class StandIn(unittest.TestCase):
    def test_a_program_that_imports_triton(self):
        code, output = program(ADD.format(beyond=0), "-v", "word")
        self.assertEqual((code, output), (0, "passed nereid.triton ['-v', 'word']\n"))

    def test_a_module(self):
        done = subprocess.run([sys.executable, "-m", "nereid", "-m", "json.tool", "--help"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_the_interpreter_verifies_accesses(self):
        code, output = program(ADD.format(beyond=0), TRITON_INTERPRET="1")
        self.assertEqual(code, 0, output)
        code, output = program(ADD.format(beyond=4), TRITON_INTERPRET="1")
        self.assertNotEqual(code, 0)
        self.assertIn("program.py:11:", output)

    def test_kernels_made_by_exec(self):
        code, output = program(f"exec({ADD.format(beyond=0)!r})")
        self.assertEqual(code, 0, output)

    def test_the_profiler(self):
        code, output = program(PROFILED)
        self.assertEqual((code, output), (0, "passed\n"))

    def test_an_interrupt_during_a_compilation(self):
        code, output = program(INTERRUPTED)
        self.assertEqual((code, output), (0, "caught 3\n"))

    def test_an_end_with_launches_in_other_threads(self):
        for _ in range(3):
            code, output = program(SHUTDOWN)
            self.assertEqual((code, output), (0, "end\n"))

    def test_forks_while_other_threads_compile(self):
        with tempfile.TemporaryDirectory() as folder:
            code, output = program(FORKS, NEREID_CACHE_DIR=folder, PYTHONWARNINGS="ignore::DeprecationWarning")  # of forks with threads, from Python 3.12 on
        self.assertEqual((code, output), (0, "bad 0\n"))

    def test_kernels_of_notebook_cells(self):
        code, output = program(CELLS)
        self.assertEqual((code, output), (0, "passed\n"))

    def test_a_kernel_without_a_source(self):
        code, output = program("""
            import triton
            code = compile("def kernel(x):\\n    pass\\n", "<nowhere>", "exec")
            names = {}
            exec(code, names)
            try:
                triton.jit(names["kernel"])
            except ValueError as error:
                print(error)
            """)
        self.assertEqual(code, 0, output)
        self.assertIn("register it with `linecache`", output)

    def test_nothing_of_torch_is_needed(self):
        done = subprocess.run([sys.executable, "-c", "import sys, nereid.triton; print('torch' in sys.modules)"],
                              stdout=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(done.stdout, "False\n")

    def test_version(self):
        self.assertRegex(nereid.__version__, r"^\d+\.\d+\.\d+$")


if __name__ == "__main__":
    unittest.main()
