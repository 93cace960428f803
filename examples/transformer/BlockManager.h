// Which pages of the key and value cache hold which tokens of which sequence.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

/// Gives pages of a fixed number of tokens to sequences and takes them back. A sequence owns no
/// more pages than its tokens need, so at most one page of it is partly used.
class BlockManager {
public:
  BlockManager(int64_t pages, int64_t tokensPerPage);

  /// A new sequence without tokens.
  int64_t open();
  /// Gives its pages back. The number is used again by `open`.
  void close(int64_t sequence);
  /// Room for `tokens` more. False if there are too few free pages; nothing is changed then.
  bool grow(int64_t sequence, int64_t tokens);

  int64_t length(int64_t sequence) const { return sequences[size_t(sequence)]->tokens; }
  const std::vector<int32_t> &table(int64_t sequence) const {
    return sequences[size_t(sequence)]->pages;
  }
  int64_t usedPages() const { return total - int64_t(available.size()); }
  int64_t tokensPerPage() const { return pageTokens; }

private:
  struct Sequence {
    int64_t tokens = 0;
    std::vector<int32_t> pages;
  };
  int64_t total, pageTokens;
  std::vector<int32_t> available; ///< free pages; the last is given first
  std::vector<std::optional<Sequence>> sequences;
};
