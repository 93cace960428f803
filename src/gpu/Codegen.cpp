#include "gpu/Codegen.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Local.h"

#include <mutex>

namespace nereid::gpu {

static constexpr const char *triple = "nvptx64-nvidia-cuda";

std::unique_ptr<llvm::TargetMachine> createMachine(const target::GpuChip &chip, bool contract) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  // LLVM 19 knows PTX up to 8.5.
  std::string name(chip.can(target::LlvmTarget) ? chip.name : "sm_90");
  // Products of fp8 need PTX 8.4.
  unsigned version = std::max<unsigned>(chip.ptxVersion, chip.can(target::Fp8Mma) ? 84 : 80);
  std::string features = "+ptx" + std::to_string(std::min(version, 85u));
  llvm::TargetOptions options;
  // Without contraction instructions say `.rn`, which keeps the assembler from it as well.
  options.AllowFPOpFusion = contract ? llvm::FPOpFusion::Fast : llvm::FPOpFusion::Standard;
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, name, features, options, llvm::Reloc::PIC_));
}

// Two bytes as a vector pass through local memory where they become a number or come of one, or of
// memory: LLVM has registers for four. Written as a number of 16 bits instead.
static void splitBytePairs(llvm::Function &function) {
  llvm::IRBuilder<> b(function.getContext());
  llvm::Type *pair = llvm::FixedVectorType::get(b.getInt8Ty(), 2), *number = b.getInt16Ty();
  auto toNumber = [&](llvm::Value *vector) {
    llvm::Value *low = b.CreateZExt(b.CreateExtractElement(vector, uint64_t(0)), number),
                *high = b.CreateZExt(b.CreateExtractElement(vector, uint64_t(1)), number);
    return b.CreateOr(low, b.CreateShl(high, 8));
  };
  auto toPair = [&](llvm::Value *bits) {
    llvm::Value *low = b.CreateTrunc(bits, b.getInt8Ty()),
                *high = b.CreateTrunc(b.CreateLShr(bits, 8), b.getInt8Ty());
    llvm::Value *vector = b.CreateInsertElement(llvm::PoisonValue::get(pair), low, uint64_t(0));
    return b.CreateInsertElement(vector, high, uint64_t(1));
  };
  for (llvm::Instruction &one : llvm::make_early_inc_range(llvm::instructions(function))) {
    b.SetInsertPoint(&one);
    auto *cast = llvm::dyn_cast<llvm::BitCastInst>(&one);
    if (auto *load = llvm::dyn_cast<llvm::LoadInst>(&one); load && load->getType() == pair) {
      one.replaceAllUsesWith(toPair(b.CreateAlignedLoad(number, load->getPointerOperand(),
                                                        load->getAlign(), load->isVolatile())));
    } else if (auto *store = llvm::dyn_cast<llvm::StoreInst>(&one);
               store && store->getValueOperand()->getType() == pair) {
      b.CreateAlignedStore(toNumber(store->getValueOperand()), store->getPointerOperand(),
                           store->getAlign(), store->isVolatile());
    } else if (cast && cast->getSrcTy() == pair && cast->getDestTy() == number) {
      one.replaceAllUsesWith(toNumber(cast->getOperand(0)));
    } else if (cast && cast->getSrcTy() == number && cast->getDestTy() == pair) {
      one.replaceAllUsesWith(toPair(cast->getOperand(0)));
    } else {
      continue;
    }
    one.eraseFromParent();
  }
}

