// Loads, stores and atomics on global memory: as few instructions as layout and facts allow,
// predicated so that a masked lane touches nothing, each element written once.
#include "gpu/LoopPlan.h"
#include "gpu/RegisterModels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace nereid::gpu {

namespace {

StringRef cacheText(tile::CacheModifier cache) {
  switch (cache) {
  case tile::CacheModifier::CA:
    return ".ca";
  case tile::CacheModifier::CG:
    return ".cg";
  case tile::CacheModifier::CS:
    return ".cs";
  case tile::CacheModifier::CV:
    return ".cv";
  case tile::CacheModifier::WB:
    return ".wb";
  case tile::CacheModifier::WT:
    return ".wt";
  case tile::CacheModifier::None:
    return "";
  }
  return "";
}
StringRef evictText(tile::EvictionPolicy evict) {
  return evict == tile::EvictionPolicy::First  ? ".L1::evict_first"
         : evict == tile::EvictionPolicy::Last ? ".L1::evict_last"
                                               : "";
}

// An access takes a cache operator or an eviction priority, not both: the operators that name the
// usual caches give way, beside the others there is nothing in the first-level cache to evict.
std::string hintText(tile::CacheModifier cache, tile::EvictionPolicy evict) {
  bool isUsual = cache == tile::CacheModifier::CA || cache == tile::CacheModifier::WB;
  bool evicts = evict != tile::EvictionPolicy::Normal;
  return (cache == tile::CacheModifier::None || (isUsual && evicts) ? evictText(evict)
                                                                    : cacheText(cache))
      .str();
}

std::string hintText(tile::CacheModifier cache, tile::EvictionPolicy evict, Value policy) {
  return hintText(cache, evict) + (policy ? ".L2::cache_hint" : "");
}

// One access is some pieces of 8 to 64 bits: a vector of 32-bit words where it has that many.
struct Pieces {
  unsigned bits, count;
  static Pieces of(unsigned totalBits) {
    return totalBits <= 32 ? Pieces{totalBits, 1} : Pieces{32, totalBits / 32};
  }
  std::string vector() const { return count > 1 ? ".v" + std::to_string(count) : ""; }
  std::string suffix() const { return vector() + ".b" + std::to_string(bits); }
  // Registers of 8 bits do not exist; 16 bits carry them.
  char constraint() const { return bits <= 16 ? 'h' : 'r'; }
  Type type(OpBuilder &b) const { return b.getIntegerType(bits <= 16 ? 16 : 32); }
  std::string operands(unsigned first) const {
    if (count == 1)
      return "$" + std::to_string(first);
    std::string text = "{";
    for (unsigned i = 0; i < count; ++i)
      text += (i ? ", $" : "$") + std::to_string(first + i);
    return text + "}";
  }
};

// Two f32 that were rounded to halves on their way here, in one instruction; else null.
Value roundedPair(RegisterEmitter &e, Value low, Value high) {
  auto first = low.getDefiningOp<arith::TruncFOp>(), second = high.getDefiningOp<arith::TruncFOp>();
  if (!first || !second || !first.getIn().getType().isF32() || !second.getIn().getType().isF32())
    return {};
  return e.assembly(low.getType().isF16() ? "cvt.rn.f16x2.f32 $0, $1, $2;"
                                          : "cvt.rn.bf16x2.f32 $0, $1, $2;",
                    "=r,f,f", e.builder.getI32Type(), {second.getIn(), first.getIn()}, true);
}

// Elements that one condition chooses: whole words are chosen instead.
struct Choice {
  Value condition;
  SmallVector<Value> yes, no;
};
std::optional<Choice> asOneChoice(ArrayRef<Value> values) {
  Choice choice;
  for (Value value : values) {
    auto select = value.getDefiningOp<LLVM::SelectOp>();
    if (!select || (choice.condition && choice.condition != select.getCondition()))
      return std::nullopt;
    choice.condition = select.getCondition();
    choice.yes.push_back(select.getTrueValue());
    choice.no.push_back(select.getFalseValue());
  }
  return choice.condition ? std::optional(choice) : std::nullopt;
}

// Registers to the words of an access, and back. i1 is a byte.
SmallVector<Value> pack(RegisterEmitter &e, ArrayRef<Value> values, Type element, Pieces pieces) {
  OpBuilder &b = e.builder;
  Type memory = element.isInteger(1) ? b.getI8Type() : registerType(element);
  unsigned bits = bitsOf(memory);
  if (auto one = bits < pieces.bits ? asOneChoice(values) : std::nullopt) {
    SmallVector<Value> words = pack(e, one->yes, element, pieces),
                       others = pack(e, one->no, element, pieces);
    for (auto [word, other] : llvm::zip(words, others))
      word = b.create<LLVM::SelectOp>(e.loc(), one->condition, word, other);
    return words;
  }
  SmallVector<Value> numbers;
  for (Value value : values) {
    if (element.isInteger(1))
      value = b.create<arith::ExtUIOp>(e.loc(), memory, value);
    numbers.push_back(e.cast(value, b.getIntegerType(bits)));
  }
  if (bits == 64) {
    SmallVector<Value> words;
    for (Value number : numbers)
      llvm::append_range(words, e.toWords(number));
    return words;
  }
  if (bits == pieces.bits)
    return bits == 8
               ? SmallVector<Value>{b.create<arith::ExtUIOp>(e.loc(), b.getI16Type(), numbers[0])}
               : numbers;
  unsigned share = pieces.bits / bits;
  SmallVector<Value> words;
  for (unsigned i = 0; i < numbers.size(); i += share) {
    if (Value word = share == 2 ? roundedPair(e, values[i], values[i + 1]) : Value()) {
      words.push_back(word);
      continue;
    }
    ArrayRef<Value> parts = ArrayRef(numbers).slice(i, share);
    // Bytes come in pairs from their conversion.
    SmallVector<Value> pairs;
    for (unsigned k = 0; bits == 8 && k < share; k += 2)
      if (Value pair = e.wordOf(parts.slice(k, 2)))
        pairs.push_back(pair);
    if (pairs.size() * 2 == share)
      parts = pairs;
    Value whole = parts.size() == 1 ? parts[0] : e.vectorOf(parts);
    words.push_back(e.cast(whole, b.getIntegerType(pieces.bits)));
  }
  return words;
}

SmallVector<Value> unpack(RegisterEmitter &e, ArrayRef<Value> words, Type element, Pieces pieces) {
  OpBuilder &b = e.builder;
  Type memory = element.isInteger(1) ? b.getI8Type() : registerType(element);
  unsigned bits = bitsOf(memory);
  SmallVector<Value> values;
  auto finish = [&](Value number) {
    if (element.isInteger(1))
      number =
          b.create<arith::CmpIOp>(e.loc(), arith::CmpIPredicate::ne, number, e.number(memory, 0));
    values.push_back(element.isInteger(1) ? number : e.cast(number, memory));
  };
  if (bits == 64) {
    for (unsigned i = 0; i < words.size(); i += 2)
      finish(e.fromWords(words.slice(i, 2), b.getI64Type()));
    return values;
  }
  for (Value word : words) {
    if (bits == pieces.bits) {
      finish(bits == 8 ? b.create<arith::TruncIOp>(e.loc(), b.getI8Type(), word).getResult()
                       : word);
      continue;
    }
    unsigned share = pieces.bits / bits;
    Value vector =
        b.create<LLVM::BitcastOp>(e.loc(), VectorType::get({share}, b.getIntegerType(bits)), word);
    for (Value number : e.elementsOf(vector))
      finish(number);
  }
  return values;
}

} // namespace

