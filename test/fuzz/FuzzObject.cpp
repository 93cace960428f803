// Any bytes as an ELF object: loaded or refused. Nothing is run.
#include "runtime/ObjectLoader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto object = nereid::runtime::LoadedObject::load({data, size}, "fuzz");
  if (object) {
    uint64_t offset;
    object->codeOffset(object->symbol("run"), offset);
  }
  return 0;
}
