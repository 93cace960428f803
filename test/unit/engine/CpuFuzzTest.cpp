// Random kernels in tile IR, run by the reference interpreter and by the CPU engine on the same
// memory: every byte must agree.
#include "FuzzHarness.h"
#include "TileModel.h"

#include "target/Cpu.h"

using namespace nereid;
using namespace nereid::test;

namespace {

// Most kernels for this processor, some for those that have less.
const target::CpuFeatureSet &featuresFor(unsigned seed) {
  static const std::vector<target::CpuFeatureSet> levels = [] {
    std::vector<target::CpuFeatureSet> out;
    for (const char *level : {"native", "native", "x86-64-v3", "x86-64"})
      if (auto features = target::cpuLevel(level);
          features && target::hostCpuFeatures().covers(*features))
        out.push_back(*features);
    if (auto tiles = withTiles(target::hostCpuFeatures()))
      out.push_back(*tiles);
    return out;
  }();
  return levels[seed % levels.size()];
}

Outcome compileAndRun(const std::string &source, Arrays &into, unsigned seed) {
  pipeline::CpuOptions options;
  options.features = featuresFor(seed);
  options.contract = false; // the interpreter never does
  // What is tested is before LLVM, which takes three quarters of the time if it optimises.
  options.optimize = seed / 4 % 4 == 0;
  auto kernel = compileForCpu(threadContext(), source, options);
  if (!kernel.kernel)
    return {kernel.failure};
  Arguments arguments;
  into.each([&](auto &array, const char *) { arguments.add(array.data()); });
  kernel.run(arguments.add(lastArgument), {2, 1, 1});
  return {};
}

const Subject subject = {"cpu", KernelWriter::Kind::Any, compileAndRun};

TEST(CpuFuzz, AgreesWithTheInterpreter) { expectAgreement(subject, 3000, 80); }

TEST(CpuFuzz, CatchesPlantedMiscompiles) {
  const Fault faults[] = {
      {"arith\\.subi", "arith.addi"},
      {"arith\\.cmpi slt", "arith.cmpi sle"},
      {"arith\\.cmpi ule", "arith.cmpi ult"},
      {"arith\\.extsi", "arith.extui"},
      {"arith\\.extui", "arith.extsi"},
      {"arith\\.minui", "arith.minsi"},
      {"tile\\.shrs", "tile.shru"},
      {"tile\\.divui", "tile.divsi"},
      {"tile\\.remsi", "tile.remui"},
      {"arith\\.uitofp", "arith.sitofp"},
      {"tile\\.mulhiui", "arith.muli"},
      {"arith\\.maxnumf", "arith.maximumf"},
      {"arith\\.cmpf une", "arith.cmpf one"},
      {"math\\.floor", "math.ceil"},
      {"tile\\.fp_to_int (%\\w+(#\\d)?) unsigned", "tile.fp_to_int $1"},
      // Lanes, places, order.
      {" reverse", ""},
      {"arange 0 to 64", "arange 1 to 65"},
      {"#0", "#1"},
      {"(tile\\.store [^\\n]*) mask \\S+ : [^:]* : ", "$1 : "},
      {" other \\S+ : tensor\\S* : ", " : "},
      {"(tile\\.dot [^\\n]*) unsigned", "$1"},
      {"(tile\\.dot [^:]*) :", "$1 unsigned :"},
      {"<xor>", "<add>"},
      {" rounding <rtz>", ""},
      {"(tile\\.atomic_cas [^,]*, [^,]*, [^,]*, )([^,]*), (\\S*) :", "$1$3, $2 :"},
      {"(tile\\.histogram \\S+) mask \\S+ : \\S+", "$1"},
      {"(scf\\.for %\\w+ = %\\w+ to \\S+ step \\S+ iter_args\\()(%\\w+)( = [^,]*, )(%\\w+)",
       "$1$4$3$2"},
  };
  expectFaultsCaught(faults, 1500,
                     [](const std::regex &pattern, const Fault &fault, unsigned seed) {
                       return showsInText(subject, pattern, fault, seed);
                     });
}

// A failing kernel is cut down to the lines that matter: here those that a planted fault needs.
TEST(CpuFuzz, ShrinksWhatFails) {
  const std::regex fault("arith\\.subi");
  auto planted = [&](const std::string &source) {
    return std::regex_replace(source, fault, "arith.addi");
  };
  for (unsigned round = 1; round < 100; ++round) {
    std::string source = subject.kernel(round);
    auto fails = [&](const std::string &less) {
      return disagrees(subject, less, planted(less), round);
    };
    if (planted(source) == source || !fails(source))
      continue;
    std::string less = shrunk(source, fails);
    auto lines = [](const std::string &text) { return std::count(text.begin(), text.end(), '\n'); };
    EXPECT_TRUE(fails(less));
    EXPECT_NE(less.find("arith.subi"), std::string::npos);
    EXPECT_LE(lines(less), lines(source) / 5) << less;
    std::printf("%d lines of %d are left\n", int(lines(less)), int(lines(source)));
    return;
  }
  FAIL() << "no kernel shows the fault";
}

} // namespace
