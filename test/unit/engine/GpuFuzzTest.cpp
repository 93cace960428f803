// Random kernels in tile IR, run by the reference interpreter and, compiled for a GPU, by the model
// of one (test/fake_cuda/PtxMachine.h) on the same memory: every byte must agree, and the model's
// own rules hold (races, early reads, accesses outside of memory).
#include "FuzzHarness.h"

#include "PtxMachine.h"
#include "ir/FloatOptions.h"
#include "support/LaunchAbi.h"

using namespace nereid;
using namespace nereid::test;

namespace {

constexpr unsigned programs = 2;

struct Code {
  std::string ptx;
  unsigned warps = 0, sharedBytes = 0, scratchBytes = 0;
};

Outcome compile(const char *chip, const std::string &source, unsigned seed, Code &made) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(source, &threadContext());
  std::mt19937 random(seed);
  mlir::Builder b(module->getContext());
  module.get()->setAttr(tile::noFpFusionAttr, b.getUnitAttr()); // the interpreter never does
  module.get()->setAttr(tile::numStagesAttr, b.getI32IntegerAttr(int32_t(1 + random() % 4)));
  pipeline::GpuOptions options;
  constexpr unsigned warps[] = {1, 2, 4, 4, 4, 8, 8, 16};
  options.numWarps = warps[random() % 8];
  options.assemble = false;
  // For a look at one kernel: NEREID_FUZZ_EMIT is a number of a stage.
  if (const char *stage = std::getenv("NEREID_FUZZ_EMIT")) {
    mlir::OwningOpRef<mlir::ModuleOp> copy = module->clone();
    auto text = pipeline::emitForGpu(*copy, *target::gpuChip(chip),
                                     pipeline::GpuStage(std::atoi(stage)), options);
    std::fprintf(stderr, "%s\n", text ? text->c_str() : explain(text.error()).c_str());
  }
  // All steps of a row that is kept have a place, or some, or none.
  target::GpuChip small = *target::gpuChip(chip);
  if (random() % 2)
    small.sharedBytesPerSm = 16384u << random() % 4;
  auto artifact = pipeline::compileForGpu(*module, small, options);
  if (!artifact) {
    std::string text = explain(artifact.error());
    return {text, text.find("bytes of shared memory") != std::string::npos};
  }
  const support::CodeRecord &code = artifact->codes()[0];
  auto bytes = artifact->blob(code.code);
  made = {
      {bytes.begin(), bytes.end()}, code.numWarps, code.sharedBytes, unsigned(code.scratchBytes)};
  made.ptx.resize(std::strlen(made.ptx.c_str()));
  // Not what registers are spilled to: an array of a thread's own.
  return {made.ptx.find(".local ") == std::string::npos ? "" : "the code uses local memory"};
}

// Gives what the model says against it, or nothing.
std::string run(const Code &code, Arrays &into, unsigned seed) {
  std::string problem;
  auto kernel = ptx::parse(code.ptx, problem);
  if (!kernel)
    return problem;
  ptx::Launch launch;
  launch.grid[0] = programs;
  launch.block[0] = code.warps * 32;
  launch.sharedBytes = code.sharedBytes;
  launch.seed = seed;
  std::vector<uint64_t> values;
  std::vector<std::pair<uint64_t, size_t>> memory;
  into.each([&](auto &array, const char *) {
    values.push_back(reinterpret_cast<uintptr_t>(array.data()));
    memory.emplace_back(values.back(), array.size() * sizeof(array[0]));
  });
  values.push_back(lastArgument);
  struct alignas(128) Line {
    uint8_t bytes[128];
  };
  std::vector<Line> scratch((size_t(code.scratchBytes) * programs + 127) / 128 + 1);
  support::GpuContext context = {};
  context.scratch = reinterpret_cast<decltype(context.scratch)>(scratch.data());
  memory.emplace_back(reinterpret_cast<uintptr_t>(scratch.data()), scratch.size() * sizeof(Line));
  memory.emplace_back(reinterpret_cast<uintptr_t>(&context), sizeof context);
  values.push_back(reinterpret_cast<uintptr_t>(&context));
  std::vector<void *> arguments;
  for (uint64_t &value : values)
    arguments.push_back(&value);
  launch.arguments = arguments.data();
  launch.isAllocated = [&](uint64_t address, unsigned size) {
    return std::any_of(memory.begin(), memory.end(), [&](auto &one) {
      return address >= one.first && address + size <= one.first + one.second;
    });
  };
  return ptx::run(*kernel, launch);
}

