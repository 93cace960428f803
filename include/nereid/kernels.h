// The kernel folders as plain C++ calls on tensors.
//
//   auto library = must(nereid::kernels::Library::create(engine));
//   library.rms_norm(stream, {.x = x, .w = gain, .y = y});              // throws an Exception
//   library.matmul(stream, {.a = y, .b = weights, .c = z, .activation = Activation::Silu});
//   Status status = library.run(stream, Softmax{.x = z, .y = p});       // gives an error back
//
// A call is a struct that names its arguments; the member of the same name runs it and throws,
// `run` gives a Status. `prepare` compiles what a call needs, `choose` says which kernel it takes
// and why, `workspaceBytes` what memory. Sources are inside the library: no file is read.
//
// What holds for all calls:
// - Tensors lie on the stream's device. Sizes are in elements, memory in bytes. "[..., N]" is any
//   number of dimensions before N, the same in all tensors of the call; they must fold into rows
//   that are evenly spaced (a matrix with padded rows does, a transposed one does not). Tensors are
//   row-major without gaps unless their line says otherwise. A size of 0 is fine.
// - An argument with a default may be left out; compilers warn of others that are.
// - Bad arguments are an Error that names the call, the argument and what was seen; nothing is
//   launched then. Errors of the device come from this or a later call, as with any launch.
// - A result may take the place of an input only where its line says so.
// - A tensor that Nereid made may be dropped as soon as the calls that use it have returned: its
//   memory goes when what is queued is done. `Graph`s do not keep tensors.
// - float types are float16, bfloat16 and float32. Kernels compute in float32.
// - Source: the folder of the repository's kernels/ that has the kernel, its reference and its
// tests.
#pragma once

#include "nereid/engine.h"

#include <concepts>

