#include "gpu/LineInfo.h"

#include "transforms/DebugScopes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace nereid::gpu {

namespace {

FileLineColLoc firstFile(Location loc) {
  FileLineColLoc found;
  loc->walk([&](Location part) {
    if (auto file = dyn_cast<FileLineColLoc>(part)) {
      found = file;
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return found;
}

class Places {
public:
  Places(LLVM::LLVMFuncOp function, FileLineColLoc start)
      : context(function.getContext()), main(start.getFilename()) {
    program = transforms::addSubprogram(function, start, fileOf(main),
                                        LLVM::DIEmissionKind::DebugDirectivesOnly);
  }

  // Lines of helpers and of other files lie in a scope that names their file; what has no place
  // gets that of the function.
  Location of(Location loc, bool isHelper = false) {
    if (auto call = dyn_cast<CallSiteLoc>(loc))
      return CallSiteLoc::get(of(call.getCallee(), true), of(call.getCaller(), isHelper));
    auto at = dyn_cast<FileLineColLoc>(loc);
    if (!at || (!isHelper && at.getFilename() == main))
      return loc;
    auto [found, fresh] = scopes.try_emplace(at.getFilename());
    if (fresh)
      found->second = LLVM::DILexicalBlockFileAttr::get(program, fileOf(at.getFilename()), 0);
    return FusedLoc::get(context, {loc}, found->second);
  }

private:
  LLVM::DIFileAttr fileOf(StringAttr path) {
    return LLVM::DIFileAttr::get(context, llvm::sys::path::filename(path.getValue()),
                                 llvm::sys::path::parent_path(path.getValue()));
  }

  MLIRContext *context;
  StringAttr main;
  LLVM::DISubprogramAttr program;
  DenseMap<StringAttr, LLVM::DILexicalBlockFileAttr> scopes;
};

} // namespace

void addLineInfo(ModuleOp module) {
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    FileLineColLoc start = firstFile(function.getLoc());
    if (!start || function.isExternal() || !function->hasAttr("nvvm.kernel"))
      continue;
    Places places(function, start);
    function.getBody().walk([&](Operation *op) { op->setLoc(places.of(op->getLoc())); });
  }
}

namespace {
// Numbers lie above the columns of any source that somebody reads; a column has 16 bits.
constexpr unsigned firstNumber = 1 << 15, numbers = 1 << 15;

std::string pathOf(const llvm::DILocation *place) {
  llvm::StringRef folder = place->getDirectory(), file = place->getFilename();
  return folder.empty() ? file.str() : (folder + "/" + file).str();
}

// The files and function names that directives refer to by number and label.
class PtxPlaces {
public:
  explicit PtxPlaces(llvm::StringRef ptx) {
    for (size_t at = ptx.find("\t.file\t"); at != ptx.npos; at = ptx.find("\t.file\t", at + 1)) {
      auto [number, rest] = ptx.substr(at + 7).split(' ');
      unsigned value = 0;
      if (!number.getAsInteger(10, value)) {
        files[rest.split('\n').first.trim("\"")] = value;
        lastFile = std::max(lastFile, value);
      }
    }
  }

  // `file line column`.
  std::string operator()(const llvm::DILocation *place) {
    auto [found, isNew] = files.try_emplace(pathOf(place), lastFile + 1);
    if (isNew)
      newFiles += "\t.file\t" + std::to_string(++lastFile) + " \"" + pathOf(place) + "\"\n";
    return std::to_string(found->second) + " " + std::to_string(place->getLine()) + " " +
           std::to_string(place->getColumn());
  }

  // The calls from the kernel's own line inwards; each names a place that came before it.
  void write(const llvm::DILocation *place, std::string &into) {
    if (const llvm::DILocation *call = place->getInlinedAt()) {
      write(call, into);
      into += "\t.loc\t" + (*this)(place) + ", function_name " + label(place) + ", inlined_at " +
              (*this)(call) + "\n";
    } else {
      into += "\t.loc\t" + (*this)(place) + "\n";
    }
  }
  void write(const llvm::DILocation *place, bool withCalls, std::string &into) {
    if (withCalls)
      return write(place, into);
    into += "\t.loc\t" + (*this)(place) + ", function_name " + label(place) + ", inlined_at " +
            (*this)(place->getInlinedAt()) + "\n";
  }

  std::string sections() const {
    return newFiles + "\t.section\t.debug_str\n\t{\n" + strings + "\t}\n";
  }

private:
  // Helpers are known by their file alone.
  std::string label(const llvm::DILocation *place) {
    auto [found, isNew] = labels.try_emplace(place->getFilename(), labels.size());
    std::string name = "$L__inlined_" + std::to_string(found->second);
    if (isNew) {
      strings += name + ":\n\t.b8 ";
      for (char c : place->getFilename())
        strings += std::to_string(uint8_t(c)) + ",";
      strings += "0\n";
    }
    return name;
  }

  llvm::StringMap<unsigned> files;
  llvm::StringMap<size_t> labels;
  unsigned lastFile = 0;
  std::string newFiles, strings;
};
} // namespace

InlinedPlaces::InlinedPlaces(llvm::Module &module) {
  llvm::DenseMap<const llvm::DILocation *, const llvm::DILocation *> numbered;
  for (llvm::Function &function : module)
    for (llvm::BasicBlock &block : function)
      for (llvm::Instruction &instruction : block) {
        const llvm::DILocation *place = instruction.getDebugLoc().get();
        if (!place || !place->getInlinedAt())
          continue;
        auto [found, isNew] = numbered.try_emplace(place, nullptr);
        if (isNew && places.size() < numbers) {
          found->second = llvm::DILocation::get(module.getContext(), place->getLine(),
                                                firstNumber + unsigned(places.size()),
                                                place->getScope(), place->getInlinedAt());
          places.push_back(place);
        }
        if (found->second)
          instruction.setDebugLoc(found->second);
      }
}

std::string InlinedPlaces::write(const std::string &ptx) const {
  if (places.empty())
    return ptx;
  PtxPlaces write(ptx);
  std::string text;
  text.reserve(ptx.size() + ptx.size() / 8);
  const llvm::DILocation *last = nullptr; // the call that was written last
  bool isAny = false;
  for (llvm::StringRef rest = ptx; !rest.empty();) {
    auto [line, after] = rest.split('\n');
    bool hasEnd = line.size() < rest.size();
    rest = after;
    llvm::SmallVector<llvm::StringRef, 3> words;
    llvm::StringRef directive = line;
    unsigned number = 0, column = 0;
    if (directive.consume_front("\t.loc\t"))
      directive.split(words, ' ');
    if (words.size() == 3 && !words[1].getAsInteger(10, number) &&
        !words[2].getAsInteger(10, column) && column >= firstNumber &&
        column - firstNumber < places.size() && places[column - firstNumber]->getLine() == number) {
      const llvm::DILocation *place = places[column - firstNumber];
      write.write(place, std::exchange(last, place->getInlinedAt()) != place->getInlinedAt(), text);
      isAny = true;
      continue;
    }
    text += line;
    if (hasEnd)
      text += '\n';
  }
  return isAny ? text + write.sections() : text;
}

} // namespace nereid::gpu
