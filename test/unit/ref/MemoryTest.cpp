// Memory: masks, bounds, atomics, descriptors, printing.
#include "Harness.h"

#include <cmath>

namespace nereid::ref {
namespace {

TEST(Memory, MaskedLanesTouchNothing) {
  // Address 8 is nobody's.
  Kernel kernel(R"(
    func.func @k(%p: !tile.ptr<i32>, %out: !tile.ptr<i32>) {
      %r = tile.arange 0 to 4 : tensor<4xi32>
      %two = arith.constant dense<2> : tensor<4xi32>
      %m = arith.cmpi slt, %r, %two : tensor<4xi32>
      %bad64 = arith.constant dense<8> : tensor<4xi64>
      %bad = tile.int_to_ptr %bad64 : tensor<4xi64> -> tensor<4x!tile.ptr<i32>>
      %ps = tile.splat %p : !tile.ptr<i32> -> tensor<4x!tile.ptr<i32>>
      %pa = tile.addptr %ps, %r : tensor<4x!tile.ptr<i32>>, tensor<4xi32>
      %a = arith.select %m, %pa, %bad : tensor<4xi1>, tensor<4x!tile.ptr<i32>>
      %other = arith.constant dense<[5, 6, 7, 8]> : tensor<4xi32>
      %v = tile.load %a mask %m : tensor<4xi1> other %other : tensor<4xi32> : tensor<4x!tile.ptr<i32>> -> tensor<4xi32>
      %w = tile.load %a mask %m : tensor<4xi1> : tensor<4x!tile.ptr<i32>> -> tensor<4xi32>
      %s = arith.addi %v, %w : tensor<4xi32>
      %os = tile.splat %out : !tile.ptr<i32> -> tensor<4x!tile.ptr<i32>>
      %oa = tile.addptr %os, %r : tensor<4x!tile.ptr<i32>>, tensor<4xi32>
      tile.store %oa, %s : tensor<4x!tile.ptr<i32>>, tensor<4xi32>
      tile.store %a, %other mask %m : tensor<4xi1> : tensor<4x!tile.ptr<i32>>, tensor<4xi32>
      return
    })");
  std::vector<int32_t> p{100, 200}, out(4);
  kernel.tensor("p", p).tensor("out", out).run();
  EXPECT_EQ(out, (std::vector<int32_t>{200, 400, 7, 8}));
  EXPECT_EQ(p, (std::vector<int32_t>{5, 6}));
}

TEST(Memory, AnAccessOutsideIsAnErrorAndNoCrash) {
  const char *text = R"(func.func @k(%p: !tile.ptr<f32>, %at: i32) {
      %a = tile.addptr %p, %at : !tile.ptr<f32>, i32
      %v = tile.load %a : !tile.ptr<f32> -> f32
      return
    })";
  for (int at : {4, -1, 1 << 30}) {
    std::vector<float> p(4);
    Kernel kernel(text);
    auto result = kernel.tensor("p", p).value(at).tryRun();
    ASSERT_FALSE(result.ok()) << at;
    const Diagnostic &diagnostic = result.error().diagnostics[0];
    EXPECT_EQ(diagnostic.code, "OutOfBounds");
    EXPECT_EQ(diagnostic.where.begin.line, 3u);
    if (at == 4)
      EXPECT_NE(diagnostic.message.find("element 4 of 4"), std::string::npos) << diagnostic.message;
    if (at == -1)
      EXPECT_NE(diagnostic.message.find("element -1 of 4"), std::string::npos)
          << diagnostic.message;
  }
}

TEST(Memory, OffsetsAreExtendedBySign) {
  const char *text = R"(func.func @k(%p: !tile.ptr<i8>, %at: i32, %out: !tile.ptr<i64>) {
      %s = tile.addptr %p, %at : !tile.ptr<i8>, i32
      %u = tile.addptr %p, %at unsigned : !tile.ptr<i8>, i32
      %si = tile.ptr_to_int %s : !tile.ptr<i8> -> i64
      %ui = tile.ptr_to_int %u : !tile.ptr<i8> -> i64
      %d = arith.subi %ui, %si : i64
      tile.store %out, %d : !tile.ptr<i64>, i64
      return
    })";
  std::vector<int8_t> p(1);
  std::vector<int64_t> out(1);
  Kernel(text).tensor("p", p).value(-1).tensor("out", out).run();
  EXPECT_EQ(out[0], int64_t(1) << 32);
}

