// Every pair of types, and numbers on either side of each type, against Inputs/promotion.txt.

#include "Fixture.h"

#include <fstream>
#include <map>
#include <sstream>

namespace nereid::ops::test {
namespace {

using enum DType;
constexpr DType Columns[] = {Int1,   Int8,   Int16,   Int32,    Int64,   UInt8,  UInt16,
                             UInt32, UInt64, Float16, BFloat16, Float32, Float64};

Value number(const std::string &text) {
  if (text == "True")
    return Value(true);
  if (text.find_first_of(".e") != std::string::npos)
    return Value(std::stod(text));
  bool negative = text[0] == '-';
  Integer value;
  for (char digit : text.substr(negative))
    value = value * 10 + int64_t(digit - '0');
  return Value(negative ? -value : value);
}

TEST_F(OpsTest, ResultTypesOfTwoOperands) {
  const std::map<std::string, BinaryOperator> operators = {
      {"+", BinaryOperator::Add}, {"/", BinaryOperator::TrueDiv}, {"//", BinaryOperator::FloorDiv},
      {"%", BinaryOperator::Mod}, {"&", BinaryOperator::And},     {"<", BinaryOperator::Lt}};
  std::ifstream file(NEREID_SOURCE_DIR "/test/unit/ops/Inputs/promotion.txt");
  size_t compared = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#')
      continue;
    std::istringstream words(line);
    std::string symbol, first, side;
    words >> symbol >> first;
    auto dtype = parseDType(first);
    if (!dtype)
      words >> side;
    for (DType column : Columns) {
      std::string expected;
      words >> expected;
      Value tile = argument(column), other = dtype ? Value(argument(*dtype)) : number(first);
      Value lhs = side == "right" ? tile : other, rhs = side == "right" ? other : tile;
      std::string seen;
      try {
        seen = typeOf(symbol == "where" ? call("where", {argument(Int1), lhs, rhs})
                                        : binary(*op, operators.at(symbol), lhs, rhs));
      } catch (const OpError &) {
        seen = "-";
      }
      EXPECT_EQ(seen, expected) << line << "\n" << lhs.repr() << " " << symbol << " " << rhs.repr();
      ++compared;
    }
  }
  EXPECT_EQ(compared, 231u * std::size(Columns));
  body();
}

} // namespace
} // namespace nereid::ops::test
