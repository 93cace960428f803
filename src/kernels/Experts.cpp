// Mixture of experts: routing, the experts' order, their products.
#include "kernels/Call.h"

#include "support/Specialization.h"

#include <algorithm>

namespace nereid::kernels {

using support::Constant;

namespace {

constexpr KernelSource routeKernel{"moe", "kernel.py", "route"},
    countKernel{"moe", "kernel.py", "count"}, startKernel{"moe", "kernel.py", "start"},
    placeKernel{"moe", "kernel.py", "place"}, permuteKernel{"moe", "kernel.py", "permute"},
    combineKernel{"moe", "kernel.py", "combine"},
    combineBackwardKernel{"moe", "kernel.py", "combine_backward"},
    gateAndUp{"moe", "experts.py", "gate_and_up"}, downKernel{"moe", "experts.py", "down"};

constexpr SizeName moeSizes[] = {{"T", 'T'}, {"E", 'E'}, {"K", 'K'}, {"H", 'H'}, {"N", 'N'}};

/// More experts than this would not fit a program that holds assignments against all of them.
constexpr int64_t mostOrdered = 512;

// ---- Pieces that the layer takes too

Status route(const Tensor &logits, Argument weight, Argument expert, int64_t tokens,
             int64_t experts, int64_t k, bool renormalize, int64_t height, Launches &to) {
  const int64_t lanes = powerOfTwo(experts);
  // A program holds its tokens' logits twice.
  height = std::min(height, std::max<int64_t>(2048 / lanes, 1));
  return to.launch(routeKernel, {}, {blocks(tokens, height)},
                   {logits, weight, expert, tokens, experts, named("K", k),
                    named("RENORMALISE", renormalize), named("BLOCK_T", height),
                    named("BLOCK_E", lanes)});
}

Status order(Argument expert, Argument row, Argument source, Argument offsets, int64_t assignments,
             int64_t experts, int64_t block, Launches &to) {
  const int64_t lanes = powerOfTwo(experts);
  // `place` holds a block's assignments against all experts.
  block = std::min(block, std::max<int64_t>(8192 / lanes, 16));
  const int64_t parts = blocks(assignments, block);
  Argument counts = to.scratch(DType::Int32, parts * experts);
  if (Status status = to.launch(countKernel, {}, {parts},
                                {expert, counts, assignments, experts, named("BLOCK", block),
                                 named("BLOCK_E", std::max<int64_t>(lanes, 2))});
      !status)
    return status;
  if (Status status = to.launch(
          startKernel, {}, {1},
          {counts, offsets, parts, experts, named("BLOCK_B", 32), named("BLOCK_E", lanes)});
      !status)
    return status;
  return to.launch(placeKernel, {}, {parts},
                   {expert, counts, row, source, assignments, experts, named("BLOCK", block),
                    named("BLOCK_E", lanes)});
}

std::string checkExperts(const Bound &bound, const char *name, const Tensor &tensor, int64_t most) {
  if (bound['E'] >= 1 && bound['E'] <= most)
    return "";
  return "`" + std::string(name) + "` is " + textOf(tensor) + ", and there must be 1 to " +
         std::to_string(most) + " experts";
}

// ---- moe_route

constexpr ArgumentRow routeArguments[] = {
    {"logits", argument<&MoeRoute::logits>, Role::In, "T E", floats},
    {"weight", argument<&MoeRoute::weight>, Role::Out, "T K", float32},
    {"expert", argument<&MoeRoute::expert>, Role::Out, "T K", int32},
};

constexpr Variant routeVariants[] = {
    {"route.top_k", "BLOCK_T", nullptr, [](const Bound &) { return Config{{"BLOCK_T", 32}}; },
     [](const Bound &bound, const Config &config, Launches &to) {
       auto &call = bound.as<MoeRoute>();
       return route(call.logits, call.weight, call.expert, bound['T'], bound['E'], bound['K'],
                    call.renormalize, config["BLOCK_T"], to);
     }},
};

// ---- moe_order

constexpr ArgumentRow orderArguments[] = {
    {"expert", argument<&MoeOrder::expert>, Role::In, "T K", int32},
    {"row", argument<&MoeOrder::row>, Role::Out, "T K", int32},
    {"source", argument<&MoeOrder::source>, Role::Out, "T*K", int32},
    {"offsets", argument<&MoeOrder::offsets>, Role::Out, "E+1", int32},
};

constexpr Variant orderVariants[] = {
    {"order.counting", "BLOCK", nullptr, [](const Bound &) { return Config{{"BLOCK", 128}}; },
     [](const Bound &bound, const Config &config, Launches &to) {
       auto &call = bound.as<MoeOrder>();
       return order(call.expert, call.row, call.source, call.offsets, bound['T'] * bound['K'],
                    bound['E'], config["BLOCK"], to);
     }},
};

// ---- moe_permute, moe_combine

Config hiddenBlockRule(const Bound &bound) {
  return {{"BLOCK", std::min<int64_t>(1024, powerOfTwo(bound['H']))}};
}

constexpr ArgumentRow permuteArguments[] = {
    {"x", argument<&MoePermute::x>, Role::In, "T H", floats},
    {"source", argument<&MoePermute::source>, Role::In, "R", int32},
    {"y", argument<&MoePermute::y>, Role::Out, "R H", floats, 0},
};

constexpr Variant permuteVariants[] = {
    {"permute.gather", "BLOCK", nullptr, hiddenBlockRule,
     [](const Bound &bound, const Config &config, Launches &to) {
       auto &call = bound.as<MoePermute>();
       return to.launch(permuteKernel, config.options(),
                        {bound['R'], blocks(bound['H'], config["BLOCK"])},
                        {call.x, call.source, call.y, bound['H'], named("K", bound['K']),
                         named("BLOCK", config["BLOCK"])});
     }},
};

constexpr ArgumentRow combineArguments[] = {
    {"row", argument<&MoeCombine::row>, Role::In, "T K", int32},
    {"y", argument<&MoeCombine::y>, Role::In, "T*K H", floats},
    {"weight", argument<&MoeCombine::weight>, Role::In, "T K", float32, -1, Layout::Dense, true},
    {"out", argument<&MoeCombine::out>, Role::Out, "T H", floats},
};

constexpr Variant combineVariants[] = {
    {"combine.gather", "BLOCK", nullptr, hiddenBlockRule,
     [](const Bound &bound, const Config &config, Launches &to) {
       auto &call = bound.as<MoeCombine>();
       return to.launch(combineKernel, config.options(),
                        {bound['T'], blocks(bound['H'], config["BLOCK"])},
                        {call.y, call.row, call.weight, call.out, bound['H'],
                         named("K", bound['K']), named("BLOCK", config["BLOCK"])});
     }},
};

constexpr ArgumentRow combineBackwardArguments[] = {
    {"weight", argument<&MoeCombineBackward::weight>, Role::In, "T K", float32},
    {"dout", argument<&MoeCombineBackward::dout>, Role::In, "T H", floats},
    {"y", argument<&MoeCombineBackward::y>, Role::In, "T*K H", floats},
    {"source", argument<&MoeCombineBackward::source>, Role::In, "T*K", int32},
    {"dy", argument<&MoeCombineBackward::dy>, Role::Out, "T*K H", floats},
    {"dweight", argument<&MoeCombineBackward::dweight>, Role::Out, "T K", float32},
};

constexpr Variant combineBackwardVariants[] = {
    {"combine_backward.rows", "BLOCK", nullptr, hiddenBlockRule,
     [](const Bound &bound, const Config &config, Launches &to) {
       auto &call = bound.as<MoeCombineBackward>();
       return to.launch(combineBackwardKernel, config.options(), {bound['T'] * bound['K']},
                        {call.dout, call.y, call.source, call.weight, call.dy, call.dweight,
                         bound['H'], named("K", bound['K']), named("BLOCK", config["BLOCK"])});
     }},
};

// ---- moe_layer

constexpr ArgumentRow layerArguments[] = {
    {"x", argument<&MoeLayer::x>, Role::In, "T H", floats},
    {"logits", argument<&MoeLayer::logits>, Role::In, "T E", floats},
    {"gateUp", argument<&MoeLayer::gateUp>, Role::In, "E H U", floats, 0},
    {"down", argument<&MoeLayer::down>, Role::In, "E N H", floats, 0},
    {"out", argument<&MoeLayer::out>, Role::Out, "T H", floats},
};

constexpr Variant layerVariants[] = {
    {"layer.fetched", "BLOCK_M BLOCK_N BLOCK_K", nullptr,
     [](const Bound &bound) {
       const int64_t each = blocks(bound['T'] * bound.as<MoeLayer>().k, bound['E']);
       const bool isSmall = bound.isCpu || bound.type() == DType::Float32 || each < 64;
       return Config{{"BLOCK_M", each <= 16 ? 16 : 64},
                     {"BLOCK_N", isSmall ? 64 : 128},
                     {"BLOCK_K", isSmall ? 32 : 64},
                     {"num_warps", isSmall ? 4 : 8},
                     {"num_stages", 3}};
     },
     [](const Bound &bound, const Config &config, Launches &to) -> Status {
       auto &call = bound.as<MoeLayer>();
       const int64_t tokens = bound['T'], experts = bound['E'], width = bound['H'],
                     inner = bound['N'], k = call.k, rows = tokens * k;
       const int64_t m = config["BLOCK_M"], n = config["BLOCK_N"], depth = config["BLOCK_K"];
       Argument weight = to.scratch(DType::Float32, rows), expert = to.scratch(DType::Int32, rows),
                row = to.scratch(DType::Int32, rows), source = to.scratch(DType::Int32, rows),
                offsets = to.scratch(DType::Int32, experts + 1),
                hidden = to.scratch(bound.type(), rows * inner),
                y = to.scratch(bound.type(), rows * width);
       if (Status status =
               route(call.logits, weight, expert, tokens, experts, k, call.renormalize, 32, to);
           !status)
         return status;
       if (Status status = order(expert, row, source, offsets, rows, experts, 128, to); !status)
         return status;
       // Each expert wastes less than one tile, and no more experts than rows have any.
       const int64_t tiles = rows / m + std::min(experts, rows);
       Argument lanes = named("BLOCK_E", powerOfTwo(experts)), blockM = named("BLOCK_M", m),
                blockN = named("BLOCK_N", n), blockK = named("BLOCK_K", depth),
                precision = named("PRECISION", precisionName(bound.type(), call.precision));
       if (Status status = to.launch(gateAndUp, config.options(), {tiles, blocks(inner, n)},
                                     {call.x, source, call.gateUp, hidden, offsets, experts, inner,
                                      width, named("K", k), lanes, blockM, blockN, blockK,
                                      named("EVEN", width % depth == 0), precision});
           !status)
         return status;
       if (Status status =
               to.launch(downKernel, config.options(), {tiles, blocks(width, n)},
                         {hidden, call.down, y, offsets, experts, inner, width, lanes, blockM,
                          blockN, blockK, named("EVEN", inner % depth == 0), precision});
           !status)
         return status;
       return to.launch(combineKernel, {}, {tokens, blocks(width, 1024)},
                        {y, row, weight, call.out, width, named("K", k), named("BLOCK", 1024)});
     }},
};

constexpr OperationRow expertTable[] = {
    {Operation::MoeRoute, "moe_route", "moe", routeArguments, routeVariants, moeSizes, "TK",
     [](Bound &bound) -> std::string {
       if (bound['K'] > bound['E'])
         return "`weight` is " + textOf(bound.as<MoeRoute>().weight) + ", and `logits` has " +
                std::to_string(bound['E']) + " experts to choose from";
       return checkExperts(bound, "logits", bound.as<MoeRoute>().logits, 2048);
     },
     nullptr,
     [](const Bound &bound, std::string_view name, const Constant &value) {
       return name == "renormalise" && value == Constant::boolean(bound.as<MoeRoute>().renormalize);
     }},
    {Operation::MoeOrder, "moe_order", "moe", orderArguments, orderVariants, moeSizes, "",
     [](Bound &bound) {
       return checkExperts(bound, "offsets", bound.as<MoeOrder>().offsets, mostOrdered);
     },
     [](const Bound &bound, const Stream &stream) {
       return verifyBelow("expert", bound.as<MoeOrder>().expert, bound['E'], stream);
     },
     nullptr, argument<&MoeOrder::workspace>},
    {Operation::MoePermute, "moe_permute", "moe", permuteArguments, permuteVariants, moeSizes,
     "RTH",
     [](Bound &bound) -> std::string {
       if (bound['T'] == 0 ? bound['R'] != 0 : bound['R'] % bound['T'] != 0)
         return "`source` is " + textOf(bound.as<MoePermute>().source) +
                ", and must have a multiple of the " + std::to_string(bound['T']) + " rows of `x`";
       bound.bind('K', bound['T'] ? bound['R'] / bound['T'] : 0);
       return "";
     },
     [](const Bound &bound, const Stream &stream) {
       return verifyBelow("source", bound.as<MoePermute>().source, bound['R'], stream);
     }},
    {Operation::MoeCombine, "moe_combine", "moe", combineArguments, combineVariants, moeSizes, "TH",
     nullptr,
     [](const Bound &bound, const Stream &stream) {
       return verifyBelow("row", bound.as<MoeCombine>().row, bound['T'] * bound['K'], stream);
     },
     nullptr, nullptr, 1},
    {Operation::MoeCombineBackward, "moe_combine_backward", "moe", combineBackwardArguments,
     combineBackwardVariants, moeSizes, "TK", nullptr,
     [](const Bound &bound, const Stream &stream) {
       return verifyBelow("source", bound.as<MoeCombineBackward>().source, bound['T'] * bound['K'],
                          stream);
     },
     nullptr, nullptr, 1},
    {Operation::MoeLayer, "moe_layer", "moe", layerArguments, layerVariants, moeSizes, "TH",
     [](Bound &bound) -> std::string {
       auto &call = bound.as<MoeLayer>();
       if (bound['U'] != 2 * bound['N'])
         return "`gateUp` is " + textOf(call.gateUp) + ", and must have twice the " +
                std::to_string(bound['N']) + " columns of `down`, " + textOf(call.down);
       if (std::string failure = checkExperts(bound, "logits", call.logits, mostOrdered);
           !failure.empty())
         return failure;
       if (call.k < 1 || call.k > bound['E'])
         return "`k` is " + std::to_string(call.k) + ", and must be in [1, " +
                std::to_string(bound['E']) + "]";
       bound.bind('K', call.k);
       return "";
     },
     nullptr, nullptr, argument<&MoeLayer::workspace>},
};

} // namespace

std::span<const OperationRow> expertRows() { return expertTable; }

} // namespace nereid::kernels
