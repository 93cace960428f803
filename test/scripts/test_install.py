"""The installed tree: a program of its own finds it by CMake and by pkg-config, and sees only our symbols."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("NEREID_BUILD", "build/release")


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=300, **more)
    if done.returncode:
        raise AssertionError(f"{command}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


@unittest.skipUnless((BUILD / "lib/libnereid.so").exists(), f"no library in {BUILD}")
class InstalledTree(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.temporary.name)
        run("cmake", "--install", BUILD, "--prefix", folder / "first")
        # Moved once, so nothing in it may know where it was installed.
        cls.prefix = folder / "moved"
        shutil.move(folder / "first", cls.prefix)
        cls.folder = folder
        cls.environment = {**os.environ, "NEREID_CACHE_DIR": str(folder / "cache")}

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def test_cmake_project(self):
        build = self.folder / "examples"
        run("cmake", "-G", "Ninja", "-S", ROOT / "examples/cpp", "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}",
            "-DCMAKE_C_COMPILER=clang-19", "-DCMAKE_CXX_COMPILER=clang++-19")
        run("ninja", "-C", build)
        # No Python on the path.
        output = run("/usr/bin/env", "PATH=/nonexistent", build / "kernels", ROOT / "kernels", env=self.environment)
        self.assertEqual(output.count(" equal,"), 3, output)
        self.assertIn("no parameter `BLOK`", output)
        self.assertIn("5000 sums are right", run(build / "vector_add", ROOT / "kernels", env=self.environment))

    def test_pkg_config(self):
        environment = {**os.environ, "PKG_CONFIG_PATH": str(next(self.prefix.glob("**/pkgconfig")))}
        flags = run("pkg-config", "--cflags", "--libs", "nereid", env=environment).split()
        program = self.folder / "add"
        run("clang-19", "-std=c99", "-pedantic-errors", "-Wall", "-Werror", ROOT / "examples/cpp/vector_add.c", "-o",
            program, *flags, "-Wl,-rpath," + str(next(self.prefix.glob("**/libnereid.so")).parent))
        run(program, ROOT / "kernels", env=self.environment)

    def test_exports_nothing_else(self):
        names = run("nm", "-DC", "--defined-only", next(self.prefix.glob("**/libnereid.so"))).splitlines()
        self.assertGreater(len(names), 50)
        for line in names:
            symbol = line.split(" ", 2)[2]
            self.assertRegex(symbol, r"^(nereid_\w+|((typeinfo|typeinfo name|vtable) for )?nereid::\w+(::|\(|\[|$))")
            self.assertNotRegex(symbol, r"^\S*(llvm|mlir)::")


if __name__ == "__main__":
    unittest.main()
