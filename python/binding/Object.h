// Python objects held from C++, and Python exceptions as C++ ones.
#pragma once

#include "binding/Threads.h"

#include "nereid/base.h"

#include <string>
#include <string_view>
#include <utility>

namespace nereid::python {

/// Thrown when a Python exception is set; what Python calls catches it and returns null.
struct PythonError {};

/// An owned reference.
class Ref {
public:
  Ref() = default;
  /// Takes over a new reference; a null one is a Python exception.
  static Ref take(PyObject *object) {
    if (!object)
      throw PythonError{};
    return Ref(object);
  }
  static Ref takeOrNull(PyObject *object) { return Ref(object); }
  static Ref borrow(PyObject *object) {
    Py_XINCREF(object);
    return Ref(object);
  }
  Ref(const Ref &other) : object(other.object) { Py_XINCREF(object); }
  Ref(Ref &&other) noexcept : object(std::exchange(other.object, nullptr)) {}
  Ref &operator=(Ref other) noexcept {
    std::swap(object, other.object);
    return *this;
  }
  ~Ref() { Py_XDECREF(object); }

  PyObject *get() const { return object; }
  PyObject *release() { return std::exchange(object, nullptr); }
  explicit operator bool() const { return object != nullptr; }

private:
  explicit Ref(PyObject *object) : object(object) {}
  PyObject *object = nullptr;
};

[[noreturn]] inline void raise(PyObject *type, const std::string &message) {
  PyErr_SetString(type, message.c_str());
  throw PythonError{};
}

/// Raises what the package makes of an engine's failure: a CompilationError, a ValueError, ...
[[noreturn]] void raise(const Error &error);

template <typename T> T orRaise(Result<T> result) {
  if (!result)
    raise(result.error());
  return *std::move(result);
}
inline void orRaise(const Status &status) {
  if (!status)
    raise(status.error());
}

inline void check(int code) {
  if (code < 0)
    throw PythonError{};
}

/// The characters of a str, good while it lives.
inline std::string_view text(PyObject *object) {
  Py_ssize_t size = 0;
  const char *data = PyUnicode_AsUTF8AndSize(object, &size);
  if (!data)
    throw PythonError{};
  return {data, size_t(size)};
}

inline Ref str(std::string_view characters) {
  return Ref::take(
      PyUnicode_DecodeUTF8(characters.data(), Py_ssize_t(characters.size()), "replace"));
}

/// Runs the body of a function that Python calls.
template <typename Body> PyObject *guarded(Body body) noexcept {
  Inside call;
  try {
    return body().release();
  } catch (PythonError) {
  } catch (const std::bad_alloc &) {
    PyErr_NoMemory();
  } catch (const std::exception &failure) {
    PyErr_SetString(PyExc_RuntimeError, failure.what());
  }
  return nullptr;
}

} // namespace nereid::python
