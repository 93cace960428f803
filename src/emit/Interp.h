// The evaluator: one walk over the syntax tree for module-level Python and for kernels.
//
// Values known now are computed with Python's meaning. In a kernel, values may also be tiles; then
// the same walk builds tile IR. A *frame* is one running function; its `Mode` decides what
// statements mean: Host (Python: loops run, names rebind) or Kernel (assigned numbers become scalar
// tiles, run-time conditions become scf ops). Expressions mean the same in both.
//
// Where things are:
//   Expressions.cpp       literals, names, chains of calls and subscripts, f-strings
//   Comprehensions.cpp    comprehensions, lambdas
//   Dispatch.cpp          who answers an operator: a tile, an object, a number
//   Operators.cpp         Python's arithmetic and comparisons on values known now
//   Attributes.cpp        `x.name` for each kind of object
//   Containers.cpp        methods of lists, tuples, dicts and sets
//   Strings.cpp           str, repr, format, methods of str
//   Calls.cpp             binding arguments, calling functions, classes and ops
//   HostModules.cpp       modules and imports                          }
//   HostFunctions.cpp     functions of module-level Python             }
//   HostStatements.cpp    statements of module-level Python            }  the two modes
//   KernelStatements.cpp  statements of kernels, early returns         }
//   KernelBranches.cpp    run-time `if`: joining scopes                 }
//   KernelLoops.cpp       run-time `for` and `while`: what they carry   }
//   Classes.cpp           `class`, aggregates, named tuples, dataclasses, Enum
//   Builtins.cpp          isinstance, getattr, type, ... (BuiltinNumbers.cpp, BuiltinSequences.cpp)
//   Platform.cpp          what module-level code learns of the machine
//   HostLibrary.cpp       the modules that module-level code may import
//   Language.cpp          `triton` and `triton.language` as modules
//   Emitter.cpp           a kernel and its specialisation -> a module of tile IR
//
// Errors are thrown as `EvalError` and caught at the entry points of Program.h, or by `try` in host
// mode. They never cross MLIR frames.
#pragma once

#include "emit/Objects.h"
#include "emit/SourceUnit.h"

#include "mlir/IR/Builders.h"

#include <set>
#include <unordered_map>

namespace nereid::ops {
struct RangeValue;
}

