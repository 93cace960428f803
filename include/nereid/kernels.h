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
// - An argument marked `optional` may be left out.
// - Bad arguments are an Error that names the call, the argument and what was seen; nothing is
//   launched then. Errors of the device come from this or a later call, as with any launch.
// - A result may take the place of an input only where its line says so.
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
  LayerNorm,
  LayerNormBackward,
  RmsNorm,
  RmsNormBackward,
  Dropout,
  Matmul,
  MatmulBatched,
  MatmulGrouped,
  MatmulScaled,
  Matvec,
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
  Tensor x;         ///< float [B, S, H, D]; D contiguous, the others anyhow
  Tensor y;         ///< as x, with strides of its own; may be x
  Tensor cos;       ///< float [P, R / 2]: of position and pair; the first R <= D columns turn
  Tensor sin;       ///< as cos
  Tensor positions; ///< optional int32 or int64 [B, S], in [0, P); without it token s is at s < P
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

/// y = w (x - mean) rstd + b, mean and variance of each row, rstd = 1 / sqrt(variance + epsilon)
/// (Ba, Kiros and Hinton, 2016). Source: kernels/layer_norm.
struct LayerNorm {
  Tensor x;              ///< float [..., N]; rows may be apart
  Tensor w;              ///< float [N]
  Tensor b;              ///< float [N]
  Tensor y;              ///< float [..., N]; rows may be apart; may be x
  Tensor mean;           ///< optional float32 [...]; the backward call reads it
  Tensor rstd;           ///< optional float32 [...]; the backward call reads it
  float epsilon = 1e-5f; ///< above 0
  Tensor workspace;      ///< optional; used where mean or rstd are left out
  static constexpr Operation operation = Operation::LayerNorm;
};

/// Gradients of layer_norm. Sums over rows are taken in a fixed order: the same bits each time.
/// Source: kernels/layer_norm.
struct LayerNormBackward {
  Tensor x;         ///< float [..., N], N <= 65536
  Tensor w;         ///< float [N]
  Tensor dy;        ///< float [..., N]
  Tensor mean;      ///< float32 [...]: what the forward call gave
  Tensor rstd;      ///< float32 [...]: what the forward call gave
  Tensor dx;        ///< float [..., N]; may be dy
  Tensor dw;        ///< float [N]
  Tensor db;        ///< float [N]
  Tensor workspace; ///< optional; at most 2 x 264 x N float32
  static constexpr Operation operation = Operation::LayerNormBackward;
};

/// y = w x rstd, rstd = 1 / sqrt(mean(x^2) + epsilon) of each row (Zhang and Sennrich, 2019). With
/// a residual x + residual takes x's place and is kept in `sum`. Source: kernels/rms_norm.
struct RmsNorm {
  Tensor x;              ///< float [..., N]
  Tensor w;              ///< float [N]
  Tensor y;              ///< float [..., N]; may be x
  Tensor residual;       ///< optional float [..., N], N <= 65536
  Tensor sum;            ///< float [..., N], with a residual and only then; may be x or residual
  Tensor rstd;           ///< optional float32 [...]; the backward call reads it
  float epsilon = 1e-6f; ///< above 0
  Tensor workspace;      ///< optional; used where rstd is left out
  static constexpr Operation operation = Operation::RmsNorm;
};

/// Gradients of rms_norm; dx is that of x and of the residual. Source: kernels/rms_norm.
struct RmsNormBackward {
  Tensor x;         ///< float [..., N], N <= 65536; with a residual the forward call's sum
  Tensor w;         ///< float [N]
  Tensor dy;        ///< float [..., N]
  Tensor dsum;      ///< optional float [..., N]: the gradient that reached `sum` from later layers
  Tensor rstd;      ///< float32 [...]: what the forward call gave
  Tensor dx;        ///< float [..., N]; may be dy or dsum
  Tensor dw;        ///< float [N]
  Tensor workspace; ///< optional; at most 264 x N float32
  static constexpr Operation operation = Operation::RmsNormBackward;
};

// ---- Products

/// c = activation(alpha a b + bias) + residual. Source: kernels/matmul.
struct Matmul {
  Tensor a;        ///< float or 8-bit float [M, K]; any strides, so also transposed
  Tensor b;        ///< type of a, [K, N]; any strides
  Tensor c;        ///< float [M, N], or an 8-bit float with `scale`; any strides
  Tensor bias;     ///< optional float [N]
  Tensor residual; ///< optional float [M, N] with the strides of c; may be c
  Tensor scale;    ///< optional float32 [1]: what c is divided by, for a c of 8 bits and only then
  float alpha = 1;
  Activation activation = Activation::None; ///< any but Sigmoid
  Precision precision = Precision::Ieee;    ///< of float32
  Tensor workspace;                         ///< optional; of split-K, as `workspaceBytes` says
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

/// c = (a aScale) (b bScale)^T + bias over 8-bit numbers, with one scale for each tensor or one for
/// each row of a and of b. Sums of int8 are exact. Source: kernels/matmul_scaled.
struct MatmulScaled {
  Tensor a;      ///< int8 or 8-bit float [M, K]; K contiguous
  Tensor b;      ///< type of a, [N, K]; K contiguous
  Tensor c;      ///< float [M, N], or an 8-bit float with `cScale`; N contiguous
  Tensor aScale; ///< float32 [M] or [1]
  Tensor bScale; ///< float32 [N], or [1] with an aScale of [1]
  Tensor bias;   ///< optional float [N]
  Tensor cScale; ///< optional float32 [1]: what c is divided by, for a c of 8 bits and only then
  static constexpr Operation operation = Operation::MatmulScaled;
};

/// y = (w x) scale + bias: each weight is read once. Source: kernels/matvec.
struct Matvec {
  Tensor w;         ///< float or int8 [N, K]; K contiguous
  Tensor x;         ///< float [K]
  Tensor y;         ///< float [N]
  Tensor scale;     ///< optional float32 [N], one for each row; for int8 weights
  Tensor bias;      ///< optional float [N]
  Tensor workspace; ///< optional; of split-K, as `workspaceBytes` says
  static constexpr Operation operation = Operation::Matvec;
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
/// one for each stream, which grows and is freed with the library, since a graph may hold it.
///
/// Graphs: after `prepare` a call of the same shapes neither compiles, allocates nor waits, so it
/// can be captured.
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

  // The calls; each throws.
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
  void matmul_scaled(const Stream &stream, const MatmulScaled &call) const {
    must(run(stream, call));
  }
  void matvec(const Stream &stream, const Matvec &call) const { must(run(stream, call)); }

private:
  Status run(const Stream &stream, Operation operation, const void *call) const;
  Status prepare(const Stream &stream, Operation operation, const void *call) const;
  Result<Choice> choose(Operation operation, const void *call) const;
  std::shared_ptr<LibraryState> state;
};

} // namespace nereid::kernels
