"""Our C and C++ files are formatted as .clang-format says."""
import pathlib
import shutil
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Format(unittest.TestCase):
    @unittest.skipUnless(shutil.which("clang-format-19"), "clang-format-19 is not installed (`./dev setup fmt`)")
    def test_no_file_differs(self):
        done = subprocess.run(["bash", "scripts/fmt.sh", "--check"], cwd=ROOT, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, "run `./dev fmt`:\n" + done.stderr[-4000:])


if __name__ == "__main__":
    unittest.main()
