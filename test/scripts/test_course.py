"""The course is whole, its first lines have their form, and its suite fails where a lesson is wrong."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("NEREID_BUILD", "build/release")
sys.path.insert(0, str(ROOT / "scripts"))
import course  # noqa: E402


class Lessons(unittest.TestCase):
    def test_every_day_and_exercise(self):
        numbers = [int(re.search(r"\d+", folder.name).group()) for folder in course.lessons()]
        self.assertEqual(numbers, list(range(15, 20)) + list(range(1, 36)))

    def test_first_lines(self):
        page = (ROOT / "docs" / "course.md").read_text()
        for folder in course.lessons():
            with self.subTest(folder=folder.name):
                self.assertGreater(len(course.commands(folder)), 0)
                self.assertIn(f"`{folder.name}`", page)
                for line in course.page(folder)["run"]:
                    self.assertRegex(line, r"^(\((on a GPU|C\+\+|with PyTorch)\) +)?\w")

    def test_library_kernels_exist(self):
        for folder in course.lessons():
            for name in re.findall(r'"((?:\.\./)+[\w./]+)"', (folder / "spec.py").read_text()):
                self.assertTrue((folder / name).exists(), f"{folder.name}: {name}")


@unittest.skipUnless((BUILD / "bin/nereid").exists(), f"no command in {BUILD}")
class Suite(unittest.TestCase):
    def run_course(self, root):
        done = subprocess.run([sys.executable, ROOT / "scripts/course.py", "--bin", BUILD / "bin", "--root", root], stdout=subprocess.PIPE,
                              text=True, timeout=300)
        return done.returncode, json.loads(done.stdout.splitlines()[-1])

    def with_day(self, name, file, right, wrong):
        """The suite over one day in which a text is replaced."""
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary) / "examples" / "track" / name
            shutil.copytree(ROOT / "examples" / "track" / name, folder)
            text = (folder / file).read_text()
            self.assertIn(right, text)
            (folder / file).write_text(text.replace(right, wrong))
            return self.run_course(temporary)

    def test_good_day(self):
        code, counts = self.with_day("day03_masks", "kernel.py", "i > 0", "i > 0")
        self.assertEqual((code, counts["passed"], counts["failed"]), (0, 2, 0), counts)

    def test_broken_kernel(self):
        for name, right, wrong in (("day03_masks", "x + i - 1", "x + i"), ("day12_stability", "v - tl.max(v, axis=0)", "v"),
                                   ("day31_online", "acc * rescale", "acc")):
            code, counts = self.with_day(name, "kernel.py", right, wrong)
            self.assertEqual(code, 1, name)
            self.assertIn("exit code 1", counts["failures"][0])

    def test_lost_mask_is_seen_by_check(self):
        code, counts = self.with_day("day03_masks", "kernel.py", ", mask=i < n)", ")")
        self.assertEqual(code, 1)
        self.assertTrue(any("OutOfBounds" in failure for failure in counts["failures"]), counts)

    def test_missing_lines(self):
        code, counts = self.with_day("day03_masks", "spec.py", "Change:", "Then:")
        self.assertEqual(code, 1)
        self.assertIn("does not begin with", counts["failures"][0])


if __name__ == "__main__":
    unittest.main()
