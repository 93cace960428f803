"""What the package refuses and how it says so: diagnostics, bad calls, globals that change, exceptions, threads and forks."""
import json
import os
import pathlib
import sys
import tempfile
import threading
import traceback
import unittest
import unittest.mock

import numpy as np

import nereid
import nereid.triton as triton
import nereid.triton.language as tl

from test_package import Methods, add, apply, copy_block

OFFSET = tl.constexpr(3)
KIND = tl.int32
plain = 3


@triton.jit
def scaled(v, by: tl.constexpr = 2):
    return v * by + OFFSET


@triton.jit
def writes_const(x: tl.const):
    tl.store(x, 1.0)


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


NUMBERS, HALVES = tl.pointer_type(tl.float32), tl.pointer_type(tl.float16)


@triton.jit
def through_a_named_type(address, out):
    tl.static_assert(address.to(HALVES).dtype.element_ty == tl.float16)
    tl.store(out, tl.load(address.to(NUMBERS)) + 1)


class Errors(unittest.TestCase):
    def test_a_diagnostic_has_the_line_of_the_kernel(self):
        with self.assertRaises(triton.CompilationError) as caught:
            no_such_name[(1, )](np.zeros(1, "f4"))
        line = pathlib.Path(__file__).read_text().split("nothing_of_that_name")[0].count("\n") + 1
        self.assertIn(f"test_errors.py:{line}:", str(caught.exception))
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
        for name, said in (("BLOCK_X", r"`add` asks for 'BLOCK_X', and .*: `x`, `y`, `out`, `n`, `BLOCK`; did you mean `BLOCK`\?$"),
                           ("num_warps", "`num_warps` is an option of the launch"), ("ROWS", "`BLOCK`$"), (3, "asks for 3, ")):
            with self.assertRaisesRegex(KeyError, said) as raised:
                add[lambda meta: (meta[name], )](x, x, x, 1)
            self.assertEqual(raised.exception.args, (name, ))  # as a plain one has it
        with self.assertRaisesRegex(KeyError, "`BLOCK`") as raised:
            triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=[])(add)[lambda meta: (meta["BLOK"], )](x, x, x, 1)
        try:  # with the line that asked
            add[lambda meta: (meta["ROWS"], )](x, x, x, 1)
        except KeyError as failure:
            self.assertIn("<lambda>", [frame.name for frame in traceback.extract_tb(failure.__traceback__)])
        # A key of something else is the program's own matter.
        with self.assertRaises(KeyError) as raised:
            add[lambda meta: ({}["BLOCK_X"], )](x, x, x, 1)
        self.assertIs(type(raised.exception), KeyError)
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

    def test_a_list_where_memory_is_meant(self):
        x = np.zeros(128, "f4")
        with self.assertRaisesRegex(triton.CompilationError, r"(?s)hint: .*argument `y` of `add` is a list.*a tensor or an array"):
            add[(1, )](x, [1.0] * 128, x, 100)

    def test_what_tunes_a_kernel(self):
        x, out = np.zeros(16, "f4"), np.zeros(16, "f4")
        for configs, said in ((triton.Config({"BLOCK": 64}), "not one of them$"), ([{"BLOCK": 64}], r"and \{'BLOCK': 64\} is none"), (3, "not 3")):
            with self.assertRaisesRegex(TypeError, r"`configs` of `triton.autotune` is a list of `triton.Config`, .*" + said):
                triton.autotune(configs=configs, key=["n"])(add)
        guessed = triton.heuristics({"BLOCK": lambda args: args["m"]})(add)
        with self.assertRaisesRegex(KeyError, r"the heuristic `BLOCK` of `add` asks for 'm', and its function is given the arguments of the launch: `x`, `y`, `out`, `n`$"):
            guessed[(1,)](x, x, out, 16)
        with self.assertRaisesRegex(KeyError, "^'mine'$"):
            triton.heuristics({"BLOCK": lambda args: {}["mine"]})(add)[(1,)](x, x, out, 16)

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