void compareHalvesWithZero(llvm::Module &module) {
  using namespace llvm::PatternMatch;
  llvm::IRBuilder<> b(module.getContext());
  for (llvm::Function &function : module)
    for (llvm::Instruction &one : llvm::make_early_inc_range(llvm::instructions(function))) {
      llvm::ICmpInst::Predicate predicate;
      llvm::Value *word = nullptr;
      const llvm::APInt *bits = nullptr;
      if (!match(&one,
                 m_ICmp(predicate, m_OneUse(m_And(m_Value(word), m_APInt(bits))), m_ZeroInt())) ||
          !llvm::ICmpInst::isEquality(predicate) || !word->getType()->isIntegerTy())
        continue;
      bool isHigh = *bits == 0x7fff0000u;
      if (!isHigh && *bits != 0x7fff)
        continue;
      b.SetInsertPoint(&one);
      llvm::Value *half = isHigh ? b.CreateLShr(word, 16) : word;
      half = b.CreateBitCast(b.CreateTrunc(half, b.getInt16Ty()), b.getHalfTy());
      llvm::Value *zero = llvm::ConstantFP::getZero(b.getHalfTy());
      one.replaceAllUsesWith(predicate == llvm::ICmpInst::ICMP_EQ ? b.CreateFCmpOEQ(half, zero)
                                                                  : b.CreateFCmpUNE(half, zero));
      llvm::RecursivelyDeleteTriviallyDeadInstructions(&one);
    }
}

// Both halves of a word by one `mov`: taken out one by one, `ptxas` permutes the bytes of each
// and does not see that two of them can be multiplied at once; and it takes longer for two
// instructions than for one. Halves in bf16 that become f32 stay as they are: half a word with
// zeros behind it is a number.
void splitWordsOfHalves(llvm::Module &module) {
  llvm::IRBuilder<> b(module.getContext());
  llvm::Type *half = b.getInt16Ty(), *both = llvm::StructType::get(half, half);
  auto *type = llvm::FunctionType::get(both, {b.getInt32Ty()}, false);
  auto *text = llvm::InlineAsm::get(type, "mov.b32 {$0, $1}, $2;", "=h,=h,r",
                                    /*hasSideEffects=*/false);
  struct Word {
    llvm::SmallVector<llvm::TruncInst *, 1> halves[2];
    bool isComputedWith = false;
  };
  auto isComputedWith = [](llvm::Value *number) {
    return llvm::any_of(number->users(), [](llvm::User *cast) {
      auto *call = llvm::dyn_cast<llvm::CallInst>(cast);
      auto *assembly = call ? llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()) : nullptr;
      if (assembly && llvm::StringRef(assembly->getAsmString()).starts_with("abs."))
        return true;
      return llvm::isa<llvm::BitCastInst>(cast) &&
             llvm::any_of(cast->users(), [&](llvm::User *user) {
               return llvm::isa<llvm::FCmpInst>(user) ||
                      (llvm::isa<llvm::FPExtInst>(user) && cast->getType()->isHalfTy()) ||
                      (llvm::isa<llvm::BinaryOperator, llvm::UnaryOperator, llvm::IntrinsicInst>(
                           user) &&
                       user->getType()->isFloatingPointTy());
             });
    });
  };
  for (llvm::Function &function : module) {
    llvm::MapVector<llvm::Instruction *, Word> words;
    for (llvm::Instruction &one : llvm::instructions(function)) {
      auto *low = llvm::dyn_cast<llvm::TruncInst>(&one);
      if (!low || !low->getType()->isIntegerTy(16) || !low->getSrcTy()->isIntegerTy(32))
        continue;
      auto *word = llvm::dyn_cast<llvm::Instruction>(low->getOperand(0));
      const llvm::APInt *bits = nullptr;
      llvm::Value *shifted = nullptr;
      bool isHigh = word &&
                    llvm::PatternMatch::match(
                        word, llvm::PatternMatch::m_LShr(llvm::PatternMatch::m_Value(shifted),
                                                         llvm::PatternMatch::m_APInt(bits))) &&
                    *bits == 16;
      if (isHigh)
        word = llvm::dyn_cast<llvm::Instruction>(shifted);
      if (!word || word->isTerminator())
        continue;
      Word &found = words[word];
      found.halves[isHigh].push_back(low);
      found.isComputedWith |= isComputedWith(low);
    }
    for (auto &[word, found] : words) {
      if (found.halves[0].empty() || found.halves[1].empty() || !found.isComputedWith)
        continue;
      b.SetInsertPoint(llvm::isa<llvm::PHINode>(word) ? word->getParent()->getFirstInsertionPt()
                                                      : std::next(word->getIterator()));
      llvm::CallInst *halves = b.CreateCall(type, text, {word});
      halves->setDoesNotAccessMemory();
      halves->addFnAttr(llvm::Attribute::NoUnwind);
      halves->addFnAttr(llvm::Attribute::WillReturn);
      // One of those that go may be where `b` stands.
      llvm::Value *values[] = {b.CreateExtractValue(halves, {0u}),
                               b.CreateExtractValue(halves, {1u})};
      for (unsigned i = 0; i < 2; ++i)
        for (llvm::TruncInst *one : found.halves[i]) {
          one->replaceAllUsesWith(values[i]);
          one->eraseFromParent();
        }
    }
  }
}

