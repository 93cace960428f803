"""The extension as a wheel needs it: nothing of CPython beyond the limited API, no newer C library, no symbol of its own;
and the wheel: `pip install` of the repository into an environment of its own, with the build that is there."""
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sysconfig
import tempfile
import unittest
import venv

from nereid import _C

EXTENSION = pathlib.Path(_C.__file__)


def symbols(*options):
    done = subprocess.run(["nm", "-D", *options, EXTENSION], check=True, stdout=subprocess.PIPE, text=True)
    return [line.split()[-1] for line in done.stdout.splitlines()]


@unittest.skipUnless(shutil.which("nm"), "needs binutils")
class Extension(unittest.TestCase):
    def test_only_its_entry_point_is_visible(self):
        self.assertEqual(symbols("--defined-only", "--extern-only"), ["PyInit__C"])

    @unittest.skipUnless(shutil.which("cc"), "needs a C compiler")
    def test_only_the_limited_api_of_3_10(self):
        # With PY_SSIZE_T_CLEAN the headers turn `PyArg_ParseTuple` into `_PyArg_ParseTuple_SizeT`.
        used = sorted({re.sub(r"^_(\w+)_SizeT$", r"\1", name) for name in symbols("--undefined-only")
                       if re.match(r"_?Py", name)})
        self.assertGreater(len(used), 20)
        include = sysconfig.get_path("include")
        if not os.path.exists(os.path.join(include, "Python.h")):
            self.skipTest("needs CPython's headers")
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "used.c"
            source.write_text("#define Py_LIMITED_API 0x030A0000\n#include <Python.h>\nconst void *used[] = {\n" +
                              "".join(f"  (const void *)&{name},\n" for name in used) + "};\n")
            done = subprocess.run(["cc", "-w", "-c", source, "-o", os.devnull, f"-I{include}"], stderr=subprocess.PIPE,
                                  text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_c_library_of_the_tag(self):
        done = subprocess.run(["nm", "-D", "--undefined-only", "--with-symbol-versions", EXTENSION], check=True,
                              stdout=subprocess.PIPE, text=True)
        versions = {tuple(map(int, found.split("."))) for found in re.findall(r"@GLIBC_([0-9.]+)", done.stdout)}
        self.assertLessEqual(max(versions), (2, 36))


ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = """
import ctypes, importlib.metadata, sys
import nereid
import nereid.triton as triton
import nereid.triton.language as tl

class Numbers:
    def __init__(self, values):
        self.data = (ctypes.c_float * len(values))(*values)
        self.__array_interface__ = {"version": 3, "typestr": "<f4", "shape": (len(values),),
                                    "data": (ctypes.addressof(self.data), False)}

@triton.jit
def twice(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)

x = Numbers([1, 2, 3, 4, 5])
twice[(1,)](x, 4, BLOCK=8)
print(list(x.data), importlib.metadata.version("nereid-triton"), nereid.__file__.startswith(sys.prefix), "numpy" in sys.modules)
"""


@unittest.skipUnless(importlib.util.find_spec("ensurepip"), "needs ensurepip, to make an environment with pip")
@unittest.skipUnless((ROOT / "pyproject.toml").exists(), "a packed tree cannot be installed")
class Installation(unittest.TestCase):
    def test_pip_installs_what_runs(self):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP_"))}
        environment.update(NEREID_BUILD_DIR=str(EXTENSION.parent.parent.parent), NEREID_DEVICE="cpu", PIP_NO_INDEX="1",
                           PIP_DISABLE_PIP_VERSION_CHECK="1")
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            environment["NEREID_CACHE_DIR"] = str(folder / "cache")
            venv.create(folder / "env", with_pip=True)
            python = folder / "env/bin/python"

            def run(*command):
                done = subprocess.run([python, *command], env=environment, cwd=folder, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True, timeout=300)
                self.assertEqual(done.returncode, 0, done.stdout)
                return done.stdout

            run("-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ROOT)
            wheels = list(folder.glob("*.whl"))
            self.assertEqual(len(wheels), 1)
            self.assertRegex(wheels[0].name, r"^nereid_triton-[0-9.]+-cp310-abi3-manylinux_2_36_x86_64\.whl$")
            run("-m", "pip", "install", "-q", wheels[0])
            (folder / "program.py").write_text(PROGRAM)
            version = wheels[0].name.split("-")[1]
            self.assertEqual(run("program.py"), f"[2.0, 4.0, 6.0, 8.0, 5.0] {version} True False\n")
            places = [path for path in (folder / "env").rglob("*") if path.name == "triton" and path.is_dir()]
            self.assertEqual([path.parent.name for path in places], ["nereid"])
            (folder / "unmodified.py").write_text("import triton\nprint(triton.cdiv(7, 2))\n")
            self.assertEqual(run("-m", "nereid", "unmodified.py"), "4\n")
            run("-m", "pip", "uninstall", "-q", "-y", "nereid-triton")
            self.assertEqual([path for path in (folder / "env").rglob("*") if "nereid" in path.name], [])


if __name__ == "__main__":
    unittest.main()
