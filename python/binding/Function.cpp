// `Function`: the base of the package's JITFunction, whose `function[grid](...)` is one call into
// here.
#include "binding/Function.h"

#include "binding/Arguments.h"
#include "binding/Handle.h"
#include "binding/Measuring.h"
#include "binding/Messages.h"
#include "binding/Program.h"
#include "binding/State.h"

#include "engine/BindingAccess.h"
#include "engine/Compile.h"
#include "engine/Runners.h"
#include "launch/Launcher.h"
#include "ref/Interpreter.h"
#include "support/Records.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <set>
#include <unordered_map>

namespace nereid::python {

namespace {

using nereid::engine::BindingAccess;

PyTypeObject *functionType, *launchType;

// ---- Function

struct Options {
  int numWarps = 4, numStages = 3, numCtas = 1, maxRegisters = 0;
  bool debug = false, fpFusion = true, reflectFtz = true, launchPdl = false, cooperative = false;
  bool debugAlways = false; // `debug`, whatever a launch says
  std::vector<std::pair<std::string, std::string>> externLibs;
  bool operator==(const Options &) const = default;
};

// A name that the kernel read when it was compiled, and what it stood for.
struct Guard {
  Ref names, name, value; // a dict
};

struct FunctionObject {
  std::vector<Ref> names;     // of the parameters, interned
  std::vector<Ref> defaults;  // null without one
  size_t rest = SIZE_MAX;     // the parameter that takes all further positional arguments, if any
  std::string kernel;         // its name in the program
  std::string key;            // of the function as an argument
  Ref program;                // null until the first launch
  std::set<std::string> told; // options that change nothing and were given
  bool plain = false;         // launches need nothing of Python beyond the grid
  Options options;            // what calls do not say
  std::vector<std::pair<Options, nereid::Kernel>> kernels;
  std::vector<Guard> guards;
  std::unordered_map<const launch::PreparedKernel *, Ref> handles;
};

PyObject *newFunction(PyTypeObject *type, PyObject *, PyObject *) {
  return guarded([&] { return create(type, new FunctionObject); });
}

// _describe(names, defaults, kernel, rest): `defaults` holds those that there are, by name; `rest`
// is the place of a parameter `*name`, or -1.
PyObject *describeFunction(PyObject *self, PyObject *args) {
  return guarded([&] {
    PyObject *names = nullptr, *defaults = nullptr;
    const char *kernel = nullptr;
    Py_ssize_t rest = -1;
    if (!PyArg_ParseTuple(args, "O!O!sn", &PyTuple_Type, &names, &PyDict_Type, &defaults, &kernel,
                          &rest))
      throw PythonError{};
    auto &state = stateOf<FunctionObject>(self);
    state.kernel = kernel;
    state.rest = rest < 0 ? SIZE_MAX : size_t(rest);
    for (Py_ssize_t i = 0; i < PyTuple_Size(names); ++i) {
      PyObject *name = PyTuple_GetItem(names, i);
      Py_INCREF(name);
      PyUnicode_InternInPlace(&name);
      state.names.push_back(Ref::take(name));
      state.defaults.push_back(Ref::borrow(PyDict_GetItem(defaults, name)));
    }
    return Ref::borrow(Py_None);
  });
}

// _bind(program, guards): `guards` is a list of (dict, name, value). None forgets the program.
PyObject *bindFunction(PyObject *self, PyObject *args) {
  return guarded([&] {
    PyObject *program = nullptr, *guards = nullptr;
    if (!PyArg_ParseTuple(args, "OO", &program, &guards))
      throw PythonError{};
    auto &state = stateOf<FunctionObject>(self);
    std::vector<Guard> fresh;
    Ref list = Ref::take(PySequence_Tuple(guards));
    for (Py_ssize_t i = 0; i < PyTuple_Size(list.get()); ++i) {
      PyObject *names = nullptr, *name = nullptr, *value = nullptr;
      if (!PyArg_ParseTuple(PyTuple_GetItem(list.get(), i), "O!OO", &PyDict_Type, &names, &name,
                            &value))
        throw PythonError{};
      fresh.push_back({Ref::borrow(names), Ref::borrow(name), Ref::borrow(value)});
    }
    state.guards = std::move(fresh);
    state.kernels.clear();
    state.handles.clear();
    state.program = Ref::borrow(program == Py_None ? nullptr : program);
    return Ref::borrow(Py_None);
  });
}

// _set(plain, key, debug, debug_always, fp_fusion)
PyObject *setFunction(PyObject *self, PyObject *args) {
  return guarded([&] {
    int plain = 0, debug = 0, debugAlways = 0, fpFusion = 0;
    const char *key = nullptr;
    if (!PyArg_ParseTuple(args, "psppp", &plain, &key, &debug, &debugAlways, &fpFusion))
      throw PythonError{};
    auto &state = stateOf<FunctionObject>(self);
    state.plain = plain != 0;
    state.key = key;
    state.options.debug = debug != 0 || debugAlways != 0;
    state.options.debugAlways = debugAlways != 0;
    state.options.fpFusion = fpFusion != 0;
    return Ref::borrow(Py_None);
  });
}

nereid::Kernel &kernelOf(PyObject *self, FunctionObject &state, const Options &options) {
  for (auto &[known, kernel] : state.kernels)
    if (known == options)
      return kernel;
  if (!state.program) {
    // Makes the units and calls _bind.
    Ref made = Ref::take(PyObject_CallMethod(self, "_make_program", nullptr));
    if (!state.program)
      raise(PyExc_RuntimeError, "the kernel has no program");
  }
  CompileOptions compile;
  compile.numWarps = options.numWarps;
  compile.numStages = std::max(options.numStages, 1); // none in flight is what one is
  compile.numCtas = options.numCtas;
  compile.maxRegisters = options.maxRegisters;
  compile.debug = options.debug;
  compile.fpFusion = options.fpFusion;
  compile.reflectFtz = options.reflectFtz;
  compile.launchPdl = options.launchPdl;
  compile.launchCooperative = options.cooperative;
  compile.externLibs = options.externLibs;
  auto kernel =
      orRaise(stateOf<ProgramObject>(state.program.get()).program->kernel(state.kernel, compile));
  if (kernel.parameters().size() != state.names.size())
    raise(PyExc_RuntimeError, "the kernel's source has other parameters than the function");
  state.kernels.emplace_back(options, std::move(kernel));
  return state.kernels.back().second;
}

// Globals that changed since they were compiled in.
void checkGuards(PyObject *self, FunctionObject &state) {
  for (const Guard &guard : state.guards) {
    PyObject *now = PyDict_GetItemWithError(guard.names.get(), guard.name.get());
    if (now == guard.value.get())
      continue;
    if (!now && PyErr_Occurred())
      throw PythonError{};
    int equal = now ? PyObject_RichCompareBool(now, guard.value.get(), Py_EQ) : 0;
    check(equal);
    if (!equal) {
      Ref ignored = Ref::take(
          PyObject_CallMethod(self, "_global_changed", "OO", guard.name.get(), guard.value.get()));
    }
  }
}

// ---- A call

// The repr of a value, for the message of a TypeError in the place of the one that is set, if any.
std::string shown(PyObject *value) {
  if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_TypeError))
    throw PythonError{};
  PyErr_Clear();
  Ref repr = Ref::take(PyObject_Repr(value));
  return "`" + std::string(text(repr.get())) + "`";
}

