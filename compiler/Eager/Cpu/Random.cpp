//===- Random.cpp - Random numbers
//-----------------------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbers that Random.h defines, many blocks at a time.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Random.h"

#include "compiler/Eager/Cpu/CpuPrimitives.h"
#include "compiler/Eager/Cpu/Iteration.h"
#include "compiler/Eager/Cpu/Operands.h"

using namespace tinh;
using namespace tinh::eager;

namespace {

// Blocks that are enciphered together, in vectors; and that make a chunk.
constexpr int kTogether = 64;
constexpr int64_t kBlocksPerChunk = 2048;

/// Words j of blocks i at words[j][i].
struct Words {
  uint32_t words[4][kTogether];

  /// As PhiloxBlock.
  Words(uint64_t key, uint64_t counter) {
    for (int i = 0; i < kTogether; ++i) {
      words[0][i] = static_cast<uint32_t>(counter + i);
      words[1][i] = static_cast<uint32_t>((counter + i) >> 32);
      words[2][i] = words[3][i] = 0;
    }
    uint32_t key0 = static_cast<uint32_t>(key), key1 = key >> 32;
    for (int round = 0; round < 10; ++round) {
      for (int i = 0; i < kTogether; ++i) {
        uint64_t a = uint64_t(0xD2511F53) * words[0][i];
        uint64_t b = uint64_t(0xCD9E8D57) * words[2][i];
        words[0][i] = static_cast<uint32_t>(b >> 32) ^ words[1][i] ^ key0;
        words[1][i] = static_cast<uint32_t>(b);
        words[2][i] = static_cast<uint32_t>(a >> 32) ^ words[3][i] ^ key1;
        words[3][i] = static_cast<uint32_t>(a);
      }
      key0 += 0x9E3779B9;
      key1 += 0xBB67AE85;
    }
  }
};

struct RandomOperation : Pieces { // Blocks.
  Elements out;
  tinh_dtype_t dtype;
  Draw draw;
  Iteration<1> space; // In row-major order.

  void run(uint32_t begin, uint32_t end, Worker &) {
    withElement(dtype, [&]<typename Element>(Element) {
      int64_t last = firstOf(end);
      for (int64_t block = firstOf(begin); block < last; block += kTogether)
        fill<Element>(block, std::min<int64_t>(kTogether, last - block));
    });
  }

private:
  bool isWide() const { return drawsWideNumbers(draw.kind, dtype); }
  int64_t perBlock() const { return isWide() ? 2 : 4; }

  /// The numbers of `count` blocks.
  template <typename Element> void fill(int64_t first, int64_t count) const {
    Element numbers[4 * kTogether];
    bool isWhole = count == kTogether;
    if (isWhole && draw.kind == Draw::Integers)
      drawIntegers(first, numbers);
    else if (isWhole && !isWide() && draw.kind == Draw::Normal)
      drawNormals(first, numbers);
    else if (isWhole && !isWide())
      drawUnits(first, numbers);
    else
      for (int64_t i = 0; i < count; ++i)
        drawOne(first + i, numbers + i * perBlock());
    store(numbers, first * perBlock(), count * perBlock());
  }

  template <typename Element>
  void drawOne(int64_t block, Element *numbers) const {
    DrawnNumbers drawn = drawBlock(draw, dtype, static_cast<uint64_t>(block));
    for (int i = 0; i < drawn.count; ++i)
      numbers[i] = draw.kind == Draw::Integers
                       ? static_cast<Element>(drawn.integer[i])
                       : static_cast<Element>(drawn.real[i]);
  }

  /// As drawBlock, of integers.
  template <typename Element>
  void drawIntegers(int64_t first, Element *numbers) const {
    Words words(draw.key, draw.counter + static_cast<uint64_t>(first));
    uint64_t low = draw.a.integer, range = draw.b.integer - low;
    for (int i = 0; i < kTogether; ++i)
      for (int j = 0; j < 2; ++j) {
        uint64_t bits =
            words.words[2 * j][i] | uint64_t(words.words[2 * j + 1][i]) << 32;
        uint64_t below = static_cast<unsigned __int128>(bits) * range >> 64;
        numbers[2 * i + j] = static_cast<Element>(
            static_cast<int64_t>(low + (range ? below : bits)));
      }
  }

  /// As drawBlock, of uniform numbers that take 32 bits each.
  template <typename Element>
  void drawUnits(int64_t first, Element *numbers) const {
    Words words(draw.key, draw.counter + static_cast<uint64_t>(first));
    bool isUniform = draw.kind == Draw::Uniform;
    int bits = isUniform ? significantBits(dtype) : 32;
    double scale = std::ldexp(1.0, -bits), a = draw.a.real;
    double range = isUniform ? draw.b.real - a : 0;
    for (int j = 0; j < 4; ++j)
      for (int i = 0; i < kTogether; ++i) {
        double unit = (words.words[j][i] >> (32 - bits)) * scale;
        double number = isUniform ? a + range * unit : unit < a;
        numbers[4 * i + j] = static_cast<Element>(number);
      }
  }

  /// As drawBlock, of normal numbers that take 32 bits each.
  template <typename Element>
  void drawNormals(int64_t first, Element *numbers) const {
    Words words(draw.key, draw.counter + static_cast<uint64_t>(first));
    auto unit = [&](int j, int i) { // Word j of block i.
      return static_cast<float>(words.words[j][i] >> 8) * 0x1p-24f;
    };
    float normals[4][kTogether];
    for (int j = 0; j < 4; j += 2)
      for (int i = 0; i < kTogether; ++i) {
        float a, b;
        makeNormal(unit(j, i), unit(j + 1, i), a, b);
        normals[j][i] = a;
        normals[j + 1][i] = b;
      }
    for (int j = 0; j < 4; ++j)
      for (int i = 0; i < kTogether; ++i)
        numbers[4 * i + j] = static_cast<Element>(
            draw.a.real + draw.b.real * double(normals[j][i]));
  }

  template <typename Element>
  void store(const Element *numbers, int64_t first, int64_t count) const {
    auto *to = reinterpret_cast<Element *>(out.data());
    count = std::min(count, space.elements() - first);
    if (space.rank == 1 && space.strides[0][0] == 1) {
      std::copy_n(numbers, count, to + first);
      return;
    }
    for (int64_t i = 0; i < count; ++i) {
      int64_t offset[1];
      space.locate(first + i, offset);
      to[offset[0]] = numbers[i];
    }
  }
};

} // namespace

void kernels::random(const Primitive &primitive) {
  const Draw &draw = primitive.get<primitives::Random>().draw;
  TensorImpl &out = primitive.output();
  Iteration<1> space;
  for (uint32_t d = out.rank(); d-- > 0;)
    if (out.sizes[d] != 1)
      space.add(out.sizes[d], {out.strides[d]});
  space.merge();
  int64_t perBlock = drawsWideNumbers(draw.kind, out.dtype) ? 2 : 4;
  Engine::get().emplace<RandomOperation>(
      primitive.call, std::span<Storage *const>(),
      std::array{out.storage.get()},
      Pieces(ceilDiv(space.elements(), perBlock), kBlocksPerChunk,
             coversStorage(out)),
      Elements(out), out.dtype, draw, space);
}
