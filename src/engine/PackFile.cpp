#include "engine/PackFile.h"

#include "engine/Configurations.h"
#include "engine/Files.h"
#include "engine/Heuristics.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace nereid::engine {

namespace fs = std::filesystem;

Status PackFile::read() {
  std::error_code failed;
  if (!fs::exists(path, failed))
    return Success{};
  auto pack = launch::Pack::map(path.string());
  if (!pack)
    return pack.takeError();
  packs.push_back(*std::move(pack));
  return builder.add(packs.back());
}

Status PackFile::add(const launch::Signature &signature, const CompileRequest &request,
                     const support::Artifact &artifact) {
  artifacts.push_back(artifact);
  const CodeOptions &o = request.options;
  return builder.add(signature, {request.target,
                                 optionsText(o),
                                 request.specialization,
                                 request.defaulted,
                                 artifacts.back().bytes(),
                                 {uint32_t(o.numWarps), uint32_t(o.numStages), uint32_t(o.numCtas),
                                  uint32_t(o.maxnreg)}});
}

namespace {

// A configuration for those launches; nothing if it names what the kernel does not have.
std::optional<launch::PackedChoice> choiceOf(const launch::Signature &signature,
                                             const Bindings &which, const Bindings &config) {
  launch::PackedChoice choice;
  auto parameterOf = [&](const std::string &name) {
    auto found = std::ranges::find(signature.parameters, name, &launch::Parameter::name);
    return uint32_t(found - signature.parameters.begin());
  };
  auto take = [&](const auto &binding, launch::ParameterValues &to) {
    to.emplace_back(parameterOf(binding.first), binding.second);
    return to.back().first < signature.parameters.size();
  };
  const std::pair<std::string_view, uint32_t *> options[] = {
      {"num_warps", &choice.options.numWarps},
      {"num_stages", &choice.options.numStages},
      {"num_ctas", &choice.options.numCtas},
      {"maxnreg", &choice.options.maxRegisters}};
  for (const auto &binding : config) {
    auto option = std::ranges::find(options, binding.first, [](auto &one) { return one.first; });
    if (option != std::end(options))
      *option->second = uint32_t(std::strtoul(binding.second.text.c_str(), nullptr, 10));
    else if (!take(binding, choice.constants))
      return std::nullopt;
  }
  for (const auto &binding : which)
    if (!take(binding, choice.which))
      return std::nullopt;
  return choice;
}

} // namespace

Status PackFile::addDecisions(emit::Program &program, const launch::Signature &signature,
                              const TuningFile &tuned) {
  auto heuristics = heuristicsOf(program, signature);
  if (!heuristics)
    return heuristics.takeError();
  builder.setHeuristics(signature.name, *std::move(heuristics));
  auto configurations = program.configurations(signature.name);
  // What only Python could know has nothing to add.
  if (!configurations || configurations->empty())
    return Success{};
  auto source = program.sourceHash(signature.name);
  if (!source)
    return source.takeError();
  // Pruning decides which one a launch takes that nobody measured: then none does.
  if (!program.prunesConfigurations(signature.name))
    if (auto first = choiceOf(signature, {}, toBindings(configurations->front())))
      builder.addChoice(signature.name, *std::move(first));
  for (const TuningRow &row : tuned.rows()) {
    if ((!row.kernel.empty() && row.kernel != signature.name) || !row.variant.empty() ||
        (!row.source.empty() && row.source != source->hex()))
      continue;
    auto choice = choiceOf(signature, row.which, row.config);
    if (!choice)
      continue;
    choice->target = row.target;
    choice->device = row.device;
    builder.addChoice(signature.name, *std::move(choice));
  }
  return Success{};
}

Status PackFile::write() const {
  std::vector<uint8_t> bytes = builder.finish();
  return replaceFile(path, {reinterpret_cast<const char *>(bytes.data()), bytes.size()});
}

} // namespace nereid::engine
