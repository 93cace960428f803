// Sorting, running sums and counts.
#include "kernels/Call.h"

#include "support/Specialization.h"

#include <algorithm>

namespace nereid::kernels {

using support::Constant;

namespace {

constexpr KernelSource sortRowsKernel{"sort", "kernel.py", "sort_rows"},
    topKRowsKernel{"sort", "kernel.py", "top_k_rows"},
    cumsumRowsKernel{"scan", "kernel.py", "cumsum_rows"},
    blockSumsKernel{"scan", "kernel.py", "block_sums"},
    addBeforeKernel{"scan", "kernel.py", "add_before"},
    histogramKernel{"scan", "kernel.py", "histogram"}, clearKernel{"scan", "kernel.py", "clear"};

constexpr SizeName topKSizes[] = {{"M", 'M'}, {"N", 'N'}, {"K", 'K'}};

// ---- sort, top_k

constexpr ArgumentRow sortArguments[] = {
    {"x", argument<&Sort::x>, Role::In, "... N", floats, -1, Layout::Rows},
    {"y", argument<&Sort::y>, Role::Out, "... N", floats, -1, Layout::Dense, false, 0b1},
    {"index", argument<&Sort::index>, Role::Out, "... N", int32},
};

constexpr Variant sortVariants[] = {
    {"sort.bitonic", "",
     [](const Bound &bound) -> const char * {
       return bound['N'] > 16384 ? "rows of more than 16384" : nullptr;
     },
     [](const Bound &bound) {
       return Config{{"num_warps", bound['N'] <= 512 ? 2 : bound['N'] <= 2048 ? 4 : 8}};
     },
     [](const Bound &bound, const Config &config, Launches &to) {
       auto &call = bound.as<Sort>();
       return to.launch(sortRowsKernel, config.options(), {bound['M']},
                        {call.x, call.y, call.index, bound.rowStride[0], bound['N'],
                         named("DESCENDING", call.descending),
                         named("BLOCK", powerOfTwo(bound['N']))});
     }},
};

constexpr ArgumentRow topKArguments[] = {
    {"x", argument<&TopK::x>, Role::In, "... N", floats, -1, Layout::Rows},
    {"y", argument<&TopK::y>, Role::Out, "... K", floats},
    {"index", argument<&TopK::index>, Role::Out, "... K", int32},
};

constexpr Variant topKVariants[] = {
    {"top_k.blocks", "BLOCK", nullptr,
     [](const Bound &bound) {
       return Config{{"BLOCK", std::min<int64_t>(1024, powerOfTwo(bound['N']))}, {"num_warps", 4}};
     },
     [](const Bound &bound, const Config &config, Launches &to) {
       auto &call = bound.as<TopK>();
       const int64_t width = powerOfTwo(bound['K']);
       return to.launch(topKRowsKernel, config.options(), {bound['M']},
                        {call.x, call.y, call.index, bound.rowStride[0], bound['N'], bound['K'],
                         named("BLOCK_K", width),
                         named("BLOCK", std::max(config["BLOCK"], width))});
     }},
};

// ---- cumsum

constexpr ArgumentRow cumsumArguments[] = {
    {"x", argument<&Cumsum::x>, Role::In, "... N", floats | indices, -1, Layout::Rows},
    {"y", argument<&Cumsum::y>, Role::Out, "... N", floats | indices, -1, Layout::Dense, false,
     0b1},
};

constexpr SizeName cumsumSizes[] = {{"M", 'M'}, {"N", 'N'}, {"n", 'n'}};

/// One row for itself, as a long vector.
const char *notOneRow(const Bound &bound) {
  return bound['M'] != 1                              ? "more than one row"
         : !info(bound.as<Cumsum>().x.type()).isFloat ? "integers"
                                                      : nullptr;
}

constexpr Variant cumsumVariants[] = {
    {"vector.three_launches", "BLOCK", notOneRow,
     [](const Bound &bound) {
       return Config{{"BLOCK", bound.isCpu ? 8192 : 2048}, {"num_warps", 4}};
     },
     [](const Bound &bound, const Config &config, Launches &to) -> Status {
       auto &call = bound.as<Cumsum>();
       const int64_t n = bound['N'], block = config["BLOCK"], parts = blocks(n, block);
       Argument sums = to.scratch(DType::Float32, parts);
       if (Status status = to.launch(blockSumsKernel, config.options(), {parts},
                                     {call.x, sums, n, named("BLOCK", block)});
           !status)
         return status;
       CompileOptions wide;
       wide.numWarps = 8;
       if (Status status = to.launch(cumsumRowsKernel, wide, {parts > 0},
                                     {sums, sums, 0, parts, named("BLOCK", 4096)});
           !status)
         return status;
       return to.launch(addBeforeKernel, config.options(), {parts},
                        {call.x, sums, call.y, n, named("BLOCK", block)});
     },
     [](const Bound &bound) { return bound['N'] < 65536; }},
    {"rows.blocks", "BLOCK", nullptr,
     [](const Bound &bound) {
       return Config{{"BLOCK", std::min<int64_t>(2048, powerOfTwo(bound['N']))}, {"num_warps", 4}};
     },
     [](const Bound &bound, const Config &config, Launches &to) {
       auto &call = bound.as<Cumsum>();
       return to.launch(
           cumsumRowsKernel, config.options(), {bound['M']},
           {call.x, call.y, bound.rowStride[0], bound['N'], named("BLOCK", config["BLOCK"])});
     }},
};

// ---- histogram

constexpr ArgumentRow histogramArguments[] = {
    {"x", argument<&Histogram::x>, Role::In, "*", int32},
    {"counts", argument<&Histogram::counts>, Role::Out, "U", int32},
};

constexpr SizeName histogramSizes[] = {{"n", 'n'}, {"bins", 'U'}};

constexpr Variant histogramVariants[] = {
    {"histogram.private_counts", "BLOCK PROGRAMS", nullptr,
     [](const Bound &bound) {
       return Config{{"BLOCK", 1024}, {"PROGRAMS", 4 * int64_t(bound.units)}, {"num_warps", 4}};
     },
     [](const Bound &bound, const Config &config, Launches &to) -> Status {
       auto &call = bound.as<Histogram>();
       const int64_t bins = bound['U'], block = config["BLOCK"];
       if (Status status = to.launch(clearKernel, {}, {blocks(bins, 1024)},
                                     {call.counts, bins, named("BLOCK", 1024)});
           !status)
         return status;
       return to.launch(histogramKernel, config.options(),
                        {std::min(config["PROGRAMS"], blocks(bound['n'], block))},
                        {call.x, call.counts, bound['n'], bins,
                         named("BLOCK_BINS", powerOfTwo(bins)), named("BLOCK", block)});
     }},
};

constexpr OperationRow orderTable[] = {
    {Operation::Sort, "sort", "sort", sortArguments, sortVariants, topKSizes, "MN", nullptr,
     nullptr,
     [](const Bound &bound, std::string_view name, const Constant &value) {
       return name == "descending" && value == Constant::boolean(bound.as<Sort>().descending);
     }},
    {Operation::TopK, "top_k", "sort", topKArguments, topKVariants, topKSizes, "MK",
     [](Bound &bound) {
       return bound['K'] > bound['N'] || bound['K'] > 4096
                  ? "`y` is " + textOf(bound.as<TopK>().y) + ", and must have at most " +
                        std::to_string(std::min<int64_t>(bound['N'], 4096)) + " columns"
                  : std::string();
     }},
    {Operation::Cumsum, "cumsum", "scan", cumsumArguments, cumsumVariants, cumsumSizes, "MN",
     [](Bound &bound) {
       auto &call = bound.as<Cumsum>();
       if (info(call.x.type()).isFloat)
         bound.bind('n', bound['N']);
       const bool fits = info(call.x.type()).isFloat ? info(call.y.type()).isFloat
                                                     : call.x.type() == call.y.type();
       return fits ? std::string()
                   : "`y` is " + textOf(call.y) + ", and must be " +
                         (info(call.x.type()).isFloat ? "float for a float `x`"
                                                      : "of the type of `x`, " + textOf(call.x));
     },
     nullptr, nullptr, argument<&Cumsum::workspace>},
    {Operation::Histogram, "histogram", "scan", histogramArguments, histogramVariants,
     histogramSizes, "U",
     [](Bound &bound) {
       return bound['U'] > 32768 ? "`counts` is " + textOf(bound.as<Histogram>().counts) +
                                       ", and must have at most 32768 elements"
                                 : std::string();
     }},
};

} // namespace

std::span<const OperationRow> orderRows() { return orderTable; }

} // namespace nereid::kernels
