// bf16 on the CPU: every denormal through every kind of op, against f32 rounded once. Processors
// with AVX512-BF16 have instructions that give 0 for denormals; kernels must not show it.
#include "CpuHarness.h"

#include "target/Cpu.h"

#include <bit>
#include <cmath>

using namespace nereid;
using namespace nereid::test;

namespace {

float wide(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

uint16_t narrow(double value) {
  // The f32 is odd where it is not exact, so that only the second rounding counts.
  float nearest = float(value);
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  if (std::isnan(value))
    return uint16_t(bits >> 16 | 0x40);
  if (double(nearest) != value && !std::isinf(nearest)) {
    bits -= std::fabs(double(nearest)) > std::fabs(value);
    bits |= 1;
  }
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

::testing::AssertionResult sameBf16(uint16_t got, uint16_t want) {
  bool bothNan = std::isnan(wide(got)) && std::isnan(wide(want));
  if (got == want || bothNan || (wide(got) == 0 && wide(want) == 0))
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << std::hex << "0x" << got << " (" << wide(got)
                                       << "), not 0x" << want << " (" << wide(want) << ")";
}

// All denormals of both signs, zeros, and what lies around them.
std::vector<uint16_t> tiny() {
  std::vector<uint16_t> out;
  for (uint16_t magnitude = 0; magnitude < 0x80; ++magnitude)
    for (uint16_t sign : {0, 0x8000})
      out.push_back(sign | magnitude);
  return out;
}
std::vector<uint16_t> partners() {
  std::vector<uint16_t> out = tiny();
  for (uint16_t magnitude :
       {0x0080, 0x0081, 0x00ff, 0x0100, 0x2000, 0x3c00, 0x3f00, 0x3f7f, 0x3f80, 0x3f81, 0x4000,
        0x4049, 0x5f80, 0x7f7f, 0x7f80, 0x7f81, 0x7fc0, 0x7fff})
    for (uint16_t sign : {0, 0x8000})
      out.push_back(sign | magnitude);
  return out;
}

std::vector<target::CpuFeatureSet> levels() {
  std::vector<target::CpuFeatureSet> out;
  for (const char *level : {"x86-64", "x86-64-v3", "native"})
    if (auto features = target::cpuLevel(level);
        features && target::hostCpuFeatures().covers(*features))
      out.push_back(*features);
  return out;
}

// out[i] = op(x[i], y[i], z[i]) of 64 elements a program; `body` makes %r of %x, %y and %z.
std::string elementwise(const std::string &body, const std::string &result = "bf16") {
  std::string text = R"(
func.func @k(%px: !tile.ptr<bf16>, %py: !tile.ptr<bf16>, %pz: !tile.ptr<bf16>, %po: !tile.ptr<RESULT>) attributes {tile.kernel} {
  %pid = tile.program_id 0
  %b = arith.constant 64 : i32
  %s = arith.muli %pid, %b : i32
  %ss = tile.splat %s : i32 -> tensor<64xi32>
  %range = tile.arange 0 to 64 : tensor<64xi32>
  %i = arith.addi %ss, %range : tensor<64xi32>
)";
  for (std::string name : {"x", "y", "z"})
    text += "  %s" + name + " = tile.splat %p" + name +
            " : !tile.ptr<bf16> -> tensor<64x!tile.ptr<bf16>>\n  %a" + name + " = tile.addptr %s" +
            name + ", %i : tensor<64x!tile.ptr<bf16>>, tensor<64xi32>\n  %" + name +
            " = tile.load %a" + name + " : tensor<64x!tile.ptr<bf16>> -> tensor<64xbf16>\n";
  text += body + R"(
  %so = tile.splat %po : !tile.ptr<RESULT> -> tensor<64x!tile.ptr<RESULT>>
  %ao = tile.addptr %so, %i : tensor<64x!tile.ptr<RESULT>>, tensor<64xi32>
  tile.store %ao, %r : tensor<64x!tile.ptr<RESULT>>, tensor<64xRESULT>
  return
})";
  for (size_t at; (at = text.find("RESULT")) != std::string::npos;)
    text.replace(at, 6, result);
  return text;
}

std::string binary(const std::string &op) { return "  %r = " + op + " %x, %y : tensor<64xbf16>"; }

float extreme(float a, float b, bool isMax, bool keepsNan) {
  if (std::isnan(a) || std::isnan(b))
    return keepsNan ? NAN : std::isnan(a) ? b : a;
  return isMax ? std::max(a, b) : std::min(a, b);
}

TEST(CpuBf16, ElementwiseOpsKeepDenormals) {
  struct Case {
    std::string body;
    double (*exact)(float x, float y, float z);
  };
  const Case cases[] = {
      {binary("arith.addf"), [](float x, float y, float) { return double(x) + y; }},
      {binary("arith.subf"), [](float x, float y, float) { return double(x) - y; }},
      {binary("arith.mulf"), [](float x, float y, float) { return double(x) * y; }},
      {binary("arith.divf"), [](float x, float y, float) { return double(x) / y; }},
      {binary("arith.maxnumf"),
       [](float x, float y, float) { return double(extreme(x, y, true, false)); }},
      {binary("arith.minnumf"),
       [](float x, float y, float) { return double(extreme(x, y, false, false)); }},
      {binary("arith.maximumf"),
       [](float x, float y, float) { return double(extreme(x, y, true, true)); }},
      {binary("arith.minimumf"),
       [](float x, float y, float) { return double(extreme(x, y, false, true)); }},
      {"  %r = math.fma %x, %y, %z : tensor<64xbf16>",
       [](float x, float y, float z) { return double(std::fma(x, y, z)); }},
      {"  %r = arith.negf %x : tensor<64xbf16>", [](float x, float, float) { return -double(x); }},
      {"  %r = math.absf %x : tensor<64xbf16>",
       [](float x, float, float) { return std::fabs(double(x)); }},
      {"  %r = math.sqrt %y : tensor<64xbf16>",
       [](float, float y, float) { return std::sqrt(double(y)); }},
      {"  %r = math.copysign %x, %y : tensor<64xbf16>",
       [](float x, float y, float) { return std::copysign(double(x), double(y)); }},
      {"  %c = arith.cmpf olt, %x, %y : tensor<64xbf16>\n"
       "  %r = arith.select %c, %x, %y : tensor<64xi1>, tensor<64xbf16>",
       [](float x, float y, float) { return double(x < y ? x : y); }},
      {"  %w = arith.extf %x : tensor<64xbf16> to tensor<64xf32>\n"
       "  %v = arith.extf %y : tensor<64xbf16> to tensor<64xf32>\n"
       "  %p = arith.mulf %w, %v : tensor<64xf32>\n"
       "  %r = arith.truncf %p : tensor<64xf32> to tensor<64xbf16>",
       [](float x, float y, float) { return double(x * y); }},
      {"  %w = arith.extf %x : tensor<64xbf16> to tensor<64xf64>\n"
       "  %v = arith.extf %y : tensor<64xbf16> to tensor<64xf64>\n"
       "  %p = arith.mulf %w, %v : tensor<64xf64>\n"
       "  %r = arith.truncf %p : tensor<64xf64> to tensor<64xbf16>",
       [](float x, float y, float) { return double(x) * y; }},
      // A chain, whose products are rounded one by one.
      {"  %p = arith.mulf %x, %y : tensor<64xbf16>\n"
       "  %r = arith.addf %p, %z : tensor<64xbf16>",
       [](float x, float y, float z) { return double(wide(narrow(double(x) * y))) + z; }},
  };
  std::vector<uint16_t> x, y, z, from = tiny(), with = partners();
  for (uint16_t a : from)
    for (uint16_t b : with) {
      x.push_back(a);
      y.push_back(b);
      z.push_back(with[(x.size() * 7919) % with.size()]);
    }
  ASSERT_EQ(x.size() % 64, 0u);
  std::vector<uint16_t> out(x.size());
  for (const target::CpuFeatureSet &features : levels())
    for (const Case &test : cases) {
      auto kernel = compileForCpu(elementwise(test.body), {features});
      ASSERT_TRUE(kernel.kernel) << kernel.failure;
      kernel.run(Arguments().add(x.data()).add(y.data()).add(z.data()).add(out.data()),
                 {uint32_t(x.size() / 64), 1, 1});
      for (size_t i = 0; i < x.size(); ++i)
        ASSERT_TRUE(sameBf16(out[i], narrow(test.exact(wide(x[i]), wide(y[i]), wide(z[i])))))
            << test.body << "\nof 0x" << std::hex << x[i] << ", 0x" << y[i] << ", 0x" << z[i]
            << " with " << features.text();
    }
}

TEST(CpuBf16, SumsOfRowsKeepDenormals) {
  // Rows of two: pairs of denormals of both signs.
  std::string text = R"(
func.func @k(%px: !tile.ptr<bf16>, %po: !tile.ptr<bf16>) attributes {tile.kernel} {
  %pid = tile.program_id 0
  %b = arith.constant 64 : i32
  %s = arith.muli %pid, %b : i32
  %ss = tile.splat %s : i32 -> tensor<64xi32>
  %range = tile.arange 0 to 64 : tensor<64xi32>
  %i = arith.addi %ss, %range : tensor<64xi32>
  %q = tile.reshape %i : tensor<64xi32> -> tensor<32x2xi32>
  %sx = tile.splat %px : !tile.ptr<bf16> -> tensor<32x2x!tile.ptr<bf16>>
  %ax = tile.addptr %sx, %q : tensor<32x2x!tile.ptr<bf16>>, tensor<32x2xi32>
  %x = tile.load %ax : tensor<32x2x!tile.ptr<bf16>> -> tensor<32x2xbf16>
  %r = REDUCE
  ^bb0(%l: bf16, %m: bf16):
    %c = arith.OP %l, %m : bf16
    tile.yield %c : bf16
  }
  STORE
  return
})";
  const std::string reduced = "tile.reduce(%x) axis 1 : (tensor<32x2xbf16>) -> tensor<32xbf16> {";
  const std::string storeReduced = R"(
  %h = arith.constant 32 : i32
  %t = arith.muli %pid, %h : i32
  %ts = tile.splat %t : i32 -> tensor<32xi32>
  %half = tile.arange 0 to 32 : tensor<32xi32>
  %j = arith.addi %ts, %half : tensor<32xi32>
  %so = tile.splat %po : !tile.ptr<bf16> -> tensor<32x!tile.ptr<bf16>>
  %ao = tile.addptr %so, %j : tensor<32x!tile.ptr<bf16>>, tensor<32xi32>
  tile.store %ao, %r : tensor<32x!tile.ptr<bf16>>, tensor<32xbf16>)";
  const std::string scanned = "tile.scan(%x) axis 1 : (tensor<32x2xbf16>) -> tensor<32x2xbf16> {";
  const std::string storeScanned = R"(
  %so = tile.splat %po : !tile.ptr<bf16> -> tensor<32x2x!tile.ptr<bf16>>
  %ao = tile.addptr %so, %q : tensor<32x2x!tile.ptr<bf16>>, tensor<32x2xi32>
  tile.store %ao, %r : tensor<32x2x!tile.ptr<bf16>>, tensor<32x2xbf16>)";
  std::vector<uint16_t> x;
  for (uint16_t a : tiny())
    for (uint16_t b : partners())
      x.insert(x.end(), {a, b});
  auto with = [&](const std::string &reduce, const std::string &op, const std::string &store) {
    std::string out = text;
    out.replace(out.find("REDUCE"), 6, reduce);
    out.replace(out.find("OP"), 2, op);
    out.replace(out.find("STORE"), 5, store);
    return out;
  };
  struct Case {
    const char *op;
    double (*exact)(float, float);
  };
  const Case cases[] = {
      {"addf", [](float a, float b) { return double(a) + b; }},
      {"mulf", [](float a, float b) { return double(a) * b; }},
      {"maxnumf", [](float a, float b) { return double(extreme(a, b, true, false)); }},
      {"minimumf", [](float a, float b) { return double(extreme(a, b, false, true)); }},
  };
  for (const target::CpuFeatureSet &features : levels())
    for (const Case &test : cases)
      for (bool scan : {false, true}) {
        auto kernel = compileForCpu(scan ? with(scanned, test.op, storeScanned)
                                         : with(reduced, test.op, storeReduced),
                                    {features});
        ASSERT_TRUE(kernel.kernel) << kernel.failure;
        std::vector<uint16_t> out(x.size());
        kernel.run(Arguments().add(x.data()).add(out.data()), {uint32_t(x.size() / 64), 1, 1});
        for (size_t i = 0; i < x.size(); i += 2) {
          uint16_t got = out[scan ? i + 1 : i / 2];
          ASSERT_TRUE(sameBf16(got, narrow(test.exact(wide(x[i]), wide(x[i + 1])))))
              << test.op << (scan ? " scan" : " reduce") << " of 0x" << std::hex << x[i] << ", 0x"
              << x[i + 1] << " with " << features.text();
        }
      }
}

