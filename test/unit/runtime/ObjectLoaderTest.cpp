#include "runtime/ObjectLoader.h"

#include "TestObjects.h"
#include "runtime/KernelSymbols.h"
#include "support/Artifact.h"
#include "support/LaunchAbi.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <elf.h>
#include <fstream>
#include <random>
#include <sstream>

using namespace nereid;
using namespace nereid::runtime;
using test::compileC;

namespace {

// Uses every section kind and, depending on flags, every relocation kind that we support.
const char *richSource = R"(
extern float expf(float); extern void *memcpy(void *, const void *, unsigned long);
static const float table[4] = {1, 2, 4, 8};
static int counter = 5;
static int zeros[100];
const char *const names[2] = {"one", "two"};
__attribute__((visibility("hidden"))) int shared = 7;
__attribute__((noinline)) static float helper(float x, int i) { return expf(x) * table[i & 3]; }
float compute(float x, int i) { return helper(x, i) + (float)zeros[i]; }
int count(void) { zeros[3] = shared; return ++counter; }
int letter(int i) { return names[i][0]; }
int choose(int i) {
  switch (i) { case 0: return 10; case 1: return 32; case 2: return 7; case 3: return 99;
               case 4: return 4; case 5: return 1; default: return -1; }
}
float (*function(void))(float) { return expf; }
void copy(void *a, const void *b, unsigned long n) { memcpy(a, b, n); }
)";

template <typename Function> Function *get(const LoadedObject &object, const char *name) {
  return reinterpret_cast<Function *>(object.symbol(name));
}

class ObjectLoaderFlags : public testing::TestWithParam<const char *> {};

