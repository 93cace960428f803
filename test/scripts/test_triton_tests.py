"""What scripts/triton-tests.py says of results: counts, and failures by what their reasons have in common."""
import contextlib
import importlib.util
import io
import pathlib
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def load():
    spec = importlib.util.spec_from_file_location("triton_tests", ROOT / "scripts" / "triton-tests.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RESULTS = [
    {"id": "python/test/unit/language/a.py::one", "outcome": "passed", "reason": "", "seconds": 1},
    {"id": "python/test/unit/language/a.py::two[7]", "outcome": "failed", "reason": "call: E: at 0x12ab, 17 of 20", "seconds": 1},
    {"id": "python/test/unit/language/a.py::two[3]", "outcome": "failed", "reason": "call: E: at 0x99, 4 of 20", "seconds": 1},
    {"id": "python/test/unit/language/b.py::three", "outcome": "failed", "reason": "call: KeyError: 'ttgir'", "seconds": 1},
    {"id": "python/test/unit/language/b.py::four", "outcome": "skipped", "reason": "no", "seconds": 0},
    {"id": "python/test/unit/language/b.py::five", "outcome": "xfailed", "reason": "", "seconds": 0},
]


class Summary(unittest.TestCase):
    def test_failures_by_reason(self):
        self.assertEqual(load().failures(RESULTS), {
            "passed": 1, "failed": 3, "skipped": 1, "xfailed": 1,
            "failures": [
                {"reason": "call: E: at N, N of N", "cases": ["unit/language/a.py::two[3]", "unit/language/a.py::two[7]"]},
                {"reason": "call: KeyError: 'ttgir'", "cases": ["unit/language/b.py::three"]},
            ]})

    def test_the_report(self):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            load().report(RESULTS, 0)
        lines = said.getvalue().splitlines()
        self.assertEqual(lines[0], "    2 call: E: at N, N of N")
        self.assertEqual(lines[2], "These look into Triton's own IR:")
        self.assertEqual(lines[-1], "1 of 4 passed (25.0%), 1 skipped, 1 failed as their project expects; 1 of the failures "
                                    "look into Triton's own IR")


if __name__ == "__main__":
    unittest.main()