// How many kernels have the code that only some get.
class Features {
public:
  void count(const std::string &ptx) {
    std::lock_guard lock(mutex);
    for (size_t i = 0; i < std::size(names); ++i)
      times[i] += ptx.find(names[i]) != std::string::npos;
  }
  void print() const {
    std::printf("kernels with:");
    for (size_t i = 0; i < std::size(names); ++i)
      std::printf(" %s %u", names[i], times[i]);
    std::printf("\n");
  }

private:
  static constexpr const char *names[] = {
      "bar.sync",    "shfl.sync",  "redux.sync",    "ldmatrix",    "stmatrix",      "mma.sync",
      "wgmma",       "cp.async.c", "cp.async.bulk", "mbarrier",    "tensormap.rep", "atom.global",
      "red.relaxed", ".v4.b32",    "xor.b32",       "dynamic_smem"};
  std::mutex mutex;
  unsigned times[std::size(names)] = {};
};

Subject subjectOf(const char *chip, Features &features) {
  return {chip, KernelWriter::Kind::Gpu,
          [=, &features](const std::string &source, Arrays &into, unsigned seed) {
            Code code;
            Outcome outcome = compile(chip, source, seed, code);
            features.count(code.ptx);
            return outcome.failure.empty() ? Outcome{run(code, into, seed)} : outcome;
          }};
}

void expectAgreementOn(const char *chip) {
  Features features;
  expectAgreement(subjectOf(chip, features), 2000, 30);
  features.print();
}
TEST(GpuFuzz, AgreesOnAmpere) { expectAgreementOn("sm_80"); }
TEST(GpuFuzz, AgreesOnHopper) { expectAgreementOn("sm_90a"); }

// Faults of a code generator, planted in the code that it makes: in one place of it, which the seed
// picks. The model finds them by its own rules or by what they change.
void expectFaultsOfCodeCaught(const char *chip, std::span<const Fault> faults) {
  std::vector<std::regex> patterns;
  for (const Fault &fault : faults)
    patterns.emplace_back(fault.pattern);
  // One kernel after the other, with all the faults that were not caught before.
  auto end = std::chrono::steady_clock::now() +
             std::chrono::seconds(numberFrom("NEREID_FUZZ_SECONDS", 60));
  std::atomic<unsigned> next = 1, caught = 0;
  std::vector<std::atomic<bool>> isCaught(faults.size());
  std::vector<std::atomic<unsigned>> planted(faults.size());
  auto work = [&] {
    for (unsigned seed; (seed = next++) < 3000 && caught < faults.size() &&
                        std::chrono::steady_clock::now() < end;) {
      std::string source = KernelWriter(seed, KernelWriter::Kind::Gpu).kernel();
      const Arrays before(seed);
      Arrays want = before;
      Code code;
      if (!interpret(source, want).empty() || !compile(chip, source, seed, code).failure.empty())
        continue;
      for (size_t i = 0; i < faults.size(); ++i) {
        if (isCaught[i])
          continue;
        std::vector<std::smatch> places(
            std::sregex_iterator(code.ptx.begin(), code.ptx.end(), patterns[i]), {});
        if (places.empty())
          continue;
        ++planted[i];
        const std::smatch &place = places[seed % places.size()];
        Code edited = code;
        edited.ptx.replace(size_t(place.position()), size_t(place.length()),
                           place.format(faults[i].instead));
        Arrays got = before;
        std::string problem = run(edited, got, seed);
        // What the model does not know is no catch.
        if (problem.empty() ? !same(got, want) : problem.find("does not know") == problem.npos)
          caught += !isCaught[i].exchange(true);
      }
    }
  };
  std::thread other(work);
  work();
  other.join();
  for (size_t i = 0; i < faults.size(); ++i)
    if (!isCaught[i])
      std::printf("not caught: %s, in %u kernels\n", faults[i].pattern, planted[i].load());
  EXPECT_TRUE(next < 3000 || caught == faults.size()) << "not for want of time";
  std::printf("%u of %zu planted miscompiles caught in %u kernels\n", caught.load(), faults.size(),
              next.load());
  EXPECT_GE(caught * 2, faults.size());
}

