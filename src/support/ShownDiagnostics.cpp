#include "support/ShownDiagnostics.h"

#include "support/ReadFile.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

namespace nereid::support {

namespace {

void collectFiles(const Diagnostic &diagnostic, std::map<std::string, std::string> &files) {
  files.try_emplace(diagnostic.where.file);
  for (const Diagnostic::Label &label : diagnostic.labels)
    files.try_emplace(label.where.file);
  for (const Diagnostic &note : diagnostic.notes)
    collectFiles(note, files);
}

struct LiveTexts {
  std::mutex mutex;
  std::multimap<std::string, const std::string *> byName;
};
// Never destroyed: programs may end after this file's statics.
LiveTexts &liveTexts() {
  static auto *texts = new LiveTexts;
  return *texts;
}

// Nothing if no text of that name lives, an empty one if several differ.
std::optional<std::string> liveText(const std::string &name) {
  LiveTexts &live = liveTexts();
  std::lock_guard lock(live.mutex);
  auto [first, last] = live.byName.equal_range(name);
  if (first == last)
    return std::nullopt;
  for (auto other = std::next(first); other != last; ++other)
    if (*other->second != *first->second)
      return "";
  return *first->second;
}

} // namespace

ShownText::ShownText(std::string name, std::string text)
    : name(std::move(name)), text(std::move(text)) {
  LiveTexts &live = liveTexts();
  std::lock_guard lock(live.mutex);
  live.byName.emplace(this->name, &this->text);
}

ShownText::~ShownText() {
  LiveTexts &live = liveTexts();
  std::lock_guard lock(live.mutex);
  auto [first, last] = live.byName.equal_range(name);
  live.byName.erase(std::find_if(first, last, [&](auto &one) { return one.second == &text; }));
}

std::vector<std::string> shown(const std::vector<Diagnostic> &diagnostics) {
  std::map<std::string, std::string> files;
  for (const Diagnostic &diagnostic : diagnostics)
    collectFiles(diagnostic, files);
  std::vector<std::pair<std::string, std::string_view>> sources;
  for (auto &[name, text] : files) {
    if (auto live = liveText(name))
      text = *std::move(live);
    else if (auto read = readFile(name, largestSource))
      text = *std::move(read);
    if (!text.empty())
      sources.emplace_back(name, text);
  }
  std::vector<std::string> texts;
  for (const Diagnostic &diagnostic : diagnostics)
    texts.push_back(render(diagnostic, sources));
  return texts;
}

} // namespace nereid::support