namespace nereid::emit {

/// An error of the user's program on its way out. In host mode it is a Python exception.
struct EvalError {
  Diagnostic diagnostic;
  std::string pythonType; ///< "TypeError", ...: what `except` matches
  Value exception;        ///< the raised object, or None
  bool fatal = false;     ///< a limit was reached: no `except` catches it
};

/// A kernel reads a name behind the run-time loop that defines it: the loop has to hand it on.
struct WantsLastStep {
  const syntax::Node *loop;
  std::string name;
  bool operator<(const WantsLastStep &other) const {
    return std::tie(loop, name) < std::tie(other.loop, other.name);
  }
};

struct Limits {
  /// Expressions and statements evaluated, a module or kernel; copies of long values count by
  /// length.
  uint64_t steps = 10'000'000;
  uint64_t operations = 500'000; ///< ops built for one kernel
  unsigned depth = 128;          ///< nested calls
  unsigned nesting = 100;        ///< containers inside containers
  size_t stackBytes = 4 << 20;   ///< of the thread's stack
};

/// Something of the world that evaluation depended on; part of the compile key.
struct Fact {
  std::string kind; ///< "env", "import", "define", "device", ...
  std::string name;
  std::string value;
  bool operator==(const Fact &) const = default;
  bool operator<(const Fact &other) const {
    return std::tie(kind, name, value) < std::tie(other.kind, other.name, other.value);
  }
};

/// The value of `--define`, an expression that is evaluated where the name is.
struct Definition {
  std::string text;
  std::shared_ptr<const syntax::Module> tree; ///< owns `expr`
  const syntax::Expr *expr = nullptr;
};

struct HostOptions {
  /// Override module-level names, or unknown values by their origin: "torch.version.hip",
  /// "transformers.utils.is_torch_npu_available(...)".
  std::map<std::string, Definition> defines;
  int deviceArch = 90; ///< compute capability x 10 of the GPU that module-level code sees
  std::map<std::string, std::string> environment; ///< what os.environ shows; empty by default
  bool allowGlobals = false; ///< kernels may read plain numbers at module level
  Limits limits;
};

/// How far a function body has come on the path being built.
struct Returned {
  enum class State : uint8_t { No, Maybe, Always };
  State state = State::No;
  mlir::Value flag;           ///< Maybe: i1, true where the function has returned
  std::optional<Value> value; ///< what it returned (None for a bare return)
  const syntax::Node *where = nullptr;
  /// Of host functions: what decides whether it returned `value` earlier; empty if nothing does.
  std::string undecided;
};

/// One running function or module.
struct Frame {
  enum class Mode : uint8_t { Host, Kernel };
  Mode mode = Mode::Host;
  bool isModule = false;
  bool isClassBody = false;
  const FunctionObject *function = nullptr;
  ModuleObject *module = nullptr;
  std::shared_ptr<Names> locals;
  std::vector<std::shared_ptr<Names>> enclosing; ///< scopes of functions around it, innermost first
  Frame *caller = nullptr;
  const syntax::Node *node = nullptr; ///< being evaluated
  const void *branch = nullptr; ///< the innermost branch of an undecided `if` it was called in
  // Of kernels:
  mlir::LocationAttr callSite; ///< where this function was called; null for the kernel itself
  mlir::StringAttr fileAttr;
  unsigned runtimeLoops = 0; ///< enclosing run-time loops of this function
  Returned returned;
  /// Plain Python that a kernel calls: it may see tiles, but numbers stay constexprs and `range`
  /// is run through while compiling.
  bool isPython = false;
  AggregateValue *constructing = nullptr;       ///< the aggregate whose `__init__` this is
  std::set<std::string_view> declaredConstexpr; ///< by `x: tl.constexpr` without a value
  // Of host functions:
  std::set<std::string_view> globalNames, nonlocalNames;
  std::shared_ptr<const EvalError> handling; ///< what a bare `raise` raises again
  std::string qualifiedPrefix;               ///< "Class." in a class body
  struct Annotated {
    std::string_view name;
    const syntax::Expr *annotation;
    bool hasValue;
  };
  std::vector<Annotated> annotated;      ///< of a class body, in order
  std::vector<Value> *yielded = nullptr; ///< of a generator: where `yield` puts values
};

/// What a statement assigns, anywhere in it, and whether it returns; functions inside do not count.
struct BodyFacts {
  std::vector<std::string_view> assigned;  ///< each once, in order
  const syntax::Return *returns = nullptr; ///< the first `return`, or null
};

class Interp {
public:
  Interp(HostOptions options);
  ~Interp();
  Interp(const Interp &) = delete;

  // --- module level ---

  /// Runs a unit's module-level code, in which the names of `given` are known from the start;
  /// statements that fail poison the names they would have bound.
  std::shared_ptr<ModuleObject> loadModule(const SourceUnit &unit,
                                           std::shared_ptr<const syntax::Module> tree,
                                           const Keywords &given = {});
  /// Answers `import name` with `module`.
  void addModule(const std::string &name, Value module);
  /// What the body of a plain function defines, as far as it can be known without a call.
  std::shared_ptr<Names> localsOf(const FunctionObject &function);
  /// `import name` as seen from `from`; Unknown if nobody knows it.
  Value importModule(const std::string &name, const ModuleObject *from, const syntax::Node &node);
  /// Evaluates an expression over `names` in host mode.
  Value evaluate(const syntax::Expr &expr, std::shared_ptr<ModuleObject> module,
                 std::shared_ptr<Names> names);
  /// Calls something in host mode.
  Value callHost(const Value &callee, std::vector<Value> args, Keywords keywords);

  // --- kernels ---

  struct KernelContext {
    mlir::OpBuilder &builder;
    const ops::CompileOptions &options;
    std::vector<Diagnostic> &diagnostics; ///< notes and warnings
    /// Names that run-time loops hand on with the value of their last step. Where another is wanted
    /// `emitBody` throws it as `WantsLastStep`, and the body has to be built anew.
    const std::set<WantsLastStep> &lastSteps;
  };
  /// Builds the body of `kernel` at the builder's insertion point, with its parameters bound.
  void emitBody(FunctionObject &kernel, std::vector<Value> arguments, KernelContext context);

