// The text of CPython's `ast.dump`.
#include "syntax/AstDispatch.h"
#include "syntax/Printer.h"

#include <vector>

namespace nereid::syntax {
namespace {

constexpr const char *BinaryNames[] = {"Add",    "Sub",    "Mult",    "MatMult", "Div",
                                       "Mod",    "Pow",    "LShift",  "RShift",  "BitOr",
                                       "BitXor", "BitAnd", "FloorDiv"};
constexpr const char *UnaryNames[] = {"Invert", "Not", "UAdd", "USub"};
constexpr const char *CompareNames[] = {"Eq",  "NotEq", "Lt",    "LtE", "Gt",
                                        "GtE", "Is",    "IsNot", "In",  "NotIn"};
constexpr const char *ContextNames[] = {"Load", "Store", "Del"};

class Dumper {
public:
  explicit Dumper(DumpOptions options) : options(options) {}

  std::string out;

  // `Kind(field=..., field=..., lineno=...)`
  class Fields {
  public:
    Fields(Dumper &dumper, const char *kind) : dumper(dumper), out(dumper.out) {
      out += kind;
      out += '(';
    }
    /// Goes on after fields that were printed before.
    explicit Fields(Dumper &dumper) : dumper(dumper), out(dumper.out), any(true) {}

    Fields &name(const char *field) {
      if (any)
        out += ", ";
      any = true;
      out += field;
      out += '=';
      return *this;
    }
    void text(const char *field, std::string_view value) {
      name(field);
      out += dumper.repr(value);
    }
    void identifier(const char *field, std::string_view value) {
      if (!value.empty())
        text(field, value);
    }
    void number(const char *field, int64_t value) {
      name(field);
      out += std::to_string(value);
    }
    void bare(const char *field, const char *value) {
      name(field);
      out += value;
      out += "()";
    }
    template <typename T> void node(const char *field, const T *value) {
      if (!value)
        return;
      name(field);
      dumper.visit(*value);
    }
    template <typename T> void list(const char *field, const Span<T> &values) {
      name(field);
      dumper.visitList(values);
    }
    template <typename T> void listIfAny(const char *field, const Span<T> &values) {
      if (!values.empty())
        list(field, values);
    }
    void end() { out += ')'; }
    void end(const Node &node) {
      if (dumper.options.positions) {
        bool loose = dumper.fstringDepth && dumper.options.looseFStrings;
        number("lineno", loose ? 0 : node.begin.line);
        number("col_offset", loose ? 0 : node.begin.column);
        number("end_lineno", loose ? 0 : node.end.line);
        number("end_col_offset", loose ? 0 : node.end.column);
      }
      end();
    }

  private:
    Dumper &dumper;
    std::string &out;
    bool any = false;
  };

  template <typename T> void visitList(const Span<T> &values) {
    out += '[';
    bool first = true;
    for (const T &value : values) {
      if (!first)
        out += ", ";
      first = false;
      visitElement(value);
    }
    out += ']';
  }
  template <typename T> void visitElement(T *const &value) {
    if (value)
      visit(*value);
    else
      out += "None";
  }
  void visitElement(const Identifier &name) { out += repr(name); }
  template <typename T> void visitElement(const T &value) { visit(value); }

  void visit(const Module &module) {
    Fields fields(*this, "Module");
    fields.list("body", module.body);
    fields.name("type_ignores");
    out += "[]";
    fields.end();
  }

