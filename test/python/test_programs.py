"""Programs of their own process, run by `python -m nereid`: what they import, print, and how they end."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest


def program(text, *arguments, **environment):
    """Runs a file by `python -m nereid`; gives its output."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "program.py"
        path.write_text(textwrap.dedent(text))
        done = subprocess.run([sys.executable, "-m", "nereid", str(path), *arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=300, cwd=folder,
                              env={**os.environ, **environment})
    return done.returncode, done.stdout


NULL = """
import numpy as np
import triton
import triton.language as tl


@triton.jit
def fill(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, 1.0, mask=i < n)


class Nowhere:
    __array_interface__ = {"shape": (1000,), "typestr": "<f4", "data": (0, False), "version": 3}


out = np.zeros(1000, "f4")
try:
    fill[(8,)](Nowhere(), 1000, BLOCK=128)
except Exception as error:
    print(type(error).__name__, error)
fill[(8,)](out, 1000, BLOCK=128)
print(out.sum())
"""

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
counted = proton.mode.MMA(granularity="warp_2", optimizations="clock32, time_shift")
assert str(counted) == ("mma:metric_type=METRIC_TYPE.CYCLE:sampling_strategy=SAMPLING_STRATEGY.NONE:sampling_options=:granularity=GRANULARITY.WARP_2:"
                        "buffer_strategy=BUFFER_STRATEGY.CIRCULAR:buffer_type=BUFFER_TYPE.SHARED:buffer_size=0:optimizations=clock32,time_shift")
assert proton.mode.Default().optimizations == [] and str(proton.mode.PCSampling(interval=5)) == "pcsampling:interval=5"
for bad in (lambda: proton.mode.PCSampling(interval=0), lambda: proton.mode.Default(buffer_type="l2"), lambda: proton.mode.Default(optimizations="fast")):
    try:
        bad()
        raise SystemExit("a mode that is none was taken")
    except ValueError:
        pass
for bad in ({"data": "trace"}, {"backend": "instrumentation"}, {"context": "other"}, {"mode": counted}, {"mode": "pcsampling:interval=10"}):
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


class Programs(unittest.TestCase):
    def test_a_program_that_imports_triton(self):
        code, output = program(ADD.format(beyond=0), "-v", "word")
        self.assertEqual((code, output), (0, "passed nereid.triton ['-v', 'word']\n"))

    def test_a_module(self):
        done = subprocess.run([sys.executable, "-m", "nereid", "-m", "json.tool", "--help"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout)

    def nereid(self, *words, given=""):
        done = subprocess.run([sys.executable, "-m", "nereid", *words], input=given, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=300)
        return done.returncode, done.stdout

    def test_code_of_the_command_line(self):
        code = """
import sys
import numpy as np
import triton
import triton.language as tl

@triton.jit
def fill(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 7.0)

x = np.zeros(16, "f4")
fill[(1,)](x, BLOCK=16)
print(triton.__name__, sys.argv, __name__, x.sum())
"""
        self.assertEqual(self.nereid("-c", code, "word"), (0, "nereid.triton ['-c', 'word'] __main__ 112.0\n"))
        self.assertEqual(self.nereid("-", "word", given=code), (0, "nereid.triton ['-', 'word'] __main__ 112.0\n"))

    def test_words_that_name_no_program(self):
        self.assertEqual(self.nereid("nowhere.py"), (2, "python -m nereid: cannot open 'nowhere.py': No such file or directory\n"))
        self.assertEqual(self.nereid("-c"), (2, "python -m nereid: -c needs a program text\n"))
        for module in ("no_such_module", "no_such_package.module", "json.no_such_module"):
            self.assertEqual(self.nereid("-m", module), (2, f"python -m nereid: there is no module {module!r}\n"))
        code, output = self.nereid("-x")
        self.assertEqual((code, output.splitlines()[0]), (2, "python -m nereid: there is no option -x"))

    def test_the_interpreter_verifies_accesses(self):
        code, output = program(ADD.format(beyond=0), TRITON_INTERPRET="1")
        self.assertEqual(code, 0, output)
        code, output = program(ADD.format(beyond=4), TRITON_INTERPRET="1")
        self.assertNotEqual(code, 0)
        self.assertIn("program.py:11:", output)

    def test_a_null_pointer_fails_its_launch_alone(self):
        code, output = program(NULL)
        self.assertEqual(code, 0, output)
        self.assertRegex(output, r"RuntimeError kernel `fill` \(program.py:10:5\) writes to memory that is not there, at "
                                 r"0x\w+: its argument `x` is a null pointer; `nereid check`, or the interpreter")
        self.assertTrue(output.endswith("1000.0\n"), output)

    def test_what_a_caught_kernel_may_have_harmed(self):
        code, output = program(NULL + "\nimport ctypes\nctypes.string_at(8)\n")
        self.assertNotEqual(code, 0)
        self.assertIn("1000.0\nnereid: a kernel reached memory that is not there before this; what it wrote", output)

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

    def test_children_have_it_too(self):
        with tempfile.TemporaryDirectory() as hidden:
            (pathlib.Path(hidden) / "sitecustomize.py").write_text("import os; os.write(1, b'hidden read\\n')  # one write: several processes start at once")
            code, output = program("""
                import multiprocessing, subprocess, sys

                def child(how):
                    import triton
                    print(how, triton.__name__, flush=True)

                if __name__ == "__main__":
                    for how in ("spawn", "fork"):
                        process = multiprocessing.get_context(how).Process(target=child, args=(how,))
                        process.start()
                        process.join()
                    text = "import sys; print('nereid' in sys.modules); import triton; print(triton.__name__)"
                    subprocess.run([sys.executable, "-c", text])
                """, PYTHONPATH=os.pathsep.join([hidden, os.environ.get("PYTHONPATH", "")]))
        self.assertEqual(code, 0, output)
        lines = output.splitlines()
        self.assertEqual([one for one in lines if one != "hidden read"], ["spawn nereid.triton", "fork nereid.triton", "False", "nereid.triton"])
        self.assertGreaterEqual(lines.count("hidden read"), 3)  # here, by the spawned one and by the subprocess


if __name__ == "__main__":
    unittest.main()
