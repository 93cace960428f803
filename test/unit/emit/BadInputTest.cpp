// Input that no one should write ends in a diagnostic, in bounded time and memory.

#include "Harness.h"

#include <ctime>

namespace nereid::emit {
namespace {

class BadInputTest : public EmitTest {
protected:
  std::string codeOf(const std::string &body, const std::string &signature = "*i32") {
    // Processor time, however busy the machine is.
    std::clock_t start = std::clock();
    std::string code = emit(body, "f", signature).code();
    EXPECT_LT((std::clock() - start) / CLOCKS_PER_SEC, 20);
    return code;
  }
};

TEST_F(BadInputTest, EndlessRecursion) {
  EXPECT_EQ(codeOf("\n@triton.jit\ndef g(n):\n    return g(n + 1)\n"
                   "@triton.jit\ndef f(p):\n    tl.store(p, g(0))\n"),
            "RecursionTooDeep");
  EXPECT_EQ(codeOf("\n@triton.constexpr_function\ndef g(n):\n    return g(n + 1)\n"
                   "@triton.jit\ndef f(p):\n    x: tl.constexpr = g(0)\n"),
            "RecursionTooDeep");
}

TEST_F(BadInputTest, EndlessLoopsWhileCompiling) {
  EXPECT_EQ(codeOf("\n@triton.constexpr_function\ndef g():\n    while True:\n        pass\n"
                   "@triton.jit\ndef f(p):\n    x: tl.constexpr = g()\n"),
            "TooManySteps");
  // What the endless statement would have bound is unusable; what does not need it is not.
  EXPECT_EQ(codeOf("\nN = 1\nwhile True:\n    N += 1\n"
                   "@triton.jit\ndef f(p):\n    x: tl.constexpr = N\n    tl.store(p, x)\n"),
            "ModuleLevelFailure");
  EXPECT_EQ(codeOf("\nwhile True:\n    pass\n@triton.jit\ndef f(p):\n    tl.store(p, 1)\n"), "");
}

TEST_F(BadInputTest, HugeUnrolling) {
  EXPECT_EQ(codeOf("\n@triton.jit\ndef f(p):\n    for i in tl.static_range(10**9):\n"
                   "        tl.store(p, i)\n"),
            "TooManySteps");
  EXPECT_EQ(codeOf("\n@triton.jit\ndef f(p):\n    for i in tl.static_range(2000):\n"
                   "        for j in tl.static_range(2000):\n            tl.store(p + i, j)\n"),
            "KernelTooLarge");
}

TEST_F(BadInputTest, HugeShapesAndNumbers) {
  EXPECT_NE(codeOf("\n@triton.jit\ndef f(p):\n    tl.store(p + tl.arange(0, 2**40), 1)\n"), "");
  EXPECT_EQ(codeOf("\n@triton.jit\ndef f(p):\n    x: tl.constexpr = 2 ** (2 ** 70)\n"),
            "IntegerTooLarge");
  EXPECT_EQ(codeOf("\n@triton.jit\ndef f(p):\n    x: tl.constexpr = 1 << 100000\n"),
            "IntegerTooLarge");
  EXPECT_EQ(
      codeOf("\n@triton.jit\ndef f(p):\n    x: tl.constexpr = 1" + std::string(3000, '0') + "\n"),
      "IntegerTooLarge");
  EXPECT_NE(codeOf("\n@triton.jit\ndef f(p):\n    x: tl.constexpr = (1, 2) * 10**12\n"), "");
}

TEST_F(BadInputTest, DeepNesting) {
  std::string chain = "1";
  for (int i = 0; i < 20000; ++i)
    chain += " + 1";
  EXPECT_EQ(codeOf("\n@triton.jit\ndef f(p):\n    x: tl.constexpr = " + chain + "\n"), "");
  std::string nested = std::string(180, '(') + "1" + std::string(180, ')');
  EXPECT_EQ(codeOf("\n@triton.jit\ndef f(p):\n    tl.store(p, " + nested + ")\n"), "");
  std::string elifs = "    if n == 0:\n        tl.store(p, 0)\n";
  for (int i = 1; i < 3000; ++i)
    elifs += "    elif N == " + std::to_string(i) + ":\n        tl.store(p, 1)\n";
  EXPECT_EQ(codeOf("\n@triton.jit\ndef f(p, n, N: tl.constexpr):\n" +
                       elifs.replace(elifs.find("n == 0"), 6, "N == 0"),
                   "*i32, i32, 2999"),
            "");
}

TEST_F(BadInputTest, ValuesThatHoldThemselves) {
  EXPECT_EQ(
      codeOf("\na = []\na.append(a)\nb = str(a)\nc = (a == [a])\nd = {}\nd['d'] = d\ne = repr(d)\n"
             "@triton.jit\ndef f(p):\n    tl.store(p, 1)\n"),
      "");
}

TEST_F(BadInputTest, SignaturesThatDoNotFit) {
  const char *source = "\n@triton.jit\ndef f(p, n, B: tl.constexpr):\n    tl.store(p, n)\n";
  EXPECT_EQ(codeOf(source, "*i32"), "SignatureMismatch");
  EXPECT_EQ(codeOf(source, "*i32, i32, 8, 9"), "SignatureMismatch");
  EXPECT_EQ(codeOf(source, "*i32, i32, i32"), "NotConstexpr");
  EXPECT_EQ(emit(source, "g", "*i32").code(), "NoSuchKernel");
  EXPECT_EQ(emit("\ndef f(p):\n    pass\n", "f", "*i32").code(), "NotAKernel");
  EXPECT_EQ(codeOf("\n@triton.jit\ndef f(**p):\n    pass\n"), "VariadicKernel");
}

} // namespace
} // namespace nereid::emit