  /// A compiled-in value as the evaluator holds it.
  Value fromConstant(const support::Constant &constant);
  /// A value that the unit of the module `into` brings.
  Value fromInjected(const InjectedValue &from, const ModuleObject &into);

  // --- what natives and objects need ---

  Value call(const Value &callee, std::vector<Value> args, Keywords keywords);
  Value callFunction(const FunctionObject &function, std::vector<Value> args, Keywords keywords);
  Value callClass(ClassObject &type, std::vector<Value> args, Keywords keywords);
  Value callOp(const ops::Row &row, std::vector<Value> args, Keywords keywords);
  std::optional<Value> attribute(const Value &object, std::string_view name);
  Value requireAttribute(const Value &object, std::string_view name);
  void setAttribute(const Value &object, std::string_view name, Value value);
  Value subscript(const Value &object, const Value &index);
  Value binary(syntax::BinaryOp op, const Value &lhs, const Value &rhs);
  Value unary(syntax::UnaryOpKind op, const Value &operand);
  Value compare(syntax::CompareOp op, const Value &lhs, const Value &rhs);
  /// Python's truth of a value known now.
  bool truth(const Value &value);
  /// The items of anything that Python iterates over.
  std::vector<Value> iterate(const Value &value);
  std::string str(const Value &value);
  std::string repr(const Value &value);
  std::string format(const Value &value, std::string_view spec);
  /// Python's == .
  bool equal(const Value &a, const Value &b);
  bool isInstance(const Value &value, const Value &type);

  /// An error at the node being evaluated.
  [[noreturn]] void fail(std::string code, std::string message, std::string hint = {});
  [[noreturn]] void failAt(const syntax::Node &node, std::string code, std::string message,
                           std::string hint = {});
  /// An error whose value is unknown because of `unknown`.
  [[noreturn]] void failUnknown(const Unknown &unknown, std::string_view need);
  /// Refuses a function or module of a host library in a kernel: `np.exp`, or `F` of torch.
  void failIfHost(const Unknown &unknown);
  /// A Python exception of a builtin type.
  [[noreturn]] void raise(std::string type, std::string message);
  /// The message says which keys of `among` there are, or the nearest one.
  [[noreturn]] void raiseKeyError(const Value &key, const ops::Dict *among = nullptr);
  EvalError error(const syntax::Node &node, std::string code, std::string message,
                  std::string hint = {});
  void note(std::string code, std::string message, std::string hint = {});

  bool inKernel() const { return frame && frame->mode == Frame::Mode::Kernel; }
  Frame &top() { return *frame; }
  std::string_view intern(std::string_view text);
  /// Runs a builder of `ops`; its errors become errors at the node being evaluated.
  template <typename Build> auto building(Build build) {
    try {
      auto result = build();
      if (scratch)
        refuseScratchOps();
      return result;
    } catch (ops::OpError &failure) {
      fail(failure.code, failure.message, failure.hint);
    }
  }
  /// Module-level code has made a tensor: an error, unless a kernel is being emitted.
  void refuseScratchOps();
  Value native(std::string name, NativeFunction::Body body);
  void recordFact(std::string kind, std::string name, std::string value);
  const std::set<Fact> &facts() const { return recorded; }
  const HostOptions &options() const { return hostOptions; }
  const ops::CompileOptions &compileOptions() const;
  /// An unknown value, unless `--define` or the platform says what it is.
  Value makeUnknown(std::string origin);
  Value makeVersion(const std::string &text);
  Value unknownCall(const Unknown &callee, const std::vector<Value> &args);
  /// The op context at the node being evaluated; only in kernels.
  ops::OpContext &opContext();
  SourceRange rangeOf(const syntax::Node &node, const ModuleObject *module = nullptr) const;
  /// A builtin function or class by name; null if there is none.
  const Value *builtin(std::string_view name) const;
  std::shared_ptr<ClassObject> builtinClass(std::string_view name); ///< "ValueError", ...; or null
  std::shared_ptr<ModuleObject> prelude();
  std::optional<Value> tritonAttribute(std::string_view name);
  std::shared_ptr<ClassObject> configClass(); ///< of `triton.Config`
  Value typeLimits(const Type &type);
  /// Modules loaded so far, by name.
  const std::map<std::string, std::shared_ptr<ModuleObject>> &modules() const { return loaded; }
  /// An exact int; fails with `what` in the message otherwise.
  int64_t asInt(const Value &value, std::string_view what);
  /// `aggregate` with other values in some fields.
  Value replaceFields(const Value &aggregate, const Keywords &fields);

