#include "nereid/base.h"
#include "support/DiagnosticCodes.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace nereid;

namespace {

SourceRange range(uint32_t line, uint32_t from, uint32_t to) {
  return {"matmul.py", {line, from}, {line, to}};
}

TEST(Render, LabelsOfTheSameLineStandUnderIt) {
  Diagnostic diagnostic;
  diagnostic.code = "DotShapeMismatch";
  diagnostic.message = "inner dimensions of `tl.dot` differ: 32 and 64";
  diagnostic.where = range(2, 11, 17);
  diagnostic.labels = {{range(2, 18, 19), "128 x 32"}, {range(2, 21, 22), "64 x 128"}};
  diagnostic.hint = "load `b` with BLOCK_K rows";
  EXPECT_EQ(render(diagnostic, {{"matmul.py", "x = 1\n    acc += tl.dot(a, b)\n"}}),
            "matmul.py:2:12: error: inner dimensions of `tl.dot` differ: 32 and 64 "
            "[DotShapeMismatch]\n"
            "    2 |     acc += tl.dot(a, b)\n"
            "      |            ^      ~  ~ 64 x 128\n"
            "      |                   128 x 32\n"
            "   hint: load `b` with BLOCK_K rows\n");
}

TEST(Render, LabelsElsewhereShowTheirOwnLine) {
  Diagnostic diagnostic;
  diagnostic.message = "m";
  diagnostic.where = range(3, 0, 1);
  diagnostic.labels = {{range(1, 4, 5), "opened here"},
                       {{"other.py", {7, 2}, {7, 3}}, "declared here"}};
  EXPECT_EQ(render(diagnostic, {{"matmul.py", "x = (\n1\n]\n"}}),
            "matmul.py:3:1: error: m\n"
            "    3 | ]\n"
            "      | ^\n"
            "    1 | x = (\n"
            "      |     ~ opened here\n"
            "  other.py:7:3: declared here\n");
}

TEST(Render, WithoutSourceOrPlace) {
  Diagnostic diagnostic;
  diagnostic.severity = Severity::Warning;
  diagnostic.message = "m";
  EXPECT_EQ(render(diagnostic, {}), "warning: m\n");
  diagnostic.where = range(9, 4, 5);
  EXPECT_EQ(render(diagnostic, {}), "matmul.py:9:5: warning: m\n");
  // A line that the source does not have.
  EXPECT_EQ(render(diagnostic, {{"matmul.py", "one line"}}), "matmul.py:9:5: warning: m\n");
}

TEST(Render, CaretsCountCharactersAndKeepTabs) {
  Diagnostic diagnostic;
  diagnostic.message = "m";
  diagnostic.where = range(1, 6, 8); // after a tab, a two-byte letter and three others
  EXPECT_EQ(render(diagnostic, {{"matmul.py", "\t\xC3\xA9 = \xC3\xA9"}}),
            "matmul.py:1:7: error: m\n"
            "    1 | \t\xC3\xA9 = \xC3\xA9\n"
            "      | \t    ^\n");
}

TEST(Render, LongLinesAreShownAroundTheCaret) {
  Diagnostic diagnostic;
  diagnostic.message = "m";
  diagnostic.where = range(1, 500'000, 500'003);
  std::string line(1'000'000, 'a');
  line.replace(500'000, 3, "xyz");
  std::string text = render(diagnostic, {{"matmul.py", line}});
  EXPECT_LT(text.size(), 500u);
  size_t shown = text.find("xyz"), caret = text.find("^^^");
  ASSERT_NE(shown, std::string::npos);
  ASSERT_NE(caret, std::string::npos);
  auto column = [&](size_t at) { return at - text.rfind('\n', at); };
  EXPECT_EQ(column(shown), column(caret));
}

TEST(Render, RangesBeyondTheLineAreCut) {
  Diagnostic diagnostic;
  diagnostic.message = "m";
  diagnostic.where = {"matmul.py", {1, 400}, {1, 4'000'000'000}};
  EXPECT_EQ(render(diagnostic, {{"matmul.py", "ab"}}), "matmul.py:1:401: error: m\n"
                                                       "    1 | ab\n"
                                                       "      |   ^\n");
  diagnostic.where = {"matmul.py", {1, 1}, {3, 0}};
  EXPECT_EQ(render(diagnostic, {{"matmul.py", "abc\nd\n"}}), "matmul.py:1:2: error: m\n"
                                                             "    1 | abc\n"
                                                             "      |  ^^\n");
}

TEST(Render, NotesFollow) {
  Diagnostic diagnostic;
  diagnostic.message = "m";
  diagnostic.where = range(1, 0, 1);
  Diagnostic note;
  note.severity = Severity::Note;
  note.message = "called from here";
  note.where = range(2, 0, 1);
  diagnostic.notes = {note};
  EXPECT_EQ(render(diagnostic, {{"matmul.py", "a\nb\r\n"}}),
            "matmul.py:1:1: error: m\n"
            "    1 | a\n"
            "      | ^\n"
            "matmul.py:2:1: note: called from here\n"
            "    2 | b\n"
            "      | ^\n");
}

TEST(DiagnosticCodes, AreDistinct) {
  std::vector<std::string_view> names;
  for (const DiagnosticCode &code : diagnosticCodes()) {
    names.push_back(code.name);
    EXPECT_FALSE(code.summary.empty());
    EXPECT_TRUE(isDiagnosticCode(code.name));
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  EXPECT_FALSE(isDiagnosticCode("NoSuchCode"));
}

} // namespace
