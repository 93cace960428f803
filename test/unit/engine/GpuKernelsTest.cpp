// The kernels of the walking skeleton, from tile IR to PTX that assembles.
#include "Kernels.h"

#include "gpu/MachineCode.h"
#include "gpu/Ptxas.h"
#include "pipeline/Gpu.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace nereid;
using namespace nereid::test;

namespace {

class GpuKernels : public testing::Test {
protected:
  GpuKernels() {
    pipeline::registerGpuPipeline(registry);
    context.appendDialectRegistry(registry);
  }

  std::string emit(const std::string &source, const char *chip, pipeline::GpuStage stage) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
    if (!module)
      return "does not parse";
    auto text = pipeline::emitForGpu(*module, *target::gpuChip(chip), stage);
    if (text)
      return *text;
    std::string message = "error: " + text.error().what;
    for (const Diagnostic &diagnostic : text.error().diagnostics)
      message += "\n  " + diagnostic.message;
    return message;
  }

  mlir::DialectRegistry registry;
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
};

size_t countOf(const std::string &text, const std::string &piece) {
  size_t count = 0;
  for (size_t at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1))
    ++count;
  return count;
}

TEST_F(GpuKernels, AccessesAreAsWideAsFactsAllow) {
  std::string ptx = emit(vectorAdd, "sm_90a", pipeline::GpuStage::Ptx);
  // The mask may cut anywhere: n is not known to be a multiple of anything.
  EXPECT_EQ(countOf(ptx, "ld.global.b32"), 16u) << ptx;
  std::string aligned = vectorAdd;
  size_t at = aligned.find("%n: i32 {");
  ASSERT_NE(at, std::string::npos);
  aligned.insert(at + 9, "tile.divisibility = 16 : i64, ");
  ptx = emit(aligned, "sm_90a", pipeline::GpuStage::Ptx);
  EXPECT_EQ(countOf(ptx, "ld.global.v4.b32"), 4u) << ptx;
  EXPECT_EQ(countOf(ptx, "st.global.v4.b32"), 2u) << ptx;
  EXPECT_EQ(countOf(ptx, "global.b32"), 0u) << ptx;
  // A mask that is the same over a vector is compared once for it.
  EXPECT_EQ(countOf(ptx, "setp.lt.s32"), 2u) << ptx;
}

TEST_F(GpuKernels, DivisionAndRootsAreOfTheSpecialUnitUnlessRoundingIsAsked) {
  auto body = [&](const std::string &op) {
    return emit("func.func @f(%p: !tile.ptr<f32>, %x: f32, %y: f32) attributes {tile.kernel} {\n"
                "  %two = arith.constant 2.0 : f32\n  %q = " +
                    op + " : f32\n  tile.store %p, %q : !tile.ptr<f32>, f32\n  return\n}\n",
                "sm_90a", pipeline::GpuStage::Ptx);
  };
  EXPECT_NE(body("arith.divf %x, %y").find("div.full.f32"), std::string::npos);
  EXPECT_NE(body("tile.div_rn %x, %y").find("div.rn.f32"), std::string::npos);
  EXPECT_NE(body("math.sqrt %x").find("sqrt.approx.ftz.f32"), std::string::npos);
  EXPECT_NE(body("tile.sqrt_rn %x").find("sqrt.rn.f32"), std::string::npos);
  EXPECT_NE(body("arith.divf %x, %two").find("mul.f32"), std::string::npos);
}

TEST_F(GpuKernels, RegistersAreLimitedWhereAnotherBlockThenFits) {
  const target::GpuChip &chip = *target::gpuChip("sm_90a");
  EXPECT_EQ(gpu::registersForOneMoreBlock(chip, 75, 16, 128), 64u);      // 1 block becomes 2
  EXPECT_EQ(gpu::registersForOneMoreBlock(chip, 64, 16, 128), 0u);       // 2 fit; 3 need 40
  EXPECT_EQ(gpu::registersForOneMoreBlock(chip, 90, 16, 128), 0u);       // too much to take away
  EXPECT_EQ(gpu::registersForOneMoreBlock(chip, 75, 16, 120 << 10), 0u); // shared memory is full
  EXPECT_EQ(gpu::registersForOneMoreBlock(chip, 96, 4, 0), 0u); // 20 of 64 warps are resident
  EXPECT_EQ(gpu::registersForOneMoreBlock(chip, 32, 4, 0), 0u); // no more warps fit
}