  // --- limits ---

  /// Pays for work from what the limit of steps leaves.
  void step(uint64_t weight = 1) {
    if (weight > stepsLeft)
      failTooManySteps();
    stepsLeft -= weight;
  }
  [[noreturn]] void failTooManySteps();
  /// Pays for a value that was made, and for the walks over it that follow; refuses one nested so
  /// deep that walks and destructors would overflow the stack. A pair of pairs of pairs is few
  /// objects, yet many items to each walk.
  /// `object` is about to change in place.
  void noteChange(const Value &object);
  /// `holder` holds `value` from now on.
  void noteStore(const Value &holder, const Value &value);
  void weigh(const Value &value, unsigned nesting = 0);
  /// Adds an item to a set; a set is searched item by item.
  void addTo(SetObject &set, Value item);

private:
  friend struct FrameScope;
  static bool isConstexprAnnotation(const Value &annotation);

  // Expressions.cpp
  Value eval(const syntax::Expr *expr);
  Value evalUnlocated(const syntax::Expr &expr);
  Value evalConstant(const syntax::Constant &constant);
  Value evalName(const syntax::Name &name);
  Value evalBoolOp(const syntax::BoolOp &expr);
  Value evalNamedExpr(const syntax::NamedExpr &named);
  Value evalDict(const syntax::Dict &literal);
  Value evalFormattedValue(const syntax::FormattedValue &piece);
  Value evalCompare(const syntax::Compare &expr);
  void refuseLooseMask(const syntax::Expr &middle);
  Value evalIfExp(const syntax::IfExp &expr);
  Value evalCall(const syntax::Call &expr, Value callee);
  Value evalChain(const syntax::Expr &expr);
  Value evalComprehension(const syntax::Expr &expr, const syntax::Expr *element,
                          const syntax::Expr *value, syntax::Span<syntax::Comprehension> clauses);
  Value evalJoinedStr(const syntax::JoinedStr &expr);
  Value evalLambda(const syntax::Lambda &expr);
  Value evalIndex(const syntax::Expr &expr);
  std::vector<Value> evalItems(syntax::Span<syntax::Expr *> items);
  const Binding *lookup(std::string_view name);
  Value useBinding(const Binding &binding, bool isGlobal);
  std::optional<Value> operatorMethod(const Value &self, std::string_view name);

  // Operators.cpp
  Value hostBinary(syntax::BinaryOp op, const Value &lhs, const Value &rhs);
  bool hostCompare(syntax::CompareOp op, const Value &lhs, const Value &rhs);
  bool contains(const Value &container, const Value &item);
  /// Refuses `item in container` where its answer is known at run time only.
  void checkMembership(const Value &container, const Value &item);

  // Attributes.cpp
  std::optional<Value> instanceAttribute(const Value &self, const ClassObject &type,
                                         std::string_view name);
  std::optional<Value> bindToInstance(const Value &self, const Value &member);
  std::optional<Value> containerMethod(const Value &object, std::string_view name);
  std::optional<Value> strMethod(const Value &object, std::string_view name);
  std::optional<Value> numberAttribute(const Value &object, std::string_view name);
  std::optional<Value> typeAttribute(const Value &object, std::string_view name);
  std::optional<Value> moduleAttribute(const ModuleObject &module, std::string_view name);
  std::optional<Value> classAttribute(const Value &object, std::string_view name);
  std::optional<Value> instanceField(const Value &object, std::string_view name);
  size_t itemPosition(const Value &index, size_t size, const char *what);
  std::vector<size_t> slicePositions(const ops::Slice &slice, size_t size);
  std::optional<Value> functionAttribute(const Value &object, std::string_view name);
  std::optional<Value> languageAttribute(const LanguageModule &module, std::string_view name);
  void setField(AggregateValue &object, std::string_view name, Value value, bool isConstructing);
  void checkField(const std::string &className, const ClassObject::Field &field, Value &value);