// `extern_libs`: a dict from names to files, or its items.
std::vector<std::pair<std::string, std::string>> librariesOf(PyObject *value) {
  std::vector<std::pair<std::string, std::string>> libraries;
  if (PyObject_IsTrue(value) != 1)
    return libraries;
  Ref items = PyDict_Check(value) ? Ref::take(PyDict_Items(value)) : Ref::borrow(value);
  Ref each = Ref::takeOrNull(PySequence_Fast(items.get(), ""));
  for (Py_ssize_t i = 0; each && i < PySequence_Size(each.get()); ++i) {
    Ref item = Ref::take(PySequence_GetItem(each.get(), i));
    bool isPair = PyTuple_Check(item.get()) && PyTuple_Size(item.get()) == 2;
    PyObject *name = isPair ? PyTuple_GetItem(item.get(), 0) : nullptr;
    if (!name || !PyUnicode_Check(name)) {
      libraries.clear(); // of which the others alone would be a guess
      break;
    }
    Ref path = Ref::take(PyObject_Str(PyTuple_GetItem(item.get(), 1))); // also of `pathlib`
    libraries.emplace_back(text(name), text(path.get()));
  }
  PyErr_Clear();
  if (libraries.empty())
    raise(PyExc_TypeError, "`extern_libs` is " + shown(value) +
                               ", not a dict from names of libraries to files of LLVM bitcode");
  return libraries;
}

