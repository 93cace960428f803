// What single ops mean, where it is not obvious.
#include "Harness.h"

#include <cmath>

namespace nereid::ref {
namespace {

template <typename A, typename B, typename R>
std::vector<R> apply(const std::string &a, std::vector<A> x, const std::string &b, std::vector<B> y,
                     const std::string &r, const std::string &body, Options options = {}) {
  std::vector<R> out(x.size());
  std::vector<int32_t> unused(x.size());
  Kernel kernel(lanesKernel(x.size(), a, b, "i32", r, body), options);
  kernel.tensor("a", x).tensor("b", y).tensor("c", unused).tensor("r", out).run();
  return out;
}

std::vector<int32_t> ints(std::vector<int32_t> x, std::vector<int32_t> y, const std::string &op) {
  return apply<int32_t, int32_t, int32_t>("i32", x, "i32", y, "i32",
                                          "%r = " + op + " %a, %b : $i32");
}
std::vector<float> floats(std::vector<float> x, std::vector<float> y, const std::string &op) {
  return apply<float, float, float>("f32", x, "f32", y, "f32",
                                    "%r = " + op + " %a, %b : tensor<$nxf32>");
}

constexpr int32_t low = INT32_MIN, high = INT32_MAX;

TEST(Ops, IntegerDivisionIsTotalAndTruncates) {
  std::vector<int32_t> x{-7, 7, -7, 5, low, low, 0, -1}, y{2, -2, -2, 0, -1, 0, 0, 3};
  EXPECT_EQ(ints(x, y, "tile.divsi"), (std::vector<int32_t>{-3, -3, 3, -1, low, -1, -1, 0}));
  EXPECT_EQ(ints(x, y, "tile.remsi"), (std::vector<int32_t>{-1, 1, -1, 5, 0, low, 0, -1}));
  EXPECT_EQ(ints({-7, 7, 5, -1}, {2, 2, 0, 1}, "tile.divui"),
            (std::vector<int32_t>{0x7ffffffc, 3, -1, -1}));
  EXPECT_EQ(ints({-7, 7, 5, -1}, {2, 2, 0, 10}, "tile.remui"), (std::vector<int32_t>{1, 1, 5, 5}));
}

TEST(Ops, ShiftsByTheWidthAndMore) {
  std::vector<int32_t> x{1, 1, -8, 5}, y{31, 32, 100, -1};
  EXPECT_EQ(ints(x, y, "tile.shl"), (std::vector<int32_t>{low, 0, 0, 0}));
  EXPECT_EQ(ints(x, y, "tile.shrs"), (std::vector<int32_t>{0, 0, -1, 0}));
  EXPECT_EQ(ints({-8, -8, 8, -1}, {1, 32, 3, 31}, "tile.shru"),
            (std::vector<int32_t>{0x7ffffffc, 0, 1, 1}));
}

TEST(Ops, UpperHalfOfProducts) {
  EXPECT_EQ(ints({-1, low, 3, 65536}, {-1, 2, 5, 65536}, "tile.mulhiui"),
            (std::vector<int32_t>{-2, 1, 0, 1}));
}

TEST(Ops, MaxAndMinTreatNaN) {
  std::vector<float> x{NAN, 1, NAN, -0.0f}, y{1, NAN, NAN, 0.0f};
  auto dropped = floats(x, y, "arith.maxnumf"), kept = floats(x, y, "arith.maximumf");
  EXPECT_EQ(dropped[0], 1);
  EXPECT_EQ(dropped[1], 1);
  EXPECT_TRUE(std::isnan(dropped[2]));
  EXPECT_TRUE(std::isnan(kept[0]) && std::isnan(kept[1]));
  EXPECT_FALSE(std::signbit(dropped[3]));
}

TEST(Ops, ArithmeticRoundsOncePerOperation) {
  // A fused multiply-add would give 2^-24 here.
  float x = 1 + std::ldexp(1.0f, -12);
  std::vector<float> v(2, x);
  auto got = apply<float, float, float>("f32", v, "f32", v, "f32", R"(
    %p = arith.mulf %a, %b : tensor<$nxf32>
    %one = arith.constant dense<-1.00048828125> : tensor<$nxf32>
    %r = arith.addf %p, %one : tensor<$nxf32>)");
  EXPECT_EQ(got[0], 0.0f);
  auto fused = apply<float, float, float>("f32", v, "f32", v, "f32", R"(
    %one = arith.constant dense<-1.00048828125> : tensor<$nxf32>
    %r = math.fma %a, %b, %one : tensor<$nxf32>)");
  EXPECT_EQ(fused[0], std::ldexp(1.0f, -24));
}

TEST(Ops, TranscendentalsAreRoundedFromF64) {
  std::vector<float> x{0.1f, -3.7f, 88.5f, 1e-30f, 12345.678f, -0.0f, 2.5f, -INFINITY};
  for (auto [op, exact] : {std::pair("math.exp", (double (*)(double))std::exp),
                           std::pair("math.exp2", (double (*)(double))std::exp2),
                           std::pair("math.sin", (double (*)(double))std::sin),
                           std::pair("math.tanh", (double (*)(double))std::tanh),
                           std::pair("math.erf", (double (*)(double))std::erf),
                           std::pair("math.roundeven", (double (*)(double))std::nearbyint)}) {
    auto got = apply<float, float, float>("f32", x, "f32", x, "f32",
                                          std::string("%r = ") + op + " %a : tensor<$nxf32>");
    for (size_t i = 0; i < x.size(); ++i) {
      float want = float(exact(x[i]));
      EXPECT_TRUE(got[i] == want || (std::isnan(got[i]) && std::isnan(want))) << op << " " << x[i];
    }
  }
}

TEST(Ops, LibdeviceFunctionsByName) {
  std::vector<float> x{0.25f, 0.5f, -0.75f, 2.0f};
  auto call = [&](const std::string &name) {
    return apply<float, float, float>("f32", x, "f32", x, "f32",
                                      "%r = tile.extern \"" + name +
                                          "\" (%a) : (tensor<$nxf32>) -> tensor<$nxf32>");
  };
  EXPECT_EQ(call("__nv_tanhf")[1], float(std::tanh(0.5)));
  EXPECT_EQ(call("__nv_sinpif")[1], 1.0f);
  EXPECT_EQ(call("__nv_sinpif")[3], 0.0f);
  EXPECT_NEAR(call("__nv_erfinvf")[1], 0.4769362762044699, 1e-7);
  EXPECT_NEAR(call("__nv_erfinvf")[2], -0.8134198475976185, 1e-7);
  EXPECT_NEAR(call("__nv_normcdfinvf")[0], -0.6744897501960817, 1e-7);
  EXPECT_NEAR(call("__nv_cyl_bessel_i0f")[3], 2.2795853023360673, 1e-6);
  EXPECT_NEAR(call("__nv_erfcxf")[3], 0.2553956763105057, 1e-7);
  auto down = apply<float, float, float>("f32", {1.0f, 1.0f}, "f32",
                                         {std::ldexp(1.0f, -30), -std::ldexp(1.0f, -30)}, "f32",
                                         "%r = tile.extern \"__nv_fadd_ru\" (%a, %b) : "
                                         "(tensor<$nxf32>, tensor<$nxf32>) -> tensor<$nxf32>");
  EXPECT_EQ(down[0], std::nextafter(1.0f, 2.0f));
  EXPECT_EQ(down[1], 1.0f);
  auto ints = apply<float, float, int32_t>(
      "f32", {2.5f, -2.5f, 3.5f, 1e20f}, "f32", x, "i32",
      "%r = tile.extern \"__nv_float2int_rd\" (%a) : (tensor<$nxf32>) -> $i32");
  EXPECT_EQ(ints, (std::vector<int32_t>{2, -3, 3, high}));
}

TEST(Ops, AnUnknownLibdeviceFunctionIsADiagnostic) {
  Kernel kernel(lanesKernel(
      2, "f32", "f32", "f32", "f32",
      "%r = tile.extern \"__nv_frobnicate\" (%a) : (tensor<$nxf32>) -> tensor<$nxf32>"));
  std::vector<float> v(2);
  auto result = kernel.tensor("a", v).tensor("b", v).tensor("c", v).tensor("r", v).tryRun();
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().what.find("__nv_frobnicate"), std::string::npos);
}

// --- shapes ---

TEST(Ops, ShapesMoveElements) {
  std::vector<int32_t> x{0, 1, 2, 3, 4, 5, 6, 7};
  auto run = [&](const std::string &body) {
    return apply<int32_t, int32_t, int32_t>("i32", x, "i32", {10, 11, 12, 13, 14, 15, 16, 17},
                                            "i32", body);
  };
  EXPECT_EQ(run(R"(%m = tile.reshape %a : $i32 -> tensor<2x4xi32>
                   %t = tile.trans %m [1, 0] : tensor<2x4xi32> -> tensor<4x2xi32>
                   %r = tile.reshape %t : tensor<4x2xi32> -> $i32)"),
            (std::vector<int32_t>{0, 4, 1, 5, 2, 6, 3, 7}));
  EXPECT_EQ(run(R"(%m = tile.reshape %a : $i32 -> tensor<2x2x2xi32>
                   %t = tile.trans %m [2, 0, 1] : tensor<2x2x2xi32> -> tensor<2x2x2xi32>
                   %r = tile.reshape %t : tensor<2x2x2xi32> -> $i32)"),
            (std::vector<int32_t>{0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ(run(R"(%j = tile.join %a, %b : $i32 -> tensor<$nx2xi32>
                   %f = tile.reshape %j : tensor<$nx2xi32> -> tensor<2x4x2xi32>
                   %l, %h = tile.split %f : tensor<2x4x2xi32> -> tensor<2x4xi32>
                   %r = tile.reshape %h : tensor<2x4xi32> -> $i32)"),
            (std::vector<int32_t>{10, 11, 12, 13, 14, 15, 16, 17}));
  EXPECT_EQ(run(R"(%m = tile.reshape %a : $i32 -> tensor<8x1xi32>
                   %w = tile.broadcast %m : tensor<8x1xi32> -> tensor<8x2xi32>
                   %l, %h = tile.split %w : tensor<8x2xi32> -> tensor<8xi32>
                   %r = arith.addi %l, %h : $i32)"),
            (std::vector<int32_t>{0, 2, 4, 6, 8, 10, 12, 14}));
  EXPECT_EQ(run(R"(%s = arith.constant 3 : i32
                   %i = tile.arange 0 to 4 : tensor<4xi32>
                   %i2 = tile.expand_dims %i axis 0 : tensor<4xi32> -> tensor<1x4xi32>
                   %b2 = tile.broadcast %i2 : tensor<1x4xi32> -> tensor<2x4xi32>
                   %three = arith.constant dense<3> : tensor<2x4xi32>
                   %back = arith.subi %three, %b2 : tensor<2x4xi32>
                   %m = tile.reshape %a : $i32 -> tensor<2x4xi32>
                   %g = tile.gather %m[%back] axis 1 : tensor<2x4xi32>, tensor<2x4xi32> -> tensor<2x4xi32>
                   %r = tile.reshape %g : tensor<2x4xi32> -> $i32)"),
            (std::vector<int32_t>{3, 2, 1, 0, 7, 6, 5, 4}));
  EXPECT_EQ(run(R"(%i = tile.reshape %a : $i32 -> tensor<8xi32>
                   %four = arith.constant dense<4> : tensor<8xi32>
                   %c2 = tile.remsi %i, %four : tensor<8xi32>
                   %m = arith.cmpi ne, %i, %four : tensor<8xi32>
                   %h = tile.histogram %c2 mask %m : tensor<8xi1> : tensor<8xi32> -> tensor<8xi32>
                   %r = tile.reshape %h : tensor<8xi32> -> $i32)"),
            (std::vector<int32_t>{1, 2, 2, 2, 0, 0, 0, 0}));
  EXPECT_EQ(run(R"(%l = tile.reshape %a : $i32 -> tensor<2x4xi32>
                   %x0 = tile.arange 4 to 8 : tensor<4xi32>
                   %x1 = tile.arange 0 to 4 : tensor<4xi32>
                   %r = tile.cat %x0, %x1 : tensor<4xi32>, tensor<4xi32> -> $i32)"),
            (std::vector<int32_t>{4, 5, 6, 7, 0, 1, 2, 3}));
}

// --- reductions, scans ---

TEST(Ops, ReducesAlongEachAxisInOrder) {
  // left - right is not associative: the order of combination shows.
  std::vector<int32_t> x{1, 2, 3, 4, 5, 6, 7, 8};
  auto rows = apply<int32_t, int32_t, int32_t>("i32", x, "i32", x, "i32", R"(
    %m = tile.reshape %a : $i32 -> tensor<2x4xi32>
    %s = tile.reduce (%m) axis 1 : (tensor<2x4xi32>) -> tensor<2xi32> {
    ^bb0(%l: i32, %h: i32):
      %d = arith.subi %l, %h : i32
      tile.yield %d : i32
    }
    %e = tile.expand_dims %s axis 1 : tensor<2xi32> -> tensor<2x1xi32>
    %w = tile.broadcast %e : tensor<2x1xi32> -> tensor<2x4xi32>
    %r = tile.reshape %w : tensor<2x4xi32> -> $i32)");
  EXPECT_EQ(rows[0], 1 - 2 - 3 - 4);
  EXPECT_EQ(rows[4], 5 - 6 - 7 - 8);
  auto columns = apply<int32_t, int32_t, int32_t>("i32", x, "i32", x, "i32", R"(
    %m = tile.reshape %a : $i32 -> tensor<2x4xi32>
    %s = tile.reduce (%m) axis 0 : (tensor<2x4xi32>) -> tensor<4xi32> {
    ^bb0(%l: i32, %h: i32):
      %d = arith.subi %l, %h : i32
      tile.yield %d : i32
    }
    %r = tile.cat %s, %s : tensor<4xi32>, tensor<4xi32> -> $i32)");
  EXPECT_EQ(columns, (std::vector<int32_t>{-4, -4, -4, -4, -4, -4, -4, -4}));
}

TEST(Ops, ReducesPairsToTheLeftmostMaximum) {
  std::vector<int32_t> x{3, 9, 9, 1};
  auto got = apply<int32_t, int32_t, int32_t>("i32", x, "i32", x, "i32", R"(
    %m, %k = tile.reduce (%a, %lane) axis 0 : ($i32, $i32) -> (i32, i32) {
    ^bb0(%v: i32, %i: i32, %w: i32, %j: i32):
      %gt = arith.cmpi sgt, %v, %w : i32
      %eq = arith.cmpi eq, %v, %w : i32
      %lt = arith.cmpi slt, %i, %j : i32
      %tie = arith.andi %eq, %lt : i1
      %take = arith.ori %gt, %tie : i1
      %rv = arith.select %take, %v, %w : i32
      %ri = arith.select %take, %i, %j : i32
      tile.yield %rv, %ri : i32, i32
    }
    %r = tile.splat %k : i32 -> $i32)");
  EXPECT_EQ(got[0], 1);
}

// A combine region may hold control flow and use values from outside; then it runs a lane at a
// time.
TEST(Ops, ReducesWithABranchAndOutsideValues) {
  std::vector<int32_t> x{5, 1, 7, 2};
  auto got = apply<int32_t, int32_t, int32_t>("i32", x, "i32", x, "i32", R"(
    %hundred = arith.constant 100 : i32
    %m = tile.reshape %a : $i32 -> tensor<2x2xi32>
    %s = tile.reduce (%m) axis 1 : (tensor<2x2xi32>) -> tensor<2xi32> {
    ^bb0(%l: i32, %h: i32):
      %gt = arith.cmpi sgt, %l, %h : i32
      %v = scf.if %gt -> i32 {
        %t = arith.addi %l, %hundred : i32
        scf.yield %t : i32
      } else {
        scf.yield %h : i32
      }
      tile.yield %v : i32
    }
    %r = tile.cat %s, %s : tensor<2xi32>, tensor<2xi32> -> $i32)");
  EXPECT_EQ(got, (std::vector<int32_t>{105, 107, 105, 107}));
  auto vectorised = apply<int32_t, int32_t, int32_t>("i32", x, "i32", x, "i32", R"(
    %hundred = arith.constant 100 : i32
    %m = tile.reshape %a : $i32 -> tensor<2x2xi32>
    %s = tile.reduce (%m) axis 1 : (tensor<2x2xi32>) -> tensor<2xi32> {
    ^bb0(%l: i32, %h: i32):
      %t = arith.addi %l, %hundred : i32
      %u = arith.addi %t, %h : i32
      tile.yield %u : i32
    }
    %r = tile.cat %s, %s : tensor<2xi32>, tensor<2xi32> -> $i32)");
  EXPECT_EQ(vectorised, (std::vector<int32_t>{106, 109, 106, 109}));
}

TEST(Ops, ScansBothWays) {
  std::vector<int32_t> x{1, 2, 3, 4, 5, 6, 7, 8};
  auto scan = [&](const char *direction, int axis) {
    return apply<int32_t, int32_t, int32_t>(
        "i32", x, "i32", x, "i32",
        "%m = tile.reshape %a : $i32 -> tensor<2x4xi32>\n%s = tile.scan (%m) axis " +
            std::to_string(axis) + direction + R"( : (tensor<2x4xi32>) -> tensor<2x4xi32> {
    ^bb0(%l: i32, %h: i32):
      %two = arith.constant 2 : i32
      %t = arith.muli %l, %two : i32
      %d = arith.addi %t, %h : i32
      tile.yield %d : i32
    }
    %r = tile.reshape %s : tensor<2x4xi32> -> $i32)");
  };
  EXPECT_EQ(scan("", 1), (std::vector<int32_t>{1, 4, 11, 26, 5, 16, 39, 86}));
  EXPECT_EQ(scan(" reverse", 1), (std::vector<int32_t>{49, 24, 11, 4, 109, 52, 23, 8}));
  EXPECT_EQ(scan("", 0), (std::vector<int32_t>{1, 2, 3, 4, 7, 10, 13, 16}));
}

TEST(Ops, MapsPacksOfElements) {
  std::vector<int32_t> x{1, 2, 3, 4};
  auto got = apply<int32_t, int32_t, int32_t>("i32", x, "i32", {10, 20, 30, 40}, "i32", R"(
    %r = tile.map pack 2 (%a, %b) : ($i32, $i32) -> $i32 {
    ^bb0(%a0: i32, %a1: i32, %b0: i32, %b1: i32):
      %s = arith.addi %a0, %b1 : i32
      %t = arith.subi %a1, %b0 : i32
      tile.yield %s, %t : i32, i32
    })");
  EXPECT_EQ(got, (std::vector<int32_t>{21, -8, 43, -26}));
}

// --- products ---

TEST(Ops, DotOfBytesWrapsAndReadsSigns) {
  std::vector<int8_t> a(256), b(256);
  for (int i = 0; i < 256; ++i) {
    a[i] = i * 7;
    b[i] = i * 13 + 5;
  }
  for (bool isUnsigned : {false, true}) {
    auto got = apply<int8_t, int8_t, int32_t>(
        "i8", a, "i8", b, "i32",
        std::string(R"(
      %x = tile.reshape %a : tensor<$nxi8> -> tensor<16x16xi8>
      %y = tile.reshape %b : tensor<$nxi8> -> tensor<16x16xi8>
      %z = arith.constant dense<1> : tensor<16x16xi32>
      %d = tile.dot %x, %y, %z)") +
            (isUnsigned ? " unsigned" : "") +
            R"( : tensor<16x16xi8>, tensor<16x16xi8> -> tensor<16x16xi32>
      %r = tile.reshape %d : tensor<16x16xi32> -> $i32)");
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 16; ++j) {
        int sum = 1;
        for (int k = 0; k < 16; ++k)
          sum += isUnsigned ? int(uint8_t(a[i * 16 + k])) * int(uint8_t(b[k * 16 + j]))
                            : int(a[i * 16 + k]) * int(b[k * 16 + j]);
        ASSERT_EQ(got[i * 16 + j], sum);
      }
  }
}

TEST(Ops, DotOfF32IsIeeeUnlessTf32IsAskedFor) {
  std::vector<float> a(256), b(256);
  for (int i = 0; i < 256; ++i) {
    a[i] = std::sin(i + 0.1f);
    b[i] = std::cos(3 * i + 0.2f);
  }
  const char *body = R"(
      %x = tile.reshape %a : tensor<$nxf32> -> tensor<16x16xf32>
      %y = tile.reshape %b : tensor<$nxf32> -> tensor<16x16xf32>
      %z = arith.constant dense<0.0> : tensor<16x16xf32>
      %d = tile.dot %x, %y, %z precision <tf32> : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
      %r = tile.reshape %d : tensor<16x16xf32> -> tensor<$nxf32>)";
  auto ieee = apply<float, float, float>("f32", a, "f32", b, "f32", body);
  auto tf32 = apply<float, float, float>("f32", a, "f32", b, "f32", body, {.emulateTf32 = true});
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j) {
      float plain = 0, cut = 0;
      for (int k = 0; k < 16; ++k) {
        float p = a[i * 16 + k] * b[k * 16 + j];
        plain += p;
        float q = roundToTf32(a[i * 16 + k]) * roundToTf32(b[k * 16 + j]);
        cut += q;
      }
      ASSERT_EQ(ieee[i * 16 + j], plain);
      ASSERT_EQ(tf32[i * 16 + j], cut);
    }
  EXPECT_NE(ieee, tf32);
}

