#include "runtime/CudaDriver.h"

#include <dlfcn.h>
#include <memory>

namespace nereid::runtime::cuda {

namespace {
constexpr int leastVersion = 11040;

std::string versionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// Functions that came after the driver's version are left out: whatever lies there under their
// names is no promise. Asks the driver for a function by its plain name and the version whose
// signature we declared, so that tools that interpose on it see the call; falls back to the
// exported symbol.
using GetProcAddress = Code (*)(const char *, void **, int, uint64_t, int *);

template <typename Function>
void resolve(Function &into, void *library, GetProcAddress getProcAddress, int has,
             const char *name, int version, const char *symbol) {
  if (has && version > has)
    return;
  void *address = nullptr;
  if (!getProcAddress || getProcAddress(name, &address, version, 0, nullptr) != Ok || !address)
    address = ::dlsym(library, symbol);
  into = reinterpret_cast<Function>(address);
}
} // namespace

std::string Driver::explain(Code code) const {
  const char *name = nullptr, *text = nullptr;
  if (cuGetErrorName(code, &name) != Ok || !name)
    name = "unknown error";
  if (cuGetErrorString(code, &text) != Ok || !text)
    text = "CUDA error";
  return std::string(text) + " (" + name + ")";
}

Result<std::unique_ptr<Driver>> openDriver(const char *path) {
  void *library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = ::dlerror();
    return Error{"no CUDA driver: " + std::string(reason ? reason : path), {}};
  }
  auto table = std::make_unique<Driver>();
  auto getProcAddress = reinterpret_cast<GetProcAddress>(::dlsym(library, "cuGetProcAddress_v2"));
  if (auto version = reinterpret_cast<Code (*)(int *)>(::dlsym(library, "cuDriverGetVersion")))
    version(&table->version);
  std::string missing;
  const int has = table->version;
#define NEREID_REQUIRED(name, version, symbol, signature)                                          \
  resolve(table->name, library, getProcAddress, has, #name, version, #symbol);                     \
  if (!table->name && missing.empty())                                                             \
    missing = #symbol;
#define NEREID_OPTIONAL(name, version, symbol, signature)                                          \
  resolve(table->name, library, getProcAddress, has, #name, version, #symbol);
  NEREID_CUDA_FUNCTIONS(NEREID_REQUIRED, NEREID_OPTIONAL)
#undef NEREID_REQUIRED
#undef NEREID_OPTIONAL
  if (table->version && table->version < leastVersion)
    return Error{"the CUDA driver is too old: it supports CUDA " + versionText(table->version) +
                     ", at least " + versionText(leastVersion) + " is needed",
                 {}};
  if (!missing.empty())
    return Error{"`" + std::string(path) + "` is no CUDA driver that we can use: it lacks `" +
                     missing + "`",
                 {}};
  if (Code code = table->cuInit(0); code != Ok)
    return Error{"the CUDA driver does not start: " + table->explain(code), {}};
  return table;
}

Result<const Driver *> driver() {
  // Never closed: modules and contexts live to the end of the process.
  static const auto *opened = new Result<std::unique_ptr<Driver>>(openDriver("libcuda.so.1"));
  if (!*opened)
    return Error{opened->error()};
  return static_cast<const Driver *>(opened->value().get());
}

} // namespace nereid::runtime::cuda
