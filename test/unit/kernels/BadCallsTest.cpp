// What is wrong with a call is told by argument, and nothing is written then: every call, every
// argument, by the rows that the calls themselves are checked by.
#include "../runtime/FakeCuda.h"
#include "Examples.h"

#include <cstdlib>

namespace nereid::kernels::test {
namespace {

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
        bool isUntouched = status || memoryOf(one) == before;
        place = kept;
        // A size that only this argument has is a good one: more positions of a table, say.
        if (status)
          continue;
        EXPECT_EQ(status.error().what.find("`" + std::string(rowOf(one.operation).name) + "`: `"),
                  0u)
            << status.error().what;
        EXPECT_TRUE(isUntouched) << status.error().what;
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
            good.size() > other.size() || other.size() < 2)
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

TEST_F(BadCalls, SmallWorkspaces) {
  size_t needy = 0;
  for (const Example &one : examples()) {
    const OperationRow &operation = rowOf(one.operation);
    if (!operation.workspace)
      continue;
    Tensor &workspace = const_cast<Tensor &>(operation.workspace(one.call.get()));
    const size_t bytes = must(one.workspaceBytes(setup().library));
    auto refused = [&](const Tensor &tensor, const std::string &what) {
      Tensor good = std::exchange(workspace, tensor);
      std::string before = memoryOf(one);
      Status status = one.run(setup().library, setup().stream);
      ASSERT_FALSE(status.ok()) << operation.name << ", " << what;
      EXPECT_TRUE(status.error().what.starts_with("`" + std::string(operation.name) + "` of "))
          << status.error().what;
      EXPECT_NE(status.error().what.find("`workspace` " + what), std::string::npos)
          << status.error().what;
      EXPECT_EQ(memoryOf(one), before) << operation.name << ", " << what;
      workspace = good;
    };
    if (bytes == 0)
      continue; // what a call brings for nothing is not looked at
    ++needy;
    refused(make(DType::Int8, {int64_t(bytes) - 1}),
            "has " + std::to_string(bytes - 1) + " bytes, and the call needs ");
    Tensor room = make(DType::Int8, {2 * int64_t(bytes) + 512});
    refused(must(Tensor::wrap(room.device(), room.data(), DType::Int8, {int64_t(bytes) + 256},
                              std::vector<int64_t>{2})),
            "is int8 [" + std::to_string(bytes + 256) + "] with strides [2]");
  }
  EXPECT_GE(needy, 5u);
}

// In a process of its own, which has GPUs (test/fake_cuda): each argument on another device than
// the stream, and a workspace there.
[[noreturn]] void callWithTensorsElsewhere() {
  auto far = Device::open("cuda:0");
  if (!far)
    std::_Exit(2);
  unsigned asked = 0, wrong = 0;
  auto refused = [&](const Example &one, const Tensor &argument, std::string_view name,
                     Tensor tensor) {
    const std::string before = memoryOf(one);
    Tensor good = std::exchange(const_cast<Tensor &>(argument), std::move(tensor));
    Status status = one.run(setup().library, setup().stream);
    const_cast<Tensor &>(argument) = good;
    const std::string said = status ? "" : status.error().what;
    const std::string wanted = "`" + std::string(name) + "` lies on cuda:0, the stream on cpu";
    ++asked;
    if (said.find(wanted) == std::string::npos || memoryOf(one) != before) {
      ++wrong;
      std::fprintf(stderr, "%s: %s\n", wanted.c_str(), said.c_str());
    }
  };
  for (const Example &one : examples()) {
    const OperationRow &operation = rowOf(one.operation);
    for (const ArgumentRow &row : operation.arguments)
      if (const Tensor &good = row.of(one.call.get()))
        refused(one, good, row.name, must(Tensor::empty(*far, good.type(), Shape(good.shape()))));
    if (operation.workspace && must(one.workspaceBytes(setup().library)) > 0)
      refused(one, operation.workspace(one.call.get()), "workspace",
              must(Tensor::empty(*far, DType::Int8, {1 << 20})));
  }
  std::_Exit(wrong == 0 && asked > 2 * operationCount ? 0 : 1);
}

TEST_F(BadCalls, OtherDevices) {
  runtime::test::FakeDriver driver;
  EXPECT_EXIT(callWithTensorsElsewhere(), testing::ExitedWithCode(0), "");
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
          "`dropout`: `p` is 1, and must be in [0, 1)");
  refused(RmsNorm{.x = rows[0], .w = vector, .y = rows[1], .residual = rows[2]},
          "`rms_norm`: `sum` is missing beside `residual`");
  refused(LayerNorm{.x = rows[0], .w = vector, .b = vector, .y = rows[1], .epsilon = 0},
          "`layer_norm`: `epsilon` is 0, and must be above 0");
  refused(LayerNorm{.x = rows[0], .w = vector, .b = vector, .y = rows[1], .epsilon = -1e-9f},
          "`layer_norm`: `epsilon` is -1e-09, and must be above 0");
  refused(Softmax{.x = rows[0], .y = make(F32, {4, 7})},
          "`softmax`: `y` is float32 [4, 7], and its dimensions [..., N] must have N = 8 of `x`, "
          "float32 [4, 8]");
  refused(Softmax{.x = rows[0], .y = make(F32, {2, 2, 8})},
          "`softmax`: `y` is float32 [2, 2, 8], and must have the dimensions [4] of `x` before "
          "[..., N]");
  Array target = Array::of(DType::Int64, {4}, {0, 8, -100, 3});
  refused(CrossEntropy{.x = rows[0], .target = target, .loss = perRow, .lse = other},
          "`cross_entropy`: `target` has 8, and there are classes 0 to 7");
  Array positions = Array::of(DType::Int32, {1, 2}, {4, -1});
  refused(Rope{.x = make(F32, {1, 2, 1, 8}),
               .y = make(F32, {1, 2, 1, 8}),
               .cos = make(F32, {5, 4}),
               .sin = make(F32, {5, 4}),
               .positions = positions},
          "`rope`: `positions` has -1, and must be in [0, 5)");
  Array falling = Array::of(DType::Int32, {4}, {0, 3, 2, 4}),
        early = Array::of(DType::Int32, {4}, {0, 1, 2, 3});
  MatmulGrouped grouped{
      .a = make(F32, {4, 6}), .b = make(F32, {3, 6, 8}), .c = rows[0], .offsets = falling};
  refused(grouped, "`matmul_grouped`: `offsets` has 2 at 2, below the one before it");
  grouped.offsets = early;
  refused(grouped, "`matmul_grouped`: `offsets` ends with 3, and must end with 4");
  refused(
      Matmul{.a = make(F32, {4, 6}), .b = make(F32, {6, 8}), .c = rows[0], .scale = make(F32, {1})},
      "`matmul`: `scale` is given, and `c` is float32 [4, 8]: only a result of 8 bits is divided "
      "by one");
  Tensor one[3] = {make(F32, {1}), make(F32, {1}), make(F32, {1})}, steps = make(DType::Int32, {1});
  refused(UpdateScale{.scale = one[0], .steps = steps, .overflow = one[1], .growth = 0.5f},
          "`update_scale`: `growth` is 0.5, and must be at least 1");
  refused(UpdateScale{.scale = one[0], .steps = steps, .overflow = one[1], .backoff = 0},
          "`update_scale`: `backoff` is 0, and must be in (0, 1]");
  refused(UpdateScale{.scale = one[0], .steps = steps, .overflow = one[1], .interval = 0},
          "`update_scale`: `interval` is 0, and must be above 0");
  refused(Unscale{.grad = rows[0], .scale = one[0], .out = rows[1], .overflow = one[0]},
          "`unscale`: `overflow` lies over `scale` in memory");
  refused(CastFp8{.x = rows[0], .scale = one[0], .q = make(DType::Int8, {4, 8}), .amax = one[1]},
          "`cast_fp8`: `q` is int8 [4, 8], and must be float8e4nv or float8e5");
  UpdateFp8Scales scales{.history = rows[0],
                         .amax = perRow,
                         .scale = other,
                         .inverse = make(F32, {4}),
                         .type = DType::Float16};
  refused(scales, "`update_fp8_scales`: `type` is float16, and must be float8e4nv or float8e5");
  scales.type = DType::Float8E5;
  scales.margin = 65;
  refused(scales, "`update_fp8_scales`: `margin` is 65, and must be in [-64, 64]");
  scales.margin = 0;
  scales.history = make(F32, {4, 4097});
  refused(scales, "`update_fp8_scales`: no kernel takes histories of more than 4096 steps");
  refused(SoftmaxBackward{.y = make(F32, {1, 70000}),
                          .dy = make(F32, {1, 70000}),
                          .dx = make(F32, {1, 70000})},
          "`softmax_backward`: no kernel takes rows of more than 65536");
}