TEST(GpuFuzz, CatchesPlantedMiscompiles) {
  const Fault faults[] = {
      // Threads and warps.
      {"(shfl\\.sync\\.bfly\\.b32\\s+\\S+ \\S+) 16, 31", "$1 8, 31"},
      {"(shfl\\.sync\\.bfly\\.b32\\s+\\S+ \\S+) 1, 31", "$1 2, 31"},
      {"(shfl\\.sync\\.idx\\.b32\\s+[^,]*, [^,]*), [^,]*, 31", "$1, 3, 31"},
      {"(shr\\.u32\\s+%r\\d+, %r\\d+), 5;", "$1, 4;"},
      {"(and\\.b32\\s+%r\\d+, %r\\d+), 31;", "$1, 15;"},
      {"mov\\.u32(\\s+%r\\d+), %tid\\.x", "mov.u32$1, %laneid"},
      {"bar\\.sync\\s+0;", ""},
      {"@%p\\d+ (atom|red)\\.", "$1."},
      {"@%p\\d+ st\\.global", "st.global"},
      {"@%p(\\d+) st\\.global", "@!%p$1 st.global"},
      {"@%p(\\d+) ld\\.global", "@!%p$1 ld.global"},
      {"@%p(\\d+) bra", "@!%p$1 bra"},
      // Shared memory and its layouts.
      {"(st\\.shared\\.[ubf]32\\s+\\[%rd\\d+)\\]", "$1+4]"},
      {"(ld\\.shared\\.[ubf]32\\s+\\S+ \\[%rd\\d+)\\]", "$1+4]"},
      {"(st\\.shared\\.[ub]8\\s+\\[%rd\\d+)\\]", "$1+1]"},
      {"(ld\\.shared\\.[us]8\\s+\\S+ \\[%rd\\d+)\\]", "$1+1]"},
      {"(ld\\.shared\\.v2\\.\\w+\\s+)\\{(\\S+), (\\S+)\\}", "$1{$3, $2}"},
      {"(st\\.shared\\.v4\\.\\w+\\s+\\S+ )\\{(\\S+), (\\S+), ", "$1{$3, $2, "},
      {"(xor\\.b32\\s+%r\\d+, %r\\d+), 16;", "$1, 32;"},
      {"(xor\\.b32\\s+%r\\d+, %r\\d+), (32|64|128);", "$1, 0;"},
      // Products.
      {"\\.x4\\.trans\\.shared", ".x4.shared"},
      {"\\.x4\\.shared\\.b16", ".x4.trans.shared.b16"},
      {"(ldmatrix\\S+ )\\{(\\S+), (\\S+), ", "$1{$3, $2, "},
      {"(mma\\.sync\\S+ \\S+ \\S+ \\S+ \\S+ )\\{(\\S+), (\\S+), ", "$1{$3, $2, "},
      {"s32\\.u8\\.u8\\.s32", "s32.s8.s8.s32"},
      // Copies ahead of their step.
      {"cp\\.async\\.wait_group (0|1);", "cp.async.wait_group 2;"},
      {"cp\\.async\\.commit_group;", ""},
      {"(cp\\.async\\S+ \\[%r\\d+\\], \\[%rd\\d+\\], \\d+), %r\\d+;", "$1;"},
      {"(cp\\.async\\.c.\\.shared\\.global \\[%r\\d+\\], \\[%rd\\d+)\\]", "$1+16]"},
      // Memory, numbers, conditions.
      {"(st\\.global\\.v2\\.b32 \\S+ )\\{(\\S+), (\\S+)\\}", "$1{$3, $2}"},
      {"ld\\.global\\.b32 (%r\\d+), \\[(%rd\\d+)\\]", "ld.global.b32 $1, [$2+4]"},
      {"setp\\.lt\\.s32", "setp.le.s32"},
      {"setp\\.lt\\.u32", "setp.le.u32"},
      {"setp\\.gt\\.u32", "setp.gt.s32"},
      {"(selp\\.b32\\s+\\S+) (\\S+), (\\S+), ", "$1 $3, $2, "},
      {"mul\\.hi\\.u32", "mul.hi.s32"},
      {"cvt\\.s32\\.s8", "cvt.u32.u8"},
      {"cvt\\.u64\\.u32", "cvt.s64.s32"},
      {"cvt\\.rzi\\.", "cvt.rni."},
      {"bfe\\.u32", "bfe.s32"},
      {"max\\.f32", "max.NaN.f32"},
      {"max\\.s32", "max.u32"},
      {"%ctaid\\.x", "%ctaid.y"},
      // Rows that are kept: how many steps, which, and whether a store met them.
      {"mov\\.u32(\\s+%r\\d+), %dynamic_smem_size", "mov.u32$1, 1048576"},
      {"setp\\.lt\\.u64", "setp.le.u64"},
      {"setp\\.le\\.u64", "setp.ne.s64"},
      {"setp\\.gt\\.u64", "setp.eq.s64"},
      {"(ld\\.shared\\.v4\\.\\w+\\s+)\\{(\\S+), (\\S+), ", "$1{$3, $2, "},
      {"\\.exch\\.b32", ".add.u32"},
      {"\\.cas\\.b32 (\\S+) (\\S+) (\\S+), (\\S+);", ".cas.b32 $1 $2 $4, $3;"},
  };
  expectFaultsOfCodeCaught("sm_80", faults);
}

