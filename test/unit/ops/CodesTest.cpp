// Each code that this room throws is in the registry of diagnostics.

#include "support/DiagnosticCodes.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

namespace {

TEST(Codes, AreRegistered) {
  size_t seen = 0;
  std::regex use(R"rx((?:fail|note)\(\s*"([A-Z]\w+)")rx");
  for (auto &file : std::filesystem::directory_iterator(NEREID_SOURCE_DIR "/src/ops")) {
    if (file.path().extension() != ".cpp")
      continue;
    std::stringstream text;
    text << std::ifstream(file.path()).rdbuf();
    std::string source = text.str();
    for (std::sregex_iterator match(source.begin(), source.end(), use), end; match != end;
         ++match, ++seen)
      EXPECT_TRUE(nereid::isDiagnosticCode((*match)[1].str()))
          << (*match)[1] << " of " << file.path() << " is not in DiagnosticCodes.def";
  }
  EXPECT_GT(seen, 100u);
}

} // namespace
