#include "pipeline/ExternLibraries.h"

#include "ir/TileOps.h"
#include "pipeline/BackEnd.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/SourceMgr.h"

#include <map>

using namespace mlir;

namespace nereid::pipeline {

namespace {

using Library = std::unique_ptr<llvm::Module>;

Result<Library> readLibrary(const std::string &path, llvm::LLVMContext &context) {
  llvm::SMDiagnostic problem;
  Library library = llvm::getLazyIRFileModule(path, problem, context);
  if (!library)
    return Error{"cannot read `" + path + "`: " + problem.getMessage().str(), {}};
  return library;
}

// --- types -----------------------------------------------------------------------------------

// As code for one element has it (gpu/RegisterEmitter.h).
llvm::Type *codeType(Type element, llvm::LLVMContext &context) {
  if (isa<tile::PtrType>(element))
    return llvm::PointerType::get(context, 1);
  if (element.isF64())
    return llvm::Type::getDoubleTy(context);
  if (element.isF32())
    return llvm::Type::getFloatTy(context);
  if (element.isF16())
    return llvm::Type::getHalfTy(context);
  if (element.isBF16())
    return llvm::Type::getBFloatTy(context);
  return llvm::Type::getIntNTy(context, element.getIntOrFloatBitWidth());
}

bool isHalfWord(const llvm::Type *type) {
  return type->isHalfTy() || type->isBFloatTy() || type->isIntegerTy(16);
}

// Whether a value may be passed where a function takes another type: the same bits under another
// name, as headers of C spell them.
bool canPass(const llvm::Type *from, const llvm::Type *to) {
  auto isAddress = [](const llvm::Type *type) {
    return type->isPointerTy() || type->isIntegerTy(64);
  };
  auto isTruth = [](const llvm::Type *type) {
    return type->isIntegerTy(1) || type->isIntegerTy(8);
  };
  return from == to || (isAddress(from) && isAddress(to)) || (isTruth(from) && isTruth(to)) ||
         (isHalfWord(from) && isHalfWord(to));
}

bool takesParts(const llvm::Function &function) {
  return function.isVarArg() || llvm::any_of(function.args(), [](const llvm::Argument &argument) {
           return argument.hasByValAttr() || argument.hasStructRetAttr();
         });
}

// A function that gives nothing may be called for a value, which is then 0.
bool canCall(const llvm::FunctionType *as, const llvm::Function &function) {
  const llvm::FunctionType *type = function.getFunctionType();
  bool fits =
      !takesParts(function) && as->getNumParams() == type->getNumParams() &&
      (type->getReturnType()->isVoidTy() || canPass(type->getReturnType(), as->getReturnType()));
  for (unsigned i = 0; fits && i < type->getNumParams(); ++i)
    fits = canPass(as->getParamType(i), type->getParamType(i));
  return fits;
}

llvm::Value *converted(llvm::IRBuilder<> &b, llvm::Value *value, llvm::Type *to) {
  llvm::Type *from = value->getType();
  if (from == to)
    return value;
  if (from->isPointerTy() && to->isPointerTy())
    return b.CreateAddrSpaceCast(value, to);
  if (from->isPointerTy())
    return b.CreatePtrToInt(value, to);
  if (to->isPointerTy())
    return b.CreateIntToPtr(value, to);
  if (to->isIntegerTy(1)) // a byte is true where it is not 0
    return b.CreateICmpNE(value, llvm::ConstantInt::get(from, 0));
  if (from->isIntegerTy(1))
    return b.CreateZExt(value, to);
  return b.CreateBitCast(value, to);
}

std::string textOf(const llvm::FunctionType *type) {
  std::string text = "(";
  llvm::raw_string_ostream stream(text);
  for (llvm::Type *parameter : type->params())
    stream << (parameter == *type->param_begin() ? "" : ", ") << *parameter;
  return text + ")` and gives `" + printed(*type->getReturnType());
}

// --- where functions are ----------------------------------------------------------------------

class Finder {
public:
  explicit Finder(std::span<const ops::ExternLibrary> given) : given(given) {}

