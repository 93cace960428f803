#include "gpu/CodeFacts.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <map>
#include <set>

using namespace mlir;

namespace nereid::gpu {

namespace {

constexpr int64_t sectorBytes = 32;
constexpr unsigned banks = 32, bankBytes = 4;

} // namespace

AccessFact globalAccess(Location where, std::string what, const LinearLayout &layout,
                        const tile::AxisFacts &facts, unsigned elementBytes, unsigned elements,
                        unsigned count) {
  // Runs go along the dimension that has the longest ones.
  unsigned along = 0;
  for (unsigned d = 1; d < layout.rank(); ++d)
    if (facts.contiguity[d] > facts.contiguity[along])
      along = d;
  // Elements of one run, or of equal addresses, by what they have in common.
  std::map<SmallVector<int64_t, 4>, std::set<int64_t>> runs;
  for (unsigned lane = 0; lane < lanesPerWarp; ++lane) {
    LinearLayout::Basis at = layout.apply(0, lane, 0);
    SmallVector<int64_t, 4> run;
    int64_t first = 0;
    for (unsigned d = 0; d < layout.rank(); ++d) {
      if (d == along && facts.contiguity[d] > 1) {
        run.push_back(at[d] / facts.contiguity[d]);
        first = at[d] % facts.contiguity[d];
      } else {
        run.push_back(at[d] / facts.constancy[d]);
      }
    }
    for (unsigned i = 0; i < elements; ++i)
      runs[run].insert(first + i);
  }
  int64_t sectors = 0, bytes = 0;
  for (const auto &[run, members] : runs) {
    // A run that begins anywhere may reach into one sector more. Signatures promise multiples of 16
    // and no more, and memory that begins there begins at a sector, as allocators have it.
    int64_t aligned = layout.rank() ? facts.divisibility[along] : int64_t(elementBytes);
    int64_t late = aligned >= 16 ? 0 : sectorBytes - std::max<int64_t>(aligned, 1);
    std::set<int64_t> touched;
    for (int64_t member : members)
      touched.insert(member * elementBytes / sectorBytes);
    sectors += touched.size();
    int64_t lastByte = (*members.rbegin() + 1) * elementBytes - 1;
    if (late && (lastByte % sectorBytes) + late >= sectorBytes)
      ++sectors;
    bytes += members.size() * elementBytes;
  }
  AccessFact fact{where, MemorySpace::Global, std::move(what)};
  fact.bytes = elements * elementBytes;
  fact.elements = elements;
  fact.count = count;
  fact.transactions = unsigned(sectors);
  fact.fewest = unsigned(llvm::divideCeil(bytes, sectorBytes));
  return fact;
}

tile::AxisFacts descriptorFacts(ArrayRef<int64_t> shape, unsigned elementBytes) {
  tile::AxisFacts facts = tile::AxisFacts::unknown(shape.size());
  facts.contiguity.back() = shape.back();
  facts.divisibility.back() = std::max(16u, elementBytes);
  return facts;
}

AccessFact bulkAccess(Location where, std::string what, unsigned rows, unsigned rowBytes,
                      unsigned elementBytes, unsigned count) {
  AccessFact fact{where, MemorySpace::Global, std::move(what)};
  fact.bytes = rows * rowBytes;
  fact.elements = fact.bytes / elementBytes;
  fact.count = count;
  // Rows of 16 bytes touch a sector each.
  fact.transactions = rows * unsigned(llvm::divideCeil(rowBytes, sectorBytes));
  fact.fewest = unsigned(llvm::divideCeil(fact.bytes, sectorBytes));
  return fact;
}

AccessFact scalarAccess(Location where, std::string what, unsigned elementBytes) {
  AccessFact fact{where, MemorySpace::Global, std::move(what)};
  fact.bytes = elementBytes;
  fact.elements = fact.count = fact.transactions = fact.fewest = 1;
  return fact;
}

// Lanes that a request serves at once: as many as fill the banks.
static unsigned lanesTogether(unsigned bytes) {
  return std::min(lanesPerWarp, std::max(1u, banks * bankBytes / std::max(bytes, 4u)));
}

unsigned sharedCycles(unsigned bytes, llvm::function_ref<int64_t(unsigned)> offset) {
  // Lanes whose bytes fill the banks once go together.
  unsigned together = lanesTogether(bytes);
  unsigned cycles = 0;
  for (unsigned begin = 0; begin < lanesPerWarp; begin += together) {
    std::array<llvm::SmallSet<int64_t, 8>, banks> words;
    for (unsigned lane = begin; lane < begin + together; ++lane) {
      int64_t first = offset(lane);
      for (int64_t word = first / bankBytes; word <= (first + bytes - 1) / bankBytes; ++word)
        words[word % banks].insert(word);
    }
    unsigned worst = 0;
    for (const auto &bank : words)
      worst = std::max(worst, unsigned(bank.size()));
    cycles += worst;
  }
  return cycles;
}

AccessFact sharedAccess(Location where, std::string what, unsigned bytes, unsigned elements,
                        unsigned count, llvm::function_ref<int64_t(unsigned)> offset) {
  AccessFact fact{where, MemorySpace::Shared, std::move(what)};
  fact.bytes = bytes;
  fact.elements = elements;
  fact.count = count;
  fact.transactions = sharedCycles(bytes, offset);
  fact.fewest = lanesPerWarp / lanesTogether(bytes);
  return fact;
}

namespace {

// What people call an instruction; empty for what nobody looks for.
StringRef kindOf(StringRef name) {
  return llvm::StringSwitch<StringRef>(name)
      .StartsWith("wgmma.mma_async", "wgmma")
      .StartsWith("mma.sync", "mma.sync")
      .StartsWith("cp.async.bulk.tensor", "bulk tensor")
      .StartsWith("cp.async.bulk.commit", "")
      .StartsWith("cp.async.bulk.wait", "")
      .StartsWith("cp.async.bulk", "bulk copy")
      .StartsWith("cp.async.ca", "cp.async")
      .StartsWith("cp.async.cg", "cp.async")
      .StartsWith("ldmatrix", "ldmatrix")
      .StartsWith("stmatrix", "stmatrix")
      .StartsWith("atom", "atomic")
      .StartsWith("red.", "atomic")
      .StartsWith("mbarrier", "mbarrier")
      .StartsWith("barrier", "barrier")
      .StartsWith("bar.", "barrier")
      .StartsWith("shfl", "shuffle")
      .StartsWith("ex2", "special function")
      .Default("");
}

// The kinds whose full name says more.
bool isWorthNaming(StringRef kind) { return kind == "wgmma" || kind == "mma.sync"; }

} // namespace

std::vector<InstructionFact> instructionFacts(ModuleOp module) {
  std::vector<InstructionFact> out;
  std::map<std::tuple<const void *, std::string, std::string>, size_t> found;
  auto add = [&](Location where, StringRef name) {
    StringRef kind = kindOf(name);
    if (kind.empty())
      return;
    std::string full = isWorthNaming(kind) ? name.str() : "";
    auto [it, fresh] =
        found.try_emplace({where.getAsOpaquePointer(), kind.str(), full}, out.size());
    if (fresh)
      out.push_back({where, kind.str(), full, 0});
    ++out[it->second].count;
  };
  module.walk([&](Operation *op) {
    if (auto assembly = dyn_cast<LLVM::InlineAsmOp>(op)) {
      SmallVector<StringRef> statements;
      assembly.getAsmString().split(statements, ';');
      for (StringRef statement : statements) {
        statement = statement.trim(" \n\t{}");
        if (statement.consume_front("@"))
          statement = statement.substr(statement.find(' ')).ltrim();
        add(op->getLoc(), statement.take_until([](char c) { return c == ' ' || c == '\n'; }));
      }
    } else if (StringRef name = op->getName().getStringRef(); name.consume_front("nvvm.")) {
      add(op->getLoc(), name);
    }
  });
  return out;
}

} // namespace nereid::gpu
