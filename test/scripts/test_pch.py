"""No file relies on the precompiled header: what it uses of MLIR, its own includes reach. The compiler says so for certain
(preset `no-pch`); this is what a test run can afford."""
import functools
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LLVM = pathlib.Path("/usr/lib/llvm-19/include")
FOLDERS = [ROOT / "src", ROOT / "include", ROOT / "python", LLVM]
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.M)
# What only these headers define. A namespace stands for its dialect.
OF_HEADER = {
    "mlir/Dialect/Arith/IR/Arith.h": r"arith::\w",
    "mlir/Dialect/Func/IR/FuncOps.h": r"func::\w",
    "mlir/Dialect/LLVMIR/LLVMDialect.h": r"LLVM::\w",
    "mlir/Dialect/Math/IR/Math.h": r"math::\w",
    "mlir/Dialect/SCF/IR/SCF.h": r"scf::\w",
    "mlir/IR/Builders.h": r"OpBuilder\b",
    "mlir/IR/BuiltinOps.h": r"ModuleOp\b",
    "mlir/IR/IRMapping.h": r"IRMapping\b",
    "mlir/IR/Matchers.h": r"(?:matchPattern|m_Constant|m_Zero|m_One)\b",  # comes with others of the precompiled header
    "mlir/IR/MLIRContext.h": r"MLIRContext\b",
    "mlir/IR/PatternMatch.h": r"PatternRewriter\b",
    "mlir/Pass/Pass.h": r"(?:OperationPass|PassWrapper)\b",
    "mlir/Pass/PassManager.h": r"PassManager\b",
    "mlir/Transforms/DialectConversion.h": r"ConversionTarget\b",
    "mlir/Transforms/GreedyPatternRewriteDriver.h": r"applyPatternsAndFoldGreedily\b",
}


@functools.lru_cache(None)
def included(path):
    """(name, file or None) of each include."""
    found = []
    for name in INCLUDE.findall(path.read_text(errors="replace")):
        places = [folder / name for folder in [path.parent, *FOLDERS]]
        found.append((name, next((place for place in places if place.is_file()), None)))
    return found


def reached(path):
    names, seen, todo = set(), {path}, [path]
    while todo:
        for name, file in included(todo.pop()):
            names.add(name)
            if file and file not in seen:
                seen.add(file)
                todo.append(file)
    return names


class PrecompiledHeader(unittest.TestCase):
    def test_every_header_of_it_has_its_names_here(self):
        headers = [name for name in INCLUDE.findall((ROOT / "src/ir/Pch.h").read_text()) if name.startswith("mlir/")]
        self.assertLessEqual(set(headers), {*OF_HEADER, "mlir/IR/BuiltinTypes.h"})

    @unittest.skipUnless((LLVM / "mlir").is_dir(), "no headers of MLIR")
    def test_what_a_file_uses_its_includes_reach(self):
        missing = []
        for folder in ("src", "test/unit", "python/binding"):
            for path in sorted([*(ROOT / folder).rglob("*.cpp"), *(ROOT / folder).rglob("*.h")]):
                text = re.sub(r"//.*", "", path.read_text())
                used = [header for header, names in OF_HEADER.items()
                        if re.search(r"(?<![\w:])(?:mlir::)?(?:" + names + ")", text)]
                if used:
                    names = reached(path)
                    missing += [f"{path.relative_to(ROOT)} lacks {header}" for header in used if header not in names]
        self.assertEqual(missing, [])


if __name__ == "__main__":
    unittest.main()
