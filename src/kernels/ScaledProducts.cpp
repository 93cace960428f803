// Products of 8 bits with scales, and how rows and blocks are brought to 8 bits.
#include "kernels/Products.h"

#include <algorithm>

namespace nereid::kernels {

namespace {

// ---- matmul_scaled

constexpr KernelSource matmulScaled{"matmul_scaled", "kernel.py", "matmul_scaled"},
    matmulScaledDescriptors{"matmul_scaled", "kernel.py", "matmul_scaled_descriptors"};

constexpr ArgumentRow matmulScaledArguments[] = {
    {"a", argument<&MatmulScaled::a>, Role::In, "M K", eightBits, -1, Layout::Last},
    {"b", argument<&MatmulScaled::b>, Role::In, "N K", eightBits, 0, Layout::Last},
    {"aScale", argument<&MatmulScaled::aScale>, Role::In, "S", float32},
    {"bScale", argument<&MatmulScaled::bScale>, Role::In, "U", float32},
    {"bias", argument<&MatmulScaled::bias>, Role::In, "N", floats, -1, Layout::Dense, true},
    {"cScale", argument<&MatmulScaled::cScale>, Role::In, "1", float32, -1, Layout::Dense, true},
    {"c", argument<&MatmulScaled::c>, Role::Out, "M N", floats | narrowFloats, -1, Layout::Last},
};

bool isPerTensor(const Bound &bound) {
  return bound['S'] == 1 && bound['U'] == 1 && (bound['M'] != 1 || bound['N'] != 1);
}

std::string checkScaled(Bound &bound) {
  auto &call = bound.as<MatmulScaled>();
  bool perRow = bound['S'] == bound['M'] && bound['U'] == bound['N'];
  if (!perRow && !isPerTensor(bound))
    return "`aScale` is " + textOf(call.aScale) + " and `bScale` " + textOf(call.bScale) +
           ", and must be [" + std::to_string(bound['M']) + "] and [" + std::to_string(bound['N']) +
           "], or both [1]";
  return checkScale(call.c, call.cScale, "cScale");
}

constexpr Variant matmulScaledVariants[] = {
    {"rows.pointers", "BLOCK_M BLOCK_N BLOCK_K GROUP_M", nullptr, productRule<MatmulScaled>,
     [](const Bound &bound, const Config &config, Launches &to) {
       auto &call = bound.as<MatmulScaled>();
       const int64_t m = config["BLOCK_M"], n = config["BLOCK_N"], k = config["BLOCK_K"];
       return to.launch(
           matmulScaled, config.options(), {blocks(bound['M'], m) * blocks(bound['N'], n)},
           {call.a, call.b, call.aScale, call.bScale, call.bias, call.c, call.cScale, bound['M'],
            bound['N'], bound['K'], call.a.strides()[0], call.b.strides()[0], call.c.strides()[0],
            named("BLOCK_M", m), named("BLOCK_N", n), named("BLOCK_K", k),
            named("GROUP_M", config["GROUP_M"]), named("EVEN_K", bound['K'] % k == 0),
            named("PER_TENSOR", isPerTensor(bound))});
     }},
    {"rows.descriptors", "BLOCK_M BLOCK_N BLOCK_K GROUP_M",
     [](const Bound &bound) -> const char * {
       auto &call = bound.as<MatmulScaled>();
       return whyNotDescribed({&call.a, &call.b, &call.c});
     },
     productRule<MatmulScaled>,
     [](const Bound &bound, const Config &config, Launches &to) -> Status {
       auto &call = bound.as<MatmulScaled>();
       const int64_t m = config["BLOCK_M"], n = config["BLOCK_N"], k = config["BLOCK_K"];
       auto a = TensorDescriptor::make(call.a, {m, k}), b = TensorDescriptor::make(call.b, {n, k}),
            c = TensorDescriptor::make(call.c, {m, n});
       for (auto *descriptor : {&a, &b, &c})
         if (!*descriptor)
           return descriptor->takeError();
       return to.launch(matmulScaledDescriptors, config.options(),
                        {blocks(bound['M'], m) * blocks(bound['N'], n)},
                        {*a, *b, call.aScale, call.bScale, call.bias, *c, call.cScale, bound['M'],
                         bound['N'], bound['K'], named("BLOCK_M", m), named("BLOCK_N", n),
                         named("BLOCK_K", k), named("GROUP_M", config["GROUP_M"]),
                         named("PER_TENSOR", isPerTensor(bound))});
     }},
};

// ---- matmul_block_scaled, quantize_blocks

constexpr KernelSource matmulBlockScaled{"matmul_scaled", "kernel.py", "matmul_block_scaled"},
    quantizeBlocks{"matmul_scaled", "quantise.py", "quantise_blocks"};

constexpr ArgumentRow blockScaledArguments[] = {
    {"a", argument<&MatmulBlockScaled::a>, Role::In, "M K", eightBits, -1, Layout::Last},
    {"b", argument<&MatmulBlockScaled::b>, Role::In, "N K", eightBits, 0, Layout::Last},
    {"aScale", argument<&MatmulBlockScaled::aScale>, Role::In, "K/128 M", float32},
    {"bScale", argument<&MatmulBlockScaled::bScale>, Role::In, "N/128 K/128", float32},
    {"c", argument<&MatmulBlockScaled::c>, Role::Out, "M N", floats, -1, Layout::Last},
};

constexpr Variant blockScaledVariants[] = {
    {"blocks.pointers", "BLOCK_M BLOCK_N GROUP_M", nullptr,
     [](const Bound &bound) {
       const bool isSmall = bound.isCpu || bound['M'] <= 64;
       return Config{{"BLOCK_M", isSmall ? 64 : 128},
                     {"BLOCK_N", isSmall ? 64 : 128},
                     {"GROUP_M", 8},
                     {"num_warps", isSmall ? 4 : 8},
                     {"num_stages", 3}};
     },
     [](const Bound &bound, const Config &config, Launches &to) {
       auto &call = bound.as<MatmulBlockScaled>();
       const int64_t m = config["BLOCK_M"], n = config["BLOCK_N"];
       return to.launch(
           matmulBlockScaled, config.options(), {blocks(bound['M'], m) * blocks(bound['N'], n)},
           {call.a, call.b, call.aScale, call.bScale, call.c, bound['M'], bound['N'], bound['K'],
            call.a.strides()[0], call.b.strides()[0], call.c.strides()[0], call.aScale.strides()[0],
            call.bScale.strides()[0], named("BLOCK_M", m), named("BLOCK_N", n),
            named("GROUP_M", config["GROUP_M"]), named("EVEN_K", bound['K'] % 128 == 0)});
     }},
};

constexpr ArgumentRow quantizeBlocksArguments[] = {
    {"x", argument<&QuantizeBlocks::x>, Role::In, "M N", floats, -1, Layout::Last},
    {"q", argument<&QuantizeBlocks::q>, Role::Out, "M N", eightBits, -1, Layout::Last},
    {"scale", argument<&QuantizeBlocks::scale>, Role::Out, "R S", float32},
};

std::string checkQuantizeBlocks(Bound &bound) {
  auto &call = bound.as<QuantizeBlocks>();
  const int64_t wide = blocks(bound['N'], 128);
  const int64_t rows = call.square ? blocks(bound['M'], 128) : wide,
                columns = call.square ? wide : bound['M'];
  return bound['R'] == rows && bound['S'] == columns
             ? ""
             : "`scale` is " + textOf(call.scale) + ", and must be [" + std::to_string(rows) +
                   ", " + std::to_string(columns) + "]";
}

constexpr Variant quantizeBlocksVariants[] = {
    {"quantise_blocks.each", "BLOCK_M", nullptr,
     [](const Bound &) { return Config{{"BLOCK_M", 32}, {"num_warps", 4}}; },
     [](const Bound &bound, const Config &config, Launches &to) {
       auto &call = bound.as<QuantizeBlocks>();
       const int64_t height = call.square ? 128 : config["BLOCK_M"];
       auto scale = call.scale.strides();
       return to.launch(
           quantizeBlocks, config.options(), {blocks(bound['M'], height), blocks(bound['N'], 128)},
           {call.x, call.q, call.scale, bound['M'], bound['N'], call.x.strides()[0],
            call.q.strides()[0], scale[call.square ? 0 : 1], scale[call.square ? 1 : 0],
            named("LARGEST", largestOf(call.q.type())), named("WHOLE", call.square),
            named("BLOCK_M", height), named("BLOCK_N", 128)});
     }},
};

// ---- quantize_rows

constexpr KernelSource quantizeRows{"matmul_scaled", "quantise.py", "quantise_rows"};

constexpr ArgumentRow quantizeArguments[] = {
    {"x", argument<&QuantizeRows::x>, Role::In, "... N", floats, -1, Layout::Rows},
    {"q", argument<&QuantizeRows::q>, Role::Out, "... N", eightBits, -1, Layout::Rows},
    {"scale", argument<&QuantizeRows::scale>, Role::Out, "...", float32},
};

constexpr Variant quantizeVariants[] = {
    {"quantise_rows.each", "BLOCK", nullptr,
     [](const Bound &bound) {
       return Config{{"BLOCK", std::min<int64_t>(4096, powerOfTwo(bound['N']))}, {"num_warps", 8}};
     },
     [](const Bound &bound, const Config &config, Launches &to) {
       auto &call = bound.as<QuantizeRows>();
       return to.launch(quantizeRows, config.options(), {bound['M']},
                        {call.x, call.q, call.scale, bound.rowStride[0], bound.rowStride[1],
                         bound['N'], named("LARGEST", largestOf(call.q.type())),
                         named("BLOCK", config["BLOCK"])});
     }},
};

constexpr SizeName quantizeSizes[] = {{"M", 'M'}, {"N", 'N'}};

constexpr OperationRow scaledProductTable[] = {
    {Operation::MatmulScaled, "matmul_scaled", "matmul_scaled", matmulScaledArguments,
     matmulScaledVariants, productSizes, "MN", checkScaled},
    {Operation::MatmulBlockScaled, "matmul_block_scaled", "matmul_scaled", blockScaledArguments,
     blockScaledVariants, productSizes, "MN"},
    {Operation::QuantizeBlocks, "quantize_blocks", "matmul_scaled", quantizeBlocksArguments,
     quantizeBlocksVariants, quantizeSizes, "MN", checkQuantizeBlocks},
    {Operation::QuantizeRows, "quantize_rows", "matmul_scaled", quantizeArguments, quantizeVariants,
     quantizeSizes, "M"},
};

} // namespace

std::span<const OperationRow> scaledProductRows() { return scaledProductTable; }

} // namespace nereid::kernels
