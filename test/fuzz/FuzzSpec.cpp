// Any text as the spec.py of a kernel folder: read, listed and planned, or refused.
#include "emit/Interp.h"

#include "engine/KernelFolder.h"

#include "TokenMutator.h"

#include <cstdlib>
#include <fstream>
#include <unistd.h>

using namespace nereid;
namespace fs = std::filesystem;

// Tensors with few and short extents: a target must not take the memory that a spec may ask for.
static bool isSmall(std::string_view text) {
  size_t digits = 0;
  for (char c : text) {
    digits = std::isdigit(uint8_t(c)) ? digits + 1 : 0;
    if (digits > 2 || c == '*' || c == '<' || c == 'e')
      return false;
  }
  return true;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size > 8192)
    return 0;
  static const fs::path folder = [] {
    fs::path path = fs::temp_directory_path() / ("nereid-fuzz-spec-" + std::to_string(getpid()));
    fs::create_directories(path);
    std::atexit([] {
      std::error_code ignored;
      fs::remove_all(fs::temp_directory_path() / ("nereid-fuzz-spec-" + std::to_string(getpid())),
                     ignored);
    });
    return path;
  }();
  std::ofstream(folder / "spec.py", std::ios::binary)
      .write(reinterpret_cast<const char *>(data), std::streamsize(size));
  auto opened = engine::KernelFolder::open(folder);
  if (!opened)
    return 0;
  bool small = isSmall({reinterpret_cast<const char *>(data), size});
  for (const std::string &task : (*opened)->tasks()) {
    auto variants = (*opened)->variants(task);
    for (const char *set : {"cases", "bench", "demo"}) {
      auto cases = (*opened)->cases(task, set);
      if (!cases || cases->empty())
        continue;
      (void)engine::bindingsText(cases->front().bindings);
      if (!small)
        continue;
      auto instance = (*opened)->build(cases->front(), false);
      if (!instance || !variants)
        continue;
      for (const engine::FolderVariant &variant : *variants)
        for (const auto &config : variant.configs)
          (void)(*opened)->plan(variant, config, *instance);
      (void)(*opened)->flops(*instance);
    }
  }
  return 0;
}