TEST(Ops, DotScaledAppliesScalesOf32) {
  // 16 x 64 fp4 values (two a byte) times 64 x 16 e4m3 values.
  Kernel kernel(R"(
    func.func @k(%out: !tile.ptr<f32>) {
      %a = arith.constant dense<0x21> : tensor<16x32xi8>
      %b = arith.constant dense<0x38> : tensor<64x16xi8>
      %as = arith.constant dense<[[128, 127]]> : tensor<1x2xi8>
      %as16 = tile.broadcast %as : tensor<1x2xi8> -> tensor<16x2xi8>
      %z = arith.constant dense<0.5> : tensor<16x16xf32>
      %d = tile.dot_scaled %a scale %as16 : tensor<16x2xi8> <e2m1>, %b <e4m3>, %z packed true true : tensor<16x32xi8>, tensor<64x16xi8> -> tensor<16x16xf32>
      %s = tile.reshape %d : tensor<16x16xf32> -> tensor<256xf32>
      %r = tile.arange 0 to 256 : tensor<256xi32>
      %os = tile.splat %out : !tile.ptr<f32> -> tensor<256x!tile.ptr<f32>>
      %oa = tile.addptr %os, %r : tensor<256x!tile.ptr<f32>>, tensor<256xi32>
      tile.store %oa, %s : tensor<256x!tile.ptr<f32>>, tensor<256xf32>
      return
    })");
  std::vector<float> out(256);
  kernel.tensor("out", out).run();
  // Low nibbles 1 are 0.5, high ones 2 are 1.0; the first 32 of K are scaled by 2, the others by 1.
  for (float v : out)
    EXPECT_EQ(v, 0.5f + 16 * (0.5f + 1) * 2 + 16 * (0.5f + 1));
}

