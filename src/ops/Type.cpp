#include "ops/Type.h"

#include "ir/TileOps.h"

#include <cassert>

namespace nereid::ops {

struct Type::Storage {
  Kind kind;
  DType dtype = DType::Int1;  // Scalar
  Type element;               // Pointer: pointee; Block, Descriptor: element
  bool isConst = false;       // Pointer
  std::vector<int64_t> shape; // Block, Descriptor
  unsigned rank = 0;          // Descriptor
  bool paddingIsNan = false;  // Descriptor
};

Type Type::scalar(DType dtype) {
  Type type;
  type.storage = std::make_shared<const Storage>(Storage{.kind = Kind::Scalar, .dtype = dtype});
  return type;
}

Type Type::pointer(Type pointee, bool isConst) {
  Type type;
  type.storage = std::make_shared<const Storage>(
      Storage{.kind = Kind::Pointer, .element = std::move(pointee), .isConst = isConst});
  return type;
}

Type Type::block(std::vector<int64_t> shape, Type element) {
  if (shape.empty())
    return element;
  Type type;
  type.storage = std::make_shared<const Storage>(
      Storage{.kind = Kind::Block, .element = std::move(element), .shape = std::move(shape)});
  return type;
}

Type Type::descriptor(std::vector<int64_t> blockShape, Type element, unsigned rank,
                      bool paddingIsNan) {
  Type type;
  type.storage = std::make_shared<const Storage>(Storage{.kind = Kind::Descriptor,
                                                         .element = std::move(element),
                                                         .shape = std::move(blockShape),
                                                         .rank = rank,
                                                         .paddingIsNan = paddingIsNan});
  return type;
}

Type::Kind Type::kind() const { return storage ? storage->kind : Kind::Void; }

Type Type::element() const { return isBlock() || isDescriptor() ? storage->element : *this; }

const std::vector<int64_t> &Type::shape() const {
  static const std::vector<int64_t> none;
  return storage ? storage->shape : none;
}

int64_t Type::numel() const {
  int64_t count = 1;
  for (int64_t extent : shape())
    count *= extent;
  return count;
}

bool Type::isPointer() const { return element().kind() == Kind::Pointer; }

Type Type::pointee() const {
  assert(isPointer());
  return element().storage->element;
}

bool Type::isConstPointer() const { return isPointer() && element().storage->isConst; }

DType Type::dtype() const {
  assert(isScalarKind());
  return element().storage->dtype;
}

bool Type::isFloat() const { return isScalarKind() && info(dtype()).isFloat; }
bool Type::isInt() const { return isScalarKind() && !info(dtype()).isFloat; }
bool Type::isBool() const { return isScalarKind() && dtype() == DType::Int1; }
bool Type::isSigned() const { return isScalarKind() && info(dtype()).isSigned; }
bool Type::isF8() const { return isFloat() && bits() == 8; }
unsigned Type::bits() const { return isScalarKind() ? info(dtype()).bits : isPointer() ? 64 : 0; }

bool Type::paddingIsNan() const { return storage && storage->paddingIsNan; }

Type Type::withElement(Type element) const {
  if (isDescriptor())
    return descriptor(shape(), std::move(element), storage->rank, storage->paddingIsNan);
  return block(shape(), std::move(element));
}

Type Type::withShape(std::vector<int64_t> shape) const {
  return block(std::move(shape), element());
}

std::string Type::str() const {
  switch (kind()) {
  case Kind::Void:
    return "void";
  case Kind::Scalar:
    return std::string(isFloat() ? info(dtype()).signature : info(dtype()).name);
  case Kind::Pointer:
    return (isConstPointer() ? "const_pointer<" : "pointer<") + pointee().str() + ">";
  case Kind::Block: {
    std::string text = "<[";
    for (size_t i = 0; i < shape().size(); ++i)
      text += (i ? ", '" : "'") + std::to_string(shape()[i]) + "'";
    return text + "], " + element().str() + ">";
  }
  case Kind::Descriptor:
    return "tensor_descriptor<" + block(shape(), element()).str() + ">";
  }
  return {};
}

std::string Type::signature() const {
  switch (kind()) {
  case Kind::Void:
  case Kind::Block:
    return {};
  case Kind::Scalar:
    return std::string(info(dtype()).signature);
  case Kind::Pointer:
    return (isConstPointer() ? "*k" : "*") + pointee().signature();
  case Kind::Descriptor: {
    std::string text = "tensordesc<" + element().signature() + "[";
    for (size_t i = 0; i < shape().size(); ++i)
      text += (i ? "," : "") + std::to_string(shape()[i]);
    return text + "]>";
  }
  }
  return {};
}

mlir::Type Type::lower(mlir::MLIRContext *context) const {
  switch (kind()) {
  case Kind::Void:
    return {};
  case Kind::Scalar:
    return lowerDType(dtype(), context);
  case Kind::Pointer: {
    mlir::Type pointee = this->pointee().lower(context);
    // `void *` addresses bytes.
    return tile::PtrType::get(pointee ? pointee : lowerDType(DType::Int8, context));
  }
  case Kind::Block:
    return mlir::RankedTensorType::get(shape(), element().lower(context));
  case Kind::Descriptor:
    return tile::DescType::get(context, shape(), element().lower(context), paddingIsNan());
  }
  return {};
}

bool operator==(const Type &a, const Type &b) {
  if (a.storage == b.storage)
    return true;
  if (!a.storage || !b.storage)
    return false;
  const Type::Storage &x = *a.storage, &y = *b.storage;
  return x.kind == y.kind && x.dtype == y.dtype && x.isConst == y.isConst && x.shape == y.shape &&
         x.rank == y.rank && x.paddingIsNan == y.paddingIsNan && x.element == y.element;
}

mlir::Type lowerDType(DType dtype, mlir::MLIRContext *context) {
  switch (dtype) {
  case DType::Int1:
    return mlir::IntegerType::get(context, 1);
  case DType::Int8:
  case DType::UInt8:
    return mlir::IntegerType::get(context, 8);
  case DType::Int16:
  case DType::UInt16:
    return mlir::IntegerType::get(context, 16);
  case DType::Int32:
  case DType::UInt32:
    return mlir::IntegerType::get(context, 32);
  case DType::Int64:
  case DType::UInt64:
    return mlir::IntegerType::get(context, 64);
  case DType::Float16:
    return mlir::Float16Type::get(context);
  case DType::BFloat16:
    return mlir::BFloat16Type::get(context);
  case DType::Float32:
    return mlir::Float32Type::get(context);
  case DType::Float64:
    return mlir::Float64Type::get(context);
  case DType::Float8E4NV:
    return mlir::Float8E4M3FNType::get(context);
  case DType::Float8E5:
    return mlir::Float8E5M2Type::get(context);
  case DType::Float8E4B8:
    return mlir::Float8E4M3FNUZType::get(context);
  case DType::Float8E5B16:
    return mlir::Float8E5M2FNUZType::get(context);
  case DType::Float8E4B15:
    return mlir::Float8E4M3B11FNUZType::get(context);
  }
  return {};
}

} // namespace nereid::ops
