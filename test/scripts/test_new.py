"""What `./dev new` makes is right from the first minute."""
import contextlib
import importlib.util
import io
import pathlib
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("new", ROOT / "scripts" / "new.py")
new = importlib.util.module_from_spec(spec)
spec.loader.exec_module(new)


class New(unittest.TestCase):
    def make(self, folder, *words):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = new.main(pathlib.Path(folder), list(words))
        return code, out.getvalue() + err.getvalue()

    def test_spellings(self):
        for name in ("fold_casts", "FoldCasts", "fold-casts", "foldCasts"):
            self.assertEqual(new.spellings(name), {"@name@": "fold_casts", "@Name@": "FoldCasts",
                                                   "@camel@": "foldCasts", "@dashed@": "fold-casts"})
        for name in ("../x", "", "1st", "a b"):
            with self.subTest(name), self.assertRaises(SystemExit):
                new.spellings(name)

    def test_kernel(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(self.make(folder, "kernel", "twice_over")[0], 0)
            made = pathlib.Path(folder) / "kernels" / "twice_over"
            for name in ("kernel.py", "spec.py", "reference.py"):
                text = (made / name).read_text()
                compile(text, name, "exec")
                self.assertNotIn("@name@", text)
            self.assertIn("def twice_over(", (made / "kernel.py").read_text())
            self.assertEqual(self.make(folder, "kernel", "twice_over")[0], 1)

    # What each kind makes and changes: what a reader of docs/tour.md is promised.
    FILES = {
        "pass": ("src/transforms/SomeName.cpp src/transforms/SomeName.h test/transforms/some_name.mlir", "src/tools/nereid-opt.cpp"),
        "op": ("test/run/op_some_name.py", "src/cpu/ElementwiseLanes.cpp src/gpu/MathRegisters.cpp src/ir/TileOps.td "
               "src/ops/Math.cpp src/ref/ArithModels.cpp test/ir/roundtrip.mlir"),
        "verb": ("src/tools/SomeName.cpp test/tools/some_name.test", "src/tools/Verbs.h src/tools/main.cpp"),
    }

    def test_pass_op_and_verb(self):
        for kind, (made, changed) in self.FILES.items():
            with self.subTest(kind), tempfile.TemporaryDirectory() as folder:
                root = pathlib.Path(folder)
                for name in changed.split():
                    (root / name).parent.mkdir(parents=True, exist_ok=True)
                    (root / name).write_text((ROOT / name).read_text())
                code, output = self.make(root, kind, "some_name")
                self.assertEqual(code, 0, output)
                for word, names in (("made", made), ("changed", changed)):
                    self.assertEqual(sorted(line.split()[1] for line in output.splitlines() if line.startswith(word)), names.split())
                for path in root.rglob("*.*"):
                    text = path.read_text()
                    self.assertNotRegex(text, r"@(name|Name|camel|dashed)@", str(path))
                    self.assertRegex(text, "some_name|SomeName|some-name", str(path))
                # A second time nothing is touched.
                before = {path: path.read_text() for path in root.rglob("*.*")}
                self.assertEqual(self.make(root, kind, "some_name")[0], 1)
                self.assertEqual(before, {path: path.read_text() for path in root.rglob("*.*")})

    def test_every_kind_has_a_test_here(self):
        kinds = {path.name for path in new.TEMPLATES.iterdir() if path.is_dir()}
        self.assertEqual(kinds, set(self.FILES) | {"kernel"})

    def test_unknown_kind(self):
        self.assertEqual(self.make("/tmp", "colour", "x")[0], 2)

    def test_every_edit_finds_its_marker(self):
        for kind in (path.name for path in new.TEMPLATES.iterdir() if path.is_dir()):
            for path, marker, _ in new.edits(ROOT, kind, new.spellings("some_name")):
                with self.subTest(kind=kind, file=str(path)):
                    self.assertIn(marker, path.read_text())


if __name__ == "__main__":
    unittest.main()