  // Calls.cpp
  void bindParameters(const FunctionObject &function, std::vector<Value> args, Keywords keywords,
                      Names &into);
  /// A frame in which the function starts, its parameters still to be bound.
  Frame frameOf(const FunctionObject &function, Frame::Mode mode);
  Value callJit(const FunctionObject &function, std::vector<Value> args, Keywords keywords);
  /// Whether a call is one of many that undecided branches of the same function lead to.
  bool isUndecidedRecursion(const FunctionObject &function) const;
  Value callHostFunction(const FunctionObject &function, std::vector<Value> args,
                         Keywords keywords);
  Value callPython(const FunctionObject &function, std::vector<Value> args, Keywords keywords,
                   AggregateValue *constructing = nullptr);
  Value constructAggregate(const std::shared_ptr<ClassObject> &type, std::vector<Value> args,
                           Keywords keywords);
  void checkDepth(const FunctionObject *function);
  size_t stackUsed() const;
  void checkStack(); ///< where data may be nested without end

  // HostStatements.cpp
  /// Raise: only of `execTolerant` in a function.
  enum class Flow : uint8_t { Next, Break, Continue, Return, Raise };
  void runModuleBody(ModuleObject &module);
  void runAhead(ModuleObject &module, std::string_view name);
  Flow execHost(syntax::Span<syntax::Stmt *> body);
  Flow execHost(const syntax::Stmt &stmt);
  Flow execTolerant(syntax::Span<syntax::Stmt *> statements);
  void returnHost(Value value);
  Value runHostBody(const FunctionObject &function);
  void execHostAugAssign(const syntax::AugAssign &assign);
  Flow execHostIf(const syntax::If &stmt);
  Flow execHostWhile(const syntax::While &loop);
  [[noreturn]] void execHostRaise(const syntax::Raise &raised);
  Flow execHostFor(const syntax::For &stmt);
  Flow execHostTry(const syntax::Try &stmt);
  Flow execHostWith(const syntax::With &stmt, size_t item);
  Flow execUnknownIf(const syntax::If &stmt, const Value &condition);
  struct Contents;
  struct Journal;
  /// Whether it does not matter which of two values a name or a call has.
  static bool sameValue(const Value &a, const Value &b);
  Contents contentsOf(const Value &object);
  void setContents(const Value &object, Contents contents);
  Unusable twoDefinitions(std::string_view name, const syntax::If &stmt, const std::string &origin,
                          bool areLiterals);
  void joinNames(Names &into, const Names &before, const Names &other, const syntax::If &stmt,
                 const std::string &origin);
  bool joinContents(const Value &object, const Contents &before, const Contents &other,
                    const syntax::If &stmt, const std::string &origin);
  void visitReachable(const Names &locals, llvm::function_ref<bool(const Value &)> visit);
  void forgetSequences(const std::vector<Value> &sequences, const syntax::If &stmt,
                       const std::string &origin);
  std::set<ops::Object *> reachedBefore(const Names &locals,
                                        const std::set<ops::Object *> &changed);
  Flow joinFlows(const syntax::If &stmt, const Value &condition, const Names &before, Flow thenFlow,
                 Flow elseFlow, Names &thenNames, Returned &thenReturned);
  void execImport(const syntax::Import &stmt);
  void execImportFrom(const syntax::ImportFrom &stmt);
  void poisonTargets(const syntax::Stmt &stmt, const EvalError &error);
  Value makeFunction(const syntax::FunctionDef &def);
  Value decorate(Value value, syntax::Span<syntax::Expr *> decorators);
  void assignHost(const syntax::Expr &target, Value value);
  void bindName(std::string_view name, Value value, const syntax::Node &where);
  /// Hands the items of a sequence to the targets of an assignment, and what is left over to a
  /// starred one as `makeRest` puts it together. Says so if their numbers do not fit.
  std::string unpack(syntax::Span<syntax::Expr *> targets, const std::vector<Value> &items,
                     llvm::function_ref<Value(std::vector<Value>)> makeRest,
                     llvm::function_ref<void(const syntax::Expr &, Value)> assign);
  std::optional<size_t> placeIn(const ops::List &list, const Value &index);
  void deleteTarget(const syntax::Expr &target);
  /// What `--define` gives for a name, or for an unknown value by its origin. It is unknown until
  /// the module has the names that the definition uses, and where its expression fails.
  std::optional<Value> defined(std::string_view name);
  Value evaluateDefinition(std::string_view name, const Definition &definition,
                           ModuleObject &module);
  /// Where an unknown value comes from, for messages: with what is wrong if that is a `--define`.
  std::string originText(const std::string &origin) const;
  bool matchesException(const EvalError &failure, const Value &type);
  Value exceptionObject(const EvalError &failure);