TEST(CpuBf16, AtomicsKeepDenormals) {
  std::vector<uint16_t> x, y;
  for (uint16_t a : tiny())
    for (uint16_t b : partners()) {
      if (std::isnan(wide(b)))
        continue; // which the GPU's order of bits puts last
      x.push_back(a);
      y.push_back(b);
    }
  while (x.size() % 64) {
    x.push_back(0);
    y.push_back(0);
  }
  for (const target::CpuFeatureSet &features : levels())
    for (std::string kind : {"fadd", "fmax", "fmin"}) {
      auto kernel = compileForCpu(
          elementwise("  %so2 = tile.splat %po : !tile.ptr<bf16> -> tensor<64x!tile.ptr<bf16>>\n"
                      "  %ao2 = tile.addptr %so2, %i : tensor<64x!tile.ptr<bf16>>, tensor<64xi32>\n"
                      "  tile.store %ao2, %y : tensor<64x!tile.ptr<bf16>>, tensor<64xbf16>\n"
                      "  %old = tile.atomic_rmw <" +
                      kind +
                      ">, <acq_rel>, <gpu>, %ao2, %x : tensor<64x!tile.ptr<bf16>>, "
                      "tensor<64xbf16> -> tensor<64xbf16>\n"
                      "  %r = tile.load %ao2 : tensor<64x!tile.ptr<bf16>> -> tensor<64xbf16>"),
          {features});
      ASSERT_TRUE(kernel.kernel) << kernel.failure;
      std::vector<uint16_t> out(x.size());
      kernel.run(Arguments().add(x.data()).add(y.data()).add(x.data()).add(out.data()),
                 {uint32_t(x.size() / 64), 1, 1});
      for (size_t i = 0; i < x.size(); ++i) {
        float a = wide(x[i]), b = wide(y[i]);
        double want = kind == "fadd" ? double(a) + b : double(extreme(a, b, kind == "fmax", false));
        bool zeros = want == 0 && wide(out[i]) == 0;
        ASSERT_TRUE(zeros || sameBf16(out[i], narrow(want)))
            << kind << " of 0x" << std::hex << x[i] << ", 0x" << y[i] << " with "
            << features.text();
      }
    }
}

