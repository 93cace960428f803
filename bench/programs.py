#!/usr/bin/env python3
"""Whole programs through the Python package and under Triton: each kernel that they launch, by value and by time.

    bench/programs.py LIST.json|PROGRAM.py... [--package FOLDER] [--turns 3] [--seconds 0.01] [--launches 8] [--limit 60] [--configs COUNT] [--compared BYTES] [--match TEXT] [--prepare JOBS] [--out FILE.json]

A program of a list is {"name": ..., "code": Python text, "path": [folders for imports]}. Both engines live at once, each in a process of its own, and run the
same programs one after the other, until they have made so many kinds of launches. A launch of a program, the first one of each kernel and kind of arguments, is
made once more on copies of its tensors: what it writes is compared with what the other engine's wrote from the same inputs, and it is timed there in turns, many
launches between two events behind a kernel that lets the host run ahead. A kernel that tunes itself is timed as tuned. A ratio is the median of the turns' ratios:
above 1, Nereid is faster. `differs` is the largest difference of two results over the largest number among them. --prepare compiles into the caches on disk, by so
many programs at once, and measures nothing.
"""
import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

WORKER = r'''
import contextlib, dataclasses, io, json, os, signal, sys, time, types
import torch, triton
from triton.runtime.autotuner import Autotuner, Heuristics
from triton.runtime.jit import JITFunction, KernelInterface

options = json.loads(sys.argv[1])
torch.set_default_device("cuda")
CYCLES = 2e9  # of the kernel that keeps a GPU waiting, in a second
CLASSES = [one for one in (KernelInterface, JITFunction, Autotuner, Heuristics) if "__getitem__" in one.__dict__]
ORIGINAL = {one: one.__dict__["__getitem__"] for one in CLASSES}
seen, rows = {}, []  # of the program that runs
held = {}  # its launches on copies, to be timed again
inside = False


class Enough(BaseException):
    """The program has made all launches that are wanted of it."""


if options["prepare"]:
    def launch_once(fn, *args, quantiles=None, **kwargs):
        fn()
        return [1.0] * len(quantiles) if quantiles else 1.0
    triton.testing.do_bench = triton.testing._do_bench = launch_once
    make_tuner = Autotuner.__init__

    def make_without_results(self, *args, **kwargs):
        make_tuner(self, *args, **kwargs)
        self.cache_results = False  # no time was measured that a later process may choose by

    Autotuner.__init__ = make_without_results


def kernel_of(one):
    while hasattr(one, "fn") and not isinstance(one, JITFunction):
        one = one.fn
    return getattr(one, "__name__", str(one))


def parts(value, visit):
    """A value with its tensors replaced by what `visit` makes of them."""
    if isinstance(value, torch.Tensor):
        return visit(value)
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        return type(value)(parts(x, visit) for x in value)
    if hasattr(value, "block_shape") and isinstance(getattr(value, "base", None), torch.Tensor):
        return dataclasses.replace(value, base=visit(value.base))
    return value


def word(value):
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype)[6:]}{list(value.shape)}" + ("" if value.is_contiguous() else f"/{list(value.stride())}")
    if isinstance(value, (tuple, list)):
        return "(" + ", ".join(map(word, value)) + ")"
    if hasattr(value, "block_shape"):
        return f"{word(value.base)} by {list(value.block_shape)}"
    return value if isinstance(value, str) else f"{value:.6g}" if isinstance(value, float) else str(getattr(value, "__name__", value))[:40]


def copied(args, kwargs):
    """Copies of arguments whose tensors share memory where the originals do, the copies of tensors, and of what holds them."""
    storages, tensors = {}, []

    def visit(x):
        if not x.is_cuda:
            return x
        base = x.untyped_storage()
        if base.data_ptr() not in storages:
            storages[base.data_ptr()] = base.clone()
        made = torch.empty(0, dtype=x.dtype, device=x.device).set_(storages[base.data_ptr()], x.storage_offset(), x.shape, x.stride())
        tensors.append(made)
        return made
    return parts(args, visit), {k: parts(v, visit) for k, v in kwargs.items()}, tensors, list(storages.values())


def bits(x):
    return x.detach().contiguous().view(torch.uint8) if x.numel() and x.dim() else x.detach().reshape(-1).contiguous().view(torch.uint8)


def digest(x):
    if not x.numel():
        return 0
    b = bits(x).reshape(-1)
    b = torch.nn.functional.pad(b, (0, -b.numel() % 8)).view(torch.int64)
    return int((b * (torch.arange(b.numel(), dtype=torch.int64, device=b.device) * 2654435761 + 12345)).sum())


def measured(launch):
    torch.cuda.synchronize()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def run(count, host):
        torch.cuda._sleep(int(min(count * host * 1.5 + 1e-4, 0.2) * CYCLES))
        start.record()
        for _ in range(count):
            launch()
        end.record()
        torch.cuda.synchronize()
        return start.elapsed_time(end) / 1e3 / count
    begin = time.perf_counter()
    launch()
    host = time.perf_counter() - begin
    first = run(2, host)
    if first > 0.2:
        return first
    begin = time.perf_counter()
    launch(); launch()
    host = (time.perf_counter() - begin) / 2
    count = max(3, min(200, int(options["seconds"] / max(first, 1e-6))))
    return sorted(run(count, host) for _ in range(3))[1]


def hosts(launch):
    """What a launch takes the host while the queue has room."""
    times = []
    for _ in range(5):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(8):
            launch()
        times.append((time.perf_counter() - begin) / 8)
    torch.cuda.synchronize()
    return sorted(times)[1]


def launched(kernel, get, grid, args, kwargs):
    global inside
    if inside:
        return get(kernel, grid)(*args, **kwargs)
    if len(seen) >= options["launches"]:
        raise Enough()
    tuned = kernel
    while options["configs"] and not isinstance(tuned, JITFunction):
        if isinstance(tuned, Autotuner):
            tuned.configs = tuned.configs[:options["configs"]]
        tuned = tuned.fn
    key = kernel_of(kernel) + "(" + ", ".join([word(x) for x in args] + [f"{k}={word(v)}" for k, v in kwargs.items()]) + ")"
    if key in seen:
        return get(kernel, grid)(*args, **kwargs)
    seen[key] = row = dict(key=key, kernel=kernel_of(kernel))
    rows.append(row)
    inside = True
    try:
        if not options["prepare"]:
            measured_beside(key, row, kernel, get, grid, args, kwargs)
        begin = time.perf_counter()
        made = get(kernel, grid)(*args, **kwargs)
        row["first"] = time.perf_counter() - begin
        return made
    except Exception as error:
        row["failure"] = f"{type(error).__name__}: {error}"[:300]
        raise
    finally:
        inside = False


def measured_beside(key, row, kernel, get, grid, args, kwargs):
    size = sum({t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in copied_tensors(args, kwargs)}.values())
    if size > 12e9:
        return
    own_args, own_kwargs = copied(args, kwargs)[:2]
    get(kernel, grid)(*own_args, **own_kwargs)  # tunes, compiles
    own_args, own_kwargs, tensors, storages = copied(args, kwargs)
    isKept = options["keep"] and size < options["compared"]
    if isKept and key in program["inputs"]:
        for mine, theirs in zip(storages, torch.load(program["inputs"][key])):
            if mine.nbytes() == theirs.nbytes:
                torch.empty(0, dtype=torch.uint8, device=mine.device).set_(mine).copy_(theirs)
    elif isKept:
        contents = [torch.empty(0, dtype=torch.uint8, device=x.device).set_(x).cpu() for x in storages]  # a kernel that faulted is told of here
        row["inputs"] = new_file()
        torch.save(contents, row["inputs"])
    before = [digest(x) for x in tensors]
    get(kernel, grid)(*own_args, **own_kwargs)
    torch.cuda.synchronize()
    if isKept:
        row["kept"] = new_file()
        torch.save({i: x.detach().cpu() for i, x in enumerate(tensors) if digest(x) != before[i]}, row["kept"])
    call = get(kernel, grid)
    launch = lambda: call(*own_args, **own_kwargs)
    row["seconds"] = measured(launch)
    row["host"] = hosts(launch)
    best = getattr(kernel, "best_config", None)
    row["config"] = str(best) if best else ""
    if sum(other for _, other in held.values()) + size < 12e9:
        held[key] = launch, size


def new_file():
    return f"{options['keep']}/{os.getpid()}-{len(os.listdir(options['keep']))}.pt"


def copied_tensors(args, kwargs):
    found = []
    parts(list(args) + list(kwargs.values()), lambda x: found.append(x) or x)
    return [x for x in found if x.is_cuda]


for one in CLASSES:
    one.__getitem__ = lambda self, grid, get=ORIGINAL[one]: lambda *args, **kwargs: launched(self, get, grid, args, kwargs)

def too_long(*_):
    raise TimeoutError(f"the program ran for more than {options['limit']} s")


signal.signal(signal.SIGALRM, too_long)
print(json.dumps(dict(ready=True)), flush=True)
answer = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what programs print is not an answer
for line in sys.stdin:
    program = json.loads(line)
    if program["isAgain"]:
        inside = True
        found = [dict(key=key, seconds=measured(launch)) for key, (launch, _) in held.items() if key in program["keys"]]
        inside = False
        print(json.dumps(dict(rows=found, failure="")), file=answer, flush=True)
        continue
    seen, rows = {}, []
    held.clear()
    torch.cuda.empty_cache()
    path, modules = list(sys.path), set(sys.modules)
    sys.path[:0] = program.get("path", [])
    torch.manual_seed(0)
    failure = ""
    signal.alarm(options["limit"])
    try:
        import linecache
        name = f"<{program['name']}>"
        linecache.cache[name] = len(program["code"]), None, program["code"].splitlines(keepends=True), name
        module = types.ModuleType("__main__")
        module.__file__ = os.path.join((program.get("path") or ["."])[0], program["name"] + ".py")
        sys.modules["__main__"] = module
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            exec(compile(program["code"], name, "exec"), module.__dict__)
        torch.cuda.synchronize()
    except Enough:
        pass
    except BaseException as error:
        failure = f"{type(error).__name__}: {error}"[:300]
    signal.alarm(0)
    for one in set(sys.modules) - modules:  # a program's own modules are loaded again, the libraries' not
        file = getattr(sys.modules[one], "__file__", None) or ""
        if any(file.startswith(folder) for folder in program.get("path", [])):
            del sys.modules[one]
    sys.path[:] = path
    module = None
    dead = "CUDA error" in failure or "illegal memory" in failure or "CUDA_ERROR" in failure
    print(json.dumps(dict(rows=rows, failure=failure, dead=dead)), file=answer, flush=True)
    if dead:
        break
'''