namespace nereid::kernels {

/// A function of one number. `Gelu` is the tanh form.
enum class Activation : uint8_t { None, Relu, Silu, Gelu, Sigmoid };

/// How a product of float32 matrices is computed on a GPU; others have one way.
enum class Precision : uint8_t {
  Ieee,   ///< in float32
  Tf32,   ///< operands rounded to 10 bits behind the point
  Tf32x3, ///< three products of such; nearly float32
};

/// The calls, by the names of their members.
enum class Operation : uint8_t {
  Add,
  Gelu,
  GeluBackward,
  Glu,
  GluBackward,
  Rope,
  Softmax,
  SoftmaxBackward,
  LogSoftmax,
  LogSoftmaxBackward,
  CrossEntropy,
  CrossEntropyBackward,
  LinearCrossEntropy,
  LayerNorm,
  LayerNormBackward,
  RmsNorm,
  RmsNormBackward,
  Dropout,
  Matmul,
  MatmulBatched,
  MatmulGrouped,
  MatmulGroupedWeightGradient,
  MatmulScaled,
  MatmulBlockScaled,
  QuantizeRows,
  QuantizeBlocks,
  Matvec,
  Attention,
  AttentionBackward,
  AttentionVarlen,
  AttentionVarlenBackward,
  AppendKv,
  StoreKv,
  PagedAttention,
  PagedPrefill,
  PagedSharedPrefix,
  MoeRoute,
  MoeOrder,
  MoePermute,
  MoeCombine,
  MoeCombineBackward,
  MoeLayer,
  Sort,
  TopK,
  Cumsum,
  Histogram,
  Unscale,
  UpdateScale,
  CastFp8,
  UpdateFp8Scales,
};

// ---- Elementwise

/// out = x + y. Source: kernels/vector_add.
struct Add {
  Tensor x;   ///< any shape and any type but 8-bit floats
  Tensor y;   ///< as x
  Tensor out; ///< as x; may be x or y
  static constexpr Operation operation = Operation::Add;
};

/// y = x Phi(x), with Phi the normal distribution (Hendrycks and Gimpel, 2016). Source:
/// kernels/gelu.
struct Gelu {
  Tensor x;           ///< float, any shape
  Tensor y;           ///< float, shape of x; may be x
  bool exact = false; ///< by erf; else 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
  static constexpr Operation operation = Operation::Gelu;
};

/// dx = dy gelu'(x). Source: kernels/gelu.
struct GeluBackward {
  Tensor x;           ///< float, any shape
  Tensor dy;          ///< float, shape of x
  Tensor dx;          ///< float, shape of x; may be x or dy
  bool exact = false; ///< as in the forward call
  static constexpr Operation operation = Operation::GeluBackward;
};

/// y = f(gate) up: SwiGLU for Silu, GEGLU for Gelu, GLU for Sigmoid, ReGLU for Relu (Shazeer,
/// 2020). Source: kernels/glu.
struct Glu {
  Tensor gate; ///< float [..., N]; rows may be apart, as the halves of a [..., 2 N] are
  Tensor up;   ///< as gate
  Tensor y;    ///< float [..., N]; rows may be apart; may be gate or up
  Activation activation = Activation::Silu; ///< any but None
  static constexpr Operation operation = Operation::Glu;
};

/// dgate = dy up f'(gate), dup = dy f(gate). Source: kernels/glu.
struct GluBackward {
  Tensor gate;                              ///< float [..., N]; rows may be apart
  Tensor up;                                ///< as gate
  Tensor dy;                                ///< float [..., N]; rows may be apart
  Tensor dgate;                             ///< float [..., N]; rows may be apart; may be gate
  Tensor dup;                               ///< float [..., N]; rows may be apart; may be up
  Activation activation = Activation::Silu; ///< as in the forward call
  static constexpr Operation operation = Operation::GluBackward;
};

/// Rotary position embedding (Su et al., 2021): pairs of columns of each head turn by the angle of
/// the token's position. Source: kernels/rope.
struct Rope {
  Tensor x;              ///< float [B, S, H, D]; D contiguous, the others anyhow
  Tensor y;              ///< as x, with strides of its own; may be x
  Tensor cos;            ///< float [P, R / 2]: of position and pair; the first R <= D columns turn
  Tensor sin;            ///< as cos
  Tensor positions = {}; ///< optional int32 or int64 [B, S], in [0, P); else token s is at s < P
  bool interleaved = false; ///< pairs are (2 i, 2 i + 1); else (i, i + R / 2)
  bool backward = false;    ///< turn back: x is dy, y is dx
  static constexpr Operation operation = Operation::Rope;
};

/// y = x / (1 - p) where an element is kept, else 0; which ones, the seed says alone, so that the
/// same call on dy is the gradient (Srivastava et al., 2014). Source: kernels/dropout.
struct Dropout {
  Tensor x;         ///< float, any shape, fewer than 2^31 elements
  Tensor y;         ///< float, shape of x; may be x
  float p = 0.5f;   ///< of being dropped, in [0, 1)
  int64_t seed = 0; ///< of Philox
  static constexpr Operation operation = Operation::Dropout;
};

// ---- Rows

/// y = exp(x - max) / sum, along rows. A row of -inf gives NaN. Source: kernels/softmax.
struct Softmax {
  Tensor x; ///< float [..., N]; rows may be apart
  Tensor y; ///< float [..., N]; rows may be apart; may be x
  static constexpr Operation operation = Operation::Softmax;
};

/// dx = y (dy - sum(y dy)). Source: kernels/softmax.
struct SoftmaxBackward {
  Tensor y;  ///< float [..., N], N <= 65536: what the forward call gave
  Tensor dy; ///< float [..., N]
  Tensor dx; ///< float [..., N]; may be y or dy
  static constexpr Operation operation = Operation::SoftmaxBackward;
};

/// y = x - max - log(sum of exp(x - max)), along rows. Source: kernels/log_softmax.
struct LogSoftmax {
  Tensor x; ///< float [..., N]; rows may be apart
  Tensor y; ///< float [..., N]; rows may be apart; may be x
  static constexpr Operation operation = Operation::LogSoftmax;
};

/// dx = dy - exp(y) sum(dy). Source: kernels/log_softmax.
struct LogSoftmaxBackward {
  Tensor y;  ///< float [..., N]: what the forward call gave
  Tensor dy; ///< float [..., N]
  Tensor dx; ///< float [..., N]; may be y or dy
  static constexpr Operation operation = Operation::LogSoftmaxBackward;
};

/// loss = lse - (1 - s) x[target] - s mean(x) for each row, lse = log(sum of exp(x)), s the
/// smoothing. A row whose target is `ignoreIndex` has loss and lse 0. Source:
/// kernels/cross_entropy.
struct CrossEntropy {
  Tensor x;      ///< float [..., N], N > 0: logits; rows may be apart
  Tensor target; ///< int32 or int64 [...], each in [0, N) or ignoreIndex
  Tensor loss;   ///< float32 [...]
  Tensor lse;    ///< float32 [...]; the backward call reads it
  int64_t ignoreIndex = -100;
  float smoothing = 0; ///< in [0, 1]
  static constexpr Operation operation = Operation::CrossEntropy;
};

/// dx = dloss (softmax(x) - target distribution). Source: kernels/cross_entropy.
struct CrossEntropyBackward {
  Tensor x;      ///< float [..., N], N > 0: logits; rows may be apart
  Tensor target; ///< as in the forward call
  Tensor lse;    ///< float32 [...]: what the forward call gave
  Tensor dloss;  ///< float32 [...]
  Tensor dx;     ///< float [..., N]; rows may be apart; may be x
  int64_t ignoreIndex = -100;
  float smoothing = 0; ///< in [0, 1]
  static constexpr Operation operation = Operation::CrossEntropyBackward;
};

/// cross_entropy of logits x w^T and its gradients, in chunks of rows: the T x V logits never lie
/// in memory whole. Source: kernels/cross_entropy.
struct LinearCrossEntropy {
  Tensor x;      ///< float [T, H]
  Tensor w;      ///< type of x, [V, H], V > 0
  Tensor target; ///< int32 or int64 [T], each in [0, V) or ignoreIndex
  Tensor loss;   ///< float32 [T]
  Tensor dx;     ///< float [T, H]
  Tensor dw;     ///< float32 [V, H]
  int64_t ignoreIndex = -100;
  float smoothing = 0; ///< in [0, 1]
  float scale = 0;     ///< what the gradients are multiplied by; 0: 1 / T, for a mean
  Precision precision = Precision::Ieee; ///< of float32
  Tensor workspace = {};                 ///< optional; logits of at most 4096 rows
  static constexpr Operation operation = Operation::LinearCrossEntropy;
};

/// y = w (x - mean) rstd + b, mean and variance of each row, rstd = 1 / sqrt(variance + epsilon)
/// (Ba, Kiros and Hinton, 2016). Source: kernels/layer_norm.
struct LayerNorm {
  Tensor x;              ///< float [..., N]; rows may be apart
  Tensor w;              ///< float [N]
  Tensor b;              ///< float [N]
  Tensor y;              ///< float [..., N]; rows may be apart; may be x
  Tensor mean = {};      ///< optional float32 [...]; the backward call reads it
  Tensor rstd = {};      ///< optional float32 [...]; the backward call reads it
  float epsilon = 1e-5f; ///< above 0
  Tensor workspace = {}; ///< optional; used where mean or rstd are left out
  static constexpr Operation operation = Operation::LayerNorm;
};

/// Gradients of layer_norm. Sums over rows are taken in a fixed order: the same bits each time.
/// Source: kernels/layer_norm.
struct LayerNormBackward {
  Tensor x;              ///< float [..., N], N <= 65536
  Tensor w;              ///< float [N]
  Tensor dy;             ///< float [..., N]
  Tensor mean;           ///< float32 [...]: what the forward call gave
  Tensor rstd;           ///< float32 [...]: what the forward call gave
  Tensor dx;             ///< float [..., N]; may be dy
  Tensor dw;             ///< float [N]
  Tensor db;             ///< float [N]
  Tensor workspace = {}; ///< optional; at most 2 x 264 x N float32
  static constexpr Operation operation = Operation::LayerNormBackward;
};

/// y = w x rstd, rstd = 1 / sqrt(mean(x^2) + epsilon) of each row (Zhang and Sennrich, 2019). With
/// a residual x + residual takes x's place and is kept in `sum`. Source: kernels/rms_norm.
struct RmsNorm {
  Tensor x;              ///< float [..., N]
  Tensor w;              ///< float [N]
  Tensor y;              ///< float [..., N]; may be x
  Tensor residual = {};  ///< optional float [..., N], N <= 65536
  Tensor sum = {};       ///< float [..., N], with a residual and only then; may be x or residual
  Tensor rstd = {};      ///< optional float32 [...]; the backward call reads it
  float epsilon = 1e-6f; ///< above 0
  Tensor workspace = {}; ///< optional; used where rstd is left out
  static constexpr Operation operation = Operation::RmsNorm;
};

/// Gradients of rms_norm; dx is that of x and of the residual. Source: kernels/rms_norm.
struct RmsNormBackward {
  Tensor x;         ///< float [..., N], N <= 65536; with a residual the forward call's sum
  Tensor w;         ///< float [N]
  Tensor dy;        ///< float [..., N]
  Tensor dsum = {}; ///< optional float [..., N]: the gradient that reached `sum` from later layers
  Tensor rstd;      ///< float32 [...]: what the forward call gave
  Tensor dx;        ///< float [..., N]; may be dy or dsum
  Tensor dw;        ///< float [N]
  Tensor workspace = {}; ///< optional; at most 264 x N float32
  static constexpr Operation operation = Operation::RmsNormBackward;
};

// ---- Products

/// c = activation(alpha a b + bias) + residual. Source: kernels/matmul.
struct Matmul {
  Tensor a;             ///< float or 8-bit float [M, K]; any strides, so also transposed
  Tensor b;             ///< type of a, [K, N]; any strides
  Tensor c;             ///< float [M, N], or an 8-bit float with `scale`; any strides
  Tensor bias = {};     ///< optional float [N]
  Tensor residual = {}; ///< optional float [M, N] with the strides of c; may be c
  Tensor scale = {};    ///< float32 [1], with a c of 8 bits and only then: c is divided by it
  float alpha = 1;
  Activation activation = Activation::None; ///< any but Sigmoid
  Precision precision = Precision::Ieee;    ///< of float32
  Tensor workspace = {}; ///< optional; of split-K and stream-K, as `workspaceBytes` says
  static constexpr Operation operation = Operation::Matmul;
};

/// c[z] = a[z] b[z]. Source: kernels/matmul_batched.
struct MatmulBatched {
  Tensor a; ///< float [B, M, K]; any strides; 0 along B shares one matrix
  Tensor b; ///< type of a, [B, K, N]; any strides; 0 along B shares one matrix
  Tensor c; ///< float [B, M, N]; N contiguous
  Precision precision = Precision::Ieee; ///< of float32
  static constexpr Operation operation = Operation::MatmulBatched;
};

/// Rows [offsets[g], offsets[g + 1]) of a meet b[g]; group sizes are uneven, may be 0 and are known
/// to the device alone. Source: kernels/matmul_grouped.
struct MatmulGrouped {
  Tensor a;                              ///< float [T, K]; K contiguous
  Tensor b;                              ///< type of a, [G, K, N]; any strides
  Tensor c;                              ///< float [T, N]; N contiguous
  Tensor offsets;                        ///< int32 [G + 1]: from 0 on, never falling, at the end T
  Precision precision = Precision::Ieee; ///< of float32
  static constexpr Operation operation = Operation::MatmulGrouped;
};

/// db[g] = a_g^T dc_g over the rows of each group; a group of none gets zeros. Source:
/// kernels/matmul_grouped.
struct MatmulGroupedWeightGradient {
  Tensor a;                              ///< float [T, K]; K contiguous
  Tensor dc;                             ///< type of a, [T, N]; N contiguous
  Tensor offsets;                        ///< int32 [G + 1]: as in the forward call
  Tensor db;                             ///< float [G, K, N]
  Precision precision = Precision::Ieee; ///< of float32
  static constexpr Operation operation = Operation::MatmulGroupedWeightGradient;
};

/// c = (a aScale) (b bScale)^T + bias over 8-bit numbers, with one scale for each tensor or one for
/// each row of a and of b. Sums of int8 are exact. Source: kernels/matmul_scaled.
struct MatmulScaled {
  Tensor a;           ///< int8 or 8-bit float [M, K]; K contiguous
  Tensor b;           ///< type of a, [N, K]; K contiguous
  Tensor c;           ///< float [M, N], or an 8-bit float with `cScale`; N contiguous
  Tensor aScale;      ///< float32 [M] or [1]
  Tensor bScale;      ///< float32 [N], or [1] with an aScale of [1]
  Tensor bias = {};   ///< optional float [N]
  Tensor cScale = {}; ///< float32 [1], with a c of 8 bits and only then: c is divided by it
  static constexpr Operation operation = Operation::MatmulScaled;
};

/// The same with a scale for each 1 x 128 of a and each 128 x 128 of b, as quantize_blocks makes
/// them (DeepSeek-AI, 2024). Source: kernels/matmul_scaled.
struct MatmulBlockScaled {
  Tensor a;      ///< int8 or 8-bit float [M, K]; K contiguous
  Tensor b;      ///< type of a, [N, K]; K contiguous
  Tensor c;      ///< float [M, N]; N contiguous
  Tensor aScale; ///< float32 [K / 128, M], rounded up
  Tensor bScale; ///< float32 [N / 128, K / 128], rounded up
  static constexpr Operation operation = Operation::MatmulBlockScaled;
};

/// q = x / scale rounded to 8 bits, with the scale that maps a row's largest element to the type's
/// largest; a row of zeros has scale 0. Source: kernels/matmul_scaled.
struct QuantizeRows {
  Tensor x;     ///< float [..., N]; rows may be apart
  Tensor q;     ///< int8 or 8-bit float [..., N]; rows may be apart
  Tensor scale; ///< float32 [...]
  static constexpr Operation operation = Operation::QuantizeRows;
};

/// The same with a scale for each 1 x 128, or for each 128 x 128. Source: kernels/matmul_scaled.
struct QuantizeBlocks {
  Tensor x;            ///< float [M, N]; N contiguous
  Tensor q;            ///< int8 or 8-bit float [M, N]; N contiguous
  Tensor scale;        ///< float32 [N / 128, M], or [M / 128, N / 128]; rounded up
  bool square = false; ///< 128 x 128
  static constexpr Operation operation = Operation::QuantizeBlocks;
};

/// y = (w x) scale + bias: each weight is read once. Source: kernels/matvec.
struct Matvec {
  Tensor w;              ///< float or int8 [N, K]; K contiguous
  Tensor x;              ///< float [K]
  Tensor y;              ///< float [N]
  Tensor scale = {};     ///< optional float32 [N], one for each row; for int8 weights
  Tensor bias = {};      ///< optional float [N]
  Tensor workspace = {}; ///< optional; of split-K, as `workspaceBytes` says
  static constexpr Operation operation = Operation::Matvec;
};

// ---- Attention. H query heads share G key heads, H a multiple of G: query head h reads key head
// h / (H / G). Query i stands at position i + N - M, so that the last query and the last key meet.

/// out = softmax(scale q k^T + bias) v without the M x N matrix (Dao et al., 2022; Dao, 2023). A
/// query that sees no key gives 0, and its lse is -inf. Source: kernels/flash_attention.
struct Attention {
  Tensor q;        ///< float or 8-bit float [B, H, M, D], D <= 256; D contiguous
  Tensor k;        ///< type of q, [B, G, N, D]; D contiguous
  Tensor v;        ///< type of q, [B, G, N, D]; D contiguous
  Tensor out;      ///< float [B, H, M, D]; D contiguous
  Tensor lse = {}; ///< optional float32 [B, H, M]: logarithms of sums; the backward call reads them
  Tensor bias = {};    ///< optional float [B, H, M, N]; N contiguous, strides of 0 share it
  Tensor slopes = {};  ///< optional float32 [H]: ALiBi, taken off by distance (Press et al., 2022)
  Tensor descale = {}; ///< optional float32 [B, G, 3]: what q, k and v of 8 bits are multiplied by
  float scale = 0;     ///< not below 0; 0: 1 / sqrt(D)
  bool causal = false; ///< a query sees keys up to its position
  int64_t window = 0;  ///< above 0: and only keys less than this away
  float softCap = 0;   ///< above 0: scores become softCap tanh(score / softCap)
  float dropout = 0;   ///< of a weight being dropped, in [0, 1)
  int64_t seed = 0;    ///< of dropout
  Precision precision = Precision::Ieee; ///< of float32
  Tensor workspace = {};                 ///< optional; used where lse is left out
  static constexpr Operation operation = Operation::Attention;
};

/// Gradients of attention, the same bits each time; but where a tuned table names
/// `backward.one_pass`, the last bits of dq depend on the order in which blocks come. Source:
/// kernels/flash_attention.
struct AttentionBackward {
  Tensor q;           ///< float [B, H, M, D], D <= 256
  Tensor k;           ///< type of q, [B, G, N, D]
  Tensor v;           ///< type of q, [B, G, N, D]
  Tensor out;         ///< float [B, H, M, D]: what the forward call gave
  Tensor lse;         ///< float32 [B, H, M]: what the forward call gave
  Tensor dout;        ///< type of q, [B, H, M, D]
  Tensor dq;          ///< float [B, H, M, D]
  Tensor dk;          ///< float [B, G, N, D]
  Tensor dv;          ///< float [B, G, N, D]
  Tensor bias = {};   ///< as in the forward call
  Tensor slopes = {}; ///< as in the forward call
  float scale = 0;
  bool causal = false;
  int64_t window = 0;
  float softCap = 0;
  float dropout = 0;
  int64_t seed = 0;
  Precision precision = Precision::Ieee;
  Tensor workspace = {}; ///< optional; B H M float32
  static constexpr Operation operation = Operation::AttentionBackward;
};

/// The same for B sequences of different lengths, which lie one after another. Source:
/// kernels/flash_attention.
struct AttentionVarlen {
  Tensor q;           ///< float [T, H, D], D <= 256; D contiguous
  Tensor k;           ///< type of q, [U, G, D]; D contiguous
  Tensor v;           ///< type of q, [U, G, D]; D contiguous
  Tensor out;         ///< float [T, H, D]; D contiguous
  Tensor lse = {};    ///< optional float32 [T, H]
  Tensor cuQ;         ///< int32 [B + 1]: where each sequence's queries begin, and T
  Tensor cuK;         ///< int32 [B + 1]: where its keys begin, and U
  int64_t maxQ = 0;   ///< at least the most queries of a sequence
  Tensor slopes = {}; ///< optional float32 [H]
  float scale = 0;
  bool causal = false;
  int64_t window = 0;
  float softCap = 0;
  Precision precision = Precision::Ieee;
  Tensor workspace = {}; ///< optional; used where lse is left out
  static constexpr Operation operation = Operation::AttentionVarlen;
};

/// Gradients of attention_varlen. Source: kernels/flash_attention.
struct AttentionVarlenBackward {
  Tensor q;           ///< float [T, H, D], D <= 256
  Tensor k;           ///< type of q, [U, G, D]
  Tensor v;           ///< type of q, [U, G, D]
  Tensor out;         ///< float [T, H, D]: what the forward call gave
  Tensor lse;         ///< float32 [T, H]: what the forward call gave
  Tensor dout;        ///< type of q, [T, H, D]
  Tensor dq;          ///< float [T, H, D]
  Tensor dk;          ///< float [U, G, D]
  Tensor dv;          ///< float [U, G, D]
  Tensor cuQ;         ///< int32 [B + 1]
  Tensor cuK;         ///< int32 [B + 1]
  int64_t maxQ = 0;   ///< at least the most queries of a sequence
  int64_t maxK = 0;   ///< at least the most keys of a sequence
  Tensor slopes = {}; ///< optional float32 [H]
  float scale = 0;
  bool causal = false;
  int64_t window = 0;
  float softCap = 0;
  Precision precision = Precision::Ieee;
  Tensor workspace = {}; ///< optional; T H float32
  static constexpr Operation operation = Operation::AttentionVarlenBackward;
};

// ---- The paged cache of keys and values (Kwon et al., 2023): P pages of S tokens each, of which a
// table names those of each sequence in order. `BlockManager` below keeps such tables.

/// Writes the newest token's keys and values to place length - 1 of each sequence. Source:
/// kernels/paged_attention.
struct AppendKv {
  Tensor k;       ///< float or 8-bit [B, G, D]; sequences may be apart
  Tensor v;       ///< type of k, [B, G, D]; sequences may be apart
  Tensor kCache;  ///< float or 8-bit [P, S, G, D]; pages may be apart
  Tensor vCache;  ///< type and strides of kCache
  Tensor table;   ///< int32 [B, W], in [0, P); rows may be apart
  Tensor lengths; ///< int32 [B], in [1, W S], the newest token counted
  static constexpr Operation operation = Operation::AppendKv;
};

/// Writes keys and values of T tokens of any sequences to their places, also into a cache of 8
/// bits, with a scale for each token and head. Source: kernels/paged_attention.
struct StoreKv {
  Tensor k;           ///< float [T, G, D]; tokens may be apart, as in a [T, q + k + v]
  Tensor v;           ///< type of k, [T, G, D]; tokens may be apart
  Tensor kCache;      ///< float, int8 or 8-bit float [P, S, G, D]; pages may be apart
  Tensor vCache;      ///< type and strides of kCache
  Tensor slots;       ///< int32 or int64 [T], page S + place; below 0: the token is left out
  Tensor kScale = {}; ///< float32 [P, S, G], with a cache of 8 bits and only then
  Tensor vScale = {}; ///< float32 [P, S, G], with kScale
  static constexpr Operation operation = Operation::StoreKv;
};

/// Attention of one query a sequence over its part of the cache: a step of decoding. Long sequences
/// are split and joined in a workspace. Source: kernels/paged_attention.
struct PagedAttention {
  Tensor q;       ///< float [B, H, D]; sequences may be apart
  Tensor kCache;  ///< float, int8 or 8-bit float [P, S, G, D]; pages may be apart
  Tensor vCache;  ///< type and strides of kCache
  Tensor table;   ///< int32 [B, W], in [0, P); rows may be apart; read as far as the length says
  Tensor lengths; ///< int32 [B], in [1, W S]
  Tensor out;     ///< float [B, H, D]
  Tensor kScale = {};                    ///< float32 [P, S, G], with a cache of int8
  Tensor vScale = {};                    ///< float32 [P, S, G], with kScale
  float scale = 0;                       ///< 0: 1 / sqrt(D)
  Precision precision = Precision::Ieee; ///< of float32
  Tensor workspace = {};                 ///< optional, as `workspaceBytes` says
  static constexpr Operation operation = Operation::PagedAttention;
};

/// Attention of several queries a sequence over a cache that has their keys too: a prompt in
/// chunks. A sequence's last query stands at length - 1; each sees the cache up to its own
/// position. Source: kernels/paged_attention.
struct PagedPrefill {
  Tensor q;         ///< float [T, H, D]; tokens may be apart
  Tensor kCache;    ///< float, int8 or 8-bit float [P, S, G, D]; pages may be apart
  Tensor vCache;    ///< type and strides of kCache
  Tensor table;     ///< int32 [B, W], in [0, P); rows may be apart; read as far as the length says
  Tensor cuQ;       ///< int32 [B + 1]: where each sequence's queries begin, and T
  Tensor lengths;   ///< int32 [B], in [1, W S], the queries counted
  int64_t maxQ = 0; ///< at least the most queries of a sequence
  Tensor out;       ///< float [T, H, D]
  Tensor kScale = {}; ///< float32 [P, S, G], with a cache of int8
  Tensor vScale = {}; ///< float32 [P, S, G], with kScale
  float scale = 0;
  Precision precision = Precision::Ieee;
  static constexpr Operation operation = Operation::PagedPrefill;
};

/// paged_attention for sequences that begin with the same tokens, whose pages they share: they are
/// read once for all. Source: kernels/paged_attention.
struct PagedSharedPrefix {
  Tensor q;           ///< float [B, H, D]; sequences may be apart
  Tensor kCache;      ///< float, int8 or 8-bit float [P, S, G, D]; pages may be apart
  Tensor vCache;      ///< type and strides of kCache
  Tensor prefix;      ///< int32 [X], in [0, P): the shared pages, all full
  Tensor table;       ///< int32 [B, W], in [0, P): pages behind the prefix; rows may be apart
  Tensor lengths;     ///< int32 [B], in [0, W S]: tokens behind the prefix
  Tensor out;         ///< float [B, H, D]
  Tensor kScale = {}; ///< float32 [P, S, G], with a cache of int8
  Tensor vScale = {}; ///< float32 [P, S, G], with kScale
  float scale = 0;    ///< 0: 1 / sqrt(D)
  Precision precision = Precision::Ieee; ///< of float32
  Tensor workspace = {};                 ///< optional, as `workspaceBytes` says
  static constexpr Operation operation = Operation::PagedSharedPrefix;
};

// ---- Mixture of experts: K of E experts for each of T tokens. An assignment is number t K + i.

/// The K largest logits of each token, the lower expert first where they are equal, and their
/// softmax. Source: kernels/moe.
struct MoeRoute {
  Tensor logits; ///< float [T, E], E <= 2048
  Tensor weight; ///< float32 [T, K], K <= E
  Tensor expert; ///< int32 [T, K]
  bool renormalize =
      true; ///< weights of a token add to 1; else they are a softmax over all experts
  static constexpr Operation operation = Operation::MoeRoute;
};

/// Puts assignments in the order of their experts, those of one by number. Source: kernels/moe.
struct MoeOrder {
  Tensor expert;         ///< int32 [T, K], in [0, E)
  Tensor row;            ///< int32 [T, K]: each assignment's place in the order
  Tensor source;         ///< int32 [T K]: the assignment of each place
  Tensor offsets;        ///< int32 [E + 1], E <= 512: where each expert begins, and T K
  Tensor workspace = {}; ///< optional, as `workspaceBytes` says
  static constexpr Operation operation = Operation::MoeOrder;
};

/// y[r] = x[source[r] / K]. Its gradient is moe_combine without weights. Source: kernels/moe.
struct MoePermute {
  Tensor x;      ///< float [T, H]
  Tensor source; ///< int32 [R], R = T K, in [0, R)
  Tensor y;      ///< type of x, [R, H]
  static constexpr Operation operation = Operation::MoePermute;
};

/// out[t] = sum over i of weight[t, i] y[row[t, i]], always in the same order. Source: kernels/moe.
struct MoeCombine {
  Tensor row;         ///< int32 [T, K], in [0, T K)
  Tensor y;           ///< float [T K, H]
  Tensor weight = {}; ///< optional float32 [T, K]; without it all are 1
  Tensor out;         ///< float [T, H]
  static constexpr Operation operation = Operation::MoeCombine;
};

/// Gradients of moe_combine. Source: kernels/moe.
struct MoeCombineBackward {
  Tensor weight;  ///< float32 [T, K]
  Tensor dout;    ///< float [T, H]
  Tensor y;       ///< float [T K, H]
  Tensor source;  ///< int32 [T K]: the inverse of `row`
  Tensor dy;      ///< float [T K, H]
  Tensor dweight; ///< float32 [T, K]
  static constexpr Operation operation = Operation::MoeCombineBackward;
};

/// A whole layer: route, silu(x gate) (x up), down, combine. Source: kernels/moe.
struct MoeLayer {
  Tensor x;      ///< float [T, H]
  Tensor logits; ///< float [T, E], E <= 512
  Tensor gateUp; ///< type of x, [E, H, 2 N]: gate, then up
  Tensor down;   ///< type of x, [E, N, H]
  Tensor out;    ///< float [T, H]
  int64_t k = 2; ///< experts of a token, in [1, E]
  bool renormalize = true;
  Precision precision = Precision::Ieee; ///< of float32
  Tensor workspace = {};                 ///< optional, as `workspaceBytes` says
  static constexpr Operation operation = Operation::MoeLayer;
};

// ---- Order and counts

/// Rows sorted, equal elements by their place; -0 comes before 0, NaN beyond the infinities by its
/// sign. Source: kernels/sort.
struct Sort {
  Tensor x;     ///< float [..., N], N <= 16384; rows may be apart
  Tensor y;     ///< float [..., N]
  Tensor index; ///< int32 [..., N]: the places that the elements had
  bool descending = false;
  static constexpr Operation operation = Operation::Sort;
};

/// The K largest of each row, largest first, of equal ones the first. Source: kernels/sort.
struct TopK {
  Tensor x;     ///< float [..., N]; rows may be apart
  Tensor y;     ///< float [..., K], K <= N and K <= 4096
  Tensor index; ///< int32 [..., K]
  static constexpr Operation operation = Operation::TopK;
};

/// Running sums along rows. Source: kernels/scan.
struct Cumsum {
  Tensor x;              ///< float, int32 or int64 [..., N]; rows may be apart
  Tensor y;              ///< float for floats, else the type of x: [..., N]
  Tensor workspace = {}; ///< optional; for one long row, as `workspaceBytes` says
  static constexpr Operation operation = Operation::Cumsum;
};

/// How often each number from 0 on occurs; numbers outside [0, U) do not count. Source:
/// kernels/scan.
struct Histogram {
  Tensor x;      ///< int32, any shape
  Tensor counts; ///< int32 [U], U <= 32768
  static constexpr Operation operation = Operation::Histogram;
};

// ---- Training in narrow floats. Scales and flags stay on the device: a step that overflowed is
// skipped by what reads the flag, and nothing waits.

/// out = grad / scale, and overflow becomes 1 if an element of grad is infinite or NaN; else it
/// stays, so that the tensors of a step share one flag (Micikevicius et al., 2018). Source:
/// kernels/mixed_precision.
struct Unscale {
  Tensor grad;     ///< float, any shape
  Tensor scale;    ///< float32 [1]: what the loss was multiplied by; a power of two loses no bits
  Tensor out;      ///< type and shape of grad; may be grad
  Tensor overflow; ///< float32 [1], also read: 0 before the first tensor of a step
  static constexpr Operation operation = Operation::Unscale;
};

/// The next loss scale: after an overflow scale backoff; after `interval` steps without one scale
/// growth, unless that overflows itself; then overflow is 0 again. Source: kernels/mixed_precision.
struct UpdateScale {
  Tensor scale;            ///< float32 [1], also read
  Tensor steps;            ///< int32 [1], also read: steps since the scale changed
  Tensor overflow;         ///< float32 [1], also read: not 0 if the step overflowed
  float growth = 2;        ///< at least 1
  float backoff = 0.5f;    ///< in (0, 1]
  int64_t interval = 2000; ///< steps
  static constexpr Operation operation = Operation::UpdateScale;
};

/// q = x scale, and amax = max(amax, |x|): delayed scaling, whose scale comes from steps before, so
/// that x is read once. What has outgrown the scale becomes the type's largest number; NaN stays,
/// and does not count (Micikevicius et al., 2022). Source: kernels/mixed_precision.
struct CastFp8 {
  Tensor x;     ///< float, any shape
  Tensor scale; ///< float32 [1], as `update_fp8_scales` gives it
  Tensor q;     ///< 8-bit float, shape of x
  Tensor amax;  ///< float32 [1], also read: 0 or above
  static constexpr Operation operation = Operation::CastFp8;
};

/// The next scales of T tensors: this step's maxima enter the histories, and the largest of each
/// history is to become 2^-margin of the type's largest number. A history of zeros, and one with an
/// infinity or a NaN, leaves its scale. Source: kernels/mixed_precision.
struct UpdateFp8Scales {
  Tensor history; ///< float32 [T, L], also read: maxima of the last L <= 4096 steps, newest first
  Tensor amax;    ///< float32 [T], also read: what `cast_fp8` measured; then 0
  Tensor scale;   ///< float32 [T], also read
  Tensor inverse; ///< float32 [T]: 1 / scale, by which products are multiplied
  DType type = DType::Float8E4NV; ///< of 8 bits: what is cast to
  int64_t margin = 0;             ///< powers of two, in [-64, 64]
  static constexpr Operation operation = Operation::UpdateFp8Scales;
};

/// Gives pages of a cache to sequences and takes them back. A sequence owns no more pages than its
/// tokens need, so at most one page of it is partly used.
///
/// Thread-safety: one thread at a time.
class NEREID_API BlockManager {
public:
  /// Pages are numbered from 0.
  BlockManager(int64_t pages, int64_t tokensPerPage);
  ~BlockManager();
  BlockManager(BlockManager &&) noexcept;
  BlockManager &operator=(BlockManager &&) noexcept;

