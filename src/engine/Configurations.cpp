#include "engine/Configurations.h"

#include "runtime/Device.h"

#include <algorithm>

namespace nereid::engine {

using support::Constant;

namespace {

// A value that is no constant as Python source, a list say, stands for itself.
Constant constantOf(const ops::Value &value) {
  std::string source = emit::unboxed(value).repr();
  return Constant::parse(source).value_or(Constant::string(source));
}

} // namespace

Bindings toBindings(const emit::Keywords &values) {
  Bindings bindings;
  for (const auto &[name, value] : values)
    bindings.emplace_back(name, constantOf(value));
  return bindings;
}

Bindings toBindings(const emit::Configuration &configuration) {
  Bindings bindings = toBindings(configuration.values);
  bindings.emplace_back("num_warps", Constant::integer(int64_t(configuration.numWarps)));
  bindings.emplace_back("num_stages", Constant::integer(int64_t(configuration.numStages)));
  if (configuration.numCtas != 1)
    bindings.emplace_back("num_ctas", Constant::integer(int64_t(configuration.numCtas)));
  if (configuration.maxnreg)
    bindings.emplace_back("maxnreg", Constant::integer(int64_t(configuration.maxnreg)));
  return bindings;
}

Result<TuningRow> tuningRow(const TunedLaunch &launch, const emit::LaunchChoices &choices) {
  TuningRow row;
  row.kernel = launch.kernel;
  auto hash = launch.program->sourceHash(launch.kernel);
  if (!hash)
    return hash.takeError();
  row.source = hash->hex();
  row.target = row.device = launch.device;
  if (auto device = runtime::device(launch.device); device) {
    row.target = (*device)->info().arch;
    row.device = (*device)->info().description;
  }
  for (const std::string &name : choices.key)
    for (const auto &[given, value] : launch.given)
      if (given == name && std::ranges::none_of(launch.tensors, [&](const auto &tensor) {
            return tensor.first == name; // of which the type counts
          }))
        row.which.emplace_back(name, constantOf(value));
  for (const auto &[name, type] : launch.tensors)
    row.which.emplace_back(name, Constant::string(std::string(info(type).signature)));
  return row;
}

Result<emit::LaunchChoices> chooseConfiguration(const TunedLaunch &launch, const TuningFile *file,
                                                std::optional<size_t> index) {
  auto choices = launch.program->choose(launch.kernel, launch.given, index);
  if (!choices || index || !file || choices->configurations.size() < 2)
    return choices;
  auto wanted = tuningRow(launch, *choices);
  if (!wanted)
    return wanted.takeError();
  const TuningRow *row = file->find(*wanted);
  for (size_t i = 0; row && i < choices->configurations.size(); ++i)
    if (sameBindings(toBindings(choices->configurations[i]), row->config))
      return launch.program->choose(launch.kernel, launch.given, i);
  size_t first = 0;
  while (first < choices->configurations.size() &&
         file->refusal(*wanted, toBindings(choices->configurations[first])))
    ++first;
  if (first == 0 || first == choices->configurations.size())
    return choices;
  return launch.program->choose(launch.kernel, launch.given, first);
}

} // namespace nereid::engine
