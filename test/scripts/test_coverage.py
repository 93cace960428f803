"""Every name of the vocabulary that we call supported computes something in a test.

The rows come from docs/language.md, which `unit_ops` holds to the table; that every op of the dialect has a reference and
both lowerings is `unit_engine`'s Coverage."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Families whose names compute numbers: a kernel with an expected result must use each. The others may be tested anywhere.
NUMERIC = {"Programs", "Making tiles", "Shapes", "Memory", "Tensor descriptors", "Operators as functions", "Elementwise functions",
           "Functions of one's own on elements", "Matrix products", "Reductions", "Scans", "Order", "Atomics", "Random numbers"}
# Tested elsewhere, for a reason.
ELSEWHERE = {
    "tl.inline_asm_elementwise": "test/unit/ops/FamilyTest.cpp: PTX, whose meaning is in test/unit/ref/InlineAsmTest.cpp",
    "tl.dot_scaled": "test/unit/ref/OpsTest.cpp: operands are packed pairs of 4-bit floats",
}


def rows():
    """(family, name, status) of each row of the generated tables."""
    page = (ROOT / "docs" / "language.md").read_text()
    page = page[page.index("<!-- generated: begin -->") : page.index("<!-- generated: end -->")]
    family = None
    for line in page.splitlines():
        if line.startswith("#"):
            family = line.strip("# ")
        row = re.match(r"\| `([\w.]+)[^|]*\| (yes|partly|no) \|", line)
        if row:
            yield family, row.group(1), row.group(2)


def text(*patterns):
    return "\n".join(path.read_text(errors="replace") for pattern in patterns for path in sorted(ROOT.glob(pattern)) if path.is_file())


class Coverage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Composites of the prelude use what they are made of.
        kernels = text("test/run/*.py", "kernels/*/*.py")
        cls.numeric = set(re.findall(r"\.(\w+)", kernels + text("src/ops/prelude.py")))
        cls.anywhere = cls.numeric | set(re.findall(r"\w+", text("test/**/*.py", "test/unit/**/*.cpp")))

    def test_every_supported_name_is_tested(self):
        seen = 0
        for family, name, status in rows():
            if status == "no" or family == "libdevice" or name in ELSEWHERE:
                continue
            seen += 1
            with self.subTest(name):
                self.assertIn(name.split(".")[-1], self.numeric if family in NUMERIC else self.anywhere,
                              f"no test uses `{name}`: add a kernel with an `# expect:` to test/run")
        self.assertGreater(seen, 150)

    def test_exceptions_are_true(self):
        supported = {name for _, name, status in rows() if status != "no"}
        for name, where in ELSEWHERE.items():
            with self.subTest(name):
                self.assertIn(name, supported)
                self.assertIn(name.split(".")[-1], (ROOT / where.split(":")[0]).read_text())


if __name__ == "__main__":
    unittest.main()
