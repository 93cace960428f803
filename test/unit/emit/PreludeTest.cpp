// The composites of the vocabulary that are written in the language: each compiles, and gives the
// type that Triton gives.

#include "Harness.h"

namespace nereid::emit {
namespace {

class PreludeTest : public EmitTest {
protected:
  /// The pointee that a kernel needs to store `expression` of x, a tile of 16 elements of `type`.
  void expectCompiles(const std::string &expression, const std::string &type,
                      const std::string &assertion = "True") {
    SCOPED_TRACE(expression + " of " + type);
    Emission emission = emit("@triton.jit\n"
                             "def kernel(p):\n"
                             "    x = tl.load(p + tl.arange(0, 16))\n"
                             "    y = " +
                                 expression +
                                 "\n"
                                 "    tl.static_assert(" +
                                 assertion +
                                 ")\n"
                                 "    tl.store(p + tl.arange(0, 16), tl.sum(y, 0))\n",
                             "kernel", "*" + type);
    EXPECT_EQ(emission.code(), "") << emission.message();
    EXPECT_TRUE(emission.has("tile.store"));
  }
};

TEST_F(PreludeTest, Softmax) {
  expectCompiles("tl.softmax(x)", "fp32", "y.dtype == tl.float32");
  expectCompiles("tl.reshape(tl.softmax(tl.reshape(x, [4, 4]), 1, keep_dims=True), [16])", "fp32");
  expectCompiles("x.softmax(ieee_rounding=True)", "fp32");
}

TEST_F(PreludeTest, Sorting) {
  for (const char *type : {"fp32", "fp16", "bf16", "i8", "u32", "i64"}) {
    expectCompiles("tl.sort(x)", type, "y.dtype == x.dtype and y.shape[0] == 16");
    expectCompiles("tl.sort(x, descending=True)", type);
    expectCompiles("tl.bitonic_merge(x)", type, "y.dtype == x.dtype");
    expectCompiles("tl.flip(x)", type, "y.dtype == x.dtype");
    expectCompiles("tl.topk(x, 16)", type, "y.dtype == x.dtype");
  }
  // Less than all elements go through `tl.max`, which widens.
  expectCompiles("tl.topk(x, 4)", "fp16", "y.dtype == tl.float32 and y.shape[0] == 4");
  expectCompiles("tl.topk(x, 4)", "i8", "y.dtype == tl.int32");
  expectCompiles("tl.topk(x, 1)", "fp32", "y.shape[0] == 1");
  expectCompiles("tl.reshape(tl.sort(tl.reshape(x, [2, 8]), dim=1), [16])", "fp32");
  expectCompiles("tl.reshape(tl.flip(tl.reshape(x, [2, 8]), 0), [16])", "fp32");
}

TEST_F(PreludeTest, Random) {
  for (const char *type : {"i32", "i64", "u32"}) {
    expectCompiles("tl.rand(7, x)", type, "y.dtype == tl.float32");
    expectCompiles("tl.randn(-7, x)", type, "y.dtype == tl.float32");
    expectCompiles("tl.randint(1 << 40, x, 7)", type, "y.dtype == tl.uint32");
    expectCompiles("tl.rand4x(7, x)[3]", type, "y.dtype == tl.float32");
    expectCompiles("tl.randn4x(7, x)[3]", type, "y.dtype == tl.float32");
  }
  expectCompiles("tl.philox(7, x, x, x, x)[0]", "u64", "y.dtype == tl.uint64");
  expectCompiles("tl.uint_to_uniform_float(x)", "u64", "y.dtype == tl.float32");
}

TEST_F(PreludeTest, Swizzle) {
  expectCompiles("tl.swizzle2d(x, x, 4, 4, 2)[0]", "i32", "y.dtype == tl.int32");
}

} // namespace
} // namespace nereid::emit
