"""Measuring and comparing. `NEREID_BENCHMARK=quick` cuts the sweeps of `perf_report` to their first value and each
measurement to one launch, `NEREID_BENCHMARK=off` leaves them out."""
import contextlib
import functools
import gc
import math
import os
import subprocess
import time

from . import runtime  # noqa: F401  programs reach it through here
from .runtime.driver import current_device, gpu_torch


def _mode():
    return os.environ.get("NEREID_BENCHMARK", "")


def _quantile(times, share):
    times = sorted(times)
    at = share * (len(times) - 1)
    low = math.floor(at)
    high = min(low + 1, len(times) - 1)
    return times[low] + (times[high] - times[low]) * (at - low)


def _summarize_statistics(times, quantiles, return_mode):
    if quantiles is not None:
        found = [_quantile(times, share) for share in quantiles]
        return found[0] if len(found) == 1 else found
    if return_mode == "all":
        return times
    return {"min": min, "max": max, "mean": _mean, "median": lambda all: _quantile(all, 0.5)}[return_mode](times)


def _mean(times):
    return sum(times) / len(times)


def _clear(grad_to_none):
    for tensor in grad_to_none or ():
        tensor.grad = None


def do_bench(fn, warmup=25, rep=100, grad_to_none=None, quantiles=None, return_mode="mean"):
    """Milliseconds of a call. On a GPU the second-level cache is emptied before each, on a CPU it is not."""
    return _do_bench(fn, warmup, rep, grad_to_none, quantiles, return_mode)


def _do_bench(fn, warmup, rep, grad_to_none=None, quantiles=None, return_mode="mean", least=math.inf, is_glance=False):
    """`least` is what another call took, in milliseconds, which this one is to beat: it is not measured further if its first samples all take twice as
    long, or those of the first quarter 1.2 times, and what `warmup` is for has happened. A glance ends after a quarter of `rep` in any case, if it has
    twenty samples by then."""
    assert return_mode in ("min", "max", "mean", "median", "all")
    measure = _samples_cpu if current_device() < 0 else _samples_torch if gpu_torch() else _samples_gpu
    if least < math.inf:
        warmup /= 5
    return _summarize_statistics(measure(fn, warmup, rep, grad_to_none, least, is_glance), quantiles, return_mode)


