"""The course is whole, its first lines have their form, its pages say what the results do, and its suite fails where a lesson is wrong."""
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


class Pages(unittest.TestCase):
    def test_every_page_is_named_and_whole(self):
        named = re.findall(r"\]\(course/([\w-]+)\.md\)", (ROOT / "docs" / "course.md").read_text())
        self.assertEqual(sorted(named), [file.stem for file in course.pages()])
        for file in course.pages():
            with self.subTest(page=file.name):
                text = file.read_text()
                self.assertRegex(text, r"\A# .+\n")
                self.assertIn("\n## Run it\n", text)
                self.assertIn("\n## Arithmetic\n", text)
                self.assertGreater(len(course.page_commands(file)), 0)

    def test_links_and_folders_exist(self):
        texts = [(file, file.read_text()) for file in [*course.pages(), *(ROOT / "docs" / name for name in ("course.md", "questions.md", "bench.md"))]]
        for file, text in texts:
            for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
                if not link.startswith("http"):
                    self.assertTrue((file.parent / link).exists(), f"{file.name}: {link}")
            for words, _ in course.page_commands(file) if file.parent.name == "course" else []:
                for word in words:
                    folder = re.match(r"((?:kernels|examples)/[\w/]+)", word)
                    self.assertTrue(not folder or (ROOT / folder.group(1)).exists() or (ROOT / word.split(":")[0]).exists(), f"{file.name}: {word}")

    def test_match_of_a_gpu_command_is_of_a_measured_row(self):
        """These run where there is a GPU; elsewhere this finds what would select nothing."""
        rows = json.loads((ROOT / "docs/results/kernels/nvidia-h200.json").read_text())["rows"]
        for file in course.pages():
            for words, on_gpu in course.page_commands(file):
                folders = [word.split("/")[1] for word in words if word.startswith("kernels/")]
                if not on_gpu or words[1] != "bench" or not any(row["kernel"] in folders for row in rows):
                    continue
                match = words[words.index("--match") + 1] if "--match" in words else ""
                variants = [words[i + 1] for i, word in enumerate(words) if word == "--variant"]
                for folder in folders:
                    names = {row["variant"] for row in rows if row["kernel"] == folder and match in row["shape"]}
                    self.assertTrue(names, f"{file.name}: no row of {folder} matches `{match}`")
                    self.assertTrue(set(variants) <= names, f"{file.name}: {variants} of {folder}, {names}")

    @unittest.skipUnless((BUILD / "bin/nereid").exists(), f"no command in {BUILD}")
    def test_tables_and_plots_are_those_of_the_results(self):
        done = subprocess.run([sys.executable, ROOT / "scripts/course-pages.py", "--check", "--bin", BUILD / "bin"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout)

    @unittest.skipUnless((BUILD / "bin/nereid").exists(), f"no command in {BUILD}")
    def test_stale_table_is_found(self):
        with tempfile.TemporaryDirectory() as temporary:
            page = pathlib.Path(temporary) / "page.md"
            page.write_text('# Page\n\n<!-- rows(file="results/headline/2026-11-21-h200.json", claim="kv_cache", columns=["folder", "us"]) -->\n<!-- end -->\n')
            command = [sys.executable, ROOT / "scripts/course-pages.py", "--bin", BUILD / "bin", page]
            self.assertEqual(subprocess.run([*command, "--check"], stdout=subprocess.PIPE, timeout=60).returncode, 1)
            self.assertEqual(subprocess.run(command, stdout=subprocess.PIPE, timeout=60).returncode, 0)
            self.assertIn("| `paged_attention` | 29.9 |", page.read_text())
            self.assertEqual(subprocess.run([*command, "--check"], stdout=subprocess.PIPE, timeout=60).returncode, 0)
            page.write_text(page.read_text().replace("kv_cache", "no_such_claim"))
            wrong = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=60)
            self.assertEqual(wrong.returncode, 1)
            self.assertIn("no row of", wrong.stderr)


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

    def test_commands_of_pages(self):
        with tempfile.TemporaryDirectory() as temporary:
            pages = pathlib.Path(temporary) / "docs/course"
            pages.mkdir(parents=True)
            (pages / "idea.md").write_text("# Idea\n\n    nereid --version\n    nereid bench no/such/folder\n    (on a GPU) nereid bench nowhere\n    not a command\n")
            code, counts = self.run_course(temporary)
            self.assertEqual((code, counts["passed"], counts["failed"]), (1, 1, 1), counts)
            self.assertIn("no/such/folder", counts["failures"][0])

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