// Calls on a cache of five pages for two sequences.
class BadTables : public BadCalls {
protected:
  template <typename Call> static void refused(const Call &call, const std::string &text) {
    EXPECT_EQ(setup().failure(call), text);
    if constexpr (requires { call.out; })
      expectNear(Array{call.out}, [](int64_t) { return 77.0; }, 0, 0);
  }
  static Array lengths(double a, double b) { return Array::of(DType::Int32, {2}, {a, b}); }

  Tensor cache[2] = {make(F32, {5, 4, 3, 16}), make(F32, {5, 4, 3, 16})};
  // What lies behind a sequence's last page is not read.
  Array table = Array::of(DType::Int32, {2, 2}, {0, 99, 4, 1}),
        outside = Array::of(DType::Int32, {2, 2}, {0, 1, 5, 1}),
        below = Array::of(DType::Int32, {2, 2}, {0, 1, 2, -1});
};

TEST_F(BadTables, Decoding) {
  PagedAttention good{.q = make(F32, {2, 6, 16}),
                      .kCache = cache[0],
                      .vCache = cache[1],
                      .table = table,
                      .lengths = lengths(4, 8),
                      .out = make(F32, {2, 6, 16})};
  auto paged = [&](const Array &table, const Array &lengths) {
    PagedAttention call = good;
    call.table = table;
    call.lengths = lengths;
    return call;
  };
  refused(paged(outside, lengths(4, 8)),
          "`paged_attention`: `table` has page 5 at [1, 0], and the cache has pages 0 to 4");
  refused(paged(below, lengths(4, 8)),
          "`paged_attention`: `table` has page -1 at [1, 1], and the cache has pages 0 to 4");
  refused(
      paged(table, lengths(4, 0)),
      "`paged_attention`: `lengths` has 0 at 1, and must be in [1, 8]: `table` has 2 pages of 4 "
      "tokens a sequence");
  refused(
      paged(table, lengths(4, 9)),
      "`paged_attention`: `lengths` has 9 at 1, and must be in [1, 8]: `table` has 2 pages of 4 "
      "tokens a sequence");
  refused(
      paged(table, lengths(-1, 8)),
      "`paged_attention`: `lengths` has -1 at 0, and must be in [1, 8]: `table` has 2 pages of 4 "
      "tokens a sequence");
  EXPECT_EQ(setup().failure(good), "");
}

