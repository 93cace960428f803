// nereid doctor: what this machine has and what of it can be used, with the reason where it cannot.
#include "engine/BuildId.h"
#include "gpu/Ptxas.h"
#include "launch/DiskCache.h"
#include "runtime/Device.h"
#include "support/Knobs.h"
#include "tools/Output.h"
#include "tools/Verbs.h"

#include <cstdio>
#include <memory>
#include <unistd.h>

namespace nereid::tools {

namespace {

int runDoctor(bool asJson) {
  Json json = {{"build", engine::buildId()}, {"devices", Json::array()}, {"knobs", Json::object()}};
  std::vector<std::vector<std::string>> devices = {
      {"device", "arch", "units", "memory MB", "what"}};
  for (runtime::Device *device : runtime::devices()) {
    const runtime::DeviceInfo &info = device->info();
    json["devices"].push_back({{"name", info.name},
                               {"arch", info.arch},
                               {"features", info.features},
                               {"units", info.units},
                               {"memory_bytes", info.memoryBytes},
                               {"description", info.description}});
    devices.push_back({info.name, info.arch, std::to_string(info.units),
                       std::to_string(info.memoryBytes >> 20), info.description});
  }
  std::vector<std::string> remarks;
  std::string assembler = gpu::findPtxas(), disassembler = gpu::findDisassembler();
  json["assembler"] = assembler;
  json["disassembler"] = disassembler;
  if (assembler.empty())
    remarks.push_back(
        "code for GPUs stays PTX, which the driver assembles: there is no `ptxas` and "
        "no nvJitLink (CUDA has both; NEREID_PTXAS, NEREID_NVJITLINK name them)");
  if (auto gpu = runtime::device("cuda"); !gpu)
    remarks.push_back("no GPU is used: " + gpu.error().what);
  std::filesystem::path cache = launch::DiskCache::written(launch::DiskCache::defaultDirectories());
  // A directory that does not exist yet is made on first use, if what is there of its path allows.
  std::filesystem::path there = cache;
  std::error_code failed;
  while (!there.empty() && there != there.root_path() && !std::filesystem::exists(there, failed))
    there = there.parent_path();
  bool writable = !cache.empty() && ::access(there.c_str(), W_OK) == 0;
  json["cache"] = {{"directory", cache.string()}, {"writable", writable}};
  if (!writable)
    remarks.push_back("built kernels are not kept: " +
                      (cache.empty() ? "set NEREID_CACHE_DIR or HOME"
                                     : "`" + cache.string() + "` cannot be written"));
  for (const support::KnobRow &knob : support::knobTable(support::knobs())) {
    json["knobs"][std::string(knob.variable)] = knob.value;
    if (knob.value != knob.otherwise)
      remarks.push_back(std::string(knob.variable) + " is set to `" + knob.value + "`");
  }
  json["remarks"] = remarks;
  if (asJson) {
    std::printf("%s\n", json.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
    return exitDone;
  }
  std::printf("nereid, build %s\ncache: %s\nassembler of GPU code: %s\n\n",
              engine::buildId().c_str(), cache.c_str(),
              assembler.empty() ? "none" : assembler.c_str());
  printTable(devices, 4);
  for (const std::string &remark : remarks)
    std::printf("%s\n", remark.c_str());
  return exitDone;
}

} // namespace

Action addDoctor(CLI::App &app) {
  auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "Answer in JSON");
  return [json] { return runDoctor(*json); };
}

} // namespace nereid::tools
