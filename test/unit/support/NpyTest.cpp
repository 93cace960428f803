#include "support/Npy.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace nereid;
using namespace nereid::support;

namespace {

std::vector<uint8_t> file(std::string header, size_t dataBytes, uint8_t major = 1) {
  std::vector<uint8_t> out = {0x93, 'N', 'U', 'M', 'P', 'Y', major, 0};
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i)
    out.push_back(uint8_t(header.size() >> (8 * i)));
  out.insert(out.end(), header.begin(), header.end());
  out.resize(out.size() + dataBytes);
  return out;
}

TEST(Npy, RoundTrips) {
  float values[6] = {1, 2, 3, 4, 5, 6};
  std::vector<uint8_t> data(sizeof values);
  std::memcpy(data.data(), values, sizeof values);
  int64_t shape[] = {2, 3};
  auto bytes = writeNpy(DType::Float32, shape, data);
  auto header = readNpyHeader(bytes);
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header->dataOffset % 64, 0u);
  EXPECT_EQ(header->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(header->dtype, DType::Float32);
  EXPECT_FALSE(header->fortranOrder);
  EXPECT_EQ(0, std::memcmp(bytes.data() + header->dataOffset,
                           reinterpret_cast<const char *>(values), sizeof values));
}

TEST(Npy, ReadsWhatNumPyWrites) {
  auto header =
      readNpyHeader(file("{'descr': '<i8', 'fortran_order': True, 'shape': (3,), }\n", 24, 2));
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header->dtype, DType::Int64);
  EXPECT_TRUE(header->fortranOrder);
  auto scalar = readNpyHeader(file("{'descr': '|b1', 'fortran_order': False, 'shape': (), }", 1));
  ASSERT_TRUE(scalar.ok());
  EXPECT_TRUE(scalar->shape.empty());
}

TEST(Npy, RefusesBadFiles) {
  EXPECT_FALSE(readNpyHeader({}).ok());
  auto good = file("{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }", 16);
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(readNpyHeader(std::span(good).first(size)).ok()) << size;
  EXPECT_TRUE(readNpyHeader(good).ok());
  for (const char *header :
       {"", "{", "{}", "{'descr': '<f4'}",
        "{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4294967296), }",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,), }"})
    EXPECT_FALSE(readNpyHeader(file(header, 64)).ok()) << header;
}

} // namespace
