// The generated part of docs/language.md.

#include "ops/Table.h"

#include <algorithm>
#include <map>
#include <string>

namespace nereid::ops {
namespace {

// Headings in the order of the document; a family that is missing here comes last under its own
// name.
constexpr std::pair<std::string_view, std::string_view> Headings[] = {
    {"program", "Programs"},
    {"type", "Types and names"},
    {"creation", "Making tiles"},
    {"shape", "Shapes"},
    {"memory", "Memory"},
    {"descriptor", "Tensor descriptors"},
    {"arithmetic", "Operators as functions"},
    {"math", "Elementwise functions"},
    {"elementwise", "Functions of one's own on elements"},
    {"matrix", "Matrix products"},
    {"reduction", "Reductions"},
    {"scan", "Scans"},
    {"sort", "Order"},
    {"atomic", "Atomics"},
    {"random", "Random numbers"},
    {"iteration", "Loops"},
    {"hint", "Hints"},
    {"debug", "Debugging"},
    {"target", "The target"},
    {"libdevice", "libdevice"},
};

std::string_view heading(std::string_view family) {
  for (auto [name, text] : Headings)
    if (name == family)
      return text;
  return family;
}

std::string_view statusText(Row::Status status) {
  switch (status) {
  case Row::Status::Supported:
    return "yes";
  case Row::Status::Partial:
    return "partly";
  case Row::Status::Unsupported:
    return "no";
  }
  return "";
}

// A table cell must not end at a bar of its text.
std::string cell(std::string_view text) {
  std::string out;
  for (char c : text)
    out += c == '|' ? std::string("\\|") : c == '\n' ? std::string("\\n") : std::string(1, c);
  return out;
}

void appendRow(std::string &text, const Row &row) {
  bool isName = row.constant || (row.emitter && row.signature.empty());
  std::string call = isName ? spelling(row) : callSpelling(row);
  text += "| `" + cell(call) + "`" +
          (row.method && !row.name.starts_with("tensor.") ? ", method" : "") + " | " +
          std::string(statusText(row.status)) + " | " + cell(row.summary);
  if (!row.remark.empty())
    text += " *" + cell(row.remark) + "*";
  text += " |\n";
}

} // namespace

std::string languageTable() {
  std::vector<std::string_view> order;
  for (auto [name, text] : Headings)
    order.push_back(name);
  std::map<std::string_view, std::vector<const Row *>> families;
  size_t counts[3] = {};
  std::string old;
  for (const Row &row : table()) {
    if (!families.contains(row.family) &&
        std::find(order.begin(), order.end(), row.family) == order.end())
      order.push_back(row.family);
    families[row.family].push_back(&row);
    ++counts[size_t(row.status)];
    std::string_view rest = row.aliases;
    while (!rest.empty()) {
      std::string_view alias = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(rest.size(), alias.size() + 1));
      if (alias.starts_with("old:"))
        old += "| `tl." + std::string(alias.substr(4)) + "` | `" + spelling(row) + "` |\n";
    }
  }
  std::string text = std::to_string(counts[0]) + " names are supported, " +
                     std::to_string(counts[1]) + " partly, " + std::to_string(counts[2]) +
                     " not. \"Method\" means that tiles have it as a method too.\n";
  for (std::string_view family : order) {
    text +=
        "\n### " + std::string(heading(family)) + "\n\n| name | | what it does |\n|---|---|---|\n";
    for (const Row *row : families[family])
      appendRow(text, *row);
  }
  text +=
      "\n### Old spellings\n\nThey are accepted with a note. `tl.math.X` and `tl.libdevice.X` also "
      "reach `libdevice.X`.\n\n| old | today |\n|---|---|\n" +
      old;
  return text;
}

} // namespace nereid::ops
