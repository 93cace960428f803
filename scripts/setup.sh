# Sourced by ./dev: the Debian packages that each purpose needs, and `setup`, which installs the missing ones.

# What the shipped command needs to be built, and so what `./dev demo` needs.
packages_build=(clang-19 lld-19 llvm-19-dev libmlir-19-dev mlir-19-tools libzstd-dev zlib1g-dev
  cmake ninja-build libcli11-dev nlohmann-json3-dev libfmt-dev libxxhash-dev python3 python3-dev)
# llvm-19-tools has FileCheck and lit; libclang-rt-19-dev the sanitizers and libFuzzer; libclang-19-dev what the plugin of
# clang-tidy includes; python3-venv holds the packages that the tests take from the Python index.
packages_test=(git pkgconf libgtest-dev llvm-19-tools libclang-rt-19-dev clang-format-19 clang-tidy-19 libclang-19-dev python3-venv)
packages_bench=(libbenchmark-dev)
packages_fmt=(git clang-format-19)

packages_for() {
  case $1 in
  build) echo "${packages_build[@]}" ;;
  test) echo "${packages_build[@]}" "${packages_test[@]}" ;;
  bench) echo "${packages_build[@]}" "${packages_bench[@]}" ;;
  fmt) echo "${packages_fmt[@]}" ;;
  lint) packages_for test ;;
  all) echo "${packages_build[@]}" "${packages_test[@]}" "${packages_bench[@]}" "${packages_fmt[@]}" ;;
  *) echo "./dev setup: no purpose \`$1\`" >&2; return 2 ;;
  esac
}

# missing PACKAGE...: those that dpkg does not call installed.
missing() {
  local installed package
  installed=" $(dpkg-query -W -f '${db:Status-Abbrev}${Package} ' "$@" 2>/dev/null |
    sed 's/ii /ii/g' || true) "
  for package in "$@"; do
    [[ $installed == *" ii$package "* ]] || echo "$package"
  done
}

setup() {
  local wanted lacking
  wanted=$(packages_for "$1")
  if ! command -v dpkg-query >/dev/null; then
    echo "./dev setup: this is not a Debian system; it needs what these packages hold: $wanted" >&2
    return 0
  fi
  # shellcheck disable=SC2086
  lacking=$(missing $wanted | sort -u | tr '\n' ' ')
  if [[ -n $lacking ]]; then
    if [[ $(id -u) != 0 ]]; then
      echo "./dev setup: these packages are missing: $lacking" >&2
      echo "   hint: sudo apt-get install --no-install-recommends $lacking" >&2
      exit 1
    fi
    echo "installing: $lacking" >&2
    apt_install $lacking
  fi
  if [[ $1 == test || $1 == all ]]; then
    setup_ptxas
  fi
}

apt_install() {
  local log
  log=$(mktemp)
  export DEBIAN_FRONTEND=noninteractive
  if ! { apt-get update -q && apt-get install -y -q --no-install-recommends "$@"; } >"$log" 2>&1 </dev/null; then
    tail -40 "$log" >&2
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
}

# ptxas checks the GPU code that the tests make, and kernels with functions of libdevice need that. Those on PATH or of a CUDA
# toolkit serve; else those of the Python index. Without them such tests are skipped; the closing lines of `./dev test` say so, and
# `./dev test --ci` fails.
ptxas_venv=.cache/ptxas
setup_ptxas() {
  local wanted=()
  find_ptxas >/dev/null || wanted+=(nvidia-cuda-nvcc==13.0.88)
  find_libdevice >/dev/null || wanted+=(nvidia-nvvm==13.0.88)
  ((${#wanted[@]})) || return 0
  echo "installing ${wanted[*]} into $ptxas_venv" >&2
  { [[ -x $ptxas_venv/bin/pip ]] || python3 -m venv "$ptxas_venv"; } </dev/null >&2 &&
    "$ptxas_venv/bin/pip" install -q --no-deps --retries 1 --disable-pip-version-check "${wanted[@]}" </dev/null >&2 || true
  find_ptxas >/dev/null || echo "./dev setup: no ptxas; tests that need it are skipped" >&2
  find_libdevice >/dev/null || echo "./dev setup: no libdevice; tests that need it are skipped" >&2
  return 0
}

find_ptxas() {
  local candidate
  for candidate in "$(command -v ptxas || true)" /usr/local/cuda/bin/ptxas \
    "$PWD/$ptxas_venv"/lib/python3*/site-packages/nvidia/cu*/bin/ptxas; do
    if [[ -x $candidate ]]; then
      echo "$candidate"
      return 0
    fi
  done
  return 1
}

# Beside ptxas, of a CUDA toolkit, or of the index.
find_libdevice() {
  local candidate ptxas
  ptxas=$(find_ptxas || true)
  for candidate in "${NEREID_LIBDEVICE:-}" "${ptxas%/*}/../nvvm/libdevice/libdevice.10.bc" /usr/local/cuda/nvvm/libdevice/libdevice.10.bc \
    "$PWD/$ptxas_venv"/lib/python3*/site-packages/nvidia/cu*/nvvm/libdevice/libdevice.10.bc; do
    if [[ -r $candidate ]]; then
      echo "$candidate"
      return 0
    fi
  done
  return 1
}

# A build that has its tests keeps them; a fresh one is made without, so that a demo needs no test packages.
test_option() {
  if grep -qs '^NEREID_TESTS:BOOL=ON' "build/$1/CMakeCache.txt"; then echo ON; else echo OFF; fi
}
