"""`nereid tune`: it measures, keeps the best in a tuning file, and `run` and `bench` take it from there."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NEREID = ROOT / os.environ.get("NEREID_BUILD", "build/release") / "bin/nereid"

KERNEL = """
import triton
import triton.language as tl

# One is no power of two, one is wrong.
@triton.autotune([triton.Config({"BLOCK": b}) for b in (16, 48, 4096, 32)], key=["n"])
@triton.jit
def scale(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    factor = 3.0 if BLOCK != 32 else 5.0
    tl.store(y + i, tl.load(x + i, mask=i < n) * factor, mask=i < n)
"""


def nereid(*words, code=0):
    done = subprocess.run([NEREID, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
    if done.returncode != code:
        raise AssertionError(f"{words}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done


@unittest.skipUnless(NEREID.exists(), f"no command in {NEREID.parent}")
class Tune(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        (self.folder / "scale.py").write_text(KERNEL)

    def words(self, dtype="f32"):
        return [f"{self.folder}/scale.py:scale", "--arg", f"x=randn(5000,{dtype})", "--arg", f"y=empty(5000,{dtype})", "--arg", "n=5000",
                "--grid", "(cdiv(n, BLOCK),)", "--device", "cpu"]

    def test_kernel(self):
        before = nereid("run", *self.words())
        self.assertIn("configuration 0 of 4: BLOCK=16", before.stderr)
        found = json.loads(nereid("tune", *self.words(), "--seconds", "0.02", "--json").stdout)["rows"][0]["configs"]
        self.assertEqual(len(found), 4)
        self.assertLessEqual(found[0]["seconds"], found[1]["seconds"])
        best = found[0]["config"].split()[0]
        self.assertIn(best, ("BLOCK=16", "BLOCK=4096"))
        failures = {one["config"].split()[0]: one["failure"] for one in found}
        self.assertIsNone(failures["BLOCK=16"])
        self.assertIn("power of", failures["BLOCK=48"])
        self.assertEqual(failures["BLOCK=32"], "its result differs from that of 2 other configurations")
        file = json.loads((self.folder / "tuned.json").read_text())
        self.assertEqual(file["version"], 1)
        row, = file["rows"]
        self.assertEqual((row["target"], row["kernel"]), ("x86-64", "scale"))
        self.assertEqual(row["case"], {"n": 5000, "x": "fp32", "y": "fp32"})
        self.assertEqual(f"BLOCK={row['config']['BLOCK']}", best)
        self.assertIn(best, nereid("run", *self.words()).stderr)
        # Whichever was best, the first is not what is taken now.
        row["config"]["BLOCK"] = 4096
        (self.folder / "tuned.json").write_text(json.dumps(file))
        self.assertIn("configuration 2 of 4: BLOCK=4096", nereid("run", *self.words()).stderr)
        # For other types nothing was measured.
        self.assertIn("configuration 0 of 4", nereid("run", *self.words("f16")).stderr)
        # Nor for another source.
        (self.folder / "scale.py").write_text(KERNEL.replace("3.0", "2.0"))
        self.assertIn("configuration 0 of 4", nereid("run", *self.words()).stderr)

    def test_file_of_its_own(self):
        pinned = self.folder / "pinned.json"
        nereid("tune", *self.words(), "--seconds", "0.01", "--dry-run", "--tuned", pinned)
        self.assertFalse(pinned.exists())
        # Rows may be written by hand: what a row leaves out it does not ask for.
        pinned.write_text(json.dumps({"version": 1, "rows": [{"kernel": "scale", "config": {"BLOCK": 4096, "num_warps": 4, "num_stages": 3}}]}))
        self.assertIn("configuration 2 of 4", nereid("run", *self.words("f16"), "--tuned", pinned).stderr)
        pinned.write_text("{}")
        self.assertIn("is no tuning file: it has no version", nereid("run", *self.words(), "--tuned", pinned, code=1).stderr)

    def test_kernel_folder(self):
        folder = self.folder / "softmax"
        shutil.copytree(ROOT / "kernels/softmax", folder, ignore=shutil.ignore_patterns("tuned.json"))
        words = ["--cases", "demo", "--device", "cpu", "--seconds", "0.001", "--variant", "persistent"]
        nereid("tune", folder, *words)
        row, = json.loads((folder / "tuned.json").read_text())["rows"]
        self.assertEqual((row["target"], row["variant"], row["case"]["N"]), ("x86-64", "forward.persistent", 781))
        # Whichever was best, another one may be pinned: bench takes it.
        for stages in (2, 4):
            row["config"] = {"STAGES": stages}
            (folder / "tuned.json").write_text(json.dumps({"version": 1, "rows": [row]}))
            found, = json.loads(nereid("bench", folder, *words, "--json").stdout)["rows"]
            self.assertEqual(found["config"], f"STAGES={stages}")
        found, = json.loads(nereid("bench", folder, *words, "--untuned", "--json").stdout)["rows"]
        self.assertNotEqual(found["config"], "STAGES=4")
        # Measured with another kernel, it says nothing.
        with open(folder / "kernel.py", "a") as kernel:
            kernel.write("\n# edited\n")
        found, = json.loads(nereid("bench", folder, *words, "--json").stdout)["rows"]
        self.assertNotEqual(found["config"], "STAGES=4")

    def test_refused(self):
        (self.folder / "plain.py").write_text(KERNEL.replace("@triton.autotune", "# "))
        text = nereid("tune", f"{self.folder}/plain.py:scale", "--arg", "x=ones(4,f32)", "--device", "cpu", code=1).stderr
        self.assertIn("`scale` is not autotuned: `@triton.autotune(configs=[...], key=[...])` above", text)


if __name__ == "__main__":
    unittest.main()
