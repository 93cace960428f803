// A good call of every operation, to be spoilt, captured and counted.
#pragma once

#include "Harness.h"

#include "kernels/Call.h"

#include <functional>

namespace nereid::kernels::test {

/// A good call.
struct Example {
  Operation operation;
  std::shared_ptr<void> call;
  // The call's own, which know its type.
  std::function<Status(const Library &, const Stream &)> run, prepare;
  std::function<Result<size_t>(const Library &)> workspaceBytes;
};

template <typename Call> inline Example example(Call call) {
  auto held = std::make_shared<Call>(std::move(call));
  return {
      Call::operation, held,
      [held](const Library &library, const Stream &stream) { return library.run(stream, *held); },
      [held](const Library &library, const Stream &stream) {
        return library.prepare(stream, *held);
      },
      [held](const Library &library) { return library.workspaceBytes(*held); }};
}

inline Tensor make(DType type, std::vector<int64_t> shape) {
  return Array::make(type, std::move(shape));
}
inline Tensor zeros(DType type, std::vector<int64_t> shape) {
  Array array = Array::make(type, std::move(shape));
  for (int64_t i = 0; i < array.size(); ++i)
    array.set(i, 0);
  return array;
}

// Operands that many examples take.
struct Operands {
  Tensor flat[4], rows[5], vector[3], perRow[3];

