"""The lit formats of kernel files tell right answers from wrong ones."""
import json
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test" / "harness"), "/usr/lib/llvm-19/build/utils/lit"]
import kernel_tests as kernels


def answer(**outputs):
    return json.dumps({"outputs": {name: {"dtype": "fp32", "data": data} for name, data in outputs.items()}})


class Run(unittest.TestCase):
    def judge(self, expectation, code=0, stdout="", stderr=""):
        return kernels.Expectation(expectation).judge(code, stdout, stderr)

    def test_the_example_of_the_style_guide(self):
        text = "shift(x=iota(8), N=8) -> y == [7, 7, 7, 3, 4, 5, 6, 7]"
        self.assertEqual(
            kernels.Expectation(text).command("nereid", "a.py", "ref"),
            ["nereid", "run", "a.py:shift", "--arg", "x=iota(8)", "--arg", "N=8", "--arg", "y=zeros(8,f32)",
             "--grid", "(1,)", "--device", "ref", "--json", "--print", "y"],
        )
        self.assertIsNone(self.judge(text, stdout=answer(y=[7, 7, 7, 3, 4, 5, 6, 7])))
        self.assertIn("first at 7", self.judge(text, stdout=answer(y=[7, 7, 7, 3, 4, 5, 6, 8])))
        self.assertIn("7 elements", self.judge(text, stdout=answer(y=[7, 7, 7, 3, 4, 5, 6])))

    def test_grids_dtypes_and_several_outputs(self):
        one = kernels.Expectation("k[2, 3](p=randn(4x4,f16)) -> y:i64 == [[1], [2]] and z ~= [0.5] within 1e-3")
        self.assertEqual(one.call.arguments[1:], [("y", "zeros(2x1,i64)"), ("z", "zeros(1,f32)")])
        self.assertIn("(2, 3,)", one.command("nereid", "a.py", "cpu"))
        self.assertIsNone(one.judge(0, answer(y=[[1], [2]], z=[0.5004]), ""))
        self.assertIsNotNone(one.judge(0, answer(y=[[1], [2]], z=[0.502]), ""))

    def test_nan_infinity_and_signed_zero(self):
        text = "k() -> y == [nan, -inf, -0.0, 0]"
        self.assertIsNone(self.judge(text, stdout=answer(y=["nan", "-inf", -0.0, -0.0])))
        self.assertIsNotNone(self.judge(text, stdout=answer(y=["nan", "-inf", 0.0, 0.0])))
        self.assertIsNotNone(self.judge(text, stdout=answer(y=[1.0, "-inf", -0.0, 0.0])))
        self.assertIsNotNone(self.judge("k() -> y ~= [inf] within 1e-3", stdout=answer(y=[1e30])))

    def test_a_crash_is_no_answer(self):
        self.assertIn("exit code -11", self.judge("k() -> y == [1]", code=-11))
        self.assertIn("instead of a refusal", self.judge("k() -> fails DeviceAssert", code=-6))
        self.assertIn("not JSON", self.judge("k() -> y == [1]", stdout="Segmentation"))
        self.assertIn("no output", self.judge("k() -> y == [1]", stdout=answer(z=[1])))

    def test_failures_and_prints(self):
        stderr = "a.py:3:4: error: x is 7 [DeviceAssert]"
        self.assertIsNone(self.judge('k() -> fails DeviceAssert "x is 7"', code=1, stderr=stderr))
        self.assertIsNotNone(self.judge("k() -> fails OutOfBounds", code=1, stderr=stderr))
        self.assertIsNotNone(self.judge("k() -> fails DeviceAssert", code=0, stderr=stderr))
        self.assertIsNone(self.judge('k() -> prints "pid (0"', stdout=json.dumps({"prints": ["pid (0, 0, 0) 3"]})))
        self.assertIsNotNone(self.judge('k() -> prints "pid (1"', stdout=json.dumps({"prints": []})))

    def test_malformed_expectations(self):
        for text in ("k() == 3", "k() -> y", "k(3) -> y == [1]", "k() -> y ~= [1]", "k() -> y == [open]"):
            with self.subTest(text), self.assertRaises(kernels.Malformed):
                kernels.Expectation(text)

    def test_an_expectation_may_span_lines(self):
        text = "# expect: k(x=iota(2)) ->\n#     y == [1,\n#         2]\n# other\n"
        self.assertEqual(kernels.directives(text, ["expect"])[0][2], "k(x=iota(2)) -> y == [1, 2]")


