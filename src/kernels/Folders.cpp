#include "kernels/Folders.h"

#include <algorithm>

namespace nereid::kernels {

namespace {
constexpr FolderFile files[] = {
#include "kernels/Folders.inc"
};
} // namespace

std::span<const FolderFile> folderFiles() { return files; }

const FolderFile *folderFile(std::string_view path) {
  auto found = std::find_if(std::begin(files), std::end(files),
                            [&](const FolderFile &file) { return file.path == path; });
  return found == std::end(files) ? nullptr : found;
}

} // namespace nereid::kernels
