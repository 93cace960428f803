"""Tensors of torch: on the CPU always, on a GPU if there is one; under autograd; `reinterpret`; descriptors;
torch.compile; microscaling formats."""
import contextlib
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import nereid.triton as triton
import nereid.triton.language as tl
from nereid.triton.tools.ragged_tma import atomic_add_ragged, create_ragged_descriptor, load_ragged, store_ragged
from nereid.triton.tools.tensor_descriptor import TensorDescriptor

try:
    import torch
except ImportError:
    torch = None


@triton.jit
def square(x, y, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + o, mask=o < n)
    tl.store(y + o, v * v, mask=o < n)


@triton.jit
def copy_blocks(source, target, M: tl.constexpr, N: tl.constexpr):
    i = tl.program_id(0) * M
    target.store([i, 0], source.load([i, 0]))


@triton.jit
def raise_parts(source, target, starts, sizes, ADD: tl.constexpr, M: tl.constexpr):
    part = tl.program_id(0)
    start, size = tl.load(starts + part), tl.load(sizes + part)
    for row in range(0, size, M):
        block = load_ragged(source, start, size, [row, 0]) + 1
        if ADD:
            atomic_add_ragged(target, start, size, [row, 0], block)
        else:
            store_ragged(target, start, size, [row, 0], block)


@triton.jit
def say(x, limit):
    v = tl.load(x)
    tl.device_print("value", v)
    tl.device_assert(v < limit, "small")


# Inductor makes Triton kernels for a CPU too when it is told so; they go through `triton.compile`.
COMPILED = """
import torch
import triton
import torch._inductor.config as config
config.cpu_backend, config.compile_threads, config.fx_graph_cache = "triton", 1, False
device = triton.runtime.driver.active.get_active_torch_device()
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.LayerNorm(32), torch.nn.GELU(), torch.nn.Linear(32, 4),
                            torch.nn.Softmax(-1)).to(device)
x = torch.randn(8, 16, device=device)
compiled, names = torch.compile(model), []
triton.knobs.runtime.launch_enter_hook.add(lambda metadata: names.append(metadata.get()["name"]))
results = []
for call in (model, compiled):
    model.zero_grad()
    result = call(x)
    (result**2).sum().backward()
    results.append([result.detach(), *(one.grad.clone() for one in model.parameters())])
assert names and all(name.startswith("triton_") for name in names), names
for one, other in zip(*results):
    torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)
print("kernels launched:", len(names))
"""


