"""The extension as a wheel needs it: nothing of CPython beyond the limited API, no newer C library, no symbol of its own."""
import os
import pathlib
import re
import shutil
import subprocess
import sysconfig
import tempfile
import unittest

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


if __name__ == "__main__":
    unittest.main()
