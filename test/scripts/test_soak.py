"""The kernels of the soak are programs, the same for a seed, and a difference is seen."""
import importlib.util
import pathlib
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("soak", ROOT / "scripts" / "soak.py")
soak = importlib.util.module_from_spec(spec)
spec.loader.exec_module(soak)


class Soak(unittest.TestCase):
    def test_kernels_are_programs_and_repeat(self):
        texts = set()
        for seed in range(200):
            kernel = soak.Kernel(seed)
            compile(kernel.text, f"{seed}.py", "exec")
            self.assertEqual(kernel.text, soak.Kernel(seed).text)
            self.assertTrue(kernel.outputs)
            texts.add(kernel.text)
        self.assertGreater(len(texts), 190)

    def test_every_kind_of_statement_occurs(self):
        text = "".join(soak.Kernel(seed).text for seed in range(200))
        for piece in ("//", "<<", "tl.where", ".to(tl.bfloat16)", "tl.cumsum", "tl.xor_sum", "tl.broadcast_to", "for k in",
                      "tl.maximum", "tl.trans"):
            self.assertIn(piece, text)

    def test_differences(self):
        one = {"y0": {"data": [1, "nan", -0.0]}}
        self.assertIsNone(soak.difference(one, {"y0": {"data": [1, "nan", -0.0]}}))
        for data in ([2, "nan", -0.0], [1, 0.0, -0.0], [1, "nan", 0.0], [1, "nan"]):
            self.assertIsNotNone(soak.difference(one, {"y0": {"data": data}}))
        self.assertIsNotNone(soak.difference(one, {}))


if __name__ == "__main__":
    unittest.main()