class Worker:
    def __init__(self, who, options, keep="", prepare=False):
        self.who, self.options, self.keep, self.prepare = who, options, keep, prepare
        self.process = None

    def start(self):
        words = dict(seconds=self.options.seconds, launches=self.options.launches, limit=self.options.limit, keep=self.keep, prepare=self.prepare,
                     configs=self.options.configs, compared=self.options.compared)
        environment = dict(os.environ)
        if self.options.package:
            environment["PYTHONPATH"] = os.pathsep.join([os.path.abspath(self.options.package), *filter(None, [environment.get("PYTHONPATH")])])
        program = "import nereid; nereid.install()\n" + WORKER if self.who == "nereid" else WORKER
        self.process = subprocess.Popen([sys.executable, "-c", program, json.dumps(words)], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.answer()

    def answer(self):
        for line in self.process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        self.process = None
        return dict(rows=[], failure="the process ended", dead=True)

    def run(self, program):
        if self.process is None:
            self.start()
        self.process.stdin.write(json.dumps(program) + "\n")
        self.process.stdin.flush()
        found = self.answer()
        if found.get("dead"):
            self.process = None
        return found

    def end(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait()


def difference(row, other):
    """The largest difference of two engines' results from one input over the largest number of the tensor, which tensor that is, and the share of its elements
    that differ by half as much at least."""
    import torch

    mine, theirs = torch.load(row["kept"]), torch.load(other["kept"])
    worst, where = 0.0, ""
    if mine.keys() != theirs.keys():
        return math.inf, f"{sorted(mine.keys() ^ theirs.keys())} written by one alone"
    for at in sorted(mine):
        a, b = mine[at], theirs[at]
        kind = f"{at} {str(a.dtype)[6:]}"
        if not a.numel():
            continue
        if a.is_complex():
            a, b = torch.view_as_real(a), torch.view_as_real(b)
        a, b = a.double(), b.double()
        isSame = (a == b) | (a.isnan() & b.isnan())
        if isSame.all():
            continue
        scale = max([one[one.isfinite()].abs().max().item() for one in (a, b) if one.isfinite().any()], default=0) or 1
        off = torch.where(isSame, 0, (a - b).abs().nan_to_num(math.inf, math.inf) / scale)
        if off.max().item() > worst:
            worst = off.max().item()
            where = f"{kind} {(off >= worst / 2).double().mean().item():.1e}"
    return worst, where


def mean(ratios):
    logarithms = [math.log(one) for one in ratios]
    return math.exp(sum(logarithms) / len(logarithms))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--package", help="the folder that holds `nereid`; by default it is installed")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.01, help="of the launches that one time is made of")
    parser.add_argument("--launches", type=int, default=8, help="most launches that are measured of a program")
    parser.add_argument("--limit", type=int, default=60, metavar="SECONDS", help="most that a program may run")
    parser.add_argument("--configs", type=int, default=0, metavar="COUNT", help="most configurations that a kernel is tuned among: the first ones")
    parser.add_argument("--compared", type=float, default=3e8, metavar="BYTES", help="of a launch's tensors, up to which its results are compared")
    parser.add_argument("--match", default="")
    parser.add_argument("--prepare", type=int, default=0, metavar="JOBS")
    parser.add_argument("--out")
    options = parser.parse_args()
    programs = []
    for path in map(pathlib.Path, options.programs):
        folder = str(path.resolve().parent)
        programs += json.loads(path.read_text()) if path.suffix == ".json" else [dict(name=path.stem, code=path.read_text(), path=[folder])]
    programs = [one for one in programs if options.match in one["name"]]
    if options.prepare:
        firsts = {"nereid": {}, "triton": {}}

        def prepare(who, waiting):
            worker = Worker(who, options, prepare=True)
            while True:
                try:
                    one = waiting.pop()
                except IndexError:
                    break
                for row in worker.run(dict(one, isAgain=False, inputs={}))["rows"]:
                    if "first" in row:
                        firsts[who][one["name"], row["key"]] = row["first"]
            worker.end()
        with concurrent.futures.ThreadPoolExecutor(2 * options.prepare) as pool:
            for who in ("nereid", "triton"):
                waiting = programs[::-1]
                for _ in range(options.prepare):
                    pool.submit(prepare, who, waiting)
        both = [(firsts["nereid"][one], firsts["triton"][one]) for one in firsts["nereid"] if one in firsts["triton"]]
        if both:
            print(f"{len(both)} first launches, {options.prepare} programs at once: {sum(a for a, _ in both):.1f} s, triton {sum(b for _, b in both):.1f}; "
                  f"geometric mean of the ratios {mean(b / a for a, b in both):.2f}", flush=True)
        return
    results, ratios, hosts = [], [], []
    with tempfile.TemporaryDirectory(dir="/dev/shm" if shutil.disk_usage("/dev/shm").free > 16e9 else None) as keep:
        workers = {who: Worker(who, options, keep) for who in ("nereid", "triton")}
        for program in programs:
            first = {"nereid": workers["nereid"].run(dict(program, isAgain=False, inputs={}))}
            inputs = {row["key"]: row["inputs"] for row in first["nereid"]["rows"] if "inputs" in row}
            first["triton"] = workers["triton"].run(dict(program, isAgain=False, inputs=inputs))
            failures = {who: first[who]["failure"] for who in workers if first[who]["failure"]}
            if failures:
                print(f"{program['name']}: " + "; ".join(f"{who}: {why[:150]}" for who, why in failures.items()), flush=True)
                results.append(dict(program=program["name"], failures=failures))
            found = {who: {row["key"]: row for row in first[who]["rows"] if "seconds" in row} for who in workers}
            keys = [key for key in found["nereid"] if key in found["triton"]]
            seconds = {who: {key: [found[who][key]["seconds"]] for key in keys} for who in workers}
            for turn in range(1, options.turns if keys else 0):
                for who in sorted(workers, reverse=turn % 2 > 0):
                    if workers[who].process:
                        for row in workers[who].run(dict(isAgain=True, keys=keys))["rows"]:
                            seconds[who][row["key"]].append(row["seconds"])
            for key in keys:
                row, other = (found[who][key] for who in ("nereid", "triton"))
                differs, where = difference(row, other) if "kept" in row and "kept" in other else (None, "")
                ratio = statistics.median(b / a for a, b in zip(seconds["nereid"][key], seconds["triton"][key]))
                mine, theirs = (statistics.median(seconds[who][key]) for who in ("nereid", "triton"))
                results.append(dict(program=program["name"], key=key, nereid=mine, triton=theirs, ratio=ratio, differs=differs, where=where, hosts=[row["host"], other["host"]],
                                    configs=[row["config"], other["config"]]))
                ratios.append(ratio)
                hosts.append(other["host"] / row["host"])
                print(f"{program['name'][:28]:28} {row['kernel'][:36]:36} {mine * 1e6:9.2f} us, triton {theirs * 1e6:9.2f}: {ratio:5.3f}, differs "
                      + ("?" if differs is None else f"{differs:.1e} {where}") + f"  {key[len(row['kernel']):][:90]}"
                      + (f"  [{row['config']} | {other['config']}]" if row["config"] != other["config"] else ""), flush=True)
            for file in os.listdir(keep):
                os.remove(os.path.join(keep, file))
            if options.out:
                pathlib.Path(options.out).write_text(json.dumps(results, indent=1) + "\n")
        for worker in workers.values():
            worker.end()
    if ratios:
        print(f"geometric mean {mean(ratios):.3f} of {len(ratios)} launches, least {min(ratios):.3f}, {sum(one < 0.9 for one in ratios)} below 0.9; "
              f"of the host's time for a launch {mean(hosts):.2f}", flush=True)


if __name__ == "__main__":
    main()