// --- control flow ---

TEST(Ops, LoopsCountWithoutOverflow) {
  // The last value is INT_MAX - 1; the next would wrap.
  auto got = apply<int32_t, int32_t, int32_t>("i32", {0, 0}, "i32", {0, 0}, "i32", R"(
    %low = arith.constant 2147483640 : i32
    %high = arith.constant 2147483647 : i32
    %step = arith.constant 3 : i32
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %n = scf.for %i = %low to %high step %step iter_args(%count = %zero) -> i32 : i32 {
      %d = arith.addi %count, %one : i32
      scf.yield %d : i32
    }
    %none = scf.for %i = %high to %low step %step iter_args(%count = %n) -> i32 : i32 {
      scf.yield %zero : i32
    }
    %r = tile.splat %none : i32 -> $i32)");
  EXPECT_EQ(got[0], 3);
}

TEST(Ops, LoopsSwapWhatTheyCarry) {
  auto got = apply<int32_t, int32_t, int32_t>("i32", {1, 2}, "i32", {10, 20}, "i32", R"(
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c3 = arith.constant 3 : i32
    %q:3 = scf.for %i = %c0 to %c3 step %c1 iter_args(%x = %a, %y = %b, %z = %lane) -> ($i32, $i32, $i32) : i32 {
      scf.yield %y, %z, %x : $i32, $i32, $i32
    }
    %p:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%x = %a, %y = %b) -> ($i32, $i32) : i32 {
      scf.yield %y, %x : $i32, $i32
    }
    %r0 = arith.subi %p#0, %p#1 : $i32
    %r1 = arith.addi %r0, %q#0 : $i32
    %r = arith.addi %r1, %q#2 : $i32)");
  // After three turns: q is as before (a, b, lane), p is swapped.
  EXPECT_EQ(got, (std::vector<int32_t>{10 - 1 + 1 + 0, 20 - 2 + 2 + 1}));
}

