#include "runtime/Cupti.h"

#include "support/Knobs.h"

#include <dlfcn.h>
#include <type_traits>
#include <vector>

namespace nereid::runtime::cupti {

namespace {
// CUDA 11.8: records begin as they are declared here, and samples of the program counter need no
// run of their own.
constexpr uint32_t leastVersion = 18;

// The first of `names` that is loaded already (by PyTorch, say: a process has one CUPTI) or can be.
void *openFirst(const std::vector<std::string> &names, std::string &reason) {
  for (int flags : {RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD, RTLD_NOW | RTLD_LOCAL})
    for (const std::string &name : names) {
      if (void *library = ::dlopen(name.c_str(), flags))
        return library;
      if (const char *text = ::dlerror(); text && reason.empty() && !(flags & RTLD_NOLOAD))
        reason = text;
    }
  return nullptr;
}

Result<std::unique_ptr<Functions>> open(const std::vector<std::string> &names) {
  std::string reason;
  void *library = openFirst(names, reason);
  if (!library)
    return Error{"no CUPTI: " + reason + "; NEREID_CUPTI names the library", {}};
  auto table = std::make_unique<Functions>();
  if (auto version = reinterpret_cast<Code (*)(uint32_t *)>(::dlsym(library, "cuptiGetVersion")))
    version(&table->version);
  if (table->version && table->version < leastVersion)
    return Error{"CUPTI is too old: its version is " + std::to_string(table->version) +
                     ", at least " + std::to_string(leastVersion) + " (CUDA 11.8) is needed",
                 {}};
  std::string missing;
  auto find = [&](auto &into, const char *name, bool isRequired) {
    into = reinterpret_cast<std::remove_reference_t<decltype(into)>>(::dlsym(library, name));
    if (!into && isRequired && missing.empty())
      missing = name;
  };
#define NEREID_REQUIRED(name, signature) find(table->name, #name, true);
#define NEREID_OPTIONAL(name, signature) find(table->name, #name, false);
  NEREID_CUPTI_FUNCTIONS(NEREID_REQUIRED, NEREID_OPTIONAL)
#undef NEREID_REQUIRED
#undef NEREID_OPTIONAL
  if (!missing.empty())
    return Error{"the CUPTI that was found lacks `" + missing + "`", {}};
  return table;
}
} // namespace

std::string Functions::explain(Code code) const {
  switch (code) {
  case InsufficientPrivileges:
  case VirtualDevicePrivileges:
    return "the driver lets only administrators profile; NVreg_RestrictProfilingToAdminUsers=0 as "
           "an option of the module `nvidia` lets everybody, CAP_SYS_ADMIN lets a container";
  case SeveralSubscribers:
  case HardwareBusy:
    return "another profiler is attached to this process";
  case NotCompatible:
    return "CUPTI does not fit the driver; NEREID_CUPTI names another one";
  default:
    break;
  }
  const char *text = nullptr;
  if (cuptiGetResultString(code, &text) != NoError || !text)
    text = "unknown error";
  return std::string(text) + " (CUPTI, " + std::to_string(code) + ")";
}

Result<std::unique_ptr<Functions>> open(const std::string &path) {
  return open(std::vector<std::string>{path});
}

Result<const Functions *> library() {
  // Never closed: it calls back from threads of its own to the end of the process.
  static const auto *opened = [] {
    const std::string &chosen = support::knobs().cupti;
    if (chosen == "off")
      return new Result<std::unique_ptr<Functions>>(Error{"CUPTI is off by NEREID_CUPTI", {}});
    std::vector<std::string> names = {chosen};
    if (chosen.empty()) {
      names.clear();
      for (const char *folder :
           {"", "/usr/local/cuda/extras/CUPTI/lib64/", "/usr/local/cuda/lib64/"})
        for (const char *name : {"libcupti.so.13", "libcupti.so.12"})
          names.push_back(std::string(folder) + name);
    }
    return new Result<std::unique_ptr<Functions>>(open(names));
  }();
  if (!*opened)
    return Error{opened->error()};
  return static_cast<const Functions *>(opened->value().get());
}

} // namespace nereid::runtime::cupti