unsigned accessVector(const analysis::AxisAnalysis &axes, Value pointer, Value mask, Type element) {
  if (!tile::isTile(pointer))
    return 1;
  LinearLayout layout = layoutOf(pointer.getType());
  tile::AxisFacts facts = axes.facts(pointer);
  tile::AxisFacts maskFacts = mask ? axes.facts(mask) : facts;
  unsigned best = 1;
  for (unsigned d = 0; d < layout.rank(); ++d) {
    int64_t width = analysis::accessWidth(facts, mask && tile::isTile(mask) ? &maskFacts : nullptr,
                                          d, tile::bytesInMemory(element), 16);
    best = std::max(best, unsigned(std::min<int64_t>(width, consecutiveRegisters(layout, d))));
  }
  return best;
}

SmallVector<Value> emitLoad(RegisterEmitter &e, const GlobalAccess &access, unsigned count,
                            uint64_t other, ArrayRef<Value> others) {
  OpBuilder &b = e.builder;
  const auto &[pointer, element, predicate, qualifiers, policy] = access;
  Type memory = element.isInteger(1) ? b.getI8Type() : registerType(element);
  // The bits of piece i of an access that is not made.
  auto initial = [&](unsigned i) -> uint32_t {
    switch (bitsOf(memory)) {
    case 64:
      return uint32_t(i % 2 ? other >> 32 : other);
    case 32:
      return uint32_t(other);
    case 16:
      return uint32_t(other) * 0x10001u;
    default:
      return uint32_t(other) * 0x1010101u;
    }
  };
  Pieces pieces = Pieces::of(bitsOf(memory) * count);
  SmallVector<Value> words;
  if (!others.empty())
    words = pack(e, others, element, pieces);
  std::string text, constraints;
  unsigned place = pieces.count + (policy ? 2 : 1); // of the predicate among operands
  for (unsigned i = 0; i < pieces.count; ++i) {
    bool isHalf = pieces.constraint() == 'h';
    constraints += std::string(i ? ",=" : "=") + pieces.constraint();
    if (!predicate || !words.empty())
      continue;
    std::string number = std::to_string(isHalf ? initial(i) & 0xffff : initial(i));
    text += (isHalf ? "mov.u16 $" : "mov.u32 $") + std::to_string(i) + ", " + number + "; ";
  }
  constraints += ",l";
  std::string load = ("ld" + qualifiers).str() + pieces.suffix() + " " + pieces.operands(0) +
                     ", [$" + std::to_string(pieces.count) + "]" +
                     (policy ? ", $" + std::to_string(pieces.count + 1) : "") + ";";
  SmallVector<Value> operands = {pointer};
  if (policy) {
    constraints += ",l";
    operands.push_back(policy);
  }
  if (predicate) {
    text += "@$" + std::to_string(place) + " ";
    constraints += ",b";
    operands.push_back(predicate);
  }
  // Other words are in the registers already: moved there, they are read by the assembler as well.
  for (auto [i, word] : llvm::enumerate(words)) {
    constraints += "," + std::to_string(i);
    operands.push_back(word);
  }
  Type piece = pieces.type(b);
  Type result = pieces.count == 1 ? piece
                                  : LLVM::LLVMStructType::getLiteral(
                                        b.getContext(), SmallVector<Type>(pieces.count, piece));
  // Not pure: the optimiser takes pure assembly for code that reads no memory.
  Value loaded = e.assembly(text + load, constraints, result, operands, false);
  words.clear();
  for (unsigned i = 0; i < pieces.count; ++i)
    words.push_back(pieces.count == 1
                        ? loaded
                        : b.create<LLVM::ExtractValueOp>(e.loc(), loaded, int64_t(i)).getResult());
  return unpack(e, words, element, pieces);
}