/// The arguments of a call by parameter, its options and its grid.
class Call {
public:
  Call(PyObject *self, PyObject *args, PyObject *kwargs)
      : self(self), state(stateOf<FunctionObject>(self)), options(state.options),
        objects(state.names.size()) {
    Py_ssize_t given = PyTuple_Size(args);
    bool takesRest = state.rest < objects.size();
    if (takesRest && size_t(given) >= state.rest) {
      rest = Ref::take(PyTuple_GetSlice(args, Py_ssize_t(state.rest), given));
      given = Py_ssize_t(state.rest);
      if (PyTuple_Size(rest.get()) > 0)
        objects[state.rest] = rest.get();
    }
    if (size_t(given) > objects.size())
      raise(PyExc_TypeError, functionName() + "() takes " + std::to_string(objects.size()) +
                                 " positional arguments but " + std::to_string(given) +
                                 " were given");
    for (Py_ssize_t i = 0; i < given; ++i)
      objects[size_t(i)] = PyTuple_GetItem(args, i);
    if (kwargs) {
      PyObject *name = nullptr, *value = nullptr;
      Py_ssize_t at = 0;
      while (PyDict_Next(kwargs, &at, &name, &value))
        keyword(name, value);
    }
    if (takesRest && !objects[state.rest]) {
      rest = Ref::take(PyTuple_New(0));
      objects[state.rest] = rest.get();
    }
    for (size_t i = 0; i < objects.size(); ++i)
      if (!objects[i] && !(objects[i] = state.defaults[i].get()))
        missing();
  }

  void fill(Arguments &into) const {
    size_t i = 0;
    try {
      for (; i < objects.size(); ++i)
        into.set(i, objects[i]);
    } catch (PythonError &) {
      nameArgument(i);
      throw;
    }
  }

  /// The error under way says which argument it is about.
  void nameArgument(size_t index) const {
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    Ref said = Ref::takeOrNull(value ? PyObject_Str(value) : nullptr);
    PyErr_Restore(type, value, trace);
    for (PyObject *plain : {PyExc_TypeError, PyExc_ValueError, PyExc_OverflowError})
      if (said && type == plain)
        PyErr_SetString(plain, ("argument `" + std::string(text(state.names[index].get())) +
                                "` of `" + functionName() + "`: " + std::string(text(said.get())))
                                   .c_str());
  }

  /// Whether it is a tensor or an array of no dimensions.
  static bool isOneElement(PyObject *object) {
    Ref rank = Ref::takeOrNull(PyObject_GetAttrString(object, "ndim"));
    if (!rank)
      PyErr_Clear();
    return rank && PyLong_Check(rank.get()) && PyObject_HasAttrString(object, "dtype") &&
           PyLong_AsLong(rank.get()) == 0;
  }

  /// A kernel that could not be compiled may have been given a list where memory was meant, or
  /// memory where a number was.
  void hintAtArguments(Error &error) const {
    for (size_t i = 0; i < objects.size() && !error.diagnostics.empty(); ++i) {
      const char *what = nullptr;
      if (PyList_Check(objects[i]))
        what = "a list, which is a tuple of numbers in a kernel: memory is passed as a tensor or "
               "an array";
      else if (isOneElement(objects[i]))
        what = "an array of no dimensions, which is a pointer in a kernel: its number is passed "
               "by `.item()`";
      if (!what)
        continue;
      std::string &hint = error.diagnostics.front().hint;
      hint += (hint.empty() ? "argument `" : "; argument `") +
              std::string(text(state.names[i].get())) + "` of `" + functionName() + "` is " + what;
    }
  }

  /// {parameter: object}, defaults filled in.
  Ref bound() const {
    Ref bound = Ref::take(PyDict_New());
    for (size_t i = 0; i < objects.size(); ++i)
      check(PyDict_SetItem(bound.get(), state.names[i].get(), objects[i]));
    return bound;
  }

  static bool isOne(PyObject *size) {
    int overflow = 0;
    return PyLong_Check(size) && PyLong_AsLongAndOverflow(size, &overflow) == 1 && !overflow;
  }

