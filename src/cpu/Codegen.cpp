#include "cpu/Codegen.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Analysis/InstSimplifyFolder.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>
#include <numeric>

namespace nereid::cpu {

static constexpr const char *triple = "x86_64-unknown-linux-gnu";

std::unique_ptr<llvm::TargetMachine> createMachine(const target::CpuFeatureSet &features,
                                                   bool optimize) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  std::string enabled;
  llvm::SmallVector<llvm::StringRef> names;
  std::string text = features.text();
  llvm::StringRef(text).split(names, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef name : names)
    enabled += (enabled.empty() ? "+" : ",+") + name.str();
  llvm::TargetOptions options;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, "x86-64", enabled, options, llvm::Reloc::PIC_, llvm::CodeModel::Small,
      optimize ? llvm::CodeGenOptLevel::Default : llvm::CodeGenOptLevel::None));
}

Processor processorOf(const target::CpuFeatureSet &features) {
  Processor out;
  out.vectorBytes = features.has("avx512f") ? 64 : features.has("avx") ? 32 : 16;
  out.picksLanes = features.has("avx2");
  out.bf16Pairs = features.has("avx512bf16");
  out.byteQuads = features.has("avx512vnni");
  out.bf16Tiles = features.has("amx-tile") && features.has("amx-bf16");
  out.picksWords = features.has("avx512bw");
  out.atomicPairs = features.has("cx16");
  out.byteTiles = features.has("amx-tile") && features.has("amx-int8");
  out.slowGathers = features.has("sse4a");
  // Processors with any of these have 48 KiB, others mostly 32.
  if (features.has("avxvnni") || features.has("avx512vp2intersect") || features.has("amx-tile"))
    out.firstCacheBytes = 48 << 10;
  return out;
}

void prepare(llvm::Module &module, llvm::TargetMachine &machine) {
  module.setTargetTriple(triple);
  module.setDataLayout(machine.createDataLayout());
  for (llvm::Function &function : module) {
    function.setDoesNotThrow();
    if (function.isDeclaration()) {
      // What kernels call works on its arguments alone, but for records.
      if (!function.isIntrinsic() && !function.getName().starts_with("nereid_"))
        function.setDoesNotAccessMemory();
      continue;
    }
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
    function.addFnAttr("prefer-vector-width", "512");
  }
}

// Lanes [first, first + count) of a vector, where what is constant in them is seen to be so.
static llvm::Value *slice(llvm::IRBuilderBase &b, llvm::Value *vector, unsigned first,
                          unsigned count) {
  if (auto *op = llvm::dyn_cast<llvm::BinaryOperator>(vector);
      op && op->getType()->getScalarType()->isIntegerTy(1))
    return b.CreateBinOp(op->getOpcode(), slice(b, op->getOperand(0), first, count),
                         slice(b, op->getOperand(1), first, count));
  if (auto *op = llvm::dyn_cast<llvm::SelectInst>(vector)) {
    llvm::Value *condition = op->getCondition();
    if (condition->getType()->isVectorTy())
      condition = slice(b, condition, first, count);
    return b.CreateSelect(condition, slice(b, op->getTrueValue(), first, count),
                          slice(b, op->getFalseValue(), first, count));
  }
  llvm::SmallVector<int> lanes(count);
  std::iota(lanes.begin(), lanes.end(), int(first));
  return b.CreateShuffleVector(vector, lanes);
}

static void splitMaskedAccess(llvm::IntrinsicInst *access, unsigned vectorBytes) {
  bool isStore = access->getIntrinsicID() == llvm::Intrinsic::masked_store;
  llvm::Value *pointer = access->getArgOperand(isStore ? 1 : 0),
              *mask = access->getArgOperand(isStore ? 3 : 2);
  auto align =
      llvm::cast<llvm::ConstantInt>(access->getArgOperand(isStore ? 2 : 1))->getAlignValue();
  llvm::Value *other = isStore ? access->getArgOperand(0) : access->getArgOperand(3);
  auto *type = llvm::cast<llvm::FixedVectorType>(other->getType());
  unsigned size = type->getScalarSizeInBits() / 8;
  unsigned lanes = size ? vectorBytes / size : 0;
  if (size < 4 || type->getNumElements() <= lanes)
    return;
  llvm::IRBuilder<llvm::InstSimplifyFolder> b(
      access->getContext(), llvm::InstSimplifyFolder(access->getModule()->getDataLayout()));
  b.SetInsertPoint(access);
  llvm::SmallVector<llvm::Value *> pieces;
  for (unsigned first = 0; first < type->getNumElements(); first += lanes) {
    llvm::Value *on = slice(b, mask, first, lanes), *value = slice(b, other, first, lanes);
    llvm::Value *at = b.CreateConstGEP1_64(b.getInt8Ty(), pointer, first * size);
    auto *known = llvm::dyn_cast<llvm::Constant>(on);
    bool isOff = known && known->isNullValue();
    if (isStore && !isOff)
      b.CreateMaskedStore(value, at, llvm::commonAlignment(align, first * size), on);
    else if (!isStore)
      pieces.push_back(isOff ? value
                             : b.CreateMaskedLoad(value->getType(), at,
                                                  llvm::commonAlignment(align, first * size), on,
                                                  value));
  }
  if (!isStore)
    access->replaceAllUsesWith(llvm::concatenateVectors(b, pieces));
  access->eraseFromParent();
}

