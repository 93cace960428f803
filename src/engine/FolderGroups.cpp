#include "engine/FolderGroups.h"

#include "engine/Search.h"
#include "target/Gpu.h"

#include <algorithm>
#include <optional>

namespace nereid::engine {

using emit::Keywords;

std::string deviceFamily(const std::string &device) {
  return target::gpuChip(device) ? "cuda" : device.substr(0, device.find(':'));
}

bool isForDevice(const FolderVariant &variant, const std::string &device) {
  return variant.targets.empty() ||
         std::ranges::find(variant.targets, deviceFamily(device)) != variant.targets.end();
}

bool FolderGroup::isForDevice() const { return engine::isForDevice(variant, device); }

FolderRow FolderGroup::row(const KernelFolder &folder, const Keywords &config) const {
  FolderRow made;
  made.kernel = folder.name();
  made.variant = full;
  made.device = device;
  made.dtype = which.dtype;
  made.shape = which.label;
  made.config = bindingsText(config);
  made.bindings = which.bindings;
  made.configuration = config;
  return made;
}

namespace {

std::string fullName(const std::string &task, const FolderVariant &variant) {
  return task.empty() ? variant.name : task + "." + variant.name;
}

bool isWanted(const FolderRunOptions &options, const std::string &task,
              const FolderVariant &variant) {
  std::string full = fullName(task, variant);
  return options.variants.empty() ||
         std::ranges::any_of(options.variants, [&](const std::string &name) {
           return name == full || name == variant.name;
         });
}

// The configuration that was measured to be best, if the spec still has it, else the first; those
// that were refused come last.
const Keywords &chosen(const FolderGroup &group, const TuningFile *tuned,
                       const std::string &source) {
  const std::vector<Keywords> &configs = group.variant.configs;
  if (!tuned)
    return configs.front();
  const TuningRow launch = tuningRow(group.full, group.device, source, group.which.bindings);
  const TuningRow *row = tuned->find(launch);
  for (const Keywords &config : configs)
    if (row && sameBindings(toBindings(config), row->config))
      return config;
  for (const Keywords &config : configs)
    if (!tuned->refusal(launch, toBindings(config)))
      return config;
  return configs.front();
}

} // namespace

Result<std::vector<FolderGroup>> folderGroups(KernelFolder &folder, const FolderRunOptions &options,
                                              const TuningFile &tuned, const std::string &source) {
  std::optional<Search> search;
  if (!options.search.empty()) {
    auto made = Search::make(
        folder, options.search, options.set,
        [&](const auto &task, const auto &variant) { return isWanted(options, task, variant); });
    if (!made)
      return made.takeError();
    search.emplace(*std::move(made));
  }
  std::vector<FolderGroup> groups;
  for (const std::string &task : folder.tasks()) {
    auto variants = folder.variants(task);
    if (!variants)
      return variants.takeError();
    Result<std::vector<FolderCase>> cases =
        options.ownCase ? std::vector{KernelFolder::ownCase(task, *options.ownCase)}
        : search        ? search->cases(task)
                        : folder.cases(task, options.set);
    if (!cases)
      return cases.takeError();
    for (const FolderCase &which : *cases) {
      if (which.label.find(options.match) == std::string::npos)
        continue;
      for (const FolderVariant &variant : *variants) {
        if (!isWanted(options, task, variant))
          continue;
        for (const std::string &device : options.devices) {
          FolderGroup group{which, variant, fullName(task, variant), device, {}};
          std::vector<Keywords> configs;
          if (!options.allConfigs)
            configs = {chosen(group, options.tuned ? &tuned : nullptr, source)};
          else
            configs = search ? search->configs(task, variant) : variant.configs;
          for (Keywords &config : configs) {
            Result<bool> takes = search ? search->takes(which, config) : Result<bool>(true);
            if (!takes)
              return takes.takeError();
            if (*takes)
              group.configs.push_back(std::move(config));
          }
          if (!group.configs.empty())
            groups.push_back(std::move(group));
        }
      }
    }
  }
  return groups;
}

} // namespace nereid::engine
