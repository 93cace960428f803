"""What `./dev test --pack` takes along."""
import importlib.util
import pathlib
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def runner():
    spec = importlib.util.spec_from_file_location("runner", ROOT / "scripts/test.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Packed(unittest.TestCase):
    def test_linked_folders_of_the_package_are_packed(self):
        with tempfile.TemporaryDirectory() as name:
            top = pathlib.Path(name)
            (top / "tree/triton/runtime").mkdir(parents=True)
            (top / "tree/triton/__pycache__").mkdir()
            for file in ("tree/__init__.py", "tree/triton/__init__.py", "tree/triton/runtime/jit.py", "tree/triton/__pycache__/x.pyc"):
                (top / file).write_text("")
            (top / "built").mkdir()
            (top / "built/__init__.py").symlink_to(top / "tree/__init__.py")
            (top / "built/triton").symlink_to(top / "tree/triton")
            found = sorted(str(one.relative_to(top / "built")) for one in runner().package_files(top / "built"))
            self.assertEqual(found, ["__init__.py", "triton/__init__.py", "triton/runtime/jit.py"])


if __name__ == "__main__":
    unittest.main()
