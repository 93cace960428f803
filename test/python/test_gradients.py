"""The backward formulas of the kernel folders against finite differences of their forward formulas.

A backward kernel is compared with `reference.py`; this compares `reference.py` with calculus. Along a
random direction v, (f(x + h v) - f(x - h v)) / 2h must be the gradient's product with v: one number that
every element of the gradient takes part in.
"""
import importlib
import importlib.util
import math
import pathlib
import sys
import types
import unittest

import numpy as np

KERNELS = pathlib.Path(__file__).resolve().parent.parent.parent / "kernels"


def referenceNames():
    """`nereid.reference` for plain Python, where the installed package has none."""
    try:
        importlib.import_module("nereid.reference")
    except ImportError:
        module = types.ModuleType("nereid.reference")
        module.erf = np.vectorize(math.erf, otypes=[np.float64])
        module.uniform = lambda seed, offset, word=0: np.random.default_rng(seed).random(np.shape(offset))
        sys.modules.setdefault("nereid", types.ModuleType("nereid"))
        sys.modules["nereid.reference"] = module


def load(folder):
    spec = importlib.util.spec_from_file_location(f"reference_{folder}", KERNELS / folder / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Gradients(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        referenceNames()

    def setUp(self):
        self.rng = np.random.default_rng(5)

    def randn(self, *shape):
        return self.rng.standard_normal(shape)

    def check(self, forward, inputs, weights, gradients):
        """`forward(**inputs)` gives outputs, of which `weights` makes one number; `gradients` are its derivatives by input."""
        def number(values):
            results = forward(**values)
            return sum(float(np.sum(results[name] * weight)) for name, weight in weights.items())

        step = 1e-5
        for name, gradient in gradients.items():
            self.assertEqual(gradient.shape, inputs[name].shape, name)
            for _ in range(3):
                v = self.randn(*inputs[name].shape)
                above, below = ({**inputs, name: inputs[name] + sign * step * v} for sign in (1, -1))
                seen = (number(above) - number(below)) / (2 * step)
                wanted = float(np.sum(gradient * v))
                # The differences' own error: h^2 of the third derivative, and rounding over h.
                self.assertLess(abs(seen - wanted), 1e-6 * (1 + abs(wanted)), f"{name}: {seen}, by the formula {wanted}")

    def test_gelu(self):
        r = load("gelu")
        x, dy = 2 * self.randn(40), self.randn(40)
        for form in ("tanh", "exact"):
            self.check(getattr(r, form), dict(x=x), dict(y=dy), dict(x=getattr(r, form + "_backward")(x, dy)["dx"]))

    def test_glu(self):
        r = load("glu")
        gate, up, dy = self.randn(3, 20), self.randn(3, 20), self.randn(3, 20)
        for form in ("silu", "gelu", "sigmoid", "relu"):
            got = r.backward(gate, up, dy, form)
            self.check(lambda gate, up: r.forward(gate, up, form), dict(gate=gate, up=up), dict(y=dy), dict(gate=got["dgate"], up=got["dup"]))

    def test_rope(self):
        r = load("rope")
        x, dy, angle = self.randn(2, 3, 4, 10), self.randn(2, 3, 4, 10), self.randn(3, 4)
        for interleaved in (False, True):
            turn = lambda x: r.forward(x, np.cos(angle), np.sin(angle), None, interleaved)
            self.check(turn, dict(x=x), dict(y=dy), dict(x=r.backward(dy, np.cos(angle), np.sin(angle), None, interleaved)["dx"]))

    def test_softmax(self):
        for folder in ("softmax", "log_softmax"):
            r = load(folder)
            x, dy = self.randn(3, 17), self.randn(3, 17)
            self.check(r.forward, dict(x=x), dict(y=dy), dict(x=r.backward(r.forward(x)["y"], dy)["dx"]))

    def test_cross_entropy(self):
        r = load("cross_entropy")
        x, dloss = self.randn(4, 9), self.randn(4)
        target = np.array([3, -100, 0, 8])
        for smoothing in (0.0, 0.2):
            forward = lambda x: dict(loss=r.forward(x, target, -100, smoothing)["loss"])
            self.check(forward, dict(x=x), dict(loss=dloss), dict(x=r.backward(x, target, dloss, -100, smoothing)["dx"]))
            rows, weights = self.randn(4, 6), self.randn(9, 6)
            forward = lambda x, w: dict(loss=r.linear(x, w, target, 0.25, -100, smoothing)["loss"])
            got = r.linear(rows, weights, target, 0.25, -100, smoothing)
            self.check(forward, dict(x=rows, w=weights), dict(loss=np.full(4, 0.25)), dict(x=got["dx"], w=got["dw"]))

    def test_norms(self):
        r = load("layer_norm")
        x, w, b, dy = self.randn(5, 12), self.randn(12), self.randn(12), self.randn(5, 12)
        f = r.forward(x, w, b, 1e-5)
        got = r.backward(x, w, dy, f["mean"], f["rstd"])
        self.check(lambda x, w, b: r.forward(x, w, b, 1e-5), dict(x=x, w=w, b=b), dict(y=dy), dict(x=got["dx"], w=got["dw"], b=got["db"]))
        r = load("rms_norm")
        got = r.backward(x, w, dy, r.forward(x, w, 1e-6)["rstd"])
        self.check(lambda x, w: r.forward(x, w, 1e-6), dict(x=x, w=w), dict(y=dy), dict(x=got["dx"], w=got["dw"]))
        # The gradient of the sum reaches x and the residual alike.
        residual, dtotal = self.randn(5, 12), self.randn(5, 12)
        f = r.residual(x, residual, w, 1e-6)
        got = r.residual_backward(f["total"], w, dy, dtotal, f["rstd"])
        self.check(lambda x, residual, w: r.residual(x, residual, w, 1e-6), dict(x=x, residual=residual, w=w), dict(y=dy, total=dtotal),
                   dict(x=got["dx"], residual=got["dx"], w=got["dw"]))

    def test_attention(self):
        r = load("flash_attention")
        q, k, v = self.randn(1, 4, 9, 6), self.randn(1, 2, 13, 6), self.randn(1, 2, 13, 6)
        do, bias, slopes = self.randn(1, 4, 9, 6), self.randn(1, 4, 9, 13), np.array([0.5, 0.25, 0.125, 0.0625])
        for (causal, window, cap, extra, alibi) in ((False, 0, 0, None, None), (True, 0, 0, bias, None), (True, 4, 0, None, None),
                                                    (False, 5, 0, None, slopes), (True, 0, 1.5, None, slopes)):
            rest = dict(scale=0.4, p=0, seed=0, causal=causal, window=window, soft_cap=cap)
            forward = lambda q, k, v: r.forward(q, k, v, extra, alibi, None, **rest)
            got = r.backward(q, k, v, extra, alibi, do, **rest)
            self.check(forward, dict(q=q, k=k, v=v), dict(out=do), dict(q=got["dq"], k=got["dk"], v=got["dv"]))

    def test_attention_of_lengths(self):
        r = load("flash_attention")
        cu_q, cu_k = np.array([0, 5, 5, 11]), np.array([0, 7, 9, 15])
        q, k, v, do = self.randn(11, 4, 6), self.randn(15, 2, 6), self.randn(15, 2, 6), self.randn(11, 4, 6)
        for window in (0, 3):
            forward = lambda q, k, v: r.lengths(q, k, v, cu_q, cu_k, 0.4, True, window)
            got = r.lengths_backward(q, k, v, do, cu_q, cu_k, 0.4, True, window)
            self.check(forward, dict(q=q, k=k, v=v), dict(out=do), dict(q=got["dq"], k=got["dk"], v=got["dv"]))

    def test_grouped_weights(self):
        r = load("matmul_grouped")
        a, b, dc, offsets = self.randn(9, 4), self.randn(3, 4, 5), self.randn(9, 5), np.array([0, 6, 6, 9])
        self.check(lambda b: r.forward(a, b, offsets), dict(b=b), dict(c=dc), dict(b=r.weight_gradient(a, dc, offsets)["db"]))

    def test_combining_of_experts(self):
        r = load("moe")
        source = np.array([3, 0, 5, 1, 4, 2])
        row = np.argsort(source).reshape(3, 2)
        y, weight, dout = self.randn(6, 7), self.randn(3, 2), self.randn(3, 7)
        got = r.combine_backward(dout, y, source, row, weight)
        self.check(lambda y, weight: r.combine(y, row, weight), dict(y=y, weight=weight), dict(out=dout), dict(y=got["dy"], weight=got["dweight"]))
        # Fetching rows is the sum's own transpose.
        x, dy = self.randn(3, 7), self.randn(6, 7)
        self.check(lambda x: r.permute(x, source, 2), dict(x=x), dict(y=dy), dict(x=r.combine(dy, row, None)["out"]))


if __name__ == "__main__":
    unittest.main()
