// The launch path on a GPU: tensor maps, clusters, the whole way from arguments. Skipped without
// one.
#include "launch/Launcher.h"

#include "../runtime/TestArtifacts.h"

#include <gtest/gtest.h>

using namespace nereid;
using namespace nereid::launch;
using namespace nereid::support;
namespace test = nereid::runtime::test;

namespace {

// Thread 0 fetches the 8x16 tile of f32 at row 8 * ctaid.x, column 16; each thread stores one
// element.
const char *tmaPtx = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry run(.param .u64 out, .param .u64 hidden, .param .align 64 .b8 map[128])
{
  .reg .pred %p<3>;
  .reg .b32 %r<12>;
  .reg .b64 %d<8>;
  .reg .f32 %f<2>;
  .shared .align 128 .b8 tile[512];
  .shared .align 8 .b64 bar;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, tile;
  mov.u32 %r3, bar;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra JOIN;
  mbarrier.init.shared.b64 [%r3], 1;
  fence.mbarrier_init.release.cluster;
  mov.b64 %d1, map;
  cvta.param.u64 %d2, %d1;
  mbarrier.arrive.expect_tx.shared.b64 %d7, [%r3], 512;
  mov.u32 %r4, 16;
  mov.u32 %r5, %ctaid.x;
  shl.b32 %r5, %r5, 3;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r2], [%d2, {%r4, %r5}], [%r3];
JOIN:
  bar.sync 0;
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0;
  @!%p2 bra WAIT;
  shl.b32 %r6, %r1, 2;
  add.u32 %r7, %r2, %r6;
  ld.shared.f32 %f1, [%r7];
  ld.param.u64 %d3, [out];
  mov.u32 %r8, %ctaid.x;
  shl.b32 %r8, %r8, 9;
  add.u32 %r9, %r8, %r6;
  cvt.u64.u32 %d4, %r9;
  add.s64 %d5, %d3, %d4;
  st.global.f32 [%d5], %f1;
  ret;
}
)";

// out[ctaid.x] = blocks in the cluster * 100 + rank of the block in it.
const char *clusterPtx = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry run(.param .u64 out, .param .u64 hidden)
{
  .reg .b32 %r<6>;
  .reg .b64 %d<4>;
  mov.u32 %r1, %cluster_nctarank;
  mov.u32 %r2, %cluster_ctarank;
  mad.lo.u32 %r3, %r1, 100, %r2;
  mov.u32 %r4, %ctaid.x;
  mul.wide.u32 %d1, %r4, 4;
  ld.param.u64 %d2, [out];
  add.s64 %d3, %d2, %d1;
  st.global.u32 [%d3], %r3;
  ret;
}
)";

class LaunchCuda : public testing::Test {
protected:
  void SetUp() override {
    auto found = runtime::device("cuda:0");
    if (!found)
      GTEST_SKIP() << found.error().what;
    gpu = *found;
    if (gpu->info().arch != "sm_90a")
      GTEST_SKIP() << gpu->info().description << " is no Hopper chip";
  }
  runtime::Device *gpu = nullptr;
};

class TmaSource final : public KernelSource {
public:
  Result<Artifact> kernelFor(const Specialization &specialization, std::span<const uint32_t>,
                             uint32_t) override {
    text = specialization.text();
    ArtifactBuilder builder;
    builder.kernel.name = builder.text("tiles");
    DescriptorRecord descriptor;
    descriptor.rank = 2;
    descriptor.type = uint8_t(DType::Float32);
    for (int i = 0; i < 2; ++i) {
      descriptor.block[i] = descriptor.box[i] = i ? 16 : 8;
      descriptor.elementStride[i] = 1;
    }
    builder.descriptors.push_back(descriptor);
    builder.parameters.push_back({builder.text("x"), {}, 0, 0, 1});
    builder.parameters.push_back({builder.text("out"), {}, 0, 1, 1});
    builder.slots[builder.addSlot("x", SlotKind::TensorMap, DType::Float32, 0)].descriptor = 0;
    builder.addSlot("out", SlotKind::Pointer, DType::Float32, 1);
    CodeRecord code;
    code.kind = uint32_t(CodeKind::Ptx);
    code.arch = builder.text("sm_90");
    code.code = builder.ptx(tmaPtx);
    code.entry = builder.text("run");
    code.numWarps = 4;
    builder.codes.push_back(code);
    return builder.finish();
  }
  std::string text;
};