TEST(GpuFuzz, CatchesPlantedMiscompilesOnHopper) {
  const Fault faults[] = {
      // Copies of the copy engine: waited for, of so many bytes, from there.
      {"@!done bra\\.uni again;", ""},
      {"(expect_tx\\S+ _, \\[%r\\d+\\]), \\d+;", "$1, 16;"},
      {"mbarrier\\.init(\\S+ \\[%r\\d+\\+0\\]), 1;", "mbarrier.init$1, 2;"},
      {"(cp\\.async\\.bulk\\.tensor\\.2d\\S+ \\[%r\\d+\\], \\[%rd\\d+, )\\{(%r\\d+), (%r\\d+)\\}",
       "$1{$3, $2}"},
      {"(\\.bulk_group \\[%rd\\d+, )\\{(%r\\d+), (%r\\d+)\\}", "$1{$3, $2}"},
      {"cp\\.async\\.bulk\\.wait_group 0;", ""},
      {"(swizzle_mode\\S+ \\[%r\\d+\\]), [123];", "$1, 0;"},
      {"(box_dim\\S+ \\[%r\\d+\\], 0), \\d+;", "$1, 4;"},
      {"(global_dim\\S+ \\[%r\\d+\\], 0), %r\\d+;", "$1, 3;"},
      {"bar\\.sync\\s+0;", ""},
      // Products of warp groups.
      {"wgmma\\.wait_group\\.sync\\.aligned 0;", ""},
      {"wgmma\\.commit_group\\S+;", ""},
      {"wgmma\\.fence\\.sync\\.aligned;", ""},
      {"add\\.s64 a, (%rd\\d+), \\d+;", "add.s64 a, $1, 1;"},
      {"add\\.s64 b, (%rd\\d+), \\d+;", "add.s64 b, $1, 1;"},
      {"setp\\.eq\\.u32 p, 0, 0;", "setp.ne.u32 p, 0, 0;"},
      {"(wgmma[^;]*), 1, 1, 0, 0;", "$1, 1, 1, 0, 1;"},
      {"(wgmma[^;]*), 1, 1, 0, 1;", "$1, 1, 1, 0, 0;"},
      {"fence\\.proxy\\.async\\.shared::cta;", ""},
      // Sums on their way out.
      {"(stmatrix\\S+ \\[\\S+\\], )\\{(\\S+), (\\S+), ", "$1{$3, $2, "},
  };
  expectFaultsOfCodeCaught("sm_90a", faults);
}

} // namespace