  // Classes.cpp
  Value makeClass(const syntax::ClassDef &def);

  // KernelStatements.cpp
  using Rest = llvm::function_ref<void()>;
  void execKernel(syntax::Span<syntax::Stmt *> body, size_t from, Rest rest);
  void keepHint(const syntax::Expr &statement, const Value &value);
  void execKernelSimple(const syntax::Stmt &stmt);
  void execKernelAnnAssign(const syntax::AnnAssign &assign);
  [[noreturn]] void failAtRaise(const syntax::Raise &raised);
  [[noreturn]] void refuseItemAssignment(const syntax::Subscript &target);
  void execKernelIf(const syntax::If &stmt, Rest rest);
  void execKernelFor(const syntax::For &stmt, Rest rest);
  void execKernelReturn(const syntax::Return &stmt);
  void unroll(const syntax::For &stmt, const std::vector<Value> &items, size_t from, Rest rest);
  void guarded(Rest rest);
  /// Binds a target to a value as it is, or as an assignment makes it (`settle`).
  void execKernelWith(const syntax::With &stmt);
  void assignKernel(const syntax::Expr &target, Value value, bool settles = false);
  void dropSurplus(syntax::Span<syntax::Expr *> targets, std::vector<Value> &items);
  Value settle(const Value &value, std::string_view what);
  bool isDead() const { return frame->returned.state == Returned::State::Always; }

  // BodyFacts.cpp
  const BodyFacts &bodyFacts(const syntax::Stmt &stmt);
  bool returns(const syntax::Stmt &stmt);
  void markInPlace(const Value &value);
  std::unordered_map<const syntax::Stmt *, BodyFacts> bodies;

  // KernelBranches.cpp
  /// One arm of a run-time `if`, built apart: its block, and how the frame stands at its end.
  struct Arm {
    std::unique_ptr<mlir::Region> region;
    Names names;
    Returned returned;
    mlir::Block &block() { return region->front(); }
  };
  class Joiner;
  Arm buildArm(const syntax::Node &node, llvm::function_ref<void()> body);
  /// Goes on building at the end of an arm.
  void resumeArm(Arm &arm, const syntax::Node &node, llvm::function_ref<void()> body);
  void joinArms(mlir::Value condition, const syntax::Node &node, Arm &thenArm, Arm &elseArm);
  Value runtimeIfExp(const syntax::IfExp &expr, const Value &condition);
  Tile filler(const Type &type);

