// Builds artifacts around small kernels.
#pragma once

#include "TestObjects.h"
#include "support/Artifact.h"
#include "support/LaunchAbi.h"

namespace nereid::runtime::test {

struct KernelOptions {
  const char *name = "kernel";
  uint32_t arenaBytes = 0;
  uint64_t scratchBytes = 0;
  uint32_t flags = 0;
  uint32_t numWarps = 4;
  uint32_t sharedBytes = 0;
  const char *features = "";
  const char *arch = "sm_80";
  std::vector<support::SlotKind> slots = {support::SlotKind::Pointer};
  uint32_t gridRank = 3;
};

inline support::ArtifactBuilder startArtifact(const KernelOptions &options) {
  support::ArtifactBuilder builder;
  builder.kernel.name = builder.text(options.name);
  builder.kernel.gridRank = options.gridRank;
  for (size_t i = 0; i < options.slots.size(); ++i) {
    std::string name = "p" + std::to_string(i);
    builder.parameters.push_back({builder.text(name), {}, 0, uint32_t(i), 1});
    builder.addSlot(name, options.slots[i], DType::Int32, uint32_t(i));
  }
  return builder;
}

inline support::Artifact finishArtifact(support::ArtifactBuilder &builder, support::CodeRecord code,
                                        const KernelOptions &options) {
  code.entry = builder.text("run");
  code.arenaBytes = options.arenaBytes;
  code.scratchBytes = options.scratchBytes;
  code.flags = options.flags;
  code.numWarps = options.numWarps;
  code.sharedBytes = options.sharedBytes;
  builder.codes.push_back(code);
  auto artifact = builder.finish();
  EXPECT_TRUE(artifact) << artifact.error().what;
  return *artifact;
}

/// A CPU kernel from a C function `run`.
inline support::Artifact makeArtifact(const std::string &source,
                                      const KernelOptions &options = {}) {
  auto builder = startArtifact(options);
  support::CodeRecord code;
  code.arch = builder.text("x86-64");
  code.features = builder.text(options.features);
  code.code = builder.blob(compileC(kernelPrelude + source));
  return finishArtifact(builder, code, options);
}

/// A GPU kernel from PTX with an entry `run`.
inline support::Artifact makePtxArtifact(const std::string &ptx,
                                         const KernelOptions &options = {}) {
  auto builder = startArtifact(options);
  support::CodeRecord code;
  code.kind = uint32_t(support::CodeKind::Ptx);
  code.arch = builder.text(options.arch);
  code.code = builder.ptx(ptx);
  return finishArtifact(builder, code, options);
}

} // namespace nereid::runtime::test
