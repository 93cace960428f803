"""`nereid bench --search`: it sweeps, compares, ranks, says what it left out, and goes on where it was ended."""
import csv
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NEREID = ROOT / os.environ.get("NEREID_BUILD", "build/release") / "bin/nereid"

# With BLOCK = 32 the result is wrong; 48 is no power of two.
KERNEL = """
import triton
import triton.language as tl


@triton.jit
def scale(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    factor = 3.0 if BLOCK != 32 else 5.0
    tl.store(y + i, tl.load(x + i, mask=i < n) * factor, mask=i < n)


@triton.jit
def add_one(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) + 1.0, mask=i < n)
"""
SPEC = """
def inputs(n, dtype, padded=False):
    return dict(x=randn((n,), dtype))

outputs = lambda n, dtype: dict(y=empty((n,), dtype))

def blocks(x, y, n, BLOCK):
    return [launch("scale", (cdiv(n, BLOCK),), x, y, n, BLOCK=BLOCK)]

def not_odd(x, y, n):
    return unsupported("odd sizes") if n % 2 else blocks(x, y, n, 1024)

def in_place_inputs(n):
    return dict(x=randn((n,), "f32"))

def add(x, n, BLOCK):
    return [launch("add_one", (cdiv(n, BLOCK),), x, n, BLOCK=BLOCK)]

tolerance = dict(rel=2 * eps("f32"), abs=2 * eps("f32"))
tasks = dict(
    scale=dict(inputs=inputs, outputs=outputs, variants=dict(blocks=dict(run=blocks, configs=[dict(BLOCK=64)]), not_odd=not_odd),
               bench=[dict(n=1000, dtype="f32")], flops=lambda n: n),
    add=dict(inputs=in_place_inputs, outputs=lambda x: dict(x=x), variants=dict(add=dict(run=add, configs=[dict(BLOCK=64)])),
             bench=[dict(n=1000)]))
"""
REFERENCE = """
scale = lambda x: dict(y=3 * x)
add = lambda x: dict(x=x + 1)
"""


