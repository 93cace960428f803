// Attributes of tiles, types, descriptors and block pointers, and methods of types.

#include "ops/Build.h"
#include "ops/Objects.h"

namespace nereid::ops {
namespace {

Value tupleOf(std::span<const int64_t> numbers) {
  return Value::tuple({numbers.begin(), numbers.end()});
}

// As the compiler of Triton names the type: "fp32", "int32", "pointer<fp32>".
std::string typeName(const Type &type) { return type.str(); }

// "float32", "bfloat16", "int32".
std::string codegenName(const Type &type) {
  if (type.kind() == Type::Kind::Scalar)
    return std::string(info(type.dtype()).name);
  return type.str();
}

struct FloatFormat {
  int mantissa, bias;
};

FloatFormat floatFormat(DType dtype) {
  switch (dtype) {
  case DType::Float8E4B15:
    return {3, 15};
  case DType::Float8E4NV:
    return {3, 7};
  case DType::Float8E4B8:
    return {3, 8};
  case DType::Float8E5:
    return {2, 15};
  case DType::Float8E5B16:
    return {2, 16};
  case DType::Float16:
    return {10, 15};
  case DType::BFloat16:
    return {7, 127};
  case DType::Float32:
    return {23, 127};
  default:
    return {52, 1023};
  }
}

std::optional<Value> typeAttribute(const Type &type, std::string_view name) {
  if (name == "scalar")
    return Value::type(type.element());
  if (name == "name")
    return Value::str(typeName(type));
  if (type.isBlock() || type.isDescriptor()) {
    if (name == "shape")
      return tupleOf(type.shape());
    if (name == "numel")
      return Value(type.numel());
    if (name == "element_ty")
      return Value::type(type.element());
    if (name == "nbytes")
      return Value(type.numel() * int64_t((type.bits() + 7) / 8));
    return std::nullopt;
  }
  if (type.isPointer()) {
    if (name == "element_ty")
      return Value::type(type.pointee());
    if (name == "address_space")
      return Value(1);
    if (name == "const")
      return Value(type.isConstPointer());
  }
  if (name == "primitive_bitwidth")
    return Value(int64_t(type.bits()));
  if (name == "itemsize")
    return Value(int64_t(type.bits() / 8));
  if (type.kind() != Type::Kind::Scalar)
    return std::nullopt;
  if (type.isInt() && name == "int_bitwidth")
    return Value(int64_t(type.bits()));
  if (type.isInt() && name == "int_signedness")
    return Value(std::make_shared<EnumMember>(type.isSigned() ? "SIGNEDNESS.SIGNED"
                                                              : "SIGNEDNESS.UNSIGNED"));
  if (type.isFloat() && name == "fp_mantissa_width")
    return Value(floatFormat(type.dtype()).mantissa);
  if (type.isFloat() && name == "exponent_bias")
    return Value(floatFormat(type.dtype()).bias);
  return std::nullopt;
}

std::optional<Value> descriptorAttribute(OpContext &context, const Tile &desc,
                                         std::string_view name) {
  const Type &type = desc.type;
  if (name == "block_shape")
    return tupleOf(type.shape());
  if (name == "block_type")
    return Value::type(Type::block(type.shape(), type.element()));
  if (name == "dtype")
    return Value::type(type.element());
  if (name == "type")
    return Value::type(type);
  if (name != "shape" && name != "strides")
    return std::nullopt;
  std::vector<Value> fields;
  for (size_t d = 0; d < type.shape().size(); ++d) {
    Tile field = build<tile::DescFieldOp>(context, int64(), desc.value,
                                          name == "shape" ? "shape" : "stride", uint32_t(d));
    fields.push_back(name == "shape" ? cast(context, field, int32()) : field);
  }
  return Value::tuple(std::move(fields));
}

} // namespace

std::optional<Value> attribute(OpContext &context, const Value &object, std::string_view name) {
  if (object.isType())
    return typeAttribute(object.asType(), name);
  if (auto *block = object.as<BlockPointer>()) {
    if (name == "dtype" || name == "type")
      return Value::type(block->type());
    if (name == "shape")
      return Value::tuple({});
    return std::nullopt;
  }
  if (auto *type = object.as<EnumClass>()) {
    for (const std::string &member : type->members)
      if (member == name)
        return Value(std::make_shared<EnumMember>(type->name + "." + member));
    return std::nullopt;
  }
  if (auto *member = object.as<EnumMember>(); member && name == "name")
    return Value::str(member->name.substr(member->name.find('.') + 1));
  if (!object.isTile())
    return std::nullopt;
  const Tile &tile = object.asTile();
  if (tile.type.isDescriptor())
    return descriptorAttribute(context, tile, name);
  if (name == "dtype")
    return Value::type(tile.type.element());
  if (name == "type")
    return Value::type(tile.type);
  if (name == "shape")
    return tupleOf(tile.type.shape());
  if (name == "numel")
    return Value(tile.type.numel());
  if (name == "T") {
    if (tile.type.shape().size() != 2)
      fail("NotAPermutation",
           "`.T` needs a tile of rank 2, but the shape is " + shapeText(tile.type.shape()),
           "use `tl.trans` or `tl.permute`");
    return Value(permute(context, tile, std::vector<int64_t>{1, 0}));
  }
  return std::nullopt;
}

std::optional<Value> typeMethod(OpContext &context, Type type, std::string_view name, Args args) {
  bool scalar = type.kind() == Type::Kind::Scalar;
  auto is = [&](DType dtype) { return Value(scalar && type.dtype() == dtype); };
  if (name == "is_floating")
    return Value(scalar && type.isFloat());
  if (name == "is_standard_floating")
    return Value(scalar && isStandardFloat(type));
  if (name == "is_int")
    return Value(scalar && type.isInt());
  if (name == "is_int_signed")
    return Value(scalar && type.isInt() && type.isSigned());
  if (name == "is_int_unsigned")
    return Value(scalar && type.isInt() && !type.isSigned());
  if (name == "is_bool" || name == "is_int1")
    return is(DType::Int1);
  if (name == "is_ptr")
    return Value(type.kind() == Type::Kind::Pointer);
  if (name == "is_block")
    return Value(type.isBlock());
  if (name == "is_void")
    return Value(type.isVoid());
  if (name == "is_const")
    return Value(type.kind() == Type::Kind::Pointer && type.isConstPointer());
  if (name == "is_fp8")
    return Value(scalar && type.isF8());
  // is_int8, is_fp16, is_bf16, is_fp8e4nv, ...
  if (name.starts_with("is_"))
    if (auto dtype = parseDType(name.substr(3)))
      if (typeName(Type::scalar(*dtype)) == name.substr(3))
        return is(*dtype);
  if (name == "kind" && scalar)
    return Value(std::make_shared<EnumMember>(type.isBool()    ? "KIND.BOOLEAN"
                                              : type.isFloat() ? "KIND.FLOATING"
                                                               : "KIND.INTEGRAL"));
  if (scalar && type.isInt() && name == "get_int_max_value")
    return Value(Integer::shiftLeft(1, type.bits() - (type.isSigned() ? 1 : 0)) - 1);
  if (scalar && type.isInt() && name == "get_int_min_value")
    return Value(type.isSigned() ? -Integer::shiftLeft(1, type.bits() - 1) : Integer(0));
  if (name == "codegen_name")
    return Value::str(codegenName(type));
  if (name == "get_block_shapes" && type.isBlock())
    return tupleOf(type.shape());
  if (name == "with_element_ty" && args.size() == 1)
    return Value::type(type.withElement(typeArgument(args[0], "element_ty")));
  return std::nullopt;
}

} // namespace nereid::ops
