"""Which PTX the corpus has assembled, and what is said where nothing can be."""
import importlib.util
import os
import pathlib
import stat
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
spec = importlib.util.spec_from_file_location("corpus_ci", ROOT / "scripts" / "corpus-ci.py")
corpus = importlib.util.module_from_spec(spec)
spec.loader.exec_module(corpus)

LAUNCH = dict(file="k.py", kernel="k", args=[], options={}, constexprs={})


def ptx(chip, body="ret;", version="8.4"):
    return f".version {version}\n.target {chip}\n{body}\n"


class Ptxas(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.log = pathlib.Path(folder.name) / "log"
        self.log.touch()
        program = pathlib.Path(folder.name) / "ptxas"
        program.write_text(f'#!/bin/sh\necho "$1" >>{self.log}\nif grep -q bad "$2"; then echo "ptxas x.ptx, line 3; error: no bad" >&2; exit 1; fi\n')
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        self.assembler = corpus.Assembler(str(program))

    def seen(self):
        return [line.removeprefix("-arch=") for line in self.log.read_text().split()]

    def test_equal_code_of_later_chips_is_read_once(self):
        for chip in ("sm_80", "sm_86", "sm_80"):  # each header once, then by the first
            self.assertIsNone(self.assembler.refusal(ptx(chip), chip))
        self.assertEqual(self.seen(), ["sm_80", "sm_86"])
        for chip in ("sm_80", "sm_86"):
            self.assertIsNone(self.assembler.refusal(ptx(chip, "add;"), chip))
        self.assertEqual(self.seen(), ["sm_80", "sm_86", "sm_80"])

    def test_code_of_a_later_chip_says_nothing_of_an_earlier_one(self):
        for chip in ("sm_90", "sm_80"):
            self.assembler.refusal(ptx(chip), chip)
        self.assembler.refusal(ptx("sm_90", "mma;"), "sm_90")
        self.assembler.refusal(ptx("sm_80", "mma;"), "sm_80")
        self.assertEqual(self.seen(), ["sm_90", "sm_80", "sm_90", "sm_80"])

    def test_code_of_one_chip_alone_is_no_other_chips(self):
        for body in ("ret;", "wgmma;"):
            for chip in ("sm_90a", "sm_100"):
                self.assembler.refusal(ptx(chip, body), chip)
        self.assertEqual(self.seen(), ["sm_90a", "sm_100"] * 2)

    def test_what_is_refused_is_refused_again(self):
        for _ in range(2):
            self.assertEqual(self.assembler.refusal(ptx("sm_80", "bad;"), "sm_80"), "ptxas for sm_80: error: no bad")
        self.assertEqual(len(self.seen()), 2)


class Compiler:
    def compile(self, file, kernel, signature, options, emit, chip):
        return ptx(chip), None


class WithoutPtxas(unittest.TestCase):
    def test_nothing_has_passed(self):
        corpus.signatureOf = corpus.optionsOf = lambda launch: ""
        why = corpus.assemble(Compiler(), pathlib.Path("."), LAUNCH, None)
        self.assertIsInstance(why, corpus.Skipped)
        self.assertIn("no ptxas", why)


if __name__ == "__main__":
    unittest.main()