// `instruction [pointer], pieces;`, where the predicate holds.
static void emitWrite(RegisterEmitter &e, const Twine &instruction, Pieces pieces,
                      SmallVector<Value> operands, Value pointer, Value predicate,
                      Value policy = {}) {
  std::string constraints;
  for (unsigned i = 0; i < pieces.count; ++i)
    constraints += std::string(i ? "," : "") + pieces.constraint();
  constraints += ",l";
  operands.push_back(pointer);
  std::string text =
      instruction.str() + " [$" + std::to_string(pieces.count) + "], " + pieces.operands(0);
  if (policy) {
    text += ", $" + std::to_string(operands.size());
    constraints += ",l";
    operands.push_back(policy);
  }
  text += ";";
  if (predicate) {
    text = "@$" + std::to_string(operands.size()) + " " + text;
    constraints += ",b";
    operands.push_back(predicate);
  }
  e.assembly(text, constraints, {}, operands, false);
}

void emitStore(RegisterEmitter &e, const GlobalAccess &access, ArrayRef<Value> values) {
  Type element = access.element;
  Type memory = element.isInteger(1) ? e.builder.getI8Type() : registerType(element);
  Pieces pieces = Pieces::of(bitsOf(memory) * values.size());
  emitWrite(e, "st" + access.qualifiers + pieces.suffix(), pieces, pack(e, values, element, pieces),
            access.pointer, access.predicate, access.policy);
}

