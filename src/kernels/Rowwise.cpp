// Calls that work along rows: softmax, cross entropy, norms.
#include "kernels/Call.h"

#include "support/Specialization.h"

#include <algorithm>

namespace nereid::kernels {

namespace {

constexpr SizeName matrixSizes[] = {{"M", 'M'}, {"N", 'N'}};

int64_t warpsOf(int64_t columns) { return columns <= 1024 ? 4 : columns <= 8192 ? 8 : 16; }
int64_t normWarps(int64_t columns) { return std::clamp<int64_t>(powerOfTwo(columns) / 256, 1, 16); }

// A variant that holds whole rows takes them up to this length: longer ones spill on a GPU, and on
// both would be one program of a block that the language does not allow.
template <int64_t most> const char *longerThan(const Bound &bound) {
  static const std::string text = "rows of more than " + std::to_string(most);
  return bound['N'] > most ? text.c_str() : nullptr;
}

Config heldRow(const Bound &bound) { return {{"num_warps", warpsOf(bound['N'])}}; }
Config heldNorm(const Bound &bound) { return {{"num_warps", normWarps(bound['N'])}}; }
Config loopRule(const Bound &) { return {{"BLOCK", 4096}, {"num_warps", 8}}; }

/// The whole row: what `BLOCK` is where a configuration does not say.
Argument rowBlock(const Bound &bound) { return named("BLOCK", powerOfTwo(bound['N'])); }

// ---- softmax and log_softmax

constexpr KernelSource softmaxRow{"softmax", "kernel.py", "softmax_row"},
    softmaxOnline{"softmax", "kernel.py", "softmax_online"},
    softmaxBackwardRow{"softmax", "kernel.py", "softmax_backward_row"},
    logSoftmaxRow{"log_softmax", "kernel.py", "log_softmax_row"},
    logSoftmaxOnline{"log_softmax", "kernel.py", "log_softmax_online"},
    logSoftmaxBackwardRow{"log_softmax", "kernel.py", "log_softmax_backward_row"},
    logSoftmaxBackwardLoop{"log_softmax", "kernel.py", "log_softmax_backward_loop"};

template <typename Call>
constexpr ArgumentRow softmaxArguments[] = {
    {"x", argument<&Call::x>, Role::In, "... N", floats, -1, Layout::Rows},
    {"y", argument<&Call::y>, Role::Out, "... N", floats, -1, Layout::Rows, false, 0b1},
};

template <typename Call, const KernelSource &kernel>
Status softmaxHeld(const Bound &bound, const Config &config, Launches &to) {
  auto &call = bound.as<Call>();
  return to.launch(
      kernel, config.options(), {bound['M']},
      {call.x, call.y, bound.rowStride[0], bound.rowStride[1], bound['N'], rowBlock(bound)});
}

template <typename Call, const KernelSource &kernel>
Status softmaxLoop(const Bound &bound, const Config &config, Launches &to) {
  auto &call = bound.as<Call>();
  return to.launch(kernel, config.options(), {bound['M']},
                   {call.x, call.y, bound.rowStride[0], bound.rowStride[1], bound['N'],
                    named("BLOCK", config["BLOCK"])});
}

constexpr Variant softmaxVariants[] = {
    {"forward.single_pass", "", longerThan<16384>, heldRow, softmaxHeld<Softmax, softmaxRow>},
    {"forward.online", "BLOCK", nullptr, loopRule, softmaxLoop<Softmax, softmaxOnline>},
};
constexpr Variant logSoftmaxVariants[] = {
    {"forward.single_pass", "", longerThan<16384>, heldRow, softmaxHeld<LogSoftmax, logSoftmaxRow>},
    {"forward.online", "BLOCK", nullptr, loopRule, softmaxLoop<LogSoftmax, logSoftmaxOnline>},
};

template <typename Call>
constexpr ArgumentRow softmaxBackwardArguments[] = {
    {"y", argument<&Call::y>, Role::In, "... N", floats},
    {"dy", argument<&Call::dy>, Role::In, "... N", floats},
    {"dx", argument<&Call::dx>, Role::Out, "... N", floats, -1, Layout::Dense, false, 0b11},
};

template <typename Call, const KernelSource &kernel>
Status softmaxBackwardHeld(const Bound &bound, const Config &config, Launches &to) {
  auto &call = bound.as<Call>();
  return to.launch(kernel, config.options(), {bound['M']},
                   {call.y, call.dy, call.dx, bound['N'], rowBlock(bound)});
}

constexpr Variant softmaxBackwardVariants[] = {
    {"backward.row", "", longerThan<65536>, heldRow,
     softmaxBackwardHeld<SoftmaxBackward, softmaxBackwardRow>},
};
constexpr Variant logSoftmaxBackwardVariants[] = {
    {"backward.row", "", longerThan<16384>, heldRow,
     softmaxBackwardHeld<LogSoftmaxBackward, logSoftmaxBackwardRow>},
    {"backward.loop", "BLOCK", nullptr, loopRule,
     [](const Bound &bound, const Config &config, Launches &to) {
       auto &call = bound.as<LogSoftmaxBackward>();
       return to.launch(logSoftmaxBackwardLoop, config.options(), {bound['M']},
                        {call.y, call.dy, call.dx, bound['N'], named("BLOCK", config["BLOCK"])});
     }},
};

// ---- cross_entropy

constexpr KernelSource crossEntropyForward{"cross_entropy", "kernel.py", "cross_entropy_forward"},
    crossEntropyBackward{"cross_entropy", "kernel.py", "cross_entropy_backward"};

constexpr ArgumentRow crossEntropyArguments[] = {
    {"x", argument<&CrossEntropy::x>, Role::In, "... N", floats, -1, Layout::Rows},
    {"target", argument<&CrossEntropy::target>, Role::In, "...", indices},
    {"loss", argument<&CrossEntropy::loss>, Role::Out, "...", float32},
    {"lse", argument<&CrossEntropy::lse>, Role::Out, "...", float32},
};
constexpr ArgumentRow crossEntropyBackwardArguments[] = {
    {"x", argument<&CrossEntropyBackward::x>, Role::In, "... N", floats, -1, Layout::Rows},
    {"target", argument<&CrossEntropyBackward::target>, Role::In, "...", indices},
    {"lse", argument<&CrossEntropyBackward::lse>, Role::In, "...", float32},
    {"dloss", argument<&CrossEntropyBackward::dloss>, Role::In, "...", float32},
    {"dx", argument<&CrossEntropyBackward::dx>, Role::Out, "... N", floats, -1, Layout::Rows, false,
     0b1},
};

template <typename Call> std::string checkCrossEntropy(Bound &bound) {
  float smoothing = bound.as<Call>().smoothing;
  if (!(smoothing >= 0 && smoothing <= 1))
    return "`smoothing` is " + textOf(smoothing) + ", and must be in [0, 1]";
  return bound['N'] == 0 ? "`x` is " + textOf(*bound.tensors[0]) + ": there is no class to choose"
                         : "";
}

template <typename Call>
Result<std::string> verifyTargets(const Bound &bound, const Stream &stream) {
  auto targets = numbersOf(bound.as<Call>().target, stream);
  if (!targets)
    return targets.takeError();
  for (int64_t target : *targets)
    if (target != bound.as<Call>().ignoreIndex && (target < 0 || target >= bound['N']))
      return "`target` has " + std::to_string(target) + ", and there are classes 0 to " +
             std::to_string(bound['N'] - 1);
  return std::string();
}

Config classesRule(const Bound &bound) {
  return {{"BLOCK", std::min<int64_t>(4096, powerOfTwo(bound['N']))}, {"num_warps", 8}};
}

constexpr Variant crossEntropyVariants[] = {
    {"forward.online", "BLOCK", nullptr, classesRule,
     [](const Bound &bound, const Config &config, Launches &to) {
       auto &call = bound.as<CrossEntropy>();
       return to.launch(crossEntropyForward, config.options(), {bound['M']},
                        {call.x, call.target, call.loss, call.lse, bound.rowStride[0], bound['N'],
                         call.ignoreIndex, call.smoothing, named("SMOOTH", call.smoothing > 0),
                         named("BLOCK", config["BLOCK"])});
     }},
};
constexpr Variant crossEntropyBackwardVariants[] = {
    {"backward.blocks", "BLOCK", nullptr, classesRule,
     [](const Bound &bound, const Config &config, Launches &to) {
       auto &call = bound.as<CrossEntropyBackward>();
       return to.launch(crossEntropyBackward, config.options(),
                        {bound['M'], blocks(bound['N'], config["BLOCK"])},
                        {call.x, call.target, call.lse, call.dloss, call.dx, bound.rowStride[0],
                         bound.rowStride[4], bound['N'], call.ignoreIndex, call.smoothing,
                         named("SMOOTH", call.smoothing > 0), named("BLOCK", config["BLOCK"])});
     }},
};

// ---- linear_cross_entropy

constexpr KernelSource linearProduct{"cross_entropy", "linear.py", "product"},
    crossEntropyFused{"cross_entropy", "kernel.py", "cross_entropy_fused"},
    clearGradient{"scan", "kernel.py", "clear"};

constexpr ArgumentRow linearArguments[] = {
    {"x", argument<&LinearCrossEntropy::x>, Role::In, "T H", floats},
    {"w", argument<&LinearCrossEntropy::w>, Role::In, "N H", floats, 0},
    {"target", argument<&LinearCrossEntropy::target>, Role::In, "T", indices},
    {"loss", argument<&LinearCrossEntropy::loss>, Role::Out, "T", float32},
    {"dx", argument<&LinearCrossEntropy::dx>, Role::Out, "T H", floats},
    {"dw", argument<&LinearCrossEntropy::dw>, Role::Out, "N H", float32},
};

/// Chunks of rows: logits, their losses and gradients in their place, and what those add to dx and
/// dw.
Status linearPlan(const Bound &bound, const Config &config, Launches &to) {
  auto &call = bound.as<LinearCrossEntropy>();
  const int64_t rows = bound['T'], classes = bound['N'], width = bound['H'];
  const int64_t m = config["BLOCK_M"], n = config["BLOCK_N"], k = config["BLOCK_K"];
  const int64_t chunk = std::min(config["CHUNK"], rows);
  const double scale = call.scale != 0 ? call.scale : 1 / double(std::max<int64_t>(rows, 1));
  if (rows == 0)
    return to.launch(clearGradient, {}, {blocks(classes * width, 1024)},
                     {call.dw, classes * width, named("BLOCK", 1024)});
  Argument logits = to.scratch(bound.type(), chunk * classes);
  struct Strides {
    int64_t am, ak, bk, bn, cm;
  };
  auto product = [&](Argument a, Argument b, Argument c, std::array<int64_t, 3> starts,
                     std::array<int64_t, 3> sizes, Strides s, bool adds) {
    auto [rows, columns, depth] = sizes;
    return to.launch(linearProduct, config.options(), {blocks(rows, m) * blocks(columns, n)},
                     {a,
                      b,
                      c,
                      starts[0],
                      starts[1],
                      starts[2],
                      rows,
                      columns,
                      depth,
                      s.am,
                      s.ak,
                      s.bk,
                      s.bn,
                      s.cm,
                      named("BLOCK_M", m),
                      named("BLOCK_N", n),
                      named("BLOCK_K", k),
                      named("GROUP_M", 8),
                      named("EVEN_K", depth % k == 0),
                      named("ADD", adds),
                      named("PRECISION", precisionName(bound.type(), call.precision))});
  };
  CompileOptions wide;
  wide.numWarps = 8;
  for (int64_t first = 0; first < rows; first += chunk) {
    const int64_t some = std::min(chunk, rows - first);
    if (Status status = product(call.x, call.w, logits, {first * width, 0, 0},
                                {some, classes, width}, {width, 1, 1, width, classes}, false);
        !status)
      return status;
    if (Status status = to.launch(crossEntropyFused, wide, {some},
                                  {logits, call.target, call.loss, logits, classes, classes,
                                   classes, call.ignoreIndex, call.smoothing, scale, first,
                                   named("SMOOTH", call.smoothing > 0),
                                   named("BLOCK", std::min<int64_t>(4096, powerOfTwo(classes)))});
        !status)
      return status;
    if (Status status = product(logits, call.w, call.dx, {0, 0, first * width},
                                {some, width, classes}, {classes, 1, width, 1, width}, false);
        !status)
      return status;
    if (Status status = product(logits, call.x, call.dw, {0, first * width, 0},
                                {classes, width, some}, {1, classes, width, 1, width}, first > 0);
        !status)
      return status;
  }
  return Success{};
}

constexpr Variant linearVariants[] = {
    {"linear.chunked", "CHUNK BLOCK_M BLOCK_N BLOCK_K", nullptr,
     [](const Bound &bound) {
       const bool isSmall = bound.isCpu || bound.type() == DType::Float32;
       return Config{{"CHUNK", bound.isCpu ? 256 : 2048}, {"BLOCK_M", isSmall ? 64 : 128},
                     {"BLOCK_N", isSmall ? 64 : 128},     {"BLOCK_K", isSmall ? 32 : 64},
                     {"num_warps", isSmall ? 4 : 8},      {"num_stages", 3}};
     },
     linearPlan},
};

constexpr SizeName linearSizes[] = {{"M", 'T'}, {"V", 'N'}, {"H", 'H'}};

// ---- norms

template <typename Call> std::string checkEpsilon(Bound &bound) {
  float epsilon = bound.as<Call>().epsilon;
  return epsilon > 0 ? "" : "`epsilon` is " + textOf(epsilon) + ", and must be above 0";
}

/// A result that the caller may leave out, which the kernel stores all the same.
Argument orScratch(const Tensor &tensor, const Bound &bound, Launches &to) {
  return tensor ? Argument(tensor) : to.scratch(DType::Float32, bound['M']);
}

/// Sums over rows are taken by this many programs, each of neighbouring rows.
struct RowShares {
  int64_t rows, programs;
  // The tile in which the programs' sums are added: on a GPU as many programs as it has
  // multiprocessors, each in few steps; on a CPU long rows.
  int64_t sumRows, sumColumns;
  RowShares(const Bound &bound, const Config &config)
      : rows(std::max<int64_t>(blocks(bound['M'], config["PROGRAMS"]), 1)),
        programs(blocks(bound['M'], rows)), sumRows(bound.isCpu ? 32 : 128),
        sumColumns(bound.isCpu ? 128 : 32) {}
};

Config sharesRule(const Bound &bound) {
  return {{"PROGRAMS", bound.isCpu ? std::min<int64_t>(4 * bound.units, 264) : 264},
          {"num_warps", normWarps(bound['N'])}};
}

/// Programs that take rows by turns: three a processor, as many as it runs at once.
Config turnsRule(const Bound &bound) {
  return {{"PROGRAMS", (bound.isCpu ? 1 : 3) * int64_t(bound.units)},
          {"STAGES", 2},
          {"num_warps", normWarps(bound['N'])}};
}

// ---- layer_norm

constexpr KernelSource layerNormRow{"layer_norm", "kernel.py", "layer_norm_row"},
    layerNormRows{"layer_norm", "kernel.py", "layer_norm_rows"},
    layerNormWelford{"layer_norm", "kernel.py", "layer_norm_welford"},
    layerNormBackward{"layer_norm", "backward.py", "backward_lock_free"},
    layerNormSums{"layer_norm", "backward.py", "sum_partials"};

constexpr ArgumentRow layerNormArguments[] = {
    {"x", argument<&LayerNorm::x>, Role::In, "... N", floats, -1, Layout::Rows},
    {"w", argument<&LayerNorm::w>, Role::In, "N", floats},
    {"b", argument<&LayerNorm::b>, Role::In, "N", floats},
    {"y", argument<&LayerNorm::y>, Role::Out, "... N", floats, -1, Layout::Rows, false, 0b1},
    {"mean", argument<&LayerNorm::mean>, Role::Out, "...", float32, -1, Layout::Dense, true},
    {"rstd", argument<&LayerNorm::rstd>, Role::Out, "...", float32, -1, Layout::Dense, true},
};

Status layerNormPlan(const Bound &bound, const KernelSource &kernel, const CompileOptions &options,
                     Argument block, Launches &to) {
  auto &call = bound.as<LayerNorm>();
  Argument mean = orScratch(call.mean, bound, to), rstd = orScratch(call.rstd, bound, to);
  return to.launch(kernel, options, {bound['M']},
                   {call.x, call.w, call.b, call.y, mean, rstd, bound.rowStride[0],
                    bound.rowStride[3], bound['N'], call.epsilon, block});
}

constexpr Variant layerNormVariants[] = {
    {"forward.row", "", longerThan<16384>, heldNorm,
     [](const Bound &bound, const Config &config, Launches &to) {
       return layerNormPlan(bound, layerNormRow, config.options(), rowBlock(bound), to);
     }},
    {"forward.persistent", "PROGRAMS STAGES", longerThan<16384>, turnsRule,
     [](const Bound &bound, const Config &config, Launches &to) {
       auto &call = bound.as<LayerNorm>();
       Argument mean = orScratch(call.mean, bound, to), rstd = orScratch(call.rstd, bound, to);
       return to.launch(layerNormRows, config.options(), {std::min(bound['M'], config["PROGRAMS"])},
                        {call.x, call.w, call.b, call.y, mean, rstd, bound.rowStride[0],
                         bound.rowStride[3], bound['M'], bound['N'], call.epsilon, rowBlock(bound),
                         named("STAGES", config["STAGES"])});
     }},
    {"forward.welford", "BLOCK", nullptr, loopRule,
     [](const Bound &bound, const Config &config, Launches &to) {
       return layerNormPlan(bound, layerNormWelford, config.options(),
                            named("BLOCK", config["BLOCK"]), to);
     }},
};

constexpr ArgumentRow layerNormBackwardArguments[] = {
    {"x", argument<&LayerNormBackward::x>, Role::In, "... N", floats},
    {"w", argument<&LayerNormBackward::w>, Role::In, "N", floats},
    {"dy", argument<&LayerNormBackward::dy>, Role::In, "... N", floats},
    {"mean", argument<&LayerNormBackward::mean>, Role::In, "...", float32},
    {"rstd", argument<&LayerNormBackward::rstd>, Role::In, "...", float32},
    {"dx", argument<&LayerNormBackward::dx>, Role::Out, "... N", floats, -1, Layout::Dense, false,
     0b100},
    {"dw", argument<&LayerNormBackward::dw>, Role::Out, "N", floats},
    {"db", argument<&LayerNormBackward::db>, Role::Out, "N", floats},
};

constexpr Variant layerNormBackwardVariants[] = {
    {"backward.lock_free", "PROGRAMS", longerThan<65536>, sharesRule,
     [](const Bound &bound, const Config &config, Launches &to) -> Status {
       auto &call = bound.as<LayerNormBackward>();
       RowShares shares(bound, config);
       Argument dw = to.scratch(DType::Float32, shares.programs * bound['N']);
       Argument db = to.scratch(DType::Float32, shares.programs * bound['N']);
       if (Status status = to.launch(layerNormBackward, config.options(), {shares.programs},
                                     {call.x, call.w, call.dy, call.mean, call.rstd, call.dx, dw,
                                      db, bound['M'], bound['N'], shares.rows, rowBlock(bound)});
           !status)
         return status;
       return to.launch(layerNormSums, {}, {blocks(bound['N'], shares.sumColumns)},
                        {dw, db, call.dw, call.db, shares.programs, bound['N'],
                         named("BLOCK_M", shares.sumRows), named("BLOCK_N", shares.sumColumns)});
     }},
};

// ---- rms_norm

constexpr KernelSource rmsNormRow{"rms_norm", "kernel.py", "rms_norm_row"},
    rmsNormRows{"rms_norm", "kernel.py", "rms_norm_rows"},
    rmsNormLoop{"rms_norm", "kernel.py", "rms_norm_loop"},
    rmsNormBackward{"rms_norm", "kernel.py", "rms_norm_backward"},
    rmsNormSums{"rms_norm", "kernel.py", "sum_rows"};

constexpr ArgumentRow rmsNormArguments[] = {
    {"x", argument<&RmsNorm::x>, Role::In, "... N", floats},
    {"residual", argument<&RmsNorm::residual>, Role::In, "... N", floats, -1, Layout::Dense, true},
    {"w", argument<&RmsNorm::w>, Role::In, "N", floats},
    {"y", argument<&RmsNorm::y>, Role::Out, "... N", floats, -1, Layout::Dense, false, 0b1},
    {"sum", argument<&RmsNorm::sum>, Role::Out, "... N", floats, -1, Layout::Dense, true, 0b11},
    {"rstd", argument<&RmsNorm::rstd>, Role::Out, "...", float32, -1, Layout::Dense, true},
};

std::string checkRmsNorm(Bound &bound) {
  auto &call = bound.as<RmsNorm>();
  if (call.residual && !call.sum)
    return "`sum` is missing beside `residual`";
  if (call.sum && !call.residual)
    return "`sum` is given without `residual`";
  return checkEpsilon<RmsNorm>(bound);
}

const char *residualOrNone(const Bound &bound) {
  return bound.as<RmsNorm>().residual ? "a residual beside it" : nullptr;
}

Status rmsNormRowPlan(const Bound &bound, const Config &config, Launches &to) {
  auto &call = bound.as<RmsNorm>();
  Argument rstd = orScratch(call.rstd, bound, to);
  return to.launch(rmsNormRow, config.options(), {bound['M']},
                   {call.x, call.residual, call.w, call.y, call.sum, rstd, bound['N'], call.epsilon,
                    rowBlock(bound)});
}

constexpr Variant rmsNormVariants[] = {
    {"forward.row", "",
     [](const Bound &bound) {
       const char *reason = residualOrNone(bound);
       return reason ? reason : longerThan<16384>(bound);
     },
     heldNorm, rmsNormRowPlan},
    {"forward.persistent", "PROGRAMS STAGES",
     [](const Bound &bound) {
       const char *reason = residualOrNone(bound);
       return reason ? reason : longerThan<16384>(bound);
     },
     turnsRule,
     [](const Bound &bound, const Config &config, Launches &to) {
       auto &call = bound.as<RmsNorm>();
       Argument rstd = orScratch(call.rstd, bound, to);
       return to.launch(rmsNormRows, config.options(), {std::min(bound['M'], config["PROGRAMS"])},
                        {call.x, call.w, call.y, rstd, bound['M'], bound['N'], call.epsilon,
                         rowBlock(bound), named("STAGES", config["STAGES"])});
     }},
    {"forward.loop", "BLOCK", residualOrNone, loopRule,
     [](const Bound &bound, const Config &config, Launches &to) {
       auto &call = bound.as<RmsNorm>();
       Argument rstd = orScratch(call.rstd, bound, to);
       return to.launch(rmsNormLoop, config.options(), {bound['M']},
                        {call.x, call.w, call.y, rstd, bound['N'], call.epsilon,
                         named("BLOCK", config["BLOCK"])});
     }},
    // Moves twice the bytes, so that rows of the others say little of it.
    {"residual.row", "",
     [](const Bound &bound) -> const char * {
       if (!bound.as<RmsNorm>().residual)
         return "no residual";
       return bound['N'] > 65536 ? "a residual with rows of more than 65536" : nullptr;
     },
     heldNorm, rmsNormRowPlan},
};

constexpr ArgumentRow rmsNormBackwardArguments[] = {
    {"x", argument<&RmsNormBackward::x>, Role::In, "... N", floats},
    {"w", argument<&RmsNormBackward::w>, Role::In, "N", floats},
    {"dy", argument<&RmsNormBackward::dy>, Role::In, "... N", floats},
    {"dsum", argument<&RmsNormBackward::dsum>, Role::In, "... N", floats, -1, Layout::Dense, true},
    {"rstd", argument<&RmsNormBackward::rstd>, Role::In, "...", float32},
    {"dx", argument<&RmsNormBackward::dx>, Role::Out, "... N", floats, -1, Layout::Dense, false,
     0b1100},
    {"dw", argument<&RmsNormBackward::dw>, Role::Out, "N", floats},
};

constexpr Variant rmsNormBackwardVariants[] = {
    {"backward.lock_free residual_backward.lock_free", "PROGRAMS", longerThan<65536>, sharesRule,
     [](const Bound &bound, const Config &config, Launches &to) -> Status {
       auto &call = bound.as<RmsNormBackward>();
       RowShares shares(bound, config);
       Argument dw = to.scratch(DType::Float32, shares.programs * bound['N']);
       if (Status status = to.launch(rmsNormBackward, config.options(), {shares.programs},
                                     {call.x, call.w, call.dy, call.dsum, call.rstd, call.dx, dw,
                                      bound['M'], bound['N'], shares.rows, rowBlock(bound)});
           !status)
         return status;
       return to.launch(rmsNormSums, {}, {blocks(bound['N'], shares.sumColumns)},
                        {dw, call.dw, shares.programs, bound['N'], named("BLOCK_M", shares.sumRows),
                         named("BLOCK_N", shares.sumColumns)});
     }},
};

constexpr OperationRow rowwiseTable[] = {
    {Operation::Softmax, "softmax", "softmax", softmaxArguments<Softmax>, softmaxVariants,
     matrixSizes, "MN"},
    {Operation::SoftmaxBackward, "softmax_backward", "softmax",
     softmaxBackwardArguments<SoftmaxBackward>, softmaxBackwardVariants, matrixSizes, "MN"},
    {Operation::LogSoftmax, "log_softmax", "log_softmax", softmaxArguments<LogSoftmax>,
     logSoftmaxVariants, matrixSizes, "MN"},
    {Operation::LogSoftmaxBackward, "log_softmax_backward", "log_softmax",
     softmaxBackwardArguments<LogSoftmaxBackward>, logSoftmaxBackwardVariants, matrixSizes, "MN"},
    {Operation::CrossEntropy, "cross_entropy", "cross_entropy", crossEntropyArguments,
     crossEntropyVariants, matrixSizes, "M", checkCrossEntropy<CrossEntropy>,
     verifyTargets<CrossEntropy>},
    {Operation::CrossEntropyBackward, "cross_entropy_backward", "cross_entropy",
     crossEntropyBackwardArguments, crossEntropyBackwardVariants, matrixSizes, "M",
     checkCrossEntropy<CrossEntropyBackward>, verifyTargets<CrossEntropyBackward>},
    {Operation::LinearCrossEntropy, "linear_cross_entropy", "cross_entropy", linearArguments,
     linearVariants, linearSizes, "H",
     [](Bound &bound) -> std::string {
       auto &call = bound.as<LinearCrossEntropy>();
       if (bound['N'] == 0)
         return "`w` is " + textOf(call.w) + ": there is no class to choose";
       return call.smoothing >= 0 && call.smoothing <= 1
                  ? ""
                  : "`smoothing` is " + textOf(call.smoothing) + ", and must be in [0, 1]";
     },
     verifyTargets<LinearCrossEntropy>, nullptr, argument<&LinearCrossEntropy::workspace>},
    {Operation::LayerNorm, "layer_norm", "layer_norm", layerNormArguments, layerNormVariants,
     matrixSizes, "MN", checkEpsilon<LayerNorm>, nullptr, nullptr, argument<&LayerNorm::workspace>},
    {Operation::LayerNormBackward, "layer_norm_backward", "layer_norm", layerNormBackwardArguments,
     layerNormBackwardVariants, matrixSizes, "N", nullptr, nullptr, nullptr,
     argument<&LayerNormBackward::workspace>},
    {Operation::RmsNorm, "rms_norm", "rms_norm", rmsNormArguments, rmsNormVariants, matrixSizes,
     "MN", checkRmsNorm, nullptr, nullptr, argument<&RmsNorm::workspace>},
    {Operation::RmsNormBackward, "rms_norm_backward", "rms_norm", rmsNormBackwardArguments,
     rmsNormBackwardVariants, matrixSizes, "N", nullptr, nullptr, nullptr,
     argument<&RmsNormBackward::workspace>},
};

} // namespace

std::span<const OperationRow> rowwiseRows() { return rowwiseTable; }

} // namespace nereid::kernels
