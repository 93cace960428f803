// nereid list FILE.py|FILE.pack|FOLDER ...: their kernels.
#include "engine/Files.h"
#include "tools/ListPack.h"
#include "tools/Output.h"
#include "tools/Verbs.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

namespace nereid::tools {

namespace {

namespace fs = std::filesystem;

struct ListWords {
  std::vector<std::string> files;
  std::vector<std::string> defines;
  bool json = false;
};

// The files that words name: those of a folder are all `.py` below it, in order, but for what is
// hidden.
Result<std::vector<std::string>> filesOf(const std::vector<std::string> &words) {
  std::vector<std::string> files;
  for (const std::string &word : words) {
    if (auto [file, kernel] = splitTarget(word); !kernel.empty())
      return Error{"`list` takes a whole file: `" + file + "`", {}};
    std::error_code failed;
    if (!fs::is_directory(word, failed)) {
      files.push_back(word);
      continue;
    }
    std::vector<std::string> found;
    fs::recursive_directory_iterator at(word, fs::directory_options::skip_permission_denied,
                                        failed),
        end;
    for (; !failed && at != end; at.increment(failed)) {
      const fs::path &path = at->path();
      std::error_code unknown;
      if (path.filename().string().starts_with(".")) {
        if (at->is_directory(unknown))
          at.disable_recursion_pending();
      } else if (path.extension() == ".py" && at->is_regular_file(unknown)) {
        found.push_back(path.string());
      }
    }
    if (failed)
      return Error{"cannot read `" + word + "`: " + failed.message(), {}};
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

// The kernels of a file as JSON, or as text where that is not asked for.
Json listFile(const std::string &file, const ListWords &words, emit::Program &program,
              bool isOneOfMany) {
  auto kernels = program.kernels();
  Json json = {{"kernels", Json::array()}};
  if (!words.json && isOneOfMany && !kernels.empty())
    std::printf("%s\n", file.c_str());
  for (const emit::KernelSummary &kernel : kernels) {
    Json parameters = Json::array();
    std::string text;
    for (const emit::ParameterSummary &parameter : kernel.parameters) {
      Json one = {{"name", parameter.name}, {"constexpr", parameter.isConstexpr}};
      one["annotation"] = parameter.annotation.empty() ? Json(nullptr) : Json(parameter.annotation);
      one["default"] = parameter.defaultValue ? Json(*parameter.defaultValue) : Json(nullptr);
      parameters.push_back(std::move(one));
      text += (text.empty() ? "" : ", ") + parameter.name;
      if (!parameter.annotation.empty())
        text += ": " + parameter.annotation;
      if (parameter.defaultValue)
        text += (parameter.annotation.empty() ? "=" : " = ") + *parameter.defaultValue;
    }
    Json configurations = Json::array(), unsupported = Json::array();
    std::string remarks;
    if (kernel.autotuned) {
      // What module-level code cannot tell is no failure of `list`.
      auto all = program.configurations(kernel.name);
      if (all)
        for (const emit::Configuration &one : *all)
          configurations.push_back(one.text());
      remarks = all ? "  [" + std::to_string(all->size()) + " configurations]" : "  [autotuned]";
    }
    for (const emit::UnsupportedName &one : program.unsupported(kernel.name)) {
      unsupported.push_back(
          {{"name", one.name}, {"file", one.file}, {"line", one.line}, {"reason", one.reason}});
      remarks += "\n         unsupported: `" + one.name + "` (line " + std::to_string(one.line) +
                 "): " + one.reason;
    }
    json["kernels"].push_back({{"name", kernel.name},
                               {"line", kernel.line},
                               {"parameters", std::move(parameters)},
                               {"autotuned", kernel.autotuned},
                               {"configurations", std::move(configurations)},
                               {"decorators", kernel.decorators},
                               {"unsupported", std::move(unsupported)}});
    if (!words.json)
      std::printf("%5u  %s(%s)%s\n", kernel.line, kernel.name.c_str(), text.c_str(),
                  remarks.c_str());
  }
  if (!words.json && kernels.empty() && !isOneOfMany)
    std::printf("no kernels in `%s`\n", file.c_str());
  return json;
}

// A file of source or a pack.
Result<Json> listAny(const std::string &file, const ListWords &words, bool isOneOfMany) {
  if (isPack(file))
    return listPack(file, words.json);
  auto program = engine::loadProgram(file, words.defines);
  if (!program)
    return program.takeError();
  return listFile(file, words, **program, isOneOfMany);
}

Json named(const std::string &file, Json json) {
  Json one = {{"file", file}};
  one.update(json);
  return one;
}

int runList(const ListWords &words) {
  auto files = filesOf(words.files);
  if (!files)
    return refuse(files.error());
  std::error_code unknown;
  const bool isMany = words.files.size() > 1 || fs::is_directory(words.files[0], unknown);
  Json answer = {{"files", Json::array()}};
  size_t kernels = 0, failed = 0;
  for (const std::string &file : *files) {
    auto listed = listAny(file, words, isMany);
    if (!listed && !isMany)
      return refuse(listed.error());
    Json json = listed ? *std::move(listed) : errorJson(listed.error());
    if (!listed) {
      report(listed.error());
      ++failed;
    } else {
      kernels += json["kernels"].size();
    }
    if (!isMany)
      answer = std::move(json);
    else
      answer["files"].push_back(named(file, std::move(json)));
  }
  if (words.json)
    std::printf("%s\n", answer.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
  else if (isMany)
    std::printf("%zu kernels in %zu files%s\n", kernels, files->size(),
                failed ? (", " + std::to_string(failed) + " cannot be read").c_str() : "");
  return failed ? exitRefused : exitDone;
}

} // namespace

Action addList(CLI::App &app) {
  auto words = std::make_shared<ListWords>();
  app.add_option("files", words->files, "FILE.py, FILE.pack, or folders: every .py below them")
      ->required();
  app.add_option("--define", words->defines,
                 "NAME=VALUE for a name at module level: BLOCK=128, TYPE=tl.float16, OP=relu")
      ->allow_extra_args(false);
  app.add_flag("--json", words->json, "Answer in JSON");
  addSarif(app);
  return [words] { return runList(*words); };
}

} // namespace nereid::tools
