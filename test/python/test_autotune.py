"""Configurations of a kernel: which are measured, compared, chosen, and hooks that fail."""
import os
import time
import unittest
import unittest.mock
import warnings

import numpy as np

import nereid
import nereid.triton as triton
import nereid.triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr = 128):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = o < n
    tl.store(out + o, tl.load(x + o, mask=m) + tl.load(y + o, mask=m), mask=m)


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


@triton.jit
def copy_block(source, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK
    tl.store(out + at + tl.arange(0, BLOCK), source.load([at]))


class Autotune(unittest.TestCase):
    def setUp(self):
        self.x = np.arange(1000, dtype="f4")
        self.y = np.ones(1000, "f4")
        self.out = np.zeros(1000, "f4")

    def _tune(self, kernel, values, configs=None, **words):
        """The tuner after one launch on `values` and the warnings; each configuration is a WAY, the first the fastest."""
        timings = iter(range(100))
        tuned = triton.autotune(configs or [triton.Config({"WAY": way}) for way in range(4)], key=[], do_bench=lambda call, quantiles:
                                (call(), call(), [float(next(timings))] * 3)[2], **words)(kernel)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            tuned[(1, )](*values)
        return tuned, [str(one.message) for one in told]

    def test_configurations_of_one_code(self):
        # Warps and stages make no other code for a CPU: it is measured once, and both have its time.
        configs = [triton.Config({"BLOCK": block}, num_warps=warps, num_stages=stages) for block in (64, 128) for warps, stages in ((4, 2), (8, 2), (8, 3))]
        tuned = triton.autotune(configs, key=["n"], warmup=1, rep=5)(add)
        measured, whole = [], tuned._bench

        def bench(*args, config, **meta):
            measured.append(config)
            return whole(*args, config=config, **meta)

        tuned._bench = bench
        tuned[lambda meta: (triton.cdiv(1000, meta["BLOCK"]), )](self.x, self.y, self.out, 1000)
        np.testing.assert_array_equal(self.out, self.x + 1)
        self.assertEqual(set(map(str, measured)), {str(configs[0]), str(configs[3])})
        self.assertEqual([config for config in tuned.configs_timings], configs)
        for first in (0, 3):
            for twin in (first + 1, first + 2):
                self.assertEqual(tuned.configs_timings[configs[twin]], tuned.configs_timings[configs[first]])
        # A program's own way to measure is asked for each.
        seen = []
        tuned = triton.autotune(configs, key=["n"], do_bench=lambda call, quantiles: (call(), seen.append(1), [1.0] * 3)[2])(add)
        tuned[lambda meta: (triton.cdiv(1000, meta["BLOCK"]), )](self.x, self.y, self.out, 1000)
        self.assertEqual(len(seen), 6)

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

    def test_the_wait_of_a_gpu_for_the_host_is_not_measured(self):
        # A GPU that overwrites its cache in 90 us, and a host that takes long for each launch: 30 us at first, 200 us after a while, then 30 again.
        host, gpu = [0.0], [0.0]

        def queued(microseconds, host_takes):
            host[0] += host_takes
            gpu[0] = max(gpu[0], host[0]) + microseconds
            return gpu[0]

        def synchronize(*_):
            host[0] = max(host[0], gpu[0])

        def milliseconds(begin, end):
            host[0] = max(host[0], end)
            return (end - begin) / 1e3

        def hook(arguments):
            is_slow = 6e3 < host[0] < 13e3
            queued({64: 12, 128: 4, 256: 40}[arguments["BLOCK"]], 200 if is_slow else 30)

        fake = {"synchronize": synchronize, "buffer": lambda *_: None, "overwrite": lambda *_: queued(90, 2), "event": lambda *_: queued(0, 2),
                "reached": lambda event: event <= host[0], "milliseconds": milliseconds, "last_launch": lambda: (0, None)}
        tuned = triton.autotune([triton.Config({"BLOCK": block}, pre_hook=hook) for block in (64, 128, 256)], key=["n"], warmup=5, rep=30)(add)
        with unittest.mock.patch.multiple(nereid._C, **fake), unittest.mock.patch.object(triton.testing, "current_device", lambda: 0), \
                unittest.mock.patch.object(triton.testing, "gpu_torch", lambda: False):
            tuned[lambda meta: (triton.cdiv(1000, meta["BLOCK"]), )](self.x, self.y, self.out, 1000)
        self.assertGreater(host[0], 13e3)
        self.assertEqual(tuned.best_config.kwargs, {"BLOCK": 128})
        for config, (median, *_) in tuned.configs_timings.items():
            self.assertAlmostEqual(median * 1e3, {64: 12, 128: 4, 256: 40}[config.kwargs["BLOCK"]], msg=str(config))
        # A call that waits for the GPU is never ahead of it: it ends all the same.
        with unittest.mock.patch.multiple(nereid._C, **fake), unittest.mock.patch.object(triton.testing, "current_device", lambda: 0), \
                unittest.mock.patch.object(triton.testing, "gpu_torch", lambda: False):
            self.assertAlmostEqual(triton.testing.do_bench(lambda: (queued(10, 1), synchronize()), 5, 30, return_mode="median"), 13e-3, 2)

    def test_close_configurations_are_measured_again_in_turns(self):
        # The machine is slower while the first is measured, by more than the second takes longer.
        now, calls = [0.0], {16: 0, 64: 0, 128: 0}

        def hook(arguments):
            calls[arguments["BLOCK"]] += 1
            now[0] += {16: 1.5e-3, 64: 1.03e-3, 128: 1e-3}[arguments["BLOCK"]] * (1.05 if now[0] < slow else 1)

        for words, slow, best in ((dict(), 0.055, 128), (dict(do_bench=lambda call, quantiles: triton.testing.do_bench(call, quantiles=quantiles)), 0.125, 64)):
            now[0], calls[16] = 0.0, 0
            tuned = triton.autotune([triton.Config({"BLOCK": block}, pre_hook=hook) for block in (128, 16, 64)], key=["n"], **words)(add)
            with unittest.mock.patch.object(triton.testing.time, "perf_counter", lambda: now[0]), \
                    unittest.mock.patch.object(triton.testing, "current_device", lambda: -1):
                tuned[lambda meta: (triton.cdiv(1000, meta["BLOCK"]), )](self.x, self.y, self.out, 1000)
            self.assertEqual(tuned.best_config.kwargs, {"BLOCK": best})
            if not words:
                self.assertLess(calls[16], 25)  # it is not close
                self.assertAlmostEqual(tuned.configs_timings[triton.Config({"BLOCK": 128}, pre_hook=hook)][0], 1.0)

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


if __name__ == "__main__":
    unittest.main()