// Sums of four vectors that lie side by side, and of two numbers whose second the first leads to.
TEST_F(GpuKernels, MachineCodeTellsWhatWaitsTogether) {
  std::string ptxas = gpu::findPtxas();
  if (ptxas.empty())
    GTEST_SKIP() << "no ptxas on this machine";
  auto codeOf = [&](const std::string &body, const target::GpuChip &chip) {
    std::string ptx = ".version 8.8\n.target " + std::string(chip.name) +
                      "\n.address_size 64\n.visible .entry f(.param .u64 p) {\n"
                      ".reg .f32 %f<16>;\n.reg .b64 %p<4>;\nld.param.u64 %p0, [p];\n" +
                      body + "ret;\n}\n";
    auto cubin = gpu::assemble(ptxas, ptx, chip.name);
    return cubin ? gpu::readMachineCode(cubin->code) : std::nullopt;
  };
  for (const target::GpuChip &chip : target::gpuChips()) {
    std::string beside;
    for (int i = 0; i < 4; ++i) {
      std::string at = std::to_string(i * 4);
      beside += "ld.global.v4.f32 {%f" + at + ", %f" + std::to_string(i * 4 + 1) + ", %f" +
                std::to_string(i * 4 + 2) + ", %f" + std::to_string(i * 4 + 3) + "}, [%p0+" +
                std::to_string(i * 16) + "];\n";
    }
    for (int i = 1; i < 16; ++i)
      beside += "add.f32 %f0, %f0, %f" + std::to_string(i) + ";\n";
    auto code = codeOf(beside + "st.global.f32 [%p0], %f0;\n", chip);
    ASSERT_TRUE(code) << chip.name;
    EXPECT_EQ(code->bytesTogether, 64) << chip.name;
    EXPECT_GT(code->instructions, 20u) << chip.name;
    code = codeOf("ld.global.u64 %p1, [%p0];\nld.global.u64 %p2, [%p1];\n"
                  "st.global.u64 [%p0], %p2;\n",
                  chip);
    ASSERT_TRUE(code) << chip.name;
    EXPECT_EQ(code->bytesTogether, 8) << chip.name;
  }
  // A word of a thread's own memory is read and written, in a loop or behind it.
  auto spillsIn = [&](bool isInLoop, const target::GpuChip &chip) {
    std::string spill = "and.b32 %n2, %n1, 4092;\ncvt.u64.u32 %p2, %n2;\nadd.u64 %p3, %p1, %p2;\n"
                        "st.local.f32 [%p3], %f0;\nld.local.f32 %f1, [%p1];\n"
                        "add.f32 %f0, %f0, %f1;\n";
    auto code = codeOf(".local .align 4 .b8 mine[4096];\n.reg .pred %q;\n.reg .b32 %n<4>;\n"
                       "mov.u64 %p1, mine;\nld.global.f32 %f0, [%p0];\nmov.u32 %n0, 0;\nL:\n"
                       "ld.volatile.global.u32 %n1, [%p0+4];\n" +
                           (isInLoop ? spill : "") +
                           "add.u32 %n0, %n0, 1;\nsetp.lt.u32 %q, %n0, %n1;\n@%q bra L;\n" +
                           (isInLoop ? "" : spill) + "st.global.f32 [%p0], %f0;\n",
                       chip);
    return code ? code->spilledShare : -1;
  };
  for (const target::GpuChip &chip : target::gpuChips()) {
    EXPECT_GT(spillsIn(true, chip), 0.1) << chip.name;
    EXPECT_GT(spillsIn(false, chip), 0) << chip.name;
    EXPECT_LT(spillsIn(false, chip), 0.05) << chip.name;
  }
  std::vector<uint8_t> none(200);
  EXPECT_FALSE(gpu::readMachineCode(none));
  EXPECT_FALSE(gpu::readMachineCode({}));
}

