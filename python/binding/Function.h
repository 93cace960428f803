// The types `Program`, `Function` and `Handle` of the extension.
#pragma once

#include "binding/Object.h"

namespace nereid::python {

/// Adds the types to the module.
void addTypes(PyObject *module);

bool isFunction(PyObject *object);
/// The constant that stands for a jit function as an argument: "unit.name@hash".
std::string_view functionKey(PyObject *object);

} // namespace nereid::python
