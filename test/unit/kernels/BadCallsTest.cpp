// What is wrong with a call is told by argument, and nothing is written then: every call, every
// argument, by the rows that the calls themselves are checked by.
#include "Harness.h"

#include "kernels/Call.h"

namespace nereid::kernels::test {
namespace {

constexpr DType F32 = DType::Float32;

/// A good call, to be spoilt. The tensors are members, in the order of the operation's row.
struct Example {
  Operation operation;
  std::shared_ptr<void> call;
  /// The call's own run, which knows its type.
  std::function<Status(const Library &, const Stream &)> run;
};

template <typename Call> Example example(Call call) {
  auto held = std::make_shared<Call>(std::move(call));
  return {Call::operation, held, [held](const Library &library, const Stream &stream) {
            return library.run(stream, *held);
          }};
}

Tensor make(DType type, std::vector<int64_t> shape) { return Array::make(type, std::move(shape)); }
Tensor zeros(DType type, std::vector<int64_t> shape) {
  Array array = Array::make(type, std::move(shape));
  for (int64_t i = 0; i < array.size(); ++i)
    array.set(i, 0);
  return array;
}

std::vector<Example> examples() {
  Tensor flat[4], rows[5], vector[3], perRow[3];
  for (Tensor &tensor : flat)
    tensor = make(F32, {6, 5});
  for (Tensor &tensor : rows)
    tensor = make(F32, {4, 8});
  for (Tensor &tensor : vector)
    tensor = make(F32, {8});
  for (Tensor &tensor : perRow)
    tensor = make(F32, {4});
  return {
      example(Add{.x = flat[0], .y = flat[1], .out = flat[2]}),
      example(Gelu{.x = flat[0], .y = flat[1]}),
      example(GeluBackward{.x = flat[0], .dy = flat[1], .dx = flat[2]}),
      example(Glu{.gate = rows[0], .up = rows[1], .y = rows[2]}),
      example(GluBackward{
          .gate = rows[0], .up = rows[1], .dy = rows[2], .dgate = rows[3], .dup = rows[4]}),
      example(Rope{.x = make(F32, {2, 3, 4, 8}),
                   .y = make(F32, {2, 3, 4, 8}),
                   .cos = make(F32, {5, 4}),
                   .sin = make(F32, {5, 4}),
                   .positions = zeros(DType::Int32, {2, 3})}),
      example(Dropout{.x = flat[0], .y = flat[1]}),
      example(Softmax{.x = rows[0], .y = rows[1]}),
      example(SoftmaxBackward{.y = rows[0], .dy = rows[1], .dx = rows[2]}),
      example(LogSoftmax{.x = rows[0], .y = rows[1]}),
      example(LogSoftmaxBackward{.y = rows[0], .dy = rows[1], .dx = rows[2]}),
      example(CrossEntropy{
          .x = rows[0], .target = zeros(DType::Int64, {4}), .loss = perRow[0], .lse = perRow[1]}),
      example(CrossEntropyBackward{.x = rows[0],
                                   .target = zeros(DType::Int64, {4}),
                                   .lse = perRow[0],
                                   .dloss = perRow[1],
                                   .dx = rows[1]}),
      example(LayerNorm{.x = rows[0],
                        .w = vector[0],
                        .b = vector[1],
                        .y = rows[1],
                        .mean = perRow[0],
                        .rstd = perRow[1]}),
      example(LayerNormBackward{.x = rows[0],
                                .w = vector[0],
                                .dy = rows[1],
                                .mean = perRow[0],
                                .rstd = perRow[1],
                                .dx = rows[2],
                                .dw = vector[1],
                                .db = vector[2]}),
      example(RmsNorm{.x = rows[0],
                      .w = vector[0],
                      .y = rows[1],
                      .residual = rows[2],
                      .sum = rows[3],
                      .rstd = perRow[0]}),
      example(RmsNormBackward{.x = rows[0],
                              .w = vector[0],
                              .dy = rows[1],
                              .dsum = rows[2],
                              .rstd = perRow[0],
                              .dx = rows[3],
                              .dw = vector[1]}),
      example(Matmul{.a = make(F32, {4, 6}),
                     .b = make(F32, {6, 8}),
                     .c = rows[0],
                     .bias = vector[0],
                     .residual = rows[1]}),
      example(MatmulBatched{
          .a = make(F32, {2, 4, 6}), .b = make(F32, {2, 6, 8}), .c = make(F32, {2, 4, 8})}),
      example(MatmulGrouped{.a = make(F32, {4, 6}),
                            .b = make(F32, {3, 6, 8}),
                            .c = rows[0],
                            .offsets = Array::of(DType::Int32, {4}, {0, 1, 4, 4})}),
      example(MatmulScaled{.a = make(DType::Int8, {4, 6}),
                           .b = make(DType::Int8, {8, 6}),
                           .c = rows[0],
                           .aScale = perRow[0],
                           .bScale = vector[0],
                           .bias = vector[1]}),
      example(Matvec{.w = rows[0],
                     .x = vector[0],
                     .y = make(F32, {4}),
                     .scale = perRow[0],
                     .bias = perRow[1]}),
  };
}

/// The bits of all tensors of a call.
std::string memoryOf(const Example &one) {
  std::string bytes;
  for (const ArgumentRow &row : rowOf(one.operation).arguments)
    if (const Tensor &tensor = row.of(one.call.get()))
      bytes.append(tensor.data<char>(), tensor.bytes());
  return bytes;
}

class BadCalls : public testing::Test {
protected:
  /// The call fails, names itself and the argument, and leaves its tensors alone.
  void expectRefused(const Example &one, const ArgumentRow &row, const std::string &what) {
    std::string before = memoryOf(one);
    Status status = one.run(setup().library, setup().stream);
    const OperationRow &operation = rowOf(one.operation);
    ASSERT_FALSE(status.ok()) << operation.name << ", " << row.name << ": " << what;
    const std::string &text = status.error().what;
    EXPECT_TRUE(text.starts_with("`" + std::string(operation.name) + "`: ")) << text;
    EXPECT_NE(text.find("`" + std::string(row.name) + "`"), std::string::npos)
        << what << " of " << row.name << ": " << text;
    EXPECT_EQ(memoryOf(one), before) << operation.name << ", " << row.name << ": " << what;
  }
  /// With another tensor in the place of an argument.
  void spoil(const Example &one, const ArgumentRow &row, const Tensor &tensor,
             const std::string &what) {
    Tensor &place = const_cast<Tensor &>(row.of(one.call.get()));
    Tensor good = std::exchange(place, tensor);
    expectRefused(one, row, what);
    place = good;
  }
};

TEST_F(BadCalls, ExamplesAreGoodAndComplete) {
  std::array<bool, operationCount> seen = {};
  for (const Example &one : examples()) {
    Status status = one.run(setup().library, setup().stream);
    EXPECT_TRUE(status.ok()) << rowOf(one.operation).name << ": " << describe(status.error());
    EXPECT_FALSE(std::exchange(seen[size_t(one.operation)], true));
  }
  for (unsigned i = 0; i < operationCount; ++i)
    EXPECT_TRUE(seen[i]) << "no example of `" << rowOf(Operation(i)).name << "`";
}

TEST_F(BadCalls, MissingArguments) {
  for (const Example &one : examples())
    for (const ArgumentRow &row : rowOf(one.operation).arguments)
      if (!row.optional)
        spoil(one, row, Tensor(), "missing");
}

TEST_F(BadCalls, Types) {
  for (const Example &one : examples())
    for (const ArgumentRow &row : rowOf(one.operation).arguments) {
      const Tensor &good = row.of(one.call.get());
      if (!good)
        continue;
      spoil(one, row, must(Tensor::empty(good.device(), DType::Int1, Shape(good.shape()))), "type");
      if (row.sameTypeAs >= 0) {
        DType other = good.type() == F32 ? DType::Float16 : DType::Float8E5;
        spoil(one, row, must(Tensor::empty(good.device(), other, Shape(good.shape()))),
              "another type");
      }
    }
}

TEST_F(BadCalls, Ranks) {
  for (const Example &one : examples())
    for (const ArgumentRow &row : rowOf(one.operation).arguments) {
      const Tensor &good = row.of(one.call.get());
      // The first of "..." and of "*" says what the others must have.
      bool leads = &row == &rowOf(one.operation).arguments[0] &&
                   row.shape.find_first_of(".*") != std::string_view::npos;
      if (!good || leads)
        continue;
      std::vector<int64_t> shape(good.shape().begin(), good.shape().end());
      shape.insert(shape.begin(), 1);
      spoil(one, row, make(good.type(), shape), "a dimension more");
    }
}

TEST_F(BadCalls, Sizes) {
  for (const Example &one : examples())
    for (const ArgumentRow &row : rowOf(one.operation).arguments) {
      const Tensor &good = row.of(one.call.get());
      if (!good)
        continue;
      for (size_t axis = 0; axis < good.shape().size(); ++axis) {
        std::vector<int64_t> shape(good.shape().begin(), good.shape().end());
        ++shape[axis];
        Tensor &place = const_cast<Tensor &>(row.of(one.call.get()));
        Tensor kept = std::exchange(place, make(good.type(), shape));
        std::string before = memoryOf(one);
        Status status = one.run(setup().library, setup().stream);
        place = kept;
        // A size that only this argument has is a good one: more positions of a table, say.
        if (status)
          continue;
        EXPECT_EQ(status.error().what.find("`" + std::string(rowOf(one.operation).name) + "`: `"),
                  0u)
            << status.error().what;
      }
    }
}

TEST_F(BadCalls, Strides) {
  for (const Example &one : examples())
    for (const ArgumentRow &row : rowOf(one.operation).arguments) {
      const Tensor &good = row.of(one.call.get());
      if (!good || good.size() < 2)
        continue;
      auto shape = good.shape();
      std::vector<int64_t> strides(good.strides().begin(), good.strides().end());
      for (int64_t &stride : strides)
        stride *= 2;
      Tensor room = make(good.type(), {2 * good.size()});
      Tensor apart =
          must(Tensor::wrap(good.device(), room.data(), good.type(), Shape(shape), strides));
      if (row.layout != Layout::Strided)
        spoil(one, row, apart, "every second element");
      if (row.role == Role::Out) {
        std::fill(strides.begin(), strides.end(), 0);
        strides.back() = row.layout == Layout::Strided ? 0 : 1;
        if (shape.size() > 1)
          spoil(one, row,
                must(Tensor::wrap(good.device(), room.data(), good.type(), Shape(shape), strides)),
                "rows in one place");
      }
    }
}

TEST_F(BadCalls, ResultsOverInputs) {
  for (const Example &one : examples())
    for (const ArgumentRow &row : rowOf(one.operation).arguments) {
      if (row.role != Role::Out || !row.of(one.call.get()))
        continue;
      for (const ArgumentRow &input : rowOf(one.operation).arguments) {
        const Tensor &good = row.of(one.call.get()), &other = input.of(one.call.get());
        if (&input == &row || !other || info(good.type()).bytes != info(other.type()).bytes ||
            good.size() > other.size())
          continue;
        // One element further than in place.
        Tensor room = make(good.type(), {other.size() + good.size()});
        Tensor &otherPlace = const_cast<Tensor &>(other);
        Tensor kept = std::exchange(
            otherPlace,
            must(Tensor::wrap(other.device(), room.data(), other.type(), Shape(other.shape()))));
        if (input.shape.find("+1") == std::string_view::npos && other.type() == F32)
          spoil(one, row,
                must(Tensor::wrap(good.device(), room.data<char>() + info(good.type()).bytes,
                                  good.type(), Shape(good.shape()))),
                "over " + std::string(input.name));
        otherPlace = kept;
      }
    }
}

TEST_F(BadCalls, Numbers) {
  auto refused = [](const auto &call, const std::string &text) {
    EXPECT_EQ(setup().failure(call), text);
  };
  Tensor rows[4];
  for (Tensor &tensor : rows)
    tensor = make(F32, {4, 8});
  Tensor vector = make(F32, {8}), perRow = make(F32, {4}), other = make(F32, {4});
  refused(Glu{.gate = rows[0], .up = rows[1], .y = rows[2], .activation = Activation::None},
          "`glu`: `activation` is None, and must be Silu, Gelu, Sigmoid or Relu");
  refused(Dropout{.x = rows[0], .y = rows[1], .p = 1},
          "`dropout`: `p` is 1.000000, and must be in [0, 1)");
  refused(RmsNorm{.x = rows[0], .w = vector, .y = rows[1], .residual = rows[2]},
          "`rms_norm`: `sum` is missing beside `residual`");
  refused(LayerNorm{.x = rows[0], .w = vector, .b = vector, .y = rows[1], .epsilon = 0},
          "`layer_norm`: `epsilon` is 0.000000, and must be above 0");
  refused(Softmax{.x = rows[0], .y = make(F32, {4, 7})},
          "`softmax`: `y` is float32 [4, 7], and its dimensions [..., N] must have N = 8 of `x`, "
          "float32 [4, 8]");
  refused(Softmax{.x = rows[0], .y = make(F32, {2, 2, 8})},
          "`softmax`: `y` is float32 [2, 2, 8], and must have the dimensions [4] of `x` before "
          "[..., N]");
  Array target = Array::of(DType::Int64, {4}, {0, 8, -100, 3});
  refused(CrossEntropy{.x = rows[0], .target = target, .loss = perRow, .lse = other},
          "`cross_entropy`: `target` has 8, and `x` has classes 0 to 7");
  Array positions = Array::of(DType::Int32, {1, 2}, {4, -1});
  refused(Rope{.x = make(F32, {1, 2, 1, 8}),
               .y = make(F32, {1, 2, 1, 8}),
               .cos = make(F32, {5, 4}),
               .sin = make(F32, {5, 4}),
               .positions = positions},
          "`rope`: `positions` has -1, and `cos` has rows for 0 to 4");
  Array falling = Array::of(DType::Int32, {4}, {0, 3, 2, 4}),
        early = Array::of(DType::Int32, {4}, {0, 1, 2, 3});
  MatmulGrouped grouped{
      .a = make(F32, {4, 6}), .b = make(F32, {3, 6, 8}), .c = rows[0], .offsets = falling};
  refused(grouped, "`matmul_grouped`: `offsets` has 2 at 2, below the one before it");
  grouped.offsets = early;
  refused(grouped, "`matmul_grouped`: `offsets` ends with 3, and `a` has 4 rows");
  refused(
      Matmul{.a = make(F32, {4, 6}), .b = make(F32, {6, 8}), .c = rows[0], .scale = make(F32, {1})},
      "`matmul`: `scale` is given, and `c` is float32 [4, 8]: only a result of 8 bits is divided "
      "by one");
  refused(SoftmaxBackward{.y = make(F32, {1, 70000}),
                          .dy = make(F32, {1, 70000}),
                          .dx = make(F32, {1, 70000})},
          "`softmax_backward`: no kernel takes rows of more than 65536");
}

TEST_F(BadCalls, Exceptions) {
  Tensor x = make(F32, {4, 8});
  try {
    setup().library.softmax(setup().stream, {.x = x, .y = make(F32, {4})});
    FAIL();
  } catch (const Exception &failure) {
    EXPECT_NE(std::string(failure.what()).find("`softmax`: `y` is float32 [4]"), std::string::npos)
        << failure.what();
  }
}

} // namespace
} // namespace nereid::kernels::test
