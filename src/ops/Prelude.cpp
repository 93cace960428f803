// Rows of the composites in prelude.py.

#include "ops/Build.h"

namespace nereid::ops {

std::string_view preludeSource() {
  static constexpr char text[] = {
#include "ops/Prelude.inc"
  };
  return {text, sizeof text};
}

namespace {

constexpr Row prelude(std::string_view name, std::string_view family, std::string_view signature,
                      std::string_view summary, bool method = false, std::string_view remark = {}) {
  return {.name = name,
          .family = family,
          .signature = signature,
          .build = nullptr,
          .summary = summary,
          .method = method,
          .remark = remark,
          .prelude = true};
}

constexpr Row SortRows[] = {
    prelude("softmax", "reduction", "x, dim=None, keep_dims=False, ieee_rounding=False",
            "exp(x - max) over its sum, along a dimension.", true),
    prelude("sort", "sort", "x, dim=None, descending=False",
            "Elements in order along the last dimension.", true, "NaN has no place in the order."),
    prelude(
        "topk", "sort", "x, k, dim=None, descending=True",
        "The `k` greatest elements along the last dimension.", false,
        "16-bit floats give f32 and narrow integers int32 if `k` is less than the extent, as in "
        "Triton."),
    prelude("bitonic_merge", "sort", "x, dim=None, descending=False",
            "Sorts a bitonic sequence along the last dimension."),
    prelude("flip", "sort", "x, dim=None", "Elements in reverse order along a dimension.", true),
    prelude("swizzle2d", "program", "i, j, size_i, size_j, size_g",
            "Row-major indices to column-major ones within groups of `size_g` rows."),
    prelude("atomic_load", "atomic", "pointer, mask=None, sem=None, scope=None",
            "Reads in one order with other atomics, `acquire` or `relaxed`.", true,
            "Of Triton 3.9; from memory that may be written, 0 where masked."),
    prelude("atomic_store", "atomic", "pointer, val, mask=None, sem=None, scope=None",
            "Writes in one order with other atomics, `release` or `relaxed`.", true,
            "Of Triton 3.9."),
    prelude("atomic_poll", "atomic", "pointer, expected, sem=None, scope=None, timeout_ns=None",
            "Waits until memory equals `expected`, at most `timeout_ns`; says of each element "
            "whether it does.",
            true,
            "Of Triton 3.9. Programs of a CPU or of the interpreter run one after the other: wait "
            "only for what runs before."),
};

constexpr std::string_view Two = "a, b";
constexpr std::string_view Indexed = "value1, index1, value2, index2";

// What `tl.standard` calls the functions of its own reductions.
constexpr Row CombineRows[] = {
    prelude("_argmax_combine", "reduction", "value1, index1, value2, index2, tie_break_left",
            "The greater of two values, with its index."),
    prelude("_argmax_combine_tie_break_left", "reduction", Indexed,
            "The greater of two values, with its index; of equal ones the lower index."),
    prelude("_argmax_combine_tie_break_fast", "reduction", Indexed,
            "The greater of two values, with its index; of equal ones the second."),
    prelude("_argmin_combine", "reduction", "value1, index1, value2, index2, tie_break_left",
            "The lesser of two values, with its index."),
    prelude("_argmin_combine_tie_break_left", "reduction", Indexed,
            "The lesser of two values, with its index; of equal ones the lower index."),
    prelude("_argmin_combine_tie_break_fast", "reduction", Indexed,
            "The lesser of two values, with its index; of equal ones the second."),
    prelude("_elementwise_max", "reduction", Two, "`tl.maximum`, as a reduction's function."),
    prelude("_elementwise_min", "reduction", Two, "`tl.minimum`, as a reduction's function."),
    prelude("_sum_combine", "reduction", Two, "`a + b`, as a reduction's function."),
    prelude("_prod_combine", "reduction", Two, "`a * b`, as a reduction's function."),
    prelude("_xor_combine", "reduction", Two, "`a ^ b`, as a reduction's function."),
    prelude("_or_combine", "reduction", "x, y", "`x | y`, as a reduction's function."),
};

constexpr std::string_view Offset = "seed, offset, n_rounds=10";

constexpr Row RandomRows[] = {
    prelude("philox", "random", "seed, c0, c1, c2, c3, n_rounds=10",
            "Philox on four counters, keyed by a seed of 64 bits."),
    prelude("philox_impl", "random", "c0, c1, c2, c3, k0, k1, n_rounds=10",
            "Rounds of Philox on counters and keys."),
    prelude("randint", "random", Offset, "Random uint32."),
    prelude("randint4x", "random", Offset, "Four tiles of random uint32."),
    prelude("rand", "random", Offset, "Random float32 in [0, 1)."),
    prelude("rand4x", "random", "seed, offsets, n_rounds=10", "Four tiles of random float32."),
    prelude("randn", "random", Offset, "Normally distributed random float32."),
    prelude("randn4x", "random", Offset, "Four tiles of normally distributed float32."),
    prelude("uint_to_uniform_float", "random", "x", "Random integers to floats in [0, 1)."),
    prelude("pair_uniform_to_normal", "random", "u1, u2",
            "Two uniform numbers to two normally distributed ones."),
};

} // namespace

std::span<const Row> sortRows() { return SortRows; }
std::span<const Row> combineRows() { return CombineRows; }
std::span<const Row> randomRows() { return RandomRows; }

} // namespace nereid::ops