  // KernelLoops.cpp
  void execRuntimeFor(const syntax::For &stmt, const Value &range);
  /// Null for one that is known to be false.
  mlir::Value whileCondition(const syntax::While &stmt, bool &isConstant, bool &disableLicm);
  void execRuntimeWhile(const syntax::While &stmt);
  struct LoopBounds;
  LoopBounds loopBounds(const syntax::For &stmt, const ops::RangeValue &range);
  Tile loopVariable(const LoopBounds &bounds, mlir::Value counter);
  struct Carried;
  struct HandedOn;
  /// What the loop hands on of what its body defines; called at the end of the body.
  std::vector<HandedOn> handedOnBy(const syntax::Stmt &loop, const Names &before);
  /// Binds those names behind the loop, whose further results are `results`; poisons the others
  /// that are defined in its body alone.
  void bindHandedOn(const std::vector<HandedOn> &handedOn, const syntax::Stmt &loop,
                    mlir::ValueRange results, const LastStep &lastStep);
  /// A check of the interpreter that the loop ran.
  void checkLastStep(const Binding &binding);
  std::vector<Carried> carriedBy(const syntax::Stmt &stmt,
                                 const std::set<std::string_view> &settled);
  /// Gives the block an argument for each carried tile, which the body sees in its place; returns
  /// the tiles on entry.
  static std::vector<mlir::Value> enterBody(std::vector<Carried> &carried, mlir::Block &block,
                                            mlir::Location loc);
  /// Binds the carried names behind the loop: `results` are those of the tiles not `unchanged`.
  void bindCarried(const std::vector<Carried> &carried, const llvm::BitVector &unchanged,
                   mlir::ValueRange results);
  void setLoopAttributes(mlir::Operation *loop, const ops::RangeValue &range);
  /// Appends to `into` what the end of a loop's body yields for each carried tile. False if numbers
  /// changed, which `settled` then names: the loop has to be built anew with tiles in their place.
  bool yieldCarried(const std::vector<Carried> &carried, const syntax::Stmt &loop,
                    std::set<std::string_view> &settled, std::vector<mlir::Value> &into);
  [[noreturn]] void failCarried(std::string_view name, const std::string &mismatch,
                                const std::string &hint, const syntax::Node *first,
                                const Binding *after, const syntax::Stmt &loop);

  // locations and limits
  [[noreturn]] void failTooLarge();
  mlir::Location location(const syntax::Node &node);

  HostOptions hostOptions;
  Frame *frame = nullptr;
  Journal *journal = nullptr; ///< of the innermost branch of an undecided `if` that is being run
  std::map<std::string, std::shared_ptr<ModuleObject>> loaded;
  std::set<const ModuleObject *> loading; ///< whose bodies are running
  std::set<std::pair<const ModuleObject *, std::string_view>> runsAhead; ///< tried, each once
  std::map<std::string, std::shared_ptr<const SourceUnit>> units;
  Resolver resolver;
  std::set<Fact> recorded;
  std::shared_ptr<Names> builtins;
  std::map<std::string, Value, std::less<>> nativeModules;
  std::map<std::string, Value, std::less<>> vocabulary; ///< names of `tl` looked up so far
  std::shared_ptr<ClassObject> configType, versionType;
  std::shared_ptr<ModuleObject> preludeModule;
  std::set<std::string, std::less<>> names;             ///< interned
  const Definition *evaluating = nullptr;               ///< its value uses no other
  std::map<std::string, std::string> failedDefinitions; ///< origin -> why it has no value
  uint64_t stepsLeft = 0;
  uint64_t refill = 0; ///< steps after a module-level statement that took all
  unsigned depth = 0;
  const char *stackBase = nullptr;

  KernelContext *kernel = nullptr; ///< while a kernel is emitted
  std::optional<ops::OpContext> context;
  /// What may hold itself by way of others, and is emptied in the end: scopes, and objects into
  /// which another one was stored.
  std::vector<std::weak_ptr<Names>> scopes;
  std::vector<std::weak_ptr<ops::Object>> holders;
  size_t scopesToPrune = 1024, holdersToPrune = 1024;

  std::shared_ptr<Names> newScope();
  struct Scratch;
  std::unique_ptr<Scratch> scratch;
  uint64_t operationsLeft = 0;

  void makeBuiltins();
  std::optional<Value> nativeModule(const std::string &name);
  std::optional<Value> hostModule(const std::string &name);
  friend struct LanguageModule;
};

/// The dialects that emission builds with.
void loadDialects(mlir::MLIRContext &context);

/// Enters a frame for the life of the object.
struct FrameScope {
  FrameScope(Interp &interp, Frame &frame) : interp(interp) {
    frame.caller = interp.frame;
    interp.frame = &frame;
  }
  ~FrameScope() { interp.frame = interp.frame->caller; }
  FrameScope(const FrameScope &) = delete;
  Interp &interp;
};

/// Whether a function has a `yield` of its own.
bool isGenerator(const syntax::FunctionDef &def);
/// Names that a target binds.
void targetNames(const syntax::Expr &target, std::vector<std::string_view> &names);

} // namespace nereid::emit
