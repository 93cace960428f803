#include "BlockManager.h"

BlockManager::BlockManager(int64_t pages, int64_t tokensPerPage)
    : total(pages), pageTokens(tokensPerPage) {
  for (int64_t page = pages; page-- > 0;)
    available.push_back(int32_t(page));
}

int64_t BlockManager::open() {
  for (size_t i = 0; i < sequences.size(); ++i)
    if (!sequences[i]) {
      sequences[i].emplace();
      return int64_t(i);
    }
  sequences.emplace_back(std::in_place);
  return int64_t(sequences.size()) - 1;
}

void BlockManager::close(int64_t sequence) {
  auto &old = sequences[size_t(sequence)];
  available.insert(available.end(), old->pages.begin(), old->pages.end());
  old.reset();
}

bool BlockManager::grow(int64_t sequence, int64_t tokens) {
  Sequence &grown = *sequences[size_t(sequence)];
  int64_t pages = (grown.tokens + tokens + pageTokens - 1) / pageTokens;
  int64_t more = pages - int64_t(grown.pages.size());
  if (more > int64_t(available.size()))
    return false;
  for (; more > 0; --more) {
    grown.pages.push_back(available.back());
    available.pop_back();
  }
  grown.tokens += tokens;
  return true;
}
