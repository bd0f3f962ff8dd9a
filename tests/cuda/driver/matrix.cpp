//===- matrix.cpp - Tensor cores of emulated kernels ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the elements of matrices lie in the registers of lanes is as the PTX
// ISA has it: lane l has row l / 4 and, of the columns, 2 (l % 4) and the next
// one, or of tf32 l % 4, or of bytes 4 (l % 4) and the next three.
//
//===----------------------------------------------------------------------===//
#include "block.h"
#include "multiply.h"

using namespace tinh::emulator;
using namespace tinh::fake;

#define TINH_EMULATOR __attribute__((visibility("default")))

namespace {
struct LoadInput {
  const char *row;
  uint32_t count;
  bool transposed;
};

struct MultiplyInput {
  Multiply kind;
  uint32_t depth;
  const uint32_t *words;
};

/// The factors and the sums of a warp: floats, or of bytes integers.
template <typename T> struct Matrices {
  T a[16][32], b[32][8], c[16][8];
};
} // namespace

/// What lane `lane` gets of matrix `index`.
static uint32_t loadWord(const Group &group, uint32_t index, uint32_t lane,
                         bool transposed) {
  auto rowOf = [&](uint32_t row) {
    return static_cast<const LoadInput *>(group.inputs[index * 8 + row])->row;
  };
  uint32_t word = 0;
  if (!transposed) {
    std::memcpy(&word, rowOf(lane / 4) + lane % 4 * 4, 4);
    return word;
  }
  for (uint32_t half = 0; half < 2; ++half) {
    uint16_t element;
    std::memcpy(&element, rowOf(lane % 4 * 2 + half) + lane / 4 * 2, 2);
    word |= uint32_t(element) << (16 * half);
  }
  return word;
}

static void loadMatrices(Group &group) {
  const auto &input = *static_cast<const LoadInput *>(group.inputs[0]);
  for (uint32_t lane = 0; lane < input.count * 8; ++lane) {
    const char *row = static_cast<const LoadInput *>(group.inputs[lane])->row;
    if (!Block::current().isShared(row, 16))
      Block::current().fail("ldmatrix reads outside of shared memory");
    if (reinterpret_cast<uintptr_t>(row) % 16)
      Block::current().fail("ldmatrix reads a row that is not aligned");
  }
  for (uint32_t lane = 0; lane < 32; ++lane)
    for (uint32_t i = 0; i < input.count; ++i)
      static_cast<uint32_t *>(group.outputs[lane])[i] =
          loadWord(group, i, lane, input.transposed);
}

TINH_EMULATOR void tinh::emulator::tinh_emu_load_matrix(const void *row,
                                                        uint32_t count,
                                                        uint32_t transposed,
                                                        uint32_t *result) {
  LoadInput input{static_cast<const char *>(row), count, transposed != 0};
  Block &block = Block::current();
  if (block.read(Register::Laneid) < count * 8)
    block.noteRead(row, 16);
  block.runTogether("ldmatrix", ~0u, &input, result, loadMatrices);
}

/// Elements of a factor in a register.
static uint32_t elementsOf(Multiply kind) {
  return kind == Multiply::Tf32 ? 1 : isOfBytes(kind) ? 4 : 2;
}

/// Gets A and B from the registers of a lane.
template <typename T>
static void gatherFactors(Matrices<T> &m, const MultiplyInput &input,
                          uint32_t lane) {
  uint32_t row = lane / 4, column = lane % 4;
  uint32_t perWord = elementsOf(input.kind), step = 4 * perWord;
  uint32_t words = input.depth / step; // Of B; A has twice as many.
  auto element = [&](uint32_t word, uint32_t part, bool isOfB) {
    return elementOf<T>(input.words[word] >> (32 / perWord * part), input.kind,
                        isOfB);
  };
  for (uint32_t part = 0; part < perWord; ++part) {
    uint32_t k = column * perWord + part;
    for (uint32_t i = 0; i < 2 * words; ++i)
      m.a[row + 8 * (i & 1)][k + step * (i >> 1)] = element(i, part, false);
    for (uint32_t i = 0; i < words; ++i)
      m.b[k + step * i][row] = element(2 * words + i, part, true);
  }
}

/// Calls `body(i, row, column)` for each of the four sums of a lane.
template <typename Body> static void forSums(uint32_t lane, Body body) {
  for (uint32_t i = 0; i < 4; ++i)
    body(i, lane / 4 + 8 * (i >> 1), lane % 4 * 2 + (i & 1));
}

template <typename T> static void multiplyMatrices(Group &group) {
  static thread_local Matrices<T> m;
  auto inputOf = [&](uint32_t lane) -> const MultiplyInput & {
    return *static_cast<const MultiplyInput *>(group.inputs[lane]);
  };
  uint32_t depth = inputOf(0).depth;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const MultiplyInput &input = inputOf(lane);
    uint32_t factors = depth / (4 * elementsOf(input.kind)) * 3;
    gatherFactors(m, input, lane);
    forSums(lane, [&](uint32_t i, uint32_t row, uint32_t column) {
      m.c[row][column] = fromBits<T>(input.words[factors + i]);
    });
  }
  for (uint32_t i = 0; i < 16; ++i)
    for (uint32_t k = 0; k < depth; ++k)
      for (uint32_t j = 0; j < 8; ++j)
        m.c[i][j] += m.a[i][k] * m.b[k][j];
  for (uint32_t lane = 0; lane < 32; ++lane) {
    auto *result = static_cast<uint32_t *>(group.outputs[lane]);
    forSums(lane, [&](uint32_t i, uint32_t row, uint32_t column) {
      result[i] = toBits(m.c[row][column]);
    });
  }
}

TINH_EMULATOR void tinh::emulator::tinh_emu_multiply(Multiply kind,
                                                     uint32_t depth,
                                                     const uint32_t *operands,
                                                     uint32_t *result) {
  MultiplyInput input{kind, depth, operands};
  Block::current().runTogether("mma", ~0u, &input, result,
                               isOfBytes(kind) ? multiplyMatrices<int32_t>
                                               : multiplyMatrices<float>);
}