  /// The file that has the function of a call, or what is wrong.
  std::optional<Diagnostic> find(tile::LibraryCallOp call) {
    std::string searched;
    for (const std::string &path : placesOf(call)) {
      auto library = read(path);
      if (!library)
        return problem(call, "LibraryUnreadable", library.error().what,
                       "bitcode of LLVM " LLVM_VERSION_STRING
                       " or earlier and LLVM's text are read; "
                       "a relative path begins where the program was started");
      const llvm::Function *function = (*library)->getFunction(call.getSymbol());
      if (function && !function->isDeclaration())
        return verify(call, *function, path);
      searched += (searched.empty() ? "`" : ", `") + path + "`";
    }
    std::string name = "`" + call.getSymbol().str() + "`";
    return problem(call, "LibraryFunctionMissing",
                   name + " is neither one of CUDA's library functions nor in " + searched,
                   "names of C++ functions are mangled unless they are `extern \"C\"`");
  }

  llvm::SmallSetVector<StringRef, 4> files; ///< that have the functions found, in order

private:
  std::vector<std::string> placesOf(tile::LibraryCallOp call) const {
    llvm::SetVector<std::string, std::vector<std::string>, std::set<std::string>> places;
    for (const ops::ExternLibrary &one : given)
      if (one.name == call.getLibrary())
        places.insert(one.path);
    if (!call.getPath().empty())
      places.insert(call.getPath().str());
    for (const ops::ExternLibrary &one : given)
      places.insert(one.path);
    return places.takeVector();
  }

  Result<llvm::Module *> read(const std::string &path) {
    auto known = libraries.find(path);
    if (known == libraries.end()) {
      auto library = readLibrary(path, context);
      if (!library)
        return library.takeError();
      known = libraries.try_emplace(path, *std::move(library)).first;
    }
    return known->second.get();
  }

  std::optional<Diagnostic> verify(tile::LibraryCallOp call, const llvm::Function &function,
                                   const std::string &path) {
    SmallVector<llvm::Type *> inputs;
    for (Type input : call.getInputs().getTypes())
      inputs.push_back(codeType(tile::elementType(input), context));
    auto *as = llvm::FunctionType::get(codeType(tile::elementType(call.getType()), context), inputs,
                                       false);
    std::string name = "`" + function.getName().str() + "`";
    if (!canCall(as, function))
      return problem(call, "LibraryFunctionType",
                     name + " of `" + path + "` takes `" + textOf(function.getFunctionType()) +
                         "`; it is called as one that takes `" + textOf(as) + "`",
                     takesParts(function)
                         ? "structures and `...` can't be passed: wrap it in a function of numbers "
                           "and pointers"
                         : "the dict of `extern_elementwise` says as what: `tl.float32` is LLVM's "
                           "`float`, `tl.float64` `double`, `tl.int32` `i32`");
    const std::string &home = homes.try_emplace(function.getName().str(), path).first->second;
    if (home != path)
      return problem(call, "LibraryFunctionType",
                     name + " is meant as the one of `" + path + "` and as the one of `" + home +
                         "` in one kernel",
                     "rename one of the two");
    files.insert(libraries.find(path)->first);
    return std::nullopt;
  }

  static Diagnostic problem(tile::LibraryCallOp call, const char *code, std::string message,
                            std::string hint) {
    Diagnostic out;
    out.code = code;
    out.message = std::move(message);
    out.hint = std::move(hint);
    out.where = sourceRange(call.getLoc());
    return out;
  }

