"""One registry holds the codes of all diagnostics, and each of them is shown by a test that a user could have written."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
REGISTRY = ROOT / "src" / "support" / "DiagnosticCodes.def"

# How a code is given to a diagnostic: the first text of capitals and letters among the arguments of these.
THROWN = re.compile(r'\b(?:fail|failAt|error|note|raise|finding|Unusable)\s*[({](?:[^"();{}]|\([^()]*\))*"([A-Z][A-Za-z0-9]+)"')
ASSIGNED = re.compile(r'\bcode\s*=\s*"([A-Z][A-Za-z0-9]+)"')

# Shown by unit tests, as no file small enough to keep shows them, or no kernel does by itself.
ELSEWHERE = {
    "IntegerTooLong", "InvalidEncoding", "NestedTooDeep", "SourceTooLarge", "UnknownCharacterName",
    "OperationLimit", "OutOfMemory", "TooManyFindings", "UnsupportedByInterpreter",
    "RecordedCondition", "RecordedExit", "RecordedMove", "RecordedParameters", "RecordedScope",
}
# Not supported is a state of the vocabulary that changes, so no test depends on it.
UNSHOWN = {"UnsupportedOp"}


def registered():
    return re.findall(r"^CODE\((\w+), \"[^\"]+\"\)$", REGISTRY.read_text(), re.M)


class Codes(unittest.TestCase):
    def test_each_code_is_there_once(self):
        codes = registered()
        self.assertEqual(len(codes), len(set(codes)))
        self.assertEqual(len(codes), REGISTRY.read_text().count("\nCODE("), "a malformed line")

    def test_each_code_that_a_room_emits_is_registered(self):
        codes, unknown = set(registered()), {}
        for room in ("syntax", "ops", "emit", "ref"):
            for file in (ROOT / "src" / room).glob("*.cpp"):
                text = file.read_text()
                for code in THROWN.findall(text) + ASSIGNED.findall(text):
                    if code not in codes and not code.endswith(("Error", "Exception", "Iteration")):
                        unknown.setdefault(code, file.name)
        self.assertEqual(unknown, {}, "add them to DiagnosticCodes.def and show each in test/errors or test/check")

    def test_each_code_is_shown(self):
        shown = ""
        for folder in ("errors", "check", "run", "syntax/errors"):
            for file in (ROOT / "test" / folder).rglob("*.*"):
                shown += file.read_text(errors="replace")
        words = set(re.findall(r"\w+", shown))
        self.assertEqual([code for code in registered() if code not in words | ELSEWHERE | UNSHOWN], [])


if __name__ == "__main__":
    unittest.main()