class Errors(unittest.TestCase):
    TEXT = "\n".join(["# nereid: compile %s:k --emit tile", "import triton",
                      "x = dot(a, b)  # error: .:5 DotShapeMismatch inner dimensions", "# hint: load `b`"])
    STDERR = "\n".join(["a.py:3:5: error: inner dimensions of `tl.dot` differ: 32 and 64 [DotShapeMismatch]",
                        "   3 | x = dot(a, b)", "     |     ^", "   hint: load `b` with BLOCK_K rows"])

    def test_the_right_message_passes(self):
        self.assertEqual(kernels.judge_errors(self.TEXT, 1, self.STDERR), [])

    def test_every_part_counts(self):
        for old, new in ((":3:5:", ":3:6:"), (":3:5:", ":4:5:"), ("inner", "outer"), ("[DotShape", "[DotDType"),
                         ("error", "warning"), ("hint: load `b`", "hint: try")):
            with self.subTest(new):
                self.assertNotEqual(kernels.judge_errors(self.TEXT, 1, self.STDERR.replace(old, new, 1)), [])

    def test_looser_places(self):
        for place in (".", "3", ".+1|.", "3:5", "1|3:5"):
            with self.subTest(place):
                self.assertEqual(kernels.judge_errors(self.TEXT.replace(".:5", place), 1, self.STDERR), [])
        for place in (".+1", "4", "1|2", "3:6"):
            with self.subTest(place):
                self.assertNotEqual(kernels.judge_errors(self.TEXT.replace(".:5", place), 1, self.STDERR), [])
        note = "\na.py:9:1: note: in `f`, called here"
        self.assertEqual(kernels.judge_errors(self.TEXT + "\n# note: 9 - called here", 1, self.STDERR + note), [])
        self.assertNotEqual(kernels.judge_errors(self.TEXT + "\n# note: 9 - called here", 1, self.STDERR), [])

    def test_messages_without_a_place(self):
        for text, seen, passes in (("- - no kernel", "nereid: error: no kernel `f`", True),
                                   ("- NoSuchKernel no kernel", "error: no kernel `f` [NoSuchKernel]", True),
                                   ("- - no kernel", "a.py:1:1: error: no kernel `f`", False),
                                   ("1 - no kernel", "nereid: error: no kernel `f`", False)):
            with self.subTest(text):
                self.assertEqual(kernels.judge_errors("# error: " + text, 1, seen) == [], passes)

    def test_malformed_messages(self):
        for place in ("x", ".:", "3:5:6", "+3"):
            with self.subTest(place), self.assertRaises(kernels.Malformed):
                kernels.judge_errors(self.TEXT.replace(".:5", place), 1, self.STDERR)

    def test_exit_codes(self):
        for code in (0, 2, -11, 134):
            self.assertNotEqual(kernels.judge_errors(self.TEXT, code, self.STDERR), [])

    def test_a_second_error_is_unexpected(self):
        more = self.STDERR + "\na.py:9:1: error: something else [Other]"
        self.assertTrue(any("unexpected" in one for one in kernels.judge_errors(self.TEXT, 1, more)))

    def test_a_file_must_expect_something(self):
        with self.assertRaises(kernels.Malformed):
            kernels.judge_errors("x = 1\n", 1, self.STDERR)

    def test_the_command(self):
        self.assertEqual(kernels.error_command("n", "/t/a.py", self.TEXT),
                         ["n", "compile", "/t/a.py:k", "--emit", "tile"])
        self.assertEqual(kernels.error_command("n", "/t/a.py", ""), ["n", "list", "/t/a.py"])
        self.assertEqual(kernels.error_command("n", "/t/a.py", '# nereid: compile %s:k --signature "*fp32, i32"'),
                         ["n", "compile", "/t/a.py:k", "--signature", "*fp32, i32"])


if __name__ == "__main__":
    unittest.main()
