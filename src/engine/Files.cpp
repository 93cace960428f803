#include "engine/Files.h"

#include "support/ReadFile.h"
#include "syntax/Parser.h"

#include <cerrno>
#include <fstream>
#include <system_error>
#include <unistd.h>

namespace nereid::engine {

namespace fs = std::filesystem;

Result<std::string> readSource(const fs::path &path) {
  return support::readFile(path, support::largestSource);
}

// `path` is where the bytes go, `named` what a failure speaks of.
static Status writeTo(const fs::path &path, std::string_view bytes, const fs::path &named) {
  errno = 0;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), std::streamsize(bytes.size()));
  out.close();
  if (!out)
    return Error{"cannot write `" + named.string() +
                     "`: " + std::generic_category().message(errno ? errno : EIO),
                 {}};
  return Success{};
}

Status writeFile(const fs::path &path, std::string_view bytes) {
  return writeTo(path, bytes, path);
}

Status replaceFile(const fs::path &path, std::string_view bytes) {
  fs::path temporary = path;
  temporary += ".tmp" + std::to_string(::getpid());
  Status status = writeTo(temporary, bytes, path);
  std::error_code failed;
  if (status)
    fs::rename(temporary, path, failed);
  if (failed)
    status = Error{"cannot write `" + path.string() + "`: " + failed.message(), {}};
  if (!status)
    fs::remove(temporary, failed);
  return status;
}

namespace {

bool isPackage(const fs::path &folder) {
  std::error_code failed;
  return fs::exists(folder / "__init__.py", failed);
}

struct SearchFolders {
  // That of the file, and for a file of packages the ones that hold them, the outermost first: it
  // names the file. Folders without `__init__.py` inside of a package are parts of it, as Python
  // has it.
  std::vector<fs::path> folders;
  // Packages that the file lies in and that lie in another one, by absolute paths, the innermost
  // first. Programs carry copies of whole packages so, whose modules name each other as if theirs
  // were the outermost.
  std::vector<fs::path> carried;
};

SearchFolders searchFolders(const fs::path &file) {
  SearchFolders found{{file.parent_path()}, {}};
  std::error_code failed;
  // Of the file: nothing is absolute of a folder without a name, where a file is named alone.
  fs::path absolute = fs::absolute(file, failed).lexically_normal().parent_path();
  for (fs::path at = absolute; !failed && at != at.root_path(); at = at.parent_path())
    if (isPackage(at) && isPackage(at.parent_path()))
      found.carried.push_back(at);
    else if (isPackage(at))
      found.folders.insert(found.folders.begin() + 1, fs::proximate(at.parent_path(), failed));
  return found;
}

std::shared_ptr<const emit::SourceUnit> findModule(const SearchFolders &search,
                                                   const std::string &name) {
  fs::path relative;
  std::string part;
  for (char c : name + ".") {
    if (c != '.') {
      part += c;
      continue;
    }
    if (part.empty())
      return nullptr;
    relative /= part;
    part.clear();
  }
  std::vector<fs::path> folders = search.folders;
  for (const fs::path &package : search.carried)
    if (std::error_code failed; package.filename() == *relative.begin())
      folders.push_back(fs::proximate(package.parent_path(), failed));
  for (const fs::path &folder : folders) {
    fs::path file = folder / relative;
    std::error_code failed;
    for (const fs::path &candidate : {fs::path(file.string() + ".py"), file / "__init__.py"})
      if (fs::is_regular_file(candidate, failed))
        if (auto text = readSource(candidate)) {
          auto unit = std::make_shared<emit::SourceUnit>();
          unit->text = std::move(*text);
          unit->file = candidate.lexically_normal().generic_string();
          unit->module = name;
          return unit;
        }
  }
  return nullptr;
}

} // namespace

Result<std::shared_ptr<const emit::SourceUnit>> readUnit(const fs::path &path) {
  auto text = readSource(path);
  if (!text)
    return text.takeError();
  auto unit = std::make_shared<emit::SourceUnit>();
  unit->text = std::move(*text);
  unit->file = path.generic_string();
  // A file of a package is known by its dotted name, so that its relative imports resolve.
  SearchFolders search = searchFolders(path);
  if (search.folders.size() > 1) {
    std::error_code failed;
    fs::path relative = fs::proximate(path, search.folders[1], failed);
    std::string name;
    for (const fs::path &part : relative)
      name += (name.empty() ? "" : ".") + (part.extension() == ".py" ? part.stem() : part).string();
    if (name.ends_with(".__init__"))
      name.resize(name.size() - 9);
    unit->module = name;
  }
  unit->resolver = [search](const std::string &name) { return findModule(search, name); };
  return std::shared_ptr<const emit::SourceUnit>(std::move(unit));
}

Result<emit::HostOptions> hostOptions(const std::vector<std::string> &defines) {
  emit::HostOptions options;
  for (const std::string &word : defines) {
    size_t equals = word.find('=');
    std::string text = equals == std::string::npos ? "" : word.substr(equals + 1);
    auto parsed = syntax::parseExpression(text, "--define");
    if (equals == 0 || !parsed.module) {
      constexpr size_t most = 200;
      // The text is in front of the user: no need for a place in it.
      std::string why = equals == 0 || text.empty()
                            ? "is not NAME=VALUE with an expression for the "
                              "value, as in `BLOCK=128`, `TYPE=tl.float16` "
                              "or `ACTIVATION=relu`"
                            : "is no expression: " + parsed.diagnostics.front().message;
      return Error{"definition `" + (word.size() > most ? word.substr(0, most) + "..." : word) +
                       "` " + why,
                   {}};
    }
    options.defines[word.substr(0, equals)] = {text, parsed.module, parsed.expr};
  }
  return options;
}

Result<std::unique_ptr<emit::Program>> loadProgram(const fs::path &path,
                                                   const std::vector<std::string> &defines) {
  auto unit = readUnit(path);
  if (!unit)
    return unit.takeError();
  auto options = hostOptions(defines);
  if (!options)
    return options.takeError();
  emit::LoadedProgram loaded = emit::Program::load(**unit, *std::move(options));
  if (!loaded.program)
    return Error{"`" + path.string() + "` cannot be read as Python", std::move(loaded.diagnostics)};
  return std::move(loaded.program);
}

} // namespace nereid::engine
