// The extension `nereid._C`.
#include "binding/Arguments.h"
#include "binding/Function.h"
#include "binding/Measuring.h"
#include "binding/Messages.h"
#include "binding/Threads.h"

#include "nereid/c.h"
#include "nereid/engine.h"
#include "nereid/profile.h"
#include "ops/Table.h"
#include "target/Gpu.h"

namespace nereid::python {

namespace {

Ref describeAt(const Diagnostic &diagnostic) {
  const char *severity = diagnostic.severity == Severity::Error     ? "error"
                         : diagnostic.severity == Severity::Warning ? "warning"
                                                                    : "note";
  Ref notes = Ref::take(PyList_New(0));
  for (const Diagnostic &note : diagnostic.notes)
    check(PyList_Append(notes.get(), describeAt(note).get()));
  return Ref::take(Py_BuildValue(
      "(sNNNIINN)", severity, str(diagnostic.code).release(), str(diagnostic.message).release(),
      str(diagnostic.where.file).release(), diagnostic.where.begin.line,
      diagnostic.where.begin.column, str(diagnostic.hint).release(), notes.release()));
}

// register(**what): see Registry.
PyObject *registerParts(PyObject *, PyObject *args, PyObject *kwargs) {
  return guarded([&] {
    Registry &to = registry();
    static const char *names[] = {"constexpr",      "dtype",   "descriptor", "builtin",
                                  "adapt",          "failure", "handle",     "current_device",
                                  "current_stream", nullptr};
    PyObject *parts[9] = {};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "$OOOOOOOOO", const_cast<char **>(names),
                                     &parts[0], &parts[1], &parts[2], &parts[3], &parts[4],
                                     &parts[5], &parts[6], &parts[7], &parts[8]))
      throw PythonError{};
    Ref *places[] = {&to.constexprType, &to.dtypeType,     &to.descriptorType,
                     &to.builtinType,   &to.adapt,         &to.failure,
                     &to.handle,        &to.currentDevice, &to.currentStream};
    for (size_t i = 0; i < std::size(places); ++i)
      *places[i] = Ref::borrow(parts[i]);
    return Ref::borrow(Py_None);
  });
}

// vocabulary(): (name, aliases, signature, summary, status, is a function, is a method) a row.
PyObject *vocabulary(PyObject *, PyObject *) {
  return guarded([&] {
    Ref rows = Ref::take(PyList_New(0));
    for (const ops::Row &row : ops::table()) {
      Ref one = Ref::take(
          Py_BuildValue("(NNNNiOO)", str(row.name).release(), str(row.aliases).release(),
                        str(row.signature).release(), str(row.summary).release(), int(row.status),
                        row.constant ? Py_False : Py_True, row.method ? Py_True : Py_False));
      check(PyList_Append(rows.get(), one.get()));
    }
    return rows;
  });
}

// device(index): what a device is, as a dict. -1 is the CPU.
PyObject *deviceFacts(PyObject *, PyObject *args) {
  return guarded([&] {
    int index = 0;
    if (!PyArg_ParseTuple(args, "i", &index))
      throw PythonError{};
    const runtime::DeviceInfo &info = deviceOf(index).internal().info();
    const target::GpuChip *chip = target::gpuChip(info.arch);
    return Ref::take(
        Py_BuildValue("{s:s,s:s,s:s,s:I,s:K,s:K,s:I,s:I,s:I,s:I}", "name", info.name.c_str(),
                      "description", info.description.c_str(), "arch", info.arch.c_str(), "units",
                      info.units, "memory", (unsigned long long)info.memoryBytes, "cache",
                      (unsigned long long)info.cacheBytes, "shared", info.sharedBytesPerBlock,
                      "clock_khz", info.clockKHz, "mma16", unsigned(chip ? chip->mma16PerClock : 0),
                      "fma32", unsigned(chip ? chip->fma32PerClock : 0)));
  });
}

// gpu_count(): usable GPUs.
PyObject *gpuCount(PyObject *, PyObject *) {
  return guarded([&] {
    long count = 0;
    for (const Device &device : Device::all())
      count += !device.isCpu();
    return Ref::take(PyLong_FromLong(count));
  });
}

PyObject *synchronize(PyObject *, PyObject *args) {
  return guarded([&] {
    int index = 0;
    if (!PyArg_ParseTuple(args, "i", &index))
      throw PythonError{};
    Device device = deviceOf(index);
    auto status = [&] {
      Unlocked unlocked;
      return device.synchronize();
    }();
    orRaise(status);
    return Ref::borrow(Py_None);
  });
}

PyObject *finish(PyObject *, PyObject *) {
  return guarded([&] {
    finishRecords();
    return Ref::borrow(Py_None);
  });
}

PyObject *awaitEngine(PyObject *, PyObject *) {
  beforeFork();
  return Ref::borrow(Py_None).release();
}