TEST_F(BadTables, WritesToTheCache) {
  std::string before(cache[0].data<char>(), cache[0].bytes());
  refused(AppendKv{.k = make(F32, {2, 3, 16}),
                   .v = make(F32, {2, 3, 16}),
                   .kCache = cache[0],
                   .vCache = cache[1],
                   .table = outside,
                   .lengths = lengths(4, 8)},
          "`append_kv`: `table` has page 5 at [1, 0], and the cache has pages 0 to 4");
  refused(StoreKv{.k = make(F32, {1, 3, 16}),
                  .v = make(F32, {1, 3, 16}),
                  .kCache = cache[0],
                  .vCache = cache[1],
                  .slots = Array::of(DType::Int32, {1}, {20})},
          "`store_kv`: `slots` has 20, and the cache has places 0 to 19");
  EXPECT_EQ(before, std::string(cache[0].data<char>(), cache[0].bytes()));
}

TEST_F(BadTables, Prefill) {
  refused(PagedPrefill{.q = make(F32, {7, 6, 16}),
                       .kCache = cache[0],
                       .vCache = cache[1],
                       .table = table,
                       .cuQ = Array::of(DType::Int32, {3}, {0, 5, 7}),
                       .lengths = lengths(4, 8),
                       .maxQ = 5,
                       .out = make(F32, {7, 6, 16})},
          "`paged_prefill`: `lengths` has 4 at 0, fewer than the sequence's 5 queries");
  auto prefill = [&](const Array &table, const Array &lengths) {
    return PagedPrefill{.q = make(F32, {4, 6, 16}),
                        .kCache = cache[0],
                        .vCache = cache[1],
                        .table = table,
                        .cuQ = Array::of(DType::Int32, {3}, {0, 2, 4}),
                        .lengths = lengths,
                        .maxQ = 2,
                        .out = make(F32, {4, 6, 16})};
  };
  refused(prefill(outside, lengths(4, 8)),
          "`paged_prefill`: `table` has page 5 at [1, 0], and the cache has pages 0 to 4");
  for (double length : {0., 9., -1.})
    refused(prefill(table, lengths(4, length)),
            "`paged_prefill`: `lengths` has " + std::to_string(int(length)) +
                " at 1, and must be in [1, 8]: `table` has 2 pages of 4 tokens a sequence");
}

