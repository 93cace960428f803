// Products of groups of rows with a matrix each, and the gradients of those matrices.
#include "kernels/Products.h"

#include <algorithm>

namespace nereid::kernels {

namespace {

// ---- matmul_grouped

constexpr KernelSource groupedSearch{"matmul_grouped", "kernel.py", "grouped_search"},
    groupedWalk{"matmul_grouped", "kernel.py", "grouped_walk"};

constexpr ArgumentRow matmulGroupedArguments[] = {
    {"a", argument<&MatmulGrouped::a>, Role::In, "T K", floats, -1, Layout::Last},
    {"b", argument<&MatmulGrouped::b>, Role::In, "G K N", floats, 0, Layout::Strided},
    {"offsets", argument<&MatmulGrouped::offsets>, Role::In, "G+1", int32},
    {"c", argument<&MatmulGrouped::c>, Role::Out, "T N", floats, -1, Layout::Last},
};

Result<std::string> verifyGrouped(const Bound &bound, const Stream &stream) {
  return verifyOffsets("offsets", bound.as<MatmulGrouped>().offsets, bound['T'], 0, stream);
}

/// Rows are shared by the groups about evenly, as far as a rule can know.
Config groupedRule(const Bound &bound) {
  int64_t each = blocks(bound['T'], std::max<int64_t>(bound['G'], 1));
  return tilesFor(each, bound['N'], bound['G'], bound.as<MatmulGrouped>().b, bound);
}

template <bool searches>
Status groupedPlan(const Bound &bound, const Config &config, Launches &to) {
  auto &call = bound.as<MatmulGrouped>();
  auto b = call.b.strides();
  const int64_t m = config["BLOCK_M"], n = config["BLOCK_N"], k = config["BLOCK_K"];
  const int64_t rows = bound['T'], groups = bound['G'], columns = bound['N'];
  Argument blockM = named("BLOCK_M", m), blockN = named("BLOCK_N", n), blockK = named("BLOCK_K", k),
           even = named("EVEN_K", bound['K'] % k == 0),
           precision = named("PRECISION", precisionName(bound.type(), call.precision));
  if (searches)
    // Each group can waste less than one tile, and no more groups than rows have any.
    return to.launch(
        groupedSearch, config.options(), {rows / m + std::min(groups, rows), blocks(columns, n)},
        {call.a, call.b, call.c, call.offsets, groups, columns, bound['K'], call.a.strides()[0],
         b[0], b[1], b[2], call.c.strides()[0], named("BLOCK_G", powerOfTwo(groups)), blockM,
         blockN, blockK, even, precision});
  return to.launch(groupedWalk, config.options(), {int64_t(bound.units)},
                   {call.a, call.b, call.c, call.offsets, groups, columns, bound['K'],
                    call.a.strides()[0], b[0], b[1], b[2], call.c.strides()[0], blockM, blockN,
                    blockK, even, precision});
}

constexpr Variant matmulGroupedVariants[] = {
    {"forward.search", "BLOCK_M BLOCK_N BLOCK_K", nullptr, groupedRule, groupedPlan<true>},
    {"forward.walk", "BLOCK_M BLOCK_N BLOCK_K", nullptr, groupedRule, groupedPlan<false>},
};

constexpr SizeName groupedSizes[] = {
    {"sizes", 'T', SizeName::Sum}, {"sizes", 'G', SizeName::Count}, {"N", 'N'}, {"K", 'K'}};

// ---- matmul_grouped_weight_gradient

constexpr KernelSource groupedWeightGradient{"matmul_grouped", "kernel.py",
                                             "grouped_weight_gradient"},
    groupedWeightGradientDescriptors{"matmul_grouped", "kernel.py",
                                     "grouped_weight_gradient_descriptors"};

constexpr ArgumentRow weightGradientArguments[] = {
    {"a", argument<&MatmulGroupedWeightGradient::a>, Role::In, "T K", floats, -1, Layout::Last},
    {"dc", argument<&MatmulGroupedWeightGradient::dc>, Role::In, "T N", floats, 0, Layout::Last},
    {"offsets", argument<&MatmulGroupedWeightGradient::offsets>, Role::In, "G+1", int32},
    {"db", argument<&MatmulGroupedWeightGradient::db>, Role::Out, "G K N", floats},
};

bool hasSmallGradientTiles(const Bound &bound) {
  return bound.isCpu || bound.type() == DType::Float32;
}

Config weightGradientRule(const Bound &bound) {
  const bool isSmall = hasSmallGradientTiles(bound);
  return Config{{"BLOCK_M", isSmall ? 32 : 64},
                {"BLOCK_N", isSmall ? 64 : 128},
                {"BLOCK_K", isSmall ? 64 : 128},
                {"num_warps", isSmall ? 4 : 8},
                {"num_stages", 3}};
}

constexpr Variant weightGradientVariants[] = {
    {"weight_gradient.descriptors", "BLOCK_M BLOCK_N BLOCK_K",
     [](const Bound &bound) -> const char * {
       auto &call = bound.as<MatmulGroupedWeightGradient>();
       return whyNotDescribed({&call.a, &call.dc, &call.db});
     },
     weightGradientRule,
     [](const Bound &bound, const Config &config, Launches &to) -> Status {
       auto &call = bound.as<MatmulGroupedWeightGradient>();
       const int64_t m = config["BLOCK_M"], n = config["BLOCK_N"], k = config["BLOCK_K"];
       auto db = TensorDescriptor::make(call.db, {1, k, n});
       if (!db)
         return db.takeError();
       return to.launch(
           groupedWeightGradientDescriptors, config.options(), {int64_t(bound.units), bound['G']},
           {call.a, call.dc, *db, call.offsets, bound['N'], bound['K'], call.a.strides()[0],
            call.dc.strides()[0], named("BLOCK_K", k), named("BLOCK_N", n), named("BLOCK_M", m),
            named("PRECISION", precisionName(bound.type(), call.precision))});
     },
     hasSmallGradientTiles},
    {"weight_gradient.tiles", "BLOCK_M BLOCK_N BLOCK_K", nullptr, weightGradientRule,
     [](const Bound &bound, const Config &config, Launches &to) {
       auto &call = bound.as<MatmulGroupedWeightGradient>();
       const int64_t m = config["BLOCK_M"], n = config["BLOCK_N"], k = config["BLOCK_K"];
       return to.launch(groupedWeightGradient, config.options(),
                        {blocks(bound['K'], k) * blocks(bound['N'], n), bound['G']},
                        {call.a, call.dc, call.db, call.offsets, bound['N'], bound['K'],
                         call.a.strides()[0], call.dc.strides()[0], named("BLOCK_K", k),
                         named("BLOCK_N", n), named("BLOCK_M", m),
                         named("PRECISION", precisionName(bound.type(), call.precision))});
     }},
};

constexpr OperationRow groupedProductTable[] = {
    {Operation::MatmulGrouped, "matmul_grouped", "matmul_grouped", matmulGroupedArguments,
     matmulGroupedVariants, groupedSizes, "TN", nullptr, verifyGrouped},
    {Operation::MatmulGroupedWeightGradient, "matmul_grouped_weight_gradient", "matmul_grouped",
     weightGradientArguments, weightGradientVariants, groupedSizes, "GKN", nullptr,
     [](const Bound &bound, const Stream &stream) {
       return verifyOffsets("offsets", bound.as<MatmulGroupedWeightGradient>().offsets, bound['T'],
                            0, stream);
     }},
};

} // namespace

std::span<const OperationRow> groupedProductRows() { return groupedProductTable; }

} // namespace nereid::kernels
