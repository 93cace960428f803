// Trees and positions. That they equal CPython's over its whole library is the business of
// scripts/compare-ast.py; what stands here is one example of each construct, and what is newer than
// the CPython at hand.
#include "TestSupport.h"

using namespace nereid;
using namespace nereid::syntax;

namespace {

#define NAME(id) "Name(id='" id "', ctx=Load())"
#define STORE(id) "Name(id='" id "', ctx=Store())"
#define NO_ARGS "arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])"

std::string onlyStmt(const std::string &text) {
  std::string out = tree(text);
  constexpr std::string_view head = "Module(body=[", tail = "], type_ignores=[])";
  return out.substr(head.size(), out.size() - head.size() - tail.size());
}

TEST(Parser, Kernel) {
  auto module = parsed(R"(
import triton
import triton.language as tl

@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(axis=0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)[:, None]
    tl.store(out_ptr + offs, x, mask=mask)
)");
  ASSERT_EQ(module->body.size(), 3u);
  const auto *function = dynCast<FunctionDef>(module->body[2]);
  ASSERT_TRUE(function);
  EXPECT_EQ(function->name, "add");
  ASSERT_EQ(function->decorators.size(), 1u);
  EXPECT_EQ(function->begin.line, 6u); // the `def`, not the decorator
  EXPECT_EQ(function->end.line, 11u);
  EXPECT_EQ(function->end.column, 42u);
  ASSERT_EQ(function->args->args.size(), 5u);
  EXPECT_TRUE(isa<Attribute>(function->args->args[4].annotation));
  EXPECT_EQ(function->body.size(), 5u);
  EXPECT_EQ(module->line(9), "    mask = offs < n");
}

TEST(Parser, Precedence) {
  auto same = [](const char *text, const char *explicitly) {
    EXPECT_EQ(exprTree(text), exprTree(explicitly)) << text;
  };
  same("a + b * c", "a + (b * c)");
  same("a - b - c", "(a - b) - c");
  same("a ** b ** c", "a ** (b ** c)");
  same("-a ** -b", "-(a ** (-b))");
  same("not a == b", "not (a == b)");
  same("a or b and not c", "a or (b and (not c))");
  same("a | b ^ c & d << e", "a | (b ^ (c & (d << e)))");
  same("a if b else c if d else e", "a if b else (c if d else e)");
  same("lambda: a, b", "(lambda: a), b");
  same("await a ** b", "(await a) ** b");
  same("a @ b // c % d", "((a @ b) // c) % d");
  same("~a.b[c](d)", "~(((a.b)[c])(d))");
}

TEST(Parser, Comparisons) {
  EXPECT_EQ(exprTree("a < b is not c not in d"),
            "Compare(left=" NAME("a") ", ops=[Lt(), IsNot(), NotIn()], comparators=[" NAME(
                "b") ", " NAME("c") ", " NAME("d") "])");
}

TEST(Parser, BooleanOperatorsAreFlat) {
  EXPECT_EQ(exprTree("a and b and c"),
            "BoolOp(op=And(), values=[" NAME("a") ", " NAME("b") ", " NAME("c") "])");
  EXPECT_EQ(exprTree("a and (b and c)"),
            "BoolOp(op=And(), values=[" NAME("a") ", BoolOp(op=And(), values=[" NAME("b") ", " NAME(
                "c") "])])");
}

TEST(Parser, Displays) {
  EXPECT_EQ(exprTree("()"), "Tuple(elts=[], ctx=Load())");
  EXPECT_EQ(exprTree("(a)"), NAME("a"));
  EXPECT_EQ(exprTree("(a,)"), "Tuple(elts=[" NAME("a") "], ctx=Load())");
  EXPECT_EQ(exprTree("*a, b"),
            "Tuple(elts=[Starred(value=" NAME("a") ", ctx=Load()), " NAME("b") "], ctx=Load())");
  EXPECT_EQ(exprTree("{}"), "Dict(keys=[], values=[])");
  EXPECT_EQ(exprTree("{a: b, **c}"),
            "Dict(keys=[" NAME("a") ", None], values=[" NAME("b") ", " NAME("c") "])");
  EXPECT_EQ(exprTree("{a, *b}"),
            "Set(elts=[" NAME("a") ", Starred(value=" NAME("b") ", ctx=Load())])");
  EXPECT_EQ(
      exprTree("{a: b for a in c}"),
      "DictComp(key=" NAME("a") ", value=" NAME("b") ", generators=[comprehension(target=" STORE(
          "a") ", iter=" NAME("c") ", ifs=[], is_async=0)])");
  EXPECT_EQ(
      exprTree("[a for a in b if c if d for e in f]"),
      "ListComp(elt=" NAME("a") ", generators=[comprehension(target=" STORE("a") ", iter=" NAME("b") ", ifs=[" NAME(
          "c") ", " NAME("d") "], is_async=0), comprehension(target=" STORE("e") ", iter=" NAME("f") ", ifs=[], is_async=0)])");
}

TEST(Parser, Calls) {
  EXPECT_EQ(exprTree("f(a, *b, c=d, **e)"),
            "Call(func=" NAME("f") ", args=[" NAME("a") ", Starred(value=" NAME(
                "b") ", ctx=Load())], keywords=[keyword(arg='c', "
                     "value=" NAME("d") "), keyword(value=" NAME("e") ")])");
  EXPECT_EQ(
      exprTree("f(a for a in b)"),
      "Call(func=" NAME("f") ", args=[GeneratorExp(elt=" NAME(
          "a") ", generators=[comprehension(target=" STORE("a") ", iter=" NAME("b") ", ifs=[], "
                                                                                    "is_async=0)])]"
                                                                                    ", "
                                                                                    "keywords=[])");
  EXPECT_EQ(exprTree("f(a := b)"), "Call(func=" NAME("f") ", args=[NamedExpr(target=" STORE(
                                       "a") ", value=" NAME("b") ")], keywords=[])");
}

TEST(Parser, Subscripts) {
  EXPECT_EQ(exprTree("a[b]"), "Subscript(value=" NAME("a") ", slice=" NAME("b") ", ctx=Load())");
  EXPECT_EQ(
      exprTree("a[:, None]"),
      "Subscript(value=" NAME(
          "a") ", slice=Tuple(elts=[Slice(), Constant(value=None)], ctx=Load()), ctx=Load())");
  EXPECT_EQ(
      exprTree("a[b:c:d, ::2]"),
      "Subscript(value=" NAME("a") ", slice=Tuple(elts=[Slice(lower=" NAME("b") ", upper=" NAME(
          "c") ", step=" NAME("d") "), Slice(step=Constant(value=2))], ctx=Load()), ctx=Load())");
  EXPECT_EQ(exprTree("a[*b]"),
            "Subscript(value=" NAME("a") ", slice=Tuple(elts=[Starred(value=" NAME(
                "b") ", ctx=Load())], ctx=Load()), ctx=Load())");
}

TEST(Parser, Assignments) {
  EXPECT_EQ(onlyStmt("a = b, *c = d"),
            "Assign(targets=[" STORE("a") ", Tuple(elts=[" STORE("b") ", Starred(value=" STORE(
                "c") ", ctx=Store())], ctx=Store())], value=" NAME("d") ")");
  EXPECT_EQ(onlyStmt("a[b] += yield c"),
            "AugAssign(target=Subscript(value=" NAME("a") ", slice=" NAME(
                "b") ", ctx=Store()), op=Add(), value=Yield(value=" NAME("c") "))");
  EXPECT_EQ(onlyStmt("a: b"),
            "AnnAssign(target=" STORE("a") ", annotation=" NAME("b") ", simple=1)");
  EXPECT_EQ(onlyStmt("(a): b = c"), "AnnAssign(target=" STORE("a") ", annotation=" NAME(
                                        "b") ", value=" NAME("c") ", simple=0)");
  EXPECT_EQ(
      onlyStmt("a.b: c = d"),
      "AnnAssign(target=Attribute(value=" NAME("a") ", attr='b', ctx=Store()), annotation=" NAME(
          "c") ", value=" NAME("d") ", simple=0)");
  EXPECT_EQ(onlyStmt("del a, (b, c)"),
            "Delete(targets=[Name(id='a', ctx=Del()), Tuple(elts=[Name(id='b', ctx=Del()), "
            "Name(id='c', ctx=Del())], ctx=Del())])");
}

TEST(Parser, Parameters) {
  EXPECT_EQ(
      onlyStmt("def f(a, b=1, /, c: d = 2, *e: *g, h, i=3, **j): pass"),
      "FunctionDef(name='f', args=arguments(posonlyargs=[arg(arg='a'), arg(arg='b')], "
      "args=[arg(arg='c', annotation=" NAME("d") ")], vararg=arg(arg='e', "
                                                 "annotation=Starred(value=" NAME(
                                                     "g") ", ctx=Load())), "
                                                          "kwonlyargs=[arg(arg='h'), "
                                                          "arg(arg='i')], kw_defaults=[None, "
                                                          "Constant(value=3)], kwarg=arg(arg='j'), "
                                                          "defaults=[Constant(value=1), "
                                                          "Constant(value=2)]), body=[Pass()], "
                                                          "decorator_list=[])");
  EXPECT_EQ(exprTree("lambda *, a: a"),
            "Lambda(args=arguments(posonlyargs=[], args=[], kwonlyargs=[arg(arg='a')], "
            "kw_defaults=[None], defaults=[]), body=" NAME("a") ")");
}

TEST(Parser, ElifIsAnIfInOrelse) {
  EXPECT_EQ(tree("if a:\n  pass\nelif b:\n  pass\nelse:\n  c\n"),
            tree("if a:\n  pass\nelse:\n  if b:\n    pass\n  else:\n    c\n"));
  const auto module = parsed("if a: pass\nelif b: pass\nelse: c");
  const auto &outer = cast<If>(module->body[0]);
  const auto &inner = cast<If>(outer.orelse[0]);
  EXPECT_EQ(inner.begin.line, 2u);
  EXPECT_EQ(inner.end.line, 3u);
  EXPECT_EQ(outer.end.column, 7u);
}

TEST(Parser, TryAndExceptStar) {
  EXPECT_EQ(onlyStmt("try: pass\nexcept* (A, B) as e: pass\nelse: x\nfinally: y"),
            "TryStar(body=[Pass()], handlers=[ExceptHandler(type=Tuple(elts=[" NAME("A") ", " NAME(
                "B") "], ctx=Load()), name='e', body=[Pass()])], "
                     "orelse=[Expr(value=" NAME("x") ")], "
                                                     "finalbody=[Expr(value=" NAME("y") ")])");
}

TEST(Parser, With) {
  auto items = [](const char *text) { return cast<With>(parsed(text)->body[0]).items.size(); };
  EXPECT_EQ(items("with a as b, c: pass"), 2u);
  EXPECT_EQ(items("with (a as b, c as d,): pass"), 2u);
  EXPECT_EQ(items("with (a, b): pass"), 2u);
  EXPECT_EQ(items("with (a, b) as c: pass"), 1u);
  EXPECT_EQ(items("with (a, b).c: pass"), 1u);
  EXPECT_EQ(items("with (a, b := c): pass"), 1u);
  EXPECT_EQ(items("with (*a, b): pass"), 1u);
  EXPECT_EQ(items("with (yield): pass"), 1u);
  EXPECT_EQ(items("with (a for a in b): pass"), 1u);
  EXPECT_EQ(items("with (): pass"), 1u);
  EXPECT_EQ(items("with (a, [b for b in c]): pass"), 2u);
}

TEST(Parser, Match) {
  EXPECT_EQ(
      onlyStmt(R"(
match a, b:
    case [1, -2.5, 1 - 2j, "s", None, _, c, *d] if e: pass
    case {"k": 1, A.b: x, **rest}: pass
    case P(1, q=Q(), r=[*_]) | (s as t): pass
)"),
      "Match(subject=Tuple(elts=[" NAME("a") ", " NAME(
          "b") "], ctx=Load()), cases=["
               "match_case(pattern=MatchSequence(patterns=[MatchValue(value=Constant(value=1)), "
               "MatchValue(value=UnaryOp(op=USub(), operand=Constant(value=2.5))), "
               "MatchValue(value=BinOp(left=Constant(value=1), op=Sub(), "
               "right=Constant(value=2j))), MatchValue(value=Constant(value='s')), "
               "MatchSingleton(value=None), MatchAs(), MatchAs(name='c'), MatchStar(name='d')]), "
               "guard=" NAME("e") ", body=[Pass()]), "
                                  "match_case(pattern=MatchMapping(keys=[Constant(value='k'), "
                                  "Attribute(value=" NAME(
                                      "A") ", attr='b', ctx=Load())], "
                                           "patterns=[MatchValue(value=Constant(value=1)), "
                                           "MatchAs(name='x')], rest='rest'), body=[Pass()]), "
                                           "match_case(pattern=MatchOr(patterns=[MatchClass("
                                           "cls=" NAME("P") ", "
                                                            "patterns=[MatchValue(value=Constant("
                                                            "value=1))], kwd_attrs=['q', 'r'], "
                                                            "kwd_patterns=[MatchClass(cls=" NAME(
                                                                "Q") ", patterns=[], kwd_attrs=[], "
                                                                     "kwd_patterns=[]), "
                                                                     "MatchSequence(patterns=["
                                                                     "MatchStar()])]), "
                                                                     "MatchAs(pattern=MatchAs(name="
                                                                     "'s'), name='t')]), "
                                                                     "body=[Pass()])])");
}

TEST(Parser, SoftKeywordsAreNames) {
  EXPECT_EQ(tree("match = case = type = _ = 1").find("Match("), std::string::npos);
  parsed("match(x)\nmatch[x] = 1\nmatch -x\nmatch.a: int\nprint(match, type, case)\ntype (x)\n");
  parsed("match x:\n  case case: match = type\n");
  EXPECT_EQ(onlyStmt("match (x)"),
            "Expr(value=Call(func=" NAME("match") ", args=[" NAME("x") "], keywords=[]))");
}

// 3.12
TEST(Parser, TypeParametersAndAliases) {
  EXPECT_EQ(onlyStmt("type A[T: int, *Ts, **P] = B"),
            "TypeAlias(name=" STORE("A") ", type_params=[TypeVar(name='T', bound=" NAME(
                "int") "), TypeVarTuple(name='Ts'), ParamSpec(name='P')], value=" NAME("B") ")");
  EXPECT_EQ(onlyStmt("def f[T](): pass"),
            "FunctionDef(name='f', args=" NO_ARGS
            ", body=[Pass()], decorator_list=[], type_params=[TypeVar(name='T')])");
  // 3.13: defaults
  EXPECT_EQ(
      onlyStmt("class A[T = int, *Ts = *B]: pass"),
      "ClassDef(name='A', bases=[], keywords=[], body=[Pass()], decorator_list=[], "
      "type_params=[TypeVar(name='T', default_value=" NAME(
          "int") "), TypeVarTuple(name='Ts', default_value=Starred(value=" NAME("B") ", "
                                                                                     "ctx=Load()))]"
                                                                                     ")");
}

TEST(Parser, FStrings) {
  EXPECT_EQ(
      exprTree("f'a{b!r:>{w}}c' 'd' f''"),
      "JoinedStr(values=[Constant(value='a'), FormattedValue(value=" NAME(
          "b") ", conversion=114, format_spec=JoinedStr(values=[Constant(value='>'), "
               "FormattedValue(value=" NAME("w") ", conversion=-1)])), Constant(value='cd')])");
  EXPECT_EQ(exprTree("f'{a = }'"),
            "JoinedStr(values=[Constant(value='a = '), FormattedValue(value=" NAME(
                "a") ", conversion=114)])");
  EXPECT_EQ(exprTree("f'{a=:x}'"),
            "JoinedStr(values=[Constant(value='a='), FormattedValue(value=" NAME(
                "a") ", conversion=-1, format_spec=JoinedStr(values=[Constant(value='x')]))])");
  EXPECT_EQ(exprTree("f'{{}}\\n'"), "JoinedStr(values=[Constant(value='{}\\n')])");
  EXPECT_EQ(exprTree("rf'\\{a}'"),
            "JoinedStr(values=[Constant(value='\\\\'), FormattedValue(value=" NAME(
                "a") ", conversion=-1)])");
  // PEP 701
  EXPECT_EQ(exprTree("f'{f'{f'{1}'}'}'"), exprTree("f\"{f'{f'''{1}'''}'}\""));
  EXPECT_EQ(exprTree("f'{'\\n'.join(a)}'"),
            "JoinedStr(values=[FormattedValue(value=Call(func=Attribute(value=Constant(value='\\n')"
            ", attr='join', ctx=Load()), args=[" NAME("a") "], keywords=[]), conversion=-1)])");
  EXPECT_EQ(exprTree("f'{a # note\n = }'"),
            "JoinedStr(values=[Constant(value='a \\n = '), FormattedValue(value=" NAME(
                "a") ", conversion=114)])");
}

// As 3.13 places them.
TEST(Parser, FStringPositions) {
  auto module = parsed("x = f'ab{cd}' 'e'\n");
  const auto &joined = cast<JoinedStr>(cast<Assign>(module->body[0]).value);
  auto columns = [](const Node *node) {
    return std::make_pair(node->begin.column, node->end.column);
  };
  ASSERT_EQ(joined.values.size(), 3u);
  EXPECT_EQ(columns(&joined), std::make_pair(4u, 17u));
  EXPECT_EQ(columns(joined.values[0]), std::make_pair(6u, 8u));
  EXPECT_EQ(columns(joined.values[1]), std::make_pair(8u, 12u));
  EXPECT_EQ(columns(cast<FormattedValue>(joined.values[1]).value), std::make_pair(9u, 11u));
  EXPECT_EQ(columns(joined.values[2]), std::make_pair(14u, 17u));
}

TEST(Parser, PositionsCountBytesAndParentheses) {
  EXPECT_EQ(dump(*parsed("\xC3\xA9 = (a) + b")),
            "Module(body=[Assign(targets=[Name(id='\xC3\xA9', ctx=Store(), lineno=1, col_offset=0, "
            "end_lineno=1, end_col_offset=2)], value=BinOp(left=Name(id='a', ctx=Load(), lineno=1, "
            "col_offset=6, end_lineno=1, end_col_offset=7), op=Add(), right=Name(id='b', "
            "ctx=Load(), lineno=1, col_offset=11, end_lineno=1, end_col_offset=12), lineno=1, "
            "col_offset=5, end_lineno=1, end_col_offset=12), lineno=1, col_offset=0, end_lineno=1, "
            "end_col_offset=12)], type_ignores=[])");
}

TEST(Parser, UnitsMayStartAnywhere) {
  ParseResult result = parseModule("def f():\n  return '''a\n  b'''\n", "note.py", 40, 8);
  ASSERT_TRUE(result.module);
  const auto &function = cast<FunctionDef>(result.module->body[0]);
  EXPECT_EQ(function.begin.line, 40u);
  EXPECT_EQ(function.begin.column, 8u);
  EXPECT_EQ(function.end.line, 42u);
  EXPECT_EQ(function.end.column, 14u);
  EXPECT_EQ(result.module->line(41), "  return '''a");
  EXPECT_EQ(result.module->line(39), "");
  EXPECT_EQ(result.module->line(99), "");
  result = parseModule("a\nb c\n", "note.py", 40, 8);
  ASSERT_EQ(result.diagnostics.size(), 1u);
  EXPECT_EQ(result.diagnostics[0].where.begin.line, 41u);
  EXPECT_EQ(result.diagnostics[0].where.begin.column, 10u);
  EXPECT_EQ(result.diagnostics[0].where.file, "note.py");
}

TEST(Parser, Expressions) {
  ParseExpressionResult result = parseExpression(" (cdiv(n,\n BLOCK),)", "--grid");
  ASSERT_TRUE(result.expr);
  EXPECT_TRUE(result.diagnostics.empty());
  EXPECT_EQ(print(*result.expr), "(cdiv(n, BLOCK),)");
  EXPECT_EQ(result.module->body.size(), 1u);
  EXPECT_EQ(exprTree("a b"), "error: expected the end of the expression, not `b`");
  EXPECT_EQ(exprTree(""), "error: expected an expression, not the end of the text");
  EXPECT_EQ(exprTree("x = 1"), "error: expected the end of the expression, not `=`");
  EXPECT_FALSE(parseExpression("pass", "t").module);
}

TEST(Parser, NamesAreInterned) {
  auto module = parsed("alpha = alpha");
  const auto &assign = cast<Assign>(module->body[0]);
  EXPECT_EQ(cast<Name>(assign.targets[0]).id.data(), cast<Name>(assign.value).id.data());
}

// --- files as they are found ---

TEST(Source, LineEndsAreOne) {
  std::string want = tree("a = '''x\ny'''\nb\n");
  EXPECT_EQ(tree("a = '''x\r\ny'''\r\nb\r\n"), want);
  EXPECT_EQ(tree("a = '''x\ry'''\rb\r"), want);
  EXPECT_EQ(tree("\xEF\xBB\xBF"
                 "a = '''x\ny'''\nb\n"),
            want);
  EXPECT_EQ(tree("a = '''x\ny'''\n\fb"), want);
}

TEST(Source, EncodingCookies) {
  std::string want = tree("x = '\xC3\xA9'\n");
  EXPECT_EQ(tree("# -*- coding: utf-8 -*-\nx = '\xC3\xA9'\n"), want);
  EXPECT_EQ(tree("#!/bin/x\n# vim: set fileencoding=Latin_1 :\nx = '\xE9'\n"), want);
  EXPECT_EQ(tree("\n# coding: cp1252\nx = 1\n"), tree("x = 1"));
  // Not in the first two lines, or not in a comment of its own.
  EXPECT_EQ(tree("\n\n# coding: nonsense\nx = 1\n"), tree("x = 1"));
  EXPECT_EQ(tree("x = 1 # coding: nonsense\n# coding: nonsense"), tree("x = 1"));
  EXPECT_EQ(errorOf("# coding: nonsense\n"), "1:0: unknown encoding `nonsense` [InvalidEncoding]");
  EXPECT_EQ(errorOf("# coding: ascii\nx = '\xC3\xA9'"),
            "2:5: byte 0xc3 is not ASCII, as the file declares [InvalidEncoding]");
  EXPECT_EQ(errorOf("\n# coding: koi8-r\nx = '\xC3'"),
            "2:0: encoding `koi8-r` is not supported [InvalidEncoding]");
  EXPECT_EQ(errorOf("x = '\xE9'\n"), "1:5: byte 0xe9 is not valid UTF-8 [InvalidEncoding]");
}

TEST(Source, InvalidUtf8) {
  for (const char *bytes : {"\x80", "\xC0\xAF", "\xC3", "\xE0\x80\x80", "\xED\xA0\x80",
                            "\xF4\x90\x80\x80", "\xF8\x88\x80\x80\x80", "\xE2\x82"})
    EXPECT_NE(errorOf(std::string("# ") + bytes).find("is not valid UTF-8"), std::string::npos);
  parsed("# \xF0\x9F\x90\x8D \xED\x9F\xBF \xEF\xBF\xBD");
}

} // namespace
