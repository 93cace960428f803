// Products on every level of features, every element type and every order of the operands in
// memory. The elements are small integers, so each result is exact whatever the order of the sums.
#include "CpuHarness.h"
#include "TileModel.h"

#include <random>
#include <sstream>

using namespace nereid;
using namespace nereid::test;

namespace {

struct DotCase {
  std::string element, sum;
  bool isUnsigned = false;
  int batch = 0, m, n, k;                    // batch 0: a product of matrices
  bool turnedLhs = false, turnedRhs = false; // adjacent along the other dimension in memory
  bool byOp = false;                         // and turned by tile.trans rather than by pointers
  bool outside = false;                      // loaded before the loop that multiplies twice

  std::string name() const {
    std::ostringstream text;
    text << (isUnsigned ? "u" : "") << element << " " << batch << "x" << m << "x" << n << "x" << k
         << (turnedLhs ? " turned lhs" : "") << (turnedRhs ? " turned rhs" : "")
         << (byOp ? " by op" : "") << (outside ? " outside" : "");
    return text.str();
  }
};

class DotWriter {
public:
  explicit DotWriter(const DotCase &of) : of(of) {}

  std::string kernel() {
    std::string loads;
    std::swap(loads, text);
    std::string a = load("a", of.element, of.m, of.k, of.turnedLhs);
    std::string b = load("b", of.element, of.k, of.n, of.turnedRhs);
    std::swap(loads, text);
    std::string c = pointers("c", of.sum, of.m, of.n, false);
    std::string acc = type(of.m, of.n, of.sum);
    line(
        "%c0 = arith.constant 0 : i32\n%c1 = arith.constant 1 : i32\n%c2 = arith.constant 2 : i32");
    line("%init = tile.load " + c + " : " + type(of.m, of.n, pointer(of.sum)) + " -> " + acc);
    if (of.outside)
      text += loads;
    line("%r = scf.for %i = %c0 to %c2 step %c1 iter_args(%acc = %init) -> (" + acc + ") : i32 {");
    if (!of.outside)
      text += loads;
    line("%d = tile.dot " + a + ", " + b + ", %acc" + (of.isUnsigned ? " unsigned" : "") + " : " +
         type(of.m, of.k, of.element) + ", " + type(of.k, of.n, of.element) + " -> " + acc);
    line("scf.yield %d : " + acc + "\n}");
    line("tile.store " + c + ", %r : " + type(of.m, of.n, pointer(of.sum)) + ", " + acc);
    return "func.func @dot(%a: " + pointer(of.element) + ", %b: " + pointer(of.element) +
           ", %c: " + pointer(of.sum) + ") attributes {tile.kernel} {\n" + text + "return\n}\n";
  }

private:
  static std::string pointer(const std::string &element) { return "!tile.ptr<" + element + ">"; }
  std::string type(int rows, int columns, const std::string &element) const {
    return "tensor<" + (of.batch ? std::to_string(of.batch) + "x" : "") + std::to_string(rows) +
           "x" + std::to_string(columns) + "x" + element + ">";
  }
  void line(const std::string &what) { text += what + "\n"; }
  std::string value(const std::string &what) {
    std::string name = "%v" + std::to_string(next++);
    line(name + " = " + what);
    return name;
  }

  // Addresses of a matrix, a batch of them one after the other.
  std::string pointers(const std::string &base, const std::string &element, int rows, int columns,
                       bool turned) {
    int dims = of.batch ? 3 : 2;
    int shape[3] = {of.batch, rows, columns};
    int strides[3] = {rows * columns, turned ? 1 : columns, turned ? rows : 1};
    std::string full = type(rows, columns, "i32"), sum;
    for (int d = 3 - dims; d < 3; ++d) {
      std::string extent = std::to_string(shape[d]);
      std::string one = value("tile.arange 0 to " + extent + " : tensor<" + extent + "xi32>");
      if (strides[d] != 1) {
        std::string factor = value("arith.constant dense<" + std::to_string(strides[d]) +
                                   "> : tensor<" + extent + "xi32>");
        one = value("arith.muli " + one + ", " + factor + " : tensor<" + extent + "xi32>");
      }
      std::string from = "tensor<" + extent + "xi32>";
      int rank = 1, mine = d - (3 - dims);
      for (int axis = 0; axis < dims; ++axis) {
        if (axis == mine)
          continue;
        std::string to = "tensor<";
        for (int i = 0; i <= rank; ++i) {
          // After the axes so far, the own one stands at its place among them.
          int place = axis < mine ? axis + 1 : mine;
          to += (i == place ? extent : "1") + std::string("x");
        }
        to += "i32>";
        one = value("tile.expand_dims " + one + " axis " + std::to_string(axis) + " : " + from +
                    " -> " + to);
        from = to;
        ++rank;
      }
      if (from != full)
        one = value("tile.broadcast " + one + " : " + from + " -> " + full);
      sum = sum.empty() ? one : value("arith.addi " + sum + ", " + one + " : " + full);
    }
    std::string all = type(rows, columns, pointer(element));
    std::string splat = value("tile.splat %" + base + " : " + pointer(element) + " -> " + all);
    return value("tile.addptr " + splat + ", " + sum + " : " + all + ", " + full);
  }

