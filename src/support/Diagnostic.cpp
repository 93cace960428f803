#include "nereid/base.h"

#include <algorithm>

namespace nereid {
namespace {

using Sources = std::vector<std::pair<std::string, std::string_view>>;

// Longer lines are shown in part, around the caret.
constexpr size_t MaxShownBytes = 160;

std::string_view lineOf(const Sources &sources, const std::string &file, uint32_t number) {
  for (const auto &[name, text] : sources) {
    if (name != file || !number)
      continue;
    std::string_view rest = text;
    for (uint32_t skip = number - 1; skip; --skip) {
      size_t end = rest.find('\n');
      if (end == std::string_view::npos)
        return {};
      rest.remove_prefix(end + 1);
    }
    rest = rest.substr(0, rest.find('\n'));
    if (rest.ends_with('\r'))
      rest.remove_suffix(1);
    return rest;
  }
  return {};
}

bool continuesCharacter(char c) { return (c & 0xC0) == 0x80; }

// A mark under the bytes [begin, end) of a shown line.
struct Mark {
  size_t begin, end;
  char sign;
  std::string text;
};

// What stands under the first `column` bytes of `line`: as wide, tabs kept.
std::string padding(std::string_view line, size_t column) {
  std::string out;
  for (size_t i = 0; i < column; ++i) {
    char c = i < line.size() ? line[i] : ' ';
    if (!continuesCharacter(c))
      out += c == '\t' ? '\t' : ' ';
  }
  return out;
}

size_t widthOf(std::string_view line, size_t begin, size_t end) {
  size_t width = 0;
  for (size_t i = begin; i < end; ++i)
    width += i >= line.size() || !continuesCharacter(line[i]);
  return width;
}

// The line with its number, then signs under the marks, then their texts from right to left, so
// that none runs into another.
void showLine(std::string &out, std::string_view line, uint32_t number, std::vector<Mark> marks) {
  std::sort(marks.begin(), marks.end(),
            [](const Mark &a, const Mark &b) { return a.begin < b.begin; });
  for (Mark &mark : marks) {
    mark.begin = std::min(mark.begin, line.size());
    mark.end = std::max(std::min(mark.end, line.size()), mark.begin + 1);
  }
  bool cutLeft = false, cutRight = false;
  if (line.size() > MaxShownBytes) {
    size_t from =
        marks.front().begin > MaxShownBytes / 2 ? marks.front().begin - MaxShownBytes / 2 : 0;
    while (from && from < line.size() && continuesCharacter(line[from]))
      --from;
    size_t to = std::min(from + MaxShownBytes, line.size());
    while (to < line.size() && continuesCharacter(line[to]))
      ++to;
    cutLeft = from > 0;
    cutRight = to < line.size();
    line = line.substr(from, to - from);
    for (Mark &mark : marks) {
      mark.begin = std::min(mark.begin - std::min(from, mark.begin), line.size());
      mark.end =
          std::max(std::min(mark.end - std::min(from, mark.end), line.size()), mark.begin + 1);
    }
  }
  std::string label = std::to_string(number);
  size_t gutter = std::max<size_t>(label.size(), 5);
  std::string left = std::string(gutter, ' ') + " | ";
  out += std::string(gutter - label.size(), ' ') + label + " | ";
  out += cutLeft ? "..." : "";
  // A terminal would obey control bytes, as of a file that is no text.
  std::string shown(line);
  std::replace_if(
      shown.begin(), shown.end(),
      [](unsigned char c) { return (c < ' ' && c != '\t') || c == 0x7f; }, '?');
  out += shown;
  out += cutRight ? "...\n" : "\n";

  std::string lead = left + (cutLeft ? "   " : "");
  std::string signs;
  size_t at = 0;
  for (const Mark &mark : marks) {
    if (mark.begin < at)
      continue;
    signs += padding(line.substr(at), mark.begin - at);
    signs += std::string(std::max<size_t>(widthOf(line, mark.begin, mark.end), 1), mark.sign);
    at = mark.end;
  }
  out += lead + signs;
  if (marks.empty()) {
    out += '\n';
    return;
  }
  out += marks.back().text.empty() ? "\n" : " " + marks.back().text + "\n";
  for (size_t i = marks.size() - 1; i-- > 0;)
    if (!marks[i].text.empty())
      out += lead + padding(line, marks[i].begin) + marks[i].text + "\n";
}

Mark markOf(const SourceRange &where, char sign, std::string text) {
  size_t end = where.end.line == where.begin.line ? where.end.column : size_t(-1);
  return {where.begin.column, end, sign, std::move(text)};
}

void renderInto(std::string &out, const Diagnostic &diagnostic, const Sources &sources) {
  static constexpr std::string_view severities[] = {"note", "warning", "error"};
  const SourceRange &where = diagnostic.where;
  if (!where.file.empty())
    out += where.file + ":";
  if (where.begin.valid())
    out += std::to_string(where.begin.line) + ":" + std::to_string(where.begin.column + 1) + ":";
  if (!out.empty() && out.back() == ':')
    out += ' ';
  out += std::string(severities[size_t(diagnostic.severity)]) + ": " + diagnostic.message;
  if (!diagnostic.code.empty())
    out += " [" + diagnostic.code + "]";
  out += '\n';

  // Labels of the line of the caret stand under it; others follow, each with its own line.
  std::vector<Mark> marks;
  if (where.begin.valid())
    marks.push_back({where.begin.column, where.begin.column + 1, '^', ""});
  std::vector<const Diagnostic::Label *> elsewhere;
  for (const Diagnostic::Label &label : diagnostic.labels)
    if (label.where.file == where.file && label.where.begin.line == where.begin.line)
      marks.push_back(markOf(label.where, '~', label.text));
    else
      elsewhere.push_back(&label);
  std::string_view line = lineOf(sources, where.file, where.begin.line);
  if (where.begin.valid() && line.data()) {
    // Alone, the caret marks all of its range.
    if (marks.size() == 1)
      marks[0] = markOf(where, '^', "");
    showLine(out, line, where.begin.line, std::move(marks));
  }
  for (const Diagnostic::Label *label : elsewhere) {
    const SourceRange &place = label->where;
    std::string_view text = lineOf(sources, place.file, place.begin.line);
    if (place.file != where.file || !text.data())
      out += "  " + place.file + ":" + std::to_string(place.begin.line) + ":" +
             std::to_string(place.begin.column + 1) + ": " + label->text + "\n";
    if (text.data())
      showLine(out, text, place.begin.line,
               {markOf(place, '~', place.file == where.file ? label->text : "")});
  }
  if (!diagnostic.hint.empty())
    out += "   hint: " + diagnostic.hint + "\n";
  for (const Diagnostic &note : diagnostic.notes)
    renderInto(out, note, sources);
}

} // namespace

__attribute__((visibility("default"))) std::string render(const Diagnostic &diagnostic,
                                                          const Sources &sources) {
  std::string out;
  renderInto(out, diagnostic, sources);
  return out;
}

} // namespace nereid