  /// A new sequence without tokens.
  int64_t open();
  /// Gives its pages back. The number is used again by `open`.
  Status close(int64_t sequence);
  /// Room for `tokens` more. Fails, and changes nothing, if there are too few free pages.
  Status grow(int64_t sequence, int64_t tokens);
  /// Whether `grow` would find the pages.
  bool canGrow(int64_t sequence, int64_t tokens) const;

  int64_t length(int64_t sequence) const;                 ///< tokens; 0 of no sequence
  std::span<const int32_t> pages(int64_t sequence) const; ///< none of no sequence
  int64_t usedPages() const;
  int64_t freePages() const;
  int64_t tokensPerPage() const;

  /// Places [from, from + slots.size()) of a sequence as store_kv takes them.
  Status slots(int64_t sequence, int64_t from, std::span<int32_t> slots) const;
  /// The most pages that one of the sequences has.
  int64_t tableWidth(std::span<const int64_t> sequences) const;
  /// Tables and lengths of the sequences, as paged_attention takes them: `width` numbers for each,
  /// at least `tableWidth`; what is behind a sequence's last page is 0.
  Status fill(std::span<const int64_t> sequences, int64_t width, std::span<int32_t> table,
              std::span<int32_t> lengths) const;

private:
  struct State;
  std::unique_ptr<State> state;
};

// ---- The library

/// Which kernel a call takes.
struct Choice {
  std::string kernel;        ///< "softmax: forward.online": the folder and the variant of its spec
  std::string configuration; ///< "BLOCK=4096 num_warps=8"
  std::string reason;        ///< the measured shape that it was taken from, or why there is none
  size_t workspaceBytes = 0;
};

/// What is done about numbers in tensors that say where a kernel reads: tables, lengths, offsets,
/// positions. One that is out of range would read or write outside of the tensors.
enum class Values : uint8_t {
  Verify, ///< before each launch; on a GPU that copies them and waits, except while capturing
  Trust,  ///< never: the program answers for them
};

struct LibraryOptions {
  /// Where workspaces come from that a call does not bring; null: the device's memory
  /// (`Device::setAllocator`).
  std::shared_ptr<Allocator> allocator;
  /// A folder of kernel folders (softmax/tuned.json, ...) whose tables replace the built-in ones of
  /// the same names.
  std::string tuned;
  Values values = Values::Verify;
};

struct LibraryState;

/// A type of this header that describes a call.
template <typename Type>
concept IsCall = requires {
  { Type::operation } -> std::convertible_to<Operation>;
};

/// Runs the calls. Handles are cheap to copy and share what they compiled.
///
/// Kernel and configuration are chosen by shape, type and device: of the shapes measured on this
/// device (the folders' `tuned.json`) with the call's types and flags the nearest, by the sum of
/// the squared logarithms of the sizes' ratios, and of what was measured there the fastest; if none
/// has every size within a factor of 8, the call's own rule. `choose` tells.
///
/// Workspaces: a call uses the one it brings, which must be large enough. Else the library keeps
/// one for each stream, which grows and is freed with the library, since a graph may hold it. Such
/// a graph must not run beside other calls of the stream that it was captured on, nor beside
/// itself: give calls whose graphs do a workspace each.
///
/// Graphs: after `prepare` a call of the same shapes neither compiles, allocates nor waits, so it
/// can be captured. One exception: kernels that make tensor descriptors (`choose` names them) own
/// some memory for each stream and each capture, 128 bytes a descriptor and program.
///
/// Thread-safety: several threads may use a library, each with a stream of its own.
class NEREID_API Library {
public:
  static Result<Library> create(const Engine &engine, LibraryOptions options = {});

