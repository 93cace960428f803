"""The package on arrays of NumPy: launches, options, closures, errors, bad input."""
import contextlib
import io
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap
import threading
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
        for grid in ((8, ), (8, 1), (8, 1, 1), (8, 1, 1, 1), lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]), ), [8],
                     (np.int64(8), )):
            self.out[:] = 0
            add[grid](self.x, self.y, self.out, 1000)
            np.testing.assert_array_equal(self.out, self.x + 1)

    def test_a_fourth_axis_is_told(self):
        with self.assertRaisesRegex(ValueError, "a grid has 1 to 3 axes, not 4"):
            add[(8, 1, 1, 2)](self.x, self.y, self.out, 1000)

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

    def test_no_stage_is_one(self):
        x, out = np.ones(100, "f4"), np.zeros(100, "f4")
        add[(1, )](x, x, out, 100, num_stages=0)
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

    def test_programs_replace_what_makes_a_kernel(self):
        @triton.jit
        def fill(x, value, BLOCK: tl.constexpr):
            tl.store(x + tl.arange(0, BLOCK), value)

        kernel, own = triton.compiler.CompiledKernel, triton.compiler.CompiledKernel.__init__

        def init(self, src, metadata_group, hash):
            own(self, src, metadata_group, hash)

        with unittest.mock.patch.object(kernel, "__init__", init):
            self.assertIsInstance(fill[(1, )](self.out, 7, 16), kernel)
        self.assertEqual(self.out[15], 7)

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
                disassembler = pathlib.Path(folder) / "cuobjdump"
                disassembler.write_text("#!/bin/sh\n[ $1 = --version ] && echo release 13.0 && exit\necho Function : $(wc -c < $2)\n")
                disassembler.chmod(0o755)
                with unittest.mock.patch.dict(os.environ, {"TRITON_CUOBJDUMP_PATH": str(disassembler)}):
                    self.assertEqual(kernel.asm["sass"], f"Function:{len(kernel.asm['cubin'])}\n")

    def test_compiled_with_a_descriptor_for_a_gpu_that_is_not_here(self):
        @triton.jit
        def rows(source, out, BLOCK: tl.constexpr):
            at = tl.arange(0, BLOCK)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
            tl.store(out + at, source.load([0, 0]))

        target = triton.backends.compiler.GPUTarget("cuda", 90, 32)
        source = triton.compiler.ASTSource(rows, {"source": "tensordesc<fp16[64, 64]>", "out": "*fp16", "BLOCK": "constexpr"}, {"BLOCK": 64})
        self.assertIn(".target sm_90a", triton.compile(source, target=target).asm["ptx"])
        for kind in ("*fp61", "i33"):
            with self.assertRaisesRegex(KeyError, f"unknown type `{kind.strip('*')}` of a signature; there are .*fp64"):
                triton.compile(triton.compiler.ASTSource(rows, {"source": kind, "out": "*fp16"}, {"BLOCK": 64}))
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

    def test_the_least_product_is_the_language_s(self):
        from nereid.triton.backends.nvidia.compiler import min_dot_size

        @triton.jit
        def product(out, K: tl.constexpr, T: tl.constexpr):
            d = tl.dot(tl.full([16, K], 1, T), tl.full([K, 16], 1, T))
            tl.store(out + tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :], d)

        rule = min_dot_size(triton.runtime.driver.active.get_current_target())
        out = np.zeros((16, 16), "f4")
        for kind in (tl.float32, tl.float16, tl.bfloat16, tl.float8e5):
            m, n, k = rule(kind, kind)
            self.assertEqual((m, n), (1, 1))
            product[(1,)](out, K=k, T=kind)
            np.testing.assert_array_equal(out, k)
            with self.assertRaisesRegex(triton.CompilationError, "DotTooSmall"):
                product[(1,)](out, K=k // 2, T=kind)

    def test_warm_ups_on_threads(self):
        from concurrent.futures import ThreadPoolExecutor

        args = (self.x, self.x, self.out, len(self.x))
        with ThreadPoolExecutor(2) as executor, triton.AsyncCompileMode(executor):
            kernels = [add.warmup(*args, BLOCK=block, grid=(1,)) for block in (32, 64)]
        self.assertEqual([one.result().metadata.name for one in kernels], ["add", "add"])
        with self.assertRaises(triton.CompilationError):
            with ThreadPoolExecutor(2) as executor, triton.AsyncCompileMode(executor):
                add.warmup(*args, BLOCK=3, grid=(1,))
        with ThreadPoolExecutor(2) as executor, triton.AsyncCompileMode(executor, ignore_errors=True):
            self.assertIsNone(add.warmup(*args, BLOCK=3, grid=(1,)).result(ignore_errors=True))

    def test_the_class_of_a_launch(self):
        _, known, _, _, bind = add.device_caches[0]
        keys = set()
        for count in (16, 17, 18):
            bound, parts, options = bind(self.x, self.x, self.out, count, BLOCK=64, num_warps=2)
            self.assertEqual((bound["n"], options["num_warps"]), (count, 2))
            keys.add(triton.runtime.jit.compute_cache_key(known, parts, options))
        self.assertEqual(len(keys), 2)  # a multiple of 16, and others

    def test_kernels_in_gluon_are_imported_and_refused(self):
        from nereid.triton.experimental import gluon
        from nereid.triton.experimental.gluon import language as gl

        @gluon.jit
        def other(p, B: gl.constexpr):
            layout = gl.BlockedLayout([1], [32], [4], [0])
            gl.store(p + gl.arange(0, B, layout=layout), 0)

        self.assertTrue(other.is_gluon())
        with self.assertRaisesRegex(triton.compiler.UnsupportedLanguageConstruct, r"other.*test_package.py:\d+.*Gluon"):
            other[(1,)](np.zeros(4, "f4"), 4)
        with self.assertRaisesRegex(AttributeError, "BlockedLayout"):
            gl.BlockedLayout

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

    def test_version(self):
        self.assertRegex(nereid.__version__, r"^\d+\.\d+\.\d+$")


@tl.core.extern
def shifted(x, _semantic=None):
    return tl.core.extern_elementwise("shifts", "", [x], {(tl.float32, ): ("shifted", tl.float32)}, is_pure=True, _semantic=_semantic)


@triton.jit
def shift_all(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, shifted(tl.load(x + i)))


class Libraries(unittest.TestCase):
    """Functions of LLVM bitcode that a launch names."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.x, self.out = np.arange(8, dtype="f4"), np.zeros(8, "f4")

    def library(self, by, name="shifts.ll"):
        path = pathlib.Path(self.folder.name, name)
        path.write_text(f"define float @shifted(float %x) {{\n  %y = fadd float %x, {by:e}\n  ret float %y\n}}\n")
        return path

    def test_a_launch_names_the_file(self):
        shift_all[(1, )](self.x, self.out, N=8, extern_libs={"shifts": self.library(2)})
        self.assertEqual(self.out.tolist(), (self.x + 2).tolist())
        # Another file is another kernel; a name that the call does not say is looked into, too.
        shift_all[(1, )](self.x, self.out, N=8, extern_libs={"other": str(self.library(4, "other.ll"))})
        self.assertEqual(self.out.tolist(), (self.x + 4).tolist())
        # What a launch gives back knows its libraries.
        kernel = shift_all[(1, )](self.x, self.out, N=8, extern_libs={"shifts": self.library(5, "third.ll")})
        self.out[:] = 0
        kernel[(1, )](self.x, self.out, 8)
        self.assertEqual(self.out.tolist(), (self.x + 5).tolist())

    def test_bitcode(self):
        assembler = shutil.which("llvm-as-19") or shutil.which("llvm-as", path="/usr/lib/llvm-19/bin")
        if not assembler:
            self.skipTest("LLVM's assembler is not on this machine")
        bitcode = pathlib.Path(self.folder.name, "shifts.bc")
        subprocess.run([assembler, self.library(8), "-o", bitcode], check=True)
        shift_all[(1, )](self.x, self.out, N=8, extern_libs={"shifts": bitcode})
        self.assertEqual(self.out.tolist(), (self.x + 8).tolist())

    def test_what_a_file_holds_is_part_of_the_key(self):
        # A process of its own each time: within one a kernel that was launched is not looked up again.
        program = pathlib.Path(self.folder.name, "program.py")
        program.write_text(textwrap.dedent("""
            import sys
            import numpy as np
            import nereid.triton as triton, nereid.triton.language as tl

            @tl.core.extern
            def shifted(x, _semantic=None):
                return tl.core.extern_elementwise("", "", [x], {(tl.float32, ): ("shifted", tl.float32)}, is_pure=True, _semantic=_semantic)

            @triton.jit
            def kernel(x):
                tl.store(x, shifted(tl.load(x)))

            x = np.zeros(1, "f4")
            kernel[(1, )](x, extern_libs={"shifts": sys.argv[1]})
            print(x[0])
        """))
        said = []
        for by in (1, 3):
            path = self.library(by)
            done = subprocess.run([sys.executable, program, path], capture_output=True, text=True, check=True,
                                  env={**os.environ, "NEREID_CACHE_DIR": self.folder.name, "NEREID_DEVICE": "cpu"})
            said.append(float(done.stdout))
        self.assertEqual(said, [1, 3])

    def test_what_can_be_wrong(self):
        path = self.library(2)
        for libraries, code in (({}, "UnsupportedOp"), ({"shifts": "nowhere.bc"}, "LibraryUnreadable"),
                                ({"shifts": self.renamed(path)}, "LibraryFunctionMissing")):
            with self.subTest(code), self.assertRaisesRegex(triton.CompilationError, code):
                shift_all[(1, )](self.x, self.out, N=8, extern_libs=libraries)
        with self.assertRaisesRegex(TypeError, "not a dict from names of libraries"):
            shift_all[(1, )](self.x, self.out, N=8, extern_libs="shifts.bc")

    def renamed(self, path):
        other = path.with_name("renamed.ll")
        other.write_text(path.read_text().replace("@shifted", "@moved"))
        return other


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
        for said, arguments, options in (
            ("BLOK was specified but unrecognised: `add` has the parameters `x`, `y`, `out`, `n`, `BLOCK`", (x, x, x, 1), {"BLOK": 64}),
            ("num_warps must be a power of 2, not 3", (x, x, x, 1), {"num_warps": 3}),
            ("argument `n` of `add`: the integer does not fit 64 bits", (x, x, x, 2**70), {}),
            ("argument `y` of `add`: elements of type complex64", (x, x.astype("c8"), x, 1), {}),
        ):
            with self.assertRaisesRegex(Exception, said):
                add[(1, )](*arguments, **options)
        for grid, said in (((-1, ), "-1; it is from 0 to 2147483647"), ((1, 2, 3, 4), "not 4"), ((), "not 0"), ("abc", "axis 0 of the grid is `'a'`"),
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

    def test_messages_show_their_lines(self):
        @triton.jit
        def kernel(x, n):
            tl.store(x, tl.arange(0, n))

        with self.assertRaisesRegex(
                triton.CompilationError, r"(?m)`end` of `tl.arange` must be known while compiling.*\n +\d+ \|             tl.store\(x, "
                r"tl.arange\(0, n\)\)\n +\|                         \^\n   hint: annotate"):
            kernel[(1, )](np.zeros(4, "f4"), 4)
        with self.assertRaisesRegex(RuntimeError, r"launched with a grid, as in `kernel\[grid\]\(...\)`"):
            kernel(np.zeros(4, "f4"), 4)

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
        def any_number(**pointers):
            pass

        with self.assertRaisesRegex(triton.CompilationError, r"`any_number` .* `\*\*pointers`"):
            any_number[(1, )](pointers=np.zeros(1, "f4"))

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

    def test_gpu_facts_from_nvidia_smi(self):
        with tempfile.TemporaryDirectory() as folder:
            tool = pathlib.Path(folder, "nvidia-smi")
            tool.write_text("#!/bin/sh\ncase \"$*\" in *=clocks.max.sm,clocks.max.mem\\ *) echo 1980, 3201;; *) exit 1;; esac\n")
            tool.chmod(0o755)
            with unittest.mock.patch.dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}"):
                self.assertEqual(triton.testing.nvsmi(["clocks.max.sm", "clocks.max.mem"]), [1980, 3201])

    def test_keys_for_results_on_disk(self):
        from nereid.triton.runtime.autotuner import get_cache_invalidating_env_vars, get_cache_manager, triton_key

        with unittest.mock.patch.dict(os.environ, TRITON_OVERRIDE_ARCH="sm90"):
            self.assertEqual(get_cache_invalidating_env_vars()["TRITON_OVERRIDE_ARCH"], "sm90")
        self.assertIn("nereid", triton_key())
        self.assertIsNone(get_cache_manager("0" * 64).get_file("absent.json"))

    def test_order_of_hooks(self):
        x, order, runtime = np.zeros(128, "f4"), [], triton.knobs.runtime
        calls = [(chain, lambda metadata, name=name: order.append(name))
                 for chain, names in ((runtime.launch_enter_hook, "ab"), (runtime.launch_exit_hook, "cd")) for name in names]
        for chain, call in calls:
            chain.add(call)
        try:
            add[(1, )](x, x, x, 1)
        finally:
            for chain, call in calls:
                chain.remove(call)
        self.assertEqual("".join(order), "abdc")

    def test_a_wrapper_launches_as_fast_as_a_subscript(self):
        # `kernel.run`, which `autotune` and decorators of programs call, looks for arguments that bring sources only where there may be some.
        x = np.zeros(128, "f4")
        add[(1, )](x, x, x, 1)
        with unittest.mock.patch.object(triton.runtime._sources, "is_described", side_effect=AssertionError):
            add.run(x, x + 1, x, 128, grid=(1, ), warmup=False, launch_metadata=None)
            self.assertEqual(x.sum(), 128)
            with triton.knobs.runtime.scope():
                triton.knobs.runtime.launch_enter_hook = lambda metadata: None
                with self.assertRaises(AssertionError):
                    add.run(x, x, x, 128, grid=(1, ), warmup=False)

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
        self.assertEqual(profile.notes, [])
        with nereid.profile.record(lines="cpu") as profile:
            add[(2, )](x, x, out, 256)
        self.assertRegex(profile.table, r"launch +add +cpu +1 ")
        self.assertEqual(profile.notes, ["cannot sample cpu: only NVIDIA GPUs sample their program counters"])
        self.assertEqual(profile.lines, "")

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

    def test_fork_after_use(self):
        x, out = np.ones(100000, "f4"), np.zeros(100000, "f4")
        add[(1000, )](x, x, out, 100000)
        child = os.fork()
        if child == 0:
            out[:] = 0
            add[(1000, )](x, x, out, 100000)
            os._exit(0 if (out == 2).all() else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


if __name__ == "__main__":
    unittest.main()
