// Any call of any name with any arguments is either built, and then verifies, or is an OpError.

#include "Fixture.h"

#include <cmath>
#include <random>

namespace nereid::ops::test {
namespace {

struct Constant : Callable {
  explicit Constant(Value result) : result(std::move(result)) {}
  std::string name() const override { return "constant"; }
  Value call(OpContext &, std::vector<Value> args,
             std::vector<std::pair<std::string, Value>>) override {
    return result.isNone() && !args.empty() ? args[0] : result;
  }
  Value result;
};

// A fresh function for each call: after an error the IR may be incomplete.
struct Sandbox : OpsTest {
  void TestBody() override {}
};

class Arguments {
public:
  Arguments(Sandbox &sandbox, std::mt19937 &random) : sandbox(sandbox), random(random) {}

  unsigned below(unsigned n) { return random() % n; }

  Type element(bool pointers = true) {
    Type scalar = Type::scalar(DType(below(unsigned(DType::Float8E4B15) + 1)));
    if (!pointers || below(4))
      return scalar;
    return below(8) ? Type::pointer(scalar, below(8) == 0) : Type::pointer(Type());
  }
  std::vector<int64_t> shape() {
    std::vector<int64_t> extents(below(4));
    for (int64_t &extent : extents)
      extent = int64_t(1) << below(6);
    return extents;
  }
  Value number() {
    switch (below(9)) {
    case 0:
      return Value(bool(below(2)));
    case 1:
      return Value(std::ldexp(1.0, int(below(200)) - 150));
    case 2:
      return Value(below(2) ? INFINITY : NAN);
    case 3:
      return Value(Integer::shiftLeft(below(2) ? 1 : -1, below(70)));
    case 4:
      return Value(-int64_t(below(300)));
    default:
      return Value(int64_t(1) << below(7));
    }
  }
  Value list(int depth) {
    std::vector<Value> items(below(4));
    bool numbers = below(2);
    for (Value &item : items)
      item = numbers ? Value(int64_t(1) << below(6)) : any(depth + 1);
    return below(2) ? Value::tuple(items) : Value(std::make_shared<List>(items));
  }
  Value descriptor() {
    std::vector<int64_t> block(1 + below(3), 32);
    Type type = element(false);
    bool paddingIsNan = type.isFloat() && below(2);
    return sandbox.argument(Type::descriptor(block, type, unsigned(block.size()), paddingIsNan));
  }
  Value block() {
    auto block = std::make_shared<BlockPointer>();
    size_t rank = 1 + below(2);
    block->base = sandbox.argument(Type::pointer(element(false)));
    for (size_t d = 0; d < rank; ++d) {
      for (auto *part : {&block->shape, &block->strides, &block->offsets})
        part->push_back(sandbox.argument(DType::Int64));
      block->blockShape.push_back(8);
    }
    return Value(block);
  }
  Value any(int depth = 0) {
    switch (below(depth > 2 ? 12 : 14)) {
    case 0:
      return None{};
    case 1: {
      constexpr const char *words[] = {"",    "zero", "nan",  ".cg",  "relaxed",
                                       "gpu", "ieee", "e2m1", "fp32", "r,=r,r"};
      return Value::str(words[below(std::size(words))]);
    }
    case 2:
      return Value::type(below(6) ? element() : Type::block(shape(), element()));
    case 3:
      return std::make_shared<Constant>(below(2) ? Value() : number());
    case 4:
      return descriptor();
    case 5:
      return block();
    case 6:
    case 7:
      return number();
    case 12:
    case 13:
      return list(depth);
    default:
      return sandbox.argument(Type::block(shape(), element()));
    }
  }

private:
  Sandbox &sandbox;
  std::mt19937 &random;
};

TEST(RandomCalls, AreBuiltOrRefused) {
  unsigned seed = 20261121, built = 0, refused = 0;
  std::mt19937 random(seed);
  std::vector<const Row *> rows;
  for (const Row &row : table())
    // The functions of libdevice share one builder.
    if (row.build && (row.family != "libdevice" || row.name.ends_with("pow")))
      rows.push_back(&row);
  for (int round = 0; round < 6000; ++round) {
    Sandbox sandbox;
    sandbox.options.debug = random() % 2;
    sandbox.options.sanitizeOverflow = random() % 2;
    Arguments arguments(sandbox, random);
    const Row &row = *rows[random() % rows.size()];
    std::vector<Value> positional;
    OpsTest::Keywords keywords;
    for (const Parameter &parameter : parameters(row)) {
      if (parameter.hasDefault && random() % 3)
        break;
      if (parameter.keywordOnly)
        keywords.emplace_back(parameter.name, arguments.any());
      else
        positional.push_back(arguments.any());
    }
    std::string text;
    for (const Value &value : positional)
      text += value.repr() + ", ";
    SCOPED_TRACE("round " + std::to_string(round) + ": " + std::string(row.name) + "(" + text +
                 ")");
    try {
      std::vector<Value> bound = bind(row, positional, keywords);
      row.build(*sandbox.op, bound);
      sandbox.body();
      ++built;
    } catch (const OpError &error) {
      EXPECT_FALSE(error.message.empty());
      EXPECT_FALSE(error.message.ends_with('.')) << error.message;
      ++refused;
    }
    if (::testing::Test::HasFailure())
      break;
  }
  EXPECT_GT(built, 700u);
  EXPECT_GT(refused, 1000u);
}

TEST(RandomCalls, OperatorsToo) {
  std::mt19937 random(7);
  unsigned built = 0, refused = 0;
  for (int round = 0; round < 4000; ++round) {
    Sandbox sandbox;
    Arguments arguments(sandbox, random);
    auto operation = BinaryOperator(random() % (unsigned(BinaryOperator::LogicalOr) + 1));
    Value lhs = arguments.any(), rhs = arguments.any();
    SCOPED_TRACE(std::to_string(int(operation)) + " " + lhs.repr() + " " + rhs.repr());
    try {
      switch (random() % 4) {
      case 0:
        unary(*sandbox.op, UnaryOperator(random() % 4), lhs);
        break;
      case 1:
        subscript(*sandbox.op, lhs, rhs);
        break;
      default:
        binary(*sandbox.op, operation, lhs, rhs);
      }
      sandbox.body();
      ++built;
    } catch (const OpError &) {
      ++refused;
    }
    if (::testing::Test::HasFailure())
      break;
  }
  EXPECT_GT(built, 500u);
  EXPECT_GT(refused, 500u);
}

} // namespace
} // namespace nereid::ops::test