TEST_F(GpuKernels, WhatIsKeptTakesNoProgramsPlace) {
  const target::GpuChip &chip = *target::gpuChip("sm_90a");
  EXPECT_EQ(gpu::bytesForKept(chip, 32, 16, 128, 8192, 0), 6u * 8192);   // four programs of 57 KB
  EXPECT_EQ(gpu::bytesForKept(chip, 64, 16, 128, 8192, 0), 14u * 8192);  // two
  EXPECT_EQ(gpu::bytesForKept(chip, 32, 4, 128, 2048, 0), 6u * 2048);    // sixteen
  EXPECT_EQ(gpu::bytesForKept(chip, 64, 32, 128, 65536, 0), 3u * 65536); // one
  EXPECT_EQ(gpu::bytesForKept(chip, 56, 32, 256, 131072, 0), 0u);        // the cache does as well
  EXPECT_EQ(gpu::bytesForKept(chip, 32, 16, 128, 8192, 2), 2u * 8192);   // no more than there is
  EXPECT_EQ(gpu::bytesForKept(chip, 32, 16, 128, 8192, 8), 8u * 8192);   // three, and all of it
  EXPECT_EQ(gpu::bytesForKept(chip, 32, 16, 128, 8192, 20), 6u * 8192);  // one would be too few
  EXPECT_EQ(gpu::bytesForKept(chip, 32, 16, 120 << 10, 32768, 0),
            3u * 32768); // beside what it needs
  EXPECT_EQ(gpu::bytesForKept(chip, 32, 16, 200 << 10, 65536, 0), 0u);
}

TEST_F(GpuKernels, RegistersAreLimitedAsAsked) {
  std::string limited = softmax;
  limited = "module attributes {tile.maxnreg = 40 : i32} {" + limited + "}";
  EXPECT_NE(emit(limited, "sm_90a", pipeline::GpuStage::Ptx).find(".maxnreg 40"),
            std::string::npos);
  EXPECT_EQ(emit(softmax, "sm_90a", pipeline::GpuStage::Ptx).find(".maxnreg"), std::string::npos);
}

TEST_F(GpuKernels, HalvesAreRoundedAndPackedTogether) {
  std::string source = R"(
func.func @f(%x: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %y: !tile.ptr<TYPE> {tile.divisibility = 16 : i64}) attributes {tile.kernel} {
  %o = tile.arange 0 to 1024 : tensor<1024xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %o : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  %v = tile.load %xp : tensor<1024x!tile.ptr<f32>> -> tensor<1024xf32>
  %h = arith.truncf %v : tensor<1024xf32> to tensor<1024xTYPE>
  %ys = tile.splat %y : !tile.ptr<TYPE> -> tensor<1024x!tile.ptr<TYPE>>
  %yp = tile.addptr %ys, %o : tensor<1024x!tile.ptr<TYPE>>, tensor<1024xi32>
  tile.store %yp, %h : tensor<1024x!tile.ptr<TYPE>>, tensor<1024xTYPE>
  return
})";
  for (const std::string type : {"f16", "bf16"}) {
    std::string typed = source;
    for (size_t at; (at = typed.find("TYPE")) != std::string::npos;)
      typed.replace(at, 4, type);
    std::string ptx = emit(typed, "sm_90a", pipeline::GpuStage::Ptx);
    EXPECT_EQ(countOf(ptx, "cvt.rn." + type + "x2.f32"), 4u) << ptx;
  }
}

TEST_F(GpuKernels, ProductsUseTensorCores) {
  std::string ptx = emit(halfMatmul, "sm_90a", pipeline::GpuStage::Ptx);
  // 32 x 64 x 16 in pieces of 16 x 8 x 16 over four warps.
  EXPECT_EQ(countOf(ptx, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"), 4u) << ptx;
  EXPECT_NE(ptx.find(".reqntid 128, 1, 1"), std::string::npos);
  EXPECT_EQ(ptx.find(", debug"), std::string::npos) << "ptxas would not optimise";
}

// The product of 32 rows made one of 64: a warp group's worth.
std::string warpGroupMatmul() {
  std::string text = halfMatmul;
  for (auto [from, to] : {std::pair("tensor<32x", "tensor<64x"), std::pair("0 to 32", "0 to 64"),
                          std::pair("constant 32 ", "constant 64 ")})
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + 1))
      text.replace(at, strlen(from), to);
  return text;
}

