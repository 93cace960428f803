#include "binding/Measuring.h"

#include "binding/Arguments.h"

#include "runtime/Device.h"

#include <memory>

namespace nereid::python {

namespace {

struct {
  int device = cpuDevice;
  void *stream = nullptr;
} last;

// Objects of the runtime as capsules of that name.
constexpr const char *eventName = "nereid.event", *bufferName = "nereid.buffer";

template <typename T> void destroyCapsule(PyObject *capsule) {
  delete static_cast<T *>(PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule)));
}
template <typename T> Ref capsule(T object, const char *name) {
  auto owned = std::make_unique<T>(std::move(object));
  Ref made = Ref::take(PyCapsule_New(owned.get(), name, destroyCapsule<T>));
  owned.release();
  return made;
}
template <typename T> T &behind(PyObject *object, const char *name) {
  void *pointer = PyCapsule_GetPointer(object, name);
  if (!pointer)
    throw PythonError{};
  return *static_cast<T *>(pointer);
}
using OwnedEvent = std::unique_ptr<runtime::Event>;

void *streamIn(PyObject *number) {
  void *native = PyLong_AsVoidPtr(number);
  if (!native && PyErr_Occurred())
    throw PythonError{};
  return native;
}

// last_launch(): (device, stream)
PyObject *lastLaunch(PyObject *, PyObject *) {
  return guarded([] {
    return Ref::take(Py_BuildValue("(iN)", last.device, PyLong_FromVoidPtr(last.stream)));
  });
}

// event(device, stream): recorded there.
PyObject *event(PyObject *, PyObject *args) {
  return guarded([&] {
    int device = 0;
    PyObject *stream = nullptr;
    if (!PyArg_ParseTuple(args, "iO", &device, &stream))
      throw PythonError{};
    OwnedEvent made = orRaise(deviceOf(device).internal().createEvent());
    orRaise(streamOf(device, streamIn(stream)).internal().record(*made));
    return capsule(std::move(made), eventName);
  });
}

// reached(event)
PyObject *reached(PyObject *, PyObject *event) {
  return guarded([&] {
    bool isReached = orRaise(behind<OwnedEvent>(event, eventName)->query());
    return Ref::borrow(isReached ? Py_True : Py_False);
  });
}

// milliseconds(start, end): waits for both.
PyObject *milliseconds(PyObject *, PyObject *args) {
  return guarded([&] {
    PyObject *start = nullptr, *end = nullptr;
    if (!PyArg_ParseTuple(args, "OO", &start, &end))
      throw PythonError{};
    OwnedEvent &from = behind<OwnedEvent>(start, eventName),
               &to = behind<OwnedEvent>(end, eventName);
    auto took = [&]() -> Result<double> {
      Unlocked unlocked;
      if (Status status = to->synchronize(); !status)
        return status.takeError();
      return to->secondsSince(*from);
    }();
    return Ref::take(PyFloat_FromDouble(orRaise(std::move(took)) * 1e3));
  });
}

// buffer(device, bytes)
PyObject *buffer(PyObject *, PyObject *args) {
  return guarded([&] {
    int device = 0;
    Py_ssize_t bytes = 0;
    if (!PyArg_ParseTuple(args, "in", &device, &bytes))
      throw PythonError{};
    return capsule(orRaise(deviceOf(device).internal().allocate(size_t(bytes))), bufferName);
  });
}

// overwrite(buffer, device, stream): with zeros, in the order of the stream.
PyObject *overwrite(PyObject *, PyObject *args) {
  return guarded([&] {
    PyObject *object = nullptr, *stream = nullptr;
    int device = 0;
    if (!PyArg_ParseTuple(args, "OiO", &object, &device, &stream))
      throw PythonError{};
    auto &memory = behind<runtime::Buffer>(object, bufferName);
    orRaise(streamOf(device, streamIn(stream))
                .internal()
                .fill(memory.data(), 0, 4, memory.bytes() / 4));
    return Ref::borrow(Py_None);
  });
}

// When everything that is queued on the device is done.
void copyNow(int device, void *to, const void *from, size_t bytes) {
  Device on = deviceOf(device);
  orRaise([&]() -> Status {
    Unlocked unlocked;
    runtime::Stream &stream = on.internal().defaultStream();
    for (int step = 0; step < 3; ++step)
      if (Status status = step == 0   ? on.internal().synchronize()
                          : step == 1 ? stream.copy(to, from, bytes)
                                      : stream.synchronize();
          !status)
        return status;
    return Success{};
  }());
}

// read(device, address, bytes): the contents of memory of a device.
PyObject *read(PyObject *, PyObject *args) {
  return guarded([&] {
    int device = 0;
    PyObject *address = nullptr;
    Py_ssize_t bytes = 0;
    if (!PyArg_ParseTuple(args, "iOn", &device, &address, &bytes))
      throw PythonError{};
    Ref contents = Ref::take(PyBytes_FromStringAndSize(nullptr, bytes));
    copyNow(device, PyBytes_AsString(contents.get()), streamIn(address), size_t(bytes));
    return contents;
  });
}

// write(device, address, contents)
PyObject *write(PyObject *, PyObject *args) {
  return guarded([&] {
    int device = 0;
    PyObject *address = nullptr, *contents = nullptr;
    if (!PyArg_ParseTuple(args, "iOS", &device, &address, &contents))
      throw PythonError{};
    copyNow(device, streamIn(address), PyBytes_AsString(contents), size_t(PyBytes_Size(contents)));
    return Ref::borrow(Py_None);
  });
}

// dlpack(capsule): see describeDlpack; None for what it does not describe.
PyObject *dlpack(PyObject *, PyObject *capsule) {
  return guarded([&] {
    Ref found = describeDlpack(capsule);
    return found ? found : Ref::borrow(Py_None);
  });
}

// usable(device): False after a fault has lost it.
PyObject *usable(PyObject *, PyObject *args) {
  return guarded([&] {
    int device = 0;
    if (!PyArg_ParseTuple(args, "i", &device))
      throw PythonError{};
    return Ref::borrow(deviceOf(device).internal().usable() ? Py_True : Py_False);
  });
}

PyMethodDef measuringMethods[] = {
    {"last_launch", lastLaunch, METH_NOARGS, "(device, stream) of the launch that came last."},
    {"event", event, METH_VARARGS, "An event, recorded in a stream of a device."},
    {"reached", reached, METH_O, "Whether the device has come to an event."},
    {"milliseconds", milliseconds, METH_VARARGS, "Between two events, once both are reached."},
    {"buffer", buffer, METH_VARARGS, "Memory of a device."},
    {"overwrite", overwrite, METH_VARARGS, "Zeros a buffer in the order of a stream."},
    {"read", read, METH_VARARGS, "Bytes of a device's memory, when all its work is done."},
    {"write", write, METH_VARARGS, "Puts bytes there, when all its work is done."},
    {"dlpack", dlpack, METH_O, "What a DLPack capsule describes."},
    {"usable", usable, METH_VARARGS, "Whether no fault has lost the device."},
    {}};

} // namespace

void noteLaunch(int device, void *stream) { last = {device, stream}; }

void addMeasuring(PyObject *module) { check(PyModule_AddFunctions(module, measuringMethods)); }

} // namespace nereid::python
