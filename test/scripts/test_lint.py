"""./dev lint: which files it takes, and that a fault is seen."""
import importlib.util
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("lint", ROOT / "scripts" / "lint.py")
lint = importlib.util.module_from_spec(spec)
spec.loader.exec_module(lint)
READY = shutil.which("clang-tidy-19") and pathlib.Path("/usr/lib/llvm-19/include/clang").exists()


class Lint(unittest.TestCase):
    def test_the_low_rooms_know_no_llvm(self):
        rooms = lint.low_rooms()
        self.assertIn("syntax", rooms)
        self.assertIn("launch", rooms)
        self.assertNotIn("emit", rooms)
        files = lint.files_of_low_rooms()
        self.assertEqual(sorted(files), sorted(set(files)))
        self.assertEqual({name.split("/")[1] for name in files}, {room for room in rooms if list((ROOT / "src" / room).glob("*.cpp"))})

    @unittest.skipUnless(READY, "no clang-tidy or no headers of clang")
    def test_a_fault_is_seen(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "one.cpp"
            (pathlib.Path(folder) / "compile_commands.json").write_text(
                f'[{{"directory": "{folder}", "file": "one.cpp", "command": "clang++-19 -std=c++20 -c one.cpp"}}]')
            path.write_text("int twice(int number) { return 2 * number; }\n")
            self.assertEqual(lint.lint(folder, str(path)), "")
            path.write_text("bool same(int number) { return number == number; }\n")
            self.assertIn("misc-redundant-expression", lint.lint(folder, str(path)))

    @unittest.skipUnless(READY, "no clang-tidy or no headers of clang")
    def test_our_headers_are_read(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "system").mkdir()
            (root / "src").mkdir()
            (root / "compile_commands.json").write_text(
                f'[{{"directory": "{folder}", "file": "src/one.cpp", "command": "clang++-19 -std=c++20 -isystem {folder}/system -I{folder}/src -c {folder}/src/one.cpp"}}]')
            (root / "system" / "theirs.h").write_text("inline bool theirs(int number) { return number == number; }\n")
            (root / "src" / "ours.h").write_text("inline bool ours(int number) { return number == number; }\n")
            (root / "src" / "one.cpp").write_text('#include <theirs.h>\n#include "ours.h"\nbool both() { return ours(1) == theirs(2); }\n')
            said = lint.lint(folder, str(root / "src" / "one.cpp"))
            self.assertIn("ours.h:1", said)
            self.assertNotIn("theirs.h:1", said)

    @unittest.skipUnless(READY, "no clang-tidy or no headers of clang")
    def test_counts(self):
        with tempfile.TemporaryDirectory() as folder:
            names = ["good", "bad", "fine"]
            paths = [str(pathlib.Path(folder) / f"{name}.cpp") for name in names]
            (pathlib.Path(folder) / "compile_commands.json").write_text(json.dumps(
                [{"directory": folder, "file": path, "command": f"clang++-19 -std=c++20 -c {path}"} for path in paths]))
            for path in paths:
                same = "number == number" if "bad" in path else "number == 2"
                pathlib.Path(path).write_text(f"bool same(int number) {{ return {same}; }}\n")
            counts = lint.lint_all(folder, paths)
            self.assertEqual([counts[kind] for kind in ("passed", "failed")], [2, 1], counts)
            self.assertIn("bad.cpp", counts["failures"][0])

    def test_a_run_that_is_ended_goes_on_where_it_was(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "one.cpp"
            path.write_text("int one() { return 1; }\n")

            def ended(build, name):
                if name != str(path):
                    raise KeyboardInterrupt
                return ""

            second = pathlib.Path(folder) / "two.cpp"
            second.write_text("int two() { return 2; }\n")
            with unittest.mock.patch.object(lint, "lint", ended), unittest.mock.patch.dict("os.environ", JOBS="1"):
                with self.assertRaises(KeyboardInterrupt):
                    lint.lint_all(folder, [str(path), str(second)])
            self.assertTrue(lint.Clean(folder).has(str(path)))
            self.assertFalse(lint.Clean(folder).has(str(second)))

    def test_what_was_clean_is_known_until_it_changes(self):
        with tempfile.TemporaryDirectory() as folder:
            def has():
                lint.digest.cache_clear()
                lint.included.cache_clear()
                return lint.Clean(folder).has(str(path))

            clean, path, header = lint.Clean(folder), pathlib.Path(folder) / "one.cpp", pathlib.Path(folder) / "two.h"
            path.write_text('#include "one.h"\nint a;\n')
            (pathlib.Path(folder) / "one.h").write_text('#include "two.h"\n')
            header.write_text("int c;\n")
            (pathlib.Path(folder) / "other.h").write_text("int d;\n")
            clean.add(str(path), clean.key(str(path)))
            clean.save()
            self.assertTrue(has())
            (pathlib.Path(folder) / "other.h").write_text("int e;\n")
            self.assertTrue(has())
            header.write_text("int e;\n")
            self.assertFalse(has())
            header.write_text("int c;\n")
            self.assertTrue(has())
            path.write_text('#include "one.h"\nint b;\n')
            self.assertFalse(has())

    def test_generated_headers_stand_for_the_dialect(self):
        names = {file.name for file in lint.closure(ROOT / "src" / "ref" / "Check.cpp")}
        self.assertLessEqual({"Check.h", "Machine.h", "TileOps.h", "TileOps.td"}, names)
        self.assertNotIn("TileOps.td", {file.name for file in lint.closure(ROOT / "src" / "syntax" / "Parser.cpp")})


if __name__ == "__main__":
    unittest.main()
