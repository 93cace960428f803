// `Program`: source units behind one kernel.
#pragma once

#include "binding/Object.h"
#include "binding/Units.h"

#include "nereid/engine.h"

#include <memory>
#include <optional>

namespace nereid::python {

struct ProgramObject {
  std::shared_ptr<Units> units = std::make_shared<Units>();
  std::optional<nereid::Program> program;
};

void addProgramType(PyObject *module);

} // namespace nereid::python
