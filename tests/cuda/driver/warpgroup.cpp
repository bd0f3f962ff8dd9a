//===- warpgroup.cpp - Products of four warps of emulated kernels ---------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each thread computes its own sums from shared memory, at once: that products
// are on their way for some time does not show here. Descriptors, and where
// sums lie in the registers of threads, are as the PTX ISA has them.
//
//===----------------------------------------------------------------------===//
#include "block.h"
#include "multiply.h"

using namespace tinh::emulator;
using namespace tinh::fake;

#define TINH_EMULATOR __attribute__((visibility("default")))

namespace {

/// A factor that a descriptor describes, of elements of 16 bits, or of bytes.
class Matrix {
public:
  Matrix(uint64_t descriptor, bool across, Multiply kind, bool isOfB)
      : start(field(descriptor, 0)), leading(field(descriptor, 16)),
        stride(field(descriptor, 32)), across(across), kind(kind), isOfB(isOfB),
        size(isOfBytes(kind) ? 1 : 2) {
    uint32_t form = descriptor >> 62;
    if (form != 1 && form != 2)
      Block::current().fail(
          "wgmma reads a form of memory that is not emulated");
    line = form == 1 ? 128 : 64;
    if (start % line % 16 || (across && line != 128))
      Block::current().fail("wgmma reads factors that lie wrongly");
  }

  template <typename T> T at(uint32_t row, uint32_t depth) const {
    uint64_t address =
        across ? start + row / 64 * leading + depth / 8 * stride +
                     depth % 8 * line + row % 64 * 2
               : start + row / 8 * stride + row % 8 * line + depth * size;
    // Chunks are permuted by bits of the address itself.
    address ^= (address >> 7 & (line / 16 - 1)) << 4;
    Block &block = Block::current();
    uint64_t offset =
        (address - reinterpret_cast<uintptr_t>(block.shared())) & kAddresses;
    const char *element = block.shared() + offset;
    block.noteRead(element, size);
    uint32_t bits = 0;
    std::memcpy(&bits, element, size);
    return elementOf<T>(bits, kind, isOfB);
  }

private:
  static constexpr uint64_t kAddresses = (1 << 18) - 1;
  static uint64_t field(uint64_t descriptor, uint32_t first) {
    return (descriptor >> first & 0x3fff) << 4;
  }
  uint64_t start, leading, stride;
  uint32_t line;
  bool across;
  Multiply kind;
  bool isOfB;
  uint32_t size;
};

} // namespace

/// Adds the products of the thread's rows to its sums.
template <typename T, uint32_t depth>
static void multiply(const Matrix &a, const Matrix &b, uint32_t columns,
                     uint32_t *sums) {
  uint32_t thread = Block::current().thread().index % 128;
  uint32_t firstRow = thread / 32 * 16 + thread % 32 / 4;
  T ofRows[2][depth];
  for (uint32_t half = 0; half < 2; ++half)
    for (uint32_t k = 0; k < depth; ++k)
      ofRows[half][k] = a.at<T>(firstRow + 8 * half, k);
  for (uint32_t i = 0; i < columns / 2; ++i) {
    uint32_t column = i / 4 * 8 + thread % 4 * 2 + i % 2;
    T sum = fromBits<T>(sums[i]);
    for (uint32_t k = 0; k < depth; ++k)
      sum += ofRows[i / 2 % 2][k] * b.at<T>(column, k);
    sums[i] = toBits(sum);
  }
}

TINH_EMULATOR void tinh::emulator::tinh_emu_multiply_warpgroup(
    Multiply kind, uint32_t columns, uint32_t rowsAcross,
    uint32_t columnsAcross, uint64_t rows, uint64_t columnsAt, uint32_t *sums) {
  Matrix a(rows, rowsAcross, kind, /*isOfB=*/false),
      b(columnsAt, columnsAcross, kind, /*isOfB=*/true);
  if (isOfBytes(kind))
    multiply<int32_t, 32>(a, b, columns, sums);
  else
    multiply<float, 16>(a, b, columns, sums);
}
