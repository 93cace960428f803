"""Signatures as `nereid compile` takes them, for Triton's compiler."""
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench"))
from ast_source import parts, source_of, split

try:
    import triton
except ImportError:
    triton = None


class AstSource(unittest.TestCase):
    def test_brackets_keep_commas(self):
        self.assertEqual(split("*fp32:16, (i32, (1, 2)), tensordesc<fp16[8, 8]>, f(1, 2), 'a, (b'"),
                         ["*fp32:16", "(i32, (1, 2))", "tensordesc<fp16[8, 8]>", "f(1, 2)", "'a, (b'"])

    def test_parts(self):
        signature, constants, attributes = parts([("x", False), ("n", False), ("one", False), ("half", False), ("BLOCK", True), ("TYPE", True), ("SIZES", True)],
                                                 ["*fp32:16", "i64", "i32:1", "fp8e4nv", "64", "tl.float16", "(1, 2)"], {"tl": type("tl", (), {"float16": "f16"})})
        self.assertEqual(signature, {"x": "*fp32", "n": "i64", "one": "constexpr", "half": "fp8e4nv", "BLOCK": "constexpr", "TYPE": "constexpr", "SIZES": "constexpr"})
        self.assertEqual(constants, {(2, ): 1, (4, ): 64, (5, ): "f16", (6, ): (1, 2)})
        self.assertEqual(attributes, {(0, ): [["tt.divisibility", 16]]})

    def test_what_is_not_tried(self):
        for word in ("(i32, i32)", "tensordesc<fp16[8, 8]>"):
            with self.assertRaisesRegex(NotImplementedError, "`x`: tuples and descriptors"):
                parts([("x", False)], [word], {})
        with self.assertRaises(ValueError):
            parts([("x", False)], ["i32", "i32"], {})

    @unittest.skipUnless(triton and hasattr(triton, "compiler"), "no Triton")
    def test_a_kernel_within_decorators(self):
        def kernel(x, n, BLOCK):
            pass

        tuned = triton.autotune([triton.Config({})], key=[])(triton.jit(kernel))
        source = source_of(tuned, "*fp32:16, i32, 8")
        self.assertEqual((source.signature, source.attrs), ({"x": "*fp32", "n": "i32", "BLOCK": "constexpr"}, {(0, ): [["tt.divisibility", 16]]}))


if __name__ == "__main__":
    unittest.main()
