"""bench/record_launches.py: what a program launches is written down without a GPU."""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

PROGRAM = """
import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": b}, num_warps=w) for b, w in ((128, 4), (256, 8), (512, 8))], key=["n"])
@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def scale(x, out, n, by, BLOCK: tl.constexpr, KIND: tl.constexpr = "plain"):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * by, mask=i < n)


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = torch.empty_like(x)
        scale[(1, )](x, out, x.numel(), 2.0, BLOCK=1024)
        return out

    @staticmethod
    def backward(ctx, grad):
        out = torch.empty(grad.shape, device=grad.device)
        scale[(1, )](grad, out, grad.numel(), 2.0, BLOCK=1024, KIND="gradient", num_warps=2)
        return out


x = torch.randn(10_000_000_000, device="cuda")  # without memory
assert x.is_cuda and str(x.device) == "cuda:0" and x.cpu is not None
y = torch.ones(10).cuda()
assert (y.sum() > 3).item() and y.to(torch.int32).tolist() == [64] * 10 and torch.ones(3).tolist() == [1.0] * 3
grid = lambda meta: (triton.cdiv(10_000_000_000, meta["BLOCK"]), )
add[grid](x, x[1:], x, x.numel())
add[grid](x, x[1:], x, x.numel())
small = torch.randn(1000, device="cuda", requires_grad=True)
Twice.apply(small).sum().backward()


class Buffer:  # what is passed for a tensor
    dtype = torch.float16

    def data_ptr(self):
        return 4


scale[(1, )](small, Buffer(), 16, 2.0, BLOCK=16)
broken = torch.randn(16, dtype=torch.complex64, device="cuda")
scale[(1, )](small, broken, 16, 1, BLOCK=16)
"""


@unittest.skipIf(importlib.util.find_spec("torch") is None, "this Python has no torch")
class RecordLaunches(unittest.TestCase):
    def test_launches_of_a_program(self):
        with tempfile.TemporaryDirectory() as folder:
            where = pathlib.Path(folder)
            (where / "programs.json").write_text(json.dumps([dict(name="one", code=textwrap.dedent(PROGRAM)), dict(name="two", code="raise ValueError('no luck')")]))
            done = subprocess.run([sys.executable, "-m", "nereid", str(ROOT / "bench/record_launches.py"), "--out", str(where / "out"), str(where / "programs.json")],
                                  capture_output=True, text=True, timeout=300, env={**os.environ, "NEREID_CACHE_DIR": str(where / "cache")})
            self.assertEqual(done.returncode, 0, done.stderr)
            said = (where / "out/0/said.txt").read_text()
            self.assertEqual(said.strip().splitlines()[-1], "ends with 0", said)
            said = (where / "out/1/said.txt").read_text()
            self.assertIn("ValueError: no luck", said)
            self.assertEqual(said.strip().splitlines()[-1], "ends with 1")
            rows = [json.loads(line) for line in (where / "out/0/launches.json").read_text().splitlines()]
            self.assertEqual([(row["kernel"], row["signature"], row["options"].get("num_warps")) for row in rows], [
                ("add", "*fp32:16, *fp32, *fp32:16, i64:16, 128", 4),
                ("add", "*fp32:16, *fp32, *fp32:16, i64:16, 256", 8),
                ("scale", "*fp32:16, *fp32:16, i32, fp32, 1024, 'plain'", None),
                ("scale", "*fp32:16, *fp32:16, i32, fp32, 1024, 'gradient'", 2),
                ("scale", "*fp32:16, *fp16, i32:16, fp32, 16, 'plain'", None),
                ("scale", "*fp32:16, *complex64:16, i32:16, 1, 16, 'plain'", None),
            ])
            self.assertEqual(rows[0]["grid"], [78125000])
            for row in rows[:-1]:
                self.assertIn(".target sm_90a", (where / "out/0" / row["ptx"]).read_text())
            self.assertIn("complex64", rows[-1]["error"])


if __name__ == "__main__":
    unittest.main()