TEST_F(BadTables, SharedPrefix) {
  auto shared = [&](double page, const Array &table, const Array &lengths) {
    return PagedSharedPrefix{.q = make(F32, {2, 6, 16}),
                             .kCache = cache[0],
                             .vCache = cache[1],
                             .prefix = Array::of(DType::Int32, {2}, {3, page}),
                             .table = table,
                             .lengths = lengths,
                             .out = make(F32, {2, 6, 16})};
  };
  for (double page : {5., -1.})
    refused(shared(page, table, lengths(4, 8)), "`paged_shared_prefix`: `prefix` has " +
                                                    std::to_string(int(page)) +
                                                    ", and must be in [0, 5)");
  refused(shared(2, outside, lengths(4, 8)),
          "`paged_shared_prefix`: `table` has page 5 at [1, 0], and the cache has pages 0 to 4");
  // There need be nothing behind a prefix.
  for (double length : {9., -1.})
    refused(shared(2, table, lengths(4, length)),
            "`paged_shared_prefix`: `lengths` has " + std::to_string(int(length)) +
                " at 1, and must be in [0, 8]: `table` has 2 pages of 4 tokens a sequence");
}

TEST_F(BadCalls, LengthsOfSequences) {
  AttentionVarlen varlen{.q = make(F32, {7, 4, 16}),
                         .k = make(F32, {9, 2, 16}),
                         .v = make(F32, {9, 2, 16}),
                         .out = make(F32, {7, 4, 16}),
                         .cuQ = Array::of(DType::Int32, {3}, {0, 5, 7}),
                         .cuK = Array::of(DType::Int32, {3}, {0, 6, 9}),
                         .maxQ = 4};
  EXPECT_EQ(setup().failure(varlen), "`attention_varlen`: `cuQ` has 5 at 1, 5 above the one before "
                                     "it, and 4 is given as the most");
}

TEST_F(BadCalls, ValuesThatAProgramAnswersFor) {
  // A program that answers for them itself is not checked, and a tensor of a stream that captures
  // can't be.
  Library trusting = must(Library::create(setup().engine, {.values = Values::Trust}));
  Array ids = Array::of(DType::Int32, {6, 2}, {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1});
  EXPECT_TRUE(trusting
                  .run(setup().stream, MoeOrder{.expert = ids,
                                                .row = make(DType::Int32, {6, 2}),
                                                .source = make(DType::Int32, {12}),
                                                .offsets = make(DType::Int32, {5})})
                  .ok());
}

TEST_F(BadCalls, Attention) {
  Attention good{.q = make(F32, {2, 4, 5, 16}),
                 .k = make(F32, {2, 3, 6, 16}),
                 .v = make(F32, {2, 3, 6, 16}),
                 .out = make(F32, {2, 4, 5, 16})};
  EXPECT_EQ(setup().failure(good),
            "`attention`: `k` is float32 [2, 3, 6, 16], and the 4 heads of `q` "
            "must be a multiple of its 3");
  good.k = good.v = make(F32, {2, 2, 6, 16});
  good.window = -1;
  EXPECT_EQ(setup().failure(good), "`attention`: `window` is -1, and must not be below 0");
  good.window = 0;
  good.scale = -0.5f;
  EXPECT_EQ(setup().failure(good), "`attention`: `scale` is -0.5, and must not be below 0");
  good.scale = 0;
  good.window = 0;
  good.dropout = 1;
  EXPECT_EQ(setup().failure(good), "`attention`: `dropout` is 1, and must be in [0, 1)");
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
