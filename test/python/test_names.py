"""What programs import and set of Triton's own parts: settings and their variables, machine code as text, kernels for the interpreter."""
import copy
import os
import pathlib
import pickle
import tempfile
import unittest
import warnings
from unittest import mock

import numpy as np

import nereid

nereid.install()
import triton  # noqa: E402
import triton.language as tl  # noqa: E402
from triton import knobs  # noqa: E402


@triton.jit
def double(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i) * 2, mask=i < n)


@triton.jit
def checked(x):
    tl.device_assert(tl.load(x) == 0, "not zero")


@triton.jit(debug=True)
def checked_always(x):
    tl.device_assert(tl.load(x) == 0, "not zero")


@triton.autotune(configs=[triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 32})], key=["n"])
@triton.heuristics({"IS_EVEN": lambda arguments: arguments["n"] % 2 == 0})
@triton.jit
def tuned(x, out, n, BLOCK: tl.constexpr, IS_EVEN: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


@triton.jit
def plus(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n)
    if y is not None:
        value += tl.load(y + i, mask=i < n)
    tl.store(out + i, value, mask=i < n)


class Settings(unittest.TestCase):
    def test_a_variable_counts_when_it_is_read(self):
        with mock.patch.dict(os.environ, {"TRITON_PRINT_AUTOTUNING": "1", "TRITON_REDIS_PORT": "7", "TRITON_HOME": "/home/x"}):
            self.assertTrue(knobs.autotuning.print)
            self.assertEqual(knobs.redis.port, 7)
            with mock.patch.dict(os.environ):
                os.environ.pop("TRITON_CACHE_DIR", None)
                self.assertEqual(knobs.cache.dir, "/home/x/.triton/cache")
            os.environ["TRITON_REDIS_PORT"] = "seven"
            with self.assertRaisesRegex(RuntimeError, "TRITON_REDIS_PORT=seven: expected int"):
                knobs.redis.port
        self.assertFalse(knobs.autotuning.print)

    def test_what_is_set_goes_before_the_environment_and_into_it(self):
        with knobs.autotuning.scope():
            knobs.autotuning.cache = True
            self.assertEqual(os.environ["TRITON_CACHE_AUTOTUNING"], "1")
            os.environ["TRITON_CACHE_AUTOTUNING"] = "0"
            self.assertTrue(knobs.autotuning.cache)
            del knobs.autotuning.cache
            self.assertFalse(knobs.autotuning.cache)
            knobs.autotuning.cache = True
            knobs.autotuning.cache = knobs.env
            self.assertTrue(knobs.autotuning.cache)  # what it was set to is in the environment
        self.assertNotIn("TRITON_CACHE_AUTOTUNING", os.environ)

    def test_names_that_are_not_known_are_none(self):
        self.assertIsNone(knobs.nvidia.some_new_setting)

    def test_the_interpreter_by_a_variable_that_is_set_after_the_import(self):
        with mock.patch.dict(os.environ, {"TRITON_INTERPRET": "1"}):
            @triton.jit
            def beyond(x, out, BLOCK: tl.constexpr):
                i = tl.arange(0, BLOCK)
                tl.store(out + i, tl.load(x + i))

            with self.assertRaisesRegex(triton.CompilationError, "load outside of `x`"):
                beyond[(1, )](np.zeros(20, "f4"), np.zeros(32, "f4"), BLOCK=32)

    def test_debugging_for_all_kernels_goes_before_what_a_launch_says(self):
        one = np.ones(1, "f4")
        checked[(1, )](one)
        checked_always[(1, )](one, debug=False)
        with self.assertRaisesRegex(RuntimeError, "not zero"):
            checked[(1, )](one, debug=True)
        with knobs.runtime.scope():
            knobs.runtime.debug = True
            for kernel in (checked, checked_always):
                with self.assertRaisesRegex(RuntimeError, "not zero"):
                    kernel[(1, )](one, debug=False)
        checked[(1, )](one)


class MachineCode(unittest.TestCase):
    PROGRAM = """#!/bin/sh
if [ "$1" = --version ]; then echo "Cuda compilation tools, release 13.0, V13.0.1"; exit; fi
[ "$1" = -sass ] || exit 3
cat <<'END'
Fatbin elf code:
\t\tFunction : kernel
\t.headerflags\t@"EF_CUDA_SM90"
        /*0000*/                   LDC R1, c[0x0][0x28] ;              /* 0x00000a00ff017b82 */
                                                                       /* 0x000e220000000800 */
        /*0010*/                   IMAD.MOV.U32 R5, RZ, RZ, RZ ;       /* 0x000000ffff057224 */
                                                                       /* 0x003fda00078e00ff */
        /*0020*/              @!P0 BRA 0x10 ;                          /* 0x0000000000608947 */
                                                                       /* 0x001fea0003800000 */
END
"""

    def test_instructions_with_their_control_bits(self):
        from triton.tools.disasm import extract, get_sass, path_to_cuobjdump

        with tempfile.TemporaryDirectory() as folder:
            tool = pathlib.Path(folder) / "cuobjdump"
            tool.write_text(self.PROGRAM)
            tool.chmod(0o755)
            with mock.patch.dict(os.environ, {"TRITON_CUOBJDUMP_PATH": str(tool)}):
                self.assertEqual(path_to_cuobjdump(), (str(tool), "13.0"))
                text = get_sass(b"cubin")
                self.assertEqual(text.splitlines(), [
                    "Function:kernel", "--:-:0:-:1\tLDC R1, c[0x0][0x28];", "LBB0:", "03:-:-:Y:d\tIMAD.MOV.U32 R5, RZ, RZ, RZ;",
                    "01:-:-:-:5\t@!P0 BRA LBB0;"])
                self.assertEqual(extract("file.cubin"), text)

    def test_a_tool_that_fails_is_told(self):
        from triton.tools.disasm import extract

        with tempfile.TemporaryDirectory() as folder:
            tool = pathlib.Path(folder) / "cuobjdump"
            tool.write_text("#!/bin/sh\n[ \"$1\" = --version ] && echo release 13.0 && exit\necho no such file\nexit 1\n")
            tool.chmod(0o755)
            with mock.patch.dict(os.environ, {"TRITON_CUOBJDUMP_PATH": str(tool)}):
                with self.assertRaisesRegex(RuntimeError, "cuobjdump cannot read gone.cubin: no such file"):
                    extract("gone.cubin")


class Kernels(unittest.TestCase):
    def test_one_for_the_interpreter(self):
        from triton.runtime.interpreter import InterpretedFunction

        self.assertNotIsInstance(double, InterpretedFunction)
        x, out = np.ones(16, "f4"), np.zeros(16, "f4")
        kernel = InterpretedFunction(double.fn)
        kernel[(1, )](x, out, 16, BLOCK=16)
        self.assertEqual(out.tolist(), [2] * 16)
        with self.assertRaisesRegex(triton.CompilationError, "load outside of `x`"):
            kernel.run(x, out, 16, 32, grid=(1, ), warmup=False)
        with knobs.runtime.scope():
            knobs.runtime.interpret = True
            self.assertIsInstance(double, InterpretedFunction)

    def test_compiled_code_looks_at_no_argument_that_is_a_constant_of_it(self):
        """torch.compile puts -1 where a kernel was compiled for None."""
        x, out = np.ones(16, "f4"), np.zeros(16, "f4")
        source = triton.compiler.ASTSource(plus, {"x": "*fp32", "y": "constexpr", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"},
                                           {"y": None, "BLOCK": 16})
        for kernel in (plus.warmup(x, None, out, 16, BLOCK=16, grid=(1, )), triton.compile(source)):
            out[:] = 0
            kernel.run(1, 1, 1, 0, kernel.function, kernel.packed_metadata, None, None, None, x, -1, out, 16, 64)
            self.assertEqual(out.tolist(), [1] * 16)
            out[:] = 0
            kernel[(1, 1, 1)](x, -1, out, 16, -1)
            self.assertEqual(out.tolist(), [1] * 16)
        kernel = plus.warmup(x, x, out, 1, BLOCK=16, grid=(1, ))
        out[:] = 0
        kernel[(1, 1, 1)](x, x, out, 16, 16)  # compiled for one element
        self.assertEqual(out.tolist(), [2] + [0] * 15)

    def test_copies_are_the_kernel(self):
        self.assertIs(copy.copy(double), double)
        self.assertIs(copy.deepcopy({"kernel": double})["kernel"], double)
        self.assertIs(pickle.loads(pickle.dumps(double)), double)
        x, out = np.ones(48, "f4"), np.zeros(48, "f4")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            copy.deepcopy(tuned)[lambda meta: (triton.cdiv(48, meta["BLOCK"]), )](x, out, 48)
        self.assertEqual(out.tolist(), [2] * 48)
        self.assertIs(pickle.loads(pickle.dumps(tuned.fn.fn)), tuned.fn.fn)

    def test_names_that_programs_import(self):
        import triton.language.extra.cuda.gdc as gdc
        from triton._utils import find_paths_if, get_iterable_path, set_iterable_path, validate_block_shape
        from triton.backends.driver import DriverBase, GPUDriver
        from triton.compiler.compiler import AsmDict, IRSource, max_shared_mem
        from triton.runtime.jit import get_device_key, get_jit_fn_file_line, serialize_specialization_data

        self.assertTrue(issubclass(GPUDriver, DriverBase) and isinstance(triton.runtime.driver.active, DriverBase))
        self.assertTrue(callable(gdc.gdc_wait) and callable(serialize_specialization_data))
        nested = [1, (None, 2), None]
        self.assertEqual(find_paths_if(nested, lambda path, value: value is None), [(1, 0), (2, )])
        self.assertEqual(get_iterable_path(nested, (1, 1)), 2)
        set_iterable_path(nested, (0, ), 5)
        self.assertEqual(nested[0], 5)
        self.assertEqual(validate_block_shape([4, 8]), 32)
        with self.assertRaisesRegex(ValueError, "element 1 must be a power of 2"):
            validate_block_shape([4, 6])
        self.assertGreater(max_shared_mem(0), 0)
        self.assertIn(":", get_device_key())
        self.assertEqual(get_jit_fn_file_line(tuned)[1], tuned.fn.fn.def_file_line_number)
        kernel = double[(1, )](np.ones(16, "f4"), np.zeros(16, "f4"), 16, BLOCK=16)
        self.assertIsInstance(kernel.asm, AsmDict)
        self.assertNotIsInstance(kernel.src, IRSource)


if __name__ == "__main__":
    unittest.main()
