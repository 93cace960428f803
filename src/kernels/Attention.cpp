// Attention over tensors that hold all keys.
#include "kernels/Call.h"

#include "support/Specialization.h"

#include <algorithm>
#include <cmath>

namespace nereid::kernels {

using support::Constant;

namespace {

constexpr KernelSource flashForward{"flash_attention", "kernel.py", "flash_forward"},
    flashDescriptors{"flash_attention", "descriptors.py", "flash_forward_descriptors"},
    rowDelta{"flash_attention", "backward.py", "row_delta"},
    backwardKeys{"flash_attention", "backward.py", "backward_dk_dv"},
    backwardQueries{"flash_attention", "backward.py", "backward_dq"},
    rowFacts{"flash_attention", "one_pass.py", "row_facts"},
    backwardOnePass{"flash_attention", "one_pass.py", "backward_one_pass"},
    roundSums{"flash_attention", "one_pass.py", "round_sums"};

/// Numbers that all calls here have.
template <typename Call> std::string checkNumbers(Bound &bound) {
  auto &call = bound.as<Call>();
  if (bound['G'] == 0 ? bound['H'] != 0 : bound['H'] % bound['G'] != 0)
    return "`k` is " + textOf(call.k) + ", and the " + std::to_string(bound['H']) +
           " heads of `q` must be a multiple of its " + std::to_string(bound['G']);
  if (bound['D'] > 256)
    return "`q` is " + textOf(call.q) + ", and heads must have at most 256 columns";
  if (!(call.scale >= 0 && std::isfinite(call.scale)))
    return "`scale` is " + textOf(call.scale) + ", and must not be below 0";
  if (call.window < 0)
    return "`window` is " + std::to_string(call.window) + ", and must not be below 0";
  if (!(call.softCap >= 0 && std::isfinite(call.softCap)))
    return "`softCap` is " + textOf(call.softCap) + ", and must not be below 0";
  if constexpr (requires { call.dropout; })
    if (!(call.dropout >= 0 && call.dropout < 1))
      return "`dropout` is " + textOf(call.dropout) + ", and must be in [0, 1)";
  return "";
}

/// Bindings of measured cases: flags that change what is computed must be those of the call.
template <typename Call>
bool agreesOnMasks(const Bound &bound, std::string_view name, const Constant &value) {
  auto &call = bound.as<Call>();
  if (name == "causal")
    return value == Constant::boolean(call.causal);
  if (name == "window")
    return value == Constant::integer(call.window);
  if (name == "soft_cap")
    return value == Constant::floating(call.softCap);
  if (name == "alibi")
    return value == Constant::boolean(bool(call.slopes));
  if constexpr (requires { call.dropout; }) {
    if (name == "p")
      return value == Constant::floating(call.dropout);
    if (name == "bias")
      return (value != Constant::string("none")) == bool(call.bias);
  }
  return false;
}

// What 99 KB of shared memory hold of the tiles of queries, keys and values, and the registers of
// their warps.
Config forwardRule(const Bound &bound) {
  const bool isWide = bound.type() == DType::Float32;
  const int64_t width = blockD(bound);
  const int64_t keys = bound.isBound('N') ? bound['N'] : bound['U'];
  if (bound.isCpu)
    return {{"BLOCK_M", std::clamp<int64_t>(powerOfTwo(bound['M']), 16, 64)},
            {"BLOCK_N", std::clamp<int64_t>(powerOfTwo(keys), 16, 64)}};
  if (bound['M'] <= 16)
    return {{"BLOCK_M", 16}, {"BLOCK_N", 64}, {"num_warps", 4}, {"num_stages", 2}};
  if (isWide)
    return {{"BLOCK_M", width <= 64 ? 64 : 32},
            {"BLOCK_N", 32},
            {"num_warps", 4},
            {"num_stages", width <= 64 ? 3 : 2}};
  if (width <= 128)
    return {
        {"BLOCK_M", 128}, {"BLOCK_N", 64}, {"num_warps", width <= 64 ? 4 : 8}, {"num_stages", 3}};
  return {{"BLOCK_M", 64}, {"BLOCK_N", 32}, {"num_warps", 8}, {"num_stages", 2}};
}

Config backwardRule(const Bound &bound) {
  const int64_t width = blockD(bound);
  if (bound.isCpu || bound.type() == DType::Float32 || width > 128)
    return {{"BLOCK_M", 32}, {"BLOCK_N", 32}, {"num_warps", 4}, {"num_stages", 2}};
  if (width <= 64)
    return {{"BLOCK_M", 64}, {"BLOCK_N", 64}, {"num_warps", 4}, {"num_stages", 2}};
  return {{"BLOCK_M", 128}, {"BLOCK_N", 64}, {"num_warps", 8}, {"num_stages", 2}};
}

using Strides = std::array<int64_t, 3>;

/// Batch, head and row. Sequences that lie one after another have no batch.
Strides stridesOf(const Tensor &tensor) {
  auto all = tensor.strides();
  if (all.size() == 3)
    return {0, all[1], all[0]};
  return {all[0], all[1], all[2]};
}

template <typename Call> constexpr bool hasLengths = requires(const Call &call) { call.cuQ; };

// Argument lists. Kernels of one pass have theirs in one order, from which some leave things out.

/// Constants of all kernels that walk over tiles of scores.
template <typename Call> Arguments maskConstants(const Bound &bound, const Config &config) {
  auto &call = bound.as<Call>();
  return {named("D", bound['D']),
          named("BLOCK_D", blockD(bound)),
          named("BLOCK_M", config["BLOCK_M"]),
          named("BLOCK_N", config["BLOCK_N"]),
          named("CAUSAL", call.causal),
          named("PRECISION", precisionName(bound.type(), call.precision)),
          named("slopes_ptr", call.slopes),
          named("WINDOW", call.window),
          named("SOFT_CAP", double(call.softCap))};
}

/// What those that read by address have besides: p, seed and DROPOUT, and where sequences begin.
template <typename Call> Arguments addressed(const Call &call) {
  if constexpr (hasLengths<Call>)
    return {named("p", 0.0), named("seed", 0), named("DROPOUT", false), named("cu_q_ptr", call.cuQ),
            named("cu_k_ptr", call.cuK)};
  else
    return {named("p", call.dropout), named("seed", call.dropout > 0 ? call.seed : 0),
            named("DROPOUT", call.dropout > 0)};
}

/// A bias and its strides; null and 0 where there is none.
template <typename Call> std::pair<Argument, Strides> biasOf(const Call &call) {
  if constexpr (!hasLengths<Call>)
    if (call.bias)
      return {call.bias, stridesOf(call.bias)};
  return {nullptr, {}};
}

/// Heads and lengths, which `cu_q_ptr` and `cu_k_ptr` may replace.
template <typename Call> Arguments sizesOf(const Bound &bound) {
  const bool all = !hasLengths<Call>;
  return {bound['H'], bound['H'] / bound['G'], all ? bound['M'] : 0, all ? bound['N'] : 0};
}

/// The logarithms of sums that the caller may want, else scratch.
template <typename Call> Argument logSums(const Bound &bound, Launches &to) {
  auto &call = bound.as<Call>();
  const int64_t rows = hasLengths<Call> ? bound['T'] : bound['B'] * bound['M'];
  return call.lse ? Argument(call.lse) : to.scratch(DType::Float32, rows * bound['H']);
}

template <typename Call>
Status launchForward(const Bound &bound, const Config &config, Launches &to) {
  auto &call = bound.as<Call>();
  auto [bias, biasStrides] = biasOf(call);
  Arguments arguments{call.q, call.k, call.v, bias, call.out, logSums<Call>(bound, to)};
  auto addStrides = [&](const Strides &strides) {
    arguments.add({strides[0], strides[1], strides[2]});
  };
  for (const Tensor *tensor : {&call.q, &call.k, &call.v})
    addStrides(stridesOf(*tensor));
  addStrides(biasStrides);
  addStrides(stridesOf(call.out));
  arguments.add(sizesOf<Call>(bound)).add({scaleOf<Call>(bound)});
  arguments.add(maskConstants<Call>(bound, config)).add(addressed(call));
  if constexpr (!hasLengths<Call>)
    arguments.add({named("descale_ptr", call.descale)});
  return to.launch(flashForward, config.options(),
                   {blocks(bound['M'], config["BLOCK_M"]), bound['B'] * bound['H']}, arguments);
}

Status launchDescribed(const Bound &bound, const Config &config, Launches &to) {
  auto &call = bound.as<Attention>();
  auto blocksOf = [&](const Tensor &tensor, const char *rows) {
    return TensorDescriptor::make(tensor, {1, 1, config[rows], blockD(bound)});
  };
  auto q = blocksOf(call.q, "BLOCK_M"), k = blocksOf(call.k, "BLOCK_N"),
       v = blocksOf(call.v, "BLOCK_N"), out = blocksOf(call.out, "BLOCK_M");
  for (auto *descriptor : {&q, &k, &v, &out})
    if (!*descriptor)
      return descriptor->takeError();
  Arguments arguments{*q, *k, *v, *out, logSums<Attention>(bound, to)};
  arguments.add({bound['H'] / bound['G'], bound['M'], bound['N'], scaleOf<Attention>(bound)});
  arguments.add(maskConstants<Attention>(bound, config)).add({named("descale_ptr", call.descale)});
  return to.launch(flashDescriptors, config.options(),
                   {blocks(bound['M'], config["BLOCK_M"]), bound['H'], bound['B']}, arguments);
}

/// Two passes over the scores: one for the gradients of keys and values, one for that of queries.
template <typename Call>
Status launchBackward(const Bound &bound, const Config &config, Launches &to) {
  auto &call = bound.as<Call>();
  const int64_t rows =
      hasLengths<Call> ? bound['T'] * bound['H'] : bound['B'] * bound['H'] * bound['M'];
  Argument delta = to.scratch(DType::Float32, rows);
  if (Status status = to.launch(rowDelta, {}, {blocks(rows, 64)},
                                {call.out, call.dout, delta, rows, named("D", bound['D']),
                                 named("BLOCK_D", blockD(bound)), named("BLOCK_M", 64)});
      !status)
    return status;
  auto [bias, biasStrides] = biasOf(call);
  auto pass = [&](const KernelSource &kernel, Programs programs,
                  std::initializer_list<Argument> results) {
    Arguments arguments{call.q, call.k, call.v, bias, call.dout, call.lse, delta};
    arguments.add(results).add({biasStrides[0], biasStrides[1], biasStrides[2]});
    arguments.add(sizesOf<Call>(bound)).add({scaleOf<Call>(bound)});
    arguments.add(maskConstants<Call>(bound, config)).add(addressed(call));
    return to.launch(kernel, config.options(), programs, arguments);
  };
  int64_t keys;
  if constexpr (hasLengths<Call>)
    keys = call.maxK;
  else
    keys = bound['N'];
  if (Status status = pass(backwardKeys, {blocks(keys, config["BLOCK_N"]), bound['B'] * bound['G']},
                           {call.dk, call.dv});
      !status)
    return status;
  return pass(backwardQueries, {blocks(bound['M'], config["BLOCK_M"]), bound['B'] * bound['H']},
              {call.dq});
}

// ---- attention

constexpr Types headTypes = floats | narrowFloats;

constexpr ArgumentRow attentionArguments[] = {
    {"q", argument<&Attention::q>, Role::In, "B H M D", headTypes, -1, Layout::Last},
    {"k", argument<&Attention::k>, Role::In, "B G N D", headTypes, 0, Layout::Last},
    {"v", argument<&Attention::v>, Role::In, "B G N D", headTypes, 0, Layout::Last},
    {"bias", argument<&Attention::bias>, Role::In, "B H M N", floats, -1, Layout::Last, true},
    {"slopes", argument<&Attention::slopes>, Role::In, "H", float32, -1, Layout::Dense, true},
    {"descale", argument<&Attention::descale>, Role::In, "B G 3", float32, -1, Layout::Dense, true},
    {"out", argument<&Attention::out>, Role::Out, "B H M D", floats, -1, Layout::Last},
    {"lse", argument<&Attention::lse>, Role::Out, "B H M", float32, -1, Layout::Dense, true},
};

const char *needsAddresses(const Bound &bound) {
  auto &call = bound.as<Attention>();
  if (call.bias || call.dropout > 0)
    return "a bias or dropout";
  return whyNotDescribed({&call.q, &call.k, &call.v, &call.out});
}

constexpr Variant attentionVariants[] = {
    {"forward.flash", "BLOCK_M BLOCK_N", nullptr, forwardRule, launchForward<Attention>},
    {"forward.descriptors", "BLOCK_M BLOCK_N", needsAddresses, forwardRule, launchDescribed},
};

constexpr SizeName attentionSizes[] = {{"B", 'B'}, {"H", 'H'},  {"M", 'M'},
                                       {"D", 'D'}, {"KV", 'G'}, {"N", 'N'}};

// ---- attention_backward

constexpr ArgumentRow attentionBackwardArguments[] = {
    {"q", argument<&AttentionBackward::q>, Role::In, "B H M D", floats},
    {"k", argument<&AttentionBackward::k>, Role::In, "B G N D", floats, 0},
    {"v", argument<&AttentionBackward::v>, Role::In, "B G N D", floats, 0},
    {"bias", argument<&AttentionBackward::bias>, Role::In, "B H M N", floats, -1, Layout::Last,
     true},
    {"slopes", argument<&AttentionBackward::slopes>, Role::In, "H", float32, -1, Layout::Dense,
     true},
    {"out", argument<&AttentionBackward::out>, Role::In, "B H M D", floats},
    {"lse", argument<&AttentionBackward::lse>, Role::In, "B H M", float32},
    {"dout", argument<&AttentionBackward::dout>, Role::In, "B H M D", floats, 0},
    {"dq", argument<&AttentionBackward::dq>, Role::Out, "B H M D", floats},
    {"dk", argument<&AttentionBackward::dk>, Role::Out, "B G N D", floats},
    {"dv", argument<&AttentionBackward::dv>, Role::Out, "B G N D", floats},
};

/// The kernel of one pass reads all tensors by descriptors.
const char *needsPasses(const Bound &bound) {
  auto &call = bound.as<AttentionBackward>();
  if (call.bias || call.dropout > 0)
    return "a bias or dropout";
  return whyNotDescribed({&call.q, &call.k, &call.v, &call.dout, &call.dk, &call.dv});
}

Status launchOnePass(const Bound &bound, const Config &config, Launches &to) {
  auto &call = bound.as<AttentionBackward>();
  const int64_t heads = bound['B'] * bound['H'], elements = heads * bound['M'] * bound['D'];
  const int64_t m = config["BLOCK_M"], n = config["BLOCK_N"], d = blockD(bound);
  const int64_t padded = blocks(bound['M'], m) * m;
  const double scale = scaleOf<AttentionBackward>(bound);
  const Device device = call.q.device();
  auto delta = to.scratchTensor(device, DType::Float32, {heads, padded}),
       log2Lse = to.scratchTensor(device, DType::Float32, {heads, padded}),
       sums = to.scratchTensor(device, DType::Float32,
                               {bound['B'], bound['H'], bound['M'], bound['D']});
  for (auto *tensor : {&delta, &log2Lse, &sums})
    if (!*tensor)
      return tensor->takeError();
  if (Status status =
          to.launch(rowFacts, {}, {blocks(padded, 64), heads},
                    {call.out, call.dout, call.lse, *delta, *log2Lse, *sums, bound['M'], padded,
                     named("D", bound['D']), named("BLOCK_D", d), named("BLOCK_M", 64)});
      !status)
    return status;
  std::vector<TensorDescriptor> described;
  auto describe = [&](const Tensor &tensor, Shape block) -> Status {
    auto made = TensorDescriptor::make(tensor, block);
    if (!made)
      return made.takeError();
    described.push_back(*std::move(made));
    return Success{};
  };
  const std::pair<const Tensor *, int64_t> tensors[] = {
      {&call.q, m}, {&call.k, n}, {&call.v, n},  {&call.dout, m}, {&*log2Lse, 0},
      {&*delta, 0}, {&*sums, m},  {&call.dk, n}, {&call.dv, n}};
  for (auto [tensor, rows] : tensors)
    if (Status status = rows ? describe(*tensor, {1, 1, rows, d}) : describe(*tensor, {1, m});
        !status)
      return status;
  Arguments arguments{};
  for (const TensorDescriptor &descriptor : described)
    arguments.add({descriptor});
  arguments.add({call.slopes, bound['H'] / bound['G'], bound['M'], bound['N'], scale,
                 named("BLOCK_D", d), named("BLOCK_M", m), named("BLOCK_N", n),
                 named("CAUSAL", call.causal),
                 named("PRECISION", precisionName(bound.type(), call.precision)),
                 named("WINDOW", call.window), named("SOFT_CAP", double(call.softCap))});
  if (Status status = to.launch(backwardOnePass, config.options(),
                                {blocks(bound['N'], n), bound['G'], bound['B']}, arguments);
      !status)
    return status;
  constexpr int64_t block = 4096;
  return to.launch(roundSums, {}, {blocks(elements, block)},
                   {*sums, call.dq, elements, scale, named("BLOCK", block)});
}

constexpr Variant attentionBackwardVariants[] = {
    {"backward.flash", "BLOCK_M BLOCK_N", nullptr, backwardRule, launchBackward<AttentionBackward>},
    {"backward.one_pass", "BLOCK_M BLOCK_N", needsPasses, backwardRule, launchOnePass},
};

// ---- attention_varlen

constexpr ArgumentRow varlenArguments[] = {
    {"q", argument<&AttentionVarlen::q>, Role::In, "T H D", floats, -1, Layout::Last},
    {"k", argument<&AttentionVarlen::k>, Role::In, "U G D", floats, 0, Layout::Last},
    {"v", argument<&AttentionVarlen::v>, Role::In, "U G D", floats, 0, Layout::Last},
    {"cuQ", argument<&AttentionVarlen::cuQ>, Role::In, "B+1", int32},
    {"cuK", argument<&AttentionVarlen::cuK>, Role::In, "B+1", int32},
    {"slopes", argument<&AttentionVarlen::slopes>, Role::In, "H", float32, -1, Layout::Dense, true},
    {"out", argument<&AttentionVarlen::out>, Role::Out, "T H D", floats, -1, Layout::Last},
    {"lse", argument<&AttentionVarlen::lse>, Role::Out, "T H", float32, -1, Layout::Dense, true},
};

/// The largest sequence is known to the device alone, and the grid is for it.
template <typename Call> std::string checkVarlen(Bound &bound) {
  auto &call = bound.as<Call>();
  if (call.maxQ < 0 || call.maxQ > bound['T'] || (call.maxQ == 0 && bound['T'] > 0))
    return "`maxQ` is " + std::to_string(call.maxQ) + ", and must be in [1, " +
           std::to_string(bound['T']) + "], the rows of `q`";
  bound.bind('M', call.maxQ);
  if constexpr (requires { call.maxK; })
    if (call.maxK < 0 || call.maxK > bound['U'] || (call.maxK == 0 && bound['U'] > 0))
      return "`maxK` is " + std::to_string(call.maxK) + ", and must be in [1, " +
             std::to_string(bound['U']) + "], the rows of `k`";
  return checkNumbers<Call>(bound);
}

template <typename Call>
Result<std::string> verifyVarlen(const Bound &bound, const Stream &stream) {
  auto &call = bound.as<Call>();
  int64_t maxK = 0;
  if constexpr (requires { call.maxK; })
    maxK = call.maxK;
  auto problem = verifyOffsets("cuQ", call.cuQ, bound['T'], call.maxQ, stream);
  return problem && problem->empty() ? verifyOffsets("cuK", call.cuK, bound['U'], maxK, stream)
                                     : problem;
}

constexpr Variant varlenVariants[] = {
    {"lengths.flash", "BLOCK_M BLOCK_N", nullptr, forwardRule, launchForward<AttentionVarlen>},
};

constexpr SizeName varlenSizes[] = {{"queries", 'B', SizeName::Count},
                                    {"queries", 'T', SizeName::Sum},
                                    {"queries", 'M', SizeName::Largest},
                                    {"keys", 'U', SizeName::Sum},
                                    {"H", 'H'},
                                    {"KV", 'G'},
                                    {"D", 'D'}};

// ---- attention_varlen_backward

constexpr ArgumentRow varlenBackwardArguments[] = {
    {"q", argument<&AttentionVarlenBackward::q>, Role::In, "T H D", floats},
    {"k", argument<&AttentionVarlenBackward::k>, Role::In, "U G D", floats, 0},
    {"v", argument<&AttentionVarlenBackward::v>, Role::In, "U G D", floats, 0},
    {"cuQ", argument<&AttentionVarlenBackward::cuQ>, Role::In, "B+1", int32},
    {"cuK", argument<&AttentionVarlenBackward::cuK>, Role::In, "B+1", int32},
    {"slopes", argument<&AttentionVarlenBackward::slopes>, Role::In, "H", float32, -1,
     Layout::Dense, true},
    {"out", argument<&AttentionVarlenBackward::out>, Role::In, "T H D", floats},
    {"lse", argument<&AttentionVarlenBackward::lse>, Role::In, "T H", float32},
    {"dout", argument<&AttentionVarlenBackward::dout>, Role::In, "T H D", floats, 0},
    {"dq", argument<&AttentionVarlenBackward::dq>, Role::Out, "T H D", floats},
    {"dk", argument<&AttentionVarlenBackward::dk>, Role::Out, "U G D", floats},
    {"dv", argument<&AttentionVarlenBackward::dv>, Role::Out, "U G D", floats},
};

constexpr Variant varlenBackwardVariants[] = {
    {"lengths_backward.flash", "BLOCK_M BLOCK_N", nullptr, backwardRule,
     launchBackward<AttentionVarlenBackward>},
};

constexpr OperationRow attentionTable[] = {
    {Operation::Attention, "attention", "flash_attention", attentionArguments, attentionVariants,
     attentionSizes, "BHMD",
     [](Bound &bound) -> std::string {
       auto &call = bound.as<Attention>();
       if (call.descale && info(call.q.type()).bytes != 1)
         return "`descale` is given, and `q` is " + textOf(call.q) +
                ": only inputs of 8 bits are multiplied by one";
       return checkNumbers<Attention>(bound);
     },
     nullptr, agreesOnMasks<Attention>, argument<&Attention::workspace>},
    {Operation::AttentionBackward, "attention_backward", "flash_attention",
     attentionBackwardArguments, attentionBackwardVariants, attentionSizes, "BHD",
     checkNumbers<AttentionBackward>, nullptr, agreesOnMasks<AttentionBackward>,
     argument<&AttentionBackward::workspace>},
    {Operation::AttentionVarlen, "attention_varlen", "flash_attention", varlenArguments,
     varlenVariants, varlenSizes, "BTHD", checkVarlen<AttentionVarlen>,
     verifyVarlen<AttentionVarlen>, agreesOnMasks<AttentionVarlen>,
     argument<&AttentionVarlen::workspace>},
    {Operation::AttentionVarlenBackward, "attention_varlen_backward", "flash_attention",
     varlenBackwardArguments, varlenBackwardVariants, varlenSizes, "BHD",
     checkVarlen<AttentionVarlenBackward>, verifyVarlen<AttentionVarlenBackward>,
     agreesOnMasks<AttentionVarlenBackward>, argument<&AttentionVarlenBackward::workspace>},
};

} // namespace

std::span<const OperationRow> attentionRows() { return attentionTable; }

} // namespace nereid::kernels