  Operands() {
    for (Tensor &tensor : flat)
      tensor = make(F32, {6, 5});
    for (Tensor &tensor : rows)
      tensor = make(F32, {4, 8});
    for (Tensor &tensor : vector)
      tensor = make(F32, {8});
    for (Tensor &tensor : perRow)
      tensor = make(F32, {4});
  }
};

inline std::vector<Example> examplesOfRows(const Operands &of) {
  return {
      example(Add{.x = of.flat[0], .y = of.flat[1], .out = of.flat[2]}),
      example(Gelu{.x = of.flat[0], .y = of.flat[1]}),
      example(GeluBackward{.x = of.flat[0], .dy = of.flat[1], .dx = of.flat[2]}),
      example(Glu{.gate = of.rows[0], .up = of.rows[1], .y = of.rows[2]}),
      example(GluBackward{.gate = of.rows[0],
                          .up = of.rows[1],
                          .dy = of.rows[2],
                          .dgate = of.rows[3],
                          .dup = of.rows[4]}),
      example(Rope{.x = make(F32, {2, 3, 4, 8}),
                   .y = make(F32, {2, 3, 4, 8}),
                   .cos = make(F32, {5, 4}),
                   .sin = make(F32, {5, 4}),
                   .positions = zeros(DType::Int32, {2, 3})}),
      example(Dropout{.x = of.flat[0], .y = of.flat[1]}),
      example(Softmax{.x = of.rows[0], .y = of.rows[1]}),
      example(SoftmaxBackward{.y = of.rows[0], .dy = of.rows[1], .dx = of.rows[2]}),
      example(LogSoftmax{.x = of.rows[0], .y = of.rows[1]}),
      example(LogSoftmaxBackward{.y = of.rows[0], .dy = of.rows[1], .dx = of.rows[2]}),
      example(CrossEntropy{.x = of.rows[0],
                           .target = zeros(DType::Int64, {4}),
                           .loss = of.perRow[0],
                           .lse = of.perRow[1]}),
      example(CrossEntropyBackward{.x = of.rows[0],
                                   .target = zeros(DType::Int64, {4}),
                                   .lse = of.perRow[0],
                                   .dloss = of.perRow[1],
                                   .dx = of.rows[1]}),
      example(LayerNorm{.x = of.rows[0],
                        .w = of.vector[0],
                        .b = of.vector[1],
                        .y = of.rows[1],
                        .mean = of.perRow[0],
                        .rstd = of.perRow[1]}),
      example(LayerNormBackward{.x = of.rows[0],
                                .w = of.vector[0],
                                .dy = of.rows[1],
                                .mean = of.perRow[0],
                                .rstd = of.perRow[1],
                                .dx = of.rows[2],
                                .dw = of.vector[1],
                                .db = of.vector[2]}),
      example(RmsNorm{.x = of.rows[0],
                      .w = of.vector[0],
                      .y = of.rows[1],
                      .residual = of.rows[2],
                      .sum = of.rows[3],
                      .rstd = of.perRow[0]}),
      example(RmsNormBackward{.x = of.rows[0],
                              .w = of.vector[0],
                              .dy = of.rows[1],
                              .dsum = of.rows[2],
                              .rstd = of.perRow[0],
                              .dx = of.rows[3],
                              .dw = of.vector[1]}),
  };
}

inline std::vector<Example> examplesOfProducts(const Operands &of) {
  return {
      example(Matmul{.a = make(F32, {4, 6}),
                     .b = make(F32, {6, 8}),
                     .c = of.rows[0],
                     .bias = of.vector[0],
                     .residual = of.rows[1]}),
      example(MatmulBatched{
          .a = make(F32, {2, 4, 6}), .b = make(F32, {2, 6, 8}), .c = make(F32, {2, 4, 8})}),
      example(MatmulGrouped{.a = make(F32, {4, 6}),
                            .b = make(F32, {3, 6, 8}),
                            .c = of.rows[0],
                            .offsets = Array::of(DType::Int32, {4}, {0, 1, 4, 4})}),
      example(MatmulScaled{.a = make(DType::Int8, {4, 6}),
                           .b = make(DType::Int8, {8, 6}),
                           .c = of.rows[0],
                           .aScale = of.perRow[0],
                           .bScale = of.vector[0],
                           .bias = of.vector[1]}),
      example(Matvec{.w = of.rows[0],
                     .x = of.vector[0],
                     .y = make(F32, {4}),
                     .scale = of.perRow[0],
                     .bias = of.perRow[1]}),
      example(QuantizeRows{.x = of.rows[0], .q = make(DType::Int8, {4, 8}), .scale = of.perRow[0]}),
      example(LinearCrossEntropy{.x = make(F32, {4, 6}),
                                 .w = make(F32, {8, 6}),
                                 .target = zeros(DType::Int64, {4}),
                                 .loss = of.perRow[0],
                                 .dx = make(F32, {4, 6}),
                                 .dw = make(F32, {8, 6})}),
      example(MatmulGroupedWeightGradient{.a = make(F32, {4, 6}),
                                          .dc = of.rows[0],
                                          .offsets = Array::of(DType::Int32, {4}, {0, 1, 4, 4}),
                                          .db = make(F32, {3, 6, 8})}),
      example(MatmulBlockScaled{.a = make(DType::Int8, {4, 130}),
                                .b = make(DType::Int8, {8, 130}),
                                .c = of.rows[0],
                                .aScale = make(F32, {2, 4}),
                                .bScale = make(F32, {1, 2})}),
      example(QuantizeBlocks{
          .x = make(F32, {4, 130}), .q = make(DType::Int8, {4, 130}), .scale = make(F32, {2, 4})}),
  };
}

inline std::vector<Example> examplesOfAttention() {
  return {
      example(Attention{.q = make(F32, {2, 4, 5, 16}),
                        .k = make(F32, {2, 2, 6, 16}),
                        .v = make(F32, {2, 2, 6, 16}),
                        .out = make(F32, {2, 4, 5, 16}),
                        .lse = make(F32, {2, 4, 5}),
                        .bias = make(F32, {2, 4, 5, 6}),
                        .slopes = make(F32, {4})}),
      example(AttentionBackward{.q = make(F32, {2, 4, 5, 16}),
                                .k = make(F32, {2, 2, 6, 16}),
                                .v = make(F32, {2, 2, 6, 16}),
                                .out = make(F32, {2, 4, 5, 16}),
                                .lse = make(F32, {2, 4, 5}),
                                .dout = make(F32, {2, 4, 5, 16}),
                                .dq = make(F32, {2, 4, 5, 16}),
                                .dk = make(F32, {2, 2, 6, 16}),
                                .dv = make(F32, {2, 2, 6, 16})}),
      example(AttentionVarlen{.q = make(F32, {7, 4, 16}),
                              .k = make(F32, {9, 2, 16}),
                              .v = make(F32, {9, 2, 16}),
                              .out = make(F32, {7, 4, 16}),
                              .cuQ = Array::of(DType::Int32, {3}, {0, 5, 7}),
                              .cuK = Array::of(DType::Int32, {3}, {0, 6, 9}),
                              .maxQ = 5}),
      example(AttentionVarlenBackward{.q = make(F32, {7, 4, 16}),
                                      .k = make(F32, {9, 2, 16}),
                                      .v = make(F32, {9, 2, 16}),
                                      .out = make(F32, {7, 4, 16}),
                                      .lse = make(F32, {7, 4}),
                                      .dout = make(F32, {7, 4, 16}),
                                      .dq = make(F32, {7, 4, 16}),
                                      .dk = make(F32, {9, 2, 16}),
                                      .dv = make(F32, {9, 2, 16}),
                                      .cuQ = Array::of(DType::Int32, {3}, {0, 5, 7}),
                                      .cuK = Array::of(DType::Int32, {3}, {0, 6, 9}),
                                      .maxQ = 5,
                                      .maxK = 6}),
      example(AppendKv{.k = make(F32, {2, 3, 16}),
                       .v = make(F32, {2, 3, 16}),
                       .kCache = make(F32, {5, 4, 3, 16}),
                       .vCache = make(F32, {5, 4, 3, 16}),
                       .table = zeros(DType::Int32, {2, 2}),
                       .lengths = Array::of(DType::Int32, {2}, {1, 8})}),
      example(StoreKv{.k = make(F32, {6, 3, 16}),
                      .v = make(F32, {6, 3, 16}),
                      .kCache = make(DType::Int8, {5, 4, 3, 16}),
                      .vCache = make(DType::Int8, {5, 4, 3, 16}),
                      .slots = Array::of(DType::Int32, {6}, {0, 7, 3, 12, 19, 5}),
                      .kScale = make(F32, {5, 4, 3}),
                      .vScale = make(F32, {5, 4, 3})}),
      example(PagedAttention{.q = make(F32, {2, 6, 16}),
                             .kCache = make(F32, {5, 4, 3, 16}),
                             .vCache = make(F32, {5, 4, 3, 16}),
                             .table = zeros(DType::Int32, {2, 2}),
                             .lengths = Array::of(DType::Int32, {2}, {1, 8}),
                             .out = make(F32, {2, 6, 16})}),
      example(PagedPrefill{.q = make(F32, {7, 6, 16}),
                           .kCache = make(F32, {5, 4, 3, 16}),
                           .vCache = make(F32, {5, 4, 3, 16}),
                           .table = zeros(DType::Int32, {2, 2}),
                           .cuQ = Array::of(DType::Int32, {3}, {0, 5, 7}),
                           .lengths = Array::of(DType::Int32, {2}, {5, 8}),
                           .maxQ = 5,
                           .out = make(F32, {7, 6, 16})}),
      example(PagedSharedPrefix{.q = make(F32, {2, 6, 16}),
                                .kCache = make(F32, {5, 4, 3, 16}),
                                .vCache = make(F32, {5, 4, 3, 16}),
                                .prefix = Array::of(DType::Int32, {2}, {3, 1}),
                                .table = zeros(DType::Int32, {2, 2}),
                                .lengths = Array::of(DType::Int32, {2}, {0, 8}),
                                .out = make(F32, {2, 6, 16})}),
  };
}

inline std::vector<Example> examplesOfTokens(const Operands &of) {
  return {
      example(MoeRoute{.logits = make(F32, {6, 4}),
                       .weight = make(F32, {6, 2}),
                       .expert = make(DType::Int32, {6, 2})}),
      example(MoeOrder{.expert = zeros(DType::Int32, {6, 2}),
                       .row = make(DType::Int32, {6, 2}),
                       .source = make(DType::Int32, {12}),
                       .offsets = make(DType::Int32, {5})}),
      example(MoePermute{
          .x = make(F32, {6, 8}), .source = zeros(DType::Int32, {12}), .y = make(F32, {12, 8})}),
      example(MoeCombine{.row = zeros(DType::Int32, {6, 2}),
                         .y = make(F32, {12, 8}),
                         .weight = make(F32, {6, 2}),
                         .out = make(F32, {6, 8})}),
      example(MoeCombineBackward{
          .weight = make(F32, {6, 2}),
          .dout = make(F32, {6, 8}),
          .y = make(F32, {12, 8}),
          .source = Array::of(DType::Int32, {12}, {7, 0, 11, 4, 2, 9, 1, 10, 5, 3, 8, 6}),
          .dy = make(F32, {12, 8}),
          .dweight = make(F32, {6, 2})}),
      example(MoeLayer{.x = make(F32, {6, 8}),
                       .logits = make(F32, {6, 4}),
                       .gateUp = make(F32, {4, 8, 10}),
                       .down = make(F32, {4, 5, 8}),
                       .out = make(F32, {6, 8})}),
      example(Sort{.x = of.rows[0], .y = of.rows[1], .index = make(DType::Int32, {4, 8})}),
      example(TopK{.x = of.rows[0], .y = make(F32, {4, 3}), .index = make(DType::Int32, {4, 3})}),
      example(Cumsum{.x = of.rows[0], .y = of.rows[1]}),
      example(Histogram{.x = zeros(DType::Int32, {6}), .counts = make(DType::Int32, {5})}),
      example(Unscale{.grad = of.flat[0],
                      .scale = make(F32, {1}),
                      .out = of.flat[1],
                      .overflow = make(F32, {1})}),
      example(UpdateScale{
          .scale = make(F32, {1}), .steps = make(DType::Int32, {1}), .overflow = make(F32, {1})}),
      example(CastFp8{.x = of.flat[0],
                      .scale = make(F32, {1}),
                      .q = make(DType::Float8E4NV, {6, 5}),
                      .amax = make(F32, {1})}),
      example(UpdateFp8Scales{.history = of.rows[0],
                              .amax = of.perRow[0],
                              .scale = of.perRow[1],
                              .inverse = of.perRow[2]}),
  };
}

inline std::vector<Example> examples() {
  Operands of;
  std::vector<Example> all;
  for (const auto &some :
       {examplesOfRows(of), examplesOfProducts(of), examplesOfAttention(), examplesOfTokens(of)})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

} // namespace nereid::kernels::test
