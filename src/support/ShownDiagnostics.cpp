#include "support/ShownDiagnostics.h"

#include "support/ReadFile.h"

#include <map>

namespace nereid::support {

namespace {

void collectFiles(const Diagnostic &diagnostic, std::map<std::string, std::string> &files) {
  files.try_emplace(diagnostic.where.file);
  for (const Diagnostic::Label &label : diagnostic.labels)
    files.try_emplace(label.where.file);
  for (const Diagnostic &note : diagnostic.notes)
    collectFiles(note, files);
}

} // namespace

std::vector<std::string> shown(const std::vector<Diagnostic> &diagnostics) {
  std::map<std::string, std::string> files;
  for (const Diagnostic &diagnostic : diagnostics)
    collectFiles(diagnostic, files);
  std::vector<std::pair<std::string, std::string_view>> sources;
  for (auto &[name, text] : files)
    if (auto read = readFile(name, largestSource)) {
      text = *std::move(read);
      sources.emplace_back(name, text);
    }
  std::vector<std::string> texts;
  for (const Diagnostic &diagnostic : diagnostics)
    texts.push_back(render(diagnostic, sources));
  return texts;
}

} // namespace nereid::support
