#include "ir/TileOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "ir/TileDialect.cpp.inc"
#include "ir/TileEnums.cpp.inc"
#include "ir/TileInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/TileAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/TileTypes.cpp.inc"
#define GET_OP_CLASSES
#include "ir/TileOps.cpp.inc"

using namespace mlir;

namespace nereid::tile {

void TileDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "ir/TileTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/TileAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/TileOps.cpp.inc"
      >();
}

Operation *TileDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                            Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

unsigned bytesInMemory(Type element) {
  if (isa<PtrType>(element))
    return 8;
  return (element.getIntOrFloatBitWidth() + 7) / 8;
}

// --- !tile.desc ---

Type DescType::parse(AsmParser &parser) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  SmallVector<int64_t> shape;
  Type element;
  if (parser.parseLess() || parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
      parser.parseType(element))
    return {};
  bool nan = succeeded(parser.parseOptionalComma());
  if (nan && parser.parseKeyword("nan"))
    return {};
  if (parser.parseGreater())
    return {};
  return DescType::getChecked([&] { return parser.emitError(loc); }, parser.getContext(), shape,
                              element, nan);
}

void DescType::print(AsmPrinter &printer) const {
  printer << "<";
  for (int64_t extent : getBlockShape())
    printer << extent << "x";
  printer << getElementType() << (getPaddingIsNan() ? ", nan>" : ">");
}

// --- memory ---

Value LoadOp::getAccessed() { return getPointer(); }
Value LoadOp::getAccessMask() { return getMask(); }
bool LoadOp::readsMemory() { return true; }
bool LoadOp::writesMemory() { return false; }
bool LoadOp::isAtomicAccess() { return false; }
Type LoadOp::getAccessElementType() { return elementType(getResult().getType()); }
void LoadOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), GlobalMemory::get());
  // Nothing may remove, repeat or move a volatile load.
  if (getIsVolatile())
    effects.emplace_back(MemoryEffects::Write::get(), GlobalMemory::get());
}

Value StoreOp::getAccessed() { return getPointer(); }
Value StoreOp::getAccessMask() { return getMask(); }
bool StoreOp::readsMemory() { return false; }
bool StoreOp::writesMemory() { return true; }
bool StoreOp::isAtomicAccess() { return false; }
Type StoreOp::getAccessElementType() { return elementType(getValue().getType()); }

Value AtomicRMWOp::getAccessed() { return getPointer(); }
Value AtomicRMWOp::getAccessMask() { return getMask(); }
bool AtomicRMWOp::readsMemory() { return true; }
bool AtomicRMWOp::writesMemory() { return true; }
bool AtomicRMWOp::isAtomicAccess() { return true; }
Type AtomicRMWOp::getAccessElementType() { return elementType(getValue().getType()); }

Value AtomicCASOp::getAccessed() { return getPointer(); }
Value AtomicCASOp::getAccessMask() { return {}; }
bool AtomicCASOp::readsMemory() { return true; }
bool AtomicCASOp::writesMemory() { return true; }
bool AtomicCASOp::isAtomicAccess() { return true; }
Type AtomicCASOp::getAccessElementType() { return elementType(getValue().getType()); }

#define DESCRIPTOR_ACCESS(OP, READS, WRITES, ATOMIC)                                               \
  Value OP::getAccessed() { return getDesc(); }                                                    \
  Value OP::getAccessMask() { return {}; }                                                         \
  bool OP::readsMemory() { return READS; }                                                         \
  bool OP::writesMemory() { return WRITES; }                                                       \
  bool OP::isAtomicAccess() { return ATOMIC; }                                                     \
  Type OP::getAccessElementType() { return cast<DescType>(getDesc().getType()).getElementType(); }
DESCRIPTOR_ACCESS(DescLoadOp, true, false, false)
DESCRIPTOR_ACCESS(DescStoreOp, false, true, false)
DESCRIPTOR_ACCESS(DescReduceOp, true, true, true)
DESCRIPTOR_ACCESS(DescGatherOp, true, false, false)
DESCRIPTOR_ACCESS(DescScatterOp, false, true, false)
#undef DESCRIPTOR_ACCESS

static void addEffectsOfForeignCode(bool pure,
                                    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  if (pure)
    return;
  effects.emplace_back(MemoryEffects::Read::get(), GlobalMemory::get());
  effects.emplace_back(MemoryEffects::Write::get(), GlobalMemory::get());
}
void InlineAsmOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addEffectsOfForeignCode(getPure(), effects);
}
std::string LibraryCallOp::codeSymbol() {
  // A function may be called with an address as a pointer and as a number.
  std::string name = (libraryCallPrefix + getSymbol() + "(").str();
  llvm::raw_string_ostream stream(name);
  for (Type type : getInputs().getTypes())
    stream << elementType(type) << ",";
  stream << elementType(getType()) << ")";
  return name;
}
Speculation::Speculatability LibraryCallOp::getSpeculatability() {
  return getPure() ? Speculation::Speculatable : Speculation::NotSpeculatable;
}
void LibraryCallOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addEffectsOfForeignCode(getPure(), effects);
}

} // namespace nereid::tile
