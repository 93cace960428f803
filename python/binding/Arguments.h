// Arguments of a Python call as the launch path takes them.
#pragma once

#include "binding/Object.h"

#include "launch/Argument.h"
#include "nereid/device.h"

#include <memory>
#include <optional>
#include <vector>

namespace nereid::python {

/// What the package's Python part tells the extension once: its classes, and what to call for
/// values that have no path of their own here.
struct Registry {
  Ref constexprType, dtypeType, descriptorType, builtinType;
  Ref adapt;   ///< object -> a plain value or (address, signature of the element type, device)
  Ref failure; ///< (what, text, diagnostics) -> an exception
  Ref handle;  ///< (Handle, function, options) -> what a launch returns
  Ref currentDevice; ///< () -> index of the current GPU or -1
  Ref currentStream; ///< (index) -> native stream
};
Registry &registry();

constexpr int cpuDevice = -1;

/// Thrown where an argument is a function, or an object, whose source the kernel's program may
/// lack.
struct SourceNeeded {};

/// Converted arguments of one call, with what they point at.
class Arguments {
public:
  /// `haveSources`: whether the program was given the sources of its arguments.
  Arguments(size_t count, bool haveSources);

  launch::Argument *begin() { return at; }
  std::span<const launch::Argument> all() const { return {at, count}; }
  /// Converts `object` for the parameter number `index`.
  void set(size_t index, PyObject *object) { at[index] = convert(object, 0); }
  /// The device that pointers lie on or, if they lie on several GPUs, that reaches them; nothing if
  /// there is none.
  const std::optional<int> &device() const { return where; }
  /// The stream that the framework of a tensor works in now, if it says so.
  const std::optional<void *> &stream() const { return work; }

private:
  static constexpr size_t few = 64;
  launch::Argument convert(PyObject *object, int depth);
  launch::Argument convertTensor(PyObject *object);
  launch::Argument convertTuple(PyObject *object, int depth);
  launch::Argument convertDescriptor(PyObject *object);
  void place(int device, const void *address);

  /// What stands for something by where its source has it: "unit.name@hash".
  launch::Argument sourced(std::string_view key) const;

  size_t count;
  bool haveSources;
  launch::Argument *at;
  alignas(launch::Argument) unsigned char room[few * sizeof(launch::Argument)];
  std::unique_ptr<launch::Argument[]> many;
  // What arguments point at stays where it is; most calls have none of it, and then nothing is
  // allocated.
  std::vector<std::vector<launch::Argument>> tuples;
  std::vector<std::unique_ptr<launch::NamedTupleArgument>> namedTuples;
  std::vector<std::unique_ptr<launch::DescriptorArgument>> descriptors;
  std::vector<Ref> kept;
  int constexprs = 0; // that the value in hand is within
  std::optional<int> where;
  const void *first = nullptr; // memory there
  bool isAcross = false;       // some lies on other GPUs, which that one reaches
  std::optional<void *> work;
};

/// (address, signature of the element type, device, shape, strides in elements or None) of what
/// `__dlpack__` gives, which stays as it is; null for memory or elements that no kernel takes.
Ref describeDlpack(PyObject *capsule);

/// The index of the current GPU of the program; -1 is the CPU.
int currentDevice();
/// The engine's device behind an index.
Device deviceOf(int index);
/// The stream that a launch on a device goes to.
const Stream &streamOf(int device, void *native);

} // namespace nereid::python