// x = fpext (bf16 at the high end of a word)  ==>  the word with zeros at its low end
//
// `ptxas` takes the half out and shifts it up again.
void extendHighHalves(llvm::Module &module) {
  using namespace llvm::PatternMatch;
  llvm::IRBuilder<> b(module.getContext());
  llvm::SmallVector<llvm::WeakTrackingVH> replaced;
  for (llvm::Function &function : module)
    for (llvm::Instruction &one : llvm::instructions(function)) {
      llvm::Value *word = nullptr;
      if (!one.getType()->isFloatTy() ||
          !match(&one, m_FPExt(m_BitCast(m_Trunc(m_LShr(m_Value(word), m_SpecificInt(16)))))) ||
          !one.getOperand(0)->getType()->isBFloatTy() || !word->getType()->isIntegerTy(32))
        continue;
      b.SetInsertPoint(&one);
      one.replaceAllUsesWith(b.CreateBitCast(b.CreateAnd(word, 0xffff0000u), b.getFloatTy()));
      replaced.push_back(&one);
    }
  llvm::RecursivelyDeleteTriviallyDeadInstructions(replaced);
}

// The 32 bits that a number of 64 is extended from; with `isSigned` by their sign.
static llvm::Value *narrow(llvm::Value *number, bool isSigned) {
  auto *cast = llvm::dyn_cast<llvm::CastInst>(number);
  if (!cast || !cast->getSrcTy()->isIntegerTy(32))
    return nullptr;
  bool fits = isSigned ? llvm::isa<llvm::SExtInst>(cast) ||
                             (llvm::isa<llvm::ZExtInst>(cast) && cast->hasNonNeg())
                       : llvm::isa<llvm::ZExtInst>(cast);
  return fits ? cast->getOperand(0) : nullptr;
}

void multiplyWide(llvm::Module &module) {
  llvm::IRBuilder<> b(module.getContext());
  llvm::Type *word = b.getInt32Ty();
  auto *type = llvm::FunctionType::get(b.getInt64Ty(), {word, word}, false);
  for (llvm::Function &function : module)
    for (llvm::Instruction &one : llvm::make_early_inc_range(llvm::instructions(function))) {
      if (one.getOpcode() != llvm::Instruction::Mul || !one.getType()->isIntegerTy(64))
        continue;
      auto isElsewhere = [&](llvm::Value *factor) {
        auto *made = llvm::dyn_cast<llvm::Instruction>(factor);
        return made && made->getParent() != one.getParent();
      };
      if (!isElsewhere(one.getOperand(0)) && !isElsewhere(one.getOperand(1)))
        continue;
      for (bool isSigned : {true, false}) {
        llvm::Value *left = narrow(one.getOperand(0), isSigned);
        llvm::Value *right = narrow(one.getOperand(1), isSigned);
        if (!left || !right)
          continue;
        b.SetInsertPoint(&one);
        llvm::CallInst *product = b.CreateCall(
            type,
            llvm::InlineAsm::get(type,
                                 isSigned ? "mul.wide.s32 $0, $1, $2;" : "mul.wide.u32 $0, $1, $2;",
                                 "=l,r,r", /*hasSideEffects=*/false),
            {left, right});
        product->setDoesNotAccessMemory();
        product->addFnAttr(llvm::Attribute::NoUnwind);
        product->addFnAttr(llvm::Attribute::WillReturn);
        one.replaceAllUsesWith(product);
        one.eraseFromParent();
        break;
      }
    }
}