  std::span<const ops::ExternLibrary> given;
  llvm::LLVMContext context;
  std::map<std::string, Library> libraries;
  std::map<std::string, std::string> homes; ///< symbol to file
};

// --- linking ----------------------------------------------------------------------------------

// While it lives, what the linker reports is kept; LLVM itself would end the process.
class LinkerMessages {
public:
  explicit LinkerMessages(llvm::LLVMContext &context) : context(context) {
    auto handler = std::make_unique<Handler>();
    text = &handler->text;
    before = context.getDiagnosticHandler();
    context.setDiagnosticHandler(std::move(handler));
  }
  ~LinkerMessages() { context.setDiagnosticHandler(std::move(before)); }
  std::string take() const { return text->empty() ? "" : ": " + *text; }

private:
  struct Handler : llvm::DiagnosticHandler {
    std::string text;
    bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
      if (info.getSeverity() == llvm::DS_Error) {
        llvm::raw_string_ostream stream(text);
        llvm::DiagnosticPrinterRawOStream printer(stream);
        info.print(printer);
      }
      return true;
    }
  };
  llvm::LLVMContext &context;
  std::unique_ptr<llvm::DiagnosticHandler> before;
  std::string *text;
};

// What device code may call that the driver has.
bool isDeviceRuntime(StringRef name) {
  return llvm::is_contained({"vprintf", "malloc", "free", "__assertfail"}, name);
}

class Linking {
public:
  Linking(llvm::Module &module, bool forGpu) : module(module), forGpu(forGpu) {
    for (llvm::Function &function : module) {
      known.insert(function.getName());
      if (function.isDeclaration() && function.getName().starts_with(tile::libraryCallPrefix))
        calls.push_back(&function);
    }
  }

  Result<bool> run(ArrayRef<std::string> paths) {
    if (calls.empty())
      return false;
    llvm::NamedMDNode *units = module.getNamedMetadata("llvm.dbg.cu");
    unsigned unitsBefore = units ? units->getNumOperands() : 0;
    for (const std::string &path : paths)
      if (Status status = link(path); !status)
        return status.takeError();
    dropUnits(unitsBefore);
    for (llvm::Function *call : calls)
      if (call->isDeclaration())
        return Error{"`" + symbolOf(*call).str() + "` is gone from the files it was found in", {}};
    for (llvm::Function &function : module)
      if (!function.isDeclaration() && !known.contains(function.getName()))
        if (Status status = adopt(function); !status)
          return status.takeError();
    return true;
  }

private:
  static StringRef symbolOf(const llvm::Function &call) {
    return call.getName().drop_front(tile::libraryCallPrefix.size()).split('(').first;
  }

  Status link(const std::string &path) {
    auto library = readLibrary(path, module.getContext());
    if (!library)
      return library.takeError();
    (*library)->setTargetTriple(module.getTargetTriple());
    (*library)->setDataLayout(module.getDataLayout());
    for (llvm::Function *call : calls) {
      StringRef symbol = symbolOf(*call);
      const llvm::Function *function = (*library)->getFunction(symbol);
      if (!call->isDeclaration() || !function || function->isDeclaration())
        continue;
      if (known.contains(symbol))
        return Error{"the library function `" + symbol.str() +
                         "` has the name of a function of the kernel; rename the kernel",
                     {}};
      if (!canCall(call->getFunctionType(), *function))
        return Error{"`" + path + "` has changed while the kernel was compiled", {}};
      define(*call, *function);
    }
    LinkerMessages messages(module.getContext());
    if (llvm::Linker::linkModules(module, *std::move(library), llvm::Linker::LinkOnlyNeeded))
      return Error{"cannot link `" + path + "` with the kernel" + messages.take(), {}};
    return Success{};
  }

  // The call's code passes its values as the function takes them.
  void define(llvm::Function &call, const llvm::Function &function) {
    auto callee = module.getOrInsertFunction(function.getName(), function.getFunctionType(),
                                             function.getAttributes());
    llvm::IRBuilder<> b(llvm::BasicBlock::Create(module.getContext(), "", &call));
    SmallVector<llvm::Value *> arguments;
    for (auto [argument, type] : llvm::zip(call.args(), function.getFunctionType()->params()))
      arguments.push_back(converted(b, &argument, type));
    llvm::CallInst *result = b.CreateCall(callee, arguments);
    result->setCallingConv(function.getCallingConv());
    result->setAttributes(function.getAttributes());
    b.CreateRet(result->getType()->isVoidTy() ? llvm::Constant::getNullValue(call.getReturnType())
                                              : converted(b, result, call.getReturnType()));
    call.setLinkage(llvm::GlobalValue::InternalLinkage);
    call.addFnAttr(llvm::Attribute::AlwaysInline);
    known.insert(call.getName());
  }

