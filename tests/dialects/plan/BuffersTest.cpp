//===- BuffersTest.cpp - Sets of bytes, compared with bytes -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/plan/Plan.h"

#include <bitset>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace tinh::plan;

namespace {

constexpr int64_t kBytes = 96;
using Bytes = std::bitset<kBytes>;

Bytes bytesOf(BufferAttr buffer) {
  Bytes bytes;
  for (int64_t row = 0; row < buffer.getRows(); ++row)
    for (int64_t i = 0; i < buffer.getRun(); ++i)
      bytes.set(buffer.getOffset() + row * buffer.getPitch() + i);
  return bytes;
}

class Buffers : public testing::Test {
protected:
  Buffers() { context.loadDialect<PlanDialect>(); }

  int64_t number(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(engine);
  }

  BufferAttr rows(int64_t offset, int64_t run, int64_t pitch, int64_t count) {
    int64_t size = (count - 1) * pitch + run;
    bool contiguous = count == 1 || run == pitch;
    return BufferAttr::get(&context, Space::Arena, 0, offset, size,
                           contiguous ? size : run, contiguous ? size : pitch);
  }

  /// Rows of `pitch`, somewhere in memory.
  BufferAttr anyRows(int64_t pitch) {
    int64_t run = number(1, pitch), offset = number(0, kBytes - run);
    return rows(offset, run, pitch,
                number(1, (kBytes - offset - run) / pitch + 1));
  }

  MLIRContext context;
  std::mt19937 engine{1};
};

TEST_F(Buffers, CoverNoByteThatNoneHas) {
  int covered = 0, found = 0;
  for (int i = 0; i < 200'000; ++i) {
    const int64_t pitches[] = {6, 12, 18, 24};
    SmallVector<BufferAttr> buffers;
    Bytes all;
    for (int64_t left = number(1, 6); left-- > 0;) {
      buffers.push_back(anyRows(pitches[number(0, 3)]));
      all |= bytesOf(buffers.back());
    }
    BufferAttr wanted = anyRows(pitches[number(0, 3)]);
    bool covers = tinh::plan::covers(buffers, wanted);
    bool has = (bytesOf(wanted) & ~all).none();
    ASSERT_TRUE(has || !covers) << toString(wanted);
    covered += has;
    found += covers;
  }
  EXPECT_GT(covered, 10'000);
  // What it does not find is covered by rows of several pitches that lie across
  // one another, as no parts of a tensor do.
  EXPECT_GT(found, covered * 97 / 100);
}

TEST_F(Buffers, RepeatToTheBytesOfAllIterations) {
  int found = 0;
  for (int i = 0; i < 20'000; ++i) {
    int64_t pitch = number(2, 12), run = number(1, pitch), count = number(1, 3);
    int64_t length = number(1, 4), stride = number(1, 36);
    if (number(0, 1))
      stride = count * pitch; // What a row of parts has.
    int64_t size = (count - 1) * pitch + run, way = (length - 1) * stride;
    if (way + size > kBytes)
      continue;
    int64_t offset = number(0, kBytes - way - size);
    bool backwards = number(0, 1);
    Bytes all;
    for (int64_t k = 0; k < length; ++k)
      all |= bytesOf(rows(offset + k * stride, run, pitch, count));
    const int64_t strides[] = {5, backwards ? -stride : stride};
    BufferAttr once =
        rows(backwards ? offset + way : offset, run, pitch, count);
    BufferAttr repeated =
        tinh::plan::repeated(once.withStrides(strides), length);
    if (once.isContiguous() || length == 1 || stride == count * pitch)
      ASSERT_TRUE(repeated) << toString(once.withStrides(strides));
    if (!repeated)
      continue;
    ++found;
    ASSERT_EQ(bytesOf(repeated), all) << toString(once.withStrides(strides));
    ASSERT_EQ(repeated.getStrides(), ArrayRef<int64_t>(5));
  }
  EXPECT_GT(found, 5'000);
}

TEST_F(Buffers, OverlapWhereBothHaveBytes) {
  for (int i = 0; i < 100'000; ++i) {
    BufferAttr a = anyRows(number(2, 24)), b = anyRows(number(2, 24));
    bool share = (bytesOf(a) & bytesOf(b)).any();
    ASSERT_TRUE(a.overlaps(b) || !share) << toString(a) << " " << toString(b);
    if (a.getPitch() == b.getPitch() || a.isContiguous() || b.isContiguous())
      ASSERT_EQ(a.overlaps(b), share) << toString(a) << " " << toString(b);
  }
}

/// Parts of a tensor are written, all or all but one, in rows of one pitch and
/// read in rows of another one.
TEST_F(Buffers, CoverRowsOfAnotherPitch) {
  for (int i = 0; i < 20'000; ++i) {
    const int64_t pitches[] = {6, 8, 12, 16, 24, 48};
    int64_t pitch = pitches[number(0, 5)], missing = number(0, 3);
    SmallVector<BufferAttr> buffers;
    Bytes all;
    for (int64_t begin = 0, end; begin < pitch; begin = end) {
      end = number(begin + 1, pitch);
      if (missing-- == 0)
        continue;
      buffers.push_back(rows(begin, end - begin, pitch, kBytes / pitch));
      all |= bytesOf(buffers.back());
    }
    BufferAttr wanted = anyRows(pitches[number(0, 5)]);
    bool has = (bytesOf(wanted) & ~all).none();
    bool covers = tinh::plan::covers(buffers, wanted);
    ASSERT_TRUE(has || !covers) << toString(wanted);
    // Rows that lie between what is missing in each are found where their pitch
    // is a multiple.
    if (all.all() || wanted.getPitch() % pitch == 0)
      ASSERT_EQ(covers, has) << toString(wanted);
  }
}

} // namespace