TEST_P(ObjectLoaderFlags, RunsCode) {
  auto bytes = compileC(richSource, GetParam());
  ASSERT_FALSE(bytes.empty());
  auto object = LoadedObject::load(bytes, "rich");
  ASSERT_TRUE(object) << object.error().what;
  EXPECT_FLOAT_EQ(get<float(float, int)>(*object, "compute")(1.0f, 2), std::exp(1.0f) * 4);
  EXPECT_EQ(get<int()>(*object, "count")(), 6);
  EXPECT_EQ(get<int()>(*object, "count")(), 7);
  EXPECT_FLOAT_EQ(get<float(float, int)>(*object, "compute")(0.0f, 3), 8 + 7);
  EXPECT_EQ(get<int(int)>(*object, "letter")(1), 't');
  EXPECT_EQ(get<int(int)>(*object, "choose")(3), 99);
  EXPECT_EQ(get<int(int)>(*object, "choose")(5), 1);
  auto pointer = get<float (*())(float)>(*object, "function")();
  EXPECT_FLOAT_EQ(pointer(2.0f), std::exp(2.0f));
  char to[600], from[600];
  std::memset(from, 42, sizeof from);
  get<void(void *, const void *, unsigned long)>(*object, "copy")(to, from, sizeof to);
  EXPECT_EQ(std::memcmp(to, from, sizeof to), 0);
  EXPECT_EQ(object->symbol("helper"), nullptr); // local
  EXPECT_EQ(object->symbol("absent"), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Models, ObjectLoaderFlags,
                         testing::Values("-O2 -fPIC", "-O0 -fPIC", "-O2 -fno-pic -fno-pie",
                                         "-O0 -fno-pic -fno-pie", "-O2 -fPIC -ffunction-sections",
                                         "-O2 -fPIC -fno-plt -fasynchronous-unwind-tables",
                                         "-O2 -fPIC -Xclang -mrelax-relocations=no -g"));

std::string refusal(const std::string &source, const char *flags = "-O2 -fPIC") {
  auto bytes = compileC(source, flags);
  if (bytes.empty())
    return "did not compile";
  auto object = LoadedObject::load(bytes, "kernel");
  return object ? "accepted" : object.error().what;
}

TEST(ObjectLoader, RefusesWhatKernelsMayNotDo) {
  EXPECT_NE(refusal("int puts(const char *); void run(void) { puts(\"x\"); }").find("`puts`"),
            std::string::npos);
  EXPECT_NE(refusal("_Thread_local int t; int run(void) { return t++; }").find("thread-local"),
            std::string::npos);
  EXPECT_NE(refusal("__attribute__((constructor)) void f(void) {*(volatile int *)8 = 1;} "
                    "void run(void) {}")
                .find("init_array"),
            std::string::npos);
  EXPECT_NE(refusal("extern int elsewhere; int run(void) { return elsewhere; }").find("elsewhere"),
            std::string::npos);
  auto arm = compileC("int run(void) { return 1; }", "--target=aarch64-linux-gnu");
  ASSERT_FALSE(arm.empty());
  EXPECT_FALSE(LoadedObject::load(arm, "kernel"));
}

TEST(ObjectLoader, NeverMapsWritableAndExecutable) {
  auto object = LoadedObject::load(compileC(richSource), "rich");
  ASSERT_TRUE(object);
  auto code = reinterpret_cast<uintptr_t>(object->symbol("compute"));
  std::ifstream maps("/proc/self/maps");
  std::string line;
  bool seen = false;
  while (std::getline(maps, line)) {
    size_t begin, end;
    char rights[5];
    ASSERT_EQ(std::sscanf(line.c_str(), "%zx-%zx %4s", &begin, &end, rights), 3);
    EXPECT_FALSE(rights[1] == 'w' && rights[2] == 'x') << line;
    if (code >= begin && code < end) {
      seen = true;
      EXPECT_STREQ(rights, "r-xp");
    }
  }
  EXPECT_TRUE(seen);
}

TEST(ObjectLoader, FindsCodeOffsets) {
  auto object = LoadedObject::load(
      compileC("int first(int x) { return x; } int second(int x) { return x * x; }"), "two");
  ASSERT_TRUE(object);
  uint64_t first, second;
  ASSERT_TRUE(object->codeOffset(object->symbol("first"), first));
  ASSERT_TRUE(object->codeOffset(object->symbol("second"), second));
  EXPECT_EQ(first, 0u);
  EXPECT_GT(second, 0u);
  EXPECT_FALSE(object->codeOffset(&first, second));
}

TEST(ObjectLoader, SurvivesTruncationAndDamage) {
  for (const char *flags : {"-O2 -fPIC", "-O0 -fno-pic -fno-pie"}) {
    const auto good = compileC(richSource, flags);
    ASSERT_FALSE(good.empty());
    for (size_t size = 0; size < good.size(); size += size < 512 ? 1 : 37)
      EXPECT_FALSE(LoadedObject::load({good.data(), size}, "cut")) << size;
    unsigned seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const uint64_t evil[] = {0,
                             1,
                             0x7fffffff,
                             0xffffffff,
                             0x80000000,
                             ~uint64_t(0),
                             uint64_t(1) << 63,
                             ~uint64_t(0) - 4095,
                             4096,
                             good.size()};
    // Heads and tables of an object are what a loader trusts: damage them most.
    Elf64_Ehdr header;
    std::memcpy(&header, good.data(), sizeof header);
    for (int round = 0; round < 6000; ++round) {
      auto bytes = good;
      for (int edits = 1 + random() % 3; edits > 0; --edits) {
        size_t at = random() % 4 == 0 ? random() % bytes.size()
                                      : header.e_shoff + random() % (bytes.size() - header.e_shoff);
        size_t width = size_t(1) << random() % 4;
        at = std::min(at / width * width, bytes.size() - width);
        uint64_t value = random() % 2 ? evil[random() % std::size(evil)] : random();
        std::memcpy(bytes.data() + at, &value, width);
      }
      (void)LoadedObject::load(bytes, "damaged"); // must return, either way
    }
  }
}

TEST(KernelSymbols, HalfConversionsAreExact) {
  auto bytes = compileC(R"(
float widen(_Float16 x) { return x; }
_Float16 narrow(float x) { return (_Float16)x; }
_Float16 narrowDouble(double x) { return (_Float16)x; }
__bf16 narrowBFloat(float x) { return (__bf16)x; }
__bf16 narrowDoubleBFloat(double x) { return (__bf16)x; }
unsigned long mulhi(unsigned long a, unsigned long b) { return (unsigned __int128)a * b >> 64; }
unsigned long divide(unsigned long a, unsigned long b, unsigned long d) {
  return (((unsigned __int128)a << 64) | b) / d;
}
)",
                        "-O2 -fPIC -std=c2x");
  ASSERT_FALSE(bytes.empty());
  auto object = LoadedObject::load(bytes, "half");
  ASSERT_TRUE(object) << object.error().what;
  auto widen = get<float(_Float16)>(*object, "widen");
  auto narrow = get<_Float16(float)>(*object, "narrow");
  auto narrowDouble = get<_Float16(double)>(*object, "narrowDouble");
  // Same register as a __bf16, without its conversions in this test.
  auto narrowBFloat = get<_Float16(float)>(*object, "narrowBFloat");
  auto narrowDoubleBFloat = get<_Float16(double)>(*object, "narrowDoubleBFloat");
  auto bitsOf = [](auto x) { return std::bit_cast<uint16_t>(x); };
  for (uint32_t i = 0; i < 65536; ++i) {
    auto half = std::bit_cast<_Float16>(uint16_t(i));
    float wide = widen(half);
    double expected = (i & 0x7c00) == 0x7c00
                          ? ((i & 0x3ff) ? NAN : INFINITY)
                          : std::ldexp(double((i & 0x3ff) + ((i & 0x7c00) ? 0x400 : 0)),
                                       int((i >> 10 & 0x1f) ? (i >> 10 & 0x1f) : 1) - 25);
    if (i & 0x8000)
      expected = -expected;
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(wide)) << i;
      ASSERT_TRUE(std::isnan(widen(narrow(wide)))) << i;
      continue;
    }
    ASSERT_EQ(wide, float(expected)) << i;
    ASSERT_EQ(std::signbit(wide), std::signbit(expected)) << i;
    ASSERT_EQ(bitsOf(narrow(wide)), i);
    ASSERT_EQ(bitsOf(narrowDouble(expected)), i);
    // Halfway to the next value rounds to the even one, a little more rounds up.
    if ((i & 0x7fff) < 0x7bff && i < 0x8000) {
      double next = widen(std::bit_cast<_Float16>(uint16_t(i + 1))), middle = (wide + next) / 2;
      ASSERT_EQ(bitsOf(narrowDouble(middle)), i & 1 ? i + 1 : i);
      ASSERT_EQ(bitsOf(narrowDouble(std::nextafter(middle, 1e9))), i + 1);
      ASSERT_EQ(bitsOf(narrowDouble(std::nextafter(middle, 0))), i);
      ASSERT_EQ(bitsOf(narrow(float(middle))), i & 1 ? i + 1 : i);
    }
    float brain = std::bit_cast<float>(i << 16);
    if (!std::isnan(brain)) {
      ASSERT_EQ(bitsOf(narrowBFloat(brain)), i);
      ASSERT_EQ(bitsOf(narrowDoubleBFloat(brain)), i);
      float above = std::bit_cast<float>(i << 16 | 0x8000);
      if (i != 0x7f7f && i != 0xff7f)
        ASSERT_EQ(bitsOf(narrowBFloat(above)), i & 1 ? i + 1 : i);
    }
  }
  EXPECT_EQ(bitsOf(narrow(65519.0f)), 0x7bff);
  EXPECT_EQ(bitsOf(narrow(65520.0f)), 0x7c00);
  EXPECT_EQ(bitsOf(narrow(-1e30f)), 0xfc00);
  EXPECT_EQ(bitsOf(narrowBFloat(3.4e38f)), 0x7f80);
  // Rounding once: through float this would become 1.0 (tie to even after a first rounding).
  EXPECT_EQ(bitsOf(narrowDouble(1 + 0x1p-11 + 0x1p-40)), 0x3c01);
  EXPECT_EQ((get<unsigned long(unsigned long, unsigned long, unsigned long)>(*object,
                                                                             "divide")(1, 0, 16)),
            1ul << 60);
}

TEST(KernelSymbols, ListIsClosed) {
  EXPECT_NE(kernelSymbol("expf"), 0u);
  EXPECT_NE(kernelSymbol("memcpy"), 0u);
  EXPECT_NE(kernelSymbol("nereid_record"), 0u);
  EXPECT_EQ(kernelSymbol("system"), 0u);
  EXPECT_EQ(kernelSymbol(""), 0u);
}

} // namespace
