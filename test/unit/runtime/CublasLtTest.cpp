// How products are described to cuBLASLt, on one that multiplies on the host (test/fake_cuda).
#include "runtime/CublasLt.h"

#include "support/HostTensor.h"

#include <gtest/gtest.h>

using namespace nereid;
using namespace nereid::runtime;
using support::HostTensor;

namespace {

std::unique_ptr<CublasLt> fake() {
  auto opened = CublasLt::open(NEREID_BINARY_DIR "/fake_cuda/libfake_cublasLt.so");
  EXPECT_TRUE(opened) << opened.error().what;
  return opened ? std::move(*opened) : nullptr;
}

// Multiplies matrices that lie by rows, or by columns where `transposed` names them, with rows or
// columns that are `gap` elements apart.
void expectProduct(CublasLt &library, DType factor, DType result, std::string_view transposed,
                   int64_t gap = 0) {
  SCOPED_TRACE(std::string(info(factor).name) + " " + std::string(transposed));
  const int64_t m = 6, n = 10, k = 7;
  auto tensor = [&](DType type, char name, int64_t rows, int64_t columns) {
    bool byColumns = transposed.find(name) != transposed.npos;
    std::vector<int64_t> strides = {columns + gap, 1};
    if (byColumns)
      strides = {1, rows + gap};
    HostTensor made(type, {rows, columns}, strides);
    for (int64_t i = 0; i < rows * columns; ++i)
      made.set(i, double((i * 7 + name) % 5 - 2));
    return made;
  };
  HostTensor a = tensor(factor, 'a', m, k), b = tensor(factor, 'b', k, n),
             c = tensor(result, 'c', m, n);
  MatrixProduct product;
  product.m = m;
  product.n = n;
  product.k = k;
  product.a = product.b = factor;
  product.c = result;
  for (int i = 0; i < 2; ++i) {
    product.aStrides[i] = a.strides()[size_t(i)];
    product.bStrides[i] = b.strides()[size_t(i)];
    product.cStrides[i] = c.strides()[size_t(i)];
  }
  auto plan = library.plan(product);
  ASSERT_TRUE(plan) << plan.error().what;
  EXPECT_EQ(plan->count(), 2u);
  ASSERT_TRUE(library.run(*plan, 1, a.data(), b.data(), c.data(), nullptr, nullptr));
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l)
        sum += a.get(i * k + l) * b.get(l * n + j);
      ASSERT_EQ(c.get(i * n + j), sum) << i << " " << j;
    }
}

TEST(CublasLt, MultipliesWhatLiesByRowsOrColumns) {
  auto library = fake();
  ASSERT_TRUE(library);
  EXPECT_EQ(library->version(), 130100u);
  for (const char *transposed : {"", "a", "b", "ab"})
    for (int64_t gap : {0, 3}) {
      expectProduct(*library, DType::Float32, DType::Float32, transposed, gap);
      expectProduct(*library, DType::Float16, DType::Float16, transposed, gap);
      expectProduct(*library, DType::BFloat16, DType::BFloat16, transposed, gap);
      expectProduct(*library, DType::Float64, DType::Float64, transposed, gap);
      expectProduct(*library, DType::Int8, DType::Int32, transposed, gap);
    }
  expectProduct(*library, DType::Float8E4NV, DType::Float16, "b");
}

TEST(CublasLt, RefusesWhatItCannotMultiply) {
  auto library = fake();
  ASSERT_TRUE(library);
  MatrixProduct product;
  product.m = product.n = product.k = 4;
  auto failure = [&] {
    auto plan = library->plan(product);
    return plan ? std::string() : plan.error().what;
  };
  EXPECT_EQ(failure(), "cuBLASLt cannot do it: strides of neither rows nor columns");
  for (auto *strides : {&product.aStrides, &product.bStrides, &product.cStrides}) {
    (*strides)[0] = 4;
    (*strides)[1] = 1;
  }
  EXPECT_EQ(failure(), "");
  product.a = product.b = DType::Float8E4NV; // by rows
  EXPECT_EQ(failure(), "cuBLASLt cannot do it: status 15");
  product.a = DType::Int1;
  EXPECT_EQ(failure(), "cuBLASLt cannot do it: a data type that it does not have");
  auto missing = CublasLt::open("libcublasLt-of-nobody.so");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().what.find("NEREID_CUBLASLT names the library"), std::string::npos);
  auto other = CublasLt::open("libm.so.6");
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().what.find("lacks `cublasLtCreate`"), std::string::npos);
}

} // namespace
