#include "ir/AsmOperands.h"

using namespace mlir;

namespace nereid::tile {

AsmPacking::AsmPacking(Type type, unsigned pack) : pack(pack) {
  Type element = elementType(type);
  bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 64;
  perRegister = bits < 32 ? std::min(32 / bits, pack) : 1;
  registers = (pack + perRegister - 1) / perRegister;
}

AsmOperands::AsmOperands(InlineAsmOp op) {
  for (Type type : op.getOutputs().getTypes())
    outputRegisters += outputs.emplace_back(type, op.getPack()).registers;
  registers = outputRegisters;
  for (Type type : op.getInputs().getTypes())
    registers += inputs.emplace_back(type, op.getPack()).registers;

  op.getConstraints().split(constraints, ',');
  llvm::erase_if(constraints, [](StringRef &word) {
    word = word.trim();
    return word.empty() || word.starts_with("~");
  });
  if (constraints.size() != registers) {
    problem = "it has " + std::to_string(constraints.size()) + " constraints for " +
              std::to_string(registers) + " registers";
    return;
  }
  for (unsigned i = 0; i < registers; ++i) {
    unsigned tied;
    if (!constraints[i].getAsInteger(10, tied) && (i < outputRegisters || tied >= outputRegisters))
      problem = "the constraint `" + constraints[i].str() + "` is no output";
  }
}

std::optional<unsigned> AsmOperands::tiedTo(unsigned index) const {
  unsigned tied;
  if (constraints[index].getAsInteger(10, tied))
    return std::nullopt;
  return tied;
}

} // namespace nereid::tile
