// Any bytes behind a valid frame: an artifact or an error. What an artifact hands out can be read.
#include "support/Artifact.h"
#include "support/ArtifactFormat.h"
#include "support/Records.h"

#include <cstring>

using namespace nereid;
using namespace nereid::support;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::vector<uint8_t> bytes(data, data + size);
  // Size and checksum are repaired, or nothing but they would be tested.
  if (size >= sizeof(ArtifactHeader)) {
    uint64_t total = size;
    uint64_t checksum =
        hash64(bytes.data() + sizeof(ArtifactHeader), size - sizeof(ArtifactHeader));
    std::memcpy(bytes.data() + offsetof(ArtifactHeader, totalBytes), &total, 8);
    std::memcpy(bytes.data() + offsetof(ArtifactHeader, checksum), &checksum, 8);
  }
  auto artifact = Artifact::take(std::move(bytes));
  if (!artifact)
    return 0;
  volatile uint64_t sum = artifact->name().size() + artifact->option("num_warps").size();
  auto touch = [&](auto bytes) {
    for (auto byte : bytes)
      sum = sum + uint8_t(byte);
  };
  for (const ParameterRecord &parameter : artifact->parameters()) {
    touch(artifact->text(parameter.value));
    for (uint32_t i = 0; i < parameter.slotCount; ++i)
      touch(artifact->text(artifact->slots()[parameter.firstSlot + i].name));
  }
  for (const CodeRecord &code : artifact->codes())
    touch(artifact->blob(code.code));
  size_t shown = 0;
  for (const LineRecord &line : artifact->lines())
    if (const LocationRecord *location = artifact->locate(line.code, line.offset))
      if (shown++ < 16)
        touch(artifact->describe(*location));
  for (uint32_t site = 0; site < artifact->sites().size() && site < 64; ++site) {
    Record record = {site, 0, uint16_t(artifact->sites()[site].kind), 1, 2, 3, 0};
    for (const DecodedRecord &decoded : decodeRecords(*artifact, {&record, 1}))
      touch(decoded.text());
  }
  return 0;
}
