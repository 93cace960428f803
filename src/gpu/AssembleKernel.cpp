#include "gpu/AssembleKernel.h"

#include "gpu/MachineCode.h"
#include "support/Steps.h"

#include <algorithm>

namespace nereid::gpu {

namespace {

class Runs {
public:
  Runs(const std::string &ptxas, const target::GpuChip &chip, const AssemblyFacts &facts)
      : ptxas(ptxas), chip(chip), facts(facts) {}

  Result<Assembled> run(std::string ptx, const char *step) const {
    auto cubin = support::inStep(step, [&] { return assemble(ptxas, ptx, chip.name); });
    if (!cubin)
      return cubin.takeError();
    return Assembled{std::move(ptx), std::move(*cubin)};
  }

  // Bytes of an SM that are on their way when its threads wait; 0 where the code is not read.
  double onTheWay(const Assembled &code) const {
    auto read = readMachineCode(code.cubin.code);
    unsigned warps =
        target::occupancy(chip, facts.warps, code.cubin.registers, facts.sharedBytes).warps;
    return read ? read->bytesTogether * 32 * warps : 0;
  }

  // Sums in flight that have no value of their own yet get one: see `withSumsSet`.
  void setSums(Assembled &code) const {
    if (!isSerial(code.cubin))
      return;
    auto again = run(withSumsSet(code.ptx), "ptxas with sums set");
    if (again && !isSerial(again->cubin) &&
        again->cubin.spillStoreBytes <= code.cubin.spillStoreBytes)
      code = std::move(*again);
  }

  // With registers for all loads of a step, if that puts more bytes on their way: how many `ptxas`
  // takes by itself, and in which order it then starts loads, is known when it has run.
  void startLoadsTogether(Assembled &code) const {
    // An SM's share of 3.35 TB/s in a microsecond is 25 KB. Much more of it is worth no registers.
    constexpr double enough = 64 * 1024;
    double alone = onTheWay(code);
    auto read = readMachineCode(code.cubin.code);
    if (alone >= enough && (!read || read->bytesTogether >= facts.sums.reducedBytes))
      return;
    uint32_t blocks = blocksByRegisters(chip, facts.sums.registers, facts.warps);
    auto told = run(limitBlocks(code.ptx, blocks), "ptxas with loads in flight");
    if (told && told->spilledBytes() <= code.spilledBytes() && onTheWay(*told) > alone)
      code = std::move(*told);
  }

  // One block more, where few are resident.
  void takeFewer(Assembled &code) const {
    uint32_t fewer =
        registersForOneMoreBlock(chip, code.cubin.registers, facts.warps, facts.sharedBytes);
    if (!fewer)
      return;
    auto smaller = run(limitRegisters(code.ptx, fewer), "ptxas with fewer registers");
    if (smaller && smaller->spilledBytes() <= code.spilledBytes())
      code = std::move(*smaller);
  }

  // The next step of occupancy where a few registers keep blocks away from it: taken if the code is
  // as long without them, and its loads begin together as before.
  void takeStep(Assembled &code) const {
    constexpr uint32_t few = 6;
    uint32_t registers = code.cubin.registers, step = registers / 8 * 8;
    auto blocks = [&](uint32_t each) {
      return target::occupancy(chip, facts.warps, each, facts.sharedBytes).blocks;
    };
    if (!step || registers == step || registers - step > few || blocks(step) <= blocks(registers))
      return;
    auto before = readMachineCode(code.cubin.code);
    auto smaller = run(limitRegisters(code.ptx, step), "ptxas with fewer registers");
    if (!before || !smaller || smaller->spilledBytes() > code.spilledBytes())
      return;
    auto after = readMachineCode(smaller->cubin.code);
    if (after && 50 * after->instructions <= 51 * before->instructions &&
        onTheWay(*smaller) > onTheWay(code))
      code = std::move(*smaller);
  }

private:
  const std::string &ptxas;
  const target::GpuChip &chip;
  const AssemblyFacts &facts;
};

} // namespace

bool isSerial(const Cubin &cubin) {
  return std::any_of(cubin.warnings.begin(), cubin.warnings.end(), [](const std::string &text) {
    return text.find("C7515") != std::string::npos;
  });
}

std::string limitedUnseen(const std::string &ptx, const target::GpuChip &chip,
                          const AssemblyFacts &facts) {
  if (facts.maxRegisters)
    return limitRegisters(ptx, facts.maxRegisters);
  if (facts.sums.registers)
    return limitBlocks(ptx, blocksByRegisters(chip, facts.sums.registers, facts.warps));
  return ptx;
}

Result<Assembled> assembleKernel(const std::string &ptxas, const std::string &ptx,
                                 const target::GpuChip &chip, const AssemblyFacts &facts) {
  Runs runs(ptxas, chip, facts);
  auto code = runs.run(
      facts.maxRegisters || facts.sums.areKept ? limitedUnseen(ptx, chip, facts) : ptx, "ptxas");
  if (!code)
    return code;
  runs.setSums(*code);
  if (facts.sums.areKept && code->spilledBytes()) {
    auto again = runs.run(ptx, "ptxas");
    if (again && again->spilledBytes() < code->spilledBytes())
      code = std::move(again);
  }
  if (facts.sums.registers && !facts.sums.areKept)
    runs.startLoadsTogether(*code);
  // Kernels that wait for memory, or in each step for their own arithmetic, are faster with more
  // blocks beside one another; those of tensor cores are not.
  bool waits = !facts.maxRegisters && (!facts.hasProducts || facts.productsWait);
  if (waits && !facts.sums.registers) {
    runs.takeFewer(*code);
    if (!facts.hasProducts)
      runs.takeStep(*code);
  }
  return code;
}

} // namespace nereid::gpu