void widenBesideAddresses(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &one : llvm::instructions(function)) {
      auto *address = llvm::dyn_cast<llvm::GetElementPtrInst>(&one);
      if (!address || address->getNumIndices() != 1)
        continue;
      auto *cast = llvm::dyn_cast<llvm::CastInst>(address->getOperand(1));
      if (!cast || !narrow(cast, /*isSigned=*/llvm::isa<llvm::SExtInst>(cast)) ||
          cast->getParent() == address->getParent() ||
          address->getSourceElementType()->getPrimitiveSizeInBits() <= 8)
        continue;
      llvm::Instruction *beside = cast->clone();
      beside->insertBefore(address);
      address->setOperand(1, beside);
    }
}

// The constant of a sum whose parts share no bits, and the rest.
static std::pair<llvm::Value *, llvm::ConstantInt *> splitConstant(llvm::Value *sum) {
  auto *joined = llvm::dyn_cast<llvm::PossiblyDisjointInst>(sum);
  auto *constant = joined && joined->isDisjoint()
                       ? llvm::dyn_cast<llvm::ConstantInt>(joined->getOperand(1))
                       : nullptr;
  return {constant ? joined->getOperand(0) : nullptr, constant};
}

void addConstantsLast(llvm::Module &module) {
  llvm::IRBuilder<> b(module.getContext());
  for (llvm::Function &function : module)
    for (llvm::Instruction &one : llvm::make_early_inc_range(llvm::instructions(function))) {
      auto *joined = llvm::dyn_cast<llvm::PossiblyDisjointInst>(&one);
      bool isSum = joined && joined->isDisjoint();
      if (!isSum && one.getOpcode() != llvm::Instruction::Shl)
        continue;
      llvm::Value *left = one.getOperand(0), *right = one.getOperand(1);
      auto [rest, constant] = splitConstant(left);
      if (isSum && !constant) {
        std::tie(rest, constant) = splitConstant(right);
        right = left;
      }
      if (!constant || (isSum == llvm::isa<llvm::Constant>(right)))
        continue;
      b.SetInsertPoint(&one);
      llvm::Value *moved = isSum ? constant : b.CreateShl(constant, right);
      llvm::Value *variable = isSum ? b.CreateOr(rest, right) : b.CreateShl(rest, right);
      if (auto *inner = llvm::dyn_cast<llvm::PossiblyDisjointInst>(variable); inner && isSum)
        inner->setIsDisjoint(true);
      auto *outer = llvm::BinaryOperator::CreateOr(variable, moved);
      llvm::cast<llvm::PossiblyDisjointInst>(outer)->setIsDisjoint(true);
      b.Insert(outer);
      outer->takeName(&one);
      one.replaceAllUsesWith(outer);
      one.eraseFromParent();
    }
}

// Whether a function multiplies on tensor cores. What its loops have in registers is chosen for
// them.
static bool hasProducts(llvm::Function &function) {
  return llvm::any_of(llvm::instructions(function), [](llvm::Instruction &one) {
    auto *call = llvm::dyn_cast<llvm::CallInst>(&one);
    auto *text = call ? llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()) : nullptr;
    return text && llvm::StringRef(text->getAsmString()).contains("mma");
  });
}

