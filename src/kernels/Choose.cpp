#include "kernels/Choose.h"

#include "launch/MeasuredOn.h"
#include "support/Specialization.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace nereid::kernels {

using support::Constant;

// ---- Configurations

void Config::set(std::string_view name, int64_t value) {
  if (name == "num_warps")
    warps = int(value);
  else if (name == "num_stages")
    stages = int(value);
  else if (name == "num_ctas")
    ctas = int(value);
  else if (name == "maxnreg")
    registers = int(value);
  else {
    size_t at = 0;
    while (at < count && constants[at].first != name)
      ++at;
    if (at < most)
      constants[at] = {name, value};
    count = std::max(count, std::min(at + 1, most));
  }
}

int64_t Config::operator[](std::string_view name) const {
  for (size_t i = 0; i < count; ++i)
    if (constants[i].first == name)
      return constants[i].second;
  return 0;
}

std::string Config::text() const {
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += std::string(constants[i].first) + "=" + std::to_string(constants[i].second) + " ";
  text += "num_warps=" + std::to_string(warps) + " num_stages=" + std::to_string(stages);
  if (ctas != 1)
    text += " num_ctas=" + std::to_string(ctas);
  if (registers)
    text += " maxnreg=" + std::to_string(registers);
  return text;
}

CompileOptions Config::options() const {
  CompileOptions options;
  options.numWarps = warps;
  options.numStages = stages;
  options.numCtas = ctas;
  options.maxRegisters = registers;
  return options;
}

// ---- Measured ones

namespace {

/// As specs of kernel folders write a type.
std::string_view specName(DType type) {
  switch (type) {
  case DType::Float16:
    return "f16";
  case DType::BFloat16:
    return "bf16";
  case DType::Float32:
    return "f32";
  case DType::Float64:
    return "f64";
  case DType::Float8E4NV:
    return "f8e4nv";
  case DType::Float8E5:
    return "f8e5";
  default:
    return info(type).signature;
  }
}

double scaled(int64_t size) { return std::log2(double(size) + 1); }

std::optional<int64_t> integer(const Constant &constant) {
  if (constant.kind == Constant::Kind::Bool)
    return constant.flag;
  if (constant.kind != Constant::Kind::Int || constant.text.size() > 18)
    return std::nullopt;
  return std::stoll(constant.text);
}

/// A number, or what a list of them says: "[300, 20]".
std::optional<int64_t> sizeIn(const Constant &constant, SizeName::Of of) {
  if (of == SizeName::Number)
    return integer(constant);
  if (constant.kind != Constant::Kind::String || !constant.text.starts_with('['))
    return std::nullopt;
  int64_t count = 0, largest = 0, sum = 0;
  const char *at = constant.text.c_str() + 1;
  for (char *end; *at && *at != ']'; at = *end == ',' ? end + 1 : end) {
    int64_t number = std::strtoll(at, &end, 10);
    if (end == at || number < 0)
      return std::nullopt;
    ++count;
    largest = std::max(largest, number);
    sum += number;
  }
  return of == SizeName::Count ? count : of == SizeName::Largest ? largest : sum;
}

constexpr std::string_view optionNames[] = {"num_warps", "num_stages", "num_ctas", "maxnreg"};

/// Calls `visit` with each of the words, until it gives false.
template <typename Visit> bool forEachWord(std::string_view words, Visit &&visit) {
  while (!words.empty()) {
    std::string_view word = words.substr(0, words.find(' '));
    words.remove_prefix(std::min(word.size() + 1, words.size()));
    if (!visit(word))
      return false;
  }
  return true;
}

/// What a row says of the variant's constants and the options; nothing if it lacks a constant or
/// has one that the variant has not.
std::optional<std::vector<std::pair<std::string_view, int64_t>>>
configOf(const Variant &variant, const engine::Bindings &bindings) {
  std::vector<std::pair<std::string_view, int64_t>> config;
  auto take = [&](std::string_view name) {
    for (const auto &[key, constant] : bindings)
      if (auto value = integer(constant); key == name && value) {
        config.emplace_back(name, *value);
        return true;
      }
    return false;
  };
  if (!forEachWord(variant.constants, take))
    return std::nullopt;
  for (std::string_view name : optionNames)
    take(name);
  if (config.size() != bindings.size())
    return std::nullopt;
  return config;
}

// The most that a size may be larger or smaller than a measured one.
constexpr double farthest = 3; // log2 of 8
/// What was measured on a device with the same code counts as far as a size that is half a doubling
/// off: a configuration depends on the shape more than on a sibling's clock or memory.
constexpr double ofSibling = 0.25;

} // namespace

