"""A kernel as C source with its machine code in it, as Triton's command line of this name makes it:

    python -m nereid -m triton.tools.compile kernel.py -n add -s "*fp32:16, *fp32:16, i32, 1024" -g "(n + 1023) / 1024, 1, 1" -t cuda:90:32

writes `add.HASH_SUFFIX.c` and `.h` with `load_NAME`, `unload_NAME` and `CUresult NAME(CUstream, arguments...)`; the grid is written in C, of
the arguments. `triton.tools.link` joins several of them under one name. What they launch needs the CUDA driver alone; packs of `nereid
compile --emit pack` also hold what these can't: prints, scratch memory, descriptors and code for CPUs.
"""
import hashlib
import importlib.util
import os
import re
import sys
from argparse import ArgumentParser
from dataclasses import dataclass
from pathlib import Path

# Whoever launches the code passes the arguments alone.
os.environ.setdefault("NEREID_PROGRAM_LOOPS", "off")

C_TYPES = {"i1": "int8_t", "i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t", "u1": "uint8_t", "u8": "uint8_t",
           "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t", "fp32": "float", "f32": "float", "fp64": "double", "f64": "double"}

INCLUDES = """#ifndef TT_KERNEL_INCLUDES
#define TT_KERNEL_INCLUDES
#include <cuda.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#endif
"""

HEADER = INCLUDES + """
void load_{name}(void);
void unload_{name}(void);
// tt-linker-backend: cuda
// tt-linker: {name}:{parameters}:{algorithm}
CUresult {name}(CUstream stream, {parameters});
"""

SOURCE = INCLUDES + """
// {about}
static const unsigned char code_{name}[] = {{
{code}
}};
static CUlibrary library_{name} = NULL;
static CUfunction function_{name} = NULL;

static CUresult ready_{name}(void) {{
  const int shared = {shared};
  CUdevice device;
  CUkernel kernel;
  int most = 0;
  CUresult result = cuLibraryLoadData(&library_{name}, code_{name}, NULL, NULL, 0, NULL, NULL, 0);
  if (result == CUDA_SUCCESS)
    result = cuLibraryGetKernel(&kernel, library_{name}, "{entry}");
  if (result == CUDA_SUCCESS)
    result = cuKernelGetFunction(&function_{name}, kernel);
  if (result != CUDA_SUCCESS || shared <= 49152)
    return result;
  if ((result = cuCtxGetDevice(&device)) != CUDA_SUCCESS)
    return result;
  result = cuDeviceGetAttribute(&most, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device);
  if (result == CUDA_SUCCESS)
    result = shared > most ? CUDA_ERROR_INVALID_VALUE
                           : cuFuncSetAttribute(function_{name}, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared);
  return result;
}}

void load_{name}(void) {{
  CUresult result = function_{name} ? CUDA_SUCCESS : ready_{name}();
  if (result != CUDA_SUCCESS) {{
    const char *text = NULL;
    cuGetErrorString(result, &text);
    fprintf(stderr, "cannot load the kernel {name}: %s\\n", text ? text : "unknown error");
    exit(1);
  }}
}}

void unload_{name}(void) {{
  if (library_{name})
    cuLibraryUnload(library_{name});
  library_{name} = NULL;
  function_{name} = NULL;
}}

CUresult {name}(CUstream stream, {parameters}) {{
  CUdeviceptr context_ = 0;
  void *arguments_[] = {{{addresses}&context_}};
  const unsigned grid_[] = {{{grid[0]}, {grid[1]}, {grid[2]}}};
  if (!function_{name})
    load_{name}();
  if (grid_[0] == 0 || grid_[1] == 0 || grid_[2] == 0)
    return CUDA_SUCCESS;
  CUlaunchConfig launch_ = {{grid_[0], grid_[1], grid_[2], {threads}, 1, 1, {shared}, stream, NULL, 0}};
  return cuLaunchKernelEx(&launch_, function_{name}, arguments_, NULL);
}}
"""


@dataclass
class CompileArgs:
    path: str = ""
    kernel_name: str = ""
    signature: str = ""
    grid: str = ""
    target: str | None = None
    num_warps: int = 1
    num_stages: int = 3
    out_name: str | None = None
    out_path: Path | None = None


def _constant(word):
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            pass
    return {"True": True, "False": False, "None": None}.get(word, ...)


def _kernel(args):
    path = Path(args.path)
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kernel = getattr(module, args.kernel_name)
    while hasattr(kernel, "fn") and not hasattr(kernel, "arg_names"):
        kernel = kernel.fn  # below its tuner
    return kernel


