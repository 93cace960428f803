// The files of kernels/ that the library has inside.
#pragma once

#include <span>
#include <string_view>

namespace nereid::kernels {

struct FolderFile {
  std::string_view path; ///< "softmax/kernel.py"
  std::string_view text;
};

std::span<const FolderFile> folderFiles();
/// Null if there is none.
const FolderFile *folderFile(std::string_view path);

} // namespace nereid::kernels
