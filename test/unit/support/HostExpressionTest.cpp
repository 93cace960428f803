#include "support/HostExpression.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <random>

using namespace nereid;
using namespace nereid::support;
using Builder = HostExpressionBuilder;
using Node = Builder::Node;

namespace {

struct Arguments final : HostArguments {
  std::vector<HostValue> values, metas;
  std::vector<HostTensorFacts> tensors; // by leaf; rank-less and size-less means "no tensor"
  HostValue argument(uint32_t leaf) const override {
    return leaf < values.size() ? values[leaf] : HostValue::none();
  }
  HostValue meta(uint32_t number) const override {
    return number < metas.size() ? metas[number] : HostValue::none();
  }
  const HostTensorFacts *tensor(uint32_t leaf) const override {
    return leaf < tensors.size() && tensors[leaf].elementBytes ? &tensors[leaf] : nullptr;
  }
};

HostResult evaluate(const std::function<Node(Builder &)> &build, const Arguments &arguments = {}) {
  Builder builder;
  Node root = build(builder);
  auto bytes = builder.finish(root);
  EXPECT_TRUE(bytes) << bytes.error().what;
  auto expression = HostExpression::open(*bytes);
  EXPECT_TRUE(expression) << expression.error().what;
  return expression->evaluate(arguments);
}

int64_t intOf(const HostResult &result) {
  EXPECT_TRUE(result.ok()) << result.error;
  EXPECT_EQ(result.value.kind, HostValue::Kind::Int);
  return result.value.integer;
}

int64_t binary(HostOp op, int64_t a, int64_t b) {
  return intOf(evaluate([=](Builder &e) { return e.binary(op, e.integer(a), e.integer(b)); }));
}

std::string errorOf(HostOp op, int64_t a, int64_t b) {
  HostResult result =
      evaluate([=](Builder &e) { return e.binary(op, e.integer(a), e.integer(b)); });
  return result.ok() ? "none" : result.error;
}

TEST(HostExpression, DividesAsPython) {
  for (auto [a, b, quotient, remainder] : {std::array<int64_t, 4>{7, 2, 3, 1},
                                           {-7, 2, -4, 1},
                                           {7, -2, -4, -1},
                                           {-7, -2, 3, -1},
                                           {6, 3, 2, 0},
                                           {-6, 3, -2, 0},
                                           {0, -5, 0, 0}}) {
    EXPECT_EQ(binary(HostOp::FloorDivide, a, b), quotient);
    EXPECT_EQ(binary(HostOp::Modulo, a, b), remainder);
  }
  EXPECT_EQ(binary(HostOp::Cdiv, 1000, 128), 8);
  EXPECT_EQ(binary(HostOp::Cdiv, 0, 128), 0);
  EXPECT_EQ(binary(HostOp::Cdiv, -7, 2), -3);
  EXPECT_EQ(binary(HostOp::Modulo, INT64_MIN, -1), 0);
}

TEST(HostExpression, NeverWraps) {
  EXPECT_EQ(errorOf(HostOp::Add, INT64_MAX, 1), "an integer does not fit 64 bits");
  EXPECT_EQ(errorOf(HostOp::Multiply, int64_t(1) << 62, 2), "an integer does not fit 64 bits");
  EXPECT_EQ(errorOf(HostOp::FloorDivide, INT64_MIN, -1), "an integer does not fit 64 bits");
  EXPECT_EQ(errorOf(HostOp::Power, 10, 19), "an integer does not fit 64 bits");
  EXPECT_EQ(binary(HostOp::Power, 10, 18), 1000000000000000000);
  EXPECT_EQ(binary(HostOp::Power, -2, 63), INT64_MIN);
  EXPECT_EQ(errorOf(HostOp::ShiftLeft, 1, 63), "an integer does not fit 64 bits");
  EXPECT_EQ(errorOf(HostOp::ShiftLeft, 1, -1), "a negative shift");
  EXPECT_EQ(binary(HostOp::ShiftRight, -5, 100), -1);
  EXPECT_EQ(errorOf(HostOp::Modulo, 1, 0), "division by zero");
}

TEST(HostExpression, EvaluatesOnlyWhatItNeeds) {
  auto broken = [](Builder &e) {
    return e.binary(HostOp::FloorDivide, e.integer(1), e.integer(0));
  };
  EXPECT_EQ(intOf(evaluate([&](Builder &e) {
              Node bad = broken(e), good = e.integer(5);
              return e.select(e.boolean(false), bad, good);
            })),
            5);
  EXPECT_EQ(intOf(evaluate([&](Builder &e) {
              Node zero = e.integer(0);
              return e.binary(HostOp::And, zero, broken(e));
            })),
            0);
  EXPECT_EQ(intOf(evaluate([&](Builder &e) {
              Node three = e.integer(3);
              return e.binary(HostOp::Or, three, broken(e));
            })),
            3);
}

TEST(HostExpression, AsksArguments) {
  int64_t shape[] = {4, 8, 16}, strides[] = {128, 16, 1};
  Arguments arguments;
  arguments.values = {HostValue::of(int64_t(1000)), HostValue::none(), HostValue::of(0.5)};
  arguments.metas = {HostValue::of(int64_t(128))};
  arguments.tensors = {{}, {}, {}, {shape, strides, 2}};
  // grid = (cdiv(n, BLOCK) if bias is None else 1) * x.shape[-1]
  auto grid = [](Builder &e) {
    Node blocks = e.binary(HostOp::Cdiv, e.argument(0), e.meta(0));
    Node isNone = e.unary(HostOp::IsNone, e.argument(1));
    Node chosen = e.select(isNone, blocks, e.integer(1));
    return e.binary(HostOp::Multiply, chosen, e.shape(3, -1));
  };
  EXPECT_EQ(intOf(evaluate(grid, arguments)), 8 * 16);
  EXPECT_EQ(intOf(evaluate([](Builder &e) { return e.numel(3); }, arguments)), 512);
  EXPECT_EQ(intOf(evaluate([](Builder &e) { return e.stride(3, 0); }, arguments)), 128);
  EXPECT_EQ(intOf(evaluate([](Builder &e) { return e.rank(3); }, arguments)), 3);
  EXPECT_EQ(intOf(evaluate([](Builder &e) { return e.elementBytes(3); }, arguments)), 2);
  EXPECT_FALSE(evaluate([](Builder &e) { return e.shape(3, 3); }, arguments).ok());
  EXPECT_FALSE(evaluate([](Builder &e) { return e.numel(0); }, arguments).ok());
  EXPECT_FALSE(
      evaluate([](Builder &e) { return e.unary(HostOp::Negate, e.argument(1)); }, arguments).ok());
}

TEST(HostExpression, AsksTensorsForTheirType) {
  int64_t shape[] = {4};
  HostTensorFacts half = {shape, shape, 2, DType::Float16, shape};
  HostTensorFacts pointer = {{}, {}, 4, DType::Float32, nullptr, false};
  Arguments arguments;
  arguments.values = {HostValue::other(), HostValue::other(), HostValue::missing()};
  arguments.tensors = {half, pointer};
  const DType halves[] = {DType::Float16, DType::BFloat16};
  auto isHalf = [&](uint32_t leaf) {
    HostResult result = evaluate([&](Builder &e) { return e.typeIn(leaf, halves); }, arguments);
    return result.ok() && result.value.kind == HostValue::Kind::Bool ? int(result.value.integer)
                                                                     : -1;
  };
  EXPECT_EQ(isHalf(0), 1);
  EXPECT_EQ(isHalf(1), 0);
  EXPECT_EQ(isHalf(2), -1);
  EXPECT_EQ(intOf(evaluate([](Builder &e) { return e.address(0); }, arguments)),
            int64_t(reinterpret_cast<uintptr_t>(shape)));
  EXPECT_EQ(intOf(evaluate([](Builder &e) { return e.elementBytes(1); }, arguments)), 4);
  // A bare pointer has no shape, and is no number; of what is no number one thing is known.
  EXPECT_FALSE(evaluate([](Builder &e) { return e.numel(1); }, arguments).ok());
  EXPECT_FALSE(evaluate([](Builder &e) { return e.rank(1); }, arguments).ok());
  for (HostOp op : {HostOp::Not, HostOp::Negate, HostOp::ToBool, HostOp::ToInt})
    EXPECT_FALSE(evaluate([&](Builder &e) { return e.unary(op, e.argument(0)); }, arguments).ok());
  for (HostOp op : {HostOp::Add, HostOp::Equal, HostOp::And, HostOp::Or, HostOp::Max}) {
    auto with = [&](Builder &e) { return e.binary(op, e.argument(0), e.integer(1)); };
    EXPECT_FALSE(evaluate(with, arguments).ok());
  }
  auto isNone = [](uint32_t leaf) {
    return [=](Builder &e) { return e.unary(HostOp::IsNone, e.argument(leaf)); };
  };
  EXPECT_FALSE(evaluate(isNone(0), arguments).value.truth());
  EXPECT_TRUE(evaluate(isNone(0), arguments).ok());
  EXPECT_FALSE(evaluate(isNone(2), arguments).ok()); // it is not given
  Builder builder;
  auto bytes = *builder.finish(builder.typeIn(0, halves));
  auto shown = HostExpression::open(bytes);
  EXPECT_EQ(shown->toPython({{"x"}, {}, {}, {}}), "(x.dtype in (tl.float16, tl.bfloat16, ))");
  EXPECT_EQ(shown->toC({{"x"}, {}, {}, {}}), "(INT64_C(1536) >> x_type & 1)");
}

TEST(HostExpression, ComparesExactly) {
  // 2**53 + 1 has no double.
  auto less = evaluate([](Builder &e) {
    Node big = e.integer((int64_t(1) << 53) + 1);
    return e.binary(HostOp::Greater, big, e.floating(0x1p53));
  });
  EXPECT_TRUE(less.ok() && less.value.truth());
  auto nan = evaluate(
      [](Builder &e) { return e.binary(HostOp::LessEqual, e.floating(NAN), e.floating(1)); });
  EXPECT_TRUE(nan.ok() && !nan.value.truth());
  EXPECT_EQ(
      intOf(evaluate([](Builder &e) { return e.unary(HostOp::NextPowerOf2, e.integer(1000)); })),
      1024);
}

TEST(HostExpression, RefusesDamage) {
  Builder builder;
  Node sum = builder.binary(HostOp::Add, builder.argument(0), builder.integer(1));
  auto good = *builder.finish(builder.select(builder.boolean(true), sum, builder.integer(2)));
  ASSERT_TRUE(HostExpression::open(good));
  // A whole number of nodes may happen to be an expression; nothing else is.
  for (size_t size = 0; size < good.size(); size += 8)
    if (size == 0 || size % sizeof(HostNode))
      EXPECT_FALSE(HostExpression::open({good.data(), size})) << size;
  unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 20000; ++round) {
    auto bytes = good;
    for (int edits = 1 + random() % 4; edits > 0; --edits)
      bytes[random() % bytes.size()] = uint8_t(random());
    if (auto expression = HostExpression::open(bytes)) {
      (void)expression->evaluate(Arguments());
      (void)expression->toC({});
    }
  }
  // A chain that is too deep, and a node used twice.
  Builder deep;
  Node chain = deep.integer(1);
  for (int i = 0; i < 200; ++i)
    chain = deep.unary(HostOp::Negate, chain);
  EXPECT_FALSE(deep.finish(chain));
  Builder twice;
  Node one = twice.integer(1);
  EXPECT_FALSE(twice.finish(twice.binary(HostOp::Add, one, one)));
  Node copied = twice.copy(one);
  EXPECT_TRUE(twice.finish(twice.binary(HostOp::Add, one, copied)));
}