  /// Queues a call.
  template <IsCall Call> Status run(const Stream &stream, const Call &call) const {
    return run(stream, Call::operation, &call);
  }
  /// Compiles and loads what the call needs and makes the stream's workspace large enough; launches
  /// nothing, and reads no number of a tensor.
  template <IsCall Call> Status prepare(const Stream &stream, const Call &call) const {
    return prepare(stream, Call::operation, &call);
  }
  /// The kernel that the call would take.
  template <IsCall Call> Result<Choice> choose(const Call &call) const {
    return choose(Call::operation, &call);
  }
  /// Bytes of workspace that the call needs.
  template <IsCall Call> Result<size_t> workspaceBytes(const Call &call) const {
    auto choice = choose(call);
    if (!choice)
      return choice.takeError();
    return choice->workspaceBytes;
  }

  /// From here on a call that needs code which is not compiled is an error that names it. Other
  /// kernels of the engine are not touched.
  void freeze(bool frozen = true) const;

  /// `Program::recordedKeys` and `Program::buildAhead` of all kernels of the library: a process
  /// that builds ahead what an earlier one recorded runs the same calls frozen.
  std::vector<std::string> recordedKeys() const;
  Result<size_t> buildAhead(std::span<const std::string> keys) const;

  // The calls, named as in Python; each throws.
  // NOLINTBEGIN(readability-identifier-naming)
  void add(const Stream &stream, const Add &call) const { must(run(stream, call)); }
  void gelu(const Stream &stream, const Gelu &call) const { must(run(stream, call)); }
  void gelu_backward(const Stream &stream, const GeluBackward &call) const {
    must(run(stream, call));
  }
  void glu(const Stream &stream, const Glu &call) const { must(run(stream, call)); }
  void glu_backward(const Stream &stream, const GluBackward &call) const {
    must(run(stream, call));
  }
  void rope(const Stream &stream, const Rope &call) const { must(run(stream, call)); }
  void dropout(const Stream &stream, const Dropout &call) const { must(run(stream, call)); }
  void softmax(const Stream &stream, const Softmax &call) const { must(run(stream, call)); }
  void softmax_backward(const Stream &stream, const SoftmaxBackward &call) const {
    must(run(stream, call));
  }
  void log_softmax(const Stream &stream, const LogSoftmax &call) const { must(run(stream, call)); }
  void log_softmax_backward(const Stream &stream, const LogSoftmaxBackward &call) const {
    must(run(stream, call));
  }
  void cross_entropy(const Stream &stream, const CrossEntropy &call) const {
    must(run(stream, call));
  }
  void cross_entropy_backward(const Stream &stream, const CrossEntropyBackward &call) const {
    must(run(stream, call));
  }
  void linear_cross_entropy(const Stream &stream, const LinearCrossEntropy &call) const {
    must(run(stream, call));
  }
  void layer_norm(const Stream &stream, const LayerNorm &call) const { must(run(stream, call)); }
  void layer_norm_backward(const Stream &stream, const LayerNormBackward &call) const {
    must(run(stream, call));
  }
  void rms_norm(const Stream &stream, const RmsNorm &call) const { must(run(stream, call)); }
  void rms_norm_backward(const Stream &stream, const RmsNormBackward &call) const {
    must(run(stream, call));
  }
  void matmul(const Stream &stream, const Matmul &call) const { must(run(stream, call)); }
  void matmul_batched(const Stream &stream, const MatmulBatched &call) const {
    must(run(stream, call));
  }
  void matmul_grouped(const Stream &stream, const MatmulGrouped &call) const {
    must(run(stream, call));
  }
  void matmul_grouped_weight_gradient(const Stream &stream,
                                      const MatmulGroupedWeightGradient &call) const {
    must(run(stream, call));
  }
  void matmul_scaled(const Stream &stream, const MatmulScaled &call) const {
    must(run(stream, call));
  }
  void matmul_block_scaled(const Stream &stream, const MatmulBlockScaled &call) const {
    must(run(stream, call));
  }
  void matvec(const Stream &stream, const Matvec &call) const { must(run(stream, call)); }
  void quantize_rows(const Stream &stream, const QuantizeRows &call) const {
    must(run(stream, call));
  }
  void quantize_blocks(const Stream &stream, const QuantizeBlocks &call) const {
    must(run(stream, call));
  }
  void attention(const Stream &stream, const Attention &call) const { must(run(stream, call)); }
  void attention_backward(const Stream &stream, const AttentionBackward &call) const {
    must(run(stream, call));
  }
  void attention_varlen(const Stream &stream, const AttentionVarlen &call) const {
    must(run(stream, call));
  }
  void attention_varlen_backward(const Stream &stream, const AttentionVarlenBackward &call) const {
    must(run(stream, call));
  }
  void append_kv(const Stream &stream, const AppendKv &call) const { must(run(stream, call)); }
  void store_kv(const Stream &stream, const StoreKv &call) const { must(run(stream, call)); }
  void paged_attention(const Stream &stream, const PagedAttention &call) const {
    must(run(stream, call));
  }
  void paged_prefill(const Stream &stream, const PagedPrefill &call) const {
    must(run(stream, call));
  }
  void paged_shared_prefix(const Stream &stream, const PagedSharedPrefix &call) const {
    must(run(stream, call));
  }
  void moe_route(const Stream &stream, const MoeRoute &call) const { must(run(stream, call)); }
  void moe_order(const Stream &stream, const MoeOrder &call) const { must(run(stream, call)); }
  void moe_permute(const Stream &stream, const MoePermute &call) const { must(run(stream, call)); }
  void moe_combine(const Stream &stream, const MoeCombine &call) const { must(run(stream, call)); }
  void moe_combine_backward(const Stream &stream, const MoeCombineBackward &call) const {
    must(run(stream, call));
  }
  void moe_layer(const Stream &stream, const MoeLayer &call) const { must(run(stream, call)); }
  void sort(const Stream &stream, const Sort &call) const { must(run(stream, call)); }
  void top_k(const Stream &stream, const TopK &call) const { must(run(stream, call)); }
  void cumsum(const Stream &stream, const Cumsum &call) const { must(run(stream, call)); }
  void histogram(const Stream &stream, const Histogram &call) const { must(run(stream, call)); }
  void unscale(const Stream &stream, const Unscale &call) const { must(run(stream, call)); }
  void update_scale(const Stream &stream, const UpdateScale &call) const {
    must(run(stream, call));
  }
  void cast_fp8(const Stream &stream, const CastFp8 &call) const { must(run(stream, call)); }
  void update_fp8_scales(const Stream &stream, const UpdateFp8Scales &call) const {
    must(run(stream, call));
  }
  // NOLINTEND(readability-identifier-naming)

private:
  Status run(const Stream &stream, Operation operation, const void *call) const;
  Status prepare(const Stream &stream, Operation operation, const void *call) const;
  Result<Choice> choose(Operation operation, const void *call) const;
  std::shared_ptr<LibraryState> state;
};

} // namespace nereid::kernels
