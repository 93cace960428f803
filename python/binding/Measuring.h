// What the package measures and compares launches with where no framework does it: events, memory
// and copies of the runtime.
#pragma once

#include "binding/Object.h"

namespace nereid::python {

/// The launch that was queued last, by any thread, with the interpreter's lock held.
void noteLaunch(int device, void *stream);
void addMeasuring(PyObject *module);

} // namespace nereid::python