// Whether all threads of a program have the same number: it is made of arguments and of the
// program's place alone.
static bool isUniform(llvm::Value *value, unsigned depth = 12) {
  if (llvm::isa<llvm::Constant, llvm::Argument>(value))
    return true;
  auto *made = llvm::dyn_cast<llvm::Instruction>(value);
  if (!made || !depth)
    return false;
  if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(made))
    return llvm::is_contained({llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x,
                               llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y,
                               llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z},
                              call->getIntrinsicID());
  return llvm::isa<llvm::CastInst, llvm::BinaryOperator, llvm::GetElementPtrInst>(made) &&
         llvm::all_of(made->operands(),
                      [&](llvm::Value *operand) { return isUniform(operand, depth - 1); });
}

// An address of a loop of one block: a uniform pointer from outside and an index of 32 bits, of
// which a constant that shares no bits is taken off.
struct LoopAddress {
  llvm::GetElementPtrInst *address;
  llvm::Value *index;
  int64_t constant; // elements
  bool isSigned;
};
static std::optional<LoopAddress> addressOf(llvm::Instruction &one) {
  auto *address = llvm::dyn_cast<llvm::GetElementPtrInst>(&one);
  if (!address || address->getNumIndices() != 1)
    return std::nullopt;
  auto *base = llvm::dyn_cast<llvm::Instruction>(address->getPointerOperand());
  auto *cast = llvm::dyn_cast<llvm::CastInst>(address->getOperand(1));
  if ((base && base->getParent() == one.getParent()) || !isUniform(address->getPointerOperand()) ||
      !cast || cast->getParent() != one.getParent())
    return std::nullopt;
  bool isSigned = llvm::isa<llvm::SExtInst>(cast);
  llvm::Value *index = narrow(cast, isSigned);
  if (!index)
    return std::nullopt;
  auto [rest, constant] = splitConstant(index);
  if (constant && !constant->isNegative())
    return LoopAddress{address, rest, constant->getSExtValue(), isSigned};
  return LoopAddress{address, index, 0, isSigned};
}

// base + (extension of index) * size, with the product written out and the constant last.
static void writeOut(const LoopAddress &one, llvm::IRBuilder<> &b, uint64_t size) {
  b.SetInsertPoint(one.address);
  auto *type = llvm::FunctionType::get(b.getInt64Ty(), {b.getInt32Ty()}, false);
  std::string text = std::string("mul.wide.") + (one.isSigned ? "s32" : "u32") + " $0, $1, " +
                     std::to_string(size) + ";";
  llvm::CallInst *offset = b.CreateCall(
      type, llvm::InlineAsm::get(type, text, "=l,r", /*hasSideEffects=*/false), {one.index});
  offset->setDoesNotAccessMemory();
  offset->addFnAttr(llvm::Attribute::NoUnwind);
  offset->addFnAttr(llvm::Attribute::WillReturn);
  llvm::Value *place = b.CreatePtrAdd(one.address->getPointerOperand(), offset);
  if (one.constant)
    place = b.CreatePtrAdd(place, b.getInt64(one.constant * int64_t(size)));
  one.address->replaceAllUsesWith(place);
  one.address->eraseFromParent();
}

void shareOffsets(llvm::Module &module) {
  constexpr size_t fewest = 3; // arguments; each would be a pointer of its own that counts along
  llvm::IRBuilder<> b(module.getContext());
  const llvm::DataLayout &layout = module.getDataLayout();
  for (llvm::Function &function : module)
    for (llvm::BasicBlock &block : function) {
      if (!llvm::is_contained(llvm::successors(&block), &block) || hasProducts(function))
        continue;
      // By index, extension and size. Both ways round an index is one.
      llvm::MapVector<std::tuple<llvm::Value *, llvm::Value *, unsigned, uint64_t>,
                      llvm::SmallVector<LoopAddress>>
          found;
      for (llvm::Instruction &one : block) {
        auto address = addressOf(one);
        if (!address)
          continue;
        llvm::Value *parts[] = {address->index, nullptr};
        if (auto *sum = llvm::dyn_cast<llvm::PossiblyDisjointInst>(address->index)) {
          parts[0] = std::min(sum->getOperand(0), sum->getOperand(1));
          parts[1] = std::max(sum->getOperand(0), sum->getOperand(1));
        }
        uint64_t size = layout.getTypeAllocSize(address->address->getSourceElementType());
        found[{parts[0], parts[1], unsigned(address->isSigned), size}].push_back(*address);
      }
      for (auto &[key, addresses] : found) {
        llvm::SmallPtrSet<llvm::Value *, 4> bases;
        for (const LoopAddress &one : addresses)
          bases.insert(one.address->getPointerOperand());
        if (bases.size() < fewest)
          continue;
        for (const LoopAddress &one : addresses)
          writeOut(one, b, std::get<3>(key));
      }
    }
}

