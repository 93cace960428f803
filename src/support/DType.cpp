#include "nereid/base.h"

#include <array>

namespace nereid {
namespace {

// In the order of the enumeration.
constexpr std::array<DTypeInfo, 18> Table = {{
    // name, signature, bits, bytes, float, signed
    {"int1", "i1", 1, 1, false, false},
    {"int8", "i8", 8, 1, false, true},
    {"int16", "i16", 16, 2, false, true},
    {"int32", "i32", 32, 4, false, true},
    {"int64", "i64", 64, 8, false, true},
    {"uint8", "u8", 8, 1, false, false},
    {"uint16", "u16", 16, 2, false, false},
    {"uint32", "u32", 32, 4, false, false},
    {"uint64", "u64", 64, 8, false, false},
    {"float16", "fp16", 16, 2, true, true},
    {"bfloat16", "bf16", 16, 2, true, true},
    {"float32", "fp32", 32, 4, true, true},
    {"float64", "fp64", 64, 8, true, true},
    {"float8e4nv", "fp8e4nv", 8, 1, true, true},
    {"float8e5", "fp8e5", 8, 1, true, true},
    {"float8e4b8", "fp8e4b8", 8, 1, true, true},
    {"float8e5b16", "fp8e5b16", 8, 1, true, true},
    {"float8e4b15", "fp8e4b15", 8, 1, true, true},
}};
static_assert(Table.size() == size_t(DType::Float8E4B15) + 1);

struct TypeSpelling {
  std::string_view name;
  DType type;
};
// What else people write: torch's and NumPy's names, short ones of the command line.
constexpr TypeSpelling OtherSpellings[] = {
    {"bool", DType::Int1},
    {"u1", DType::Int1},
    {"uint1", DType::Int1},
    {"short", DType::Int16},
    {"int", DType::Int32},
    {"long", DType::Int64},
    {"half", DType::Float16},
    {"float", DType::Float32},
    {"double", DType::Float64},
    {"f16", DType::Float16},
    {"f32", DType::Float32},
    {"f64", DType::Float64},
    {"float8_e4m3fn", DType::Float8E4NV},
    {"float8_e5m2", DType::Float8E5},
    {"float8_e4m3fnuz", DType::Float8E4B8},
    {"float8_e5m2fnuz", DType::Float8E5B16},
};

} // namespace

__attribute__((visibility("default"))) const DTypeInfo &info(DType type) {
  return Table[size_t(type)];
}

__attribute__((visibility("default"))) std::optional<DType> parseDType(std::string_view name) {
  for (size_t i = 0; i < Table.size(); ++i)
    if (name == Table[i].name || name == Table[i].signature)
      return DType(i);
  for (const TypeSpelling &spelling : OtherSpellings)
    if (name == spelling.name)
      return spelling.type;
  return std::nullopt;
}

} // namespace nereid