  /// What a function makes of the arguments. Where it asks for one that is not there, the package
  /// says which there are.
  Ref computedGrid(PyObject *function) const {
    Ref arguments = bound();
    Ref computed =
        Ref::takeOrNull(PyObject_CallFunctionObjArgs(function, arguments.get(), nullptr));
    if (computed)
      return computed;
    if (!PyErr_ExceptionMatches(PyExc_KeyError))
      throw PythonError{};
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace)
      PyException_SetTraceback(value, trace);
    Ref held[] = {Ref::take(type), Ref::take(value), Ref::takeOrNull(trace)};
    Ref errors = Ref::take(PyImport_ImportModule("nereid.triton.runtime.errors"));
    Ref::take(PyObject_CallMethod(errors.get(), "_raise_for_grid", "OOOs", function,
                                  arguments.get(), value, functionName().c_str()));
    throw PythonError{};
  }

  Grid grid(PyObject *given) const {
    Ref computed = Ref::borrow(given);
    if (!PyTuple_Check(given) && PyCallable_Check(given))
      computed = computedGrid(given);
    if (PyLong_Check(computed.get())) {
      Ref one = computed;
      computed = Ref::take(PyTuple_Pack(1, one.get()));
    } else if (!PyTuple_Check(computed.get())) {
      Ref sequence = Ref::takeOrNull(PySequence_Tuple(computed.get()));
      if (!sequence)
        raise(PyExc_TypeError, "a grid is a number, one to three in a tuple, or a function that "
                               "gives them, not " +
                                   shown(computed.get()));
      computed = std::move(sequence);
    }
    Py_ssize_t axes = PyTuple_Size(computed.get());
    // Programs pad a grid with ones, and not always to three.
    while (axes > 3 && isOne(PyTuple_GetItem(computed.get(), axes - 1)))
      --axes;
    if (axes < 1 || axes > 3)
      raise(PyExc_ValueError, "a grid has 1 to 3 axes, not " + std::to_string(axes));
    uint32_t sizes[3] = {1, 1, 1};
    for (Py_ssize_t i = 0; i < axes; ++i) {
      Ref index = Ref::takeOrNull(PyNumber_Index(PyTuple_GetItem(computed.get(), i)));
      if (!index) {
        // A float with an integer's value: `n / 128`.
        PyObject *item = PyTuple_GetItem(computed.get(), i);
        double value = PyFloat_Check(item) ? PyFloat_AsDouble(item) : 0.5;
        if (std::floor(value) != value || std::isinf(value))
          raise(PyExc_TypeError, "axis " + std::to_string(i) + " of the grid is " + shown(item) +
                                     ", not a whole number as `triton.cdiv(n, BLOCK)` gives it");
        PyErr_Clear();
        index = Ref::take(PyLong_FromDouble(value));
      }
      long long size = PyLong_AsLongLong(index.get());
      if (size == -1 && PyErr_Occurred())
        throw PythonError{};
      if (size < 0 || size > INT32_MAX)
        raise(PyExc_ValueError, "axis " + std::to_string(i) + " of the grid is " +
                                    std::to_string(size) + "; it is from 0 to " +
                                    std::to_string(INT32_MAX));
      sizes[i] = uint32_t(size);
    }
    return {sizes[0], sizes[1], sizes[2]};
  }

  std::string functionName() const {
    size_t dot = state.kernel.rfind('.');
    return dot == std::string::npos ? state.kernel : state.kernel.substr(dot + 1);
  }

  std::string parameterNames() const {
    std::string names;
    for (size_t i = 0; i < objects.size(); ++i)
      names += (i ? ", `" : "`") + std::string(text(state.names[i].get())) + "`";
    return names;
  }

  PyObject *self;
  FunctionObject &state;
  Options options;
  std::vector<PyObject *> objects; // borrowed

