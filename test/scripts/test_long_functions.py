"""scripts/long-functions.py finds functions, and none of ours is too long."""
import importlib.util
import pathlib
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("long_functions", ROOT / "scripts" / "long-functions.py")
long_functions = importlib.util.module_from_spec(spec)
spec.loader.exec_module(long_functions)

SAMPLE = """// int comment() {
namespace a {
struct S : Base<int(int)> {
  S() : x{1}, y(2) {
    go();
  }
  int size() const override { return 1; }
  std::vector<int> values = {
      f(1),
  };
};
template <typename T>
auto g(T value,
       int other) -> std::pair<int, T> {
  auto inner = [&](int x) {
    return "}" + std::string(1, '{') + R"x({{)x";
  };
  return {1, value};
}
} // namespace a
"""


class LongFunctions(unittest.TestCase):

    def test_finds_functions(self):
        found = [(line, lines, head.split("(")[0]) for line, lines, head in long_functions.functions(SAMPLE)]
        self.assertEqual(found, [(4, 3, "S"), (7, 1, "int size"), (12, 8, "template <typename T> auto g")])

    def test_ours_are_short(self):
        files = long_functions.ours()
        self.assertGreater(len(files), 500)
        self.assertEqual([f"{file.relative_to(ROOT)}:{line}: {lines} lines" for lines, file, line, _ in long_functions.longest(files)], [])


if __name__ == "__main__":
    unittest.main()
