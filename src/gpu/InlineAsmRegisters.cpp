// tile.inline_asm: PTX of the program, once for each `pack` registers of a thread.
#include "gpu/RegisterModels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace nereid::gpu {

namespace {

// How a tile's elements lie in the registers of the assembly: elements of fewer than 32 bits share
// one, the first in its lowest bits.
struct Packing {
  Packing(Type type, unsigned pack) : element(registerType(tile::elementType(type))) {
    bits = isa<LLVM::LLVMPointerType>(element) ? 64 : element.getIntOrFloatBitWidth();
    if (bits == 1)
      bits = 8;
    perRegister = bits < 32 ? std::min(32 / bits, pack) : 1;
    registers = (pack + perRegister - 1) / perRegister;
  }
  Type element;
  unsigned bits, perRegister, registers;
};

class InlineAsm {
public:
  InlineAsm(tile::InlineAsmOp op, RegisterEmitter &e) : op(op), e(e), b(e.builder) {}

  void emit() {
    if (!readConstraints())
      return;
    unsigned count = 1;
    for (TypeRange range : {TypeRange(op.getInputs()), TypeRange(op.getOutputs())})
      for (Type type : range)
        if (isa<RankedTensorType>(type))
          count = std::max(count, registersOf(layoutOf(type)));
    SmallVector<SmallVector<Value>> results(op.getNumResults());
    for (unsigned first = 0; first < count; first += op.getPack())
      emitGroup(first, count, results);
    for (auto [output, registers] : llvm::zip(op.getOutputs(), results)) {
      if (isa<RankedTensorType>(output.getType()))
        e.setRegisters(output, std::move(registers));
      else
        e.setScalar(output, registers[0]);
    }
  }

private:
  // The registers' types by their constraints; an input that is tied to an output has its type.
  bool readConstraints() {
    unsigned registers = 0;
    for (Value output : op.getOutputs()) {
      outputs.emplace_back(output.getType(), op.getPack());
      registers += outputs.back().registers;
    }
    unsigned outputRegisters = registers;
    for (Value input : op.getInputs()) {
      inputs.emplace_back(input.getType(), op.getPack());
      registers += inputs.back().registers;
    }
    SmallVector<StringRef> words;
    op.getConstraints().split(words, ',');
    for (StringRef word : words) {
      word = word.trim();
      if (word.empty() || word.starts_with("~"))
        continue;
      unsigned tied;
      StringRef letter = word.ltrim("=&+");
      if (!letter.getAsInteger(10, tied) && tied < types.size() && types.size() >= outputRegisters)
        types.push_back(types[tied]);
      else
        types.push_back(typeOf(letter));
      if (!types.back()) {
        e.unsupported(op, "the constraint `" + word + "`");
        return false;
      }
    }
    if (types.size() != registers) {
      e.unsupported(op, "it has " + Twine(types.size()) + " constraints for " + Twine(registers) +
                            " registers");
      return false;
    }
    return true;
  }

  Type typeOf(StringRef letter) {
    if (letter == "h")
      return b.getI16Type();
    if (letter == "r")
      return b.getI32Type();
    if (letter == "l")
      return b.getI64Type();
    if (letter == "f")
      return b.getF32Type();
    if (letter == "d")
      return b.getF64Type();
    return {};
  }