// Random expressions over integers and floats: the evaluator agrees with the printed C (compiled)
// and with the printed Python where the machine has them.
struct RandomTree {
  std::mt19937 random;
  Builder builder;

  Node make(int depth) {
    if (depth == 0 || random() % 8 == 0)
      switch (random() % 4) {
      case 0:
        return builder.integer(int64_t(random() % 41) - 20);
      case 1:
        return builder.floating((int(random() % 41) - 20) * 0.25);
      case 2:
        return builder.argument(random() % 3);
      default:
        return builder.meta(0);
      }
    static const HostOp ops[] = {
        HostOp::Negate,    HostOp::Not,     HostOp::Abs,          HostOp::ToInt,  HostOp::ToFloat,
        HostOp::ToBool,    HostOp::Floor,   HostOp::Ceil,         HostOp::Add,    HostOp::Subtract,
        HostOp::Multiply,  HostOp::Divide,  HostOp::FloorDivide,  HostOp::Modulo, HostOp::Less,
        HostOp::LessEqual, HostOp::Greater, HostOp::GreaterEqual, HostOp::Equal,  HostOp::NotEqual,
        HostOp::Min,       HostOp::Max,     HostOp::Cdiv,         HostOp::And,    HostOp::Or,
        HostOp::Select};
    HostOp op = ops[random() % std::size(ops)];
    Node a = make(depth - 1);
    if (operandCount(op) == 1)
      return builder.unary(op, a);
    Node b = make(depth - 1);
    if (operandCount(op) == 2)
      return builder.binary(op, a, b);
    return builder.select(a, b, make(depth - 1));
  }
};

