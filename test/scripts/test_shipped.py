"""The shipped command stands alone: no LLVM library beside it, and no symbol of LLVM visible."""
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build" / "release" / "bin" / "nereid"
# The C library and the two compression libraries that LLVM reads and writes with.
ALLOWED = re.compile(r"^(linux-vdso|libc|libm|libz|libzstd|libdl|libpthread|librt|ld-linux-x86-64)\.so")
LIMIT_MEGABYTES = 60


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


@unittest.skipUnless(PROGRAM.exists(), "build/release/bin/nereid is not built")
class Shipped(unittest.TestCase):
    def test_it_needs_only_the_c_library_and_compression(self):
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", str(PROGRAM)))
        self.assertTrue(needed)
        self.assertEqual([name for name in needed if not ALLOWED.match(name)], [])

    def test_no_symbol_of_llvm_is_visible(self):
        names = output("nm", "-D", "--defined-only", "-C", str(PROGRAM))
        self.assertEqual(re.findall(r".*\b(?:llvm|mlir)::.*", names), [])
        self.assertEqual(re.findall(r".*\bLLVM[A-Z].*", names), [])

    def test_its_size(self):
        self.assertLess(PROGRAM.stat().st_size / 1e6, LIMIT_MEGABYTES)


if __name__ == "__main__":
    unittest.main()
