// A plugin of clang-tidy: what it walks is the code of this project. Its checks visit every
// declaration of a translation unit, one after the other, and of a file that includes MLIR nearly
// all are MLIR's: a minute for nothing.
#include "clang/AST/ASTConsumer.h"
#include "clang/AST/ASTContext.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/FrontendPluginRegistry.h"

namespace {

class Scope : public clang::ASTConsumer {
public:
  void HandleTranslationUnit(clang::ASTContext &context) override {
    const clang::SourceManager &sources = context.getSourceManager();
    // What comes from the precompiled header is left there.
    std::vector<clang::Decl *> ours;
    for (clang::Decl *decl : context.getTranslationUnitDecl()->noload_decls())
      if (!sources.isInSystemHeader(decl->getLocation()))
        ours.push_back(decl);
    context.setTraversalScope(ours);
  }
};

class ScopeAction : public clang::PluginASTAction {
protected:
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance &,
                                                        llvm::StringRef) override {
    return std::make_unique<Scope>();
  }
  bool ParseArgs(const clang::CompilerInstance &, const std::vector<std::string> &) override {
    return true;
  }
  ActionType getActionType() override { return AddBeforeMainAction; }
};

clang::FrontendPluginRegistry::Add<ScopeAction> registered("lint-scope", "walk our code alone");

} // namespace