private:
  Ref rest; // what a parameter `*name` takes
  void keyword(PyObject *name, PyObject *value) {
    for (size_t i = 0; i < objects.size(); ++i)
      if (state.names[i].get() == name)
        return place(i, value);
    std::string_view characters = text(name);
    for (size_t i = 0; i < objects.size(); ++i)
      if (text(state.names[i].get()) == characters)
        return place(i, value);
    auto integer = [&](int &to, int low, int high) {
      if (value == Py_None)
        return;
      Ref index = Ref::takeOrNull(PyNumber_Index(value));
      if (!index)
        raise(PyExc_TypeError,
              "`" + std::string(characters) + "` is " + shown(value) + ", not an integer");
      long number = PyLong_AsLong(index.get());
      if (number == -1 && PyErr_Occurred())
        throw PythonError{};
      if (number < low || number > high)
        raise(PyExc_ValueError, "`" + std::string(characters) + "` is " + std::to_string(number) +
                                    "; it is from " + std::to_string(low) + " to " +
                                    std::to_string(high));
      to = int(number);
    };
    if (characters == "num_warps") {
      integer(options.numWarps, 1, 1024);
      if (options.numWarps & (options.numWarps - 1))
        raise(PyExc_AssertionError,
              "num_warps must be a power of 2, not " + std::to_string(options.numWarps));
    } else if (characters == "num_stages") {
      integer(options.numStages, 0, 64);
    } else if (characters == "num_ctas") {
      integer(options.numCtas, 1, 16);
    } else if (characters == "maxnreg") {
      integer(options.maxRegisters, 0, INT32_MAX);
    } else if (characters == "debug") {
      options.debug = PyObject_IsTrue(value) == 1 || options.debugAlways;
    } else if (characters == "enable_fp_fusion") {
      options.fpFusion = PyObject_IsTrue(value) == 1;
    } else if (characters == "enable_reflect_ftz") {
      options.reflectFtz = PyObject_IsTrue(value) == 1;
    } else if (characters == "launch_pdl") {
      options.launchPdl = PyObject_IsTrue(value) == 1;
    } else if (characters == "launch_cooperative_grid") {
      options.cooperative = PyObject_IsTrue(value) == 1;
    } else if (characters == "extern_libs") {
      options.externLibs = librariesOf(value);
    } else {
      // Options of Triton's that change nothing here; others are a mistake.
      static constexpr std::string_view known[] = {"enable_warp_specialization",
                                                   "ir_override",
                                                   "arch",
                                                   "backend_name",
                                                   "stream",
                                                   "device",
                                                   "device_type",
                                                   "sanitize_overflow",
                                                   "num_buffers_warp_spec",
                                                   "num_cpu_threads",
                                                   "num_consumer_groups",
                                                   "reg_dec_producer",
                                                   "reg_inc_consumer",
                                                   "waves_per_eu",
                                                   "matrix_instr_nonkdim",
                                                   "kpack",
                                                   "instrumentation_mode",
                                                   "allow_fp8e4nv",
                                                   "default_dot_input_precision",
                                                   "allowed_dot_input_precisions",
                                                   "max_num_imprecise_acc_default",
                                                   "supported_fp8_dtypes",
                                                   "deprecated_fp8_dot_operand_dtypes",
                                                   "ptx_version",
                                                   "ptx_options"};
      if (std::find(std::begin(known), std::end(known), characters) == std::end(known))
        raise(PyExc_KeyError, "Keyword argument " + std::string(characters) +
                                  " was specified but unrecognised: `" + functionName() +
                                  "` has the parameters " + parameterNames());
      static constexpr std::string_view told[] = {"sanitize_overflow", "ir_override", "ptx_options",
                                                  "arch"};
      if (std::find(std::begin(told), std::end(told), characters) != std::end(told) &&
          PyObject_IsTrue(value) == 1 && state.told.emplace(characters).second)
        check(PyErr_WarnEx(PyExc_UserWarning,
                           ("`" + std::string(characters) + "` changes nothing").c_str(), 1));
    }
  }
  void place(size_t index, PyObject *value) {
    if (objects[index])
      raise(PyExc_TypeError, functionName() + "() got multiple values for argument '" +
                                 std::string(text(state.names[index].get())) + "'");
    objects[index] = value;
  }
  [[noreturn]] void missing() const {
    std::vector<std::string> all;
    for (size_t i = 0; i < objects.size(); ++i)
      if (!objects[i] && !state.defaults[i])
        all.push_back("'" + std::string(text(state.names[i].get())) + "'");
    std::string names;
    for (size_t i = 0; i < all.size(); ++i)
      names += (i == 0               ? ""
                : i + 1 < all.size() ? ", "
                : all.size() > 2     ? ", and "
                                     : " and ") +
               all[i];
    raise(PyExc_TypeError, functionName() + "() missing " + std::to_string(all.size()) +
                               " required positional argument" + (all.size() > 1 ? "s" : "") +
                               ": " + names);
  }
};

