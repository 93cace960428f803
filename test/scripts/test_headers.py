"""The public headers as other programs include them, under the warnings that such programs turn on."""
import pathlib
import shutil
import subprocess
import tempfile
import unittest

INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
# Everything that clang knows, but for what asks for an older language, another layout or other types.
EVERYTHING = ["-Weverything", *(f"-Wno-{name}" for name in ("c++98-compat", "c++98-compat-pedantic", "pre-c++17-compat", "pre-c++20-compat",
                                                            "pre-c++20-compat-pedantic", "padded", "unsafe-buffer-usage")), "-Werror"]
COMPILERS = [compiler for compiler in ("clang++-19", "g++") if shutil.which(compiler)]


class Headers(unittest.TestCase):

    def compile(self, compiler, text, *words):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / ("program.c" if "-std=c99" in words else "program.cpp")
            source.write_text(text)
            done = subprocess.run([compiler, "-fsyntax-only", "-I", INCLUDE, *words, source], capture_output=True, text=True)
        return done.returncode, done.stderr

    def test_no_warnings(self):
        headers = sorted(header.name for header in INCLUDE.glob("nereid/*.h"))
        self.assertIn("engine.h", headers)
        includes = [f"#include <nereid/{header}>\n" for header in headers]
        # Alone with one compiler, all of them with the other.
        for compiler, texts in zip(COMPILERS, (includes, ["".join(includes)])):
            for text in texts:
                with self.subTest(compiler=compiler, text=text):
                    self.assertEqual(self.compile(compiler, text, "-std=c++20", *WARNINGS), (0, ""))

    def test_every_warning_that_clang_has(self):
        if "clang++-19" not in COMPILERS:
            self.skipTest("there is no clang++-19")
        text = "".join(f"#include <nereid/{header.name}>\n" for header in sorted(INCLUDE.glob("nereid/*.h")))
        self.assertEqual(self.compile("clang++-19", text, "-std=c++20", *EVERYTHING), (0, ""))

    def test_c(self):
        for compiler in (name for name in ("clang-19", "gcc") if shutil.which(name)):
            with self.subTest(compiler=compiler):
                self.assertEqual(self.compile(compiler, "#include <nereid/c.h>\nint main(void) { return 0; }\n", "-std=c99", *WARNINGS), (0, ""))

    def test_an_older_language_is_refused_in_words(self):
        for compiler in COMPILERS:
            with self.subTest(compiler=compiler):
                code, told = self.compile(compiler, "#include <nereid/engine.h>\n", "-std=c++17")
                self.assertNotEqual(code, 0)
                self.assertIn("the headers of Nereid are C++20: compile with -std=c++20 or later", told)


if __name__ == "__main__":
    unittest.main()