// after_fork(in_child)
PyObject *openEngine(PyObject *, PyObject *args) {
  int inChild = 0;
  if (!PyArg_ParseTuple(args, "p", &inChild))
    return nullptr;
  afterFork(inChild != 0);
  return Ref::borrow(Py_None).release();
}

// profile_start(the GPU whose lines are sampled, or None)
PyObject *startProfile(PyObject *, PyObject *args) {
  return guarded([&] {
    const char *lines = nullptr;
    if (!PyArg_ParseTuple(args, "z", &lines))
      throw PythonError{};
    Unlocked unlocked; // the profiler's library takes a while to start
    profile::start({.lines = lines ? lines : ""});
    return Ref::borrow(Py_None);
  });
}

// profile_stop(path or None): the table, that of lines, and notes
PyObject *stopProfile(PyObject *, PyObject *args) {
  return guarded([&] {
    const char *path = nullptr;
    if (!PyArg_ParseTuple(args, "z", &path))
      throw PythonError{};
    std::string table, lines;
    std::vector<std::string> notes;
    Status status = [&] {
      Unlocked unlocked; // waits for what is queued
      profile::Profile profile = profile::stop();
      table = profile.table();
      lines = profile.lineTable();
      notes = profile.notes();
      return path ? profile.writeTrace(path) : Status(Success{});
    }();
    orRaise(std::move(status));
    auto text = [](const std::string &of) {
      return Ref::take(PyUnicode_FromStringAndSize(of.data(), Py_ssize_t(of.size())));
    };
    Ref list = Ref::take(PyList_New(0));
    for (const std::string &note : notes)
      if (PyList_Append(list.get(), text(note).get()))
        throw PythonError{};
    return Ref::take(PyTuple_Pack(3, text(table).get(), text(lines).get(), list.get()));
  });
}

PyObject *beginRange(PyObject *, PyObject *args) {
  return guarded([&] {
    const char *name = nullptr;
    if (!PyArg_ParseTuple(args, "s", &name))
      throw PythonError{};
    nereid_range_begin(name);
    return Ref::borrow(Py_None);
  });
}
PyObject *endRange(PyObject *, PyObject *) {
  nereid_range_end();
  return Ref::borrow(Py_None).release();
}

PyMethodDef methods[] = {
    {"register", reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(registerParts)),
     METH_VARARGS | METH_KEYWORDS, nullptr},
    {"vocabulary", vocabulary, METH_NOARGS, "Rows of the language's table."},
    {"device", deviceFacts, METH_VARARGS, "What a device is; -1 is the CPU."},
    {"gpu_count", gpuCount, METH_NOARGS, "GPUs that can be used."},
    {"finish", finish, METH_NOARGS,
     "Waits for what kernels print and assert, at the process's end."},
    {"before_fork", awaitEngine, METH_NOARGS, "Waits until no thread works in the engine."},
    {"after_fork", openEngine, METH_VARARGS, "Lets threads into the engine again."},
    {"profile_start", startProfile, METH_VARARGS, "Records what all threads do."},
    {"profile_stop", stopProfile, METH_VARARGS,
     "Ends that, writes a trace and gives tables and notes."},
    {"range_begin", beginRange, METH_VARARGS, "Begins a named part of the program."},
    {"range_end", endRange, METH_NOARGS, "Ends the part that began last on this thread."},
    {"synchronize", synchronize, METH_VARARGS, "Waits for everything queued on a device."},
    {}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "nereid._C",
                          "The engine.",
                          -1,
                          methods,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

} // namespace

void raise(const Error &error) {
  Ref diagnostics = Ref::take(PyList_New(0));
  for (const Diagnostic &diagnostic : error.diagnostics)
    check(PyList_Append(diagnostics.get(), describeAt(diagnostic).get()));
  // The package knows the files that the diagnostics name, and adds their lines.
  std::string all = error.what;
  for (const Diagnostic &diagnostic : error.diagnostics)
    all += "\n" + render(diagnostic, {});
  while (all.ends_with('\n'))
    all.pop_back();
  if (!registry().failure)
    raise(PyExc_RuntimeError, all);
  Ref what = str(error.what), text = str(all);
  Ref exception = Ref::take(PyObject_CallFunctionObjArgs(registry().failure.get(), what.get(),
                                                         text.get(), diagnostics.get(), nullptr));
  PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(exception.get())), exception.get());
  throw PythonError{};
}

} // namespace nereid::python

PyMODINIT_FUNC __attribute__((visibility("default"))) PyInit__C() {
  using namespace nereid::python;
  return guarded([&] {
    Ref module = Ref::take(PyModule_Create(&definition));
    addTypes(module.get());
    addMeasuring(module.get());
    check(PyModule_AddStringConstant(module.get(), "version", NEREID_VERSION));
    return module;
  });
}