// A scalar that one of two branches gives, that a loop carries, and that a mask lets through.
TEST(CpuBf16, MovesKeepDenormals) {
  constexpr const char *source = R"(
func.func @k(%px: !tile.ptr<bf16>, %po: !tile.ptr<bf16>, %n: i32) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %pid = tile.program_id 0
  %in = tile.addptr %px, %pid : !tile.ptr<bf16>, i32
  %out = tile.addptr %po, %pid : !tile.ptr<bf16>, i32
  %x = tile.load %in : !tile.ptr<bf16> -> bf16
  %isTaken = arith.cmpi slt, %pid, %n : i32
  %branch = scf.if %isTaken -> (bf16) {
    tile.store %out, %x : !tile.ptr<bf16>, bf16
    %y = tile.load %in : !tile.ptr<bf16> -> bf16
    scf.yield %y : bf16
  } else {
    %c = arith.constant 0x0001 : bf16
    scf.yield %c : bf16
  }
  %carried = scf.for %i = %zero to %n step %one iter_args(%last = %branch) -> (bf16) : i32 {
    tile.store %out, %last : !tile.ptr<bf16>, bf16
    %again = tile.load %out : !tile.ptr<bf16> -> bf16
    scf.yield %again : bf16
  }
  tile.store %out, %carried : !tile.ptr<bf16>, bf16
  return
}
)";
  const std::vector<uint16_t> x = tiny();
  for (const target::CpuFeatureSet &features : levels())
    for (bool optimize : {true, false}) {
      pipeline::CpuOptions options;
      options.features = features;
      options.optimize = optimize;
      auto kernel = compileForCpu(source, options);
      ASSERT_TRUE(kernel.kernel) << kernel.failure;
      std::vector<uint16_t> out(x.size());
      constexpr int32_t taken = 200;
      kernel.run(Arguments().add(x.data()).add(out.data()).add(taken), {uint32_t(x.size()), 1, 1});
      for (size_t i = 0; i < x.size(); ++i)
        ASSERT_EQ(out[i], i < size_t(taken) ? x[i] : 1) << i << " with " << features.text();
    }
}