// A register that holds a number, set in front of `before`. The assembly has side effects: each
// register is set by itself, and nobody looks behind it.
static llvm::Value *setRegister(llvm::ConstantFP *number, llvm::Instruction *before) {
  uint64_t bits = number->getValueAPF().bitcastToAPInt().getZExtValue();
  std::string text = llvm::formatv("mov.f32 $0, 0f{0:X-8};", bits);
  auto *type = llvm::FunctionType::get(number->getType(), false);
  return llvm::IRBuilder<>(before).CreateCall(
      type, llvm::InlineAsm::get(type, text, "=f", /*hasSideEffects=*/true));
}

// The use of the number that a loop's phi begins with, where `left` is that phi behind the loop and
// the same number on the way from `guard` past it; null if there is none.
static llvm::Use *beginOf(llvm::PHINode &left, llvm::BasicBlock *latch, llvm::BasicBlock *guard) {
  auto isEntry = [&](llvm::BasicBlock *block) {
    return block == guard || block->getSinglePredecessor() == guard;
  };
  for (llvm::BasicBlock *header : llvm::successors(latch)) {
    if (header == left.getParent())
      continue;
    for (llvm::PHINode &carried : header->phis())
      for (unsigned i = 0; i < carried.getNumIncomingValues(); ++i)
        if (isEntry(carried.getIncomingBlock(i)) &&
            carried.getIncomingValue(i) == left.getIncomingValueForBlock(guard) &&
            carried.getIncomingValueForBlock(latch) == left.getIncomingValueForBlock(latch))
          return &carried.getOperandUse(i);
  }
  return nullptr;
}

void setOnce(llvm::Module &module) {
  for (llvm::Function &function : module) {
    if (hasProducts(function))
      continue;
    for (llvm::BasicBlock &exit : function)
      for (llvm::PHINode &left : exit.phis())
        for (unsigned i = 0; i < 2 && left.getNumIncomingValues() == 2; ++i) {
          auto *number = llvm::dyn_cast<llvm::ConstantFP>(left.getIncomingValue(i));
          llvm::BasicBlock *guard = left.getIncomingBlock(i);
          if (!number || !number->getType()->isFloatTy())
            continue;
          llvm::Use *begin = beginOf(left, left.getIncomingBlock(1 - i), guard);
          if (!begin)
            continue;
          llvm::Value *once = setRegister(number, guard->getTerminator());
          left.setIncomingValue(i, once);
          begin->set(once);
        }
  }
}

void prepare(llvm::Module &module, llvm::TargetMachine &machine) {
  module.setTargetTriple(triple);
  module.setDataLayout(machine.createDataLayout());
  for (llvm::Function &function : module) {
    splitBytePairs(function);
    for (llvm::BasicBlock &block : function)
      for (llvm::Instruction &instruction : block) {
        auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
        auto *text = call ? llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()) : nullptr;
        if (!text)
          continue;
        call->addFnAttr(llvm::Attribute::NoUnwind);
        if (!text->hasSideEffects()) {
          call->setDoesNotAccessMemory();
          call->addFnAttr(llvm::Attribute::WillReturn);
        }
        llvm::StringRef ptx = text->getAsmString();
        if (ptx.contains(".sync") || ptx.contains(".aligned"))
          call->setConvergent();
      }
  }
}