Value cachePolicy(RegisterEmitter &e, tile::EvictionPolicy evict) {
  if (evict == tile::EvictionPolicy::Normal)
    return {};
  StringRef kind = evict == tile::EvictionPolicy::First ? "first" : "last";
  return e.assembly(("createpolicy.fractional.L2::evict_" + kind + ".b64 $0, 1.0;").str(), "=l",
                    e.builder.getI64Type(), {}, true);
}

unsigned sumVector(const target::GpuChip &chip, Type element, unsigned consecutive) {
  bool hasVectors = chip.can(target::Bf16Atomics); // both came with sm_90
  if (element.isF32())
    return hasVectors ? std::min(consecutive, 4u) : 1;
  if (element.isF16())
    return std::min(consecutive, hasVectors ? 8u : 2u);
  if (element.isBF16())
    return hasVectors ? std::min(consecutive, 8u) : 0;
  return 0;
}

void emitSum(RegisterEmitter &e, StringRef scope, Value pointer, Type element,
             ArrayRef<Value> values, Value predicate) {
  unsigned bits = bitsOf(registerType(element));
  Pieces pieces = Pieces::of(bits * unsigned(values.size()));
  std::string type = element.isF32() ? ".f32" : element.isF16() ? ".noftz.f16" : ".noftz.bf16";
  if (bits == 16 && values.size() > 1)
    type += "x2";
  emitWrite(e, "red.relaxed" + scope + ".global.add" + pieces.vector() + type, pieces,
            pack(e, values, element, pieces), pointer, predicate);
}