// A product's sum of f32 is rounded to bf16 and meets another bf16: 16x16x16, where the lhs is one
// row of a number after the other and the rhs the unit matrix.
TEST(CpuBf16, WhatFollowsAProductKeepsDenormals) {
  const char *source = R"(
func.func @k(%pa: !tile.ptr<f32>, %pc: !tile.ptr<bf16>, %po: !tile.ptr<bf16>) attributes {tile.kernel} {
  %pid = tile.program_id 0
  %n = arith.constant 256 : i32
  %s = arith.muli %pid, %n : i32
  %ss = tile.splat %s : i32 -> tensor<256xi32>
  %range = tile.arange 0 to 256 : tensor<256xi32>
  %flat = arith.addi %ss, %range : tensor<256xi32>
  %i = tile.reshape %flat : tensor<256xi32> -> tensor<16x16xi32>
  %sa = tile.splat %pa : !tile.ptr<f32> -> tensor<16x16x!tile.ptr<f32>>
  %aa = tile.addptr %sa, %i : tensor<16x16x!tile.ptr<f32>>, tensor<16x16xi32>
  %a = tile.load %aa : tensor<16x16x!tile.ptr<f32>> -> tensor<16x16xf32>
  %line = tile.arange 0 to 16 : tensor<16xi32>
  %down = tile.expand_dims %line axis 1 : tensor<16xi32> -> tensor<16x1xi32>
  %across = tile.expand_dims %line axis 0 : tensor<16xi32> -> tensor<1x16xi32>
  %downs = tile.broadcast %down : tensor<16x1xi32> -> tensor<16x16xi32>
  %acrosses = tile.broadcast %across : tensor<1x16xi32> -> tensor<16x16xi32>
  %same = arith.cmpi eq, %downs, %acrosses : tensor<16x16xi32>
  %one = arith.constant dense<1.0> : tensor<16x16xf32>
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %unit = arith.select %same, %one, %zero : tensor<16x16xi1>, tensor<16x16xf32>
  %d = tile.dot %a, %unit, %zero : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  %h = arith.truncf %d : tensor<16x16xf32> to tensor<16x16xbf16>
  %sc = tile.splat %pc : !tile.ptr<bf16> -> tensor<16x16x!tile.ptr<bf16>>
  %ac = tile.addptr %sc, %i : tensor<16x16x!tile.ptr<bf16>>, tensor<16x16xi32>
  %c = tile.load %ac : tensor<16x16x!tile.ptr<bf16>> -> tensor<16x16xbf16>
  %r = arith.addf %h, %c : tensor<16x16xbf16>
  %so = tile.splat %po : !tile.ptr<bf16> -> tensor<16x16x!tile.ptr<bf16>>
  %ao = tile.addptr %so, %i : tensor<16x16x!tile.ptr<bf16>>, tensor<16x16xi32>
  tile.store %ao, %r : tensor<16x16x!tile.ptr<bf16>>, tensor<16x16xbf16>
  return
})";
  std::vector<float> a;
  std::vector<uint16_t> c;
  for (uint16_t x : tiny())
    for (uint16_t y : tiny()) {
      // Not a bf16 itself, but between two of them.
      a.push_back(std::bit_cast<float>(uint32_t(x) << 16 | (uint32_t(y) * 257u & 0xffff)));
      c.push_back(y);
    }
  ASSERT_EQ(a.size() % 256, 0u);
  for (const target::CpuFeatureSet &features : levels()) {
    auto kernel = compileForCpu(source, {features});
    ASSERT_TRUE(kernel.kernel) << kernel.failure;
    std::vector<uint16_t> out(a.size());
    kernel.run(Arguments().add(a.data()).add(c.data()).add(out.data()),
               {uint32_t(a.size() / 256), 1, 1});
    for (size_t i = 0; i < a.size(); ++i) {
      double want = double(wide(narrow(a[i]))) + wide(c[i]);
      bool zeros = want == 0 && wide(out[i]) == 0;
      ASSERT_TRUE(zeros || sameBf16(out[i], narrow(want)))
          << a[i] << " and 0x" << std::hex << c[i] << " with " << features.text();
    }
  }
}

