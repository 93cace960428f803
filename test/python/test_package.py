"""The package on arrays of NumPy: launches, options, closures."""
import contextlib
import io
import math
import os
import pathlib
import subprocess
import sys
import tempfile
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


@triton.aggregate
class Extent:
    rows: tl.constexpr
    columns: tl.constexpr = 4


@triton.jit
def squared_less(x, out, less, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i)
    tl.store(out + i, value * value - less)


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


if __name__ == "__main__":
    unittest.main()
