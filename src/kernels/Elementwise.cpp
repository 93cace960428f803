// Calls that work element by element.
#include "kernels/Call.h"

#include "support/Specialization.h"

namespace nereid::kernels {

using support::Constant;

namespace {

constexpr Types numbers =
    floats | Types{DType::Float64, DType::Int8,   DType::Int16,  DType::Int32, DType::Int64,
                   DType::UInt8,   DType::UInt16, DType::UInt32, DType::UInt64};

/// On a CPU a program is a task, which costs about as much as some thousand elements.
Config blockRule(const Bound &bound) {
  return bound.isCpu ? Config{{"BLOCK", 4096}, {"num_warps", 4}}
                     : Config{{"BLOCK", 1024}, {"num_warps", 4}};
}

const char *few(const Bound &bound) {
  return bound['n'] >= int64_t(1) << 31 ? "2^31 elements or more" : nullptr;
}

// ---- add

constexpr KernelSource add{"vector_add", "kernel.py", "add"};

constexpr ArgumentRow addArguments[] = {
    {"x", argument<&Add::x>, Role::In, "*", numbers},
    {"y", argument<&Add::y>, Role::In, "*", numbers, 0},
    {"out", argument<&Add::out>, Role::Out, "*", numbers, 0, Layout::Dense, false, 0b11},
};

constexpr Variant addVariants[] = {
    {"plain", "BLOCK", few, blockRule,
     [](const Bound &bound, const Config &config, Launches &to) {
       auto &call = bound.as<Add>();
       return to.launch(add, config.options(), {blocks(bound['n'], config["BLOCK"])},
                        {call.x, call.y, call.out, bound['n'], named("BLOCK", config["BLOCK"])});
     }},
};

constexpr SizeName vectorSizes[] = {{"n", 'n'}};

// ---- gelu

constexpr KernelSource geluTanh{"gelu", "kernel.py", "gelu_tanh"},
    geluErf{"gelu", "kernel.py", "gelu_erf"},
    geluTanhBackward{"gelu", "kernel.py", "gelu_tanh_backward"},
    geluErfBackward{"gelu", "kernel.py", "gelu_erf_backward"};

constexpr ArgumentRow geluArguments[] = {
    {"x", argument<&Gelu::x>, Role::In, "*", floats},
    {"y", argument<&Gelu::y>, Role::Out, "*", floats, -1, Layout::Dense, false, 0b1},
};

template <const KernelSource &kernel>
Status geluPlan(const Bound &bound, const Config &config, Launches &to) {
  auto &call = bound.as<Gelu>();
  return to.launch(kernel, config.options(), {blocks(bound['n'], config["BLOCK"])},
                   {call.x, call.y, bound['n'], named("BLOCK", config["BLOCK"])});
}

const char *exactGelu(const Bound &bound) {
  return bound.as<Gelu>().exact ? "the exact form" : nullptr;
}
const char *tanhGelu(const Bound &bound) {
  return bound.as<Gelu>().exact ? nullptr : "the tanh form";
}

constexpr Variant geluVariants[] = {
    {"tanh.fused", "BLOCK", exactGelu, blockRule, geluPlan<geluTanh>},
    {"exact.fused", "BLOCK", tanhGelu, blockRule, geluPlan<geluErf>},
};

constexpr ArgumentRow geluBackwardArguments[] = {
    {"x", argument<&GeluBackward::x>, Role::In, "*", floats},
    {"dy", argument<&GeluBackward::dy>, Role::In, "*", floats},
    {"dx", argument<&GeluBackward::dx>, Role::Out, "*", floats, -1, Layout::Dense, false, 0b11},
};

template <const KernelSource &kernel>
Status geluBackwardPlan(const Bound &bound, const Config &config, Launches &to) {
  auto &call = bound.as<GeluBackward>();
  return to.launch(kernel, config.options(), {blocks(bound['n'], config["BLOCK"])},
                   {call.x, call.dy, call.dx, bound['n'], named("BLOCK", config["BLOCK"])});
}

const char *exactGeluBackward(const Bound &bound) {
  return bound.as<GeluBackward>().exact ? "the exact form" : nullptr;
}
const char *tanhGeluBackward(const Bound &bound) {
  return bound.as<GeluBackward>().exact ? nullptr : "the tanh form";
}

constexpr Variant geluBackwardVariants[] = {
    {"tanh_backward.fused", "BLOCK", exactGeluBackward, blockRule,
     geluBackwardPlan<geluTanhBackward>},
    {"exact_backward.fused", "BLOCK", tanhGeluBackward, blockRule,
     geluBackwardPlan<geluErfBackward>},
};

// ---- glu

constexpr KernelSource gluForward{"glu", "kernel.py", "glu_forward"},
    gluBackward{"glu", "kernel.py", "glu_backward"};

template <typename Call> std::string checkGate(Bound &bound) {
  Activation activation = bound.as<Call>().activation;
  return activation != Activation::None && activationName(activation)
             ? ""
             : "`activation` is None, and must be Silu, Gelu, Sigmoid or Relu";
}

template <typename Call>
bool agreesOnGate(const Bound &bound, std::string_view name, const Constant &value) {
  return name == "form" && value == Constant::string(activationName(bound.as<Call>().activation));
}

Config rowBlockRule(const Bound &bound) {
  return {{"BLOCK", std::min<int64_t>(bound.isCpu ? 4096 : 1024, powerOfTwo(bound['N']))},
          {"num_warps", 4}};
}

constexpr ArgumentRow gluArguments[] = {
    {"gate", argument<&Glu::gate>, Role::In, "... N", floats, -1, Layout::Rows},
    {"up", argument<&Glu::up>, Role::In, "... N", floats, -1, Layout::Rows},
    {"y", argument<&Glu::y>, Role::Out, "... N", floats, -1, Layout::Rows, false, 0b11},
};

constexpr Variant gluVariants[] = {
    {"forward.fused", "BLOCK", nullptr, rowBlockRule,
     [](const Bound &bound, const Config &config, Launches &to) {
       auto &call = bound.as<Glu>();
       return to.launch(
           gluForward, config.options(), {bound['M'], blocks(bound['N'], config["BLOCK"])},
           {call.gate, call.up, call.y, bound.rowStride[0], bound.rowStride[1], bound.rowStride[2],
            bound['N'], named("GATE", activationName(call.activation)),
            named("BLOCK", config["BLOCK"])});
     }},
};

constexpr ArgumentRow gluBackwardArguments[] = {
    {"gate", argument<&GluBackward::gate>, Role::In, "... N", floats, -1, Layout::Rows},
    {"up", argument<&GluBackward::up>, Role::In, "... N", floats, -1, Layout::Rows},
    {"dy", argument<&GluBackward::dy>, Role::In, "... N", floats, -1, Layout::Rows},
    {"dgate", argument<&GluBackward::dgate>, Role::Out, "... N", floats, -1, Layout::Rows, false,
     0b1},
    {"dup", argument<&GluBackward::dup>, Role::Out, "... N", floats, -1, Layout::Rows, false, 0b10},
};

constexpr Variant gluBackwardVariants[] = {
    {"backward.fused", "BLOCK", nullptr, rowBlockRule,
     [](const Bound &bound, const Config &config, Launches &to) {
       auto &call = bound.as<GluBackward>();
       auto &step = bound.rowStride;
       return to.launch(
           gluBackward, config.options(), {bound['M'], blocks(bound['N'], config["BLOCK"])},
           {call.gate, call.up, call.dy, call.dgate, call.dup, step[0], step[1], step[2], step[3],
            step[4], bound['N'], named("GATE", activationName(call.activation)),
            named("BLOCK", config["BLOCK"])});
     }},
};

constexpr SizeName rowSizes[] = {{"M", 'M'}, {"N", 'N'}};

// ---- rope

constexpr KernelSource rope{"rope", "kernel.py", "rope"};

constexpr ArgumentRow ropeArguments[] = {
    {"x", argument<&Rope::x>, Role::In, "B S H D", floats, -1, Layout::Last},
    {"y", argument<&Rope::y>, Role::Out, "B S H D", floats, -1, Layout::Last, false, 0b1},
    {"cos", argument<&Rope::cos>, Role::In, "P R", floats},
    {"sin", argument<&Rope::sin>, Role::In, "P R", floats},
    {"positions", argument<&Rope::positions>, Role::In, "B S", indices, -1, Layout::Dense, true},
};

std::string checkRope(Bound &bound) {
  auto &call = bound.as<Rope>();
  if (bound['R'] == 0 || 2 * bound['R'] > bound['D'])
    return "`cos` is " + textOf(call.cos) + ", and its columns must be from 1 to half of the " +
           std::to_string(bound['D']) + " of a head";
  if (!call.positions && bound['P'] < bound['S'])
    return "`cos` is " + textOf(call.cos) + ", and must have a row for each of the " +
           std::to_string(bound['S']) + " positions";
  return "";
}

Result<std::string> verifyRope(const Bound &bound, const Stream &stream) {
  auto &call = bound.as<Rope>();
  if (!call.positions)
    return std::string();
  return verifyBelow("positions", call.positions, bound['P'], stream);
}

constexpr Variant ropeVariants[] = {
    {"forward.heads backward.heads", "BLOCK_H", nullptr,
     [](const Bound &) { return Config{{"BLOCK_H", 32}, {"num_warps", 4}}; },
     [](const Bound &bound, const Config &config, Launches &to) {
       auto &call = bound.as<Rope>();
       auto x = call.x.strides(), y = call.y.strides();
       int64_t height = std::min(config["BLOCK_H"], powerOfTwo(bound['H']));
       return to.launch(
           rope, config.options(), {bound['B'] * bound['S'], blocks(bound['H'], height)},
           {call.x, call.y, call.cos, call.sin, call.positions, bound['S'], bound['H'], x[0], x[1],
            x[2], y[0], y[1], y[2], named("D", bound['D']), named("ROTARY", 2 * bound['R']),
            named("BLOCK_P", powerOfTwo(bound['R'])), named("BLOCK_H", height),
            named("INTERLEAVED", call.interleaved), named("BACKWARD", call.backward)});
     }},
};

constexpr SizeName ropeSizes[] = {{"B", 'B'}, {"S", 'S'}, {"H", 'H'}, {"D", 'D'}};

// ---- dropout

constexpr KernelSource dropoutSeeded{"dropout", "kernel.py", "dropout_seeded"};

constexpr ArgumentRow dropoutArguments[] = {
    {"x", argument<&Dropout::x>, Role::In, "*", floats},
    {"y", argument<&Dropout::y>, Role::Out, "*", floats, -1, Layout::Dense, false, 0b1},
};

constexpr Variant dropoutVariants[] = {
    {"forward.seeded backward.seeded", "BLOCK", few, blockRule,
     [](const Bound &bound, const Config &config, Launches &to) {
       auto &call = bound.as<Dropout>();
       return to.launch(
           dropoutSeeded, config.options(), {blocks(bound['n'], config["BLOCK"])},
           {call.x, call.y, bound['n'], call.p, call.seed, named("BLOCK", config["BLOCK"])});
     }},
};

constexpr OperationRow elementwiseTable[] = {
    {Operation::Add, "add", "vector_add", addArguments, addVariants, vectorSizes, "n"},
    {Operation::Gelu, "gelu", "gelu", geluArguments, geluVariants, vectorSizes, "n"},
    {Operation::GeluBackward, "gelu_backward", "gelu", geluBackwardArguments, geluBackwardVariants,
     vectorSizes, "n"},
    {Operation::Glu, "glu", "glu", gluArguments, gluVariants, rowSizes, "MN", checkGate<Glu>,
     nullptr, agreesOnGate<Glu>},
    {Operation::GluBackward, "glu_backward", "glu", gluBackwardArguments, gluBackwardVariants,
     rowSizes, "MN", checkGate<GluBackward>, nullptr, agreesOnGate<GluBackward>},
    {Operation::Rope, "rope", "rope", ropeArguments, ropeVariants, ropeSizes, "BSHD", checkRope,
     verifyRope,
     [](const Bound &bound, std::string_view name, const Constant &value) {
       return name == "interleaved" && value == Constant::boolean(bound.as<Rope>().interleaved);
     }},
    {Operation::Dropout, "dropout", "dropout", dropoutArguments, dropoutVariants, vectorSizes, "n",
     [](Bound &bound) -> std::string {
       float p = bound.as<Dropout>().p;
       return p >= 0 && p < 1 ? "" : "`p` is " + textOf(p) + ", and must be in [0, 1)";
     }},
};

} // namespace

std::span<const OperationRow> elementwiseRows() { return elementwiseTable; }

} // namespace nereid::kernels