TEST(Ops, WhileLoopsAndBranches) {
  // Collatz steps of 27.
  auto got = apply<int32_t, int32_t, int32_t>("i32", {0, 0}, "i32", {0, 0}, "i32", R"(
    %n0 = arith.constant 27 : i32
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %three = arith.constant 3 : i32
    %q:2 = scf.while (%n = %n0, %k = %zero) : (i32, i32) -> (i32, i32) {
      %go = arith.cmpi ne, %n, %one : i32
      scf.condition(%go) %k, %n : i32, i32
    } do {
    ^bb0(%k: i32, %n: i32):
      %odd = arith.andi %n, %one : i32
      %isodd = arith.cmpi eq, %odd, %one : i32
      %m = scf.if %isodd -> i32 {
        %t = arith.muli %n, %three : i32
        %u = arith.addi %t, %one : i32
        scf.yield %u : i32
      } else {
        %h = tile.divsi %n, %two : i32
        scf.yield %h : i32
      }
      %k1 = arith.addi %k, %one : i32
      scf.yield %m, %k1 : i32, i32
    }
    %r = tile.splat %q#0 : i32 -> $i32)");
  EXPECT_EQ(got[0], 111);
}

TEST(Ops, AnEndlessLoopMeetsTheLimit) {
  Kernel kernel(R"(
    func.func @k() {
      %true = arith.constant true
      scf.while : () -> () {
        scf.condition(%true)
      } do {
        scf.yield
      }
      return
    })",
                {.maxOperations = 100000});
  auto result = kernel.tryRun();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().diagnostics[0].code, "OperationLimit");
}

TEST(Ops, ALongLaunchTellsHowFarItIs) {
  Kernel kernel(R"(
    func.func @k() {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %many = arith.constant 1000 : index
      scf.for %i = %zero to %many step %one {
        %j = arith.addi %i, %i : index
      }
      return
    })");
  std::vector<Progress> seen;
  kernel.launch.onProgress = [&](const Progress &progress) { seen.push_back(progress); };
  auto result = kernel.tryRun(7);
  ASSERT_TRUE(result.ok());
  ASSERT_GE(seen.size(), result->operations / 512);
  for (size_t i = 1; i < seen.size(); ++i) {
    EXPECT_GT(seen[i].operations, seen[i - 1].operations);
    EXPECT_GE(seen[i].programs, seen[i - 1].programs);
    EXPECT_EQ(seen[i].allPrograms, 7u);
  }
  EXPECT_EQ(seen.back().programs, 7u);
}

} // namespace
} // namespace nereid::ref
