// What training in narrow floats does beside its products. All scales stay on the device.
#include "kernels/Call.h"

#include "support/Specialization.h"

#include <algorithm>
#include <cmath>

namespace nereid::kernels {

using support::Constant;

namespace {

constexpr KernelSource unscaleKernel{"mixed_precision", "kernel.py", "unscale"},
    updateKernel{"mixed_precision", "kernel.py", "update_scale"},
    castKernel{"mixed_precision", "kernel.py", "cast_and_measure"},
    scalesKernel{"mixed_precision", "kernel.py", "update_fp8_scales"};

Config parameterBlockRule(const Bound &) { return {{"BLOCK", 4096}, {"num_warps", 8}}; }

constexpr SizeName parameterSizes[] = {{"n", 'n'}};

// ---- unscale

constexpr ArgumentRow unscaleArguments[] = {
    {"grad", argument<&Unscale::grad>, Role::In, "*", floats},
    {"scale", argument<&Unscale::scale>, Role::In, "1", float32},
    {"out", argument<&Unscale::out>, Role::Out, "*", floats, 0, Layout::Dense, false, 0b1},
    {"overflow", argument<&Unscale::overflow>, Role::Out, "1", float32},
};

constexpr Variant unscaleVariants[] = {
    {"unscale.one_read", "BLOCK", nullptr, parameterBlockRule,
     [](const Bound &bound, const Config &config, Launches &to) {
       auto &call = bound.as<Unscale>();
       return to.launch(unscaleKernel, config.options(), {blocks(bound['n'], config["BLOCK"])},
                        {call.grad, call.out, call.scale, call.overflow, bound['n'],
                         named("BLOCK", config["BLOCK"])});
     }},
};

// ---- update_scale

constexpr ArgumentRow updateArguments[] = {
    {"scale", argument<&UpdateScale::scale>, Role::Out, "1", float32},
    {"steps", argument<&UpdateScale::steps>, Role::Out, "1", int32},
    {"overflow", argument<&UpdateScale::overflow>, Role::Out, "1", float32},
};

constexpr Variant updateVariants[] = {
    {"update_scale.one_program", "", nullptr,
     [](const Bound &) { return Config{{"num_warps", 1}}; },
     [](const Bound &bound, const Config &config, Launches &to) {
       auto &call = bound.as<UpdateScale>();
       return to.launch(
           updateKernel, config.options(), {},
           {call.scale, call.steps, call.overflow, call.growth, call.backoff, call.interval});
     }},
};

std::string checkUpdate(Bound &bound) {
  auto &call = bound.as<UpdateScale>();
  if (!(call.growth >= 1 && std::isfinite(call.growth)))
    return "`growth` is " + textOf(call.growth) + ", and must be at least 1";
  if (!(call.backoff > 0 && call.backoff <= 1))
    return "`backoff` is " + textOf(call.backoff) + ", and must be in (0, 1]";
  if (call.interval < 1)
    return "`interval` is " + std::to_string(call.interval) + ", and must be above 0";
  return "";
}

// ---- cast_fp8

constexpr ArgumentRow castArguments[] = {
    {"x", argument<&CastFp8::x>, Role::In, "*", floats},
    {"scale", argument<&CastFp8::scale>, Role::In, "1", float32},
    {"q", argument<&CastFp8::q>, Role::Out, "*", narrowFloats},
    {"amax", argument<&CastFp8::amax>, Role::Out, "1", float32},
};

constexpr Variant castVariants[] = {
    {"cast.one_read", "BLOCK", nullptr, parameterBlockRule,
     [](const Bound &bound, const Config &config, Launches &to) {
       auto &call = bound.as<CastFp8>();
       return to.launch(
           castKernel, config.options(), {blocks(bound['n'], config["BLOCK"])},
           {call.x, call.scale, call.q, call.amax, bound['n'], named("BLOCK", config["BLOCK"])});
     }},
};

// ---- update_fp8_scales

constexpr ArgumentRow scalesArguments[] = {
    {"history", argument<&UpdateFp8Scales::history>, Role::Out, "T L", float32},
    {"amax", argument<&UpdateFp8Scales::amax>, Role::Out, "T", float32},
    {"scale", argument<&UpdateFp8Scales::scale>, Role::Out, "T", float32},
    {"inverse", argument<&UpdateFp8Scales::inverse>, Role::Out, "T", float32},
};

constexpr Variant scalesVariants[] = {
    {"fp8_scales.all_tensors", "",
     [](const Bound &bound) {
       return bound['L'] > 4096 ? "histories of more than 4096 steps" : nullptr;
     },
     [](const Bound &) { return Config(); },
     [](const Bound &bound, const Config &config, Launches &to) {
       auto &call = bound.as<UpdateFp8Scales>();
       const int64_t steps = powerOfTwo(bound['L']);
       // What the registers of a program hold.
       const int64_t tensors = std::clamp<int64_t>(4096 / steps, 1, 16);
       return to.launch(scalesKernel, config.options(), {blocks(bound['T'], tensors)},
                        {call.history, call.amax, call.scale, call.inverse, bound['T'], bound['L'],
                         largestOf(call.type), double(call.margin), named("BLOCK_T", tensors),
                         named("BLOCK_H", steps)});
     }},
};

std::string checkScales(Bound &bound) {
  auto &call = bound.as<UpdateFp8Scales>();
  if (!narrowFloats.has(call.type))
    return "`type` is " + std::string(info(call.type).name) + ", and must be " +
           narrowFloats.text();
  if (call.margin < -64 || call.margin > 64)
    return "`margin` is " + std::to_string(call.margin) + ", and must be in [-64, 64]";
  return "";
}

constexpr OperationRow trainingTable[] = {
    {Operation::Unscale, "unscale", "mixed_precision", unscaleArguments, unscaleVariants,
     parameterSizes, "n"},
    {Operation::UpdateScale,
     "update_scale",
     "mixed_precision",
     updateArguments,
     updateVariants,
     {},
     "",
     checkUpdate},
    {Operation::CastFp8, "cast_fp8", "mixed_precision", castArguments, castVariants, parameterSizes,
     "n", nullptr, nullptr,
     [](const Bound &bound, std::string_view name, const Constant &value) {
       return name == "kind" &&
              value == Constant::string(bound.as<CastFp8>().q.type() == DType::Float8E4NV ? "f8e4nv"
                                                                                          : "f8e5");
     }},
    {Operation::UpdateFp8Scales,
     "update_fp8_scales",
     "mixed_precision",
     scalesArguments,
     scalesVariants,
     {},
     "TL",
     checkScales},
};

} // namespace

std::span<const OperationRow> trainingRows() { return trainingTable; }

} // namespace nereid::kernels
