"""Functions of LLVM bitcode that a launch names."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

import numpy as np

import nereid.triton as triton
import nereid.triton.language as tl


@tl.core.extern
def shifted(x, _semantic=None):
    return tl.core.extern_elementwise("shifts", "", [x], {(tl.float32, ): ("shifted", tl.float32)}, is_pure=True, _semantic=_semantic)


@triton.jit
def shift_all(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, shifted(tl.load(x + i)))


class Libraries(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.x, self.out = np.arange(8, dtype="f4"), np.zeros(8, "f4")

    def library(self, by, name="shifts.ll"):
        path = pathlib.Path(self.folder.name, name)
        path.write_text(f"define float @shifted(float %x) {{\n  %y = fadd float %x, {by:e}\n  ret float %y\n}}\n")
        return path

    def test_a_launch_names_the_file(self):
        shift_all[(1, )](self.x, self.out, N=8, extern_libs={"shifts": self.library(2)})
        self.assertEqual(self.out.tolist(), (self.x + 2).tolist())
        # Another file is another kernel; a name that the call does not say is looked into, too.
        shift_all[(1, )](self.x, self.out, N=8, extern_libs={"other": str(self.library(4, "other.ll"))})
        self.assertEqual(self.out.tolist(), (self.x + 4).tolist())
        # What a launch gives back knows its libraries.
        kernel = shift_all[(1, )](self.x, self.out, N=8, extern_libs={"shifts": self.library(5, "third.ll")})
        self.out[:] = 0
        kernel[(1, )](self.x, self.out, 8)
        self.assertEqual(self.out.tolist(), (self.x + 5).tolist())
        with self.assertRaisesRegex(AttributeError, "code for a CPU has none"):
            kernel.module
        self.assertFalse(hasattr(kernel, "module"))

    def test_bitcode(self):
        assembler = shutil.which("llvm-as-19") or shutil.which("llvm-as", path="/usr/lib/llvm-19/bin")
        if not assembler:
            self.skipTest("LLVM's assembler is not on this machine")
        bitcode = pathlib.Path(self.folder.name, "shifts.bc")
        subprocess.run([assembler, self.library(8), "-o", bitcode], check=True)
        shift_all[(1, )](self.x, self.out, N=8, extern_libs={"shifts": bitcode})
        self.assertEqual(self.out.tolist(), (self.x + 8).tolist())

    def test_what_a_file_holds_is_part_of_the_key(self):
        # A process of its own each time: within one a kernel that was launched is not looked up again.
        program = pathlib.Path(self.folder.name, "program.py")
        program.write_text(textwrap.dedent("""
            import sys
            import numpy as np
            import nereid.triton as triton, nereid.triton.language as tl

            @tl.core.extern
            def shifted(x, _semantic=None):
                return tl.core.extern_elementwise("", "", [x], {(tl.float32, ): ("shifted", tl.float32)}, is_pure=True, _semantic=_semantic)

            @triton.jit
            def kernel(x):
                tl.store(x, shifted(tl.load(x)))

            x = np.zeros(1, "f4")
            kernel[(1, )](x, extern_libs={"shifts": sys.argv[1]})
            print(x[0])
        """))
        said = []
        for by in (1, 3):
            path = self.library(by)
            done = subprocess.run([sys.executable, program, path], capture_output=True, text=True, check=True,
                                  env={**os.environ, "NEREID_CACHE_DIR": self.folder.name, "NEREID_DEVICE": "cpu"})
            said.append(float(done.stdout))
        self.assertEqual(said, [1, 3])

    def test_what_can_be_wrong(self):
        path = self.library(2)
        for libraries, code in (({}, "UnsupportedOp"), ({"shifts": "nowhere.bc"}, "LibraryUnreadable"),
                                ({"shifts": self.renamed(path)}, "LibraryFunctionMissing")):
            with self.subTest(code), self.assertRaisesRegex(triton.CompilationError, code):
                shift_all[(1, )](self.x, self.out, N=8, extern_libs=libraries)
        for libraries in ("shifts.bc", [("shifts", path), "other.bc"], {"shifts": path, 3: path}):
            with self.subTest(libraries), self.assertRaisesRegex(TypeError, "not a dict from names of libraries"):
                shift_all[(1, )](self.x, self.out, N=8, extern_libs=libraries)

    def renamed(self, path):
        other = path.with_name("renamed.ll")
        other.write_text(path.read_text().replace("@shifted", "@moved"))
        return other


if __name__ == "__main__":
    unittest.main()
