// What `reference.py` may import: the part of NumPy named in docs/design/contract-kernel-folder.md,
// over exact f64, i64 and bool arrays, and `nereid.reference`.
#pragma once

#include "emit/Objects.h"
#include "support/Array.h"

namespace nereid::engine {

/// An array as a value of the evaluator.
struct ArrayObject : emit::NativeObject {
  explicit ArrayObject(support::Array array) : array(std::move(array)) {}
  std::string typeName() const override { return "ndarray"; }
  std::string repr() const override;
  std::optional<ops::Value> attribute(emit::Interp &interp, std::string_view name) override;
  support::Array array;
};

/// An array, or a number as an array of rank 0; fails at the node being evaluated for anything
/// else.
support::Array toArray(emit::Interp &interp, const ops::Value &value);
ops::Value toValue(support::Array array);

/// The modules `numpy` and `nereid.reference`.
ops::Value numpyModule();
ops::Value referenceModule();

} // namespace nereid::engine