  // Lines of the library's source would be taken for the kernel's.
  void dropUnits(unsigned count) {
    llvm::NamedMDNode *units = module.getNamedMetadata("llvm.dbg.cu");
    if (!units || units->getNumOperands() == count)
      return;
    SmallVector<llvm::MDNode *> own;
    for (unsigned i = 0; i < count; ++i)
      own.push_back(units->getOperand(i));
    units->clearOperands();
    for (llvm::MDNode *unit : own)
      units->addOperand(unit);
    if (own.empty())
      units->eraseFromParent();
  }

  // A linked function becomes part of the kernel.
  Status adopt(llvm::Function &function) {
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.setComdat(nullptr);
    function.setSubprogram(nullptr);
    for (StringRef attribute : {"target-cpu", "target-features", "tune-cpu", "probe-stack"})
      function.removeFnAttr(attribute);
    for (llvm::BasicBlock &block : function)
      for (llvm::Instruction &instruction : llvm::make_early_inc_range(block)) {
        if (isa<llvm::DbgInfoIntrinsic>(instruction)) {
          instruction.eraseFromParent();
          continue;
        }
        instruction.dropDbgRecords();
        instruction.setDebugLoc({});
        auto *call = dyn_cast<llvm::CallBase>(&instruction);
        if (Status status = call ? verify(function, *call) : Status(Success{}); !status)
          return status;
      }
    return Success{};
  }

  Status verify(const llvm::Function &caller, const llvm::CallBase &call) {
    auto refuse = [&](const std::string &what) {
      return Error{"the library function `" + caller.getName().str() + "` " + what, {}};
    };
    if (call.isInlineAsm() && !forGpu)
      return refuse("has assembly of another processor: it runs on GPUs only");
    const llvm::Function *callee = call.getCalledFunction();
    if (!callee || !callee->isDeclaration())
      return Success{};
    std::string name = callee->getName().str();
    if (callee->isIntrinsic()) {
      bool isOwn = forGpu && callee->getName().starts_with("llvm.nvvm.");
      if (callee->isTargetIntrinsic() && !isOwn)
        return refuse("uses `" + name + "`, an instruction of another processor");
      return Success{};
    }
    if (forGpu && (callee->getName().starts_with("__nv_") ||
                   callee->getName() == "__nvvm_reflect" || isDeviceRuntime(callee->getName())))
      return Success{};
    return refuse("calls `" + name + "`, which no library of the kernel has");
  }

  llvm::Module &module;
  bool forGpu;
  llvm::StringSet<> known; ///< functions of the kernel's own
  SmallVector<llvm::Function *> calls;
};

} // namespace

std::vector<Diagnostic> findLibraryFunctions(ModuleOp module,
                                             std::span<const ops::ExternLibrary> given) {
  std::vector<Diagnostic> problems;
  std::optional<Finder> finder;
  module.walk([&](tile::LibraryCallOp call) {
    if (!finder)
      finder.emplace(given);
    if (auto problem = finder->find(call))
      problems.push_back(*std::move(problem));
  });
  if (finder)
    module->setAttr(tile::librariesAttr,
                    Builder(module.getContext()).getStrArrayAttr(finder->files.getArrayRef()));
  return problems;
}

Result<bool> linkLibraries(llvm::Module &module, ModuleOp kernel, bool forGpu) {
  auto files = kernel->getAttrOfType<ArrayAttr>(tile::librariesAttr);
  if (!files)
    return false;
  SmallVector<std::string> paths;
  for (StringAttr file : files.getAsRange<StringAttr>())
    paths.push_back(file.str());
  return Linking(module, forGpu).run(paths);
}

} // namespace nereid::pipeline