// What programs get of a compiled kernel.
Ref describe(const Call &call, const Ref &handle) {
  const Options &o = call.options;
  auto flag = [](bool value) { return value ? Py_True : Py_False; };
  Ref options = Ref::take(Py_BuildValue(
      "{s:i,s:i,s:i,s:i,s:O,s:O,s:O,s:O,s:O}", "num_warps", o.numWarps, "num_stages", o.numStages,
      "num_ctas", o.numCtas, "maxnreg", o.maxRegisters, "debug", flag(o.debug), "enable_fp_fusion",
      flag(o.fpFusion), "enable_reflect_ftz", flag(o.reflectFtz), "launch_pdl", flag(o.launchPdl),
      "launch_cooperative_grid", flag(o.cooperative)));
  if (!o.externLibs.empty()) {
    Ref libraries = Ref::take(PyDict_New());
    for (const auto &[name, path] : o.externLibs)
      check(PyDict_SetItemString(libraries.get(), name.c_str(),
                                 Ref::take(PyUnicode_FromString(path.c_str())).get()));
    check(PyDict_SetItemString(options.get(), "extern_libs", libraries.get()));
  }
  PyObject *isLoaded = stateOf<HandleObject>(handle.get()).built ? Py_False : Py_True;
  return Ref::take(PyObject_CallFunctionObjArgs(registry().handle.get(), handle.get(), call.self,
                                                options.get(), call.bound().get(), isLoaded,
                                                nullptr));
}

Ref handleOf(const Call &call, const launch::PreparedKernel *prepared) {
  FunctionObject &state = call.state;
  if (auto known = state.handles.find(prepared); known != state.handles.end())
    return known->second;
  Ref made = describe(call, newHandle({prepared->kernel}));
  // Python code runs in between: another thread may have been here.
  return state.handles.emplace(prepared, std::move(made)).first->second;
}

int deviceFor(const Arguments &arguments) {
  return arguments.device() ? *arguments.device() : currentDevice();
}

void *streamFor(const Arguments &arguments, int device) {
  if (device == cpuDevice)
    return nullptr;
  if (arguments.stream())
    return *arguments.stream();
  Ref index = Ref::take(PyLong_FromLong(device));
  Ref stream =
      Ref::take(PyObject_CallFunctionObjArgs(registry().currentStream.get(), index.get(), nullptr));
  void *native = PyLong_AsVoidPtr(stream.get());
  if (!native && PyErr_Occurred())
    throw PythonError{};
  return native;
}

Ref launchCall(PyObject *self, PyObject *grid, PyObject *args, PyObject *kwargs, bool warmup,
               bool haveSources) {
  Call call(self, args, kwargs);
  if (!call.state.guards.empty())
    checkGuards(self, call.state);
  Arguments arguments(call.objects.size(), haveSources);
  call.fill(arguments);
  int device = deviceFor(arguments);
  if (device != cpuDevice && call.options.numWarps > 32)
    raise(Error{"out of resource: threads, Required: " +
                    std::to_string(call.options.numWarps * 32) + ", Hardware limit: 1024",
                {}});
  // Other threads may add kernels while this one runs.
  nereid::Kernel kernel = kernelOf(self, call.state, call.options);
  Result<const launch::PreparedKernel *> prepared = Error{};
  if (warmup) {
    Device on = deviceOf(device);
    Unlocked unlocked;
    prepared = BindingAccess::prepare(kernel, on, arguments.all());
  } else {
    Grid size = call.grid(grid);
    void *native = streamFor(arguments, device);
    const Stream &stream = streamOf(device, native);
    std::optional<GpuLaunch> onGpu;
    if (device != cpuDevice)
      onGpu.emplace();
    {
      Unlocked unlocked;
      prepared = BindingAccess::launch(kernel, stream, size, arguments.all());
    }
    noteLaunch(device, native);
    if (onGpu && prepared)
      onGpu->queued((*prepared)->kernel, device, native);
  }
  if (!prepared) {
    Error error = prepared.takeError();
    call.hintAtArguments(error);
    raise(error);
  }
  const launch::PreparedKernel *launched = *prepared;
  if (!warmup && device == cpuDevice && (launched->kernel->code().flags & support::CodeRecords))
    drain(*launched->kernel);
  return handleOf(call, launched);
}

// Null where the package's own `run` is needed: for hooks, the interpreter, a subclass, or sources
// that it brings.
Ref launchIfPlain(PyObject *self, PyObject *grid, PyObject *args, PyObject *kwargs) {
  if (!stateOf<FunctionObject>(self).plain)
    return {};
  try {
    return launchCall(self, grid, args, kwargs, false, false);
  } catch (const SourceNeeded &) {
    return {};
  }
}

