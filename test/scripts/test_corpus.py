"""The corpus: recorded results against formulas, and the parts of the drivers that turn facts into command lines."""
import ast
import importlib.util
import json
import math
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import corpus  # noqa: E402
import corpus_guess  # noqa: E402
import corpus_inputs  # noqa: E402
import corpus_tools  # noqa: E402
import corpus_uses  # noqa: E402


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem.replace("-", "_"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def loadFormulas():
    return load(ROOT / "test" / "corpus" / "formulas.py").FORMULAS


def launches():
    for facts in sorted((ROOT / "test" / "corpus").glob("*.json")):
        yield from json.loads(facts.read_text())["launches"]


class Results(unittest.TestCase):
    def test_recorded_results_follow_the_formulas(self):
        formulas, tried = loadFormulas(), set()
        for launch in launches():
            formula = formulas.get(launch["kernel"])
            if formula is None or "expect" not in launch:
                continue
            arguments = {fact["name"]: corpus_inputs.makeInput(fact, index) if fact["kind"] == "pointer" else fact.get("value")
                         for index, fact in enumerate(launch["args"])}
            with self.subTest(kernel=launch["kernel"], by=launch["by"]):
                for name, values in formula(**arguments).items():
                    if name in launch["expect"]:
                        tried.add((launch["kernel"], name))
                        self.assertIsNone(corpus_inputs.differs(corpus_inputs.digest(values), launch["expect"][name], 1e-5, 1e-6))
        self.assertEqual({kernel for kernel, _ in tried}, set(formulas))

    def test_every_launch_has_a_signature(self):
        for launch in launches():
            with self.subTest(kernel=launch["kernel"], by=launch["by"]):
                self.assertTrue(corpus_tools.signatureOf(launch))


class Digests(unittest.TestCase):
    values = [((i * 7919) % 101) / 101 - 0.4 for i in range(1000)]

    def why(self, other):
        return corpus_inputs.differs(corpus_inputs.digest(other), corpus_inputs.digest(self.values), 1e-5, 1e-6)

    def test_rounding_is_allowed(self):
        self.assertIsNone(self.why([v * (1 + 1e-7) for v in self.values]))

    def test_one_wrong_element_is_seen(self):
        self.assertIsNotNone(self.why([v + (i == 517) * 0.5 for i, v in enumerate(self.values)]))

    def test_two_exchanged_elements_are_seen(self):
        other = list(self.values)
        other[10], other[400] = other[400], other[10]
        self.assertIsNotNone(self.why(other))

    def test_nan_is_seen(self):
        self.assertIsNotNone(self.why([float("nan")] + self.values[1:]))


class NarrowFloats(unittest.TestCase):
    def test_all_patterns_come_back(self):
        for dtype, count in (("bf16", 1 << 16), ("fp8e4nv", 1 << 8)):
            for bits in range(count):
                value = corpus_tools.fromBits(dtype, bits)
                if math.isfinite(value) and not (value == 0 and bits):
                    self.assertEqual(corpus_tools.toBits(dtype, value), bits, (dtype, bits))

    def test_rounding(self):
        self.assertEqual(corpus_tools.fromBits("bf16", corpus_tools.toBits("bf16", 1 + 2**-8)), 1)
        self.assertEqual(corpus_tools.fromBits("bf16", corpus_tools.toBits("bf16", 1 + 3 * 2**-8)), 1 + 2**-6)
        self.assertEqual(corpus_tools.fromBits("fp8e4nv", corpus_tools.toBits("fp8e4nv", 1e6)), 448)


class Devices(unittest.TestCase):
    def why(self, ref, cpu, dtype, exact=None):
        return corpus_tools.apart({"x": ref}, {"x": cpu}, {"x": exact or ref}, {"x": dtype})

    def test_rounding_is_allowed(self):
        self.assertIsNone(self.why([1.0, 2.0, math.nan, math.inf], [1.0 + 1e-7, 2.0, math.nan, math.inf], "fp32"))

    def test_one_wrong_element_is_seen(self):
        self.assertIn("element 1", self.why([1.0, 2.0], [1.0, 2.1], "fp32"))
        self.assertIn("element 0", self.why([math.inf], [1.0], "fp32"))
        self.assertIn("element 0", self.why([3.0], [4.0], "i32"))

    def test_a_launch_that_rounds_much_may_be_further_apart(self):
        self.assertIsNotNone(self.why([1.0] * 4, [1.0 + 2**-4] * 4, "bf16"))
        self.assertIsNone(self.why([1.0] * 4, [1.0 + 2**-4] * 4, "bf16", [1.0 + 2**-5] * 4))

    def test_all_elements_a_little_off_are_seen(self):
        self.assertIn("on average", self.why([1.0] * 8, [1.0 + 3 * 2**-8] * 8, "bf16"))


class Page(unittest.TestCase):
    def test_the_table_is_that_of_the_counts(self):
        module = load(ROOT / "scripts" / "language-doc.py")
        page = (ROOT / "docs" / "language.md").read_text()
        self.assertTrue(module.between(page, "corpus", module.corpusTable()) == page, "run scripts/language-doc.py")


class Faults(unittest.TestCase):
    def test_each_fault_can_be_planted(self):
        driver = load(ROOT / "scripts" / "corpus-faults.py")
        faults = driver.load()
        for number, fault in enumerate(faults.FAULTS):
            with self.subTest(number=number, launch=fault.launch):
                folder = ROOT / "kernels" / faults.LAUNCHES[fault.launch].kernel.partition("/")[0]
                head = driver.definition(fault.function)
                holders = [path for path in sorted(folder.glob("*.py")) if head.search(path.read_text())]
                changed = driver.plant(holders[0].read_text(), fault)
                first, last = driver.expectedLines(changed, fault)
                self.assertLessEqual(first, last)

    def test_each_launch_gives_all_arguments(self):
        driver = load(ROOT / "scripts" / "corpus-faults.py")
        for name, launch in driver.load().LAUNCHES.items():
            with self.subTest(launch=name):
                file, _, kernel = launch.kernel.rpartition(":")
                functions = ast.walk(ast.parse((ROOT / "kernels" / file).read_text()))
                given = next(one for one in functions if isinstance(one, ast.FunctionDef) and one.name == kernel).args
                names = [one.arg for one in given.args]
                self.assertLessEqual(set(launch.arguments), set(names))
                self.assertGreaterEqual(set(launch.arguments), set(names[:len(names) - len(given.defaults)]))


class Tools(unittest.TestCase):
    def test_kernels_of_a_module(self):
        text = "@triton.jit\ndef a(x, N: tl.constexpr): pass\nif c:\n  @jit(debug=True)\n  def b(): pass\n@torch.jit.script\ndef c(): pass\n" \
               "def host():\n  @triton.jit\n  def inner(): pass\n@triton.autotune(configs=[], key=[])\n@triton.jit\ndef d(*xs): pass\n"
        self.assertEqual([(name, line, names) for name, line, names, _ in corpus_tools.astKernels(text)],
                         [("a", 2, ["x", "N"]), ("b", 5, []), ("d", 13, ["xs"])])

    def test_kernels_of_classes(self):
        text = "from numba import jit\n@jit\ndef a(x): pass\nclass K(Base):\n  @staticmethod\n  @triton.jit(debug=True)\n  def kernel(x): pass\n" \
               "  def __call__(self): pass\n  alias = kernel\n"
        self.assertEqual([(name, line, names) for name, line, names, _ in corpus_tools.astKernels(text)], [("K.kernel", 7, ["x"])])

    def test_kernels_made_by_a_call(self):
        text = "@cute.jit\ndef b(x): pass\ndef c(x, y): pass\nc = triton.jit(c, noinline=True)\nc = triton.heuristics({})(c)\n" \
               "d = triton.autotune(configs=[])(c)\ne = other(c)\n"
        self.assertEqual([(name, names) for name, _, names, _ in corpus_tools.astKernels(text)], [("c", ["x", "y"]), ("d", ["x", "y"])])

    def test_kernels_whose_name_a_function_takes(self):
        text = "@triton.jit\ndef a(x): pass\nb = a\ndef a(): b[1, ](0)\n@triton.jit\ndef c(x): pass\nd = c\n@triton.jit\ndef e(x): pass\ndef e(): pass\n"
        found = corpus.reached(ast.parse(text), corpus_tools.astKernels(text))
        self.assertEqual([(name, line) for name, line, _, _ in found], [("b", 2), ("c", 6), ("e", 9)])

    def test_signature(self):
        facts = [{"kind": "pointer", "dtype": "fp32", "aligned": True}, {"kind": "pointer", "dtype": "i64", "aligned": False}, {"kind": "none"},
                 {"kind": "int", "type": "i32", "value": 1}, {"kind": "int", "type": "i32", "value": 48}, {"kind": "int", "type": "i64", "value": 7},
                 {"kind": "float", "value": 0.5}, {"kind": "constexpr", "value": "relu"}, {"kind": "constexpr", "value": None},
                 {"kind": "constexpr", "value": {"dtype": "bf16"}}, {"kind": "constexpr", "value": {"tuple": [1, True]}}]
        self.assertEqual(corpus_tools.signatureOf({"args": facts}),
                         "*fp32:16, *i64, None, i32:1, i32:16, i64, fp32, 'relu', None, tl.bfloat16, (1, True)")

    def test_npy_reads_back(self):
        with tempfile.TemporaryDirectory() as folder:
            for dtype, values in (("fp32", [0.5, -2.0, 3.25]), ("i64", [-(1 << 62), 5]), ("i8", [-128, 127]), ("fp16", [1.5]), ("bf16", [-3.0, 1.0078125]), ("fp8e4nv", [448.0, -0.5])):
                corpus_tools.writeNpy(f"{folder}/x.npy", {"dtype": dtype}, values)
                self.assertEqual(corpus_tools.readNpy(f"{folder}/x.npy", dtype), values)

    def test_guess(self):
        text = "@triton.jit\ndef k(x_ptr, Y, n, eps, BLOCK: tl.constexpr, HAS_BIAS: tl.constexpr):\n  p = Y + n\n  tl.store(p, tl.load(x_ptr))\n"
        self.assertEqual(corpus_guess.guessSignature(corpus_tools.astKernels(text)[0][3]), "*fp32:16, *fp32:16, i32, fp32, 32, True")

    def test_guesses_of_integers(self):
        text = "@triton.jit\ndef k(x_ptr, idx_ptr, N: tl.constexpr):\n  i = tl.load(idx_ptr + tl.arange(0, N))\n  tl.store(x_ptr + i, 1.0)\n"
        guesses = corpus_guess.guessSignatures(corpus_tools.astKernels(text)[0][3])
        self.assertIn("*fp32:16, *i64:16, 32", guesses)
        self.assertIn("*fp16:16, *i32:16, 32", guesses)

    def test_guesses_through_helpers(self):
        text = """
@triton.jit
def at(P, STRIDES, i):
    return tl.load(P + i * STRIDES[1])

@triton.jit
def k(X, D, n, STRIDES: tl.constexpr, *, BLOCK: tl.constexpr = 16):
    D.store([n, 0], at(X, STRIDES, n))
"""
        tree, uses = ast.parse(text), corpus_uses.Uses()
        uses.read(tree)
        self.assertEqual(uses.called, {"at"})
        self.assertEqual(corpus_guess.guessSignature(tree.body[1], uses), "*fp32:16, tensordesc<fp32[32,32]>, i32, (32, 1), 16")

    def test_what_can_not_be_launched(self):
        corpus = load(ROOT / "scripts" / "corpus.py")
        text = "def f(x):\n  return x\ndef k(p):\n  f(p)\nclass C:\n  def m(self):\n    pass\n"
        self.assertLessEqual({"f", "C.m"}, corpus.helpersOf(text))
        self.assertNotIn("k", corpus.helpersOf(text))


class ResultTables(unittest.TestCase):
    def setUp(self):
        self.script = load(ROOT / "scripts" / "language-doc.py")

    def read(self, **changes):
        result = dict(package="p", version="1", files=3, kernels=9, emitted=8, ran=7, agreed=7,
                      misses=[dict(reason="a | b", count=2, example="x.py:k")])
        result.update(changes)
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "p.json").write_text(json.dumps(result))
            return self.script.readResults(folder)

    def test_tables(self):
        text = self.script.tables(self.read())
        self.assertIn("| p | 1 | 3 | 9 | 8 | 7 | 7 |", text)
        self.assertIn("| 2 | p | a \\| b | `x.py:k` |", text)
        self.assertNotIn("interpreter", text)
        self.assertIn("### Agreement with Triton's interpreter", self.script.tables(self.read(against="TRITON_INTERPRET=1")))

    def test_counts_that_contradict_are_refused(self):
        with self.assertRaises(SystemExit):
            self.read(agreed=6)
        with self.assertRaises(SystemExit):
            self.read(ran=9)

    def test_the_page_is_fresh(self):
        page = self.script.PAGE.read_text()
        fresh = self.script.between(page, "results", self.script.tables(self.script.readResults(ROOT / "docs" / "results")))
        self.assertTrue(fresh == page, "docs/language.md is stale: run scripts/language-doc.py --results")


if __name__ == "__main__":
    unittest.main()