TEST(Memory, BooleansAreBytes) {
  Kernel kernel(R"(
    func.func @k(%p: !tile.ptr<i1>, %q: !tile.ptr<i1>) {
      %r = tile.arange 0 to 4 : tensor<4xi32>
      %ps = tile.splat %p : !tile.ptr<i1> -> tensor<4x!tile.ptr<i1>>
      %pa = tile.addptr %ps, %r : tensor<4x!tile.ptr<i1>>, tensor<4xi32>
      %qs = tile.splat %q : !tile.ptr<i1> -> tensor<4x!tile.ptr<i1>>
      %qa = tile.addptr %qs, %r : tensor<4x!tile.ptr<i1>>, tensor<4xi32>
      %v = tile.load %pa : tensor<4x!tile.ptr<i1>> -> tensor<4xi1>
      tile.store %qa, %v : tensor<4x!tile.ptr<i1>>, tensor<4xi1>
      return
    })");
  std::vector<uint8_t> p{0, 1, 2, 255}, q(4, 9);
  kernel.tensor("p", p).tensor("q", q).run();
  EXPECT_EQ(q, (std::vector<uint8_t>{0, 1, 1, 1}));
}

template <typename T>
std::pair<std::vector<T>, std::vector<T>> atomic(const std::string &kind, const std::string &type,
                                                 std::vector<T> memory, std::vector<T> values) {
  std::string n = std::to_string(memory.size());
  std::vector<T> old(memory.size());
  std::string p = "tensor<" + n + "x!tile.ptr<" + type + ">>", v = "tensor<" + n + "x" + type + ">",
              i = "tensor<" + n + "xi32>", s = "!tile.ptr<" + type + ">";
  Kernel kernel("func.func @k(%m: " + s + ", %x: " + s + ", %o: " + s +
                ") {\n%r = tile.arange 0 to " + n + " : " + i + "\n%ms = tile.splat %m : " + s +
                " -> " + p + "\n%ma = tile.addptr %ms, %r : " + p + ", " + i +
                "\n%xs = tile.splat %x : " + s + " -> " + p + "\n%xa = tile.addptr %xs, %r : " + p +
                ", " + i + "\n%os = tile.splat %o : " + s + " -> " + p +
                "\n%oa = tile.addptr %os, %r : " + p + ", " + i + "\n%xv = tile.load %xa : " + p +
                " -> " + v + "\n%old = tile.atomic_rmw <" + kind +
                ">, <acq_rel>, <gpu>, %ma, %xv : " + p + ", " + v + " -> " + v +
                "\ntile.store %oa, %old : " + p + ", " + v + "\nreturn\n}");
  kernel.tensor("m", memory).tensor("x", values).tensor("o", old).run();
  return {memory, old};
}

TEST(Memory, AtomicsOfEachKind) {
  using V = std::vector<int32_t>;
  V m{5, -5}, x{3, 3};
  EXPECT_EQ(atomic("add", "i32", m, x).first, (V{8, -2}));
  EXPECT_EQ(atomic("max", "i32", m, x).first, (V{5, 3}));
  EXPECT_EQ(atomic("min", "i32", m, x).first, (V{3, -5}));
  EXPECT_EQ(atomic("umax", "i32", m, x).first, (V{5, -5}));
  EXPECT_EQ(atomic("umin", "i32", m, x).first, (V{3, 3}));
  EXPECT_EQ(atomic("and", "i32", m, x).first, (V{1, 3}));
  EXPECT_EQ(atomic("or", "i32", m, x).first, (V{7, -5}));
  EXPECT_EQ(atomic("xor", "i32", m, x).first, (V{6, -8}));
  EXPECT_EQ(atomic("xchg", "i32", m, x).first, (V{3, 3}));
  EXPECT_EQ(atomic("xchg", "i32", m, x).second, m);
  using F = std::vector<float>;
  EXPECT_EQ(atomic("fadd", "f32", F{1.5f, 2}, F{0.25f, -2}).first, (F{1.75f, 0}));
  EXPECT_EQ(atomic("fmax", "f32", F{-1.5f, 2}, F{-0.5f, 1}).first, (F{-0.5f, 2}));
  EXPECT_EQ(atomic("fmin", "f32", F{-1.5f, 2}, F{-2.5f, 1}).first, (F{-2.5f, 1}));
  EXPECT_TRUE(std::signbit(atomic("fmin", "f32", F{0.0f, 1}, F{-0.0f, 1}).first[0]));
  using H = std::vector<uint16_t>;
  // 2048 + 1 is halfway in f16 and stays even.
  EXPECT_EQ(atomic("fadd", "f16", H{0x6800, 0x3c00}, H{0x3c00, 0x3c00}).first, (H{0x6800, 0x4000}));
}

