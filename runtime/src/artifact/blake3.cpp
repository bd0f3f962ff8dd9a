//===- blake3.cpp - The digest of weights -----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As the BLAKE3 paper has it (O'Connor, Aumasson, Neves and Wilcox-O'Hearn):
// chunks of 1024 bytes are hashed by themselves, several of them side by side
// in the lanes of vectors, and are the leaves of a binary tree whose left parts
// are as large as they can be, and full.
//
//===----------------------------------------------------------------------===//
#include "artifact/blake3.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace tinh::runtime {
namespace {

constexpr size_t kBlock = 64, kChunk = 1024;
constexpr uint32_t chunk_start = 1, chunk_end = 2, parent = 4, root = 8;

/// One number for each of the chunks that are hashed at a time.
constexpr size_t kLanes = 4;
typedef uint32_t Lanes __attribute__((vector_size(4 * kLanes)));

using Chaining = std::array<uint32_t, 8>;
constexpr Chaining kStart = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                             0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

/// In which order each round takes the words of a block.
constexpr auto kOrders = [] {
  constexpr uint8_t next[16] = {2, 6,  3,  10, 7, 0,  4,  13,
                                1, 11, 12, 5,  9, 14, 15, 8};
  std::array<std::array<uint8_t, 16>, 7> orders{};
  for (uint8_t i = 0; i < 16; ++i)
    orders[0][i] = i;
  for (size_t round = 1; round < orders.size(); ++round)
    for (size_t i = 0; i < 16; ++i)
      orders[round][i] = orders[round - 1][next[i]];
  return orders;
}();

template <typename Word> void rotate(Word &word, int bits) {
  word = (word >> bits) | (word << (32 - bits));
}

template <typename Word>
void mix(Word &a, Word &b, Word &c, Word &d, Word x, Word y) {
  a = a + b + x;
  rotate(d ^= a, 16);
  c = c + d;
  rotate(b ^= c, 12);
  a = a + b + y;
  rotate(d ^= a, 8);
  c = c + d;
  rotate(b ^= c, 7);
}

/// Takes a block of `length` bytes into `chaining`. A Word is a number, or one
/// for each lane.
template <typename Word>
void compress(Word (&chaining)[8], const Word (&block)[16], Word counter_low,
              Word counter_high, uint32_t length, uint32_t flags) {
  Word v[16];
  std::copy(chaining, chaining + 8, v);
  for (size_t i = 0; i < 4; ++i)
    v[8 + i] = Word{} + kStart[i];
  v[12] = counter_low;
  v[13] = counter_high;
  v[14] = Word{} + length;
  v[15] = Word{} + flags;
  for (const auto &order : kOrders) {
    auto m = [&](size_t i) { return block[order[i]]; };
    mix(v[0], v[4], v[8], v[12], m(0), m(1)); // Columns,
    mix(v[1], v[5], v[9], v[13], m(2), m(3));
    mix(v[2], v[6], v[10], v[14], m(4), m(5));
    mix(v[3], v[7], v[11], v[15], m(6), m(7));
    mix(v[0], v[5], v[10], v[15], m(8), m(9)); // then diagonals.
    mix(v[1], v[6], v[11], v[12], m(10), m(11));
    mix(v[2], v[7], v[8], v[13], m(12), m(13));
    mix(v[3], v[4], v[9], v[14], m(14), m(15));
  }
  for (size_t i = 0; i < 8; ++i)
    chaining[i] = v[i] ^ v[8 + i];
}

/// The last block of a chunk or a parent, which differs if it is the root's.
struct Output {
  Chaining chaining;
  uint32_t block[16];
  uint64_t counter;
  uint32_t length;
  uint32_t flags;

