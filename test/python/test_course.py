"""The last day of the course, as a program with PyTorch."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DAY = ROOT / "examples" / "track" / "day35_whole"

try:
    import torch
except ImportError:
    torch = None


@unittest.skipUnless(DAY.exists(), "a packed tree has no lessons")
@unittest.skipUnless(torch, "torch is not installed")
class Autograd(unittest.TestCase):
    def run_day(self, program):
        return subprocess.run([sys.executable, "-B", program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=500)

    def test_agrees_with_torch(self):
        done = self.run_day(DAY / "autograd.py")
        self.assertEqual(done.returncode, 0, done.stdout)
        # torch warns where its threads of the backward pass have had no context of a GPU.
        self.assertEqual([line.split(":")[0] for line in done.stdout.splitlines() if ": greatest error" in line], ["out", "dq", "dk", "dv"], done.stdout)

    def test_sees_a_wrong_gradient(self):
        # Without causal masks in the backward pass the outputs agree and gradients do not.
        text = (DAY / "autograd.py").read_text()
        right = "*ctx.last, **ctx.tiles)\n        return dq"
        self.assertIn(right, text)
        text = text.replace(right, "*ctx.last, **{**ctx.tiles, 'CAUSAL': False})\n        return dq")
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "autograd.py"
            program.write_text(text.replace("pathlib.Path(__file__).resolve().parents[3]", f"pathlib.Path({str(ROOT)!r})"))
            done = self.run_day(program)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("dq: greatest error", done.stdout)


if __name__ == "__main__":
    unittest.main()
