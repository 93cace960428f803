#include "Fixture.h"

#include <set>

namespace nereid::ops::test {
namespace {

// Every name of `tl` that the reference lists as public, whatever its status.
constexpr const char *PublicNames[] = {"program_id",
                                       "num_programs",
                                       "tensor",
                                       "tensor_descriptor",
                                       "tensor_descriptor_type",
                                       "dtype",
                                       "pointer_type",
                                       "block_type",
                                       "void",
                                       "pi32_t",
                                       "const",
                                       "constexpr",
                                       "constexpr_type",
                                       "tuple",
                                       "tuple_type",
                                       "slice",
                                       "TRITON_MAX_TENSOR_NUMEL",
                                       "int1",
                                       "int8",
                                       "int16",
                                       "int32",
                                       "int64",
                                       "uint8",
                                       "uint16",
                                       "uint32",
                                       "uint64",
                                       "float16",
                                       "bfloat16",
                                       "float32",
                                       "float64",
                                       "float8e5",
                                       "float8e4nv",
                                       "float8e4b8",
                                       "float8e4b15",
                                       "float8e5b16",
                                       "arange",
                                       "zeros",
                                       "zeros_like",
                                       "full",
                                       "cat",
                                       "cast",
                                       "to_tensor",
                                       "broadcast",
                                       "broadcast_to",
                                       "expand_dims",
                                       "interleave",
                                       "join",
                                       "permute",
                                       "ravel",
                                       "reshape",
                                       "split",
                                       "squeeze",
                                       "trans",
                                       "unsqueeze",
                                       "view",
                                       "dot",
                                       "dot_scaled",
                                       "load",
                                       "store",
                                       "make_block_ptr",
                                       "advance",
                                       "make_tensor_descriptor",
                                       "load_tensor_descriptor",
                                       "store_tensor_descriptor",
                                       "gather",
                                       "where",
                                       "flip",
                                       "swizzle2d",
                                       "add",
                                       "sub",
                                       "mul",
                                       "maximum",
                                       "minimum",
                                       "clamp",
                                       "PropagateNan",
                                       "abs",
                                       "cdiv",
                                       "ceil",
                                       "cos",
                                       "div_rn",
                                       "erf",
                                       "exp",
                                       "exp2",
                                       "fdiv",
                                       "floor",
                                       "fma",
                                       "log",
                                       "log2",
                                       "rsqrt",
                                       "sigmoid",
                                       "sin",
                                       "softmax",
                                       "sqrt",
                                       "sqrt_rn",
                                       "umulhi",
                                       "sum",
                                       "max",
                                       "min",
                                       "argmax",
                                       "argmin",
                                       "reduce",
                                       "reduce_or",
                                       "xor_sum",
                                       "associative_scan",
                                       "cumsum",
                                       "cumprod",
                                       "histogram",
                                       "sort",
                                       "topk",
                                       "bitonic_merge",
                                       "map_elementwise",
                                       "atomic_add",
                                       "atomic_and",
                                       "atomic_cas",
                                       "atomic_max",
                                       "atomic_min",
                                       "atomic_or",
                                       "atomic_xchg",
                                       "atomic_xor",
                                       "rand",
                                       "randn",
                                       "randint",
                                       "rand4x",
                                       "randn4x",
                                       "randint4x",
                                       "philox",
                                       "philox_impl",
                                       "pair_uniform_to_normal",
                                       "uint_to_uniform_float",
                                       "range",
                                       "static_range",
                                       "condition",
                                       "assume",
                                       "debug_barrier",
                                       "expect_zero",
                                       "max_constancy",
                                       "max_contiguous",
                                       "multiple_of",
                                       "static_print",
                                       "static_assert",
                                       "device_print",
                                       "device_assert",
                                       "inline_asm_elementwise",
                                       "aggregate_replace",
                                       "math.exp",
                                       "math.fma",
                                       "math.umulhi",
                                       "target_info.current_target",
                                       "target_info.is_cuda",
                                       "target_info.cuda_capability_geq",
                                       "target_info.is_hip",
                                       "target_info.is_hip_cdna3",
                                       "target_info.is_hip_cdna4",
                                       "target_info.is_hip_gfx1250",
                                       "extra.cuda.globaltimer",
                                       "extra.cuda.num_threads",
                                       "extra.cuda.num_warps",
                                       "extra.cuda.smid",
                                       "extra.cuda.convert_custom_float8_sm70",
                                       "extra.cuda.convert_custom_float8_sm80",
                                       "extra.cuda.gdc_launch_dependents",
                                       "extra.cuda.gdc_wait",
                                       "extra.cuda.libdevice.tanh",
                                       "extra.libdevice.pow",
                                       "libdevice.rint",
                                       "standard._log2",
                                       "core.get_int_dtype"};

TEST(Table, EveryPublicNameHasARow) {
  for (const char *name : PublicNames)
    EXPECT_TRUE(find(name)) << name;
  size_t libdevice = 0;
  for (const Row &row : table())
    libdevice += row.name.starts_with("libdevice.");
  EXPECT_EQ(libdevice, 198u);
}

TEST(Table, RowsAreComplete) {
  for (const Row &row : table()) {
    EXPECT_FALSE(row.family.empty()) << row.name;
    EXPECT_FALSE(row.summary.empty()) << row.name;
    EXPECT_TRUE(row.summary.ends_with('.')) << row.name;
    bool made = row.build || row.prelude || row.constant || row.emitter;
    EXPECT_EQ(made, row.status != Row::Status::Unsupported) << row.name;
    if (row.status != Row::Status::Supported)
      EXPECT_FALSE(row.remark.empty()) << row.name << " needs a reason";
    if (row.prelude)
      EXPECT_NE(preludeSource().find("def " + std::string(row.name) + "("), std::string::npos)
          << row.name;
    std::set<std::string_view> names;
    bool defaults = false;
    for (const Parameter &parameter : parameters(row)) {
      EXPECT_TRUE(names.insert(parameter.name).second) << row.name;
      if (!parameter.keywordOnly && !parameter.variadic) {
        EXPECT_TRUE(parameter.hasDefault || !defaults) << row.name << ": " << parameter.name;
        defaults |= parameter.hasDefault;
      }
    }
    if (row.method)
      EXPECT_FALSE(parameters(row).empty()) << row.name;
  }
}

TEST(Table, FindsOldSpellings) {
  bool old = false;
  ASSERT_TRUE(find("math.tanh", &old));
  EXPECT_EQ(find("math.tanh", &old)->name, "libdevice.tanh");
  EXPECT_TRUE(old);
  EXPECT_EQ(find("_experimental_make_tensor_descriptor", &old)->name, "make_tensor_descriptor");
  EXPECT_TRUE(old);
  EXPECT_EQ(find("math.exp", &old)->name, "exp");
  EXPECT_FALSE(old);
  EXPECT_EQ(find("nonsense"), nullptr);
  EXPECT_EQ(findMethod("program_id"), nullptr);
  EXPECT_EQ(findMethod("to")->name, "tensor.to");
}

TEST_F(OpsTest, BindReportsTheSignature) {
  const Row &load = *find("load");
  auto bound = bind(load, {Value(1)}, {{"other", Value(2)}, {"volatile", Value(true)}});
  EXPECT_EQ(bound.size(), 8u);
  EXPECT_TRUE(bound[1].isNone());
  EXPECT_EQ(bound[2].asInteger(), Integer(2));
  EXPECT_EQ(bound[5].asStr(), "");
  OpError error;
  EXPECT_EQ(errorOf([&] { bind(load, {}, {}); }, &error), "MissingArgument");
  EXPECT_NE(error.hint.find("tl.load(pointer, mask=None"), std::string::npos) << error.hint;
  EXPECT_EQ(errorOf([&] { bind(load, {Value(1)}, {{"msk", Value(2)}}); }), "UnknownArgument");
  EXPECT_EQ(errorOf([&] { bind(load, {Value(1)}, {{"pointer", Value(2)}}); }), "RepeatedArgument");
  EXPECT_EQ(errorOf([&] { bind(*find("exp"), {Value(1), Value(2)}, {}); }), "TooManyArguments");
  auto print =
      bind(*find("device_print"), {Value::str("x"), Value(1), Value(2)}, {{"hex", Value(true)}});
  EXPECT_EQ(print[1].items().size(), 2u);
  EXPECT_TRUE(print[2].asBool());
}

} // namespace
} // namespace nereid::ops::test
