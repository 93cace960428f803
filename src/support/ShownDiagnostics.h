// Diagnostics with the lines that they are about.
#pragma once

#include "nereid/base.h"

#include <memory>

namespace nereid::support {

/// A source that is no file, by the name that diagnostics have for it: its lines are shown while
/// this lives. Where two live texts share a name neither is, since a diagnostic does not say which
/// one it is about.
class ShownText {
public:
  ShownText(std::string name, std::string text);
  ~ShownText();
  ShownText(const ShownText &) = delete;
  ShownText &operator=(const ShownText &) = delete;

  const std::string name, text;
};

/// Each one rendered with the lines of the texts and files that it names, files as those are now;
/// without them where a file cannot be read.
std::vector<std::string> shown(const std::vector<Diagnostic> &diagnostics);

} // namespace nereid::support