TEST_F(GpuKernels, WarpGroupsMultiplyFromSharedMemory) {
  std::string ptx = emit(warpGroupMatmul(), "sm_90a", pipeline::GpuStage::Ptx);
  EXPECT_EQ(countOf(ptx, "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"), 1u) << ptx;
  EXPECT_EQ(countOf(ptx, "fence.proxy.async"), 1u) << "stores must be seen by the tensor cores";
  EXPECT_EQ(countOf(ptx, "ldmatrix"), 0u);
  // Not on chips without the instruction; there both operands come as fragments.
  ptx = emit(warpGroupMatmul(), "sm_90", pipeline::GpuStage::Ptx);
  EXPECT_EQ(countOf(ptx, "wgmma"), 0u);
  EXPECT_EQ(countOf(ptx, "mma.sync.aligned.m16n8k16"), 8u) << ptx;
  // 32 rows of A, K contiguous; 32 columns of B, N contiguous.
  EXPECT_EQ(countOf(ptx, "ldmatrix.sync.aligned.m8n8.x4.shared"), 2u) << ptx;
  EXPECT_EQ(countOf(ptx, "ldmatrix.sync.aligned.m8n8.x4.trans.shared"), 2u) << ptx;
}

// Rows that are read from memory: the row numbers move to the threads that load rows of values.
TEST_F(GpuKernels, SmallTilesMoveAndNotTheirCopies) {
  std::string level2 = emit(R"(
func.func @gather(%rows: !tile.ptr<i64> {tile.divisibility = 16 : i64},
                  %x: !tile.ptr<f16> {tile.divisibility = 16 : i64}) attributes {tile.kernel} {
  %r = tile.arange 0 to 64 : tensor<64xi32>
  %rs = tile.splat %rows : !tile.ptr<i64> -> tensor<64x!tile.ptr<i64>>
  %rp = tile.addptr %rs, %r : tensor<64x!tile.ptr<i64>>, tensor<64xi32>
  %row = tile.load %rp : tensor<64x!tile.ptr<i64>> -> tensor<64xi64>
  %row1 = tile.expand_dims %row axis 1 : tensor<64xi64> -> tensor<64x1xi64>
  %row2 = tile.broadcast %row1 : tensor<64x1xi64> -> tensor<64x128xi64>
  %xs = tile.splat %x : !tile.ptr<f16> -> tensor<64x128x!tile.ptr<f16>>
  %xp = tile.addptr %xs, %row2 : tensor<64x128x!tile.ptr<f16>>, tensor<64x128xi64>
  %v = tile.load %xp : tensor<64x128x!tile.ptr<f16>> -> tensor<64x128xf16>
  tile.store %xp, %v : tensor<64x128x!tile.ptr<f16>>, tensor<64x128xf16>
  return
}
)",
                            "sm_90a", pipeline::GpuStage::Gpu);
  EXPECT_EQ(countOf(level2, "tilegpu.convert_layout"), 1u) << level2;
  EXPECT_NE(level2.find("-> tensor<64xi64, #layout"), std::string::npos) << level2;
}

TEST_F(GpuKernels, ReductionsMeetOnceInSharedMemory) {
  std::string ptx = emit(softmax, "sm_90a", pipeline::GpuStage::Ptx);
  // Five shuffles and a barrier for each of the maximum and the sum.
  EXPECT_EQ(countOf(ptx, "shfl.sync.bfly"), 10u) << ptx;
  EXPECT_EQ(countOf(ptx, "bar.sync"), 2u) << ptx;
  // The parts of all four warps in one access.
  EXPECT_EQ(countOf(ptx, "ld.shared.v4.f32"), 2u) << ptx;
  EXPECT_NE(ptx.find("ex2.approx"), std::string::npos);
}

// The runtime passes one pointer a slot and one for the context: the driver refuses a launch
// otherwise.
TEST_F(GpuKernels, OneParameterASlot) {
  for (const char *source : {vectorAdd, softmax, halfMatmul, descriptorLoad}) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
    ASSERT_TRUE(module);
    auto artifact = pipeline::compileForGpu(*module, *target::gpuChip("sm_90a"));
    ASSERT_TRUE(artifact) << artifact.error().what;
    std::string ptx = emit(source, "sm_90a", pipeline::GpuStage::Ptx);
    std::string entry = ptx.substr(ptx.find(".entry"), ptx.find('{') - ptx.find(".entry"));
    EXPECT_EQ(countOf(entry, ".param"), artifact->slots().size() + 1) << entry;
  }
}

