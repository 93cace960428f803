#include "launch/Pack.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace nereid::launch {

using support::ArgumentClass;
using support::Constant;
using support::Specialization;

namespace {

// Whether an argument has such a value; a tensor, such elements.
bool isValue(const Constant &constant, const Argument &argument) {
  using Kind = Argument::Kind;
  switch (argument.kind) {
  case Kind::None:
    return constant.kind == Constant::Kind::None;
  case Kind::Bool:
    return constant.kind == Constant::Kind::Bool && constant.flag == (argument.bits != 0);
  case Kind::Int:
  case Kind::TypedInt: {
    char digits[24];
    char *end = argument.type == DType::UInt64
                    ? std::to_chars(digits, std::end(digits), argument.bits).ptr
                    : std::to_chars(digits, std::end(digits), int64_t(argument.bits)).ptr;
    return constant.kind == Constant::Kind::Int &&
           constant.text == std::string_view(digits, size_t(end - digits));
  }
  case Kind::Float:
  case Kind::TypedFloat:
    return constant.kind == Constant::Kind::Float && constant.number == argument.number;
  case Kind::Pointer:
  case Kind::Tensor:
  case Kind::Descriptor:
    return constant.kind == Constant::Kind::String &&
           constant.text == info(argument.type).signature;
  case Kind::String:
    return constant.kind == Constant::Kind::String && constant.text == argument.text();
  case Kind::Type:
    return constant.kind == Constant::Kind::Type && constant.type == argument.type;
  default:
    return false;
  }
}

// Whether code for `built` may run with arguments of class `given`; `score` counts what it makes
// use of.
bool accepts(const ArgumentClass &built, const ArgumentClass &given, int &score) {
  using Kind = ArgumentClass::Kind;
  if (built == given) {
    score += given.isOne || given.divisibility > 1;
    return true;
  }
  if (built.kind != given.kind || built.type != given.type)
    return false;
  if (built.kind == Kind::Tuple) {
    if (built.elements.size() != given.elements.size() || built.names != given.names)
      return false;
    for (size_t i = 0; i < built.elements.size(); ++i)
      if (!accepts(built.elements[i], given.elements[i], score))
        return false;
    return true;
  }
  // What was promised of the value must hold of this one.
  if (built.kind == Kind::Pointer || built.kind == Kind::Int)
    return built.isConst == given.isConst && !built.isOne &&
           (built.divisibility == 1 || given.divisibility % built.divisibility == 0);
  return false;
}

bool sameParameters(const Signature &a, const Signature &b) {
  return std::equal(a.parameters.begin(), a.parameters.end(), b.parameters.begin(),
                    b.parameters.end(), [](const Parameter &x, const Parameter &y) {
                      return x.name == y.name && x.isConstexpr == y.isConstexpr &&
                             x.annotated == y.annotated;
                    });
}

} // namespace

const PackEntry *PackedKernelRow::find(std::string_view target,
                                       const Specialization &specialization,
                                       std::span<const uint32_t> defaulted,
                                       const CodeChoice *wanted) const {
  const PackEntry *best = nullptr;
  int bestScore = -1;
  for (const PackEntry &entry : entries) {
    const auto &built = entry.specialization.arguments;
    if (entry.target != target || (wanted && entry.chosen != *wanted) ||
        built.size() != specialization.arguments.size() ||
        !std::equal(entry.defaulted.begin(), entry.defaulted.end(), defaulted.begin(),
                    defaulted.end()))
      continue;
    int score = 0;
    bool fits = true;
    for (size_t i = 0; i < built.size() && fits; ++i)
      fits = accepts(built[i], specialization.arguments[i], score);
    if (fits && score > bestScore) {
      best = &entry;
      bestScore = score;
    }
  }
  return best;
}

