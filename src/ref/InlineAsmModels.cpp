// tile.inline_asm: PTX applied to `pack` elements at a time.
//
// Elements narrower than 32 bits share a register, the first in the low bits, as many as `pack` and
// the register allow; so four i8 under `pack 4` are one register, and two under `pack 2` half of
// one.
#include "ref/Machine.h"
#include "ref/Models.h"
#include "ref/Ptx.h"

using namespace mlir;

namespace nereid::ref {
namespace {

/// A value as operands of the assembly text.
struct AsmValue {
  Slot slot;
  Storage inMemory;
  unsigned bits, perRegister, registers; ///< of an element; elements a register; registers a group
};

/// The bits of an element as they are in its own type.
uint64_t elementBits(Frame &frame, const AsmValue &value, uint32_t i) {
  if (value.slot.storage != value.inMemory) // wide
    return dispatchFloat<true>(value.inMemory, [&]<typename T>() -> uint64_t {
      T element = narrow<T>(frame.data<double>(value.slot)[i]);
      uint64_t bits = 0;
      std::memcpy(&bits, &element, sizeof(T));
      return bits;
    });
  uint64_t bits = 0;
  unsigned width = widthOf(value.inMemory);
  std::memcpy(&bits, frame.data<std::byte>(value.slot) + size_t(i) * width, width);
  return bits;
}
void setElement(Frame &frame, const AsmValue &value, uint32_t i, uint64_t bits) {
  if (value.slot.storage != value.inMemory) {
    frame.data<double>(value.slot)[i] = dispatchFloat<true>(value.inMemory, [&]<typename T>() {
      T element;
      std::memcpy(&element, &bits, sizeof(T));
      return double(widen(element));
    });
    return;
  }
  if (value.inMemory == Storage::I1)
    bits &= 1;
  unsigned width = widthOf(value.inMemory);
  std::memcpy(frame.data<std::byte>(value.slot) + size_t(i) * width, &bits, width);
}

Step decodeInlineAsm(tile::InlineAsmOp op, Decoder &d) {
  unsigned pack = op.getPack();
  auto describe = [&](Slot slot, Type type) {
    AsmValue value{slot, Decoder::storageInMemory(type), 0, 1, 1};
    value.bits = value.inMemory == Storage::I1 ? 1 : 8 * widthOf(value.inMemory);
    value.perRegister = value.bits < 32 ? std::min(32 / value.bits, pack) : 1;
    value.registers = (pack + value.perRegister - 1) / value.perRegister;
    return value;
  };
  SmallVector<AsmValue> inputs, outputs;
  unsigned registers = 0;
  for (Value output : op.getOutputs()) {
    outputs.push_back(describe(d.define(output), output.getType()));
    registers += outputs.back().registers;
  }
  unsigned outputRegisters = registers;
  for (Value input : op.getInputs()) {
    inputs.push_back(describe(d.slot(input), input.getType()));
    registers += inputs.back().registers;
  }

  // One constraint a register; an input whose constraint is a number starts in that output's
  // register.
  auto fail = [&](std::string what) {
    d.unsupported(op, "inline PTX `" + op.getText().str() + "` is not known to the interpreter" +
                          (what.empty() ? "" : ": " + what));
  };
  SmallVector<StringRef> constraints;
  op.getConstraints().split(constraints, ',');
  llvm::erase_if(constraints, [](StringRef &word) {
    word = word.trim();
    return word.starts_with("~") || word.empty();
  });
  if (constraints.size() != registers)
    fail("it has " + std::to_string(constraints.size()) + " constraints for " +
         std::to_string(registers) + " registers");
  std::vector<std::pair<unsigned, unsigned>> tied;
  for (auto [i, word] : llvm::enumerate(constraints)) {
    unsigned target;
    if (i >= outputRegisters && !word.getAsInteger(10, target)) {
      if (target >= outputRegisters)
        fail({});
      tied.emplace_back(i, target);
    }
  }

  std::shared_ptr<const PtxProgram> ptx;
  try {
    ptx = std::make_shared<const PtxProgram>(std::string_view(op.getText()), registers);
  } catch (PtxProgram::Unknown &unknown) {
    fail(std::move(unknown.what));
  }

  uint32_t count = 1;
  for (const AsmValue &value : outputs)
    count = std::max(count, value.slot.count);
  for (const AsmValue &value : inputs)
    count = std::max(count, value.slot.count);
  std::vector<int64_t> shape;
  for (Type type : op->getOperandTypes())
    if (shape.empty())
      shape.assign(tile::shapeOf(type).begin(), tile::shapeOf(type).end());

  return [=](Frame &frame) {
    uint32_t element = 0;
    AccessSite load{AccessKind::VolatileLoad, shape}, store{AccessKind::Store, shape};
    PtxProgram::Outside outside{
        [&](uint64_t address, unsigned bytes) {
          frame.machine.beginAccess(frame, load);
          uint64_t value = 0;
          if (Memory::Spot spot = frame.machine.reach(frame, load, address, bytes, element))
            std::memcpy(&value, spot.host(), bytes);
          return value;
        },
        [&](uint64_t address, unsigned bytes, uint64_t value) {
          frame.machine.beginAccess(frame, store);
          if (Memory::Spot spot =
                  frame.machine.reach(frame, store, address, bytes, element, &value)) {
            frame.machine.write(frame, spot, &value, bytes);
            Memory::refreshWide(spot, bytes);
          }
        },
        [&] { return frame.machine.statistics.operations; }};
    PtxProgram::State state{{}, &outside};
    for (uint32_t first = 0; first < count; first += pack) {
      element = first;
      state.registers.assign(registers, 0);
      unsigned at = outputRegisters;
      for (const AsmValue &value : inputs)
        for (unsigned r = 0; r < value.registers; ++r, ++at)
          for (unsigned e = 0; e < value.perRegister; ++e) {
            uint32_t i = first + r * value.perRegister + e;
            if (i < value.slot.count)
              state.registers[at] |= elementBits(frame, value, i) << e * value.bits;
          }
      for (auto [input, output] : tied)
        state.registers[output] = state.registers[input];
      ptx->run(state);
      at = 0;
      for (const AsmValue &value : outputs)
        for (unsigned r = 0; r < value.registers; ++r, ++at)
          for (unsigned e = 0; e < value.perRegister; ++e) {
            uint32_t i = first + r * value.perRegister + e;
            if (i < value.slot.count)
              setElement(frame, value, i, state.registers[at] >> e * value.bits);
          }
    }
  };
}

} // namespace

void attachInlineAsmModels(MLIRContext *c) { attach<tile::InlineAsmOp, decodeInlineAsm>(c); }

} // namespace nereid::ref
