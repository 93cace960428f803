// docs/language.md and nereid/tl.h hold what the table says today.

#include "ops/CppVocabulary.h"
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

TEST(LanguageDoc, CppHeadersAreFresh) {
  for (const auto &[part, text] : {std::pair{"options", nereid::ops::cppOptions()},
                                   {"methods", nereid::ops::cppMethods()},
                                   {"functions", nereid::ops::cppFunctions()}}) {
    std::stringstream found;
    found << std::ifstream(std::string(NEREID_SOURCE_DIR "/include/nereid/tl_") + part + ".inc")
                 .rdbuf();
    EXPECT_TRUE(found.str() == text) << part << " is stale: run scripts/language-doc.py";
  }
}

} // namespace
