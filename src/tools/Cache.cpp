// nereid cache: what is kept on disk, and what to remove of it.
#include "launch/DiskCache.h"
#include "tools/Output.h"
#include "tools/Verbs.h"

#include <chrono>
#include <cstdio>
#include <memory>

namespace nereid::tools {

namespace {

struct CacheWords {
  std::string what = "list", directory;
  uint64_t megabytes = 0;
  bool json = false;
};

int list(const CacheWords &words, launch::DiskCache &cache) {
  Json json = {{"directory", cache.directory().string()}, {"kernels", Json::array()}};
  std::vector<std::vector<std::string>> table = {
      {"kernel", "target", "bytes", "days", "signature"}};
  uint64_t bytes = 0;
  for (const launch::DiskCache::Entry &entry : cache.entries()) {
    auto artifact = support::Artifact::map(entry.path.string());
    if (!artifact)
      continue; // removed meanwhile, or damaged: `verify` says so
    auto unused = std::chrono::duration_cast<std::chrono::hours>(
        std::filesystem::file_time_type::clock::now() - entry.used);
    std::string signature(artifact->text(artifact->kernel().signature));
    std::string target(artifact->text(artifact->kernel().target));
    bytes += entry.bytes;
    json["kernels"].push_back({{"key", entry.key.hex()},
                               {"kernel", artifact->name()},
                               {"target", target},
                               {"signature", signature},
                               {"bytes", entry.bytes},
                               {"build", artifact->text(artifact->kernel().build)}});
    table.push_back({std::string(artifact->name()), target, std::to_string(entry.bytes),
                     std::to_string(unused.count() / 24), signature});
  }
  json["bytes"] = bytes;
  if (words.json) {
    std::printf("%s\n", json.dump().c_str());
    return exitDone;
  }
  if (table.size() > 1)
    printTable(table, /*numbersFrom=*/2, /*numbersTo=*/4); // the signature has any length
  std::printf("%zu kernels, %llu bytes in %s\n", table.size() - 1, (unsigned long long)bytes,
              cache.directory().c_str());
  return exitDone;
}

int runCache(const CacheWords &words) {
  std::string directories =
      words.directory.empty() ? launch::DiskCache::defaultDirectories() : words.directory;
  if (launch::DiskCache::written(directories).empty())
    return refuse(Error{"there is no cache directory: set NEREID_CACHE_DIR or HOME", {}});
  launch::DiskCache cache(directories);
  if (words.what == "list")
    return list(words, cache);
  size_t removed = words.what == "verify" ? cache.verify()
                   : words.what == "trim" ? cache.trim(words.megabytes << 20)
                                          : cache.trim(0);
  if (words.json)
    std::printf("%s\n", Json{{"removed", removed}}.dump().c_str());
  else
    std::printf("%zu removed\n", removed);
  return exitDone;
}

} // namespace

Action addCache(CLI::App &app) {
  auto words = std::make_shared<CacheWords>();
  app.add_option(
         "what", words->what,
         "list (default), verify (remove what is damaged), trim (to --megabytes, the longest "
         "unused first), clear")
      ->check(CLI::IsMember({"list", "verify", "trim", "clear"}));
  app.add_option("--dir", words->directory, "The cache, if not the one that programs use");
  app.add_option("--megabytes", words->megabytes, "What trim leaves at most")
      ->check(CLI::Range(uint64_t(0), uint64_t(1) << 30));
  app.add_flag("--json", words->json, "Answer in JSON");
  return [words] { return runCache(*words); };
}

} // namespace nereid::tools
