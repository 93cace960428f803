// The assembler as a library of CUDA, opened at run time: for machines without the program.
#include "gpu/Ptxas.h"
#include "support/Knobs.h"

#include <dlfcn.h>
#include <memory>

namespace nereid::gpu {

namespace {

// Our own declarations of the part of nvJitLink that we use, as every version from CUDA 12 has it.
using Handle = void *;
constexpr int inputPtx = 2;

struct NvJitLink {
  int (*create)(Handle *, uint32_t, const char **) = nullptr;
  int (*destroy)(Handle *) = nullptr;
  int (*addData)(Handle, int, const void *, size_t, const char *) = nullptr;
  int (*complete)(Handle) = nullptr;
  int (*cubinSize)(Handle, size_t *) = nullptr;
  int (*cubin)(Handle, void *) = nullptr;
  int (*errorLogSize)(Handle, size_t *) = nullptr;
  int (*errorLog)(Handle, char *) = nullptr;
  int (*infoLogSize)(Handle, size_t *) = nullptr;
  int (*infoLog)(Handle, char *) = nullptr;
};

std::unique_ptr<NvJitLink> open() {
  const std::string &told = support::knobs().nvJitLink;
  std::vector<std::string> places = {told};
  if (told.empty()) {
    places.clear();
    for (const char *folder : {"", "/usr/local/cuda/lib64/", "/usr/local/cuda/lib/"})
      for (const char *name : {"libnvJitLink.so.13", "libnvJitLink.so.12"})
        places.push_back(std::string(folder) + name);
  }
  for (const std::string &place : places) {
    void *library = ::dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library)
      continue;
    auto table = std::make_unique<NvJitLink>();
    bool isWhole = true;
    auto find = [&](auto &into, const char *name) {
      into = reinterpret_cast<std::remove_reference_t<decltype(into)>>(::dlsym(library, name));
      isWhole &= into != nullptr;
    };
    find(table->create, "nvJitLinkCreate");
    find(table->destroy, "nvJitLinkDestroy");
    find(table->addData, "nvJitLinkAddData");
    find(table->complete, "nvJitLinkComplete");
    find(table->cubinSize, "nvJitLinkGetLinkedCubinSize");
    find(table->cubin, "nvJitLinkGetLinkedCubin");
    find(table->errorLogSize, "nvJitLinkGetErrorLogSize");
    find(table->errorLog, "nvJitLinkGetErrorLog");
    find(table->infoLogSize, "nvJitLinkGetInfoLogSize");
    find(table->infoLog, "nvJitLinkGetInfoLog");
    if (isWhole)
      return table;
  }
  return nullptr;
}

// Never closed: the process ends with it.
const NvJitLink *library() {
  static const NvJitLink *opened = open().release();
  return opened;
}

std::string logOf(Handle handle, int (*size)(Handle, size_t *), int (*read)(Handle, char *)) {
  size_t bytes = 0;
  if (size(handle, &bytes) != 0 || bytes == 0)
    return {};
  std::string text(bytes, '\0');
  if (read(handle, text.data()) != 0)
    return {};
  while (!text.empty() && text.back() == '\0')
    text.pop_back();
  return text;
}

} // namespace

bool hasNvJitLink() { return library() != nullptr; }

Result<Cubin> assembleInProcess(const std::string &ptx, std::string_view arch) {
  const NvJitLink *link = library();
  if (!link)
    return Error{"no nvJitLink found to assemble a cubin", {}};
  std::string archOption = "-arch=" + std::string(arch);
  const char *options[] = {archOption.c_str(), "-O3", "-verbose"};
  Handle handle = nullptr;
  if (int code = link->create(&handle, 3, options))
    return Error{
        "nvJitLink does not know " + std::string(arch) + ": status " + std::to_string(code), {}};
  std::unique_ptr<Handle, int (*)(Handle *)> owner(&handle, link->destroy);
  // The terminating zero is part of the text.
  int code = link->addData(handle, inputPtx, ptx.c_str(), ptx.size() + 1, "kernel");
  code = code ? code : link->complete(handle);
  if (code)
    return Error{"nvJitLink rejects the kernel for " + std::string(arch) + ":\n" +
                     logOf(handle, link->errorLogSize, link->errorLog),
                 {}};
  size_t bytes = 0;
  Cubin cubin;
  code = link->cubinSize(handle, &bytes);
  cubin.code.resize(bytes);
  code = code ? code : link->cubin(handle, cubin.code.data());
  if (code || cubin.code.empty())
    return Error{"nvJitLink made no cubin: status " + std::to_string(code), {}};
  cubin.log = logOf(handle, link->infoLogSize, link->infoLog);
  return cubin;
}

} // namespace nereid::gpu
