// Compiles kernels for chips that need not be there.
#include "analysis/Explain.h"
#include "engine/Runners.h"
#include "gpu/Ptxas.h"
#include "pipeline/Gpu.h"
#include "support/Hash.h"
#include "target/Gpu.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <sstream>

namespace nereid::engine {

using launch::Argument;
using support::HostTensor;

namespace {

// What the assembler took in this process. PTX that it takes for one chip it takes for those after
// it, so of kernels that differ in `.target` alone it reads the first.
class TakenPtx {
public:
  static TakenPtx &get() {
    static TakenPtx taken;
    return taken;
  }

  Status assemble(const std::string &ptxas, const std::string &ptx, const target::GpuChip &chip) {
    std::string header, body;
    std::istringstream lines(ptx);
    for (std::string line; std::getline(lines, line);)
      (line.starts_with(".target") || line.starts_with(".version") ? header : body) += line + "\n";
    support::Hash128 hash = support::hash128(body);
    {
      std::lock_guard lock(mutex);
      auto found = bodies.find(hash);
      if (found != bodies.end() && headers.contains(header) &&
          std::ranges::any_of(found->second, [&](const target::GpuChip *before) {
            return before == &chip ||
                   (!before->onlyThisChip && before->capability <= chip.capability);
          }))
        return Success{};
    }
    if (auto cubin = gpu::assemble(ptxas, ptx, chip.name); !cubin)
      return cubin.takeError();
    std::lock_guard lock(mutex);
    bodies[hash].push_back(&chip);
    headers.insert(header);
    return Success{};
  }

private:
  std::mutex mutex;
  std::map<support::Hash128, std::vector<const target::GpuChip *>> bodies;
  std::set<std::string> headers; ///< `.version` and `.target`, once taken
};

// Compiles for a chip that need not be there: to PTX that the assembler takes. Which of several
// codes is the best does not matter here.
class ChipRunner final : public Runner {
public:
  ChipRunner(std::string_view chip, bool describe) : describe(describe) { name = chip; }

  Status bind(HostTensor &, std::string, bool) override { return Success{}; }
  Status fetch(HostTensor &) override { return Success{}; }
  void unbind(HostTensor &) override {}
  void unbindAll() override {}

  Result<RunOutcome> run(const RunRequest &request) override {
    RunOutcome outcome;
    auto signature = signatureOf(*request.program, request.kernel);
    if (!signature)
      return signature.takeError();
    std::vector<uint32_t> defaulted;
    auto specialization = specializeHost(*signature, request.arguments, defaulted);
    if (!specialization)
      return specialization.takeError();
    auto key = std::make_tuple(request.program, request.kernel, specialization->text(),
                               optionsText(request.options));
    if (auto found = compiled.find(key); found != compiled.end()) {
      outcome.isAssembled = found->second;
      return outcome;
    }
    auto start = Clock::now();
    auto emitted =
        emitKernel(*request.program, request.kernel, *specialization, defaulted, request.options);
    if (!emitted)
      return emitted.takeError();
    outcome.notes = emitted->diagnostics;
    if (describe) {
      auto code = described(request.kernel + "(" + specialization->text() + ") " +
                                optionsText(request.options),
                            *emitted);
      if (!code)
        return code.takeError();
      outcome.code = *std::move(code);
      outcome.isAssembled = true;
      compiled.emplace(std::move(key), true);
      return outcome;
    }
    auto isAssembled = assemble(*emitted);
    if (!isAssembled)
      return isAssembled.takeError();
    outcome.isAssembled = *isAssembled;
    outcome.compileSeconds = secondsSince(start);
    compiled.emplace(std::move(key), outcome.isAssembled);
    return outcome;
  }

  Result<Timing> time(std::span<const RunRequest>, const TimeOptions &) override {
    return Error{"nothing runs on " + name + ": it is only compiled for", {}};
  }
  Result<double> copyRate() override { return 0.0; }

private:
  // False without an assembler.
  Result<bool> assemble(EmittedKernel &emitted) const {
    const target::GpuChip &chip = *target::gpuChip(name);
    std::string ptxas = gpu::findPtxas();
    mlir::OwningOpRef<mlir::ModuleOp> module(emitted.module->clone());
    auto ptx = pipeline::emitForGpu(*module, chip, pipeline::GpuStage::Ptx);
    if (!ptx)
      return ptx.takeError();
    if (ptxas.empty())
      return false;
    if (TakenPtx::get().assemble(ptxas, *ptx, chip))
      return true;
    // There may be code that needs fewer registers; else the message is the whole story's.
    auto artifact = buildArtifact(emitted, name);
    if (!artifact)
      return artifact.takeError();
    return true;
  }

  Result<std::vector<std::string>> described(const std::string &what,
                                             EmittedKernel &emitted) const {
    mlir::OwningOpRef<mlir::ModuleOp> module(emitted.module->clone());
    auto report = pipeline::inspectForGpu(*module, *target::gpuChip(name));
    if (!report)
      return report.takeError();
    if (!report->isAssembled)
      return Error{"there is no `ptxas` to say what the code is made of", {}};
    const support::CodeRecord &code = report->artifact->codes().front();
    std::vector<std::string> out = {what};
    auto add = [&](std::string line) {
      if (std::ranges::find(out, line) == out.end())
        out.push_back(std::move(line));
    };
    add("spills " + std::to_string(code.spillStoreBytes + code.spillLoadBytes));
    for (const std::string &warning : report->warnings)
      add("warning " + warning.substr(0, warning.find(" in function")));
    for (const gpu::InstructionFact &fact : report->instructions)
      if (fact.kind == "wgmma" || fact.kind == "mma.sync" || fact.kind == "bulk tensor")
        add(fact.name.empty() ? fact.kind : fact.name);
    std::vector<std::pair<std::string, size_t>> accesses; // in the order of their first
    for (const gpu::AccessFact &fact : report->accesses) {
      analysis::SourceLine place = analysis::sourceLine(fact.where);
      bool isGlobal = fact.space == gpu::MemorySpace::Global;
      std::string line = std::filesystem::path(place.file).filename().string() + ":" +
                         std::to_string(place.line) + (isGlobal ? " " : " shared ") + fact.what +
                         " " + std::to_string(fact.bytes) + " bytes, " +
                         std::to_string(fact.transactions) + " of " + std::to_string(fact.fewest) +
                         (isGlobal ? " sectors" : " cycles");
      auto found = std::ranges::find(accesses, line, &std::pair<std::string, size_t>::first);
      if (found == accesses.end())
        found = accesses.emplace(accesses.end(), std::move(line), 0);
      found->second += fact.count;
    }
    for (const auto &[line, count] : accesses)
      out.push_back(std::to_string(count) + "x " + line);
    return out;
  }

  bool describe = false;
  std::map<std::tuple<emit::Program *, std::string, std::string, std::string>, bool> compiled;
};

} // namespace

std::unique_ptr<Runner> makeChipRunner(std::string_view chip, bool describe) {
  return std::make_unique<ChipRunner>(chip, describe);
}

} // namespace nereid::engine
