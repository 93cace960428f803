// tile.inline_asm: PTX of the program, once for each `pack` registers of a thread.
#include "gpu/RegisterModels.h"
#include "ir/AsmOperands.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace nereid::gpu {

namespace {

class InlineAsm {
public:
  InlineAsm(tile::InlineAsmOp op, RegisterEmitter &e) : op(op), e(e), b(e.builder), operands(op) {}

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
    if (!operands.problem.empty()) {
      e.unsupported(op, operands.problem);
      return false;
    }
    for (auto [i, word] : llvm::enumerate(operands.constraints)) {
      auto tied = operands.tiedTo(unsigned(i));
      types.push_back(tied ? types[*tied] : typeOf(word.ltrim("=&+")));
      if (!types.back()) {
        e.unsupported(op, "the constraint `" + word + "`");
        return false;
      }
    }
    return true;
  }

  Type typeOf(StringRef letter) {
    if (letter == "b")
      return b.getI1Type();
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
    unsigned next = operands.outputRegisters;
    SmallVector<Type> resultTypes(types.begin(), types.begin() + next);
    SmallVector<Value> values;
    for (auto [input, packing] : llvm::zip(op.getInputs(), operands.inputs)) {
      SmallVector<Value> all = e.operand(input, count);
      for (unsigned r = 0; r < packing.registers; ++r) {
        SmallVector<Value> elements;
        for (unsigned i = 0; i < packing.elementsIn(r); ++i)
          // A thread with fewer elements than `pack` repeats its last.
          elements.push_back(
              all[std::min(first + r * packing.perRegister + i, unsigned(all.size()) - 1)]);
        values.push_back(join(elements, packing, types[next++]));
      }
    }
    Type result;
    if (resultTypes.size() == 1)
      result = resultTypes[0];
    else
      result = LLVM::LLVMStructType::getLiteral(b.getContext(), resultTypes);
    Value out = e.assembly(op.getText(), op.getConstraints(), result, values, op.getPure());
    next = 0;
    for (auto [output, packing, registers] :
         llvm::zip(op.getOutputs(), operands.outputs, results)) {
      Type element = registerType(tile::elementType(output.getType()));
      for (unsigned r = 0; r < packing.registers; ++r) {
        Value word = resultTypes.size() == 1
                         ? out
                         : b.create<LLVM::ExtractValueOp>(e.loc(), out, int64_t(next)).getResult();
        ++next;
        for (unsigned i = 0; i < packing.elementsIn(r) && registers.size() < count; ++i)
          registers.push_back(e.cast(part(word, i, packing), element));
      }
    }
  }

  IntegerType integer(unsigned bits) { return b.getIntegerType(bits); }
  static unsigned widthOf(Type type) {
    return isa<LLVM::LLVMPointerType>(type) ? 64 : type.getIntOrFloatBitWidth();
  }
  Value toBits(Value value) { return e.cast(value, integer(widthOf(value.getType()))); }
  Value resized(Value value, unsigned bits) {
    unsigned own = widthOf(value.getType());
    if (own < bits)
      return b.create<arith::ExtUIOp>(e.loc(), integer(bits), value);
    return own > bits ? b.create<arith::TruncIOp>(e.loc(), integer(bits), value).getResult()
                      : value;
  }

  // Whether a vector of the elements is the register: no shifts then. Single bits are shifted.
  static bool isVector(const tile::AsmPacking &packing, size_t elements, unsigned width) {
    return elements > 1 && packing.bits >= 8 && elements * packing.bits == width;
  }

  Value join(ArrayRef<Value> elements, const tile::AsmPacking &packing, Type type) {
    unsigned wanted = widthOf(type);
    if (isVector(packing, elements.size(), wanted)) {
      SmallVector<Value> bits(llvm::map_range(elements, [&](Value v) { return toBits(v); }));
      return b.create<LLVM::BitcastOp>(e.loc(), type, e.vectorOf(bits));
    }
    Value word;
    for (auto [i, element] : llvm::enumerate(elements)) {
      Value bits = resized(toBits(element), wanted);
      if (!word) {
        word = bits;
        continue;
      }
      bits = b.create<arith::ShLIOp>(e.loc(), bits,
                                     e.number(bits.getType(), int64_t(i) * packing.bits));
      word = b.create<arith::OrIOp>(e.loc(), word, bits);
    }
    return e.cast(word, type);
  }

  // The bits of element `i` of a register.
  Value part(Value word, unsigned i, const tile::AsmPacking &packing) {
    unsigned own = widthOf(word.getType());
    if (isVector(packing, packing.perRegister, own)) {
      Value all = b.create<LLVM::BitcastOp>(
          e.loc(), VectorType::get({int64_t(packing.perRegister)}, integer(packing.bits)), word);
      return b.create<LLVM::ExtractElementOp>(e.loc(), all, e.i32(i));
    }
    Value bits = e.cast(word, integer(own));
    if (i)
      bits = b.create<arith::ShRUIOp>(e.loc(), bits,
                                      e.number(bits.getType(), int64_t(i) * packing.bits));
    return resized(bits, packing.bits);
  }

  tile::InlineAsmOp op;
  RegisterEmitter &e;
  OpBuilder &b;
  tile::AsmOperands operands;
  SmallVector<Type> types; ///< of each register
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
