"""The installed tree: a program of its own finds it by CMake and by pkg-config, and sees only our symbols."""
import os
import pathlib
import re
import shlex
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


# What is thrown in the library or by what it calls back arrives in the program.
THROWS = r"""
#include <nereid/engine.h>
#include <nereid/tl.h>
#include <cstdio>
using namespace nereid;

template <typename Body> void caught(Body body) {
  try {
    body();
    std::puts("nothing");
  } catch (const Exception &failure) {
    std::printf("Exception: %s\n", failure.what());
  } catch (const std::runtime_error &failure) {
    std::printf("runtime_error: %s\n", failure.what());
  }
}

int main() {
  caught([] { tl::program_id(0); });
  caught([] { tl::Module("m").kernel("f", "x", [](tl::Value x) { tl::store(x, 1.0); throw std::runtime_error("while recording"); }); });
  caught([] {
    tl::Module module("m");
    module.kernel("f", "x, BLOCK: tl.constexpr", [](tl::Value x, tl::Value) { tl::store(x, 1.0); },
                  {.decorators = {"@triton.autotune([triton.Config({'BLOCK': b}) for b in (1, 2)], key=[])"}});
    Kernel kernel = must(must(must(Engine::create()).load(module)).kernel("f"));
    float x = 0;
    const Argument arguments[] = {&x};
    must(kernel.tune(must(Device::open("cpu")).stream(), [](const Configuration &) -> Grid { throw std::runtime_error("in a grid"); }, arguments));
  });
}
"""