namespace {

// The bits of an element, if all registers hold the same constant.
std::optional<uint64_t> constantBits(ArrayRef<Value> values) {
  Attribute value;
  if (values.empty() || !llvm::all_equal(values) || !matchPattern(values[0], m_Constant(&value)))
    return std::nullopt;
  if (auto number = dyn_cast<FloatAttr>(value))
    return number.getValue().bitcastToAPInt().getZExtValue();
  if (auto number = dyn_cast<IntegerAttr>(value))
    return number.getValue().getZExtValue();
  return std::nullopt;
}

struct LoadRegisters : RegisterModel<LoadRegisters, tile::LoadOp> {
  void emitRegisters(Operation *op, RegisterEmitter &e) const {
    auto load = cast<tile::LoadOp>(op);
    Type element = load.getAccessElementType();
    std::string qualifiers = load.getIsVolatile() ? ".volatile.global" : ".global";
    Value policy;
    if (!load.getIsVolatile()) {
      policy = cachePolicy(e, load.getEvict());
      qualifiers += hintText(load.getCache(), load.getEvict(), policy);
    }
    unsigned count = tile::isTile(load.getResult()) ? registersOf(layoutOf(load.getType())) : 1;
    unsigned vector = accessVector(e.axes, load.getPointer(), load.getMask(), element);
    e.noteGlobal("load", load.getPointer(), element, vector);
    SmallVector<Value> pointers = e.operand(load.getPointer(), count), masks, others;
    if (load.getMask())
      masks = e.operand(load.getMask(), count);
    if (e.isLoadedOnce(load)) {
      masks.resize(count);
      Value owner = e.isOwner(layoutOf(load.getType()));
      for (Value &mask : masks)
        mask = e.both(owner, mask);
    }
    if (load.getOther())
      others = e.operand(load.getOther(), count);
    std::optional<uint64_t> other = constantBits(others);
    if (load.getOther() &&
        isZeroConstant(load.getOther())) // of an integer perhaps `0.0`, converted
      other = 0;
    if (other)
      others.clear();
    SmallVector<Value> values;
    for (unsigned reg = 0; reg < count; reg += vector)
      llvm::append_range(
          values,
          emitLoad(
              e, {pointers[reg], element, masks.empty() ? Value() : masks[reg], qualifiers, policy},
              vector, other.value_or(0),
              others.empty() || masks.empty() ? ArrayRef<Value>()
                                              : ArrayRef(others).slice(reg, vector)));
    if (tile::isTile(load.getResult()))
      e.setRegisters(load.getResult(), std::move(values));
    else
      e.setScalar(load.getResult(), values[0]);
  }
};

struct StoreRegisters : RegisterModel<StoreRegisters, tile::StoreOp> {
  void emitRegisters(Operation *op, RegisterEmitter &e) const {
    auto store = cast<tile::StoreOp>(op);
    Type element = store.getAccessElementType();
    Value policy = cachePolicy(e, store.getEvict());
    std::string qualifiers = ".global" + hintText(store.getCache(), store.getEvict(), policy);
    bool tile = tile::isTile(store.getPointer());
    unsigned count = tile ? registersOf(layoutOf(store.getPointer().getType())) : 1;
    unsigned vector = accessVector(e.axes, store.getPointer(), store.getMask(), element);
    e.noteGlobal("store", store.getPointer(), element, vector);
    Value owner = tile ? e.isOwner(layoutOf(store.getPointer().getType())) : e.isFirstThread();
    SmallVector<Value> pointers = e.operand(store.getPointer(), count),
                       values = e.operand(store.getValue(), count), masks(count);
    if (store.getMask())
      masks = e.operand(store.getMask(), count);
    for (unsigned reg = 0; reg < count; reg += vector)
      emitStore(e, {pointers[reg], element, e.both(owner, masks[reg]), qualifiers, policy},
                ArrayRef(values).slice(reg, vector));
  }
};

// --- atomics ---

StringRef orderText(tile::MemSemantic semantic) {
  switch (semantic) {
  case tile::MemSemantic::Relaxed:
    return ".relaxed";
  case tile::MemSemantic::Acquire:
    return ".acquire";
  case tile::MemSemantic::Release:
    return ".release";
  case tile::MemSemantic::AcqRel:
    return ".acq_rel";
  }
  return "";
}
StringRef scopeText(tile::MemScope scope) {
  return scope == tile::MemScope::Cta ? ".cta" : scope == tile::MemScope::Sys ? ".sys" : ".gpu";
}

char constraintOf(unsigned bits) { return bits == 64 ? 'l' : bits == 16 ? 'h' : 'r'; }

// One atomic instruction on numbers of `bits` bits; gives the old bits, 0 where predicated off.
Value atomicInstruction(RegisterEmitter &e, const std::string &name, unsigned bits, Value pointer,
                        ArrayRef<Value> inputs, Value predicate) {
  OpBuilder &b = e.builder;
  Type type = b.getIntegerType(bits);
  char constraint = constraintOf(bits);
  std::string text = "mov.b" + std::to_string(bits) + " $0, 0; ";
  std::string constraints = std::string("=&") + constraint + ",l";
  SmallVector<Value> operands = {pointer};
  std::string list;
  for (Value input : inputs) {
    constraints += std::string(",") + constraint;
    operands.push_back(input);
    list += ", $" + std::to_string(operands.size());
  }
  if (predicate) {
    constraints += ",b";
    operands.push_back(predicate);
    text += "@$" + std::to_string(operands.size()) + " ";
  }
  text += name + " $0, [$1]" + list + ";";
  return e.assembly(text, constraints, type, operands, false);
}

// Runs `access` for `vector` elements at once by their owner, and gives the old values to all
// copies. `fence` (may be empty) orders the accesses of a thread with what is before and behind.
void emitAtomic(Operation *op, RegisterEmitter &e, tile::MemSemantic semantic, StringRef fence,
                Value pointer, Value mask, unsigned vector,
                llvm::function_ref<Value(unsigned, Value)> access) {
  Value result = op->getResult(0);
  bool tile = tile::isTile(pointer);
  Type element = tile::elementType(result.getType());
  e.noteGlobal("atomic", pointer, element, vector);
  unsigned count = tile ? registersOf(layoutOf(pointer.getType())) : 1;
  Value owner = tile ? e.isOwner(layoutOf(pointer.getType())) : e.isFirstThread();
  SmallVector<Value> masks(count);
  if (mask)
    masks = e.operand(mask, count);
  // What other threads of the program wrote before is released too.
  if (semantic != tile::MemSemantic::Relaxed)
    e.barrier();
  // Before the access, where threads have met.
  uint64_t elements = tile ? cast<RankedTensorType>(result.getType()).getNumElements() : 1;
  bool isShared = !result.use_empty() && owner;
  Value base = isShared ? e.beginShared(elements * tile::bytesInMemory(element)) : Value();
  auto order = [&] {
    if (!fence.empty())
      e.assembly(fence, "~{memory}", {}, {}, false);
  };
  SmallVector<Value> values;
  order();
  for (unsigned reg = 0; reg < count; reg += vector)
    values.push_back(access(reg, e.both(owner, masks[reg])));
  order();
  if (isShared) {
    if (tile) {
      LinearLayout layout = layoutOf(result.getType());
      auto shape = tile::shapeOf(result.getType());
      e.when(owner, [&] { e.writeShared(base, element, shape, layout, values); });
      e.barrier();
      values = e.readShared(base, element, shape, layout);
    } else {
      e.storeElementWhen(owner, base, element, values[0]);
      e.barrier();
      values = {e.loadElement(base, element)};
    }
  } else if (semantic != tile::MemSemantic::Relaxed) {
    e.barrier();
  }
  if (result.use_empty())
    return;
  if (tile)
    e.setRegisters(result, std::move(values));
  else
    e.setScalar(result, values[0]);
}

struct AtomicRMWRegisters : RegisterModel<AtomicRMWRegisters, tile::AtomicRMWOp> {
  void emitRegisters(Operation *op, RegisterEmitter &e) const {
    auto atomic = cast<tile::AtomicRMWOp>(op);
    unsigned count = tile::isTile(atomic.getPointer())
                         ? registersOf(layoutOf(atomic.getPointer().getType()))
                         : 1;
    SmallVector<Value> pointers = e.operand(atomic.getPointer(), count),
                       values = e.operand(atomic.getValue(), count);
    Type element = tile::elementType(atomic.getType());
    unsigned vector = 0;
    if (op->use_empty() && atomic.getKind() == tile::AtomicKind::FAdd)
      vector = sumVector(e.chip, element,
                         accessVector(e.axes, atomic.getPointer(), atomic.getMask(), element));
    // One fence for all elements of a thread rather than one with each.
    StringRef scope = scopeText(atomic.getScope());
    bool isFenced = atomic.getSem() != tile::MemSemantic::Relaxed && (vector || count > 1);
    std::string fence = isFenced ? ("fence.acq_rel" + scope + ";").str() : "";
    std::string order =
        (scope + orderText(isFenced ? tile::MemSemantic::Relaxed : atomic.getSem())).str();
    emitAtomic(op, e, atomic.getSem(), fence, atomic.getPointer(), atomic.getMask(),
               std::max(vector, 1u), [&](unsigned reg, Value predicate) {
                 if (!vector)
                   return emitAtomicInstruction(e, op, atomic.getKind(), order, pointers[reg],
                                                values[reg], predicate);
                 emitSum(e, scope, pointers[reg], element, ArrayRef(values).slice(reg, vector),
                         predicate);
                 return Value();
               });
  }
};

struct AtomicCASRegisters : RegisterModel<AtomicCASRegisters, tile::AtomicCASOp> {
  void emitRegisters(Operation *op, RegisterEmitter &e) const {
    auto atomic = cast<tile::AtomicCASOp>(op);
    Type type = registerType(tile::elementType(atomic.getType()));
    unsigned bits = bitsOf(type);
    if (bits < 16)
      return e.unsupported(op, "an atomic on 8 bits");
    unsigned count = tile::isTile(atomic.getPointer())
                         ? registersOf(layoutOf(atomic.getPointer().getType()))
                         : 1;
    SmallVector<Value> pointers = e.operand(atomic.getPointer(), count),
                       compares = e.operand(atomic.getCompare(), count),
                       values = e.operand(atomic.getValue(), count);
    std::string name = ("atom.global" + orderText(atomic.getSem()) + scopeText(atomic.getScope()) +
                        ".cas.b" + Twine(bits))
                           .str();
    emitAtomic(op, e, atomic.getSem(), "", atomic.getPointer(), {}, 1,
               [&](unsigned reg, Value predicate) {
                 Type number = e.builder.getIntegerType(bits);
                 Value old = atomicInstruction(
                     e, name, bits, pointers[reg],
                     {e.cast(compares[reg], number), e.cast(values[reg], number)}, predicate);
                 return e.cast(old, type);
               });
  }
};

} // namespace