# A program's own kernels in a compiled function: called plainly, tuned, and behind operators of torch.library.
@triton.jit
def move_and_count(x, counts, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK
    out.store([row, 0], x.load([row, 0]))
    tl.atomic_add(counts, n)


OWN_KERNELS = """
import torch
import triton
import triton.language as tl
from torch.library import custom_op, triton_op, wrap_triton
import torch._inductor.config as config
config.cpu_backend, config.compile_threads, config.fx_graph_cache = "triton", 1, False
device = triton.runtime.driver.active.get_active_torch_device()

@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + o, tl.load(x + o, mask=o < n) + tl.load(y + o, mask=o < n), mask=o < n)

@triton.autotune(configs=[triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 64})], key=["n"], warmup=1, rep=1)
@triton.jit
def multiply(x, y, out, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + o, tl.load(x + o, mask=o < n) * tl.load(y + o, mask=o < n), mask=o < n)

@custom_op("nereid_test::add", mutates_args=())
def opaque(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    add[(triton.cdiv(x.numel(), 64),)](x, y, out, x.numel(), BLOCK=64)
    return out

@opaque.register_fake
def _(x, y):
    return torch.empty_like(x)

opaque.register_autograd(lambda ctx, grad: (grad, grad), setup_context=lambda ctx, inputs, output: None)

@triton_op("nereid_test::multiply", mutates_args={})
def seen(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    wrap_triton(multiply)[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, out, x.numel())
    return out

def plain(x, y):
    out = torch.empty_like(x)
    add[(triton.cdiv(x.numel(), 64),)](torch.sin(x), y, out, x.numel(), BLOCK=64)
    return out * 2

x, y = torch.randn(200, device=device), torch.randn(200, device=device)
torch.library.opcheck(opaque, (x, y))
for call in (plain, lambda x, y: opaque(x, y) * 2, lambda x, y: seen(x, y) + 1):
    torch.testing.assert_close(torch.compile(call, fullgraph=True)(x, y), call(x, y))
torch.testing.assert_close(plain(x, y), (torch.sin(x) + y) * 2)

# Triton's helpers of sizes that are symbols.
def sized(x, y):
    return plain(x, y) + torch.zeros(triton.next_power_of_2(x.shape[0]), device=device)[:x.shape[0]]

for size in (200, 130):
    torch.testing.assert_close(torch.compile(sized, fullgraph=True, dynamic=True)(x[:size].clone(), y[:size].clone()), plain(x[:size], y[:size]))

# None is -1 in the calls that Inductor writes.
@triton.jit
def add_if(x, y, out, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + o, mask=o < n)
    if y is not None:
        value += tl.load(y + o, mask=o < n)
    tl.store(out + o, value, mask=o < n)

def twice(x):
    out = torch.empty_like(x)
    add_if[(triton.cdiv(x.numel(), 64),)](x, None, out, x.numel(), BLOCK=64)
    add_if[(triton.cdiv(x.numel(), 64),)](out, x, out, x.numel(), 64)
    return out

torch.testing.assert_close(torch.compile(twice)(x), x + x)

# Sizes that are symbols lead a tuned kernel's launch back to plain Python, which is not traced.
def product(x):
    out = torch.empty_like(x)
    multiply[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, x, out, x.numel())
    return out

symbolic = torch.compile(product, dynamic=True)
for size in (200, 130):
    torch.testing.assert_close(symbolic(x[:size].clone()), x[:size] * x[:size])

# So does a kernel with heuristics that nothing has launched yet: what compiles it is not traced either.
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def double(x, out, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + o, 2 * tl.load(x + o, mask=o < n), mask=o < n)

def doubled(x):
    out = torch.empty_like(x)
    double[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
    return out

torch.testing.assert_close(torch.compile(doubled)(x), x + x)
torch.testing.assert_close(seen(x, y), x * y)
leaf = x.clone().requires_grad_()
torch.compile(lambda x: opaque(x, y).sum(), fullgraph=True)(leaf).backward()
assert (leaf.grad == 1).all()

# What the compiled functions were told that the kernels write.
@triton.heuristics({"EVEN": lambda given: given["n"] % given["BLOCK"] == 0})
@triton.jit
def shift(x, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(x + o, 1.0, mask=o < n)

import torch._higher_order_ops.triton_kernel_wrap as wrap

def written(kernel, values):
    if hasattr(wrap, "identify_accessed_tensors"):
        return [one.name for one in wrap.identify_accessed_tensors(kernel, values, {}).read_writes.writes]
    return wrap.identify_mutated_tensors(kernel, values, {})

three = {"x": x, "y": y, "out": x}
assert written(add, {**three, "n": 200, "BLOCK": 64}) == ["out"]
assert written(multiply, {**three, "n": 200}) == ["out"]
assert written(shift, {"x": x, "n": 200, "BLOCK": 64}) == ["x"]
assert written(add, {**three, "n": "?"}) == ["x", "y", "out"]
print("agreed")
"""


def squared(x):
    y = torch.empty_like(x)
    square[(triton.cdiv(x.numel(), 64), )](x, y, x.numel(), BLOCK=64)
    return y


@unittest.skipUnless(torch, "torch is not installed")
class Tensors(unittest.TestCase):
    def setUp(self):
        self.device = triton.runtime.driver.active.get_active_torch_device()

    def test_element_types(self):
        for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int8, torch.uint8,
                      torch.int32, torch.int64):
            x = torch.arange(8, device=self.device).to(dtype).repeat(20)
            self.assertTrue(torch.equal(squared(x), x * x), dtype)

    def test_a_parameter_and_a_slice(self):
        x = torch.nn.Parameter(torch.randn(100, device=self.device))
        self.assertTrue(torch.equal(squared(x.detach()), x.detach() * x.detach()))
        y = torch.zeros(100, device=self.device)
        square[(2, )](x, y, 100, BLOCK=64)
        self.assertTrue(torch.equal(y, (x * x).detach()))
        self.assertTrue(torch.equal(squared(x.detach()[1:]), (x * x).detach()[1:]))

    def test_a_tensor_where_a_number_is_meant(self):
        x = torch.ones(100)
        with self.assertRaisesRegex(triton.CompilationError, r"(?s)hint: .*argument `n` of `square` is an array of no dimensions.*`.item\(\)`"):
            square[(1, )](x, x, torch.tensor(100), BLOCK=128)

    def test_autograd(self):
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return squared(x)

            @staticmethod
            def backward(ctx, grad):
                return 2 * ctx.saved_tensors[0] * grad

        x = torch.randn(100, device=self.device, requires_grad=True)
        Square.apply(x).sum().backward()
        self.assertTrue(torch.allclose(x.grad, 2 * x.detach()))

    def test_reinterpret(self):
        x = torch.full((64, ), -1, dtype=torch.int8, device=self.device)
        y = torch.zeros(64, dtype=torch.int8, device=self.device)
        square[(1, )](triton.reinterpret(x, tl.uint8), y, 64, BLOCK=64)
        self.assertTrue((y == 1).all())

    def test_descriptors(self):
        x = torch.randn(20, 16, device=self.device)
        y = torch.zeros_like(x)
        copy_blocks[(3, )](TensorDescriptor.from_tensor(x, [8, 16]), TensorDescriptor.from_tensor(y, [8, 16]), 8, 16)
        self.assertTrue(torch.equal(x, y))

    def test_ragged_descriptors(self):
        x = torch.randn(40, 32, device=self.device)
        starts, sizes = (torch.tensor(parts, dtype=torch.int32, device=self.device) for parts in ([0, 5, 20, 39], [5, 11, 17, 1]))
        for adds in (False, True):
            y = torch.full_like(x, -3)
            want = y.clone()
            for start, size in zip(starts.tolist(), sizes.tolist()):
                want[start:start + size] = x[start:start + size] + 1 - 3 * adds
            raise_parts[(4, )](create_ragged_descriptor(x, [8, 32]), create_ragged_descriptor(y, [8, 32]), starts, sizes,
                               adds, 8)
            self.assertTrue(torch.equal(y, want))
        with self.assertRaisesRegex(AssertionError, "cannot be ragged"):
            create_ragged_descriptor(x, [8, 32], ragged_dim=1)

    @unittest.skipUnless(torch and torch.cuda.is_available(), "there is no GPU")
    def test_tensors_of_two_devices(self):
        with self.assertRaisesRegex(ValueError, "cpu tensor"):
            square[(1, )](torch.ones(64), torch.ones(64, device="cuda"), 64, BLOCK=64)

    def test_torch_compile(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "program.py"
            path.write_text(COMPILED)
            done = subprocess.run([sys.executable, "-m", "nereid", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, timeout=300, env={**os.environ, "TORCHINDUCTOR_CACHE_DIR": folder})
        self.assertEqual(done.returncode, 0, done.stdout[-3000:])
        self.assertIn("kernels launched:", done.stdout)

    def test_kernels_within_torch_compile(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "program.py"
            path.write_text(OWN_KERNELS)
            done = subprocess.run([sys.executable, "-m", "nereid", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, timeout=600, env={**os.environ, "TORCHINDUCTOR_CACHE_DIR": folder})
        self.assertEqual(done.returncode, 0, done.stdout[-3000:])
        self.assertIn("agreed", done.stdout)
        self.assertNotIn("assuming every input is mutated", done.stdout)

    def test_accesses_of_kernels(self):
        from nereid._mutations import accesses

        x, out = torch.empty(32, 32), torch.empty(32, 32)
        values = dict(x=x, counts=torch.empty(4, dtype=torch.int32), out=out, n=32, BLOCK=16)
        self.assertEqual(accesses(move_and_count, values, {"x": [16, 16], "out": [16, 16]}), (["x", "counts"], ["counts", "out"]))
        # A descriptor of which nothing is known, and values for which the kernel does not compile: every tensor.
        everything = (["x", "counts", "out"], ) * 2
        self.assertEqual(accesses(move_and_count, values, {"x": [16, 16], "out": None}), everything)
        self.assertEqual(accesses(move_and_count, values, {}), everything)

    def test_tensors_without_memory(self):
        x = torch.ones(64, device=self.device)
        with self.assertRaisesRegex(ValueError, "Pointer argument cannot be accessed"):
            square[(1, )](torch.empty(64, device="meta"), x, 64, BLOCK=64)
        empty = x[:0]
        square[(1, )](empty, empty, 0, BLOCK=64)
        square[(0, )](x, x, 64, BLOCK=64)

    def test_fake_tensors(self):
        from torch._subclasses.fake_tensor import FakeTensorMode
        with FakeTensorMode():
            fake = torch.empty(4)
        with self.assertRaisesRegex(ValueError, "argument `x` of `square`: .*a tensor without memory, as a FakeTensor is"):
            square[(1, )](fake, torch.empty(4), 4, BLOCK=4)

    def test_sparse_tensors(self):
        for x in (torch.eye(4).to_sparse(), torch.eye(4).to_sparse_csr()):
            with self.assertRaisesRegex(ValueError, r"argument `x` of `square`: .*a sparse tensor \(torch.sparse_.*to_dense"):
                square[(1, )](x, torch.zeros(16), 16, BLOCK=16)

    def test_strided_tensors(self):
        x = torch.randn(64, 2, device=self.device)
        y = torch.zeros(64, device=self.device)
        square[(1, )](x.t().contiguous()[1], y, 64, BLOCK=64)
        self.assertTrue(torch.equal(y, x[:, 1] * x[:, 1]))
        square[(1, )](x[:, 1], y, 64, BLOCK=64)  # a tensor is its address: without strides a kernel sees what follows
        self.assertTrue(torch.equal(y, (x.flatten()[1:65])**2))

    def test_microscaling_formats(self):
        from nereid.triton.tools.mxfp import MXFP4Tensor, MXScaleTensor

        values = torch.tensor([0, 0.25, 0.26, 0.75, 1.25, -1.75, 2.5, 3.5, -5, 5.1, 100, float("inf"), float("nan")])
        rounded = torch.tensor([0, 0, 0.5, 1, 1, -2, 2, 4, -4, 6, 6, 6, 6.0])
        four = MXFP4Tensor(values)
        self.assertTrue(torch.equal(four.to(torch.float32), rounded))
        packed = four.to_packed_tensor(0)
        self.assertEqual(packed[0].item(), int(four.data[0]) | int(four.data[1]) << 4)
        self.assertTrue(torch.equal(four.unpack_packed_tensor(packed, 0, (13, )), four.data))
        scales = MXScaleTensor(torch.tensor([1, 3, 0.3, 2.0**-127, 2.0**127, 0, -1, float("nan")]))
        self.assertEqual(scales.data.tolist(), [127, 128, 125, 0, 254, 255, 255, 255])
        self.assertEqual(scales.to(torch.float32)[:5].tolist(), [1, 2, 0.25, 2.0**-127, 2.0**127])

    @unittest.skipUnless(torch and torch.cuda.is_available(), "there is no GPU")
    def test_prints_and_assertions_of_a_gpu(self):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            for value in (3, 4):
                say[(2, )](torch.tensor([value], device="cuda"), 5, debug=True)
            torch.cuda.synchronize()
            list(range(10))
        self.assertEqual(said.getvalue().count("value"), 4, said.getvalue())
        with contextlib.redirect_stdout(io.StringIO()), self.assertRaisesRegex(RuntimeError, "small"):
            say[(1, )](torch.tensor([7], device="cuda"), 5, debug=True)
            torch.cuda.synchronize()
            list(range(10))
        say[(1, )](torch.tensor([7], device="cuda"), 8, debug=True)
        torch.cuda.synchronize()

    @unittest.skipUnless(torch and torch.cuda.is_available(), "there is no GPU")
    def test_streams_and_graphs(self):
        x, y = torch.randn(64, device="cuda"), torch.zeros(64, device="cuda")
        square[(1, )](x, y, 64, BLOCK=64)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            square[(1, )](x, y, 64, BLOCK=64)
        x.fill_(3)
        graph.replay()
        torch.cuda.synchronize()
        self.assertTrue((y == 9).all())


if __name__ == "__main__":
    unittest.main()
