"""./dev test: the tasks of all suites share the cores, and the report is by suite."""
import contextlib
import importlib.util
import io
import pathlib
import sys
import threading
import time
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "test/harness")]
spec = importlib.util.spec_from_file_location("runner", ROOT / "scripts/test.py")
runner = importlib.util.module_from_spec(spec)
spec.loader.exec_module(runner)
sys.path.append(str(runner.LIT.parent))


def failing(note):
    count = runner.Count(1)
    count.fail(note)
    return count


class Work(unittest.TestCase):
    def setUp(self):
        self.begun, self.ended, self.lock, self.running, self.most = [], {}, threading.Lock(), 0, 0

    def task(self, name, cost=1, seconds=0.02, width=1, after=None, result=None):
        def call():
            with self.lock:
                self.begun.append(name)
                self.running += width
                self.most = max(self.most, self.running)
            time.sleep(seconds)
            with self.lock:
                self.running -= width
            if isinstance(result, BaseException):
                raise result
            return result or runner.Count(1)

        return runner.Task(cost, call, width=width, after=after)

    def work(self, suites, slots=2):
        # A suite that never ends must fail this test, not hang it.
        thread = threading.Thread(target=runner.work, args=(suites, lambda name, count, seconds: self.ended.update({name: (count, seconds)}), slots), daemon=True)
        thread.start()
        thread.join(60)
        self.assertFalse(thread.is_alive())

    def test_the_costly_begin_first_whatever_their_suite(self):
        self.work({"a": [self.task("a1", 1), self.task("a9", 9)], "b": [self.task("b5", 5)]}, slots=1)
        self.assertEqual(self.begun, ["a9", "b5", "a1"])
        self.assertEqual(list(self.ended), ["b", "a"])

    def test_no_core_waits_for_the_last_of_a_suite(self):
        both = threading.Barrier(2, timeout=30)

        def meet():
            both.wait()
            return runner.Count(1)

        self.work({"a": [runner.Task(1, meet)], "b": [runner.Task(1, meet)]})
        self.assertEqual([str(count) for count, _ in self.ended.values()], ["1 passed, 0 failed"] * 2)

    def test_no_more_than_the_cores(self):
        self.work({"a": [self.task(f"wide{i}", 9, width=2) for i in range(2)], "b": [self.task(f"b{i}") for i in range(6)]}, slots=3)
        self.assertEqual((len(self.begun), self.most), (8, 3))
        self.setUp()
        # What wants more than there are takes all.
        self.work({"a": [self.task("wide", width=5), self.task("narrow", 9)]}, slots=2)
        self.assertEqual(self.begun, ["narrow", "wide"])

    def test_what_needs_another_task_waits_for_it_and_falls_with_it(self):
        made = self.task("made", 1)
        self.work({"a": [made], "b": [self.task("user", 9, after=made), self.task("other", 5)]})
        self.assertGreater(self.begun.index("user"), self.begun.index("made"))
        self.setUp()
        made = self.task("made", result=failing("no compiler"))
        self.work({"a": [made], "b": [self.task("user", after=made), self.task("other")]})
        self.assertNotIn("user", self.begun)
        self.assertEqual([str(self.ended[name][0]) for name in "ab"], ["1 passed, 1 failed", "1 passed, 0 failed"])

    def test_a_fault_of_a_task_is_a_failure_of_its_suite(self):
        self.work({"a": [self.task("a", result=ValueError("seven")), self.task("b", result=SystemExit("no cmake"))], "c": [self.task("c")]})
        count, _ = self.ended["a"]
        self.assertEqual(str(count), "0 passed, 2 failed")
        self.assertTrue(any("ValueError: seven" in note for note in count.notes) and "no cmake" in count.notes, count.notes)
        self.assertEqual(str(self.ended["c"][0]), "1 passed, 0 failed")

    def test_seconds_are_those_of_all_tasks(self):
        self.work({"a": [self.task("a1", seconds=0.2), self.task("a2", seconds=0.2)]})
        self.assertGreaterEqual(self.ended["a"][1], 0.4)


class Report(unittest.TestCase):
    def report(self, *words, suites):
        out = io.StringIO()
        with mock.patch.object(runner, "SUITES", suites), mock.patch.object(sys, "argv", ["test.py", *words]), contextlib.redirect_stdout(out), \
                mock.patch.object(runner, "NEED_BUILD", set()), mock.patch.dict("os.environ"):
            code = runner.main()
        return code, out.getvalue()

    SUITES = {"good": lambda arguments: [runner.Task(1, runner.Count, 2), runner.Task(1, runner.Count, 3, 0, 1)],
              "bad": lambda arguments: [runner.Task(1, runner.Count, 4), runner.Task(1, failing, "adds 2 and 2 to 5")]}

    def test_by_suite_with_the_sum_last(self):
        code, text = self.report(suites=self.SUITES)
        self.assertEqual(code, 1)
        self.assertRegex(text, r"(?m)^good:     5 passed, 0 failed, 1 skipped \(\d+\.\d s\)$")
        self.assertRegex(text, r"(?m)^FAILED adds 2 and 2 to 5\n\nbad:      5 passed, 1 failed \(\d+\.\d s\)$")
        self.assertEqual(text.splitlines()[-1], "10 passed, 1 failed, 1 skipped")

    def test_suites_by_name(self):
        code, text = self.report("good", suites=self.SUITES)
        self.assertEqual(code, 0)
        self.assertNotIn("bad", text)
        self.assertEqual(text.splitlines()[-1], "5 passed, 0 failed, 1 skipped")

    def test_every_suite_gives_tasks_without_a_build(self):
        # What the suites ask for before any task has run must be there before anything is built, but for the release build.
        class Arguments:
            chosen, builds, preset, device, filter, built, fuzz_seconds = ["sanitizers", "fuzz"], {}, "none", None, None, True, 1

        for name in runner.SUITES:
            tasks = runner.SUITES[name](Arguments)
            self.assertTrue(tasks, name)
            self.assertTrue(all(isinstance(task, runner.Task) for task in tasks), name)
        self.assertEqual(set(Arguments.builds), {"asan", "tsan"})
        targets = runner.sanitized_targets("asan", Arguments)
        self.assertIn("unit_syntax", targets)
        self.assertIn("fuzz_parser", targets)
        Arguments.chosen = ["fuzz"]
        self.assertNotIn("unit_syntax", runner.sanitized_targets("asan", Arguments))


if __name__ == "__main__":
    unittest.main()
