// `Handle`: what a launch launched.
#pragma once

#include "binding/Object.h"

#include "runtime/Device.h"
#include "support/Artifact.h"

#include <memory>
#include <optional>

namespace nereid::python {

struct HandleObject {
  std::shared_ptr<runtime::LoadedKernel> kernel;
  std::optional<support::Artifact> built = {}; // of what is compiled and not loaded

  const support::Artifact &artifact() const { return built ? *built : kernel->artifact(); }
  const support::CodeRecord &code() const {
    return built ? artifact().codes().front() : kernel->code();
  }
};

Ref newHandle(HandleObject handle);
void addHandleType(PyObject *module);

} // namespace nereid::python