def _in_two_parts(timed, count, least, is_glance):
    """`count` samples of `timed(count)`, or a quarter of them if that is enough for a glance or to see that they do not beat `least`."""
    if is_glance and count > 20:
        return timed(max(20, count // 4))
    if least == math.inf:
        return timed(count)
    samples = timed(max(1, count // 4))
    if sorted(samples)[len(samples) // 2] <= 1.2 * least and count > len(samples):
        samples += timed(count - len(samples))
    return samples


def _samples_cpu(fn, warmup, rep, grad_to_none, least, is_glance):
    def timed():
        _clear(grad_to_none)
        start = time.perf_counter()
        fn()
        return max((time.perf_counter() - start) * 1e3, 1e-6)

    estimate = timed()
    if _mode():
        return [estimate]
    if estimate > 2 * least:  # the first call also fetches what it reads
        estimate = min(estimate, timed())
        if estimate > 2 * least:
            return [estimate]
    for _ in range(min(1000, max(1, int(warmup / estimate)))):
        fn()
    return _in_two_parts(lambda count: [timed() for _ in range(count)], min(10000, max(1, int(rep / estimate))), least,
                         is_glance)


def _samples_gpu(fn, warmup, rep, grad_to_none, least, is_glance):
    """In the stream that the launches of `fn` go to."""
    from nereid import _C

    fn()
    device, stream = _C.last_launch()
    if device < 0:  # its tensors lie on the CPU
        return _samples_cpu(fn, warmup, rep, grad_to_none, least, is_glance)
    _C.synchronize(device)
    cache = _C.buffer(device, 256 << 20)

    def timed(count, fills):
        events, late = [], []
        for _ in range(count):
            _clear(grad_to_none)
            for _ in range(fills):
                _C.overwrite(cache, device, stream)
            begin = _C.event(device, stream)
            fn()
            events.append((begin, _C.event(device, stream)))
            late.append(_C.reached(begin))
        return [_C.milliseconds(*pair) for pair in events], late, _C.milliseconds(events[0][0], events[-1][1])

    return _in_time(timed, fn, warmup, rep, least, is_glance)


def _samples_torch(fn, warmup, rep, grad_to_none, least, is_glance):
    import torch

    fn()
    torch.cuda.synchronize()
    cache = torch.empty(256 << 20, dtype=torch.int8, device="cuda")

    def timed(count, fills):
        starts = [torch.cuda.Event(enable_timing=True) for _ in range(count)]
        ends = [torch.cuda.Event(enable_timing=True) for _ in range(count)]
        late = []
        for begin, end in zip(starts, ends):
            _clear(grad_to_none)
            for _ in range(fills):
                cache.zero_()
            begin.record()
            fn()
            end.record()
            late.append(begin.query())
        torch.cuda.synchronize()
        return [begin.elapsed_time(end) for begin, end in zip(starts, ends)], late, starts[0].elapsed_time(ends[-1])

    return _in_time(timed, fn, warmup, rep, least, is_glance)


_most_fills = 16  # of the cache, before a sample: one takes some 90 microseconds


def _in_time(timed, fn, warmup, rep, least, is_glance):
    """Samples of `timed(count, fills)`, which gives `count` of them, whether each is late, and how long they took together.

    A sample is late if the GPU came to its beginning before all of it was queued: it may hold time in which the GPU waited for the host, which is
    no property of the kernel. Overwriting the cache gives the host a start; where that is not enough for most samples, it is overwritten more often.
    """
    if _mode():
        return timed(1, 1)[0]
    fills = 1

    def prompt(count):
        nonlocal fills
        while True:
            samples, late, whole = timed(count, fills)
            found = [sample for sample, is_late in zip(samples, late) if not is_late]
            if 2 * len(found) >= count or fills >= _most_fills:
                return found or samples, whole
            fills *= 2

    # `warmup` and `rep` are the time that all of it takes, which for a short call is the cache's.
    first, whole = prompt(5)
    if min(first) > 2 * least:
        return first
    estimate = max(whole / 5, 1e-3)
    for _ in range(max(1, int(warmup / estimate))):
        fn()
    return _in_two_parts(lambda count: prompt(count)[0], max(1, int(rep / estimate)), least, is_glance)


@contextlib.contextmanager
def cuda_graph_without_gc(*args, **kwargs):
    """`torch.cuda.graph` during which the garbage collector rests: an object with a CUDA module of its own must not go while launches are recorded."""
    import torch

    collects = gc.isenabled()
    gc.disable()
    try:
        with torch.cuda.graph(*args, **kwargs) as graph:
            yield graph
    finally:
        if collects:
            gc.enable()


def do_bench_cudagraph(fn, rep=20, grad_to_none=None, quantiles=None, return_mode="mean"):
    """The same with the calls recorded in a CUDA graph; as `do_bench` on a CPU, and without torch, which has the graphs."""
    if current_device() < 0 or not gpu_torch():
        return do_bench(fn, rep=rep, grad_to_none=grad_to_none, quantiles=quantiles, return_mode=return_mode)
    import torch

    with torch.cuda.stream(torch.cuda.Stream()):
        fn()
        _clear(grad_to_none)
        torch.cuda.synchronize()

        def recorded(count):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                for _ in range(count):
                    _clear(grad_to_none)
                    fn()
            return graph

        def milliseconds(graph):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            graph.replay()
            end.record()
            torch.cuda.synchronize()
            return begin.elapsed_time(end)

        first = recorded(5)
        milliseconds(first)
        count = max(1, int(rep / max(milliseconds(first) / 5, 1e-4)))
        graph = recorded(count)
        milliseconds(graph)
        return _summarize_statistics([milliseconds(graph) / count for _ in range(10)], quantiles, return_mode)


def cublas():
    """Matrix products of cuBLAS to compare with, through torch; None without a GPU."""
    from ._C.libtriton import nvidia

    return nvidia.cublas.CublasLt() if current_device() >= 0 else None


def assert_close(x, y, atol=None, rtol=None, err_msg=""):
    """Fails unless the two are as close as the tolerances say; float32 by default for tensors of torch."""
    import numpy as np

    def plain(value):
        if hasattr(value, "detach"):
            import torch

            value = value.detach()
            if value.dtype == torch.bfloat16 or value.dtype.itemsize == 1 and value.dtype.is_floating_point:
                value = value.float()
            return value.cpu().numpy()
        return np.asarray(value)

    if hasattr(x, "detach"):
        import torch

        if isinstance(y, torch.Tensor) and x.shape and x.dtype.is_floating_point:
            dtype = x.dtype
            if atol is None:
                atol = {torch.float16: 1e-2, torch.bfloat16: 1e-2}.get(dtype, 1e-4)
    x, y = plain(x), plain(y)
    atol, rtol = 1e-2 if atol is None else atol, 0.0 if rtol is None else rtol
    if callable(atol):
        atol = atol(x.dtype)
    if callable(rtol):
        rtol = rtol(x.dtype)
    np.testing.assert_allclose(x, y, atol=atol, rtol=rtol, equal_nan=True, err_msg=str(err_msg))


class Benchmark:
    """What `perf_report` runs: x axis, lines, and how to plot them."""

    def __init__(self, x_names, x_vals, line_arg, line_vals, line_names, plot_name, args, xlabel="", ylabel="",
                 x_log=False, y_log=False, styles=None):
        self.x_names, self.x_vals, self.line_arg = x_names, x_vals, line_arg
        self.line_vals, self.line_names, self.plot_name, self.args = line_vals, line_names, plot_name, args
        self.xlabel, self.ylabel, self.x_log, self.y_log, self.styles = xlabel, ylabel, x_log, y_log, styles


class Mark:
    def __init__(self, fn, benchmarks):
        self.fn, self.benchmarks = fn, benchmarks
        functools.update_wrapper(self, fn, updated=())

    def __call__(self, *args, **kwargs):
        return self.fn(*args, **kwargs)

    def _rows(self, bench, **kwargs):
        names = [bench.x_names] if isinstance(bench.x_names, str) else list(bench.x_names)
        rows = []
        values = list(bench.x_vals)[:1] if _mode() == "quick" else bench.x_vals
        for x in values:
            x = list(x) if isinstance(x, (list, tuple)) else [x] * len(names)
            if len(x) != len(names):
                raise ValueError(f"Expected {len(names)} values, got {x}")
            row = dict(zip(names, x))
            for value, label in zip(bench.line_vals, bench.line_names):
                found = self.fn(**dict(zip(names, x)), **{bench.line_arg: value}, **bench.args, **kwargs)
                row[f"{label} ({bench.ylabel})" if bench.ylabel else label] = (
                    found[0] if isinstance(found, (tuple, list)) else found)
            rows.append(row)
        return rows

    def run(self, show_plots=False, print_data=False, save_path="", return_df=False, **kwargs):
        if _mode() == "off":
            return [] if return_df else None
        many = not isinstance(self.benchmarks, Benchmark)
        frames = []
        for bench in self.benchmarks if many else [self.benchmarks]:
            rows = self._rows(bench, **kwargs)
            if print_data:
                print(f"{bench.plot_name}:")
                print(_table(rows))
            if save_path:
                import csv

                os.makedirs(save_path, exist_ok=True)
                with open(os.path.join(save_path, f"{bench.plot_name}.csv"), "w", newline="") as file:
                    writer = csv.DictWriter(file, rows[0].keys())
                    writer.writeheader()
                    writer.writerows(rows)
            frames.append(rows)
        if return_df:
            try:
                import pandas

                frames = [pandas.DataFrame(rows) for rows in frames]
            except ImportError:
                pass
            return frames if many else frames[0]
        return None


def _table(rows):
    if not rows:
        return ""
    names = list(rows[0])
    cells = [[""] + names] + [[str(i)] + [f"{v:.6f}" if isinstance(v, float) else str(v) for v in row.values()]
                              for i, row in enumerate(rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(names) + 1)]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths)) for line in cells)


def perf_report(benchmarks):
    """Makes a benchmark of a function; `.run(...)` measures it."""
    return lambda fn: Mark(fn, benchmarks)


def nvsmi(attrs):
    """What `nvidia-smi` says of GPU 0: a whole number for each of `attrs`, such as `clocks.max.sm`."""
    command = ["nvidia-smi", "-i", "0", f"--query-gpu={','.join(attrs)}", "--format=csv,noheader,nounits"]
    return [int(value) for value in subprocess.check_output(command, text=True).split(",")]


def _gpu(device):
    from nereid import _C

    from .runtime.driver import driver

    index = current_device() if device is None else device
    if index < 0:
        raise RuntimeError("a CPU does not tell its peak rates; `nereid bench --suite headline` measures them")
    return {**driver.active.utils.get_device_properties(index), **_C.device(index)}


def _bytes(dtype):
    return getattr(dtype, "itemsize", None) or dtype.primitive_bitwidth // 8


def get_dram_gbps(device=None):
    """Bytes a nanosecond between a GPU and its memory, by the clock and the width of the bus."""
    facts = _gpu(device)
    return facts["mem_clock_rate"] * 2 * facts["mem_bus_width"] / 8 / 1e6


def get_max_tensorcore_tflops(dtype, clock_rate, device=None):
    """Of the tensor cores of a GPU whose clock is `clock_rate` kHz."""
    facts = _gpu(device)
    return facts["units"] * clock_rate * 2 * facts["mma16"] * 2 / _bytes(dtype) / 1e9


def get_max_simd_tflops(dtype, clock_rate, device=None):
    """Of the plain units; f16 has twice the rate of f32."""
    facts = _gpu(device)
    return facts["units"] * clock_rate * 2 * facts["fma32"] * (2 if _bytes(dtype) == 2 else 1) / 1e9


def cuda_memcheck(**target_kwargs):
    return lambda test: test


def set_gpu_clock(ref_sm_clock=1350, ref_mem_clock=1215):
    raise RuntimeError("clocks are set by `nvidia-smi --lock-gpu-clocks`, not from here")