@unittest.skipUnless((BUILD / "lib/libnereid.so").exists(), f"no library in {BUILD}")
class InstalledTree(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.temporary.name)
        run("cmake", "--install", BUILD, "--prefix", folder / "first")
        # Moved once, so nothing in it may know where it was installed.
        cls.prefix = folder / "moved elsewhere"
        shutil.move(folder / "first", cls.prefix)
        cls.folder = folder
        cls.environment = {**os.environ, "NEREID_CACHE_DIR": str(folder / "cache")}

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def pkg_config(self, *words):
        environment = {**os.environ, "PKG_CONFIG_PATH": str(next(self.prefix.glob("**/pkgconfig")))}
        return shlex.split(run("pkg-config", *words, env=environment))

    def test_uninstall(self):
        manifest = BUILD / "install_manifest.txt"
        kept = manifest.read_text()
        try:
            prefix = self.folder / "to be removed"
            run("cmake", "--install", BUILD, "--prefix", prefix)
            (prefix / "lib/other.txt").write_text("somebody else's")
            run("cmake", f"-DMANIFEST={manifest}", "-P", ROOT / "cmake/Uninstall.cmake")
            self.assertEqual([path for path in prefix.rglob("*") if not path.is_dir()], [prefix / "lib/other.txt"])
            self.assertEqual([path for path in prefix.rglob("nereid")], [])
            self.assertFalse(manifest.exists())
            with self.assertRaisesRegex(AssertionError, "nothing was installed from this build"):
                run("cmake", f"-DMANIFEST={manifest}", "-P", ROOT / "cmake/Uninstall.cmake")
        finally:
            manifest.write_text(kept)

    def build_example(self, name):
        build = self.folder / name
        run("cmake", "-G", "Ninja", "-S", ROOT / "examples" / name, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}",
            "-DCMAKE_C_COMPILER=clang-19", "-DCMAKE_CXX_COMPILER=clang++-19")
        run("ninja", "-C", build)
        return build

    def test_transformer(self):
        build = self.build_example("transformer")
        keys = self.folder / "transformer.keys"
        command = ["/usr/bin/env", "PATH=/nonexistent", build / "transformer", "--tokens", "6", "--batches", "1,3"]
        output = run(*command, "--keys", keys, env=self.environment)
        self.assertEqual(output.count(" agree:"), 4, output)
        self.assertEqual(re.findall(r"a graph of (\d+) nodes gives the same tokens, and 0 pieces of memory were made", output), ["56"] * 2, output)
        self.assertRegex(output, r"(?m)^memory: [1-9]\d* pieces of a block of 512 MiB, .* 0 bytes left$")
        # Tokens a second, with the cache beside what its products alone allow, and what the machine does.
        # Where something else takes the processors while one of them is measured, the run says nothing: it is made again.
        for again in (True, True, False):
            rows = re.findall(r"^ +[13]  (cache|graph|no cache) +([0-9.]+) +[0-9]+ +[0-9.]+ (.{10}) +([0-9.]+)  (?:bytes|operations)$", output, re.M)
            self.assertEqual([row[0] for row in rows], ["cache", "graph", "no cache"] * 2, output)
            self.assertEqual([bool(products.strip()) for _, _, products, _ in rows], [how != "no cache" for how, _, _, _ in rows], output)
            if all(float(tokens) < float(products.strip() or most) for _, tokens, products, most in rows):
                break
            self.assertTrue(again, output)
            output = run(*command, env=self.environment)
        # A process with an empty cache builds what that one recorded, and then nothing; a key that is missing is noticed.
        lines = keys.read_text().splitlines()
        less = self.folder / "less.keys"
        less.write_text("".join(line + "\n" for line in lines if "sample_next" not in line))
        for file, code, late in ((keys, 0, 0), (less, 1, 1)):
            environment = {**self.environment, "NEREID_CACHE_DIR": str(self.folder / f"cache of {file.name}")}
            done = subprocess.run([*command, "--keys", file], env=environment, timeout=300, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual(done.returncode, code, done.stdout)
            self.assertIn(f"\ncompiled while frozen: {late}\n", done.stdout)
            self.assertEqual(done.stdout.count("compiled while frozen: `sample_next`"), late, done.stdout)
        # Its check sees keys that go to wrong places of the cache, and angles that are off.
        for number, (right, wrong) in enumerate([(".slots = view(slots, {rows})", ".slots = view(positions, {rows})"),
                                                 ("double(i) / double(pairs)", "double(i) / double(pairs + 1)")]):
            folder = self.folder / f"broken{number}"
            shutil.copytree(ROOT / "examples/transformer", folder / "source")
            text = (folder / "source/Transformer.cpp").read_text()
            self.assertIn(right, text)
            (folder / "source/Transformer.cpp").write_text(text.replace(right, wrong))
            run("cmake", "-G", "Ninja", "-S", folder / "source", "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}",
                "-DCMAKE_CXX_COMPILER=clang++-19")
            run("ninja", "-C", folder / "build")
            done = subprocess.run(["/usr/bin/env", "PATH=/nonexistent", folder / "build/transformer", *command[3:]], env=self.environment,
                                  timeout=300, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn(" DIFFER:", done.stdout)

    @unittest.skipUnless((BUILD / "fake_cuda/libcuda.so.1").exists(), f"no driver without a GPU in {BUILD}")
    def test_transformer_on_a_driver_without_a_gpu(self):
        # Kernels do nothing there, so the logits are wrong; all else is as on a GPU.
        build = self.build_example("transformer")
        environment = {**self.environment, "LD_LIBRARY_PATH": str(BUILD / "fake_cuda"), "FAKE_CUDA": ""}
        keys = self.folder / "gpu.keys"
        command = [build / "transformer", "--device", "cuda:0", "--tokens", "4", "--batches", "2", "--keys", keys]
        for run_number in range(2):
            environment["NEREID_CACHE_DIR"] = str(self.folder / f"gpu cache {run_number}")
            done = subprocess.run(command, env=environment, timeout=300, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn("logits and plain loops DIFFER", done.stdout)
            self.assertIn("and 0 pieces of memory were made", done.stdout)
            self.assertRegex(done.stdout, r"(?m)^memory: [1-9]\d* pieces .* 0 bytes left$")
        self.assertIn("\ncompiled while frozen: 0\n", done.stdout)

    def test_cmake_project(self):
        build = self.build_example("cpp")
        # No Python on the path.
        output = run("/usr/bin/env", "PATH=/nonexistent", build / "kernels", ROOT / "kernels", env=self.environment)
        self.assertEqual(output.count(" equal,"), 3, output)
        self.assertIn("no parameter `BLOK`", output)
        output = run("/usr/bin/env", "PATH=/nonexistent", build / "written_twice", ROOT / "examples/cpp/written_twice.py",
                     env=self.environment)
        self.assertEqual(output.count(" same\n"), 4, output)
        self.assertIn("5000 sums are right", run(build / "vector_add", ROOT / "kernels", env=self.environment))

    def test_exercises(self):
        build = self.build_example("exercises")
        for program, sign in (("streams", "right"), ("tuning", "right"), ("selection", "8 slices of K: right"), ("memory", "memory grows as n^1.9"),
                              ("decode", "tokens a second"), ("autograd", "dV: right")):
            output = run("/usr/bin/env", "PATH=/nonexistent", build / program, ROOT, env=self.environment)
            self.assertIn(sign, output)
            self.assertNotIn("WRONG", output)

    def test_pkg_config(self):
        flags = self.pkg_config("--cflags", "--libs", "nereid")
        program = self.folder / "add"
        run("clang-19", "-std=c99", "-pedantic-errors", "-Wall", "-Werror", ROOT / "examples/cpp/vector_add.c", "-o",
            program, *flags, "-Wl,-rpath," + str(next(self.prefix.glob("**/libnereid.so")).parent))
        run(program, ROOT / "kernels", env=self.environment)

    def test_exceptions_pass_through_the_library(self):
        flags = self.pkg_config("--cflags", "--libs", "nereid")
        (self.folder / "throws.cpp").write_text(THROWS)
        for compiler in filter(shutil.which, ("clang++-19", "g++")):
            run(compiler, "-std=c++20", self.folder / "throws.cpp", "-o", self.folder / "throws", *flags,
                "-Wl,-rpath," + str(next(self.prefix.glob("**/libnereid.so")).parent))
            self.assertEqual(run(self.folder / "throws", env=self.environment).splitlines(), [
                "Exception: a name of `nereid::tl` is used outside of a kernel that is being recorded",
                "runtime_error: while recording", "runtime_error: in a grid"], compiler)

    def test_arguments_that_outlive_their_tensors_are_warned_of(self):
        flags = self.pkg_config("--cflags", "nereid")
        (self.folder / "borrowed.cpp").write_text("""
#include <nereid/engine.h>
using namespace nereid;
Status good(const Kernel &kernel, const Stream &stream, const Tensor &x) {
  const Argument arguments[] = {x, 3, "text"};
  kernel(stream, {1}, must(x.view({1})), 3);
  return kernel.launch(stream, {1}, arguments);
}
#ifdef BAD
Status bad(const Kernel &kernel, const Stream &stream, const Tensor &x) {
  const Argument arguments[] = {must(x.view({1})), 3};
  return kernel.launch(stream, {1}, arguments);
}
#endif
""")
        command = ["clang++-19", "-std=c++20", "-Werror", "-fsyntax-only", *flags, self.folder / "borrowed.cpp"]
        run(*command)
        with self.assertRaisesRegex(AssertionError, "will be destroyed at the end of the full-expression"):
            run(*command, "-DBAD")

    def test_pack_without_compiler(self):
        # Ten kernels in a pack, each of another signature; the program links the runtime alone.
        nereid = self.prefix / "bin" / "nereid"
        pack = self.folder / "kernels.pack"
        source = ROOT / "examples/cpp/written_twice.py"
        for signature in ["*fp32:16, *fp32:16, *fp32:16, i32:16, 1024", "*fp32, *fp32, *fp32, i32, 1024", "*fp16, *fp16, *fp16, i32, 64"]:
            run(nereid, "compile", f"{source}:add", "--signature", signature, "--emit", "pack", "--grid", "cdiv(n, BLOCK)", "--add", "-o", pack, env=self.environment)
        for block in [64, 128, 256, 512, 1024]:
            run(nereid, "compile", f"{source}:softmax", "--signature", f"*fp32, *fp32, i32, i32, {block}", "--emit", "pack", "--add",
                "-o", pack, env=self.environment)
        run(nereid, "compile", f"{source}:matmul", "--signature", "*fp32, *fp32, *fp32, i32, i32, i32, 32, 32, 32, True", "--emit", "pack",
            "--add", "-o", pack, env=self.environment)
        run(nereid, "compile", f"{source}:attention", "--signature", "*fp32, *fp32, *fp32, *fp32, i32, fp32, 32, 32, 32, True", "--emit",
            "pack", "--add", "-o", pack, env=self.environment)
        build = self.build_example("cpp")
        needed = run("ldd", build / "packed")
        self.assertIn("libnereid_runtime", needed)
        self.assertNotRegex(needed, r"LLVM|MLIR|libnereid\.so")
        output = run("/usr/bin/env", "PATH=/nonexistent", build / "packed", pack, env=self.environment)
        self.assertEqual(output, "4 kernels\n0 of 100000 sums are wrong\n"
                         "refused: the pack has no code of `add` for (*fp32:16, *fp32:16, *fp32:16, i32:16, 64) on cpu; it has "
                         "(*fp16, *fp16, *fp16, i32, 64), (*fp32, *fp32, *fp32, i32, 1024), (*fp32:16, *fp32:16, *fp32:16, i32:16, 1024)\n"
                         "no compiler is loaded\n")
        # The same from C, found by pkg-config alone.
        flags = self.pkg_config("--cflags", "--libs", "nereid_runtime")
        program = self.folder / "packed_c"
        run("clang-19", "-std=c99", "-pedantic-errors", "-Wall", "-Werror", ROOT / "examples/cpp/packed.c", "-o", program, *flags,
            "-Wl,-rpath," + str(next(self.prefix.glob("**/libnereid_runtime.so")).parent))
        self.assertNotRegex(run("ldd", program), r"LLVM|MLIR|libnereid\.so")
        for built in (program, build / "packed_c"):
            output = run("/usr/bin/env", "PATH=/nonexistent", built, pack, env=self.environment).splitlines()
            self.assertEqual(set(output[0].split(", ")), {"add", "softmax", "matmul", "attention"})
            self.assertEqual(output[1:], ["0 of 5000 sums are wrong",
                                          "refused: the pack has no code of `add` for (*fp32:16, *fp32:16, *fp32:16, i32:8, 2048) on cpu; it has "
                                          "(*fp16, *fp16, *fp16, i32, 64), (*fp32, *fp32, *fp32, i32, 1024), (*fp32:16, *fp32:16, *fp32:16, i32:16, 1024)",
                                          "refused: the pack has no kernel `nothing`; there are `add`, `softmax`, `matmul`, `attention`"])
        damaged = bytearray(pack.read_bytes())
        damaged[100] ^= 1
        pack.write_bytes(damaged)
        done = subprocess.run([build / "packed", pack], timeout=60, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 1)
        self.assertIn("the pack is damaged", done.stdout)

    def test_headers_of_another_version(self):
        headers = self.folder / "other"
        shutil.copytree(self.prefix / "include", headers)
        api = headers / "nereid" / "api.h"
        text = re.sub(r'NEREID_VERSION "[^"]*"', 'NEREID_VERSION "9.9.9"', api.read_text())
        api.write_text(text)
        library = next(self.prefix.glob("**/libnereid.so")).parent
        run("clang++-19", "-std=c++20", f"-I{headers}", ROOT / "examples/cpp/kernels.cpp", "-o", self.folder / "old", f"-L{library}",
            "-lnereid", f"-Wl,-rpath,{library}")
        done = subprocess.run([self.folder / "old", ROOT / "kernels"], env=self.environment, timeout=60, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("compiled with headers of Nereid 9.9.9 and runs with the library of Nereid", done.stdout)

    def test_exports_nothing_else(self):
        for library in ("libnereid.so", "libnereid_runtime.so"):
            names = run("nm", "-DC", "--defined-only", next(self.prefix.glob("**/" + library))).splitlines()
            self.assertGreater(len(names), 50)
            for line in names:
                symbol = line.split(" ", 2)[2]
                self.assertRegex(symbol, r"^(nereid_\w+|((typeinfo|typeinfo name|vtable) for )?nereid::\w+(::|\(|\[|$))")
                self.assertNotRegex(symbol, r"^\S*(llvm|mlir)::")


if __name__ == "__main__":
    unittest.main()
