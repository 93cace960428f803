// docs/language.md holds what the table says today.

#include "ops/Table.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace {

TEST(LanguageDoc, PageIsFresh) {
  std::stringstream text;
  text << std::ifstream(NEREID_SOURCE_DIR "/docs/language.md").rdbuf();
  std::string page = text.str();
  // Compared without printing: the page is long, and one command rewrites it.
  EXPECT_TRUE(page.find("<!-- generated: begin -->\n" + nereid::ops::languageTable() +
                        "<!-- generated: end -->\n") != std::string::npos)
      << "docs/language.md is stale: run scripts/language-doc.py";
}

} // namespace
