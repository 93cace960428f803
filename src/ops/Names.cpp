// Names that are types, values or iterators rather than operations, and what is known of the
// target.

#include "ops/Build.h"
#include "ops/Objects.h"

namespace nereid::ops {
namespace {

// --- types ---

template <DType D> Value dtypeConstant() { return Value::type(Type::scalar(D)); }
Value voidConstant() { return Value::type(Type()); }
Value pi32Constant() { return Value::type(Type::pointer(int32())); }
Value maxNumelConstant() { return Value(tile::maxTileElements); }
Value constexprZero() { return Value(0); }
Value propagateAll() { return std::make_shared<EnumMember>("PropagateNan.ALL"); }
Value propagateNone() { return std::make_shared<EnumMember>("PropagateNan.NONE"); }

Value propagateNan() {
  return std::make_shared<EnumClass>("PropagateNan", std::vector<std::string>{"ALL", "NONE"});
}

// A run-time value stays one: Triton's `constexpr` is a box, which each use of it opens.
Value buildConstexpr(OpContext &, Args args) { return args[0]; }

Value buildDtype(OpContext &, Args args) {
  const std::string &name = strArgument(args[0], "name");
  if (name == "void")
    return Value::type(Type());
  // The names that Triton's own constructor knows: "fp32", "int32".
  if (auto dtype = parseDType(name); dtype && Type::scalar(*dtype).str() == name)
    return Value::type(Type::scalar(*dtype));
  fail("WrongArgument", "there is no type called " + quote(name), "for example `fp32` or `int32`");
}

Value buildPointerType(OpContext &, Args args) {
  return Value::type(
      Type::pointer(typeArgument(args[0], "element_ty"), boolArgument(args[2], "const")));
}

Value buildBlockType(OpContext &, Args args) {
  return Value::type(
      Type::block(shapeArgument(args[1], "shape"), typeArgument(args[0], "element_ty")));
}

// What `.type` of the value gives: the type that the number has by itself.
Value buildConstexprType(OpContext &, Args args) {
  if (args[0].isTile())
    fail("NotConstexpr",
         "`tl.constexpr_type(...)` needs a value that is known while compiling, not " +
             describe(args[0]));
  if (!args[0].isNumber())
    fail("WrongArgument", "`value` is " + describe(args[0]), "give a number");
  return Value::type(literalType(args[0]));
}

Value buildTuple(OpContext &, Args args) {
  auto items = listArgument(args[0], "args");
  return Value::tuple({items.begin(), items.end()});
}

Value buildSlice(OpContext &, Args args) {
  return std::make_shared<Slice>(args[0], args[1], args[2]);
}

Value buildGetIntDtype(OpContext &, Args args) {
  return Value::type(
      intType(unsigned(intArgument(args[0], "bitwidth")), boolArgument(args[1], "signed")));
}

Value buildIntegerLog2(OpContext &, Args args) {
  Integer rest = args[0].isInt() ? args[0].asInteger() : Integer(intArgument(args[0], "i"));
  return Value(rest > Integer(1) ? int64_t(rest.bitLength()) - 1 : 0);
}

Value buildIsPowerOfTwo(OpContext &, Args args) {
  int64_t i = intArgument(args[0], "i");
  return Value(i != 0 && (i & (i - 1)) == 0);
}

#define DTYPE(NAME, ENUM, TEXT)                                                                    \
  {.name = NAME, .family = "type", .summary = TEXT, .constant = dtypeConstant<DType::ENUM>}
#define CLASS(NAME, SIGNATURE, BUILD, TEXT)                                                        \
  {.name = NAME,                                                                                   \
   .family = "type",                                                                               \
   .signature = SIGNATURE,                                                                         \
   .build = BUILD,                                                                                 \
   .summary = TEXT,                                                                                \
   .emitter = true}

constexpr Row TypeRows[] = {
    DTYPE("int1", Int1, "Booleans; one byte in memory."),
    DTYPE("int8", Int8, "Signed integers of 8 bits."),
    DTYPE("int16", Int16, "Signed integers of 16 bits."),
    DTYPE("int32", Int32, "Signed integers of 32 bits."),
    DTYPE("int64", Int64, "Signed integers of 64 bits."),
    DTYPE("uint8", UInt8, "Unsigned integers of 8 bits."),
    DTYPE("uint16", UInt16, "Unsigned integers of 16 bits."),
    DTYPE("uint32", UInt32, "Unsigned integers of 32 bits."),
    DTYPE("uint64", UInt64, "Unsigned integers of 64 bits."),
    DTYPE("float16", Float16, "IEEE floats of 16 bits."),
    DTYPE("bfloat16", BFloat16, "Floats of 16 bits with the range of float32."),
    DTYPE("float32", Float32, "IEEE floats of 32 bits."),
    DTYPE("float64", Float64, "IEEE floats of 64 bits."),
    DTYPE("float8e4nv", Float8E4NV, "8-bit floats, 4 exponent bits (OCP E4M3)."),
    DTYPE("float8e5", Float8E5, "8-bit floats, 5 exponent bits (OCP E5M2)."),
    DTYPE("float8e4b8", Float8E4B8, "8-bit floats, 4 exponent bits, bias 8 (AMD)."),
    DTYPE("float8e5b16", Float8E5B16, "8-bit floats, 5 exponent bits, bias 16 (AMD)."),
    DTYPE("float8e4b15", Float8E4B15, "8-bit floats, 4 exponent bits, bias 15."),
    {.name = "void",
     .family = "type",
     .summary = "The type of no value.",
     .constant = voidConstant},
    {.name = "pi32_t", .family = "type", .summary = "Pointers to int32.", .constant = pi32Constant},
    {.name = "TRITON_MAX_TENSOR_NUMEL",
     .family = "type",
     .summary = "The most elements a tile can have.",
     .constant = maxNumelConstant},
    {.name = "CONSTEXPR_0",
     .family = "type",
     .summary = "The constexpr 0, for defaults.",
     .constant = constexprZero},
    {.name = "PropagateNan",
     .family = "type",
     .summary = "What `maximum`, `minimum` and `clamp` do with NaN.",
     .constant = propagateNan},
    {.name = "PropagateNan.ALL",
     .family = "type",
     .summary = "`maximum` and `minimum` give NaN if either side is.",
     .constant = propagateAll},
    {.name = "PropagateNan.NONE",
     .family = "type",
     .summary = "`maximum` and `minimum` drop NaN.",
     .constant = propagateNone},
    CLASS("constexpr", "value", buildConstexpr,
          "Marks what is known while compiling: as an annotation, or around a value."),
    CLASS("const", "", nullptr, "Annotates a pointer that is only read."),
    CLASS("tensor", "", nullptr, "The class of tiles, for annotations and `isinstance`."),
    CLASS("tensor_descriptor", "", nullptr, "The class of tensor descriptors."),
    CLASS("tensor_descriptor_type", "", nullptr, "The class of types of tensor descriptors."),
    CLASS("dtype", "name", buildDtype, "The class of element types; `tl.dtype(\"fp32\")`."),
    CLASS("pointer_type", "element_ty, address_space=1, const=False", buildPointerType,
          "The type of pointers to an element type."),
    CLASS("block_type", "element_ty, shape", buildBlockType, "The type of tiles of a shape."),
    CLASS("constexpr_type", "value", buildConstexprType,
          "The type of a value that is known while compiling: `.type` of it."),
    CLASS("tuple", "args", buildTuple, "A tuple of values."),
    CLASS("tuple_type", "", nullptr, "The class of types of tuples."),
    CLASS("slice", "start, stop, step", buildSlice, "A slice object."),
    CLASS("aggregate_replace", "", nullptr, "A copy of an aggregate with other fields."),
    {"get_int_dtype",
     "type",
     "bitwidth, signed",
     buildGetIntDtype,
     "The integer type of a width and signedness.",
     false,
     Row::Status::Supported,
     {},
     "_get_int_dtype"},
    {"_log2", "type", "i", buildIntegerLog2, "Logarithm of an int to base 2, rounded down."},
    {"_is_power_of_two", "type", "i", buildIsPowerOfTwo, "True if an int is a power of two."},
};
#undef DTYPE
#undef CLASS

// --- iterators ---

Value optionalInt(const Value &value, std::string_view parameter) {
  return value.isNone() ? value : Value(intArgument(value, parameter));
}

std::shared_ptr<RangeValue> rangeOf(Args args, std::string_view operation) {
  auto range = std::make_shared<RangeValue>();
  range->start = args[1].isNone() ? Value(0) : args[0];
  range->stop = args[1].isNone() ? args[0] : args[1];
  range->step = args[2].isNone() ? Value(1) : args[2];
  for (auto [value, name] : {std::pair(&range->start, "start"), std::pair(&range->stop, "end"),
                             std::pair(&range->step, "step")}) {
    bool integer =
        value->isInt() || value->isBool() ||
        (value->isTile() && value->asTile().type.isInt() && !value->asTile().type.isBlock());
    if (!integer)
      fail("RangeBound", "the " + std::string(name) + " of " + quote(operation) +
                             " must be an integer, not " + describe(*value));
  }
  if (range->step.isInt() && range->step.asInteger().isZero())
    fail("RangeBound", "the step of " + quote(operation) + " is 0");
  return range;
}

Value buildRange(OpContext &, Args args) {
  auto range = rangeOf(args, "tl.range");
  range->numStages = optionalInt(args[3], "num_stages");
  range->loopUnrollFactor = optionalInt(args[4], "loop_unroll_factor");
  range->disallowAccMultiBuffer = boolArgument(args[5], "disallow_acc_multi_buffer");
  range->flatten = boolArgument(args[6], "flatten");
  range->warpSpecialize = boolArgument(args[7], "warp_specialize");
  range->disableLicm = boolArgument(args[8], "disable_licm");
  return Value(std::move(range));
}

Value buildStaticRange(OpContext &, Args args) {
  auto range = rangeOf(args, "tl.static_range");
  range->isStatic = true;
  for (const Value *value : {&range->start, &range->stop, &range->step})
    if (value->isTile())
      fail("NotConstexpr",
           "bounds of `tl.static_range` must be known while compiling, but one is a run-time value "
           "of type " +
               quote(value->asTile().type),
           "use `tl.range` or `range`");
  return Value(std::move(range));
}

Value buildCondition(OpContext &, Args args) {
  auto condition = std::make_shared<ConditionValue>();
  condition->condition = args[0];
  condition->disableLicm = boolArgument(args[1], "disable_licm");
  return Value(std::move(condition));
}

constexpr Row IterationRows[] = {
    {"range", "iteration",
     "arg1, arg2=None, step=None, num_stages=None, loop_unroll_factor=None, "
     "disallow_acc_multi_buffer=False, flatten=False, warp_specialize=False, disable_licm=False",
     buildRange,
     "`range` with hints for the compiler. Under `num_stages` loads of later steps may overtake "
     "stores through other arguments."},
    {"static_range", "iteration", "arg1, arg2=None, step=None", buildStaticRange,
     "A loop unrolled while compiling."},
    {"condition", "iteration", "arg1, disable_licm=False", buildCondition,
     "The condition of a `while` loop with hints for the compiler."},
};

// --- the target ---

bool isCuda(OpContext &context) { return context.options.targetBackend == "cuda"; }

Value buildIsCuda(OpContext &context, Args) { return Value(isCuda(context)); }
Value buildFalse(OpContext &, Args) { return Value(false); }

Value buildCapability(OpContext &context, Args args) {
  int64_t wanted = intArgument(args[0], "major") * 10 + intArgument(args[1], "minor");
  return Value(isCuda(context) && context.options.targetArch >= wanted);
}

Value buildCurrentTarget(OpContext &context, Args) {
  auto target = std::make_shared<Tuple>(std::vector<Value>{
      Value::str(context.options.targetBackend), Value(context.options.targetArch), Value(32)});
  static const auto fields = std::make_shared<const std::vector<std::string>>(
      std::vector<std::string>{"backend", "arch", "warp_size"});
  target->fieldNames = fields;
  target->className = "GPUTarget";
  return Value(std::move(target));
}

Value buildGlobalTimer(OpContext &context, Args) { return build<tile::ClockOp>(context, int64()); }
Value buildSmid(OpContext &context, Args) { return build<tile::SmIdOp>(context, int32()); }
Value buildNumWarps(OpContext &context, Args) { return Value(context.options.numWarps); }
Value buildNumThreads(OpContext &context, Args) { return Value(context.options.numWarps * 32); }

template <bool Wait> Value buildGridDependency(OpContext &context, Args) {
  context.builder.create<tile::GridDependencyOp>(context.loc, Wait);
  return None{};
}

// Converts between f16 or f32 and float8e4b15.
Value buildConvertFloat8(OpContext &context, Args args) {
  Tile value = tileArgument(context, args[0], "arg");
  Type target = typeArgument(args[1], "dst_ty").element();
  return cast(context, value, target);
}

constexpr Row TargetRows[] = {
    {"target_info.current_target", "target", "", buildCurrentTarget,
     "The target as (backend, arch, warp_size)."},
    {"target_info.is_cuda", "target", "", buildIsCuda, "True if the target is an NVIDIA GPU."},
    {"target_info.cuda_capability_geq", "target", "major, minor=0", buildCapability,
     "True if the target has at least this compute capability."},
    {"target_info.is_hip", "target", "", buildFalse, "False: there is no AMD target."},
    {"target_info.is_hip_cdna3", "target", "", buildFalse, "False: there is no AMD target."},
    {"target_info.is_hip_cdna4", "target", "", buildFalse, "False: there is no AMD target."},
    {"target_info.is_hip_gfx1250", "target", "", buildFalse, "False: there is no AMD target."},
    {"extra.cuda.globaltimer", "target", "", buildGlobalTimer, "Nanoseconds of a global timer."},
    {"extra.cuda.smid", "target", "", buildSmid,
     "Index of the multiprocessor that runs the program."},
    {"extra.cuda.num_threads", "target", "", buildNumThreads, "Threads of the program."},
    {"extra.cuda.num_warps", "target", "", buildNumWarps, "Warps of the program."},
    {"extra.cuda.gdc_wait", "target", "", buildGridDependency<true>,
     "Waits for the grid launched before (programmatic dependent launch)."},
    {"extra.cuda.gdc_launch_dependents", "target", "", buildGridDependency<false>,
     "Lets the next grid start (programmatic dependent launch)."},
    {"extra.cuda.convert_custom_float8_sm80", "target", "arg, dst_ty, fp_downcast_rounding=None",
     buildConvertFloat8, "Converts from or to float8e4b15.", false, Row::Status::Supported,
     "Rounds to nearest even; use `x.to(...)`.", "extra.cuda.convert_custom_float8_sm70"},
    {.name = "extra.cpu.vnni_decode",
     .family = "target",
     .signature = "x",
     .build = nullptr,
     .summary = "Of Triton's CPU fork.",
     .status = Row::Status::Unsupported,
     .remark = "The CPU back end packs operands itself."},
};

} // namespace

std::span<const Row> typeRows() { return TypeRows; }
std::span<const Row> iterationRows() { return IterationRows; }
std::span<const Row> targetRows() { return TargetRows; }

} // namespace nereid::ops