TEST_F(LaunchCuda, EncodesTensorMaps) {
  const Signature signature = {"tiles", {{.name = "x"}, {.name = "out"}}};
  TmaSource source;
  Launcher launcher(signature, *gpu, source);
  auto stream = *gpu->createStream();
  // 30 rows (the last tile is ragged), 40 columns, of rows of 64.
  const int64_t rows = 30, columns = 40, pitch = 64;
  std::vector<float> host(size_t(rows * pitch));
  for (size_t i = 0; i < host.size(); ++i)
    host[i] = float(i);
  auto memory = *gpu->allocate(host.size() * 4), result = *gpu->allocate(4 * 128 * 4);
  ASSERT_TRUE(stream->copy(memory.data(), host.data(), host.size() * 4));
  int64_t shape[] = {rows, columns}, strides[] = {pitch, 1};
  DescriptorArgument descriptor{
      *runtime::Tensor::wrap(*gpu, memory.data(), DType::Float32, shape, strides), {8, 16}};
  Argument arguments[] = {Argument::descriptor(descriptor),
                          Argument::pointer(result.data(), DType::Float32)};
  for (int repeat = 0; repeat < 2; ++repeat) { // the second time from the cache of maps
    Status status = launcher.launch(*stream, arguments, Launcher::Grid{4, 1, 1});
    ASSERT_TRUE(status) << status.error().what;
    std::vector<float> tiles(4 * 128);
    ASSERT_TRUE(stream->copy(tiles.data(), result.data(), tiles.size() * 4));
    ASSERT_TRUE(stream->synchronize());
    for (int64_t row = 0; row < 32; ++row)
      for (int64_t column = 0; column < 16; ++column)
        ASSERT_EQ(tiles[size_t(row * 16 + column)],
                  row < rows ? float(row * pitch + column + 16) : 0.0f)
            << row << " " << column;
  }
  EXPECT_EQ(source.text, "tensordesc<fp32[8, 16]>, *fp32:16");

  int64_t odd[] = {pitch + 1, 1};
  DescriptorArgument misaligned{
      *runtime::Tensor::wrap(*gpu, memory.data(), DType::Float32, shape, odd), {8, 16}};
  arguments[0] = Argument::descriptor(misaligned);
  Status status = launcher.launch(*stream, arguments, Launcher::Grid{4, 1, 1});
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().what.find("stride of dimension 0 is 65 elements of 4 bytes"),
            std::string::npos)
      << status.error().what;
}

TEST_F(LaunchCuda, LaunchesClusters) {
  for (auto [blocksPerProgram, cluster] : {std::pair{1u, 2u}, {4u, 4u}, {16u, 16u}}) {
    auto builder = test::startArtifact({});
    CodeRecord code;
    code.kind = uint32_t(CodeKind::Ptx);
    code.arch = builder.text("sm_90");
    code.code = builder.ptx(clusterPtx);
    code.cluster[0] = cluster;
    code.blocksPerProgram = blocksPerProgram;
    test::KernelOptions options;
    options.numWarps = 1;
    options.flags = CodePdl;
    auto kernel = gpu->load(test::finishArtifact(builder, code, options));
    ASSERT_TRUE(kernel) << kernel.error().what;
    auto stream = *gpu->createStream();
    const uint32_t programs = 8, blocks = programs * blocksPerProgram;
    auto out = *gpu->allocate(blocks * 4);
    void *argument = out.data();
    Status status = stream->launch(**kernel, {&argument, 8, {programs, 1, 1}});
    ASSERT_TRUE(status) << status.error().what;
    std::vector<uint32_t> seen(blocks);
    ASSERT_TRUE(stream->copy(seen.data(), out.data(), blocks * 4));
    ASSERT_TRUE(stream->synchronize());
    for (uint32_t block = 0; block < blocks; ++block)
      ASSERT_EQ(seen[block], cluster * 100 + block % cluster);
  }
}

} // namespace
