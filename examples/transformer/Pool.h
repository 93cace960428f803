// The program's own memory: where its tensors lie, and those that the library makes for it.
#pragma once

#include <nereid/tensor.h>

#include <map>
#include <mutex>

/// One block of a device, of which pieces are given out, first fit. All work of this program is on
/// one stream, so a piece that comes back may be given out again at once, whatever is queued.
class Pool final : public nereid::Allocator {
public:
  Pool(const nereid::Device &device, size_t bytes);
  void *allocate(size_t bytes, void *stream) override;
  void free(void *pointer, size_t bytes, void *stream) override;

  struct Use {
    size_t current = 0, peak = 0; ///< bytes
    int64_t pieces = 0;           ///< given out so far
  };
  Use use() const;
  size_t size() const { return block.bytes(); }

private:
  nereid::Tensor block;
  mutable std::mutex mutex;
  std::map<size_t, size_t> gaps; ///< bytes by where they begin
  Use counts;
};