// _launch(grid, args, kwargs, warmup)
PyObject *launchFunction(PyObject *self, PyObject *args) {
  return guarded([&] {
    PyObject *grid = nullptr, *positional = nullptr, *keywords = nullptr;
    int warmup = 0;
    if (!PyArg_ParseTuple(args, "OO!O!p", &grid, &PyTuple_Type, &positional, &PyDict_Type,
                          &keywords, &warmup))
      throw PythonError{};
    return launchCall(self, grid, positional, keywords, warmup != 0, true);
  });
}

// _launch_plain(grid, args, kwargs): NotImplemented where a launch needs more of Python than the
// grid.
PyObject *launchPlain(PyObject *self, PyObject *args) {
  return guarded([&] {
    PyObject *grid = nullptr, *positional = nullptr, *keywords = nullptr;
    if (!PyArg_ParseTuple(args, "OO!O!", &grid, &PyTuple_Type, &positional, &PyDict_Type,
                          &keywords))
      throw PythonError{};
    Ref launched = launchIfPlain(self, grid, positional, keywords);
    return launched ? std::move(launched) : Ref::borrow(Py_NotImplemented);
  });
}

// _bound(args, kwargs): {parameter: object}, defaults filled in.
PyObject *boundArguments(PyObject *self, PyObject *args) {
  return guarded([&] {
    PyObject *positional = nullptr, *keywords = nullptr;
    if (!PyArg_ParseTuple(args, "O!O!", &PyTuple_Type, &positional, &PyDict_Type, &keywords))
      throw PythonError{};
    return Call(self, positional, keywords).bound();
  });
}

// _compile(target, args, kwargs): for a target that need not be here; nothing is loaded.
PyObject *compileFunction(PyObject *self, PyObject *args) {
  return guarded([&] {
    const char *target = nullptr;
    PyObject *positional = nullptr, *keywords = nullptr;
    if (!PyArg_ParseTuple(args, "sO!O!", &target, &PyTuple_Type, &positional, &PyDict_Type,
                          &keywords))
      throw PythonError{};
    Call call(self, positional, keywords);
    Arguments arguments(call.objects.size(), true);
    call.fill(arguments);
    nereid::Kernel kernel = kernelOf(self, call.state, call.options);
    auto artifact = [&] {
      Unlocked unlocked;
      return BindingAccess::compile(kernel, target, arguments.all());
    }();
    return describe(call, newHandle({nullptr, orRaise(std::move(artifact))}));
  });
}

// ---- The interpreter

// _interpret(grid, args, kwargs, memory): `memory` is a list of (address, bytes, name). Gives what
// `check` found, as diagnostics.
PyObject *interpretFunction(PyObject *self, PyObject *args) {
  return guarded([&] {
    PyObject *grid = nullptr, *positional = nullptr, *keywords = nullptr, *memory = nullptr;
    int keepGoing = 0;
    if (!PyArg_ParseTuple(args, "OO!O!O!p", &grid, &PyTuple_Type, &positional, &PyDict_Type,
                          &keywords, &PyList_Type, &memory, &keepGoing))
      throw PythonError{};
    Call call(self, positional, keywords);
    if (!call.state.guards.empty())
      checkGuards(self, call.state);
    Arguments arguments(call.objects.size(), true);
    call.fill(arguments);
    nereid::Kernel kernel = kernelOf(self, call.state, call.options);
    Grid size = call.grid(grid);
    ref::Launch launch;
    launch.grid = {size.x, size.y, size.z};
    for (Py_ssize_t i = 0; i < PyList_Size(memory); ++i) {
      unsigned long long base = 0, bytes = 0;
      const char *name = nullptr;
      if (!PyArg_ParseTuple(PyList_GetItem(memory, i), "KKs", &base, &bytes, &name))
        throw PythonError{};
      ref::MemoryRange range;
      range.base = base;
      range.bytes = bytes;
      range.name = name;
      launch.memory.push_back(std::move(range));
    }
    std::vector<std::string> prints;
    std::vector<ref::Finding> findings;
    launch.onPrint = [&](const ref::Printed &printed) { prints.push_back(printed.text); };
    launch.onFinding = [&](const ref::Finding &finding) { findings.push_back(finding); };
    Status status = Success{};
    {
      Unlocked unlocked;
      status = [&]() -> Status {
        auto emitted = BindingAccess::emit(kernel, arguments.all());
        if (!emitted)
          return emitted.takeError();
        ref::Options options;
        options.check = keepGoing != 0;
        auto interpreter = ref::Interpreter::prepare(emitted->kernel(), options);
        if (!interpreter)
          return interpreter.takeError();
        engine::addReferenceArguments(arguments.all(), emitted->specialization.arguments,
                                      launch.arguments);
        auto statistics = interpreter->launch(launch);
        if (!statistics)
          return statistics.takeError();
        return Success{};
      }();
    }
    Ref print = Ref::borrow(PyDict_GetItemString(PyEval_GetBuiltins(), "print"));
    for (const std::string &line : prints)
      Ref ignored = Ref::take(PyObject_CallFunctionObjArgs(print.get(), str(line).get(), nullptr));
    orRaise(status);
    if (!findings.empty()) {
      Error error{"`" + call.functionName() + "` does what no kernel may", {}};
      for (const ref::Finding &finding : findings)
        error.diagnostics.push_back(finding.diagnostic);
      raise(error);
    }
    return Ref::borrow(Py_None);
  });
}

