#!/usr/bin/env bash
# clang-tidy over the C++ files that differ from main, or on main from the commit before (with --all: over all of them).
set -euo pipefail
if [[ ${1:-} == --all ]]; then
  mapfile -t files < <(git ls-files 'src/*.cpp' 'test/unit/*.cpp')
else
  base=$(git merge-base HEAD main 2>/dev/null || git merge-base HEAD origin/main)
  # On main itself: what the last commit brought.
  [[ $base != $(git rev-parse HEAD) ]] || base=$(git rev-parse HEAD~1)
  mapfile -t files < <({ git diff --name-only --diff-filter=d "$base" -- 'src/*.cpp' 'test/unit/*.cpp'
    git ls-files -o --exclude-standard -- 'src/*.cpp' 'test/unit/*.cpp'; } | sort -u)
fi
if ((${#files[@]} == 0)); then
  echo "lint: no C++ file changed"
  exit 0
fi
# clang-tidy reads the generated headers and the precompiled one.
ninja -C build/dev -j "${JOBS:-$(nproc)}" nereid_ir_generated nereid_pch >/dev/null
printf '%s\0' "${files[@]}" |
  xargs -0 -n 1 -P "${JOBS:-$(nproc)}" clang-tidy-19 --quiet -p build/dev
echo "lint: ${#files[@]} files clean"
