// Tiles (AMX) for processors that have none: their instructions trap, and are done here. Intel 64
// and IA-32 Architectures Software Developer's Manual, volume 2, "TDPBF16PS" and its neighbours.
#pragma once

#include "target/Cpu.h"

#include <bit>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sys/ucontext.h>

namespace nereid::test {

class TileModel {
public:
  /// From now on such instructions work in this process.
  static void install() {
    struct sigaction action = {};
    action.sa_sigaction = [](int, siginfo_t *, void *context) {
      if (!state().step(static_cast<ucontext_t *>(context)->uc_mcontext.gregs))
        std::abort();
    };
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGILL, &action, nullptr);
  }
  /// Products of tiles that this thread has computed.
  static uint64_t &products() {
    thread_local uint64_t count = 0;
    return count;
  }

private:
  struct Tile {
    int rows = 0, bytes = 0; // 0: not configured
    uint8_t data[16][64];
  };
  Tile tiles[8];

  static TileModel &state() {
    thread_local TileModel model;
    return model;
  }

  // Works the instruction at RIP; false if it is none of ours.
  bool step(greg_t *registers) {
    const auto *code = reinterpret_cast<const uint8_t *>(registers[REG_RIP]);
    // VEX with three bytes: C4, R X B map, W vvvv L prefix; map 0F 38, no vector length.
    if (code[0] != 0xc4 || (code[1] & 0x1f) != 2 || (code[2] & 0x84) != 0)
      return false;
    const int prefix = code[2] & 3, opcode = code[3], mode = code[4] >> 6, reg = code[4] >> 3 & 7,
              rm = code[4] & 7, other = 7 & ~(code[2] >> 3);
    enum { None, P66, F3, F2 };
    int length = 5;
    if (mode == 3) {
      if (opcode == 0x49 && prefix == None && reg == 0 && rm == 0)
        for (Tile &tile : tiles)
          tile.rows = tile.bytes = 0;
      else if (opcode == 0x49 && prefix == F2 && rm == 0)
        std::memset(configured(reg).data, 0, sizeof tiles[0].data);
      else if (opcode == 0x5c && prefix == F3)
        multiply(reg, rm, other, [](Tile &to, const Tile &a, const Tile &b, int m, int n, int k) {
          float sum = element<float>(to, m, n);
          for (int i = 0; i < 2; ++i)
            sum += number(element<uint16_t>(a, m, 2 * k + i)) *
                   number(element<uint16_t>(b, k, 2 * n + i));
          element<float>(to, m, n) = sum;
        });
      else if (opcode == 0x5e)
        multiply(reg, rm, other, [&](Tile &to, const Tile &a, const Tile &b, int m, int n, int k) {
          for (int i = 0; i < 4; ++i) {
            int x = a.data[m][4 * k + i], y = b.data[k][4 * n + i];
            if (prefix == F2 || prefix == F3)
              x = int8_t(x);
            if (prefix == F2 || prefix == P66)
              y = int8_t(y);
            element<uint32_t>(to, m, n) += uint32_t(x * y);
          }
        });
      else
        return false;
    } else {
      static constexpr int numbers[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                        REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                        REG_R12, REG_R13, REG_R14, REG_R15};
      const int high = code[1] & 0x20 ? 0 : 8, highIndex = code[1] & 0x40 ? 0 : 8;
      int64_t address = 0, stride = 0;
      int base = rm;
      if (rm == 4) {
        const int sib = code[length++], index = (sib >> 3 & 7) + highIndex;
        base = sib & 7;
        if (index != 4)
          stride = registers[numbers[index]] << (sib >> 6);
      }
      if (base == 5 && mode == 0) // no base, or one relative to the next instruction
        address = rm == 4 ? 0 : registers[REG_RIP] + 9;
      else
        address = registers[numbers[base + high]];
      if (mode == 1) {
        address += int8_t(code[length++]);
      } else if (mode == 2 || (base == 5 && mode == 0)) {
        int32_t offset;
        std::memcpy(&offset, code + length, 4);
        address += offset;
        length += 4;
      }
      auto *memory = reinterpret_cast<uint8_t *>(address);
      if (opcode == 0x49 && prefix == None && reg == 0)
        configure(memory + (rm == 4 ? stride : 0));
      else if (opcode == 0x4b && rm == 4 && prefix == F3)
        forEachRow(reg, [&](Tile &tile, int row) {
          std::memcpy(memory + row * stride, tile.data[row], size_t(tile.bytes));
        });
      else if (opcode == 0x4b && rm == 4 && prefix != None)
        forEachRow(reg, [&](Tile &tile, int row) {
          std::memcpy(tile.data[row], memory + row * stride, size_t(tile.bytes));
        });
      else
        return false;
    }
    registers[REG_RIP] += length;
    return true;
  }

  Tile &configured(int number) {
    if (!tiles[number].rows)
      std::abort(); // #UD there
    return tiles[number];
  }
  void configure(const uint8_t *memory) {
    if (memory[0] != 1)
      std::abort();
    for (int i = 0; i < 8; ++i) {
      uint16_t bytes;
      std::memcpy(&bytes, memory + 16 + 2 * i, 2);
      tiles[i].bytes = bytes;
      tiles[i].rows = memory[48 + i];
      if (bytes > 64 || tiles[i].rows > 16)
        std::abort();
      std::memset(tiles[i].data, 0, sizeof tiles[i].data);
    }
  }
  template <typename Body> void forEachRow(int number, Body body) {
    Tile &tile = configured(number);
    for (int row = 0; row < tile.rows; ++row)
      body(tile, row);
  }
  template <typename Body> void multiply(int to, int a, int b, Body body) {
    ++products();
    Tile &sums = configured(to), &left = configured(a), &right = configured(b);
    for (int m = 0; m < sums.rows; ++m)
      for (int k = 0; k < left.bytes / 4; ++k)
        for (int n = 0; n < sums.bytes / 4; ++n)
          body(sums, left, right, m, n, k);
  }
  template <typename T> static T &element(Tile &tile, int row, int at) {
    return reinterpret_cast<T *>(tile.data[row])[at];
  }
  template <typename T> static T element(const Tile &tile, int row, int at) {
    return reinterpret_cast<const T *>(tile.data[row])[at];
  }
  static float number(uint16_t bf16) { return std::bit_cast<float>(uint32_t(bf16) << 16); }
};

/// Features with tiles, which are then modelled if this processor has none; nothing if it lacks
/// what products by tiles need besides.
inline std::optional<target::CpuFeatureSet> withTiles(target::CpuFeatureSet features) {
  if (!features.has("avx512bf16") || !features.has("avx512vnni"))
    return std::nullopt;
  if (!target::hostCpuFeatures().has("amx-tile"))
    TileModel::install();
  for (std::string_view name : {"amx-tile", "amx-bf16", "amx-int8"})
    features.add(name);
  return features;
}

} // namespace nereid::test