TEST(Memory, AnElementNamedTwiceActsTwice) {
  Kernel kernel(R"(
    func.func @k(%p: !tile.ptr<i32>) {
      %one = arith.constant dense<1> : tensor<8xi32>
      %ps = tile.splat %p : !tile.ptr<i32> -> tensor<8x!tile.ptr<i32>>
      %o = tile.atomic_rmw <add>, <relaxed>, <gpu>, %ps, %one : tensor<8x!tile.ptr<i32>>, tensor<8xi32> -> tensor<8xi32>
      return
    })");
  std::vector<int32_t> p{0};
  kernel.tensor("p", p).run(100);
  EXPECT_EQ(p[0], 800);
}

TEST(Memory, CompareAndSwap) {
  Kernel kernel(R"(
    func.func @k(%p: !tile.ptr<i32>, %c: i32, %v: i32, %out: !tile.ptr<i32>) {
      %o = tile.atomic_cas <acq_rel>, <gpu>, %p, %c, %v : !tile.ptr<i32>, i32 -> i32
      tile.store %out, %o : !tile.ptr<i32>, i32
      return
    })");
  std::vector<int32_t> p{7}, out(1);
  kernel.tensor("p", p).value(7).value(9).tensor("out", out).run();
  EXPECT_EQ(p[0], 9);
  EXPECT_EQ(out[0], 7);
  kernel.run();
  EXPECT_EQ(p[0], 9);
  EXPECT_EQ(out[0], 9);
}

TEST(Memory, DescriptorsPadAndDrop) {
  Kernel kernel(R"(
    func.func @k(%p: !tile.ptr<f32>, %q: !tile.ptr<f32>, %rows: i64, %cols: i64, %r0: i32, %c0: i32) {
      %one = arith.constant 1 : i64
      %d = tile.make_desc %p, [%rows, %cols], [%cols, %one] : !tile.ptr<f32> -> !tile.desc<2x4xf32, nan>
      %e = tile.make_desc %q, [%rows, %cols], [%cols, %one] : !tile.ptr<f32> -> !tile.desc<2x4xf32>
      %v = tile.desc_load %d[%r0, %c0] : !tile.desc<2x4xf32, nan> -> tensor<2x4xf32>
      %nan = arith.cmpf une, %v, %v : tensor<2x4xf32>
      %mark = arith.constant dense<-1.0> : tensor<2x4xf32>
      %w = arith.select %nan, %mark, %v : tensor<2x4xi1>, tensor<2x4xf32>
      tile.desc_store %e[%r0, %c0], %w : !tile.desc<2x4xf32>, tensor<2x4xf32>
      %z = arith.constant 0 : i32
      tile.desc_reduce <fadd>, %e[%z, %z], %w : !tile.desc<2x4xf32>, tensor<2x4xf32>
      return
    })");
  std::vector<float> p(15), q(15);
  for (int i = 0; i < 15; ++i)
    p[i] = i;
  // A 3 x 5 tensor, the block at (2, 3): only elements 13 and 14 are inside.
  kernel.tensor("p", p).tensor("q", q).value(3).value(5).value(2).value(3).run();
  std::vector<float> want(15);
  want[13] = 13;
  want[14] = 14;
  float block[2][4] = {{13, 14, -1, -1}, {-1, -1, -1, -1}};
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j)
      want[i * 5 + j] += block[i][j];
  EXPECT_EQ(q, want);
}