def _target(text):
    import triton
    from triton.backends.compiler import GPUTarget

    if not text:
        target = triton.runtime.driver.active.get_current_target()
    else:
        parts = text.split(":")
        target = GPUTarget(parts[0], int(parts[1]) if parts[1].isdigit() else parts[1], int(parts[2]) if len(parts) > 2 else 32)
    if target.backend != "cuda":
        raise SystemExit(f"there is no C source for the target {target.backend}:{target.arch}: name one as in `-t cuda:90:32`, or use "
                         "`nereid compile --target cpu --emit c`")
    return target


def compile_kernel(args):
    """The two files' paths, of the header and of the source."""
    import triton
    from triton.compiler import ASTSource

    kernel = _kernel(args)
    words = [word.strip() for word in args.signature.split(",")]
    grid = [part.strip() for part in args.grid.split(",")]
    if len(words) != len(kernel.arg_names):
        raise SystemExit(f"the signature has {len(words)} parts, but `{args.kernel_name}` has {len(kernel.arg_names)} parameters: "
                         f"{', '.join(kernel.arg_names)}")
    if len(grid) != 3:
        raise SystemExit(f"the grid has {len(grid)} parts, not 3: {args.grid!r}")
    signature, constants, attrs, parameters, suffix = {}, {}, {}, [], ""
    for index, (name, word) in enumerate(zip(kernel.arg_names, words)):
        kind, _, hint = word.partition(":")
        if _constant(kind) is not ...:
            signature[name], constants[name] = "constexpr", _constant(kind)
            continue
        if hint not in ("", "1", "16"):
            raise SystemExit(f"the hint of `{word}` is neither 1 nor 16")
        if kind.startswith("*"):
            parameters.append(("CUdeviceptr", name))
        elif kind in C_TYPES:
            parameters.append((C_TYPES[kind], name))
        else:
            raise SystemExit(f"`{name}` of type `{kind}` has no form in C: use a pack (`nereid compile --emit pack`)")
        signature[name] = kind
        if hint == "1":
            signature[name], constants[name] = "constexpr", 1
            suffix += f"{index}c"
        elif hint == "16":
            attrs[index, ] = [["tt.divisibility", 16]]
            suffix += f"{index}d"
    # With no hint at all nothing may be taken for granted of a pointer.
    attrs = attrs or {(len(words), ): []}
    compiled = triton.compile(ASTSource(kernel, signature, constants, attrs), target=_target(args.target),
                              options={"num_warps": args.num_warps, "num_stages": args.num_stages})
    passed = [name for _, name in parameters if name not in constants]
    facts = compiled.facts
    if facts["scratch"] or re.search(rf"ld\.param\.[^;]*_param_{len(passed)}\b", compiled.asm["ptx"]):
        raise SystemExit(f"`{args.kernel_name}` prints, asserts or needs scratch memory, which is the engine's to give: use a pack "
                         "(`nereid compile --emit pack`)")
    meta = f"warps{args.num_warps}xstages{args.num_stages}"
    digest = hashlib.sha256(" ".join([*words, meta]).encode()).hexdigest()[:8]
    out = args.out_name or args.kernel_name
    name = f"{out}_{digest}_{suffix}"
    fields = dict(
        name=name, entry=facts["entry"], grid=grid, shared=facts["shared"], threads=32 * facts["num_warps"],
        parameters=", ".join(f"{kind} {one}" for kind, one in parameters), addresses="".join(f"&{one}, " for one in passed),
        algorithm=re.sub(r"\W", "_", "_".join(["x".join(map(str, constants.values())), meta])),
        about=", ".join([f"{one}={value}" for one, value in constants.items()] + [meta]),
        code=",\n".join(", ".join(map(hex, compiled.asm["cubin"][at:at + 32])) for at in range(0, len(compiled.asm["cubin"]), 32)))
    files = []
    for ending, template in ((".h", HEADER), (".c", SOURCE)):
        path = Path(args.out_path or out)
        path = path.with_name(f"{path.stem if path.suffix else path.name}.{digest}_{suffix}{ending}")
        path.write_text(template.format(**fields))
        files.append(path)
    return files


def main():
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("path", help="a Python file, which is executed")
    parser.add_argument("--kernel-name", "-n", required=True)
    parser.add_argument("--target", "-t", help="as in `cuda:90:32`; else the current device")
    parser.add_argument("--num-warps", "-w", type=int, default=1)
    parser.add_argument("--num-stages", "-ns", type=int, default=3)
    parser.add_argument("--out-name", "-on", help="of the functions in C; else that of the kernel")
    parser.add_argument("--out-path", "-o", type=Path, help="what the files' names start with")
    parser.add_argument("--signature", "-s", required=True, help='types with hints and values, as in "*fp32:16, i32, 1024"')
    parser.add_argument("--grid", "-g", required=True, help="three expressions in C of the kernel's arguments")
    for path in compile_kernel(CompileArgs(**vars(parser.parse_args()))):
        print(path)


if __name__ == "__main__":
    main()