  void visit(const Keyword &keyword) {
    Fields fields(*this, "keyword");
    fields.identifier("arg", keyword.arg);
    fields.node("value", keyword.value);
    fields.end(keyword);
  }
  void visit(const Alias &alias) {
    Fields fields(*this, "alias");
    fields.text("name", alias.name);
    fields.identifier("asname", alias.asname);
    fields.end(alias);
  }
  void visit(const WithItem &item) {
    Fields fields(*this, "withitem");
    fields.node("context_expr", item.contextExpr);
    fields.node("optional_vars", item.optionalVars);
    fields.end();
  }
  void visit(const Comprehension &clause) {
    Fields fields(*this, "comprehension");
    fields.node("target", clause.target);
    fields.node("iter", clause.iter);
    fields.list("ifs", clause.ifs);
    fields.number("is_async", clause.isAsync);
    fields.end();
  }
  void visit(const ExceptHandler &handler) {
    Fields fields(*this, "ExceptHandler");
    fields.node("type", handler.type);
    fields.identifier("name", handler.name);
    fields.list("body", handler.body);
    fields.end(handler);
  }
  void visit(const MatchCase &branch) {
    Fields fields(*this, "match_case");
    fields.node("pattern", branch.pattern);
    fields.node("guard", branch.guard);
    fields.list("body", branch.body);
    fields.end();
  }
  void visit(const Arg &arg) {
    Fields fields(*this, "arg");
    fields.text("arg", arg.arg);
    fields.node("annotation", arg.annotation);
    fields.end(arg);
  }
  void visit(const Arguments &args) {
    Fields fields(*this, "arguments");
    fields.list("posonlyargs", args.posonlyargs);
    fields.list("args", args.args);
    fields.node("vararg", args.vararg);
    fields.list("kwonlyargs", args.kwonlyargs);
    fields.list("kw_defaults", args.kwDefaults);
    fields.node("kwarg", args.kwarg);
    fields.list("defaults", args.defaults);
    fields.end();
  }
  void visit(const TypeParam &param) {
    static constexpr const char *names[] = {"TypeVar", "ParamSpec", "TypeVarTuple"};
    Fields fields(*this, names[size_t(param.kind)]);
    fields.text("name", param.name);
    fields.node("bound", param.bound);
    fields.node("default_value", param.defaultValue);
    fields.end(param);
  }

  void visit(const Stmt &stmt);
  void visit(const Expr &expr);
  void visit(const Pattern &pattern);

private:
  std::string repr(std::string_view text) const {
    return reprString(text, /*bytes=*/false, options.ascii);
  }
  template <typename Kind> void dump(const Kind &node);
  void visitSpine(const Expr &expr);
  void visitIfChain(const If &first);
  void constant(const ConstantValue &value);