// Where the chip has no instruction for halves: tries until nobody else comes between. The sum in
// f32 is exact enough that it rounds as if it were.
static Value atomicOnHalf(RegisterEmitter &e, StringRef instruction, StringRef order, Value pointer,
                          Value value, Value predicate) {
  SmallVector<Value> operands = {pointer, e.cast(value, e.builder.getI16Type())};
  std::string constraints = "=h,l,h,", skip;
  if (predicate) {
    operands.push_back(predicate);
    constraints += "b,";
    skip = "@!$3 bra end; ";
  }
  bool isBf16 = value.getType().isBF16();
  std::string type = isBf16 ? "bf16" : "f16";
  auto widen = [&](const std::string &to, const std::string &from) {
    return isBf16 ? "mov.b32 " + to + ", {zero, " + from + "}; "
                  : "cvt.f32.f16 " + to + ", " + from + "; ";
  };
  std::string text = "{ .reg .b16 zero, old, new, now; .reg .f32 x, y; .reg .pred differs; "
                     "mov.b16 zero, 0; mov.b16 now, 0; " +
                     skip + "ld.relaxed.gpu.global.b16 now, [$1]; again: mov.b16 old, now; " +
                     widen("x", "old") + widen("y", "$2") + instruction.str() +
                     " x, x, y; cvt.rn." + type + ".f32 new, x; atom.global" + order.str() +
                     ".cas.b16 now, [$1], old, new; "
                     "setp.ne.s16 differs, now, old; @differs bra again; "
                     "end: mov.b16 $0, now; }";
  return e.cast(
      e.assembly(text, constraints + "~{memory}", e.builder.getI16Type(), operands, false),
      value.getType());
}

