#include "engine/PackFile.h"

#include "engine/Files.h"

namespace nereid::engine {

namespace fs = std::filesystem;

Status PackFile::read() {
  std::error_code failed;
  if (!fs::exists(path, failed))
    return Success{};
  auto pack = launch::Pack::map(path.string());
  if (!pack)
    return pack.takeError();
  packs.push_back(*std::move(pack));
  return builder.add(packs.back());
}

Status PackFile::add(const launch::Signature &signature, const std::string &target,
                     const std::string &options, const support::Specialization &specialization,
                     std::vector<uint32_t> defaulted, const support::Artifact &artifact) {
  artifacts.push_back(artifact);
  return builder.add(
      signature, {target, options, specialization, std::move(defaulted), artifacts.back().bytes()});
}

Status PackFile::write() const {
  std::vector<uint8_t> bytes = builder.finish();
  return replaceFile(path, {reinterpret_cast<const char *>(bytes.data()), bytes.size()});
}

} // namespace nereid::engine
