// Inline PTX compiled for a CPU, and for what NEREID_TEST_DEVICE names (`cuda:0`), gives the bits
// that the interpreter gives, whose meaning of each instruction test/unit/ref/InlineAsmTest.cpp
// holds.
#include "ElementwiseKernels.h"

#include "support/FloatFormat.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

using namespace nereid;
using support::HostTensor;

namespace {

constexpr int64_t count = 1024;

struct Text {
  const char *ptx, *constraints;
  std::vector<DType> inputs;
  DType output;
  int pack = 1;
  double bound = 0; ///< of the relative error, where a chip approximates
};

using enum DType;
const std::vector<Text> texts = {
    // whole numbers and bits
    {"add.s32 $0, $1, $2;", "=r,r,r", {Int32, Int32}, Int32},
    {"sub.u32 $0, $1, $2; xor.b32 $0, $0, 0x55;", "=r,r,r", {Int32, Int32}, Int32},
    {"mul.lo.s32 $0, $1, $2;", "=r,r,r", {Int32, Int32}, Int32},
    {"mul.hi.u32 $0, $1, $2;", "=r,r,r", {Int32, Int32}, Int32},
    {"mul.hi.s32 $0, $1, $2;", "=r,r,r", {Int32, Int32}, Int32},
    {"mul.wide.s32 $0, $1, $2;", "=l,r,r", {Int32, Int32}, Int64},
    {"mad.lo.s32 $0, $1, $2, 17;", "=r,r,r", {Int32, Int32}, Int32},
    {"mad.wide.u32 $0, $1, 3, $2;", "=l,r,l", {Int32, Int64}, Int64},
    {"mul24.lo.s32 $0, $1, $2;", "=r,r,r", {Int32, Int32}, Int32},
    {"mul24.hi.s32 $0, $1, $2;", "=r,r,r", {Int32, Int32}, Int32},
    {"mul24.hi.u32 $0, $1, $2;", "=r,r,r", {Int32, Int32}, Int32},
    {"mad24.lo.u32 $0, $1, 77, $2;", "=r,r,r", {Int32, Int32}, Int32},
    {"mad24.hi.s32 $0, $1, $2, 17;", "=r,r,r", {Int32, Int32}, Int32},
    {"mad24.hi.sat.s32 $0, $1, $2, $1;", "=r,r,r", {Int32, Int32}, Int32},
    {"mad.hi.sat.s32 $0, $1, $2, $1;", "=r,r,r", {Int32, Int32}, Int32},
    {"mul.hi.u64 $0, $1, $2;", "=l,l,l", {Int64, Int64}, Int64},
    {"add.sat.s32 $0, $1, $2;", "=r,r,r", {Int32, Int32}, Int32},
    {"min.s32 $0, $1, $2; max.u32 $0, $0, 9;", "=r,r,r", {Int32, Int32}, Int32},
    {"abs.s32 $0, $1; neg.s32 $0, $0;", "=r,r", {Int32}, Int32},
    {"shl.b32 $0, $1, $2;", "=r,r,r", {Int32, Int32}, Int32},
    {"shr.s32 $0, $1, $2;", "=r,r,r", {Int32, Int32}, Int32},
    {"and.b32 $0, $2, 63; shr.u32 $0, $1, $0;", "=&r,r,r", {Int32, Int32}, Int32},
    {"shf.l.wrap.b32 $0, $1, $2, 7;", "=r,r,r", {Int32, Int32}, Int32},
    {"shf.r.clamp.b32 $0, $1, $2, 33;", "=r,r,r", {Int32, Int32}, Int32},
    {"lop3.b32 $0, $1, $2, 0x0f0f1234, 0xEA;", "=r,r,r", {Int32, Int32}, Int32},
    {"prmt.b32 $0, $1, $2, 0x5410;", "=r,r,r", {Int32, Int32}, Int32},
    {"prmt.b32 $0, $1, 0, $2;", "=r,r,r", {Int32, Int32}, Int32},
    {"bfe.u32 $0, $1, 5, 11;", "=r,r", {Int32}, Int32},
    {"bfe.s32 $0, $1, 5, 11;", "=r,r", {Int32}, Int32},
    {"bfe.s32 $0, $1, $2, $2;", "=r,r,r", {Int32, Int32}, Int32},
    {"bfe.s64 $0, $1, $2, 40;", "=l,l,r", {Int64, Int32}, Int64},
    {"prmt.b32.f4e $0, $1, $2, $2;", "=r,r,r", {Int32, Int32}, Int32},
    {"prmt.b32.b4e $0, $1, $2, $2;", "=r,r,r", {Int32, Int32}, Int32},
    {"prmt.b32.rc8 $0, $1, $2, $2;", "=r,r,r", {Int32, Int32}, Int32},
    {"prmt.b32.ecl $0, $1, $2, $2;", "=r,r,r", {Int32, Int32}, Int32},
    {"prmt.b32.ecr $0, $1, $2, $2;", "=r,r,r", {Int32, Int32}, Int32},
    {"prmt.b32.rc16 $0, $1, $2, $2;", "=r,r,r", {Int32, Int32}, Int32},
    {"and.b32 $0, $2, 31; fns.b32 $0, $1, $0, 3;", "=&r,r,r", {Int32, Int32}, Int32},
    {"and.b32 $0, $2, 31; fns.b32 $0, $1, $0, -3;", "=&r,r,r", {Int32, Int32}, Int32},
    {"and.b32 $0, $2, 31; fns.b32 $0, $1, $0, 0;", "=&r,r,r", {Int32, Int32}, Int32},
    {"bfe.s32 $0, $2, 3, 5; fns.b32 $0, $1, 15, $0;", "=&r,r,r", {Int32, Int32}, Int32},
    {"bfind.u32 $0, $1;", "=r,r", {Int32}, Int32},
    {"bfind.shiftamt.s32 $0, $1;", "=r,r", {Int32}, Int32},
    {"bfind.s64 $0, $1;", "=r,l", {Int64}, Int32},
    {"szext.wrap.s32 $0, $1, $2;", "=r,r,r", {Int32, Int32}, Int32},
    {"szext.clamp.u32 $0, $1, $2;", "=r,r,r", {Int32, Int32}, Int32},
    {"bmsk.wrap.b32 $0, $1, $2;", "=r,r,r", {Int32, Int32}, Int32},
    {"bmsk.clamp.b32 $0, 3, $1;", "=r,r", {Int32}, Int32},
    {"dp2a.lo.s32.u32 $0, $1, $2, 10;", "=r,r,r", {Int32, Int32}, Int32},
    {"dp2a.hi.u32.s32 $0, $1, $2, 10;", "=r,r,r", {Int32, Int32}, Int32},
    {"sad.s32 $0, $1, $2, 10;", "=r,r,r", {Int32, Int32}, Int32},
    {"sad.u32 $0, $1, $2, $1;", "=r,r,r", {Int32, Int32}, Int32},
    {"vabsdiff4.u32.u32.u32.add $0, $1, $2, 3;", "=r,r,r", {Int32, Int32}, Int32},
    {"vabsdiff4.u32.s32.s32 $0, $1, $2, 0;", "=r,r,r", {Int32, Int32}, Int32},
    {"slct.b32.s32 $0, $1, 7, $2;", "=r,r,r", {Int32, Int32}, Int32},
    {"slct.b32.f32 $0, 5, 7, $1;", "=r,f", {Float32}, Int32},
    {"mul.hi.s64 $0, $1, $2;", "=l,l,l", {Int64, Int64}, Int64},
    {"cvt.pack.sat.s8.s32.b32 $0, $1, $2, $1;", "=r,r,r", {Int32, Int32}, Int32},
    {"cvt.pack.sat.u16.s32 $0, $1, $2;", "=r,r,r", {Int32, Int32}, Int32},
    {"{ .reg .pred p; testp.subnormal.f32 p, $1; selp.b32 $0, 1, 0, p; }",
     "=r,f",
     {Float32},
     Int32},
    {"{ .reg .pred p; testp.number.f64 p, $1; selp.b32 $0, 1, 0, p; }", "=r,d", {Float64}, Int32},
    {"bfi.b32 $0, $1, $2, 8, 4;", "=r,r,r", {Int32, Int32}, Int32},
    {"popc.b32 $0, $1;", "=r,r", {Int32}, Int32},
    {"clz.b32 $0, $1;", "=r,r", {Int32}, Int32},
    {"brev.b32 $0, $1; not.b32 $0, $0;", "=r,r", {Int32}, Int32},
    {"dp4a.s32.s32 $0, $1, $2, 10;", "=r,r,r", {Int32, Int32}, Int32},
    {"{ .reg .pred p, q; setp.lt.s32 p, $1, $2; setp.ne.and.b32 q, $1, 0, p; selp.b32 $0, $1, $2, "
     "q; }",
     "=r,r,r",
     {Int32, Int32},
     Int32},
    {"{ .reg .b16 a, b; mov.b32 {a, b}, $1; mov.b32 $0, {b, a}; }", "=r,r", {Int32}, Int32},
    // floats
    {"add.f32 $0, $1, $2;", "=f,f,f", {Float32, Float32}, Float32},
    {"sub.rz.f32 $0, $1, $2;", "=f,f,f", {Float32, Float32}, Float32},
    {"mul.f32 $0, $2, 0f20000000; add.rz.f32 $0, $1, $0;", "=&f,f,f", {Float32, Float32}, Float32},
    {"mul.f32 $0, $2, 0f20000000; fma.rz.f32 $0, $1, $2, $0;",
     "=&f,f,f",
     {Float32, Float32},
     Float32},
    {"fma.rn.f32 $0, $1, $2, $1;", "=f,f,f", {Float32, Float32}, Float32},
    {"mul.ftz.f32 $0, $1, $2;", "=f,f,f", {Float32, Float32}, Float32},
    {"add.sat.f32 $0, $1, $2;", "=f,f,f", {Float32, Float32}, Float32},
    {"div.rn.f32 $0, $1, $2;", "=f,f,f", {Float32, Float32}, Float32},
    {"rcp.rn.f32 $0, $1; abs.f32 $0, $0;", "=f,f", {Float32}, Float32},
    {"abs.f32 $0, $1; sqrt.rn.f32 $0, $0;", "=f,f", {Float32}, Float32},
    {"min.f32 $0, $1, $2; neg.f32 $0, $0;", "=f,f,f", {Float32, Float32}, Float32},
    {"max.NaN.f32 $0, $1, $2;", "=f,f,f", {Float32, Float32}, Float32},
    {"max.NaN.xorsign.abs.f32 $0, $1, $2;", "=f,f,f", {Float32, Float32}, Float32},
    {"copysign.f32 $0, $1, $2;", "=f,f,f", {Float32, Float32}, Float32},
    {"fma.rn.f64 $0, $1, $1, 0d3FF0000000000000;", "=d,d", {Float64}, Float64},
    {"{ .reg .pred p; setp.gt.f32 p, $1, 0f00000000; @p mul.f32 $0, $1, $1; @!p mov.f32 $0, "
     "0fBF800000; }",
     "=f,f",
     {Float32},
     Float32},
    {"ex2.approx.ftz.f32 $0, $1;", "=f,f", {Float32}, Float32, 1, 1e-6},
    {"abs.f32 $0, $1; lg2.approx.f32 $0, $0; add.f32 $0, $0, 0f42000000;",
     "=f,f",
     {Float32},
     Float32,
     1,
     1e-5},
    {"tanh.approx.f32 $0, $1;", "=f,f", {Float32}, Float32, 1, 1e-3},
    {"abs.f32 $0, $1; rsqrt.approx.f32 $0, $0;", "=f,f", {Float32}, Float32, 1, 1e-6},
    // two halves of a register
    {"add.f16x2 $0, $1, $2;", "=r,r,r", {Float16, Float16}, Float16, 2},
    {"fma.rn.f16x2 $0, $1, $2, $1;", "=r,r,r", {Float16, Float16}, Float16, 2},
    {"fma.rn.relu.bf16x2 $0, $1, $2, $1;", "=r,r,r", {BFloat16, BFloat16}, BFloat16, 2},
    {"add.f16 $0, $1, $2;", "=h,h,h", {Float16, Float16}, Float16},
    // conversions
    {"cvt.rn.f32.s32 $0, $1;", "=f,r", {Int32}, Float32},
    {"cvt.rn.f16.u32 $0, $1;", "=h,r", {Int32}, Float16},
    {"cvt.rzi.s32.f32 $0, $1;", "=r,f", {Float32}, Int32},
    {"cvt.rni.sat.u8.f32 $0, $1;", "=r,f", {Float32}, Int32},
    {"cvt.rni.f32.f32 $0, $1;", "=f,f", {Float32}, Float32},
    {"cvt.sat.s8.s32 $0, $1;", "=r,r", {Int32}, Int32},
    {"cvt.s64.s32 $0, $1;", "=l,r", {Int32}, Int64},
    {"cvt.rn.bf16.f32 $0, $1;", "=h,f", {Float32}, BFloat16},
    {"cvt.rz.f16.f32 $0, $1;", "=h,f", {Float32}, Float16},
    {"cvt.f32.bf16 $0, $1;", "=f,h", {BFloat16}, Float32},
    {"cvt.rna.tf32.f32 $0, $1;", "=f,f", {Float32}, Float32},
    {"cvt.rn.f16x2.f32 $0, $2, $1;", "=r,f,f", {Float32}, Float16, 2},
    // four bytes of a register
    {"shl.b32 $0, $1, 3; and.b32 $0, $0, 0x78787878;", "=r,r", {Int8}, Int8, 4},
    {"{ .reg .b32 a; and.b32 a, $2, 0x0f0f0f0f; shl.b32 $0, $1, 4; or.b32 $0, $0, a; }",
     "=&r,r,r",
     {Int8, Int8},
     Int8,
     4},
    {"prmt.b32 $0, $2, $2, 0x5140; prmt.b32 $1, $2, $2, 0x7362;", "=&r,=r,r", {Int8}, Int16, 4},
    // every other constraint starts in an output
    {"add.s32 $0, $0, $2;", "=r,0,r", {Int32, Int32}, Int32},
};

std::string nameOf(DType type) { return "tl." + std::string(info(type).name); }

// A kernel a text, all of one program: a runner keeps what it compiled by the program.
std::unique_ptr<emit::Program> program() {
  emit::SourceUnit unit;
  unit.file = "inline_asm.py";
  unit.text = "import triton\nimport triton.language as tl\n";
  for (size_t i = 0; i < texts.size(); ++i)
    unit.text +=
        test::elementwiseKernel(i, texts[i].inputs.size(),
                                std::string("tl.inline_asm_elementwise(\"") + texts[i].ptx +
                                    "\", \"" + texts[i].constraints + "\", [",
                                "], dtype=" + nameOf(texts[i].output) +
                                    ", is_pure=True, pack=" + std::to_string(texts[i].pack) + ")");
  return emit::Program::load(unit).program;
}

// Numbers of every size, and now and then one that is special.
void fill(HostTensor &tensor, std::mt19937_64 &random) {
  DType type = tensor.dtype();
  auto bytes = info(type).bytes;
  for (int64_t i = 0; i < count; ++i) {
    uint64_t bits = random();
    if (type == Int32 && i % 3)
      bits = uint64_t(int64_t(random() % 100) - 50);
    if (info(type).isFloat && i % 16) {
      double value = (double(random()) * 0x1p-63 - 1) * (i % 4 ? 4 : 300);
      float narrow = float(value);
      uint32_t wide = std::bit_cast<uint32_t>(narrow);
      bits = type == Float64    ? std::bit_cast<uint64_t>(value)
             : type == Float32  ? wide
             : type == BFloat16 ? wide >> 16
                                : support::encodeFloat(support::formatOf(type), value);
    }
    std::memcpy(static_cast<char *>(tensor.data()) + i * bytes, &bits, bytes);
  }
}

void expectTheInterpretersBits(const std::string &device) {
  auto kernels = program();
  ASSERT_TRUE(kernels);
  auto reference = engine::Runner::create("ref"), runner = engine::Runner::create(device);
  ASSERT_TRUE(reference && runner);
  for (size_t number = 0; number < texts.size(); ++number) {
    const Text &text = texts[number];
    SCOPED_TRACE(text.ptx);
    std::mt19937_64 random(number);
    std::vector<HostTensor> inputs;
    for (DType type : text.inputs)
      fill(inputs.emplace_back(type, std::vector<int64_t>{count}), random);
    HostTensor expected(text.output, {count}), got(text.output, {count});
    Status known = test::runElementwise(**reference, *kernels, number, inputs, expected);
    ASSERT_TRUE(known) << known.error().what;
    Status status = test::runElementwise(**runner, *kernels, number, inputs, got);
    if (!status) {
      ADD_FAILURE() << status.error().what
                    << (status.error().diagnostics.empty()
                            ? ""
                            : "\n" + status.error().diagnostics.front().message);
      continue;
    }
    bool isFloat = info(text.output).isFloat;
    for (int64_t i = 0, wrong = 0; i < count && wrong < 3; ++i) {
      bool agrees = test::bitsOf(got, i) == test::bitsOf(expected, i);
      if (isFloat && !agrees) {
        double x = got.get(i), y = expected.get(i);
        agrees =
            std::isnan(y) ? std::isnan(x) : x == y || std::fabs(x - y) <= text.bound * std::fabs(y);
      }
      if (!agrees && ++wrong)
        ADD_FAILURE() << "element " << i << " is "
                      << (isFloat ? std::to_string(got.get(i)) : std::to_string(got.getInt(i)))
                      << ", expected "
                      << (isFloat ? std::to_string(expected.get(i))
                                  : std::to_string(expected.getInt(i)));
    }
  }
}

TEST(InlineAsm, OfACpuGivesWhatTheInterpreterGives) { expectTheInterpretersBits("cpu"); }

TEST(InlineAsm, OfTheDeviceNamedGivesWhatTheInterpreterGives) {
  const char *device = std::getenv("NEREID_TEST_DEVICE");
  if (!device || !*device)
    GTEST_SKIP() << "NEREID_TEST_DEVICE names none";
  expectTheInterpretersBits(device);
}

} // namespace
