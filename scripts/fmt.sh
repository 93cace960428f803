#!/usr/bin/env bash
# Format our C++ files in place; with --check, only say which differ.
set -euo pipefail
mapfile -t files < <(git ls-files -co --exclude-standard '*.cpp' '*.h' '*.c' '*.cu')
mapfile -t files < <(for file in "${files[@]}"; do [[ -f $file ]] && echo "$file"; done)
((${#files[@]})) || exit 0
if [[ ${1:-} == --check ]]; then
  exec clang-format-19 --dry-run --Werror "${files[@]}"
fi
exec clang-format-19 -i "${files[@]}"
