// Prints the generated part of docs/language.md; scripts/language-doc.py puts it there.

#include "ops/Table.h"

#include <cstdio>

int main() {
  std::string text = nereid::ops::languageTable();
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}
