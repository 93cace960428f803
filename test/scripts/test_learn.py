"""Each puzzle of `nereid learn` can be solved, is not solved by what the learner gets, and says what is wrong with a fault."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NEREID = ROOT / os.environ.get("NEREID_BUILD", "build/release") / "bin/nereid"
SOLUTIONS = ROOT / "test/tools/Inputs/solutions"


@unittest.skipUnless(NEREID.exists(), "nereid is not built")
class Learn(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.here = pathlib.Path(folder.name)
        self.progress = self.here / "progress.json"

    def learn(self, *words, code=0):
        run = subprocess.run([NEREID, "learn", "--progress", self.progress, *map(str, words)], cwd=self.here, timeout=60,
                             capture_output=True, text=True)
        self.assertEqual(run.returncode, code, run.stdout + run.stderr)
        return run

    def puzzles(self):
        return json.loads(self.learn("--json").stdout)["puzzles"]

    def test_every_puzzle_has_a_solution(self):
        names = [puzzle["name"] for puzzle in self.puzzles()]
        self.assertEqual(names, sorted(path.stem for path in SOLUTIONS.glob("*.py")))
        self.assertGreaterEqual(len(names), 20)
        for name in names:
            with self.subTest(name):
                answer = json.loads(self.learn(SOLUTIONS / f"{name}.py", "--json").stdout)
                self.assertTrue(answer["solved"])
                self.assertTrue(answer["cases"])
        self.assertTrue(all(puzzle["solved"] for puzzle in self.puzzles()))

    def test_what_the_learner_gets_is_no_solution(self):
        for puzzle in self.puzzles():
            with self.subTest(puzzle["name"]):
                shown = self.learn(puzzle["name"]).stdout
                self.assertIn(puzzle["title"], shown)
                file = self.here / f"{puzzle['name']}.py"
                self.assertIn(file.read_text(), shown)
                # It runs, and nothing but the result is wrong.
                answer = json.loads(self.learn(file.name, "--json", code=1).stdout)
                self.assertFalse(answer["solved"])
                self.assertTrue(any("differs in" in case["failure"] for case in answer["cases"]), answer)
                if puzzle["name"] == "01_copy":
                    self.assertIn("as if nothing was stored there", answer["cases"][0]["failure"])
        self.assertFalse(any(puzzle["solved"] for puzzle in self.puzzles()))

    def test_masked_lanes_that_count_are_found(self):
        """Zeros in masked lanes are less than the numbers of one case, and greater than those of another."""
        for name in ("10_softmax", "11_online"):
            with self.subTest(name):
                text = (SOLUTIONS / f"{name}.py").read_text()
                wrong = text.replace('other=float("-inf")', "other=0.0")
                self.assertNotEqual(text, wrong)
                file = self.here / f"{name}.py"
                file.write_text(wrong)
                answer = json.loads(self.learn(file.name, "--json", code=1).stdout)
                self.assertFalse(answer["solved"])

    def test_a_kernel_that_was_renamed(self):
        self.learn("1")
        file = self.here / "01_copy.py"
        file.write_text(file.read_text().replace("def copy(", "def kopy("))
        told = self.learn(file.name, code=1)
        self.assertIn("there is no kernel `copy`", told.stderr)
        self.assertIn("hint: the puzzle launches it by this name: keep the `def` line that it came with", told.stderr)

    def test_a_puzzle_and_its_hints_in_json(self):
        shown = json.loads(self.learn("1", "--json").stdout)
        self.assertEqual((self.here / shown["file"]).read_text(), shown["text"])
        self.assertTrue(shown["written"])
        for count in (1, 2):
            self.assertEqual(len(json.loads(self.learn("1", "--hint", "--json").stdout)["hints"]), count)
        refused = json.loads(self.learn("99", "--json", code=1).stdout)
        self.assertIn("99", refused["error"])
        self.assertIn("`nereid learn 04` writes it", json.loads(self.learn("04_grid.py", "--json", code=1).stdout)["error"])

    def test_a_file_of_the_learner_is_never_overwritten(self):
        (self.here / "03_mask.py").write_text("mine")
        self.assertIn("You have", self.learn("3").stdout)
        self.assertEqual((self.here / "03_mask.py").read_text(), "mine")

    def test_faults_are_shown_at_their_line(self):
        text = (SOLUTIONS / "03_mask.py").read_text()
        file = self.here / "03_mask.py"
        file.write_text(text.replace("tl.load(x + i, mask=mask)", "tl.load(x + i)"))
        answer = self.learn("03_mask.py", code=1)
        self.assertRegex(answer.stderr, r"03_mask\.py:\d+:\d+: error: .*`x`")
        self.assertIn("OutOfBounds", answer.stderr)
        file.write_text(text.replace("i < n", "i << n << m"))
        self.assertRegex(self.learn("03_mask.py", code=1).stderr, r"03_mask\.py:\d+:\d+: error: ")
        file.write_text(text.replace("2 * ", "3 * "))
        self.assertIn("differs in 100 of 100", self.learn("03_mask.py", code=1).stdout)
        file.write_text("def double(:\n")
        self.assertIn("03_mask.py:1", self.learn("03_mask.py", code=1).stderr)
        file.write_text(text.replace("def double", "def triple"))
        self.assertIn("double", "".join([(run := self.learn("03_mask.py", code=1)).stdout, run.stderr]))

    def test_a_kernel_without_end_ends(self):
        text = (SOLUTIONS / "01_copy.py").read_text()
        (self.here / "01_copy.py").write_text(text + "    n = tl.load(x)\n    while n == n:\n        n += 1\n")
        self.learn("01_copy.py", code=1)

    def test_hints_come_one_by_one(self):
        first, second = self.learn("mask", "--hint").stdout, self.learn("mask", "--hint").stdout
        self.assertIn("hint 1 of 2", first)
        self.assertNotIn("hint 2", first)
        self.assertIn("hint 2 of 2", second)
        # Behind the last one all of them are shown again.
        self.assertEqual(self.learn("mask", "--hint").stdout, first + second)
        self.assertEqual(next(p for p in self.puzzles() if p["name"] == "03_mask")["hints_shown"], 2)

    def test_a_place_that_cannot_be_written(self):
        """What is solved is said to be solved, and that it is not kept."""
        solution = SOLUTIONS / "01_copy.py"
        homeless = {name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_CACHE_HOME", "NEREID_CACHE_DIR")}
        for environment, reason in (({**homeless, "HOME": "/proc"}, "cannot write `/proc/"), (homeless, "there is no cache directory")):
            with self.subTest(reason):
                run = subprocess.run([NEREID, "learn", solution], env=environment, timeout=60, capture_output=True, text=True)
                self.assertEqual(run.returncode, 0, run.stderr)
                self.assertIn("01_copy is solved. Next: `nereid learn 2`", run.stdout)
                self.assertIn(f"nereid: note: the progress is not kept: {reason}", run.stderr)
                self.assertIn("`--progress FILE` names a place", run.stderr)

    def test_bad_words(self):
        self.assertIn("did you mean", self.learn("sofmax", code=1).stderr)
        (self.here / "mine.py").write_text("")
        self.assertIn("not named after a puzzle", self.learn("mine.py", code=1).stderr)
        self.learn("01_copy.py", code=1)
        self.progress.write_text("[1]")
        self.assertIn("no file of progress", self.learn(code=1).stderr)


if __name__ == "__main__":
    unittest.main()