void splitMaskedAccesses(llvm::Module &module, unsigned vectorBytes) {
  llvm::SmallVector<llvm::IntrinsicInst *> accesses;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction))
        if (call->getIntrinsicID() == llvm::Intrinsic::masked_load ||
            call->getIntrinsicID() == llvm::Intrinsic::masked_store)
          accesses.push_back(call);
  for (llvm::IntrinsicInst *access : accesses)
    splitMaskedAccess(access, vectorBytes);
}

// Bytes of the elements that a mask chooses; 0 if that is not what it is for.
static unsigned bytesChosen(const llvm::Use &use) {
  auto sizeOf = [](llvm::Type *type) { return type->getScalarSizeInBits() / 8; };
  if (auto *select = llvm::dyn_cast<llvm::SelectInst>(use.getUser()))
    return use.getOperandNo() == 0 ? sizeOf(select->getType()) : 0;
  auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(use.getUser());
  if (call && call->getIntrinsicID() == llvm::Intrinsic::masked_load)
    return sizeOf(call->getType());
  if (call && call->getIntrinsicID() == llvm::Intrinsic::masked_store)
    return sizeOf(call->getArgOperand(0)->getType());
  return 0;
}

void keepMasksWide(llvm::Module &module, unsigned vectorBytes) {
  constexpr unsigned mostVectors = 2;
  llvm::SmallVector<llvm::Instruction *> masks;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *type = llvm::dyn_cast<llvm::FixedVectorType>(instruction.getType());
          type && type->getElementType()->isIntegerTy(1) &&
          !llvm::isa<llvm::PHINode, llvm::CmpInst>(instruction)) // comparisons are repeated
        masks.push_back(&instruction);
  for (llvm::Instruction *mask : masks) {
    unsigned bytes = 0,
             lanes = llvm::cast<llvm::FixedVectorType>(mask->getType())->getNumElements();
    llvm::MapVector<llvm::BasicBlock *, llvm::SmallVector<llvm::Use *>> elsewhere;
    for (llvm::Use &use : mask->uses()) {
      auto *user = llvm::cast<llvm::Instruction>(use.getUser());
      if (user->getParent() == mask->getParent() || llvm::isa<llvm::PHINode>(user))
        continue;
      bytes = std::max(bytes, bytesChosen(use));
      elsewhere[user->getParent()].push_back(&use);
    }
    if (bytes < 4 || bytes * lanes > mostVectors * vectorBytes || bytes * lanes < vectorBytes)
      continue;
    llvm::IRBuilder<> b(mask->getNextNode());
    auto *wide = llvm::FixedVectorType::get(b.getIntNTy(bytes * 8), lanes);
    llvm::Value *kept = b.CreateSExt(mask, wide);
    for (auto &[block, uses] : elsewhere) {
      b.SetInsertPoint(&*block->getFirstInsertionPt());
      llvm::Value *again = b.CreateICmpSLT(kept, llvm::Constant::getNullValue(wide));
      for (llvm::Use *use : uses)
        use->set(again);
    }
  }
}

Status checkSymbols(const std::string &object) {
  static const llvm::StringSet<llvm::MallocAllocator> known = {
#define MEMORY(name) #name,
#define UNARY(type, name) #name,
#define BINARY(type, name) #name,
#define TERNARY(type, name) #name,
#define RUNTIME(name, definition) #name,
#include "support/CpuSymbols.def"
  };
  auto file = llvm::object::ObjectFile::createObjectFile(
      llvm::MemoryBufferRef(llvm::StringRef(object), "kernel"));
  if (!file) {
    return Error{"cannot read the object just made: " + llvm::toString(file.takeError()), {}};
  }
  for (const llvm::object::SymbolRef &symbol : (*file)->symbols()) {
    auto flags = symbol.getFlags();
    auto name = symbol.getName();
    if (!flags || !name) {
      llvm::consumeError(flags.takeError());
      llvm::consumeError(name.takeError());
      continue;
    }
    if ((*flags & llvm::object::SymbolRef::SF_Undefined) && !name->empty() &&
        !known.contains(*name))
      return Error{"the compiled kernel calls `" + name->str() +
                       "`, which kernels cannot have (a fault of the compiler)",
                   {}};
  }
  return Success{};
}

} // namespace nereid::cpu
