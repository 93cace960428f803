// Atomic read-modify-write and compare-and-swap.

#include "ops/Build.h"

using namespace mlir;

namespace nereid::ops {
namespace {

tile::MemSemantic semantic(const Value &value) {
  std::string text = optionalStr(value, "sem");
  if (text.empty() || text == "acq_rel")
    return tile::MemSemantic::AcqRel;
  if (text == "relaxed")
    return tile::MemSemantic::Relaxed;
  if (text == "acquire")
    return tile::MemSemantic::Acquire;
  if (text == "release")
    return tile::MemSemantic::Release;
  fail("WrongArgument", "`sem` is " + quote(text),
       "it can be `acq_rel`, `acquire`, `release` or `relaxed`");
}

tile::MemScope scope(const Value &value) {
  std::string text = optionalStr(value, "scope");
  if (text.empty() || text == "gpu")
    return tile::MemScope::Gpu;
  if (text == "cta")
    return tile::MemScope::Cta;
  if (text == "sys")
    return tile::MemScope::Sys;
  fail("WrongArgument", "`scope` is " + quote(text), "it can be `gpu`, `cta` or `sys`");
}

Type elementOf(const Tile &pointer, std::string_view operation) {
  if (!pointer.type.isPointer())
    fail("NotAPointer", quote(operation) + " needs a pointer, but got " + describe(Value(pointer)));
  if (pointer.type.isConstPointer())
    fail("ConstPointer", quote(operation) + " writes through a constant pointer",
         "a parameter annotated `tl.const` gives one, an array that is not writeable too");
  return pointer.type.pointee();
}

// `value` in the type of the memory, of the pointers' shape.
Tile valueArgument(OpContext &context, const Value &value, const Tile &pointer, const Type &element,
                   std::string_view operation) {
  Tile tile =
      value.isNumber() ? castNumber(context, value, element) : tileArgument(context, value, "val");
  if (!pointer.type.isBlock() && tile.type.isBlock())
    fail("IncompatibleShapes",
         "`val` of " + quote(operation) + " has shape " + shapeText(tile.type.shape()) +
             ", but the pointer is a scalar",
         "add `tl.arange` to the pointer");
  if (pointer.type.isBlock())
    tile = broadcastTo(context, tile, pointer.type.shape());
  return cast(context, tile, element);
}

enum class AtomicOperation { Add, Max, Min, And, Or, Xor, Xchg };
constexpr std::string_view Names[] = {"tl.atomic_add", "tl.atomic_max", "tl.atomic_min",
                                      "tl.atomic_and", "tl.atomic_or",  "tl.atomic_xor",
                                      "tl.atomic_xchg"};

tile::AtomicKind kindOf(AtomicOperation operation, const Type &element) {
  using Kind = tile::AtomicKind;
  bool isFloat = element.isFloat(), isSigned = element.isSigned();
  switch (operation) {
  case AtomicOperation::Add:
    return isFloat ? Kind::FAdd : Kind::Add;
  case AtomicOperation::Max:
    return isFloat ? Kind::FMax : isSigned ? Kind::Max : Kind::UMax;
  case AtomicOperation::Min:
    return isFloat ? Kind::FMin : isSigned ? Kind::Min : Kind::UMin;
  case AtomicOperation::And:
    return Kind::And;
  case AtomicOperation::Or:
    return Kind::Or;
  case AtomicOperation::Xor:
    return Kind::Xor;
  case AtomicOperation::Xchg:
    return Kind::Xchg;
  }
  return Kind::Xchg;
}

void checkElement(AtomicOperation operation, const Type &element) {
  std::string_view name = Names[size_t(operation)];
  bool half = element.is(DType::Float16) || element.is(DType::BFloat16);
  bool bits = operation == AtomicOperation::And || operation == AtomicOperation::Or ||
              operation == AtomicOperation::Xor;
  // Integers of 8 and 16 bits are part of a word for what needs no carry and no order.
  bool narrow = element.isInt() && (element.bits() == 8 || element.bits() == 16) &&
                (bits || operation == AtomicOperation::Xchg);
  if (element.isPointer() || element.isVoid() || element.isBlock() ||
      (!narrow && (element.bits() < 16 || (element.isInt() && element.bits() == 16))) ||
      (half && operation != AtomicOperation::Add) || (bits && element.isFloat()))
    fail("UnsupportedDType", quote(name) + " does not take " + quote(element),
         half ? "accumulate in `tl.float32`, or compare and swap" : "");
}

template <AtomicOperation Op> Value buildAtomic(OpContext &context, Args args) {
  std::string_view name = Names[size_t(Op)];
  Tile pointer = args[0].isTile() ? args[0].asTile() : tileArgument(context, args[0], "pointer");
  Type element = elementOf(pointer, name);
  checkElement(Op, element);
  Tile value = valueArgument(context, args[1], pointer, element, name);
  auto mask = optionalTile(context, args[2], "mask");
  if (mask) {
    if (!mask->type.isBool())
      fail("MaskNotBoolean", "`mask` has type " + quote(mask->type.element()) + ", not `int1`",
           "compare it: `mask != 0`");
    if (!pointer.type.isBlock() && mask->type.isBlock())
      fail("IncompatibleShapes", "`mask` of " + quote(name) + " has shape " +
                                     shapeText(mask->type.shape()) +
                                     ", but the pointer is a scalar");
    if (pointer.type.isBlock())
      *mask = broadcastTo(context, *mask, pointer.type.shape());
  }
  auto *mlirContext = context.builder.getContext();
  return build<tile::AtomicRMWOp>(context, value.type,
                                  tile::AtomicKindAttr::get(mlirContext, kindOf(Op, element)),
                                  pointer.value, value.value, mask ? mask->value : mlir::Value(),
                                  tile::MemSemanticAttr::get(mlirContext, semantic(args[3])),
                                  tile::MemScopeAttr::get(mlirContext, scope(args[4])));
}

Value buildAtomicCas(OpContext &context, Args args) {
  Tile pointer = args[0].isTile() ? args[0].asTile() : tileArgument(context, args[0], "pointer");
  Type element = elementOf(pointer, "tl.atomic_cas");
  unsigned bits = element.bits();
  if (element.isPointer() || (bits != 16 && bits != 32 && bits != 64))
    fail("UnsupportedDType", "`tl.atomic_cas` does not take " + quote(element),
         "elements of 16, 32 or 64 bits can be compared and swapped");
  Tile compare = valueArgument(context, args[1], pointer, element, "tl.atomic_cas");
  Tile value = valueArgument(context, args[2], pointer, element, "tl.atomic_cas");
  auto *mlirContext = context.builder.getContext();
  return build<tile::AtomicCASOp>(context, value.type, pointer.value, compare.value, value.value,
                                  tile::MemSemanticAttr::get(mlirContext, semantic(args[3])),
                                  tile::MemScopeAttr::get(mlirContext, scope(args[4])));
}

constexpr std::string_view Signature = "pointer, val, mask=None, sem=None, scope=None";

constexpr Row AtomicTable[] = {
    {"atomic_add", "atomic", Signature, buildAtomic<AtomicOperation::Add>,
     "Adds to memory; gives the old value.", true},
    {"atomic_max", "atomic", Signature, buildAtomic<AtomicOperation::Max>,
     "Replaces memory by the greater value; gives the old value.", true},
    {"atomic_min", "atomic", Signature, buildAtomic<AtomicOperation::Min>,
     "Replaces memory by the lesser value; gives the old value.", true},
    {"atomic_and", "atomic", Signature, buildAtomic<AtomicOperation::And>,
     "Bitwise and into memory; gives the old value.", true},
    {"atomic_or", "atomic", Signature, buildAtomic<AtomicOperation::Or>,
     "Bitwise or into memory; gives the old value.", true},
    {"atomic_xor", "atomic", Signature, buildAtomic<AtomicOperation::Xor>,
     "Bitwise exclusive or into memory; gives the old value.", true},
    {"atomic_xchg", "atomic", Signature, buildAtomic<AtomicOperation::Xchg>,
     "Replaces memory; gives the old value.", true},
    {"atomic_cas", "atomic", "pointer, cmp, val, sem=None, scope=None", buildAtomicCas,
     "Replaces memory where it equals `cmp`; gives the old value.", true},
};

} // namespace

std::span<const Row> atomicRows() { return AtomicTable; }

} // namespace nereid::ops
