#include "binding/Program.h"

#include "binding/State.h"

#include "engine/BindingAccess.h"

namespace nereid::python {

namespace {

// What the compiler says of a kernel: prints go where Python prints, options that change nothing
// become warnings at their line. Old spellings are nothing that a program's user can change.
void tell(const std::string &, const Diagnostic &note) {
  PyGILState_STATE lock = PyGILState_Ensure();
  if (note.code == "StaticPrint") {
    PySys_FormatStdout("%s\n", note.message.c_str());
  } else if (note.code == "IgnoredOption") {
    std::string text = note.message + (note.hint.empty() ? "" : "; " + note.hint);
    if (PyErr_WarnExplicit(PyExc_UserWarning, text.c_str(), note.where.file.c_str(),
                           int(note.where.begin.line), nullptr, nullptr) < 0)
      PyErr_WriteUnraisable(nullptr); // filters made it an error: there is nobody to catch it
  }
  PyGILState_Release(lock);
}

Engine &theEngine() {
  static auto *one = [] {
    EngineOptions options;
    options.onNote = tell;
    return new Engine(orRaise(Engine::create(std::move(options))));
  }();
  return *one;
}

// Program(units, root): `root` names one of the units.
PyObject *newProgram(PyTypeObject *type, PyObject *args, PyObject *) {
  return guarded([&] {
    PyObject *list = nullptr;
    const char *root = nullptr;
    if (!PyArg_ParseTuple(args, "Os", &list, &root))
      throw PythonError{};
    auto state = std::make_unique<ProgramObject>();
    state->units->add(list);
    auto unit = state->units->find(root);
    if (!unit)
      raise(PyExc_KeyError, root);
    Engine &loader = theEngine(); // may raise
    auto loaded = [&] {
      Unlocked unlocked;
      return engine::BindingAccess::load(loader, *unit);
    }();
    state->program = orRaise(std::move(loaded));
    return create(type, state.release());
  });
}

PyObject *addUnits(PyObject *self, PyObject *list) {
  return guarded([&] {
    stateOf<ProgramObject>(self).units->add(list);
    return Ref::borrow(Py_None);
  });
}

} // namespace

void addProgramType(PyObject *module) {
  static PyMethodDef methods[] = {{"add", addUnits, METH_O, "Adds units."}, {}};
  addType(module, "Program", sizeof(Object<ProgramObject>), Py_TPFLAGS_DEFAULT,
          {{Py_tp_new, slot(newProgram)},
           {Py_tp_dealloc, slot(destroy<ProgramObject>)},
           {Py_tp_methods, methods}});
}

} // namespace nereid::python