  void emitGroup(unsigned first, unsigned count, SmallVector<SmallVector<Value>> &results) {
    unsigned next = 0;
    for (const Packing &output : outputs)
      next += output.registers;
    SmallVector<Type> resultTypes(types.begin(), types.begin() + next);
    SmallVector<Value> operands;
    for (auto [input, packing] : llvm::zip(op.getInputs(), inputs)) {
      SmallVector<Value> all = e.operand(input, count);
      for (unsigned r = 0; r < packing.registers; ++r) {
        SmallVector<Value> elements;
        for (unsigned i = 0; i < packing.perRegister; ++i)
          // A thread with fewer elements than `pack` repeats its last.
          elements.push_back(
              all[std::min(first + r * packing.perRegister + i, unsigned(all.size()) - 1)]);
        operands.push_back(join(elements, packing, types[next++]));
      }
    }
    Type result;
    if (resultTypes.size() == 1)
      result = resultTypes[0];
    else
      result = LLVM::LLVMStructType::getLiteral(b.getContext(), resultTypes);
    Value out = e.assembly(op.getText(), op.getConstraints(), result, operands, op.getPure());
    next = 0;
    for (auto [packing, registers] : llvm::zip(outputs, results))
      for (unsigned r = 0; r < packing.registers; ++r) {
        Value word = resultTypes.size() == 1
                         ? out
                         : b.create<LLVM::ExtractValueOp>(e.loc(), out, int64_t(next)).getResult();
        ++next;
        for (unsigned i = 0; i < packing.perRegister && registers.size() < count; ++i)
          registers.push_back(part(word, i, packing));
      }
  }

  IntegerType integer(unsigned bits) { return b.getIntegerType(bits); }
  static unsigned widthOf(Type type) {
    return isa<LLVM::LLVMPointerType>(type) ? 64 : type.getIntOrFloatBitWidth();
  }
  Value toBits(Value value) {
    if (value.getType().isInteger(1))
      return b.create<arith::ExtUIOp>(e.loc(), b.getI8Type(), value);
    return e.cast(value, integer(widthOf(value.getType())));
  }
  Value resized(Value value, unsigned bits) {
    unsigned own = widthOf(value.getType());
    if (own < bits)
      return b.create<arith::ExtUIOp>(e.loc(), integer(bits), value);
    return own > bits ? b.create<arith::TruncIOp>(e.loc(), integer(bits), value).getResult()
                      : value;
  }

  Value join(ArrayRef<Value> elements, const Packing &packing, Type type) {
    unsigned wanted = widthOf(type);
    Value word;
    if (packing.perRegister * packing.bits == wanted && elements.size() > 1) {
      SmallVector<Value> bits(llvm::map_range(elements, [&](Value v) { return toBits(v); }));
      return b.create<LLVM::BitcastOp>(e.loc(), type, e.vectorOf(bits));
    }
    for (auto [i, element] : llvm::enumerate(elements)) {
      Value bits = resized(toBits(element), wanted);
      if (!word) {
        word = bits;
        continue;
      }
      bits = b.create<arith::ShLIOp>(e.loc(), bits,
                                     e.number(bits.getType(), int64_t(i * packing.bits)));
      word = b.create<arith::OrIOp>(e.loc(), word, bits);
    }
    return e.cast(word, type);
  }

  Value part(Value word, unsigned i, const Packing &packing) {
    unsigned own = widthOf(word.getType());
    Value bits;
    if (packing.perRegister * packing.bits == own && packing.perRegister > 1) {
      Value all = b.create<LLVM::BitcastOp>(
          e.loc(), VectorType::get({int64_t(packing.perRegister)}, integer(packing.bits)), word);
      bits = b.create<LLVM::ExtractElementOp>(e.loc(), all, e.i32(i));
    } else {
      bits = e.cast(word, integer(own));
      if (i)
        bits = b.create<arith::ShRUIOp>(e.loc(), bits,
                                        e.number(bits.getType(), int64_t(i * packing.bits)));
      bits = resized(bits, packing.bits);
    }
    return packing.element.isInteger(1) ? resized(bits, 1) : e.cast(bits, packing.element);
  }

  tile::InlineAsmOp op;
  RegisterEmitter &e;
  OpBuilder &b;
  SmallVector<Packing> outputs, inputs;
  SmallVector<Type> types;
};

struct InlineAsmRegisters : RegisterModel<InlineAsmRegisters, tile::InlineAsmOp> {
  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    InlineAsm(cast<tile::InlineAsmOp>(op), emitter).emit();
  }
};

} // namespace

void registerInlineAsmRegisters(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tile::TileDialect *) {
    tile::InlineAsmOp::attachInterface<InlineAsmRegisters>(*context);
  });
}

} // namespace nereid::gpu