// An integer is rounded once, also where it does not fit f32 or f64.
TEST(CpuBf16, IntegersRoundOnce) {
  for (const target::CpuFeatureSet &features : levels())
    for (bool isSigned : {true, false}) {
      auto kernel =
          compileForCpu(
              R"(
func.func @k(%p: !tile.ptr<i64>, %po: !tile.ptr<bf16>) attributes {tile.kernel} {
  %i = tile.arange 0 to 1024 : tensor<1024xi32>
  %s = tile.splat %p : !tile.ptr<i64> -> tensor<1024x!tile.ptr<i64>>
  %a = tile.addptr %s, %i : tensor<1024x!tile.ptr<i64>>, tensor<1024xi32>
  %x = tile.load %a : tensor<1024x!tile.ptr<i64>> -> tensor<1024xi64>
  %r = arith.)" + std::string(isSigned ? "si" : "ui") +
                  R"(tofp %x : tensor<1024xi64> to tensor<1024xbf16>
  %so = tile.splat %po : !tile.ptr<bf16> -> tensor<1024x!tile.ptr<bf16>>
  %ao = tile.addptr %so, %i : tensor<1024x!tile.ptr<bf16>>, tensor<1024xi32>
  tile.store %ao, %r : tensor<1024x!tile.ptr<bf16>>, tensor<1024xbf16>
  return
})",
              {features});
      ASSERT_TRUE(kernel.kernel) << kernel.failure;
      std::vector<int64_t> x;
      // Halfway between two results, and by one on either side of it.
      for (int shift = 0; shift < 63 && x.size() + 8 < 1024; ++shift)
        for (int64_t upper : {0x101, 0x103, 0x1ff})
          for (int64_t off : {-1, 0, 1}) {
            if (shift > 54)
              continue;
            x.push_back((upper << shift) + off);
            x.push_back(-(upper << shift) + off);
          }
      x.resize(1024);
      std::vector<uint16_t> out(1024);
      kernel.run(Arguments().add(x.data()).add(out.data()), {1, 1, 1});
      for (size_t i = 0; i < x.size(); ++i) {
        long double exact = isSigned ? (long double)(x[i]) : (long double)(uint64_t(x[i]));
        // The nearest of 8 bits, by a long double that holds all 64.
        int exponent;
        long double fraction = std::frexp(exact, &exponent);
        long double want = std::ldexp(std::nearbyint(std::ldexp(fraction, 8)), exponent - 8);
        ASSERT_EQ((long double)(wide(out[i])), want) << x[i] << " with " << features.text();
      }
    }
}

} // namespace
