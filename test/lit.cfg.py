# The lit suite. Run by scripts/test.py, or by hand:
#   python3 /usr/lib/llvm-19/build/utils/lit/lit.py -sv [-Dbuild=build/dev] test/ir
import os
import shutil
import sys

import lit.formats

source = os.path.dirname(os.path.abspath(__file__))
root = os.path.dirname(source)
sys.path.insert(0, os.path.join(source, "harness"))
import kernel_tests

build = os.path.join(root, lit_config.params.get("build", "build/release"))
llvm_tools = "/usr/lib/llvm-19/bin"
if not os.path.exists(llvm_tools):
    llvm_tools = os.path.join(root, "build", "packed", "bin")  # scripts/test.py --pack

config.name = "nereid"
config.test_source_root = source
config.test_exec_root = os.path.join(build, "lit")
config.suffixes = [".mlir", ".test", ".py", ".ll"]
config.excludes = [
    "lit.cfg.py", "harness", "scripts", "unit", "fuzz", "soak", "corpus", "smoke", "python", "Inputs", "CMakeLists.txt",
]
config.test_format = lit.formats.ShTest(execute_external=False)

# A program that hangs fails after so many seconds of its own processor time, or ten times as many by the clock: on a busy
# machine the clock alone ends what does not hang.
seconds = 60
limited = f"timeout {10 * seconds}"
if shutil.which("prlimit"):
    limited = f"prlimit --cpu={seconds} {limited}"
programs = os.path.join(build, "bin")
config.environment["PATH"] = os.pathsep.join([programs, llvm_tools, os.environ.get("PATH", "")])
for name in ("nereid-opt", "nereid-ast", "nereid"):
    config.substitutions.append((rf"(?<![\w/-])%?{name}(?![\w/.-])", f"{limited} {programs}/{name}"))
config.substitutions.append(("%root", root))
config.substitutions.append(("%programs", programs))
fake_cuda = os.path.join(build, "fake_cuda")
config.substitutions.append(("%fake_cuda", fake_cuda))
if os.path.exists(os.path.join(fake_cuda, "libcuda.so.1")):
    config.available_features |= {"fake_cuda", "model"}

config.available_features |= kernel_tests.devices_here(lit_config.params.get("gpu"))
ptxas = kernel_tests.find_ptxas(root)
if ptxas:
    config.available_features.add("ptxas")
    config.substitutions.append(("%real_ptxas", ptxas))
    config.substitutions.append(("%ptxas", f"{limited} {ptxas}"))
if libdevice := kernel_tests.find_libdevice(root):
    config.available_features.add("libdevice")
    config.environment["NEREID_LIBDEVICE"] = libdevice