  std::string load(const std::string &base, const std::string &element, int rows, int columns,
                   bool turned) {
    bool byOp = turned && of.byOp;
    int r = byOp ? columns : rows, c = byOp ? rows : columns;
    std::string from = pointers(base, element, r, c, turned && !byOp);
    std::string tile = value("tile.load " + from + " : " + type(r, c, pointer(element)) + " -> " +
                             type(r, c, element));
    if (!byOp)
      return tile;
    return value("tile.trans " + tile + (of.batch ? " [0, 2, 1]" : " [1, 0]") + " : " +
                 type(r, c, element) + " -> " + type(rows, columns, element));
  }

  const DotCase &of;
  std::string text;
  int next = 0;
};

template <typename T> T element(int value) { return T(value); }
struct BFloat16 {
  uint16_t bits;
};
template <> BFloat16 element(int value) {
  float wide = float(value);
  uint32_t bits;
  std::memcpy(&bits, &wide, 4);
  return {uint16_t(bits >> 16)};
}

template <typename T, typename Sum>
void check(const DotCase &of, const pipeline::CpuOptions &options, int low, int high) {
  auto kernel = compileForCpu(DotWriter(of).kernel(), options);
  ASSERT_TRUE(kernel.kernel) << of.name() << ": " << kernel.failure << "\n"
                             << DotWriter(of).kernel();
  int batches = std::max(of.batch, 1);
  std::mt19937 random(7);
  auto draw = [&](int count) {
    std::vector<int> values(count);
    for (int &value : values)
      value = low + int(random() % unsigned(high - low + 1));
    return values;
  };
  std::vector<int> a = draw(batches * of.m * of.k), b = draw(batches * of.k * of.n),
                   c = draw(batches * of.m * of.n);
  std::vector<T> as, bs;
  std::vector<Sum> cs;
  for (int value : a)
    as.push_back(element<T>(value));
  for (int value : b)
    bs.push_back(element<T>(value));
  for (int value : c)
    cs.push_back(element<Sum>(value));
  kernel.run(Arguments().add(as.data()).add(bs.data()).add(cs.data()), {1, 1, 1});
  for (int at = 0; at < batches; ++at)
    for (int i = 0; i < of.m; ++i)
      for (int j = 0; j < of.n; ++j) {
        int64_t want = 0;
        for (int k = 0; k < of.k; ++k)
          want += int64_t(a[at * of.m * of.k + (of.turnedLhs ? k * of.m + i : i * of.k + k)]) *
                  b[at * of.k * of.n + (of.turnedRhs ? j * of.k + k : k * of.n + j)];
        int place = (at * of.m + i) * of.n + j;
        ASSERT_EQ(double(cs[place]), double(c[place] + 2 * want))
            << of.name() << " [" << at << ", " << i << ", " << j << "] with "
            << options.features.text();
      }
}

std::vector<pipeline::CpuOptions> featureLevels() {
  std::vector<pipeline::CpuOptions> levels;
  for (const char *name : {"x86-64", "x86-64-v3", "x86-64-v4", "native"}) {
    auto features = target::cpuLevel(name);
    if (features && target::hostCpuFeatures().covers(*features))
      levels.push_back({*features});
  }
  if (auto tiles = withTiles(target::hostCpuFeatures()))
    levels.push_back({*tiles});
  return levels;
}

TEST(CpuDot, EveryTypeOrderAndLevelIsExact) {
  struct Size {
    int batch, m, n, k;
  };
  const Size sizes[] = {{0, 16, 16, 16}, {0, 64, 64, 32}, {0, 8, 4, 2},
                        {0, 1, 32, 64},  {0, 32, 8, 16},  {2, 16, 32, 64}};
  unsigned compiled = 0;
  for (const auto &options : featureLevels())
    for (const Size &size : sizes)
      for (int order = 0; order < 8; ++order) {
        DotCase of;
        of.batch = size.batch, of.m = size.m, of.n = size.n, of.k = size.k;
        of.turnedLhs = order & 1, of.turnedRhs = order & 2, of.byOp = order & 4;
        of.outside = (order + size.m) % 3 == 0;
        // Each type meets each order at some size, each size at some order.
        switch ((compiled++ + order) % 6) {
        case 0:
          of.element = of.sum = "f32";
          check<float, float>(of, options, -9, 9);
          break;
        case 1:
          of.element = "bf16", of.sum = "f32";
          check<BFloat16, float>(of, options, -9, 9);
          break;
        case 2:
          of.element = "i8", of.sum = "i32";
          check<int8_t, int32_t>(of, options, -128, 127);
          break;
        case 3:
          of.element = "i8", of.sum = "i32", of.isUnsigned = true;
          check<uint8_t, int32_t>(of, options, 0, 255);
          break;
        case 4:
          of.element = "f16", of.sum = "f32";
          check<_Float16, float>(of, options, -9, 9);
          break;
        case 5:
          of.element = of.sum = "f64";
          check<double, double>(of, options, -9, 9);
          break;
        }
        if (HasFatalFailure())
          return;
      }
}

// Few rows by columns that lie adjacent along a long K are multiplied without being packed.
TEST(CpuDot, FewRowsAreExact) {
  struct Size {
    int m, n;
  };
  const Size sizes[] = {{16, 16}, {1, 32}, {2, 4}, {8, 1}};
  for (const auto &options : featureLevels())
    for (const Size &size : sizes) {
      DotCase of;
      of.m = size.m, of.n = size.n, of.turnedRhs = true;
      of.batch = size.m == 2 ? 2 : 0;
      of.byOp = size.m == 1, of.turnedLhs = size.m == 8;
      of.k = 256, of.element = of.sum = "f32";
      check<float, float>(of, options, -9, 9);
      of.element = "f16";
      check<_Float16, float>(of, options, -9, 9);
      of.k = 512, of.element = "bf16";
      check<BFloat16, float>(of, options, -9, 9);
      of.k = 128, of.element = of.sum = "f64";
      check<double, double>(of, options, -9, 9);
      of.k = 1024, of.element = "i8", of.sum = "i32";
      check<int8_t, int32_t>(of, options, -128, 127);
      of.isUnsigned = true;
      check<uint8_t, int32_t>(of, options, 0, 255);
      if (HasFatalFailure())
        return;
    }
}

// Of one and two tiles each way, whatever the order in memory.
TEST(CpuDot, TilesAreExact) {
  auto tiles = withTiles(target::hostCpuFeatures());
  if (!tiles)
    GTEST_SKIP() << "products of whole vectors of bf16 and bytes need AVX-512";
  struct Size {
    int batch, m, n, k;
  };
  const Size sizes[] = {{0, 16, 16, 64}, {0, 64, 32, 128}, {0, 32, 64, 64}, {2, 16, 32, 64}};
  const bool areModelled = !target::hostCpuFeatures().has("amx-tile");
  for (const Size &size : sizes)
    for (int order = 0; order < 8; ++order) {
      DotCase of;
      of.batch = size.batch, of.m = size.m, of.n = size.n, of.k = size.k;
      of.turnedLhs = order & 1, of.turnedRhs = order & 2, of.byOp = order & 4;
      of.outside = order == 2;
      // Each case multiplies twice.
      const uint64_t blocks = uint64_t(std::max(size.batch, 1) * size.m * size.n / 256 * 2),
                     before = TileModel::products();
      of.element = "bf16", of.sum = "f32";
      check<BFloat16, float>(of, {*tiles}, -9, 9);
      of.element = "i8", of.sum = "i32";
      check<int8_t, int32_t>(of, {*tiles}, -128, 127);
      of.isUnsigned = true;
      check<uint8_t, int32_t>(of, {*tiles}, 0, 255);
      if (areModelled && !of.outside && (size.m > 16 || !of.turnedRhs))
        EXPECT_EQ(TileModel::products() - before,
                  blocks * uint64_t(size.k / 32 + 2 * (size.k / 64)))
            << of.name();
      if (HasFatalFailure())
        return;
    }
}

// The types that have instructions of their own, in every order, on what this machine has.
TEST(CpuDot, GroupedInstructionsAreExact) {
  for (int order = 0; order < 16; ++order)
    for (int k : {4, 16, 32, 64}) {
      DotCase of;
      of.m = 16, of.n = order & 8 ? 32 : 16, of.k = k;
      of.turnedLhs = order & 1, of.turnedRhs = order & 2, of.byOp = order & 4;
      of.outside = k == 16;
      of.element = "bf16", of.sum = "f32";
      check<BFloat16, float>(of, {}, -9, 9);
      of.element = "i8", of.sum = "i32";
      check<int8_t, int32_t>(of, {}, -128, 127);
      of.isUnsigned = true;
      check<uint8_t, int32_t>(of, {}, 0, 255);
      if (HasFatalFailure())
        return;
    }
}

} // namespace
