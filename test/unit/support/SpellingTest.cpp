#include "support/Spelling.h"

#include <gtest/gtest.h>

using nereid::support::Spelling;

namespace {

std::string closest(std::string_view name, std::initializer_list<std::string_view> candidates) {
  Spelling spelling(name);
  for (std::string_view one : candidates)
    spelling.consider(one);
  return spelling.best();
}

TEST(Spelling, FindsTheFewestEdits) {
  EXPECT_EQ(closest("maximun", {"minimum", "maximum", "max"}), "maximum");
  EXPECT_EQ(closest("laod", {"log", "load", "store"}), "load"); // a swap is one edit
  EXPECT_EQ(closest("lodas", {"load"}), "");                    // two of them are two
  EXPECT_EQ(closest("ex", {"exp", "x"}), "");
  EXPECT_EQ(closest("offset", {"offset"}), "");
  EXPECT_EQ(closest("frobnicate", {"load", "store"}), "");
}

} // namespace
