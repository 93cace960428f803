"""The lit format of test/check tells found faults from missed ones and from false alarms."""
import json
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test" / "harness"), "/usr/lib/llvm-19/build/utils/lit"]
from check_tests import CheckFile
from kernel_tests import Malformed

FAULTY = """# check: k[2](x=zeros(3,f32), n=3)
# check: k[1](x=zeros(4,f32), n=4) -> clean
a
b  # fault: .|.-1 OutOfBounds `x`
c  # maybe: . DataRace
"""


def answer(*findings):
    found = [dict(code=code, line=line, message=message) for line, code, message in findings]
    return (1 if found else 0), json.dumps({"findings": found}), ""


class Check(unittest.TestCase):
    def judge(self, text, *answers):
        return CheckFile(text).judge(answers)

    def test_a_found_fault_passes(self):
        found = (4, "OutOfBounds", "index 3 of `x`, which has 3 elements")
        self.assertEqual(self.judge(FAULTY, answer(found), answer()), [])
        self.assertEqual(self.judge(FAULTY, answer((3,) + found[1:], (5, "DataRace", "")), answer()), [])

    def test_what_is_missing_or_too_much_fails(self):
        found = (4, "OutOfBounds", "index 3 of `x`")
        for first, second in (
            (answer(), answer()),
            (answer((5, "OutOfBounds", "`x`")), answer()),
            (answer((4, "OutOfBounds", "`y`")), answer()),
            (answer((4, "DataRace", "`x`")), answer()),
            (answer((5, "DataRace", "")), answer()),
            (answer(found, (1, "Deadlock", "")), answer()),
            (answer(found), answer(found)),
            ((0,) + answer(found)[1:], answer()),
            ((-11, "", ""), answer()),
            ((1, "{}", "error: no kernel `k`"), answer()),
        ):
            self.assertTrue(self.judge(FAULTY, first, second), (first, second))

    def test_warnings_do_not_fail_the_command(self):
        found = json.dumps({"findings": [dict(code="OutOfBounds", line=4, message="`x`", severity="warning")]})
        self.assertEqual(self.judge(FAULTY, (0, found, ""), answer()), [])
        self.assertEqual(len(self.judge(FAULTY, (1, found, ""), answer())), 1)

    def test_a_file_without_faults_is_clean(self):
        text = "# check: k(x=zeros(3,f32))\n"
        self.assertEqual(self.judge(text, answer()), [])
        self.assertIn("false alarm", self.judge(text, answer((2, "DataRace", "")))[0])

    def test_malformed_files(self):
        for text in ("", "# check: k()\n# fault: x OutOfBounds\n", "# check: k() -> dirty\n",
                     "# check: k()\n# maybe: . DataRace\n", "# check: k() -> clean\n# fault: . DataRace\n"):
            with self.assertRaises(Malformed):
                CheckFile(text)

    def test_the_planted_faults_and_the_clean_kernels_are_well_formed_and_enough(self):
        for folder, least in (("faults", 80), ("clean", 100)):
            files = sorted((ROOT / "test" / "check" / folder).glob("*.py"))
            self.assertGreaterEqual(len(files), least)
            for file in files:
                with self.subTest(file.name):
                    text = file.read_text()
                    compile(text, str(file), "exec")
                    read = CheckFile(text)
                    self.assertEqual(bool(read.faults), folder == "faults")
                    for call, _ in read.calls:
                        self.assertIn(f"def {call.kernel}(", text)


if __name__ == "__main__":
    unittest.main()
