// The syntax tree of a Python module: CPython's `ast` node for node, field for field.
//
// Nodes live in the arena of their `Module` and are never freed one by one; a `Span` is a view into
// it. `isa<T>`, `dynCast<T>` work as LLVM's do. Names are interned: equal names have equal
// `data()`.
#pragma once

#include "nereid/base.h"

#include <cstddef>
#include <memory>
#include <string_view>

namespace nereid::syntax {

/// A read-only array in the arena.
template <typename T> struct Span {
  const T *first = nullptr;
  uint32_t count = 0;
  const T *begin() const { return first; }
  const T *end() const { return first + count; }
  uint32_t size() const { return count; }
  bool empty() const { return count == 0; }
  const T &operator[](size_t i) const { return first[i]; }
  const T &back() const { return first[count - 1]; }
};

/// An interned name; empty where CPython has None.
using Identifier = std::string_view;

enum class BinaryOp : uint8_t {
  Add,
  Sub,
  Mult,
  MatMult,
  Div,
  Mod,
  Pow,
  LShift,
  RShift,
  BitOr,
  BitXor,
  BitAnd,
  FloorDiv
};
enum class UnaryOpKind : uint8_t { Invert, Not, UAdd, USub };
enum class BoolOpKind : uint8_t { And, Or };
enum class CompareOp : uint8_t { Eq, NotEq, Lt, LtE, Gt, GtE, Is, IsNot, In, NotIn };
enum class Context : uint8_t { Load, Store, Del };

/// A literal. Integers keep their exact digits; strings are decoded (UTF-8, surrogates as WTF-8).
struct ConstantValue {
  enum class Kind : uint8_t { None, True, False, Ellipsis, Int, Float, Complex, Str, Bytes };
  Kind kind = Kind::None;
  double number = 0; ///< Float; the imaginary part of Complex
  std::string_view
      text; ///< Int: magnitude in lower-case hexadecimal without prefix; Str, Bytes: contents
  bool unicodePrefix = false; ///< u"..." (CPython's `kind`)
};

/// What every node carries: where it stands. Lines from 1, columns in UTF-8 bytes from 0.
struct Node {
  SourcePos begin, end;
};

enum class StmtKind : uint8_t {
  FunctionDef,
  ClassDef,
  Return,
  Delete,
  Assign,
  TypeAlias,
  AugAssign,
  AnnAssign,
  For,
  While,
  If,
  With,
  Match,
  Raise,
  Try,
  Assert,
  Import,
  ImportFrom,
  Global,
  Nonlocal,
  ExprStmt,
  Pass,
  Break,
  Continue
};

enum class ExprKind : uint8_t {
  BoolOp,
  NamedExpr,
  BinOp,
  UnaryOp,
  Lambda,
  IfExp,
  Dict,
  Set,
  ListComp,
  SetComp,
  DictComp,
  GeneratorExp,
  Await,
  Yield,
  YieldFrom,
  Compare,
  Call,
  FormattedValue,
  JoinedStr,
  Constant,
  Attribute,
  Subscript,
  Starred,
  Name,
  List,
  Tuple,
  Slice
};

enum class PatternKind : uint8_t {
  MatchValue,
  MatchSingleton,
  MatchSequence,
  MatchMapping,
  MatchClass,
  MatchStar,
  MatchAs,
  MatchOr
};

struct Expr : Node {
  explicit Expr(ExprKind kind) : kind(kind) {}
  const ExprKind kind;
};
struct Stmt : Node {
  explicit Stmt(StmtKind kind) : kind(kind) {}
  const StmtKind kind;
};
struct Pattern : Node {
  explicit Pattern(PatternKind kind) : kind(kind) {}
  const PatternKind kind;
};

template <typename T, typename N> bool isa(const N *node) { return node && node->kind == T::Kind; }
template <typename T, typename N> const T *dynCast(const N *node) {
  return isa<T>(node) ? static_cast<const T *>(node) : nullptr;
}
template <typename T, typename N> const T &cast(const N *node) {
  return *static_cast<const T *>(node);
}

struct Keyword : Node {
  Identifier arg; ///< empty for `**value`
  Expr *value = nullptr;
};
struct Alias : Node {
  std::string_view name; ///< dotted
  Identifier asname;
};
struct WithItem {
  Expr *contextExpr = nullptr;
  Expr *optionalVars = nullptr;
};
struct Comprehension {
  Expr *target = nullptr;
  Expr *iter = nullptr;
  Span<Expr *> ifs;
  bool isAsync = false;
};
struct ExceptHandler : Node {
  Expr *type = nullptr;
  Identifier name;
  Span<Stmt *> body;
};
struct MatchCase {
  Pattern *pattern = nullptr;
  Expr *guard = nullptr;
  Span<Stmt *> body;
};
struct Arg : Node {
  Identifier arg;
  Expr *annotation = nullptr;
};
struct Arguments {
  Span<Arg> posonlyargs;
  Span<Arg> args;
  const Arg *vararg = nullptr;
  Span<Arg> kwonlyargs;
  Span<Expr *> kwDefaults; ///< one for each of `kwonlyargs`, null where there is none
  const Arg *kwarg = nullptr;
  Span<Expr *> defaults; ///< of the last posonlyargs + args
};
struct TypeParam : Node {
  enum class Kind : uint8_t { TypeVar, ParamSpec, TypeVarTuple };
  Kind kind = Kind::TypeVar;
  Identifier name;
  Expr *bound = nullptr;
  Expr *defaultValue = nullptr; ///< 3.13
};

// --- statements ---

// def name(args) -> returns: body; also `async def`
struct FunctionDef : Stmt {
  static constexpr StmtKind Kind = StmtKind::FunctionDef;
  FunctionDef() : Stmt(Kind) {}
  Identifier name;
  Arguments *args = nullptr;
  Span<Stmt *> body;
  Span<Expr *> decorators;
  Expr *returns = nullptr;
  Span<TypeParam *> typeParams;
  bool isAsync = false;
};

// class name(bases, keywords): body
struct ClassDef : Stmt {
  static constexpr StmtKind Kind = StmtKind::ClassDef;
  ClassDef() : Stmt(Kind) {}
  Identifier name;
  Span<Expr *> bases;
  Span<Keyword> keywords;
  Span<Stmt *> body;
  Span<Expr *> decorators;
  Span<TypeParam *> typeParams;
};

struct Return : Stmt {
  static constexpr StmtKind Kind = StmtKind::Return;
  Return() : Stmt(Kind) {}
  Expr *value = nullptr;
};

struct Delete : Stmt {
  static constexpr StmtKind Kind = StmtKind::Delete;
  Delete() : Stmt(Kind) {}
  Span<Expr *> targets;
};

// targets[0] = targets[1] = ... = value
struct Assign : Stmt {
  static constexpr StmtKind Kind = StmtKind::Assign;
  Assign() : Stmt(Kind) {}
  Span<Expr *> targets;
  Expr *value = nullptr;
};

// type name[typeParams] = value (3.12)
struct TypeAlias : Stmt {
  static constexpr StmtKind Kind = StmtKind::TypeAlias;
  TypeAlias() : Stmt(Kind) {}
  Expr *name = nullptr;
  Span<TypeParam *> typeParams;
  Expr *value = nullptr;
};

struct AugAssign : Stmt {
  static constexpr StmtKind Kind = StmtKind::AugAssign;
  AugAssign() : Stmt(Kind) {}
  Expr *target = nullptr;
  BinaryOp op{};
  Expr *value = nullptr;
};

// target: annotation = value; `simple` as in CPython
struct AnnAssign : Stmt {
  static constexpr StmtKind Kind = StmtKind::AnnAssign;
  AnnAssign() : Stmt(Kind) {}
  Expr *target = nullptr;
  Expr *annotation = nullptr;
  Expr *value = nullptr;
  bool simple = false;
};

// for target in iter: body else: orelse; also `async for`
struct For : Stmt {
  static constexpr StmtKind Kind = StmtKind::For;
  For() : Stmt(Kind) {}
  Expr *target = nullptr;
  Expr *iter = nullptr;
  Span<Stmt *> body;
  Span<Stmt *> orelse;
  bool isAsync = false;
};

struct While : Stmt {
  static constexpr StmtKind Kind = StmtKind::While;
  While() : Stmt(Kind) {}
  Expr *test = nullptr;
  Span<Stmt *> body;
  Span<Stmt *> orelse;
};

// `elif` is an If alone in `orelse`
struct If : Stmt {
  static constexpr StmtKind Kind = StmtKind::If;
  If() : Stmt(Kind) {}
  Expr *test = nullptr;
  Span<Stmt *> body;
  Span<Stmt *> orelse;
};

// also `async with`
struct With : Stmt {
  static constexpr StmtKind Kind = StmtKind::With;
  With() : Stmt(Kind) {}
  Span<WithItem> items;
  Span<Stmt *> body;
  bool isAsync = false;
};

struct Match : Stmt {
  static constexpr StmtKind Kind = StmtKind::Match;
  Match() : Stmt(Kind) {}
  Expr *subject = nullptr;
  Span<MatchCase> cases;
};

struct Raise : Stmt {
  static constexpr StmtKind Kind = StmtKind::Raise;
  Raise() : Stmt(Kind) {}
  Expr *exc = nullptr;
  Expr *cause = nullptr;
};

// also `try: ... except*`
struct Try : Stmt {
  static constexpr StmtKind Kind = StmtKind::Try;
  Try() : Stmt(Kind) {}
  Span<Stmt *> body;
  Span<ExceptHandler> handlers;
  Span<Stmt *> orelse;
  Span<Stmt *> finalbody;
  bool isStar = false;
};

struct Assert : Stmt {
  static constexpr StmtKind Kind = StmtKind::Assert;
  Assert() : Stmt(Kind) {}
  Expr *test = nullptr;
  Expr *msg = nullptr;
};

struct Import : Stmt {
  static constexpr StmtKind Kind = StmtKind::Import;
  Import() : Stmt(Kind) {}
  Span<Alias> names;
};

// from .module import names; `level` counts the dots
struct ImportFrom : Stmt {
  static constexpr StmtKind Kind = StmtKind::ImportFrom;
  ImportFrom() : Stmt(Kind) {}
  Identifier module;
  Span<Alias> names;
  uint32_t level = 0;
};

struct Global : Stmt {
  static constexpr StmtKind Kind = StmtKind::Global;
  Global() : Stmt(Kind) {}
  Span<Identifier> names;
};

struct Nonlocal : Stmt {
  static constexpr StmtKind Kind = StmtKind::Nonlocal;
  Nonlocal() : Stmt(Kind) {}
  Span<Identifier> names;
};

struct ExprStmt : Stmt {
  static constexpr StmtKind Kind = StmtKind::ExprStmt;
  ExprStmt() : Stmt(Kind) {}
  Expr *value = nullptr;
};

struct Pass : Stmt {
  static constexpr StmtKind Kind = StmtKind::Pass;
  Pass() : Stmt(Kind) {}
};

struct Break : Stmt {
  static constexpr StmtKind Kind = StmtKind::Break;
  Break() : Stmt(Kind) {}
};

struct Continue : Stmt {
  static constexpr StmtKind Kind = StmtKind::Continue;
  Continue() : Stmt(Kind) {}
};

// --- expressions ---

// a and b and c: one node, as in CPython
struct BoolOp : Expr {
  static constexpr ExprKind Kind = ExprKind::BoolOp;
  BoolOp() : Expr(Kind) {}
  BoolOpKind op{};
  Span<Expr *> values;
};

// target := value
struct NamedExpr : Expr {
  static constexpr ExprKind Kind = ExprKind::NamedExpr;
  NamedExpr() : Expr(Kind) {}
  Expr *target = nullptr;
  Expr *value = nullptr;
};

struct BinOp : Expr {
  static constexpr ExprKind Kind = ExprKind::BinOp;
  BinOp() : Expr(Kind) {}
  Expr *left = nullptr;
  BinaryOp op{};
  Expr *right = nullptr;
};

struct UnaryOp : Expr {
  static constexpr ExprKind Kind = ExprKind::UnaryOp;
  UnaryOp() : Expr(Kind) {}
  UnaryOpKind op{};
  Expr *operand = nullptr;
};

struct Lambda : Expr {
  static constexpr ExprKind Kind = ExprKind::Lambda;
  Lambda() : Expr(Kind) {}
  Arguments *args = nullptr;
  Expr *body = nullptr;
};

struct IfExp : Expr {
  static constexpr ExprKind Kind = ExprKind::IfExp;
  IfExp() : Expr(Kind) {}
  Expr *test = nullptr;
  Expr *body = nullptr;
  Expr *orelse = nullptr;
};

// a null key marks `**value`
struct Dict : Expr {
  static constexpr ExprKind Kind = ExprKind::Dict;
  Dict() : Expr(Kind) {}
  Span<Expr *> keys;
  Span<Expr *> values;
};

struct Set : Expr {
  static constexpr ExprKind Kind = ExprKind::Set;
  Set() : Expr(Kind) {}
  Span<Expr *> elts;
};

struct ListComp : Expr {
  static constexpr ExprKind Kind = ExprKind::ListComp;
  ListComp() : Expr(Kind) {}
  Expr *elt = nullptr;
  Span<Comprehension> generators;
};

struct SetComp : Expr {
  static constexpr ExprKind Kind = ExprKind::SetComp;
  SetComp() : Expr(Kind) {}
  Expr *elt = nullptr;
  Span<Comprehension> generators;
};

struct DictComp : Expr {
  static constexpr ExprKind Kind = ExprKind::DictComp;
  DictComp() : Expr(Kind) {}
  Expr *key = nullptr;
  Expr *value = nullptr;
  Span<Comprehension> generators;
};

struct GeneratorExp : Expr {
  static constexpr ExprKind Kind = ExprKind::GeneratorExp;
  GeneratorExp() : Expr(Kind) {}
  Expr *elt = nullptr;
  Span<Comprehension> generators;
};

struct Await : Expr {
  static constexpr ExprKind Kind = ExprKind::Await;
  Await() : Expr(Kind) {}
  Expr *value = nullptr;
};

struct Yield : Expr {
  static constexpr ExprKind Kind = ExprKind::Yield;
  Yield() : Expr(Kind) {}
  Expr *value = nullptr;
};

struct YieldFrom : Expr {
  static constexpr ExprKind Kind = ExprKind::YieldFrom;
  YieldFrom() : Expr(Kind) {}
  Expr *value = nullptr;
};

// a < b <= c: left, then pairs
struct Compare : Expr {
  static constexpr ExprKind Kind = ExprKind::Compare;
  Compare() : Expr(Kind) {}
  Expr *left = nullptr;
  Span<CompareOp> ops;
  Span<Expr *> comparators;
};

struct Call : Expr {
  static constexpr ExprKind Kind = ExprKind::Call;
  Call() : Expr(Kind) {}
  Expr *func = nullptr;
  Span<Expr *> args;
  Span<Keyword> keywords;
};

struct FormattedValue : Expr {
  static constexpr ExprKind Kind = ExprKind::FormattedValue;
  FormattedValue() : Expr(Kind) {}
  Expr *value = nullptr;
  int32_t conversion = -1;
  Expr *formatSpec = nullptr;
};

struct JoinedStr : Expr {
  static constexpr ExprKind Kind = ExprKind::JoinedStr;
  JoinedStr() : Expr(Kind) {}
  Span<Expr *> values;
};

struct Constant : Expr {
  static constexpr ExprKind Kind = ExprKind::Constant;
  Constant() : Expr(Kind) {}
  ConstantValue value;
};

struct Attribute : Expr {
  static constexpr ExprKind Kind = ExprKind::Attribute;
  Attribute() : Expr(Kind) {}
  Expr *value = nullptr;
  Identifier attr;
  Context ctx = Context::Load;
};

struct Subscript : Expr {
  static constexpr ExprKind Kind = ExprKind::Subscript;
  Subscript() : Expr(Kind) {}
  Expr *value = nullptr;
  Expr *slice = nullptr;
  Context ctx = Context::Load;
};

struct Starred : Expr {
  static constexpr ExprKind Kind = ExprKind::Starred;
  Starred() : Expr(Kind) {}
  Expr *value = nullptr;
  Context ctx = Context::Load;
};

struct Name : Expr {
  static constexpr ExprKind Kind = ExprKind::Name;
  Name() : Expr(Kind) {}
  Identifier id;
  Context ctx = Context::Load;
};

struct List : Expr {
  static constexpr ExprKind Kind = ExprKind::List;
  List() : Expr(Kind) {}
  Span<Expr *> elts;
  Context ctx = Context::Load;
};

struct Tuple : Expr {
  static constexpr ExprKind Kind = ExprKind::Tuple;
  Tuple() : Expr(Kind) {}
  Span<Expr *> elts;
  Context ctx = Context::Load;
};

struct Slice : Expr {
  static constexpr ExprKind Kind = ExprKind::Slice;
  Slice() : Expr(Kind) {}
  Expr *lower = nullptr;
  Expr *upper = nullptr;
  Expr *step = nullptr;
};

// --- patterns ---

struct MatchValue : Pattern {
  static constexpr PatternKind Kind = PatternKind::MatchValue;
  MatchValue() : Pattern(Kind) {}
  Expr *value = nullptr;
};

struct MatchSingleton : Pattern {
  static constexpr PatternKind Kind = PatternKind::MatchSingleton;
  MatchSingleton() : Pattern(Kind) {}
  ConstantValue value;
};

struct MatchSequence : Pattern {
  static constexpr PatternKind Kind = PatternKind::MatchSequence;
  MatchSequence() : Pattern(Kind) {}
  Span<Pattern *> patterns;
};

struct MatchMapping : Pattern {
  static constexpr PatternKind Kind = PatternKind::MatchMapping;
  MatchMapping() : Pattern(Kind) {}
  Span<Expr *> keys;
  Span<Pattern *> patterns;
  Identifier rest;
};

struct MatchClass : Pattern {
  static constexpr PatternKind Kind = PatternKind::MatchClass;
  MatchClass() : Pattern(Kind) {}
  Expr *cls = nullptr;
  Span<Pattern *> patterns;
  Span<Identifier> kwdAttrs;
  Span<Pattern *> kwdPatterns;
};

struct MatchStar : Pattern {
  static constexpr PatternKind Kind = PatternKind::MatchStar;
  MatchStar() : Pattern(Kind) {}
  Identifier name;
};

struct MatchAs : Pattern {
  static constexpr PatternKind Kind = PatternKind::MatchAs;
  MatchAs() : Pattern(Kind) {}
  Pattern *pattern = nullptr;
  Identifier name;
};

struct MatchOr : Pattern {
  static constexpr PatternKind Kind = PatternKind::MatchOr;
  MatchOr() : Pattern(Kind) {}
  Span<Pattern *> patterns;
};

class Arena;

/// A parsed source unit: owns its text, its nodes and its names.
struct Module {
  std::string file; ///< logical name, as messages print it
  std::string text; ///< the whole source, UTF-8
  uint32_t firstLine =
      1; ///< line of the unit's first line in its file (a closure or notebook cell starts later)
  uint32_t firstColumn = 0;
  Span<Stmt *> body;
  std::shared_ptr<Arena> arena;

  /// The text of a 1-based line (counted as positions count), without its end; empty if there is
  /// none.
  std::string_view line(uint32_t number) const;
};

} // namespace nereid::syntax