TEST(Memory, DescriptorsGatherAndScatterRows) {
  Kernel kernel(R"(
    func.func @k(%d: !tile.desc<1x4xi32>, %e: !tile.desc<1x4xi32>) {
      %rows = arith.constant dense<[2, 0, 9, 1, 2, 2, 0, 0]> : tensor<8xi32>
      %to = tile.arange 0 to 8 : tensor<8xi32>
      %c = arith.constant 0 : i32
      %v = tile.desc_gather %d[%rows, %c] : !tile.desc<1x4xi32>, tensor<8xi32> -> tensor<8x4xi32>
      tile.desc_scatter %e[%to, %c], %v : !tile.desc<1x4xi32>, tensor<8xi32>, tensor<8x4xi32>
      return
    })");
  std::vector<int32_t> x(12), y(32, -1);
  for (int i = 0; i < 12; ++i)
    x[i] = i;
  kernel.tensor("x", x).tensor("y", y);
  kernel.launch.arguments = {DescriptorArgument{kernel.launch.memory[0].base, {3, 4}, {4, 1}},
                             DescriptorArgument{kernel.launch.memory[1].base, {8, 4}, {4, 1}}};
  kernel.run();
  std::vector<int32_t> rows{2, 0, 9, 1, 2, 2, 0, 0};
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 4; ++j)
      EXPECT_EQ(y[i * 4 + j], rows[i] < 3 ? rows[i] * 4 + j : 0);
}

TEST(Memory, PrintsEachElementOnce) {
  Kernel kernel(R"(
    func.func @k(%f: f32) {
      %r = tile.arange 0 to 2 : tensor<2xi32>
      %pid = tile.program_id 0
      tile.print " x: " hex false signed [true, true] : %r, %f : tensor<2xi32>, f32
      tile.print " id: " hex true signed [false] : %pid : i32
      return
    })");
  kernel.value(1.5).run(2);
  EXPECT_EQ(
      kernel.printed,
      (std::vector<std::string>{
          "pid (0, 0, 0) idx (0) x: (operand 0) 0", "pid (0, 0, 0) idx (1) x: (operand 0) 1",
          "pid (0, 0, 0) idx () x: (operand 1) 1.500000", "pid (0, 0, 0) idx () id: 0x00000000",
          "pid (1, 0, 0) idx (0) x: (operand 0) 0", "pid (1, 0, 0) idx (1) x: (operand 0) 1",
          "pid (1, 0, 0) idx () x: (operand 1) 1.500000", "pid (1, 0, 0) idx () id: 0x00000001"}));
}

TEST(Memory, AFailedAssertIsToldAndTheLaunchGoesOn) {
  Kernel kernel(R"(func.func @k(%p: !tile.ptr<i32>) {
      %r = tile.arange 0 to 4 : tensor<4xi32>
      %two = arith.constant dense<2> : tensor<4xi32>
      %c = arith.cmpi ne, %r, %two : tensor<4xi32>
      tile.assert %c, "not two" : tensor<4xi1>
      %one = arith.constant 1 : i32
      tile.store %p, %one : !tile.ptr<i32>, i32
      return
    })");
  std::vector<int32_t> p(1);
  Statistics statistics = kernel.tensor("p", p).run(3);
  EXPECT_EQ(p[0], 1);
  EXPECT_EQ(statistics.failedAsserts, 3u);
  ASSERT_EQ(kernel.findings.size(), 3u);
  EXPECT_EQ(kernel.findings[1].diagnostic.code, "AssertFailed");
  EXPECT_EQ(kernel.findings[1].diagnostic.where.begin.line, 5u);
  EXPECT_EQ(kernel.findings[1].index, (std::vector<int64_t>{2}));
  EXPECT_EQ(kernel.findings[1].program[0], 1u);
}

} // namespace
} // namespace nereid::ref