void Tables::add(std::string_view folder, const engine::TuningFile &file) {
  for (unsigned i = 0; i < operationCount; ++i) {
    const OperationRow &operation = rowOf(Operation(i));
    if (operation.folder != folder)
      continue;
    for (const engine::TuningRow &row : file.rows())
      for (const Variant &variant : operation.variants) {
        if (forEachWord(variant.name, [&](std::string_view name) { return name != row.variant; }))
          continue;
        auto config = configOf(variant, row.config);
        if (!config)
          continue;
        Measured measured{&variant, row.target, row.device, {}, {}, *config, row.seconds, ""};
        for (const auto &[name, value] : row.which) {
          bool isSize = false;
          for (const SizeName &size : operation.sizes)
            if (size.name == name)
              if (auto number = sizeIn(value, size.of)) {
                measured.sizes.emplace_back(size.letter, scaled(*number));
                isSize = true;
              }
          if (!isSize && name != "label")
            measured.flags.emplace_back(name, value);
          measured.text += (measured.text.empty() ? "" : " ") + name + "=" + value.source();
        }
        rows[operation.operation].push_back(std::move(measured));
      }
  }
}

Result<Chosen> Tables::choose(const Bound &bound, const Device &device) const {
  const OperationRow &operation = bound.operation;
  Chosen best{nullptr, {}, nullptr, 0};
  if (auto found = rows.find(operation.operation); found != rows.end()) {
    auto isOfOther = [&](const Measured &row) {
      return !row.device.empty() && row.device != device.description();
    };
    auto serves = [&](const Measured &row, double &distance) {
      const launch::MeasuredOn here{device.architecture(), device.description()},
          there{row.target, row.device};
      if (!launch::holdsOn(here, there, false) && !launch::holdsOn(here, there, true))
        return false;
      distance = 0;
      for (auto [letter, size] : row.sizes) {
        double apart =
            bound.isBound(letter) ? std::abs(scaled(bound[letter]) - size) : farthest + 1;
        if (apart > farthest)
          return false;
        distance += apart * apart;
      }
      for (const auto &[name, value] : row.flags)
        if (name == "dtype" ? value != Constant::string(std::string(specName(bound.type())))
                            : !operation.agrees || !operation.agrees(bound, name, value))
          return false;
      return !row.variant->unfit || !row.variant->unfit(bound);
    };
    for (const Measured &row : found->second) {
      double distance;
      if (!serves(row, distance))
        continue;
      // The nearest goes first, then what was measured on this device, then the fastest.
      auto rank = [&](const Measured &one, double apart) {
        return std::tuple(apart + (isOfOther(one) ? ofSibling : 0), isOfOther(one), one.seconds);
      };
      if (!best.measured || rank(row, distance) < rank(*best.measured, best.distance))
        best = {row.variant, {}, &row, distance};
    }
  }
  if (best.measured) {
    best.config = best.variant->rule(bound);
    for (const auto &[name, value] : best.measured->config)
      best.config.set(name, value);
    return best;
  }
  const char *why = nullptr;
  for (const Variant &variant : operation.variants) {
    if (const char *reason = variant.unfit ? variant.unfit(bound) : nullptr)
      why = reason;
    else if (!variant.standsBack || !variant.standsBack(bound))
      return Chosen{&variant, variant.rule(bound)};
  }
  return wrong(operation, "no kernel takes " + std::string(why));
}

} // namespace nereid::kernels
