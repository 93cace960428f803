#include "binding/Arguments.h"

#include "binding/Function.h"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>

namespace nereid::python {

using launch::Argument;

Registry &registry() {
  static auto *one = new Registry; // outlives the interpreter, whose objects it holds
  return *one;
}

Argument Arguments::sourced(std::string_view key) const {
  if (!haveSources)
    throw SourceNeeded{};
  return Argument::function(key);
}

Arguments::Arguments(size_t count, bool haveSources) : count(count), haveSources(haveSources) {
  if (count > few)
    many = std::make_unique<Argument[]>(count);
  at = count > few ? many.get() : reinterpret_cast<Argument *>(room);
  if (count <= few)
    std::uninitialized_default_construct_n(at, count);
}

void Arguments::place(int device, const void *address) {
  if (!where) {
    where = device;
    first = address;
    return;
  }
  if (*where == device)
    return;
  // With access between peers the current GPU reaches both, and Triton launches there.
  int current = *where == cpuDevice || device == cpuDevice ? cpuDevice : currentDevice();
  auto reaches = [&](int owner, const void *memory) {
    return owner == current || deviceOf(current).internal().checkAddress(memory).ok();
  };
  if (current == cpuDevice || !reaches(*where, first) || !reaches(device, address)) {
    auto name = [](int index) {
      return index == cpuDevice ? std::string("the CPU") : "cuda:" + std::to_string(index);
    };
    raise(PyExc_ValueError,
          "Pointer argument cannot be accessed from Triton (cpu tensor?): one lies on " +
              name(*where) + ", another on " + name(device));
  }
  where = current;
  first = nullptr;
  isAcross = true;
  work.reset(); // that of the current GPU
}

// ---- Tensors

namespace {

// DLPack's table of functions for tensors that are only looked at (version 1.3 and later).
struct DlDevice {
  int32_t type, index;
};
struct DlDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DlTensor {
  void *data;
  DlDevice device;
  int32_t rank;
  DlDataType dtype;
  int64_t *shape, *strides;
  uint64_t byteOffset;
};
struct DlExchange {
  struct {
    uint32_t major, minor;
  } version;
  void *previous;
  void *allocate, *fromObject, *toObject;
  int (*look)(void *object, DlTensor *tensor);
  int (*currentStream)(int32_t deviceType, int32_t index, void **stream);
};

enum : int32_t { DlCpu = 1, DlCuda = 2, DlCudaHost = 3, DlCudaManaged = 13 };

std::optional<DType> dtypeOf(DlDataType type) {
  switch (type.code << 8 | type.bits) {
  case 0 << 8 | 8:
    return DType::Int8;
  case 0 << 8 | 16:
    return DType::Int16;
  case 0 << 8 | 32:
    return DType::Int32;
  case 0 << 8 | 64:
    return DType::Int64;
  case 1 << 8 | 8:
    return DType::UInt8;
  case 1 << 8 | 16:
    return DType::UInt16;
  case 1 << 8 | 32:
    return DType::UInt32;
  case 1 << 8 | 64:
    return DType::UInt64;
  case 2 << 8 | 16:
    return DType::Float16;
  case 2 << 8 | 32:
    return DType::Float32;
  case 2 << 8 | 64:
    return DType::Float64;
  case 4 << 8 | 16:
    return DType::BFloat16;
  case 6 << 8 | 8:
    return DType::Int1;
  case 10 << 8 | 8:
    return DType::Float8E4NV;
  case 12 << 8 | 8:
    return DType::Float8E5;
  default:
    return std::nullopt;
  }
}

// The table of a type, or null. Types that have one live as long as the process.
const DlExchange *exchangeOf(PyTypeObject *type) {
  struct Known {
    PyTypeObject *type;
    const DlExchange *table;
  };
  static auto *known = new std::vector<Known>;
  for (const Known &one : *known)
    if (one.type == type)
      return one.table;
  const DlExchange *table = nullptr;
  Ref capsule = Ref::takeOrNull(
      PyObject_GetAttrString(reinterpret_cast<PyObject *>(type), "__dlpack_c_exchange_api__"));
  if (!capsule)
    PyErr_Clear();
  else if (PyCapsule_IsValid(capsule.get(), "dlpack_exchange_api"))
    table =
        static_cast<const DlExchange *>(PyCapsule_GetPointer(capsule.get(), "dlpack_exchange_api"));
  if (table && (table->version.major != 1 || !table->look || !table->currentStream))
    table = nullptr;
  Py_INCREF(reinterpret_cast<PyObject *>(type)); // its address stays its own
  known->push_back({type, table});
  return table;
}

// What NumPy's `__array_struct__` points to, the C side of `__array_interface__`.
struct ArrayInterface {
  int two, rank;
  char kind;
  int elementBytes, flags;
  Py_ssize_t *shape, *strides;
  void *data;
  PyObject *description;
};

enum : int { ArrayInThisByteOrder = 0x200, ArrayIsWriteable = 0x400 };

std::optional<DType> dtypeOf(const ArrayInterface &array) {
  if (!(array.flags & ArrayInThisByteOrder))
    return std::nullopt;
  uint8_t code = 0;
  switch (array.kind) {
  case 'b':
    code = 6;
    break;
  case 'i':
    code = 0;
    break;
  case 'u':
    code = 1;
    break;
  case 'f':
    code = 2;
    break;
  default:
    return std::nullopt;
  }
  return array.elementBytes > 8 ? std::nullopt
                                : dtypeOf(DlDataType{code, uint8_t(array.elementBytes * 8), 1});
}

// The array behind an object that has one, null for others and for scalars.
const ArrayInterface *arrayOf(PyObject *object, Ref &capsule) {
  static PyObject *name = PyUnicode_InternFromString("__array_struct__");
  capsule = Ref::takeOrNull(PyObject_GetAttr(object, name));
  if (!capsule) {
    PyErr_Clear();
    return nullptr;
  }
  if (!PyCapsule_IsValid(capsule.get(), nullptr))
    return nullptr;
  auto *array = static_cast<const ArrayInterface *>(PyCapsule_GetPointer(capsule.get(), nullptr));
  return array->two == 2 && array->rank > 0 ? array : nullptr;
}

} // namespace

Argument Arguments::convertTensor(PyObject *object) {
  if (const DlExchange *exchange = exchangeOf(Py_TYPE(object))) {
    DlTensor tensor;
    if (exchange->look(object, &tensor) == 0) {
      auto type = dtypeOf(tensor.dtype);
      bool isCpu = tensor.device.type == DlCpu;
      if (type && tensor.dtype.lanes == 1 && (isCpu || tensor.device.type == DlCuda)) {
        int device = isCpu ? cpuDevice : tensor.device.index;
        auto isEmpty = [&] { return std::count(tensor.shape, tensor.shape + tensor.rank, 0) > 0; };
        if (!tensor.data && !isEmpty())
          raise(PyExc_ValueError,
                "Pointer argument cannot be accessed from Triton: a tensor without "
                "memory, as a FakeTensor is");
        void *address = static_cast<char *>(tensor.data) + tensor.byteOffset;
        place(device, address);
        if (!isCpu && !work && !isAcross) {
          void *stream = nullptr;
          if (exchange->currentStream(tensor.device.type, tensor.device.index, &stream) == 0)
            work = stream;
          else
            PyErr_Clear();
        }
        return Argument::pointer(address, *type);
      }
    } else {
      PyErr_Clear();
    }
  } else {
    Ref capsule;
    if (const ArrayInterface *array = arrayOf(object, capsule))
      if (auto type = dtypeOf(*array)) {
        place(cpuDevice, array->data);
        Argument argument = Argument::pointer(array->data, *type);
        argument.isConst = !(array->flags & ArrayIsWriteable);
        return argument;
      }
  }
  Ref adapted = Ref::take(PyObject_CallFunctionObjArgs(registry().adapt.get(), object, nullptr));
  if (PyList_Check(adapted.get()) && PyList_Size(adapted.get()) == 1) {
    Ref key = Ref::borrow(PyList_GetItem(adapted.get(), 0));
    kept.push_back(key);
    return sourced(text(key.get()));
  }
  Py_ssize_t size = PyTuple_Check(adapted.get()) ? PyTuple_Size(adapted.get()) : 0;
  // A list that became a tuple holds no text.
  if ((size != 3 && size != 4) || !PyUnicode_Check(PyTuple_GetItem(adapted.get(), 1))) {
    kept.push_back(adapted);
    return convert(adapted.get(), 1);
  }
  void *address = PyLong_AsVoidPtr(PyTuple_GetItem(adapted.get(), 0));
  if (!address && PyErr_Occurred())
    throw PythonError{};
  auto type = parseDType(text(PyTuple_GetItem(adapted.get(), 1)));
  long device = PyLong_AsLong(PyTuple_GetItem(adapted.get(), 2));
  if (device == -1 && PyErr_Occurred())
    throw PythonError{};
  if (!type)
    raise(PyExc_TypeError, "a tensor's element type is not known");
  place(int(device), address);
  if (size == 4 && !work && !isAcross) {
    void *stream = PyLong_AsVoidPtr(PyTuple_GetItem(adapted.get(), 3));
    if (!stream && PyErr_Occurred())
      throw PythonError{};
    work = stream;
  }
  return Argument::pointer(address, *type);
}

Argument Arguments::convertTuple(PyObject *object, int depth) {
  if (depth > 16)
    raise(PyExc_ValueError, "a tuple argument is nested too deep");
  Py_ssize_t size = PyTuple_Size(object);
  std::vector<Argument> elements;
  for (Py_ssize_t i = 0; i < size; ++i) {
    elements.push_back(convert(PyTuple_GetItem(object, i), depth + 1));
    elements.back().isConstexpr |= constexprs > 0;
  }
  tuples.push_back(std::move(elements));
  if (PyTuple_CheckExact(object))
    return Argument::tuple(tuples.back());
  Ref fields = Ref::takeOrNull(PyObject_GetAttrString(object, "_fields"));
  if (!fields) {
    PyErr_Clear();
    return Argument::tuple(tuples.back());
  }
  Ref comma = str(",");
  Ref names = Ref::take(PyUnicode_Join(comma.get(), fields.get()));
  namedTuples.push_back(std::make_unique<launch::NamedTupleArgument>(
      launch::NamedTupleArgument{tuples.back(), text(names.get())}));
  kept.push_back(std::move(names));
  return Argument::tuple(*namedTuples.back());
}

Argument Arguments::convertDescriptor(PyObject *object) {
  auto attribute = [&](const char *name) {
    return Ref::take(PyObject_GetAttrString(object, name));
  };
  auto integers = [&](const char *name) {
    Ref sequence = Ref::take(PySequence_Tuple(attribute(name).get()));
    std::vector<int64_t> values;
    for (Py_ssize_t i = 0; i < PyTuple_Size(sequence.get()); ++i) {
      values.push_back(PyLong_AsLongLong(PyTuple_GetItem(sequence.get(), i)));
      if (values.back() == -1 && PyErr_Occurred())
        throw PythonError{};
    }
    return values;
  };
  Ref base = attribute("base");
  Argument pointer = convertTensor(base.get());
  if (pointer.kind != Argument::Kind::Pointer)
    raise(PyExc_TypeError, "the base of a tensor descriptor is no tensor");
  launch::DescriptorArgument descriptor;
  std::vector<int64_t> block = integers("block_shape");
  if (block.size() > descriptor.block.size())
    raise(PyExc_ValueError, "a tensor descriptor has at most 5 dimensions");
  std::copy(block.begin(), block.end(), descriptor.block.begin());
  descriptor.padNan = text(attribute("padding").get()) == "nan";
  Device device = deviceOf(*where);
  descriptor.tensor =
      orRaise(runtime::Tensor::bounds(device.internal(), reinterpret_cast<void *>(pointer.bits),
                                      pointer.type, integers("shape"), integers("strides")));
  descriptors.push_back(std::make_unique<launch::DescriptorArgument>(descriptor));
  return Argument::descriptor(*descriptors.back());
}

Ref describeDlpack(PyObject *capsule) {
  struct Versioned {
    uint32_t major, minor;
    void *manager, *release;
    uint64_t flags;
    DlTensor tensor;
  };
  const DlTensor *tensor = nullptr;
  if (PyCapsule_IsValid(capsule, "dltensor")) {
    tensor = static_cast<DlTensor *>(PyCapsule_GetPointer(capsule, "dltensor"));
  } else if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
    auto *one = static_cast<Versioned *>(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
    tensor = one->major == 1 ? &one->tensor : nullptr;
  }
  auto type = tensor && tensor->dtype.lanes == 1 ? dtypeOf(tensor->dtype) : std::nullopt;
  if (!type || (tensor->device.type != DlCpu && tensor->device.type != DlCuda))
    return {};
  auto listed = [&](const int64_t *numbers) {
    Ref list = Ref::take(PyTuple_New(tensor->rank));
    for (int32_t i = 0; i < tensor->rank; ++i)
      check(PyTuple_SetItem(list.get(), i, PyLong_FromLongLong(numbers[i])));
    return list;
  };
  Ref strides = tensor->strides ? listed(tensor->strides) : Ref::borrow(Py_None);
  return Ref::take(Py_BuildValue(
      "(NNiNN)", PyLong_FromVoidPtr(static_cast<char *>(tensor->data) + tensor->byteOffset),
      str(info(*type).signature).release(),
      tensor->device.type == DlCpu ? cpuDevice : int(tensor->device.index),
      listed(tensor->shape).release(), strides.release()));
}

// ---- Values

Argument Arguments::convert(PyObject *object, int depth) {
  if (object == Py_None)
    return Argument::none();
  if (PyBool_Check(object))
    return Argument::boolean(object == Py_True);
  if (PyLong_Check(object)) {
    int overflow = 0;
    long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (!overflow)
      return Argument::integer(value);
    unsigned long long large = overflow > 0 ? PyLong_AsUnsignedLongLong(object) : 0;
    if (overflow < 0 || PyErr_Occurred()) {
      PyErr_Clear();
      raise(PyExc_OverflowError, "the integer does not fit 64 bits");
    }
    return Argument::unsignedInteger(large);
  }
  if (PyFloat_Check(object))
    return Argument::floating(PyFloat_AsDouble(object));
  if (PyUnicode_Check(object))
    return Argument::string(text(object));
  if (PyTuple_Check(object))
    return convertTuple(object, depth);
  Registry &known = registry();
  auto *type = reinterpret_cast<PyObject *>(Py_TYPE(object));
  if (type == known.dtypeType.get()) {
    Ref name = Ref::take(PyObject_GetAttrString(object, "name"));
    auto found = parseDType(text(name.get()));
    if (!found)
      raise(PyExc_TypeError, "`" + std::string(text(name.get())) + "` is no element type");
    return Argument::dtype(*found);
  }
  if (type == known.constexprType.get()) {
    Ref value = Ref::take(PyObject_GetAttrString(object, "value"));
    kept.push_back(value);
    ++constexprs;
    Argument argument = convert(value.get(), depth + 1);
    --constexprs;
    argument.isConstexpr = true;
    return argument;
  }
  if (isFunction(object)) {
    if (!haveSources)
      throw SourceNeeded{};
    return sourced(functionKey(object));
  }
  if (type == known.builtinType.get()) {
    Ref path = Ref::take(PyObject_GetAttrString(object, "_key"));
    kept.push_back(path);
    return Argument::function(text(path.get()));
  }
  if (type == known.descriptorType.get())
    return convertDescriptor(object);
  if (depth > 16)
    raise(PyExc_TypeError, "an argument cannot be converted");
  return convertTensor(object);
}

// ---- Devices

int currentDevice() {
  Ref index = Ref::take(PyObject_CallNoArgs(registry().currentDevice.get()));
  return int(PyLong_AsLong(index.get()));
}

Device deviceOf(int index) {
  static auto *mutex = new std::mutex;
  static auto *known = new std::map<int, Device>;
  std::lock_guard lock(*mutex);
  if (auto found = known->find(index); found != known->end())
    return found->second;
  Device device = orRaise(
      Device::open(index == cpuDevice ? std::string("cpu") : "cuda:" + std::to_string(index)));
  known->emplace(index, device);
  return device;
}

const Stream &streamOf(int device, void *native) {
  // Called with the interpreter's lock held. Streams of frameworks are few and live long.
  struct Known {
    int device;
    void *native;
    Stream stream;
  };
  static auto *known = new std::deque<Known>;
  for (const Known &one : *known)
    if (one.device == device && one.native == native)
      return one.stream;
  Device on = deviceOf(device);
  known->push_back(
      {device, native, device == cpuDevice ? on.stream() : orRaise(on.wrapStream(native))});
  return known->back().stream;
}

} // namespace nereid::python
