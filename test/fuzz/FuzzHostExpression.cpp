// Any bytes as a host expression: refused, or evaluated and printed.
#include "support/HostExpression.h"

#include <cstring>
#include <vector>

using namespace nereid::support;

namespace {
struct Arguments final : HostArguments {
  int64_t sizes[3] = {3, -1, INT64_MAX};
  HostTensorFacts facts{sizes, sizes, 4};
  HostValue argument(uint32_t leaf) const override {
    return leaf % 3 == 0   ? HostValue::of(int64_t(leaf) - 7)
           : leaf % 3 == 1 ? HostValue::of(double(leaf) * -0.5)
                           : HostValue::none();
  }
  HostValue meta(uint32_t number) const override { return HostValue::of(int64_t(number)); }
  const HostTensorFacts *tensor(uint32_t leaf) const override {
    return leaf % 2 ? &facts : nullptr;
  }
};
} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::vector<uint64_t> aligned((size + 7) / 8);
  if (size)
    std::memcpy(aligned.data(), data, size);
  auto expression = HostExpression::open({reinterpret_cast<const uint8_t *>(aligned.data()), size});
  if (!expression)
    return 0;
  Arguments arguments;
  volatile bool ok = expression->evaluate(arguments).ok();
  (void)ok;
  volatile size_t length = expression->toC({}).size() + expression->toPython({}).size();
  (void)length;
  return 0;
}