TEST(HostExpression, PythonAgrees) {
  if (std::system("python3 -c pass >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "no python3";
  unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Arguments arguments;
  arguments.values = {HostValue::of(int64_t(17)), HostValue::of(-2.5), HostValue::of(int64_t(-3))};
  arguments.metas = {HostValue::of(int64_t(64))};
  HostNames names{{"n", "x", "k"}, {"BLOCK"}, {}, {}};
  std::string base = testing::TempDir() + "/nereid-expressions";
  std::ofstream script(base + ".py");
  script << "import math\nclass triton:\n"
            "  cdiv = staticmethod(lambda a, b: (a + b - 1) // b)\n"
            "n, x, k, BLOCK = 17, -2.5, -3, 64\nbad = 0\n"
            "def check(i, f, kind, value):\n"
            "  global bad\n"
            "  try: r = f()\n"
            "  except (ZeroDivisionError, OverflowError): r = 'error'\n"
            "  if kind == 'error': ok = r == 'error'\n"
            "  else: ok = type(r).__name__ == kind and repr(r) == repr(value)\n"
            "  if not ok: bad += 1; print(i, repr(r), kind, value)\n";
  RandomTree tree{std::mt19937(seed), {}};
  for (int i = 0; i < 2000; ++i) {
    tree.builder = Builder();
    auto bytes = tree.builder.finish(tree.make(4));
    ASSERT_TRUE(bytes);
    auto expression = HostExpression::open(*bytes);
    HostResult result = expression->evaluate(arguments);
    char value[64] = "None";
    const char *kind = "error";
    if (result.ok()) {
      kind = result.value.kind == HostValue::Kind::Float  ? "float"
             : result.value.kind == HostValue::Kind::Bool ? "bool"
                                                          : "int";
      if (result.value.isFloat())
        std::snprintf(value, sizeof value, "float.fromhex('%a')", result.value.number);
      else if (result.value.kind == HostValue::Kind::Bool)
        std::snprintf(value, sizeof value, "%s", result.value.integer ? "True" : "False");
      else
        std::snprintf(value, sizeof value, "%lld", (long long)result.value.integer);
    }
    script << "check(" << i << ", lambda: " << expression->toPython(names) << ", '" << kind << "', "
           << value << ")\n";
  }
  script << "raise SystemExit(bad != 0)\n";
  script.close();
  EXPECT_EQ(std::system(("python3 " + base + ".py").c_str()), 0);
  std::remove((base + ".py").c_str());
}

TEST(HostExpression, CompiledCAgrees) {
  if (std::system("clang-19 --version >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "no clang-19";
  unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Arguments arguments;
  arguments.values = {HostValue::of(int64_t(17)), HostValue::of(-2.5), HostValue::of(int64_t(-3))};
  arguments.metas = {HostValue::of(int64_t(64))};
  HostNames names{{"n", "x", "k"},
                  {"BLOCK"},
                  {HostValue::Kind::Int, HostValue::Kind::Float, HostValue::Kind::Int},
                  {}};
  std::string base = testing::TempDir() + "/nereid-expressions-c";
  std::ofstream source(base + ".c");
  source << hostExpressionHelpersC()
         << "#include <stdio.h>\nint main(void) {\n  int64_t n = 17, k = -3, BLOCK = 64;\n"
            "  double x = -2.5; int bad = 0; (void)n; (void)k; (void)x; (void)BLOCK;\n";
  RandomTree tree{std::mt19937(seed), {}};
  int compared = 0;
  for (int i = 0; i < 1500; ++i) {
    tree.builder = Builder();
    auto bytes = tree.builder.finish(tree.make(4));
    auto expression = HostExpression::open(*bytes);
    HostResult result = expression->evaluate(arguments);
    if (!result.ok())
      continue; // C does not check
    ++compared;
    char value[64];
    if (result.value.isFloat())
      std::snprintf(value, sizeof value, "%a", result.value.number);
    else
      std::snprintf(value, sizeof value, "%lld", (long long)result.value.integer);
    source << "  { double r = (double)(" << expression->toC(names) << "), e = " << value
           << "; if (r != e && (r == r || e == e)) { ++bad; printf(\"" << i
           << ": %g, not %g\\n\", r, e); } }\n";
  }
  source << "  return bad != 0;\n}\n";
  source.close();
  EXPECT_GT(compared, 500);
  EXPECT_EQ(std::system(("clang-19 -w -O0 " + base + ".c -o " + base + " -lm && " + base).c_str()),
            0);
  std::remove((base + ".c").c_str());
  std::remove(base.c_str());
}

} // namespace
