// nereid list FILE.py: its kernels.
#include "engine/Files.h"
#include "tools/Output.h"
#include "tools/Verbs.h"

#include <cstdio>
#include <memory>

namespace nereid::tools {

namespace {

struct ListWords {
  std::string file;
  std::vector<std::string> defines;
  bool json = false;
};

int runList(const ListWords &words) {
  if (auto [file, kernel] = splitTarget(words.file); !kernel.empty())
    return refuse(Error{"`list` takes a whole file: `" + file + "`", {}});
  auto program = engine::loadProgram(words.file, words.defines);
  if (!program)
    return refuse(program.error());
  auto kernels = (*program)->kernels();
  Json json = {{"kernels", Json::array()}};
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
      auto all = (*program)->configurations(kernel.name);
      if (all)
        for (const emit::Configuration &one : *all)
          configurations.push_back(one.text());
      remarks = all ? "  [" + std::to_string(all->size()) + " configurations]" : "  [autotuned]";
    }
    for (const emit::UnsupportedName &one : (*program)->unsupported(kernel.name)) {
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
  if (words.json)
    std::printf("%s\n", json.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
  else if (kernels.empty())
    std::printf("no kernels in `%s`\n", words.file.c_str());
  return exitDone;
}

} // namespace

Action addList(CLI::App &app) {
  auto words = std::make_shared<ListWords>();
  app.add_option("file", words->file, "FILE.py")->required();
  app.add_option("--define", words->defines,
                 "NAME=VALUE for a name at module level: BLOCK=128, TYPE=tl.float16, OP=relu")
      ->allow_extra_args(false);
  app.add_flag("--json", words->json, "Answer in JSON");
  return [words] { return runList(*words); };
}

} // namespace nereid::tools