@unittest.skipUnless(NEREID.exists(), f"no command in {NEREID.parent}")
class Search(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name) / "scale"
        self.folder.mkdir()
        for name, text in (("kernel.py", KERNEL), ("spec.py", SPEC), ("reference.py", REFERENCE)):
            (self.folder / name).write_text(text)

    def run_it(self, *words, code=(0, 1)):
        done = subprocess.run([NEREID, "bench", self.folder, "--device", "cpu", "--seconds", "0.002", *map(str, words)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
        self.assertIn(done.returncode, code, done.stdout + done.stderr)
        return done

    def search(self, *words):
        done = self.run_it(*words, "--json")
        found = json.loads(done.stdout)
        verdicts = [row["verdict"] for row in found["rows"]]
        isGood = "wrong" not in verdicts and all(best["good"] for best in found["best"])
        self.assertEqual(done.returncode, 0 if isGood else 1)
        for row in found["rows"]:
            # On a busy machine samples spread; what is asked here is another thing.
            row["verdict"] = row["verdict"].replace("noisy", "good")
        return found, done.stderr

    def test_sweep(self):
        found, _ = self.search("--variant", "scale.blocks", "--search", "n=500:2000:*2", "--search", "BLOCK=32:64:16,128")
        verdicts = {(row["shape"], row["config"]): row["verdict"] for row in found["rows"]}
        self.assertEqual(verdicts, {(f"n={n} dtype=f32", f"BLOCK={block}"): verdict for n in (500, 1000, 2000) for block, verdict in
                                    ((32, "wrong"), (48, "refused"), (64, "good"), (128, "good"))})
        for row in found["rows"]:
            if row["verdict"] == "good":
                self.assertGreater(row["seconds"], 0)
                self.assertGreater(row["compile_seconds"], 0)
                self.assertEqual(row["compared_with"], "reference")
        for best in found["best"]:
            self.assertEqual(best["tried"], 4)
            rows = [row for row in found["rows"] if row["shape"] == best["shape"] and row["verdict"] == "good"]
            if best["good"] == 2:
                self.assertEqual(best["seconds"], min(row["seconds"] for row in rows))
                self.assertGreaterEqual(best["next"], 1)

    def test_large_cases_are_compared_with_their_first_configuration(self):
        # Of two that differ the first one counts as right.
        found, _ = self.search("--variant", "scale.blocks", "--search", "BLOCK=64,128,32", "--compare-up-to", "999")
        self.assertEqual([row["compared_with"] for row in found["rows"]], [None, "BLOCK=64", "BLOCK=64"])
        self.assertEqual([row["verdict"] for row in found["rows"]], ["good", "good", "wrong"])

    def test_kernels_that_work_in_place(self):
        for limit in ("0", "1e9"):
            found, _ = self.search("--variant", "add.add", "--search", "BLOCK=16,64,256", "--compare-up-to", limit)
            self.assertEqual([row["verdict"] for row in found["rows"]], ["good"] * 3, found)

    def test_where(self):
        found, _ = self.search("--variant", "scale.blocks", "--search", "n=100,1000", "--search", "BLOCK=16:1024:*4", "--where",
                               "BLOCK * 4 <= next_power_of_2(n) and not padded and dtype == 'f32'")
        self.assertEqual([(row["shape"].split()[0], row["config"]) for row in found["rows"]],
                         [("n=100", "BLOCK=16"), ("n=1000", "BLOCK=16"), ("n=1000", "BLOCK=64"), ("n=1000", "BLOCK=256")])
        self.assertIn("the search is empty", self.run_it("--variant", "scale.blocks", "--search", "n=1", "--where", "n > 1", code=(1,)).stderr)
        self.assertIn("`--where` cannot be told for `n=1 dtype=f32 BLOCK=64`",
                      self.run_it("--variant", "scale.blocks", "--search", "n=1", "--where", "m > 1", code=(1,)).stderr)

    def test_tasks_and_skipped_variants(self):
        found, _ = self.search("--search", "n=999,1000")
        self.assertEqual({(best["task"], best["shape"], best["tried"]) for best in found["best"]},
                         {("scale", "n=999 dtype=f32", 1), ("scale", "n=1000 dtype=f32", 2), ("add", "n=999", 1), ("add", "n=1000", 1)})
        skipped = [row for row in found["rows"] if row["verdict"] == "skipped"]
        self.assertEqual([(row["variant"], row["skipped_reason"]) for row in skipped], [("scale.not_odd", "odd sizes")])

    def test_goes_on_where_it_was_ended(self):
        output = self.folder / "rows.jsonl"
        words = ["--variant", "scale.blocks", "--search", "BLOCK=64,128,256,32,48", "--output", output]
        first, _ = self.search(*words)
        lines = output.read_text().splitlines(keepends=True)
        self.assertEqual(len(lines), 5)
        # As if it had been ended while it wrote the third line.
        output.write_text("".join(lines[:2]) + lines[2][:40])
        kept = [json.loads(line) for line in lines[:2]]
        again, said = self.search(*words)
        good = sum(row["verdict"] != "noisy" for row in kept)
        if good:
            self.assertIn(f"{good} of 5 rows were in", said)
        self.assertEqual({row["config"]: row["verdict"] for row in again["rows"]}, {row["config"]: row["verdict"] for row in first["rows"]})
        seconds = {row["config"]: row["seconds"] for row in again["rows"]}
        for row in kept:
            if row["verdict"] == "good":
                self.assertEqual(seconds[row["config"]], row["seconds"])
        # The rest was compared with a row of the first run.
        wrong, = [row for row in again["rows"] if row["config"] == "BLOCK=32"]
        self.assertEqual(wrong["verdict"], "wrong")
        # Another kernel is another search.
        (self.folder / "kernel.py").write_text(KERNEL.replace("5.0", "3.0"))
        changed, said = self.search(*words)
        self.assertNotIn("were in", said)
        self.assertEqual(len(changed["rows"]), 5)

    def test_a_file_of_something_else(self):
        output = self.folder / "notes.txt"
        output.write_text("what is this\n")
        self.assertIn("is not a file of rows of a search", self.run_it("--search", "n=1", "--output", output, code=(1,)).stderr)
        self.assertEqual(output.read_text(), "what is this\n")

    def test_table_and_csv(self):
        path = self.folder / "rows.csv"
        done = self.run_it("--variant", "scale.blocks", "--search", "n=500,1000", "--search", "BLOCK=64,48", "--csv", path)
        self.assertIn("BLOCK=48 and 1 more: refused:", done.stdout)
        self.assertIn("power of two", done.stdout)
        rows = list(csv.DictReader(path.read_text().splitlines()))
        self.assertEqual([(row["shape"], row["config"]) for row in rows],
                         [(f"n={n} dtype=f32", f"BLOCK={block}") for n in (500, 1000) for block in (64, 48)])

    def test_refused(self):
        for words, message in ((["--search", "m=1"], "no case and no configuration of `scale` has the name `m`; there are BLOCK, dtype, n"),
                               (["--search", "n=8:4"], "ends before it starts"),
                               (["--search", "n"], "is not NAME=VALUES")):
            self.assertIn(message, self.run_it(*words, code=(1,)).stderr)
        self.run_it("--where", "n > 1", code=(2,))
        self.run_it("--search", "n=1", "--untuned", code=(2,))


if __name__ == "__main__":
    unittest.main()