// _tile(args, kwargs): tile IR as text.
PyObject *tileFunction(PyObject *self, PyObject *args) {
  return guarded([&] {
    PyObject *positional = nullptr, *keywords = nullptr;
    if (!PyArg_ParseTuple(args, "O!O!", &PyTuple_Type, &positional, &PyDict_Type, &keywords))
      throw PythonError{};
    Call call(self, positional, keywords);
    Arguments arguments(call.objects.size(), true);
    call.fill(arguments);
    auto emitted =
        orRaise(BindingAccess::emit(kernelOf(self, call.state, call.options), arguments.all()));
    std::string out;
    llvm::raw_string_ostream stream(out);
    emitted.module->print(stream);
    return str(out);
  });
}

// ---- Launch: `function[grid]`

struct LaunchObject {
  Ref function, grid;
};

PyObject *subscriptFunction(PyObject *self, PyObject *grid) {
  return guarded(
      [&] { return create(launchType, new LaunchObject{Ref::borrow(self), Ref::borrow(grid)}); });
}

PyObject *callLaunch(PyObject *self, PyObject *args, PyObject *kwargs) {
  return guarded([&] {
    auto &launch = stateOf<LaunchObject>(self);
    PyObject *function = launch.function.get();
    if (Ref launched = launchIfPlain(function, launch.grid.get(), args, kwargs))
      return launched;
    Ref run = Ref::take(PyObject_GetAttrString(function, "run"));
    Ref keywords = Ref::take(kwargs ? PyDict_Copy(kwargs) : PyDict_New());
    check(PyDict_SetItemString(keywords.get(), "grid", launch.grid.get()));
    check(PyDict_SetItemString(keywords.get(), "warmup", Py_False));
    return Ref::take(PyObject_Call(run.get(), args, keywords.get()));
  });
}

} // namespace

bool isFunction(PyObject *object) { return PyObject_TypeCheck(object, functionType); }

std::string_view functionKey(PyObject *object) {
  auto &state = stateOf<FunctionObject>(object);
  if (state.key.empty())
    raise(PyExc_RuntimeError, "the function has no key yet");
  return state.key;
}

void addTypes(PyObject *module) {
  addProgramType(module);
  addHandleType(module);
  static PyMethodDef functionMethods[] = {{"_describe", describeFunction, METH_VARARGS, nullptr},
                                          {"_bind", bindFunction, METH_VARARGS, nullptr},
                                          {"_set", setFunction, METH_VARARGS, nullptr},
                                          {"_launch", launchFunction, METH_VARARGS, nullptr},
                                          {"_launch_plain", launchPlain, METH_VARARGS, nullptr},
                                          {"_bound", boundArguments, METH_VARARGS, nullptr},
                                          {"_compile", compileFunction, METH_VARARGS, nullptr},
                                          {"_interpret", interpretFunction, METH_VARARGS, nullptr},
                                          {"_tile", tileFunction, METH_VARARGS, nullptr},
                                          {}};
  functionType = addType(module, "Function", sizeof(Object<FunctionObject>),
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                         {{Py_tp_new, slot(newFunction)},
                          {Py_tp_dealloc, slot(destroy<FunctionObject>)},
                          {Py_mp_subscript, slot(subscriptFunction)},
                          {Py_tp_methods, functionMethods}});
  launchType =
      addType(module, "Launch", sizeof(Object<LaunchObject>), Py_TPFLAGS_DEFAULT,
              {{Py_tp_dealloc, slot(destroy<LaunchObject>)}, {Py_tp_call, slot(callLaunch)}});
}

} // namespace nereid::python
