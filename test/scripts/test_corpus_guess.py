"""Guessed signatures: what launches say of them, and the repair of those that do not fit."""
import ast
import pathlib
import sys
import textwrap
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "scripts"))
from corpus_guess import Repair, Sites, firstGuesses  # noqa: E402
from ast_source import split  # noqa: E402

KERNEL = textwrap.dedent("""
    def kernel(x, table, out, n, scale, MODE: tl.constexpr, WIDTH: tl.constexpr):
        i = tl.arange(0, WIDTH)
        row = tl.load(table + i)
        value = tl.load(x + row)
        if MODE == "twice":
            value = value * 2
        tl.store(out + i, value * scale, mask=i < n)
""")
LAUNCHER = textwrap.dedent("""
    def launch(x: torch.Tensor, width: int, scale: float):
        rows = torch.empty(4, dtype=torch.int64)
        kernel[(1,)](x, rows, torch.empty_like(x), x.shape[0], scale, MODE="twice", WIDTH=triton.next_power_of_2(width))
""")


def node():
    return ast.parse(KERNEL).body[0]


class GuessTest(unittest.TestCase):
    def test_launches_say_types_and_values(self):
        sites = Sites()
        sites.read(ast.parse(LAUNCHER))
        guesses, constexprs = firstGuesses(node(), sites)
        self.assertEqual(guesses[0], ["*fp32:16", "*i64:16", "*fp32:16", "i32", "fp32", "'twice'", "32"])
        self.assertEqual(constexprs, {"MODE", "WIDTH"})

    def test_words_are_split_at_outer_commas(self):
        self.assertEqual(split("*fp32, (i32, 4), 'a, b', tensordesc<fp16[4,8]>"), ["*fp32", "(i32, 4)", "'a, b'", "tensordesc<fp16[4,8]>"])

    def test_what_stands_behind_a_line_is_suspected_nearest_first(self):
        repair = Repair(node(), {"MODE", "WIDTH"})
        self.assertEqual(repair.suspects(5), ["x", "table", "WIDTH"])
        self.assertEqual(repair.choices("MODE", "32")[0], "'twice'")

    def test_the_repair_keeps_what_gets_further(self):
        words = ["*fp32:16", "*fp32:16", "*fp32:16", "i32", "i32", "32", "32"]

        def attempt(changed):
            if not changed[1].startswith("*i"):
                return 5
            return None if changed[5] == "'twice'" else 6

        found, count = Repair(node(), {"MODE", "WIDTH"}).search(attempt, words, 5, 60)
        self.assertEqual(found[5], "'twice'")
        self.assertTrue(found[1].startswith("*i"))
        self.assertLess(count, 20)

    def test_the_repair_gives_up(self):
        self.assertEqual(Repair(node(), set()).search(lambda words: 5, ["i32"] * 7, 5, 10), (None, 10))


if __name__ == "__main__":
    unittest.main()
