// Types as the Triton language sees them: tile IR types plus signedness, tuples and descriptors.
#pragma once

#include "nereid/base.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"

#include <memory>
#include <string>
#include <vector>

namespace nereid::ops {

/// An immutable, structurally compared type: `int32`, `pointer<fp32>`, `<['128'], fp16>`.
/// Cheap to copy. The null Type stands for `void`.
class Type {
public:
  enum class Kind : uint8_t { Void, Scalar, Pointer, Block, Descriptor };

  Type() = default;
  static Type scalar(DType dtype);
  static Type pointer(Type pointee, bool isConst = false);
  /// A tile; gives `element` itself for an empty shape.
  static Type block(std::vector<int64_t> shape, Type element);
  static Type descriptor(std::vector<int64_t> blockShape, Type element, unsigned rank,
                         bool paddingIsNan);

  Kind kind() const;
  bool isVoid() const { return kind() == Kind::Void; }
  bool isBlock() const { return kind() == Kind::Block; }
  bool isDescriptor() const { return kind() == Kind::Descriptor; }
  /// The element type of a block, else the type itself.
  Type element() const;
  /// The shape of a block or descriptor block; empty for scalars.
  const std::vector<int64_t> &shape() const;
  int64_t numel() const;

  // Of the element type:
  bool isPointer() const;
  Type pointee() const; ///< of a pointer element
  bool isConstPointer() const;
  DType dtype() const; ///< of a scalar element; CHECKs on pointers
  bool isScalarKind() const { return element().kind() == Kind::Scalar; }
  bool is(DType dtype) const { return isScalarKind() && this->dtype() == dtype; }
  bool isFloat() const;
  bool isInt() const; ///< any integer, int1 too
  bool isBool() const;
  bool isSigned() const;
  bool isF8() const;
  unsigned bits() const; ///< primitive_bitwidth; 64 for pointers

  bool paddingIsNan() const;

  Type withElement(Type element) const;             ///< same shape
  Type withShape(std::vector<int64_t> shape) const; ///< same element

  /// As Triton prints it: "int32", "fp16", "pointer<fp32>", "<['128', '64'], fp32>".
  std::string str() const;
  /// Compile-signature spelling: "i32", "*fp32"; blocks have none.
  std::string signature() const;
  mlir::Type lower(mlir::MLIRContext *context) const;

  friend bool operator==(const Type &a, const Type &b);

private:
  struct Storage;
  std::shared_ptr<const Storage> storage;
};

/// The tile IR type of an element; int1 is i1, e4b15 is carried as Float8E4M3B11FNUZ.
mlir::Type lowerDType(DType dtype, mlir::MLIRContext *context);

} // namespace nereid::ops