  DumpOptions options;
  int fstringDepth = 0;
};

void Dumper::constant(const ConstantValue &value) {
  using Kind = ConstantValue::Kind;
  switch (value.kind) {
  case Kind::None:
    out += "None";
    return;
  case Kind::True:
    out += "True";
    return;
  case Kind::False:
    out += "False";
    return;
  case Kind::Ellipsis:
    out += "Ellipsis";
    return;
  case Kind::Int:
    // 5,000 hexadecimal digits are 20,000 bits.
    out += value.text.size() <= 5000 ? decimalDigits(value.text) : "0x" + std::string(value.text);
    return;
  case Kind::Float:
    out += reprFloat(value.number);
    return;
  case Kind::Complex:
    out += reprImaginary(value.number);
    return;
  case Kind::Str:
    out += repr(value.text);
    return;
  case Kind::Bytes:
    out += reprString(value.text, /*bytes=*/true);
    return;
  }
}

// The first field of these four kinds may nest without limit.
void Dumper::visitSpine(const Expr &expr) {
  std::vector<const Expr *> spine;
  const Expr *base = &expr;
  for (;;) {
    const Expr *next;
    const char *prefix;
    if (const auto *op = dynCast<BinOp>(base))
      next = op->left, prefix = "BinOp(left=";
    else if (const auto *call = dynCast<Call>(base))
      next = call->func, prefix = "Call(func=";
    else if (const auto *attribute = dynCast<Attribute>(base))
      next = attribute->value, prefix = "Attribute(value=";
    else if (const auto *subscript = dynCast<Subscript>(base))
      next = subscript->value, prefix = "Subscript(value=";
    else
      break;
    out += prefix;
    spine.push_back(base);
    base = next;
  }
  visit(*base);
  for (size_t i = spine.size(); i-- > 0;) {
    Fields fields(*this);
    if (const auto *op = dynCast<BinOp>(spine[i])) {
      fields.bare("op", BinaryNames[size_t(op->op)]);
      fields.node("right", op->right);
    } else if (const auto *call = dynCast<Call>(spine[i])) {
      fields.list("args", call->args);
      fields.list("keywords", call->keywords);
    } else if (const auto *attribute = dynCast<Attribute>(spine[i])) {
      fields.text("attr", attribute->attr);
      fields.bare("ctx", ContextNames[size_t(attribute->ctx)]);
    } else if (const auto *subscript = dynCast<Subscript>(spine[i])) {
      fields.node("slice", subscript->slice);
      fields.bare("ctx", ContextNames[size_t(subscript->ctx)]);
    }
    fields.end(*spine[i]);
  }
}

template <> void Dumper::dump(const BinOp &node) { visitSpine(node); }

template <> void Dumper::dump(const Call &node) { visitSpine(node); }

template <> void Dumper::dump(const Attribute &node) { visitSpine(node); }

template <> void Dumper::dump(const Subscript &node) { visitSpine(node); }

template <> void Dumper::dump(const BoolOp &node) {
  Fields fields(*this, "BoolOp");
  fields.bare("op", node.op == BoolOpKind::And ? "And" : "Or");
  fields.list("values", node.values);
  fields.end(node);
}

template <> void Dumper::dump(const NamedExpr &node) {
  Fields fields(*this, "NamedExpr");
  fields.node("target", node.target);
  fields.node("value", node.value);
  fields.end(node);
}

template <> void Dumper::dump(const UnaryOp &node) {
  Fields fields(*this, "UnaryOp");
  fields.bare("op", UnaryNames[size_t(node.op)]);
  fields.node("operand", node.operand);
  fields.end(node);
}

template <> void Dumper::dump(const Lambda &node) {
  Fields fields(*this, "Lambda");
  fields.node("args", node.args);
  fields.node("body", node.body);
  fields.end(node);
}

template <> void Dumper::dump(const IfExp &node) {
  Fields fields(*this, "IfExp");
  fields.node("test", node.test);
  fields.node("body", node.body);
  fields.node("orelse", node.orelse);
  fields.end(node);
}

template <> void Dumper::dump(const Dict &node) {
  Fields fields(*this, "Dict");
  fields.list("keys", node.keys);
  fields.list("values", node.values);
  fields.end(node);
}

template <> void Dumper::dump(const Set &node) {
  Fields fields(*this, "Set");
  fields.list("elts", node.elts);
  fields.end(node);
}

template <> void Dumper::dump(const ListComp &node) {
  Fields fields(*this, "ListComp");
  fields.node("elt", node.elt);
  fields.list("generators", node.generators);
  fields.end(node);
}

template <> void Dumper::dump(const SetComp &node) {
  Fields fields(*this, "SetComp");
  fields.node("elt", node.elt);
  fields.list("generators", node.generators);
  fields.end(node);
}

template <> void Dumper::dump(const GeneratorExp &node) {
  Fields fields(*this, "GeneratorExp");
  fields.node("elt", node.elt);
  fields.list("generators", node.generators);
  fields.end(node);
}

template <> void Dumper::dump(const DictComp &node) {
  Fields fields(*this, "DictComp");
  fields.node("key", node.key);
  fields.node("value", node.value);
  fields.list("generators", node.generators);
  fields.end(node);
}

template <> void Dumper::dump(const Await &node) {
  Fields fields(*this, "Await");
  fields.node("value", node.value);
  fields.end(node);
}

template <> void Dumper::dump(const Yield &node) {
  Fields fields(*this, "Yield");
  fields.node("value", node.value);
  fields.end(node);
}

template <> void Dumper::dump(const YieldFrom &node) {
  Fields fields(*this, "YieldFrom");
  fields.node("value", node.value);
  fields.end(node);
}

template <> void Dumper::dump(const Compare &node) {
  Fields fields(*this, "Compare");
  fields.node("left", node.left);
  fields.name("ops");
  out += '[';
  for (size_t i = 0; i < node.ops.size(); ++i) {
    out += i ? ", " : "";
    out += CompareNames[size_t(node.ops[i])];
    out += "()";
  }
  out += ']';
  fields.list("comparators", node.comparators);
  fields.end(node);
}

template <> void Dumper::dump(const FormattedValue &node) {
  Fields fields(*this, "FormattedValue");
  fields.node("value", node.value);
  fields.number("conversion", node.conversion);
  fields.node("format_spec", node.formatSpec);
  fields.end(node);
}

template <> void Dumper::dump(const JoinedStr &node) {
  ++fstringDepth;
  Fields fields(*this, "JoinedStr");
  fields.list("values", node.values);
  fields.end(node);
  --fstringDepth;
}

template <> void Dumper::dump(const Constant &node) {
  Fields fields(*this, "Constant");
  fields.name("value");
  constant(node.value);
  if (node.value.unicodePrefix)
    fields.text("kind", "u");
  fields.end(node);
}

template <> void Dumper::dump(const Starred &node) {
  Fields fields(*this, "Starred");
  fields.node("value", node.value);
  fields.bare("ctx", ContextNames[size_t(node.ctx)]);
  fields.end(node);
}

template <> void Dumper::dump(const Name &node) {
  Fields fields(*this, "Name");
  fields.text("id", node.id);
  fields.bare("ctx", ContextNames[size_t(node.ctx)]);
  fields.end(node);
}

template <> void Dumper::dump(const List &node) {
  Fields fields(*this, "List");
  fields.list("elts", node.elts);
  fields.bare("ctx", ContextNames[size_t(node.ctx)]);
  fields.end(node);
}

template <> void Dumper::dump(const Tuple &node) {
  Fields fields(*this, "Tuple");
  fields.list("elts", node.elts);
  fields.bare("ctx", ContextNames[size_t(node.ctx)]);
  fields.end(node);
}

template <> void Dumper::dump(const Slice &node) {
  Fields fields(*this, "Slice");
  fields.node("lower", node.lower);
  fields.node("upper", node.upper);
  fields.node("step", node.step);
  fields.end(node);
}

void Dumper::visit(const Expr &expr) {
  dispatch(expr, [this](const auto &node) { dump(node); });
}

// `elif` chains may be thousands of branches long.
void Dumper::visitIfChain(const If &first) {
  std::vector<const If *> chain;
  const If *branch = &first;
  for (;;) {
    chain.push_back(branch);
    Fields fields(*this, "If");
    fields.node("test", branch->test);
    fields.list("body", branch->body);
    fields.name("orelse");
    const If *next = branch->orelse.size() == 1 ? dynCast<If>(branch->orelse[0]) : nullptr;
    if (!next)
      break;
    out += '[';
    branch = next;
  }
  visitList(branch->orelse);
  for (size_t i = chain.size(); i-- > 0;) {
    Fields(*this).end(*chain[i]);
    if (i)
      out += ']';
  }
}

template <> void Dumper::dump(const FunctionDef &node) {
  Fields fields(*this, node.isAsync ? "AsyncFunctionDef" : "FunctionDef");
  fields.text("name", node.name);
  fields.node("args", node.args);
  fields.list("body", node.body);
  fields.list("decorator_list", node.decorators);
  fields.node("returns", node.returns);
  fields.listIfAny("type_params", node.typeParams);
  fields.end(node);
}

template <> void Dumper::dump(const ClassDef &node) {
  Fields fields(*this, "ClassDef");
  fields.text("name", node.name);
  fields.list("bases", node.bases);
  fields.list("keywords", node.keywords);
  fields.list("body", node.body);
  fields.list("decorator_list", node.decorators);
  fields.listIfAny("type_params", node.typeParams);
  fields.end(node);
}

template <> void Dumper::dump(const Return &node) {
  Fields fields(*this, "Return");
  fields.node("value", node.value);
  fields.end(node);
}

template <> void Dumper::dump(const Delete &node) {
  Fields fields(*this, "Delete");
  fields.list("targets", node.targets);
  fields.end(node);
}

template <> void Dumper::dump(const Assign &node) {
  Fields fields(*this, "Assign");
  fields.list("targets", node.targets);
  fields.node("value", node.value);
  fields.end(node);
}

template <> void Dumper::dump(const TypeAlias &node) {
  Fields fields(*this, "TypeAlias");
  fields.node("name", node.name);
  fields.listIfAny("type_params", node.typeParams);
  fields.node("value", node.value);
  fields.end(node);
}

template <> void Dumper::dump(const AugAssign &node) {
  Fields fields(*this, "AugAssign");
  fields.node("target", node.target);
  fields.bare("op", BinaryNames[size_t(node.op)]);
  fields.node("value", node.value);
  fields.end(node);
}

template <> void Dumper::dump(const AnnAssign &node) {
  Fields fields(*this, "AnnAssign");
  fields.node("target", node.target);
  fields.node("annotation", node.annotation);
  fields.node("value", node.value);
  fields.number("simple", node.simple);
  fields.end(node);
}

template <> void Dumper::dump(const For &node) {
  Fields fields(*this, node.isAsync ? "AsyncFor" : "For");
  fields.node("target", node.target);
  fields.node("iter", node.iter);
  fields.list("body", node.body);
  fields.list("orelse", node.orelse);
  fields.end(node);
}

template <> void Dumper::dump(const While &node) {
  Fields fields(*this, "While");
  fields.node("test", node.test);
  fields.list("body", node.body);
  fields.list("orelse", node.orelse);
  fields.end(node);
}

template <> void Dumper::dump(const If &node) { visitIfChain(node); }

template <> void Dumper::dump(const With &node) {
  Fields fields(*this, node.isAsync ? "AsyncWith" : "With");
  fields.list("items", node.items);
  fields.list("body", node.body);
  fields.end(node);
}

template <> void Dumper::dump(const Match &node) {
  Fields fields(*this, "Match");
  fields.node("subject", node.subject);
  fields.list("cases", node.cases);
  fields.end(node);
}

template <> void Dumper::dump(const Raise &node) {
  Fields fields(*this, "Raise");
  fields.node("exc", node.exc);
  fields.node("cause", node.cause);
  fields.end(node);
}

template <> void Dumper::dump(const Try &node) {
  Fields fields(*this, node.isStar ? "TryStar" : "Try");
  fields.list("body", node.body);
  fields.list("handlers", node.handlers);
  fields.list("orelse", node.orelse);
  fields.list("finalbody", node.finalbody);
  fields.end(node);
}

template <> void Dumper::dump(const Assert &node) {
  Fields fields(*this, "Assert");
  fields.node("test", node.test);
  fields.node("msg", node.msg);
  fields.end(node);
}

template <> void Dumper::dump(const Import &node) {
  Fields fields(*this, "Import");
  fields.list("names", node.names);
  fields.end(node);
}

template <> void Dumper::dump(const ImportFrom &node) {
  Fields fields(*this, "ImportFrom");
  fields.identifier("module", node.module);
  fields.list("names", node.names);
  fields.number("level", node.level);
  fields.end(node);
}

template <> void Dumper::dump(const Global &node) {
  Fields fields(*this, "Global");
  fields.list("names", node.names);
  fields.end(node);
}

template <> void Dumper::dump(const Nonlocal &node) {
  Fields fields(*this, "Nonlocal");
  fields.list("names", node.names);
  fields.end(node);
}

template <> void Dumper::dump(const ExprStmt &node) {
  Fields fields(*this, "Expr");
  fields.node("value", node.value);
  fields.end(node);
}

template <> void Dumper::dump(const Pass &node) { Fields(*this, "Pass").end(node); }

template <> void Dumper::dump(const Break &node) { Fields(*this, "Break").end(node); }

template <> void Dumper::dump(const Continue &node) { Fields(*this, "Continue").end(node); }

void Dumper::visit(const Stmt &stmt) {
  dispatch(stmt, [this](const auto &node) { dump(node); });
}

void Dumper::visit(const Pattern &pattern) {
  switch (pattern.kind) {
  case PatternKind::MatchValue: {
    Fields fields(*this, "MatchValue");
    fields.node("value", cast<MatchValue>(&pattern).value);
    return fields.end(pattern);
  }
  case PatternKind::MatchSingleton: {
    Fields fields(*this, "MatchSingleton");
    fields.name("value");
    constant(cast<MatchSingleton>(&pattern).value);
    return fields.end(pattern);
  }
  case PatternKind::MatchSequence: {
    Fields fields(*this, "MatchSequence");
    fields.list("patterns", cast<MatchSequence>(&pattern).patterns);
    return fields.end(pattern);
  }
  case PatternKind::MatchMapping: {
    const auto &node = cast<MatchMapping>(&pattern);
    Fields fields(*this, "MatchMapping");
    fields.list("keys", node.keys);
    fields.list("patterns", node.patterns);
    fields.identifier("rest", node.rest);
    return fields.end(pattern);
  }
  case PatternKind::MatchClass: {
    const auto &node = cast<MatchClass>(&pattern);
    Fields fields(*this, "MatchClass");
    fields.node("cls", node.cls);
    fields.list("patterns", node.patterns);
    fields.list("kwd_attrs", node.kwdAttrs);
    fields.list("kwd_patterns", node.kwdPatterns);
    return fields.end(pattern);
  }
  case PatternKind::MatchStar: {
    Fields fields(*this, "MatchStar");
    fields.identifier("name", cast<MatchStar>(&pattern).name);
    return fields.end(pattern);
  }
  case PatternKind::MatchAs: {
    const auto &node = cast<MatchAs>(&pattern);
    Fields fields(*this, "MatchAs");
    fields.node("pattern", node.pattern);
    fields.identifier("name", node.name);
    return fields.end(pattern);
  }
  case PatternKind::MatchOr: {
    Fields fields(*this, "MatchOr");
    fields.list("patterns", cast<MatchOr>(&pattern).patterns);
    return fields.end(pattern);
  }
  }
}

} // namespace

std::string dump(const Module &module, DumpOptions options) {
  Dumper dumper(options);
  dumper.visit(module);
  return std::move(dumper.out);
}

std::string dump(const Expr &expr, DumpOptions options) {
  Dumper dumper(options);
  dumper.visit(expr);
  return std::move(dumper.out);
}

} // namespace nereid::syntax
