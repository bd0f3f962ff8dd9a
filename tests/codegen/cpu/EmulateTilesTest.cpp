//===- EmulateTilesTest.cpp - Products of tiles -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Intrinsics against loops over elements, emulated and, where this machine has
// the instruction, as it computes them.
//
//===----------------------------------------------------------------------===//
#include "EmulateModel.h"
#include "IrFunction.h"

#include "tinh/artifact.h"

using namespace tinh::tests;

namespace {

/// @f(out, sum, left, right) of addresses, with rows 80 bytes apart.
std::string tileFunction(const std::string &product, int rows, int columns,
                         int depth) {
  auto shape = [](int rows, int bytes) {
    return "i16 " + std::to_string(rows) + ", i16 " + std::to_string(bytes);
  };
  std::string load = " = call x86_amx @llvm.x86.tileloadd64.internal(";
  std::string sum = shape(rows, 4 * columns), k = std::to_string(4 * depth);
  return R"(
declare x86_amx @llvm.x86.tileloadd64.internal(i16, i16, ptr, i64)
declare void @llvm.x86.tilestored64.internal(i16, i16, ptr, i64, x86_amx)
declare x86_amx @llvm.x86.)" +
         product + R"(.internal(i16, i16, i16, x86_amx, x86_amx, x86_amx)
define void @f(ptr %out, ptr %sum, ptr %left, ptr %right) {
  %c)" + load +
         sum + ", ptr %sum, i64 80)\n  %a" + load + shape(rows, 4 * depth) +
         ", ptr %left, i64 80)\n  %b" + load + shape(depth, 4 * columns) +
         ", ptr %right, i64 80)\n  %d = call x86_amx @llvm.x86." + product +
         ".internal(" + sum + ", i16 " + k +
         ", x86_amx %c, x86_amx %a, x86_amx %b)\n"
         "  call void @llvm.x86.tilestored64.internal(" +
         sum + ", ptr %out, i64 80, x86_amx %d)\n  ret void\n}\n";
}

constexpr int kStride = 80;

/// Element i of a row of a tile in memory.
template <typename Value> Value &at(Values<Value> &tile, int row, int i) {
  return tile[row * kStride / sizeof(Value) + i];
}

struct TileShape {
  int rows, columns, depth; // The depth in groups of four bytes.
};
constexpr TileShape kTileShapes[] = {
    {16, 16, 16}, {5, 16, 16}, {16, 3, 16}, {16, 16, 1}, {1, 2, 7}};

template <typename Left, typename Right>
void checkIntegerTiles(const std::string &product) {
  for (auto [rows, columns, depth] : kTileShapes)
    for (Way way : waysFor(TINH_CPU_AMX_TILE | TINH_CPU_AMX_INT8)) {
      IrFunction f(tileFunction(product, rows, columns, depth), way);
      auto start = integers<int32_t>(16 * kStride / 4);
      auto left = integers<Left>(16 * kStride);
      auto right = integers<Right>(16 * kStride);
      Values<int32_t> out(start.size(), 42), expected = out;
      f(out.data(), start.data(), left.data(), right.data());
      for (int m = 0; m < rows; ++m)
        for (int n = 0; n < columns; ++n) {
          auto sum = static_cast<uint32_t>(at(start, m, n));
          for (int k = 0; k < 4 * depth; ++k)
            sum += static_cast<uint32_t>(int32_t(at(left, m, k)) *
                                         at(right, k / 4, 4 * n + k % 4));
          at(expected, m, n) = static_cast<int32_t>(sum);
        }
      ASSERT_EQ(out, expected) << product << " " << rows << " " << columns;
    }
}

TEST(EmulateTilesTest, Tdpbssd) {
  checkIntegerTiles<int8_t, int8_t>("tdpbssd");
}
TEST(EmulateTilesTest, Tdpbsud) {
  checkIntegerTiles<int8_t, uint8_t>("tdpbsud");
}
TEST(EmulateTilesTest, Tdpbusd) {
  checkIntegerTiles<uint8_t, int8_t>("tdpbusd");
}
TEST(EmulateTilesTest, Tdpbuud) {
  checkIntegerTiles<uint8_t, uint8_t>("tdpbuud");
}

TEST(EmulateTilesTest, Tdpbf16ps) {
  for (auto [rows, columns, depth] : kTileShapes)
    for (Way way : waysFor(TINH_CPU_AMX_TILE | TINH_CPU_AMX_BF16)) {
      IrFunction f(tileFunction("tdpbf16ps", rows, columns, depth), way);
      auto start = floats(16 * kStride / 4);
      auto left = bf16s(16 * kStride / 2), right = bf16s(16 * kStride / 2);
      Values<float> out(start.size(), 42), expected = out;
      f(out.data(), start.data(), left.data(), right.data());
      for (int m = 0; m < rows; ++m)
        for (int n = 0; n < columns; ++n) {
          float sums[2] = {0, 0};
          for (int k = 0; k < 2 * depth; ++k)
            sums[k % 2] = addProduct(sums[k % 2], at(left, m, k),
                                     at(right, k / 2, 2 * n + k % 2));
          at(expected, m, n) =
              flush(flush(at(start, m, n)) + flush(sums[0] + sums[1]));
        }
      ASSERT_EQ(bitsOf(out), bitsOf(expected)) << rows << " " << columns;
    }
}

/// Tiles that a loop carries, and exchanges: after three times, and one that
/// begins as zeros.
TEST(EmulateTilesTest, LoopsCarryTiles) {
  const char *ir = R"(
declare x86_amx @llvm.x86.tilezero.internal(i16, i16)
declare x86_amx @llvm.x86.tileloadd64.internal(i16, i16, ptr, i64)
declare void @llvm.x86.tilestored64.internal(i16, i16, ptr, i64, x86_amx)
define void @f(ptr %x, ptr %y, i64 %count) {
entry:
  %a = call x86_amx @llvm.x86.tileloadd64.internal(i16 16, i16 64, ptr %x, i64 64)
  %z = call x86_amx @llvm.x86.tilezero.internal(i16 16, i16 64)
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %p = phi x86_amx [%a, %entry], [%q, %loop]
  %q = phi x86_amx [%z, %entry], [%p, %loop]
  %next = add i64 %i, 1
  %done = icmp eq i64 %next, %count
  br i1 %done, label %end, label %loop
end:
  call void @llvm.x86.tilestored64.internal(i16 16, i16 64, ptr %x, i64 64, x86_amx %p)
  call void @llvm.x86.tilestored64.internal(i16 16, i16 64, ptr %y, i64 64, x86_amx %q)
  ret void
}
)";
  for (int64_t count : {1, 2, 3}) {
    auto x = integers<int32_t>(256), y = integers<int32_t>(256), first = x;
    IrFunction(ir, Way::Emulated)(x.data(), y.data(), count);
    Values<int32_t> zeros(256);
    EXPECT_EQ(x, count % 2 ? first : zeros);
    EXPECT_EQ(y, count % 2 ? zeros : first);
  }
}

} // namespace
