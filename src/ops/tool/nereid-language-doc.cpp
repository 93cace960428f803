// Prints what scripts/language-doc.py puts into its places: the vocabulary in docs/language.md, or
// with `options`, `methods` or `functions` that part of nereid/tl.h.

#include "ops/CppVocabulary.h"
#include "ops/Table.h"

#include <cstdio>
#include <string_view>

int main(int argc, char **argv) {
  std::string_view part = argc > 1 ? argv[1] : "";
  std::string text = part == "options"     ? nereid::ops::cppOptions()
                     : part == "methods"   ? nereid::ops::cppMethods()
                     : part == "functions" ? nereid::ops::cppFunctions()
                                           : nereid::ops::languageTable();
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}
