#include "binding/Units.h"

namespace nereid::python {

using emit::InjectedValue;
using support::Constant;

namespace {

PyObject *item(PyObject *tuple, Py_ssize_t index) {
  PyObject *object = PyTuple_GetItem(tuple, index); // an IndexError or a SystemError on misuse
  if (!object)
    throw PythonError{};
  return object;
}

std::string string(PyObject *object) { return std::string(text(object)); }

Constant constantOf(PyObject *object) {
  if (object == Py_None)
    return Constant::none();
  if (PyBool_Check(object))
    return Constant::boolean(object == Py_True);
  if (PyLong_Check(object)) {
    Ref digits = Ref::take(PyObject_Str(object));
    return Constant::integer(string(digits.get()));
  }
  if (PyFloat_Check(object))
    return Constant::floating(PyFloat_AsDouble(object));
  return Constant::string(string(object));
}

InjectedValue valueOf(PyObject *tuple, int depth = 0) {
  if (depth > 64)
    raise(PyExc_ValueError, "a global is nested too deep");
  std::string_view kind = text(item(tuple, 0));
  InjectedValue value;
  using Kind = InjectedValue::Kind;
  if (kind == "x") {
    value = valueOf(item(tuple, 1), depth + 1);
    value.isConstexpr = true;
  } else if (kind == "c") {
    value.constant = constantOf(item(tuple, 1));
  } else if (kind == "d") {
    auto type = parseDType(text(item(tuple, 1)));
    if (!type)
      raise(PyExc_TypeError, "`" + string(item(tuple, 1)) + "` is no element type");
    value.constant = Constant::dtype(*type);
  } else if (kind == "f") {
    value.constant = Constant::function(string(item(tuple, 1)));
  } else if (kind == "m" || kind == "a") {
    value.kind = kind == "m" ? Kind::Module : Kind::Attribute;
    value.module = string(item(tuple, 1));
    if (kind == "a")
      value.function = string(item(tuple, 2));
  } else if (kind == "t") {
    value.kind = Kind::Tuple;
    PyObject *elements = item(tuple, 1);
    for (Py_ssize_t i = 0; i < PyTuple_Size(elements); ++i)
      value.elements.push_back(valueOf(item(elements, i), depth + 1));
    if (PyObject *names = item(tuple, 2); names != Py_None)
      for (Py_ssize_t i = 0; i < PyTuple_Size(names); ++i)
        value.names.push_back(string(item(names, i)));
  } else {
    raise(PyExc_ValueError, "a global of an unknown kind");
  }
  return value;
}

} // namespace

void Units::add(PyObject *list) {
  Ref sequence = Ref::take(PySequence_Tuple(list));
  for (Py_ssize_t i = 0; i < PyTuple_Size(sequence.get()); ++i) {
    PyObject *from = item(sequence.get(), i);
    auto unit = std::make_shared<emit::SourceUnit>();
    unit->module = string(item(from, 0));
    unit->text = string(item(from, 1));
    unit->file = string(item(from, 2));
    unit->firstLine = uint32_t(PyLong_AsUnsignedLong(item(from, 3)));
    unit->firstColumn = uint32_t(PyLong_AsUnsignedLong(item(from, 4)));
    if (PyErr_Occurred())
      throw PythonError{};
    PyObject *key = nullptr, *value = nullptr;
    Py_ssize_t at = 0;
    while (PyDict_Next(item(from, 5), &at, &key, &value))
      unit->globals.emplace(string(key), valueOf(value));
    // The program owns the units, so a unit must not.
    unit->resolver = [weak = weak_from_this()](const std::string &name) {
      auto units = weak.lock();
      return units ? units->find(name) : nullptr;
    };
    std::lock_guard lock(mutex);
    units.emplace(unit->module, std::move(unit));
  }
}

std::shared_ptr<const emit::SourceUnit> Units::find(const std::string &name) const {
  std::lock_guard lock(mutex);
  auto found = units.find(name);
  return found == units.end() ? nullptr : found->second;
}

} // namespace nereid::python