const PackedChoice *PackedKernelRow::choose(const MeasuredOn &device,
                                            std::span<const Argument> arguments) const {
  auto serves = [&](const PackedChoice &choice, bool onSibling) {
    return holdsOn(device, {choice.target, choice.device}, onSibling) &&
           std::ranges::all_of(
               choice.which,
               [&](const auto &one) { return isValue(one.second, arguments[one.first]); }) &&
           std::ranges::all_of(choice.constants, [&](const auto &one) {
             return arguments[one.first].kind == Argument::Kind::Default ||
                    isValue(one.second, arguments[one.first]);
           });
  };
  for (bool onSibling : {false, true})
    for (const PackedChoice &choice : choices)
      if (serves(choice, onSibling))
        return &choice;
  return nullptr;
}

Result<Pack> Pack::map(const std::string &path) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return Error{"cannot read `" + path + "`: " + std::strerror(errno), {}};
  struct stat status;
  void *memory = MAP_FAILED;
  if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0)
    memory = ::mmap(nullptr, size_t(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
  ::close(file);
  if (memory == MAP_FAILED)
    return Error{"`" + path + "` is no pack", {}};
  size_t size = size_t(status.st_size);
  std::shared_ptr<const void> owner(memory, [size](void *at) { ::munmap(at, size); });
  auto pack = open({static_cast<const uint8_t *>(memory), size}, owner);
  if (!pack)
    return Error{"`" + path + "`: " + pack.error().what, {}};
  return pack;
}

const PackedKernelRow *Pack::find(std::string_view kernel) const {
  for (const PackedKernelRow &row : rows)
    if (row.signature.name == kernel)
      return &row;
  return nullptr;
}

PackedKernelRow *PackBuilder::find(std::string_view kernel) {
  auto row = std::ranges::find_if(
      rows, [&](const PackedKernelRow &one) { return one.signature.name == kernel; });
  return row == rows.end() ? nullptr : &*row;
}

Status PackBuilder::add(const Signature &signature, PackEntry entry) {
  PackedKernelRow *row = find(signature.name);
  if (!row)
    row = &rows.emplace_back(PackedKernelRow{signature, {}, {}, {}});
  else if (!sameParameters(row->signature, signature))
    return Error{"the pack has another kernel `" + signature.name + "`", {}};
  for (PackEntry &there : row->entries)
    if (there.target == entry.target && there.options == entry.options &&
        there.specialization == entry.specialization && there.defaulted == entry.defaulted) {
      there = std::move(entry);
      return Success{};
    }
  row->entries.push_back(std::move(entry));
  return Success{};
}

void PackBuilder::setHeuristics(std::string_view kernel, Heuristics heuristics) {
  if (PackedKernelRow *row = find(kernel))
    row->heuristics = std::move(heuristics);
}

void PackBuilder::addChoice(std::string_view kernel, PackedChoice choice) {
  PackedKernelRow *row = find(kernel);
  auto isBuilt = [&](const PackEntry &entry) {
    return entry.chosen == choice.options &&
           std::ranges::all_of(choice.constants, [&](const auto &one) {
             const ArgumentClass &argument = entry.specialization.arguments[one.first];
             return argument.kind == ArgumentClass::Kind::Constant &&
                    argument.constant == one.second;
           });
  };
  if (!row || std::ranges::none_of(row->entries, isBuilt))
    return;
  std::erase_if(row->choices,
                [&](const PackedChoice &old) { return old.isOfSameLaunches(choice); });
  auto at = std::ranges::find_if(row->choices, [&](const PackedChoice &other) {
    return other.specificity() <= choice.specificity();
  });
  row->choices.insert(at, std::move(choice));
}

Status PackBuilder::add(const Pack &pack) {
  for (const PackedKernelRow &row : pack.kernels()) {
    for (const PackEntry &entry : row.entries)
      if (Status status = add(row.signature, entry); !status)
        return status;
    setHeuristics(row.signature.name, row.heuristics);
    // The last one added stands before its equals.
    for (auto choice = row.choices.rbegin(); choice != row.choices.rend(); ++choice)
      addChoice(row.signature.name, *choice);
  }
  return Success{};
}

} // namespace nereid::launch