  Chaining finish(uint32_t more_flags = 0) const {
    uint32_t result[8];
    std::copy(chaining.begin(), chaining.end(), result);
    compress<uint32_t>(result, block, static_cast<uint32_t>(counter),
                       static_cast<uint32_t>(counter >> 32), length,
                       flags | more_flags);
    Chaining finished;
    std::copy(result, result + 8, finished.begin());
    return finished;
  }
};

Output parent_of(const Chaining &left, const Chaining &right) {
  Output output{kStart, {}, 0, kBlock, parent};
  std::copy(left.begin(), left.end(), output.block);
  std::copy(right.begin(), right.end(), output.block + 8);
  return output;
}

/// A chunk of at most 1024 bytes.
Output hash_chunk(const char *data, size_t size, uint64_t number) {
  Output output{kStart, {}, number, 0, chunk_start};
  for (;;) {
    output.length = static_cast<uint32_t>(std::min(size, kBlock));
    std::memset(output.block, 0, kBlock);
    if (output.length)
      std::memcpy(output.block, data, output.length);
    if (size <= kBlock)
      break;
    output.chaining = output.finish();
    output.flags = 0;
    data += kBlock;
    size -= kBlock;
  }
  output.flags |= chunk_end;
  return output;
}

/// As many whole chunks as there are lanes.
void hash_chunks(const char *data, uint64_t number, Chaining (&out)[kLanes]) {
  Lanes chaining[8], low, high;
  for (size_t i = 0; i < 8; ++i)
    chaining[i] = Lanes{} + kStart[i];
  for (size_t lane = 0; lane < kLanes; ++lane) {
    low[lane] = static_cast<uint32_t>(number + lane);
    high[lane] = static_cast<uint32_t>((number + lane) >> 32);
  }
  for (size_t at = 0; at < kChunk; at += kBlock) {
    Lanes block[16];
    for (size_t lane = 0; lane < kLanes; ++lane) {
      uint32_t words[16];
      std::memcpy(words, data + lane * kChunk + at, kBlock);
      for (size_t i = 0; i < 16; ++i)
        block[i][lane] = words[i];
    }
    uint32_t flags =
        (at == 0 ? chunk_start : 0) | (at + kBlock == kChunk ? chunk_end : 0);
    compress<Lanes>(chaining, block, low, high, kBlock, flags);
  }
  for (size_t lane = 0; lane < kLanes; ++lane)
    for (size_t i = 0; i < 8; ++i)
      out[lane][i] = chaining[i][lane];
}

/// The subtrees that are whole, from the left, each larger than the next.
class Tree {
public:
  /// `number`: of the leaf, which is not the last one.
  void add(Chaining leaf, uint64_t number) {
    for (uint64_t leaves = number + 1; leaves % 2 == 0; leaves /= 2)
      leaf = parent_of(pop(), leaf).finish();
    subtrees.push_back(leaf);
  }

  Chaining finish(Output last) {
    while (!subtrees.empty()) {
      Chaining right = last.finish();
      last = parent_of(pop(), right);
    }
    last.counter = 0;
    return last.finish(root);
  }

private:
  Chaining pop() {
    Chaining subtree = subtrees.back();
    subtrees.pop_back();
    return subtree;
  }

  std::vector<Chaining> subtrees;
};

} // namespace

std::array<uint8_t, 16> blake3(const void *data, size_t size) {
  const char *bytes = static_cast<const char *>(data);
  Tree tree;
  uint64_t number = 0;
  for (; size > kLanes * kChunk; size -= kLanes * kChunk) {
    Chaining leaves[kLanes];
    hash_chunks(bytes, number, leaves);
    for (const Chaining &leaf : leaves)
      tree.add(leaf, number++);
    bytes += kLanes * kChunk;
  }
  for (; size > kChunk; size -= kChunk) {
    tree.add(hash_chunk(bytes, kChunk, number).finish(), number);
    ++number;
    bytes += kChunk;
  }
  Chaining words = tree.finish(hash_chunk(bytes, size, number));
  std::array<uint8_t, 16> digest;
  std::memcpy(digest.data(), words.data(), digest.size());
  return digest;
}

} // namespace tinh::runtime
