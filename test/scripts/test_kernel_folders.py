"""Each kernel folder keeps to the contract of docs/design/contract-kernel-folder.md: its files, and in spec.py and
reference.py nothing but the subset of Python that our evaluator runs."""
import ast
import json
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDERS = sorted(spec.parent for spec in ROOT.glob("kernels/*/spec.py"))
CONTRACT = (ROOT / "docs" / "design" / "contract-kernel-folder.md").read_text()

STATEMENTS = (ast.Module, ast.FunctionDef, ast.arguments, ast.arg, ast.Return, ast.Assign, ast.For, ast.If, ast.Assert, ast.Expr, ast.Pass)
EXPRESSIONS = (ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Lambda, ast.IfExp, ast.Dict, ast.ListComp, ast.DictComp, ast.comprehension, ast.Compare,
               ast.Call, ast.keyword, ast.JoinedStr, ast.FormattedValue, ast.Constant, ast.Attribute, ast.Subscript, ast.Starred, ast.Name,
               ast.List, ast.Tuple, ast.Slice, ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop)
FUNCTIONS = set("dict list tuple range len min max sum abs int float str bool round zip enumerate sorted reversed all any isinstance".split())
SPEC_NAMES = FUNCTIONS | set(
    "cdiv next_power_of_2 prod sqrt exp log log2 eps sizeof inf nan True False None "
    "randn rand randint zeros ones empty full arange permutation values special computed launch descriptor unsupported".split())
SPEC_FIELDS = set("doc cases bench demo inputs outputs variants tolerance flops bytes peers tasks prepare".split())
TENSOR = set("shape strides stride numel dtype element_size nbytes".split())
ARRAY = set("shape ndim T size astype reshape swapaxes transpose".split())
NUMPY = set(
    "exp exp2 log log2 sqrt tanh sin cos abs floor ceil maximum minimum where isnan isinf sign square matmul sum max min mean prod cumsum argmax "
    "any all arange zeros ones full zeros_like ones_like broadcast_to repeat stack concatenate expand_dims tril triu take sort inf nan pi "
    "float64 int64 bool_".split())


def boundNames(tree):
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    names |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    return names | {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}


class Folders(unittest.TestCase):
    def each(self):
        self.assertGreater(len(FOLDERS), 9)
        for folder in FOLDERS:
            with self.subTest(folder=folder.name):
                yield folder

    def checkNodes(self, path, tree, names, attributes):
        bound = boundNames(tree)
        for node in ast.walk(tree):
            where = f"{path.name}:{getattr(node, 'lineno', 0)}"
            self.assertIsInstance(node, STATEMENTS + EXPRESSIONS + (ast.Import, ast.ImportFrom, ast.alias), f"{where}: not in the evaluator's subset")
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                self.assertIn(node.id, names | bound, f"{where}: no such name in the contract")
            if isinstance(node, ast.Attribute) and not (isinstance(node.value, ast.Name) and node.value.id == "np"):
                self.assertIn(node.attr, attributes, f"{where}: no such attribute in the contract")

    def test_files(self):
        for folder in self.each():
            self.assertTrue((folder / "kernel.py").exists())
            self.assertTrue((folder / "reference.py").exists())
            tuned = json.loads((folder / "tuned.json").read_text())
            self.assertEqual(tuned["version"], 1)
            for row in tuned["rows"]:
                self.assertLessEqual({"target", "variant", "case", "config", "seconds", "date"}, set(row))

    def test_spec_is_in_the_subset(self):
        for folder in self.each():
            tree = ast.parse((folder / "spec.py").read_text())
            self.checkNodes(folder / "spec.py", tree, SPEC_NAMES, TENSOR)
            self.assertFalse([node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))], "a spec imports nothing")

    def test_reference_is_in_the_subset(self):
        for folder in self.each():
            tree = ast.parse((folder / "reference.py").read_text())
            self.checkNodes(folder / "reference.py", tree, FUNCTIONS | {"np", "erf", "uniform"}, ARRAY)
            for node in ast.walk(tree):
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "np":
                    self.assertIn(node.attr, NUMPY, f"reference.py:{node.lineno}")
                if isinstance(node, ast.Import):
                    self.assertEqual([(alias.name, alias.asname) for alias in node.names], [("numpy", "np")])
                if isinstance(node, ast.ImportFrom):
                    self.assertEqual(node.module, "nereid.reference")
                    self.assertLessEqual({alias.name for alias in node.names}, {"erf", "uniform"})

    def test_launched_kernels_exist(self):
        for folder in self.each():
            for node in ast.walk(ast.parse((folder / "spec.py").read_text())):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "launch":
                    file, _, name = node.args[0].value.rpartition(":")
                    text = (folder / (file or "kernel.py")).read_text()
                    self.assertRegex(text, rf"@triton\.jit(\(.*\))?\ndef {re.escape(name)}\(", f"spec.py:{node.lineno}")

    def test_the_contract_names_what_is_allowed(self):
        for name in (SPEC_NAMES | SPEC_FIELDS | TENSOR | ARRAY | NUMPY) - {"True", "False", "None"}:
            self.assertRegex(CONTRACT, rf"\b{name}\b")


if __name__ == "__main__":
    unittest.main()