// The copy engine compares and adds as the tensor map's type says.
TEST_F(GpuKernels, DescriptorsKeepTheSignOfTheirElements) {
  std::string source = R"(
func.func @largest(%d: !tile.desc<8x16xi32> {tile.name = "d", tile.dtype = "tensordesc<u32[8,16]>"}) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %t = arith.constant dense<7> : tensor<8x16xi32>
  tile.desc_reduce <umax>, %d[%zero, %zero], %t : <8x16xi32>, tensor<8x16xi32>
  return
})";
  for (DType type : {DType::UInt32, DType::Int32}) {
    if (type == DType::Int32)
      source.replace(source.find("u32["), 1, "i");
    auto module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
    ASSERT_TRUE(module);
    auto artifact = pipeline::compileForGpu(*module, *target::gpuChip("sm_90a"));
    ASSERT_TRUE(artifact) << artifact.error().what;
    // The argument as it comes, and the map that is made of it.
    ASSERT_EQ(artifact->descriptors().size(), 2u);
    for (const support::DescriptorRecord &descriptor : artifact->descriptors())
      EXPECT_EQ(DType(descriptor.type), type);
  }
}

TEST_F(GpuKernels, AreAssembledWithoutTheProgram) {
  if (!gpu::hasNvJitLink())
    GTEST_SKIP() << "no nvJitLink on this machine";
  for (const char *chip : {"sm_80", "sm_90a"})
    for (const std::string &source : std::initializer_list<std::string>{softmax, halfMatmul}) {
      auto module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
      ASSERT_TRUE(module);
      pipeline::GpuOptions options;
      options.ptxas = gpu::nvJitLink;
      auto artifact = pipeline::compileForGpu(*module, *target::gpuChip(chip), options);
      ASSERT_TRUE(artifact) << chip << ": " << artifact.error().what;
      ASSERT_EQ(artifact->codes().size(), 2u);
      const support::CodeRecord &cubin = artifact->codes()[0];
      EXPECT_EQ(cubin.kind, uint32_t(support::CodeKind::Cubin));
      EXPECT_GT(cubin.registers, 8u);
      EXPECT_EQ(cubin.spillStoreBytes + cubin.spillLoadBytes, 0u);
      auto code = artifact->blob(cubin.code);
      ASSERT_GT(code.size(), 1000u);
      EXPECT_EQ(std::string(code.begin(), code.begin() + 4), "\177ELF");
    }
  auto refused = gpu::assemble(gpu::nvJitLink, ".version 8.0\n.target sm_90\nnonsense", "sm_90a");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("nvJitLink rejects the kernel for sm_90a"),
            std::string::npos);
  EXPECT_NE(refused.error().what.find("line 3"), std::string::npos) << refused.error().what;
  EXPECT_FALSE(gpu::assemble(gpu::nvJitLink, "", "sm_999"));
}

TEST_F(GpuKernels, AllAssemble) {
  if (gpu::findPtxas().empty())
    GTEST_SKIP() << "no ptxas on this machine";
  for (const char *chip : {"sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_120"})
    for (const std::string &source : std::initializer_list<std::string>{
             vectorAdd, softmax, halfMatmul, warpGroupMatmul(), shapes, descriptorLoad}) {
      auto module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
      ASSERT_TRUE(module);
      auto artifact = pipeline::compileForGpu(*module, *target::gpuChip(chip));
      ASSERT_TRUE(artifact) << chip << ": " << artifact.error().what;
      ASSERT_EQ(artifact->codes().size(), 2u);
      const support::CodeRecord &cubin = artifact->codes()[0], &ptx = artifact->codes()[1];
      EXPECT_EQ(cubin.kind, uint32_t(support::CodeKind::Cubin));
      EXPECT_EQ(ptx.kind, uint32_t(support::CodeKind::Ptx));
      EXPECT_EQ(artifact->text(cubin.arch), chip);
      EXPECT_EQ(cubin.numWarps, 4u);
      EXPECT_GT(cubin.registers, 0u);
      EXPECT_EQ(cubin.spillStoreBytes, 0u);
    }
}

TEST_F(GpuKernels, WarpCountsAreChecked) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(vectorAdd, &context);
  auto artifact = pipeline::compileForGpu(*module, *target::gpuChip("sm_90a"), {.numWarps = 3});
  ASSERT_FALSE(artifact);
  EXPECT_NE(artifact.error().what.find("num_warps is 3"), std::string::npos)
      << artifact.error().what;
}

} // namespace