// A byte or a half in the aligned word that holds it: the word's other bits stay as they are. What
// is exchanged is tried until nobody else comes between.
static Value atomicInWord(RegisterEmitter &e, tile::AtomicKind kind, StringRef order, Value pointer,
                          Value value, Value predicate) {
  unsigned bits = bitsOf(value.getType());
  Type word = e.builder.getI32Type();
  Value wide = e.builder.create<arith::ExtUIOp>(e.loc(), word,
                                                e.cast(value, e.builder.getIntegerType(bits)));
  SmallVector<Value> operands = {pointer, wide};
  std::string constraints = "=r,l,r,", atomic = "atom.global" + order.str(), skip;
  if (predicate) {
    operands.push_back(predicate);
    constraints += "b,";
    skip = "@!$3 bra end; ";
  }
  std::string text = "{ .reg .b64 word; .reg .b32 shift, field, by, old, new, now; "
                     ".reg .pred differs; mov.b32 now, 0; and.b64 word, $1, -4; "
                     "cvt.u32.u64 shift, $1; and.b32 shift, shift, 3; shl.b32 shift, shift, 3; "
                     "shl.b32 by, $2, shift; mov.b32 field, " +
                     std::to_string((1u << bits) - 1) +
                     "; shl.b32 field, field, shift; not.b32 field, field; " + skip;
  using K = tile::AtomicKind;
  if (kind == K::Or || kind == K::Xor)
    text += atomic + (kind == K::Or ? ".or" : ".xor") + ".b32 now, [word], by; ";
  else if (kind == K::And)
    text += "or.b32 by, by, field; " + atomic + ".and.b32 now, [word], by; ";
  else
    text += "ld.relaxed.gpu.global.b32 now, [word]; again: mov.b32 old, now; "
            "and.b32 new, old, field; or.b32 new, new, by; " +
            atomic +
            ".cas.b32 now, [word], old, new; setp.ne.s32 differs, now, old; @differs bra again; ";
  text += "end: shr.u32 $0, now, shift; }";
  Value old = e.assembly(text, constraints + "~{memory}", word, operands, false);
  return e.cast(e.builder.create<arith::TruncIOp>(e.loc(), e.builder.getIntegerType(bits), old),
                value.getType());
}

