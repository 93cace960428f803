// Python objects that own a C++ state.
#pragma once

#include "binding/Messages.h"
#include "binding/Object.h"

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace nereid::python {

template <typename State> struct Object {
  PyObject_HEAD State *state;
};

template <typename State> State &stateOf(PyObject *self) {
  State *state = reinterpret_cast<Object<State> *>(self)->state;
  if (!state)
    raise(PyExc_RuntimeError, "the object was not initialised");
  return *state;
}

template <typename State> void destroy(PyObject *self) {
  auto *type = reinterpret_cast<PyObject *>(Py_TYPE(self));
  delete std::exchange(reinterpret_cast<Object<State> *>(self)->state, nullptr);
  auto release = reinterpret_cast<freefunc>(PyType_GetSlot(Py_TYPE(self), Py_tp_free));
  release(self);
  Py_DECREF(type);
}

template <typename State> Ref create(PyTypeObject *type, State *state) {
  std::unique_ptr<State> owned(state);
  auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
  Ref self = Ref::take(allocate(type, 0));
  reinterpret_cast<Object<State> *>(self.get())->state = owned.release();
  return self;
}

// A type of the module.
inline PyTypeObject *addType(PyObject *module, const char *name, size_t size, unsigned flags,
                             std::vector<PyType_Slot> slots) {
  slots.push_back({0, nullptr});
  std::string full = std::string("nereid._C.") + name;
  PyType_Spec spec = {strdup(full.c_str()), int(size), 0, flags, slots.data()};
  PyObject *type = PyType_FromSpec(&spec);
  if (!type)
    throw PythonError{};
  Py_INCREF(type);
  check(PyModule_AddObject(module, name, type));
  return reinterpret_cast<PyTypeObject *>(type);
}
template <typename F> void *slot(F *function) { return reinterpret_cast<void *>(function); }

} // namespace nereid::python