// Atomics of the device, and unordered ones of memory, have instructions.
static bool isPlainAtomic(const llvm::Instruction &instruction) {
  if (const auto *load = llvm::dyn_cast<llvm::LoadInst>(&instruction))
    return !isStrongerThanMonotonic(load->getOrdering());
  if (const auto *store = llvm::dyn_cast<llvm::StoreInst>(&instruction))
    return !isStrongerThanMonotonic(store->getOrdering());
  return llvm::isa<llvm::AtomicRMWInst, llvm::AtomicCmpXchgInst, llvm::FenceInst>(instruction);
}

// What the driver gives to device code.
static bool isOfDeviceRuntime(llvm::StringRef name) {
  return llvm::is_contained({"vprintf", "malloc", "free", "__assertfail"}, name);
}

Status checkSelectable(const llvm::Module &module, bool hasLibraries) {
  static const llvm::StringSet<llvm::MallocAllocator> intrinsics = {
      "llvm.abs",
      "llvm.assume",
      "llvm.bitreverse",
      "llvm.bswap",
      "llvm.ceil",
      "llvm.copysign",
      "llvm.ctlz",
      "llvm.ctpop",
      "llvm.cttz",
      "llvm.fabs",
      "llvm.floor",
      "llvm.fma",
      "llvm.fmuladd",
      "llvm.fptosi.sat",
      "llvm.fptoui.sat",
      "llvm.fshl",
      "llvm.fshr",
      "llvm.maximum",
      "llvm.maxnum",
      "llvm.minimum",
      "llvm.minnum",
      "llvm.nearbyint",
      "llvm.rint",
      "llvm.roundeven",
      "llvm.sadd.sat",
      "llvm.smax",
      "llvm.smin",
      "llvm.sqrt",
      "llvm.ssub.sat",
      "llvm.trunc",
      "llvm.uadd.sat",
      "llvm.uadd.with.overflow",
      "llvm.umax",
      "llvm.umin",
      "llvm.umul.with.overflow",
      "llvm.usub.sat",
      "llvm.usub.with.overflow",
      "llvm.smul.with.overflow",
      "llvm.lifetime.start",
      "llvm.lifetime.end",
      "llvm.experimental.noalias.scope.decl",
      "llvm.is.fpclass",
      "llvm.sadd.with.overflow",
      "llvm.ssub.with.overflow",
      "llvm.dbg.value"};
  for (const llvm::Function &function : module)
    for (const llvm::BasicBlock &block : function)
      for (const llvm::Instruction &instruction : block) {
        std::string what;
        if (const auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction)) {
          if (call->isInlineAsm())
            continue;
          const llvm::Function *callee = call->getCalledFunction();
          if (callee &&
              (!callee->isDeclaration() || (hasLibraries && isOfDeviceRuntime(callee->getName()))))
            continue;
          if (hasLibraries && !callee) // an indirect call, of a known type
            continue;
          if (!callee || !callee->isIntrinsic()) {
            what = callee ? callee->getName().str() : "a function pointer";
          } else {
            llvm::StringRef name = llvm::Intrinsic::getBaseName(callee->getIntrinsicID());
            if (!name.starts_with("llvm.nvvm.") && !intrinsics.contains(name))
              what = name.str();
          }
        } else if (hasLibraries && isPlainAtomic(instruction)) {
          continue;
        } else if (llvm::isa<llvm::AtomicRMWInst, llvm::AtomicCmpXchgInst, llvm::FenceInst,
                             llvm::InvokeInst, llvm::VAArgInst, llvm::IndirectBrInst>(
                       instruction)) {
          what = instruction.getOpcodeName();
        } else if (instruction.isAtomic()) {
          what = "atomic " + std::string(instruction.getOpcodeName());
        }
        if (!what.empty())
          return Error{(hasLibraries ? "the kernel or a library of it uses `"
                                     : "the compiled kernel uses `") +
                           what + "`, which cannot become PTX" +
                           (hasLibraries ? "" : " (a fault of the compiler)"),
                       {}};
      }
  return Success{};
}

} // namespace nereid::gpu
