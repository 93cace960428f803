// Compiles small C kernels to relocatable objects while testing, as the CPU back end would.
#pragma once

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <unistd.h>
#include <vector>

namespace nereid::runtime::test {

/// The object of a C source, or nothing (with a reason printed) where there is no clang.
inline std::vector<uint8_t> compileC(const std::string &source,
                                     const std::string &flags = "-O2 -fPIC") {
  static int counter = 0;
  std::string base = testing::TempDir() + "/nereid-object-" + std::to_string(::getpid()) + "-" +
                     std::to_string(counter++);
  std::ofstream(base + ".c") << source;
  std::string command = "clang-19 -std=c11 -c -mcmodel=small -fno-asynchronous-unwind-tables " +
                        flags + " " + base + ".c -o " + base + ".o";
  std::vector<uint8_t> bytes;
  if (std::system(command.c_str()) == 0) {
    std::ifstream file(base + ".o", std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  } else {
    std::printf("clang-19 failed: %s\n", command.c_str());
  }
  std::remove((base + ".c").c_str());
  std::remove((base + ".o").c_str());
  return bytes;
}

/// The start of every kernel source: the launch ABI in C.
inline const char *kernelPrelude = R"(
typedef unsigned char u8; typedef unsigned int u32; typedef unsigned long u64;
typedef struct Context {
  const void *arguments; u32 grid[3]; u32 reserved; void *arena; void *scratch; void *records;
  void (*yield)(const struct Context *); void *yieldState; u32 *fault; u32 isAlone, reserved2;
} Context;
)";

} // namespace nereid::runtime::test
