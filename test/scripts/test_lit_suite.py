"""lit finds the kernel files, gives one test a back end, and reports what the formats say."""
import json
import pathlib
import pickle
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIT = "/usr/lib/llvm-19/build/utils/lit/lit.py"
sys.path[:0] = [str(ROOT / "test/harness"), str(pathlib.Path(LIT).parent)]

# Stands for the command: refuses kernels named `bad`, and computes y = [1, 2] for all others.
COMMAND = """#!/bin/sh
case "$*" in
*:bad*|"list"*) echo "$2:1:4: error: no [Refused]" >&2; exit 1 ;;
*) echo '{"outputs": {"y": {"dtype": "fp32", "shape": [2], "data": [1.0, 2.0]}}}' ;;
esac
"""


class LitSuite(unittest.TestCase):
    def run_suite(self, files):
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            shutil.copytree(ROOT / "test/harness", root / "test/harness")
            shutil.copy(ROOT / "test/lit.cfg.py", root / "test")
            for folder in ("run", "errors"):
                (root / "test" / folder).mkdir()
                shutil.copy(ROOT / "test" / folder / "lit.local.cfg", root / "test" / folder)
            command = root / "build/x/bin/nereid"
            command.parent.mkdir(parents=True)
            command.write_text(COMMAND)
            command.chmod(0o755)
            for path, text in files.items():
                (root / "test" / path).write_text(text)
            subprocess.run([sys.executable, LIT, "-q", "-o", str(root / "out.json"), "-Dbuild=build/x",
                            "-Dgpu=0", str(root / "test")], capture_output=True, timeout=120)
            tests = json.loads((root / "out.json").read_text())["tests"]
            return {test["name"].removeprefix("nereid :: "): test["code"] for test in tests}

    def test_results(self):
        run = "# run: ref cpu gpu\n# expect: k(n=2) -> y == "
        self.assertEqual(
            self.run_suite({
                "run/right.py": run + "[1, 2]\n",
                "run/wrong.py": run + "[1, 3]\n",
                "run/empty.py": "# run: ref\n",
                "run/unnamed.py": "# expect: k() -> y == [1, 2]\n",
                "errors/right.py": "bad  # error: .:4 Refused no\n",
                "errors/wrong.py": "bad  # error: .:5 Refused no\n",
            }),
            {
                "run/right.py/ref": "PASS", "run/right.py/cpu": "PASS", "run/right.py/gpu": "UNSUPPORTED",
                "run/wrong.py/ref": "FAIL", "run/wrong.py/cpu": "FAIL", "run/wrong.py/gpu": "UNSUPPORTED",
                "run/empty.py/ref": "UNRESOLVED", "run/unnamed.py/ref": "UNRESOLVED",
                "errors/right.py": "PASS", "errors/wrong.py": "FAIL",
            },
        )

    def test_hostile_cases_are_not_sent_with_each_test(self):
        # lit pickles each test with its format: 23 MB of cases in each of them were 4 GB, and 26 s of processor time.
        import lit.Test
        import hostile_tests

        form = hostile_tests.HostileTest("nereid")
        suite = lit.Test.TestSuite("nereid", str(ROOT / "test"), "", None)
        self.assertGreater(len(list(form.getTestsInDirectory(suite, ("hostile",), None, None))), 100)
        self.assertLess(len(pickle.dumps(form)), 1000)


if __name__ == "__main__":
    unittest.main()
