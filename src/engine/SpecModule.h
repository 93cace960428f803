// The names that a kernel folder's `spec.py` uses without importing them: builders of tensors,
// `launch`, `descriptor`, `unsupported`, and a few functions. docs/design/contract-kernel-folder.md
// lists them.
#pragma once

#include "emit/Objects.h"
#include "support/HostTensor.h"

#include <array>

namespace nereid::engine {

/// What a spec sees of a tensor: shape, strides and dtype, never data.
struct SpecTensor : emit::NativeObject {
  enum class Recipe : uint8_t {
    Normal,
    Uniform,
    Integers,
    Fill,
    Empty,
    Range,
    Permutation,
    Values,
    Special,
    Computed
  };

  std::string typeName() const override { return "tensor"; }
  std::string repr() const override;
  std::optional<ops::Value> attribute(emit::Interp &interp, std::string_view name) override;

  /// Makes the memory, poisons it and fills the elements. `seed` is text that names the tensor.
  void allocate(std::string_view seed);
  /// Makes the memory alone, for launches that are compiled and never run.
  void reserve();
  int64_t numel() const;

  DType dtype = DType::Float32;
  std::vector<int64_t> shape, strides; ///< strides in elements
  int64_t offset = 0;
  Recipe recipe = Recipe::Empty;
  double a = 0, b = 0;        ///< mean and deviation, low and high, the value
  int64_t low = 0, high = 0;  ///< of Integers
  support::Array values;      ///< of Values
  std::string name;           ///< argument name, once known
  support::HostTensor memory; ///< after `allocate`
  bool allocated = false;
};

/// `descriptor(tensor, block_shape, padding)`.
struct SpecDescriptor : emit::NativeObject {
  std::string typeName() const override { return "descriptor"; }
  std::string repr() const override { return "descriptor"; }
  std::optional<ops::Value> attribute(emit::Interp &interp, std::string_view name) override;
  std::shared_ptr<SpecTensor> tensor;
  std::vector<int64_t> block;
  bool paddingIsNan = false;
};

/// One `launch(...)` of a variant.
struct SpecLaunch : emit::NativeObject {
  std::string typeName() const override { return "launch"; }
  std::string repr() const override { return "launch of " + kernel; }
  std::optional<ops::Value> attribute(emit::Interp &, std::string_view) override {
    return std::nullopt;
  }
  std::string file = "kernel.py", kernel;
  std::array<int64_t, 3> grid = {1, 1, 1};
  std::vector<ops::Value> args;
  emit::Keywords keywords;
};

/// A variant's word that a case is not for it.
struct SpecUnsupported : emit::NativeObject {
  std::string typeName() const override { return "unsupported"; }
  std::string repr() const override { return reason; }
  std::optional<ops::Value> attribute(emit::Interp &, std::string_view) override {
    return std::nullopt;
  }
  std::string reason;
};

/// The tensor that an argument is, or that a descriptor is of; else null.
SpecTensor *tensorOf(const ops::Value &value);

/// The names and what they stand for.
std::vector<std::pair<std::string, ops::Value>> specNames();

/// A dtype spelled as specs do ("f32", "i1", "f8e4nv") or as signatures do ("fp32").
std::optional<DType> specDType(std::string_view text);
/// The short spelling: "f32", "i1", "f8e4nv".
std::string specName(DType type);
/// The dtype that such a value names; raises with all of them if it names none.
DType dtypeArgument(emit::Interp &interp, const ops::Value &value);

} // namespace nereid::engine
