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

    def test_unknown_kind(self):
        self.assertEqual(self.make("/tmp", "colour", "x")[0], 2)

    def test_every_edit_finds_its_marker(self):
        for kind in (path.name for path in new.TEMPLATES.iterdir() if path.is_dir()):
            for path, marker, _ in new.edits(ROOT, kind, new.spellings("some_name")):
                with self.subTest(kind=kind, file=str(path)):
                    self.assertIn(marker, path.read_text())


if __name__ == "__main__":
    unittest.main()
