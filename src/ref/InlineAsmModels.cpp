// tile.inline_asm: PTX applied to `pack` elements at a time.
#include "ir/AsmOperands.h"
#include "ir/PtxText.h"
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
  tile::AsmPacking packing;
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
  tile::AsmOperands operands(op);
  auto fail = [&](const std::string &what) {
    d.unsupported(op, "inline PTX `" + op.getText().str() + "` is not known to the interpreter" +
                          (what.empty() ? "" : ": " + what));
  };
  if (!operands.problem.empty())
    fail(operands.problem);
  SmallVector<AsmValue> inputs, outputs;
  for (auto [output, packing] : llvm::zip(op.getOutputs(), operands.outputs))
    outputs.push_back({d.define(output), Decoder::storageInMemory(output.getType()), packing});
  for (auto [input, packing] : llvm::zip(op.getInputs(), operands.inputs))
    inputs.push_back({d.slot(input), Decoder::storageInMemory(input.getType()), packing});
  unsigned registers = operands.registers, outputRegisters = operands.outputRegisters;
  std::vector<std::pair<unsigned, unsigned>> tied;
  for (unsigned i = outputRegisters; i < registers; ++i)
    if (auto target = operands.tiedTo(i))
      tied.emplace_back(i, *target);

  std::shared_ptr<const PtxProgram> ptx;
  try {
    ptx = std::make_shared<const PtxProgram>(std::string_view(op.getText()), registers);
  } catch (ptx::Unknown &unknown) {
    fail(unknown.what);
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
        [&] { return frame.machine.statistics.operations; },
        [&] {
          frame.machine.assertionFailed(
              frame,
              frame.machine.finding(frame, Severity::Error, "AssertFailed",
                                    std::string("device assertion failed: ") + ptx::trapMessage));
        }};
    PtxProgram::State state{{}, &outside};
    for (uint32_t first = 0; first < count; first += pack) {
      element = first;
      state.registers.assign(registers, 0);
      unsigned at = outputRegisters;
      for (const AsmValue &value : inputs)
        for (unsigned r = 0; r < value.packing.registers; ++r, ++at)
          for (unsigned e = 0; e < value.packing.elementsIn(r); ++e) {
            uint32_t i = first + r * value.packing.perRegister + e;
            if (i < value.slot.count)
              state.registers[at] |= elementBits(frame, value, i) << e * value.packing.bits;
          }
      for (auto [input, output] : tied)
        state.registers[output] = state.registers[input];
      ptx->run(state);
      at = 0;
      for (const AsmValue &value : outputs)
        for (unsigned r = 0; r < value.packing.registers; ++r, ++at)
          for (unsigned e = 0; e < value.packing.elementsIn(r); ++e) {
            uint32_t i = first + r * value.packing.perRegister + e;
            if (i < value.slot.count)
              setElement(frame, value, i, state.registers[at] >> e * value.packing.bits);
          }
    }
  };
}

} // namespace

void attachInlineAsmModels(MLIRContext *c) { attach<tile::InlineAsmOp, decodeInlineAsm>(c); }

} // namespace nereid::ref