Value emitAtomicInstruction(RegisterEmitter &e, Operation *op, tile::AtomicKind kind,
                            StringRef order, Value pointer, Value value, Value predicate) {
  OpBuilder &b = e.builder;
  Type type = value.getType();
  unsigned bits = bitsOf(type);
  std::string width = std::to_string(bits);
  using K = tile::AtomicKind;
  bool isHalf = kind == K::FAdd && bits == 16;
  if (isHalf && type.isBF16() && !e.chip.can(target::Bf16Atomics))
    return atomicOnHalf(e, "add.rn.f32", order, pointer, value, predicate);
  if (bits == 16 && (kind == K::FMax || kind == K::FMin))
    return atomicOnHalf(e, kind == K::FMax ? "max.f32" : "min.f32", order, pointer, value,
                        predicate);
  if (bits < 32 && llvm::is_contained({K::And, K::Or, K::Xor, K::Xchg}, kind))
    return atomicInWord(e, kind, order, pointer, value, predicate);
  if (bits < 32 && !isHalf) {
    e.reportUnsupported(op, "an atomic on " + width + " bits");
    return e.undef(type);
  }
  Type number = b.getIntegerType(bits);
  Value operand = e.cast(value, number);
  auto run = [&](const Twine &name, Value active) {
    return e.cast(
        atomicInstruction(e, ("atom.global" + order + name).str(), bits, pointer, operand, active),
        type);
  };
  switch (kind) {
  case K::Add:
    return run(".add.u" + width, predicate);
  case K::FAdd:
    return run(!isHalf ? ".add.f" + width
                       : std::string(type.isBF16() ? ".add.noftz.bf16" : ".add.noftz.f16"),
               predicate);
  case K::Max:
    return run(".max.s" + width, predicate);
  case K::Min:
    return run(".min.s" + width, predicate);
  case K::UMax:
    return run(".max.u" + width, predicate);
  case K::UMin:
    return run(".min.u" + width, predicate);
  case K::And:
    return run(".and.b" + width, predicate);
  case K::Or:
    return run(".or.b" + width, predicate);
  case K::Xor:
    return run(".xor.b" + width, predicate);
  case K::Xchg:
    return run(".exch.b" + width, predicate);
  case K::FMax:
  case K::FMin:
    break;
  }
  // Floats order as signed integers if positive, and backwards as unsigned ones if negative.
  Value negative =
      b.create<arith::CmpIOp>(e.loc(), arith::CmpIPredicate::slt, operand, e.number(number, 0));
  Value positive = b.create<arith::XOrIOp>(e.loc(), negative, e.number(b.getI1Type(), 1));
  bool max = kind == K::FMax;
  Value first = run((max ? ".max.s" : ".min.s") + width, e.both(positive, predicate));
  Value second = run((max ? ".min.u" : ".max.u") + width, e.both(negative, predicate));
  return b.create<arith::SelectOp>(e.loc(), negative, second, first);
}

void registerMemoryRegisters(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tile::TileDialect *) {
    tile::LoadOp::attachInterface<LoadRegisters>(*context);
    tile::StoreOp::attachInterface<StoreRegisters>(*context);
    tile::AtomicRMWOp::attachInterface<AtomicRMWRegisters>(*context);
    tile::AtomicCASOp::attachInterface<AtomicCASRegisters>(*context);
  });
}

} // namespace nereid::gpu
