// Every op that a kernel may hold has a meaning, and code on each back end or a reason why not.
#include "gpu/RegisterEmitter.h"
#include "ir/TileOps.h"
#include "pipeline/Cpu.h"
#include "pipeline/Gpu.h"
#include "ref/Reference.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OpDefinition.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

using namespace nereid;

namespace {

class Coverage : public testing::Test {
protected:
  Coverage() {
    mlir::DialectRegistry registry;
    pipeline::registerCpuPipeline(registry);
    pipeline::registerGpuPipeline(registry);
    ref::registerReferenceModels(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  // The ops of the tile dialect, and those of arith and math that have a meaning here: what the
  // front end builds.
  std::vector<mlir::RegisteredOperationName> ops() {
    std::vector<mlir::RegisteredOperationName> found;
    for (mlir::RegisteredOperationName name : context.getRegisteredOperations()) {
      llvm::StringRef dialect = name.getDialectNamespace();
      bool ours = dialect == "tile";
      bool upstream = dialect == "arith" || dialect == "math";
      if (name.hasTrait<mlir::OpTrait::IsTerminator>() || (!ours && !upstream))
        continue;
      if (ours || name.hasInterface<tile::ReferenceOpInterface>())
        found.push_back(name);
    }
    return found;
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
};

// Ops without code of their own on a back end, each with its reason. A row that is no longer true
// fails.
using Reasons = std::map<std::string, std::string>;
const std::string notBuilt = "the front end builds none";
const Reasons withoutCpuCode = {
    {"tile.inline_asm", "becomes arithmetic or tile.map before (transforms/ExpandInlineAsm)"},
    {"tile.dot_scaled", "becomes tile.dot before (transforms/ExpandScaledProducts)"},
    {"math.ipowi", notBuilt},
    {"math.fpowi", notBuilt},
    {"arith.index_cast", notBuilt},
    {"arith.index_castui", notBuilt},
};
const Reasons withoutGpuCode = {
    {"tile.dot_scaled", "becomes tile.dot before (transforms/ExpandScaledProducts)"},
    {"math.ipowi", notBuilt},
    {"math.fpowi", notBuilt},
    {"arith.index_cast", notBuilt},
    {"arith.index_castui", notBuilt},
};

template <typename Interface>
void expectCode(const std::vector<mlir::RegisteredOperationName> &ops, const Reasons &without) {
  std::set<std::string> stale;
  for (const auto &[name, reason] : without)
    stale.insert(name);
  for (mlir::RegisteredOperationName op : ops) {
    std::string name = op.getStringRef().str();
    bool stated = without.contains(name);
    stale.erase(name);
    EXPECT_NE(op.hasInterface<Interface>(), stated)
        << name << (stated ? " has code now: drop its reason" : " has no code and no reason");
  }
  EXPECT_TRUE(stale.empty()) << "no such op: " << *stale.begin();
}

TEST_F(Coverage, EveryOpHasAReference) {
  unsigned seen = 0;
  for (mlir::RegisteredOperationName op : ops()) {
    EXPECT_TRUE(op.hasInterface<tile::ReferenceOpInterface>()) << op.getStringRef().str();
    ++seen;
  }
  EXPECT_GT(seen, 100u);
}

TEST_F(Coverage, EveryOpHasCpuCodeOrAReason) {
  expectCode<tile::LanesOpInterface>(ops(), withoutCpuCode);
}

TEST_F(Coverage, EveryOpHasGpuCodeOrAReason) {
  expectCode<gpu::RegistersOpInterface>(ops(), withoutGpuCode);
}

// What `nereid-opt` prints can be looked up, and read again.
TEST_F(Coverage, EveryTileOpIsDocumentedAndWrittenOnce) {
  auto read = [](const char *path) {
    std::stringstream text;
    text << std::ifstream(std::string(NEREID_SOURCE_DIR) + path).rdbuf();
    return text.str();
  };
  std::string definitions = read("/src/ir/TileOps.td"), roundtrip = read("/test/ir/roundtrip.mlir");
  for (mlir::RegisteredOperationName op : ops()) {
    if (op.getDialectNamespace() != "tile")
      continue;
    std::string name = op.getStringRef().str();
    EXPECT_NE(roundtrip.find(name), std::string::npos)
        << name << " is not in test/ir/roundtrip.mlir";
    size_t at = definitions.find("<\"" + op.stripDialect().str() + "\"");
    ASSERT_NE(at, std::string::npos) << name;
    size_t next = definitions.find("\ndef ", at);
    EXPECT_LT(definitions.find("let summary = \"", at), next) << name << " has no summary";
  }
}

} // namespace
