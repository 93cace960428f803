// Source files for the evaluator: a file, its neighbours as modules, and what its tree imports.
#pragma once

#include "emit/Program.h"
#include "nereid/base.h"

#include <filesystem>
#include <map>
#include <memory>
#include <string>

namespace nereid::engine {

/// The text of a source file; the error names it.
Result<std::string> readSource(const std::filesystem::path &path);
Status writeFile(const std::filesystem::path &path, std::string_view bytes);
/// The same, at once: whoever reads the path meets the old file or the new one.
Status replaceFile(const std::filesystem::path &path, std::string_view bytes);

/// The unit of a file. Its logical name is `path` as given; imports are found beside the file and,
/// for packages, in the folders above it that have an `__init__.py`.
Result<std::shared_ptr<const emit::SourceUnit>> readUnit(const std::filesystem::path &path);

/// What NAME=VALUE words (`--define`) say of module-level code.
Result<emit::HostOptions> hostOptions(const std::vector<std::string> &defines);
/// The file parsed and its module-level code evaluated.
Result<std::unique_ptr<emit::Program>> loadProgram(const std::filesystem::path &path,
                                                   const std::vector<std::string> &defines = {});

} // namespace nereid::engine
