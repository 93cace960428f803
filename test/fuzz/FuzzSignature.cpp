// Any text as a signature: an error, or classes whose canonical text reads back as the same.
#include "support/Specialization.h"

#include <cstdlib>

using nereid::support::Specialization;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto parsed = Specialization::parse({reinterpret_cast<const char *>(data), size});
  if (!parsed)
    return 0;
  std::string text = parsed->text();
  auto again = Specialization::parse(text);
  if (!again || again->text() != text)
    std::abort();
  return 0;
}
