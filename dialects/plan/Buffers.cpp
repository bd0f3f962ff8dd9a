//===- Buffers.cpp - Sets of bytes ------------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What two buffers have in common, and what of one another leaves. Answers are
// exact for contiguous bytes and for rows of one pitch, as the parts of a
// tensor have, and for what such rows cover together of rows of another pitch;
// otherwise they err on the safe side: what may overlap does, and what may not
// be written is not.
//
//===----------------------------------------------------------------------===//
#include "dialects/plan/Plan.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace tinh;
using namespace tinh::plan;

/// Largest integer not above a / b, for b > 0.
static int64_t floorDiv(int64_t a, int64_t b) {
  return a >= 0 ? a / b : -((b - 1 - a) / b);
}

static bool sameMemory(BufferAttr a, BufferAttr b) {
  return a.getSpace() == b.getSpace() && a.getIndex() == b.getIndex();
}

/// `rows` rows of `buffer`'s memory from `offset` on; null if they are empty.
static BufferAttr rowsOf(BufferAttr buffer, int64_t offset, int64_t run,
                         int64_t pitch, int64_t rows) {
  if (rows <= 0 || run <= 0)
    return {};
  int64_t size = (rows - 1) * pitch + run;
  bool contiguous = rows == 1 || run == pitch;
  return BufferAttr::get(buffer.getContext(), buffer.getSpace(),
                         buffer.getIndex(), offset, size,
                         contiguous ? size : run, contiguous ? size : pitch);
}

/// Rows `first` to `end` of `buffer`.
static BufferAttr rowRange(BufferAttr buffer, int64_t first, int64_t end) {
  first = std::max<int64_t>(first, 0);
  end = std::min(end, buffer.getRows());
  return rowsOf(buffer, buffer.getOffset() + first * buffer.getPitch(),
                buffer.getRun(), buffer.getPitch(), end - first);
}

/// The first row of `buffer` that has bytes in [begin, end), and the one after
/// the last.
static std::pair<int64_t, int64_t> rowsIn(BufferAttr buffer, int64_t begin,
                                          int64_t end) {
  int64_t pitch = buffer.getPitch(), offset = buffer.getOffset();
  int64_t first = floorDiv(begin - offset - buffer.getRun(), pitch) + 1;
  int64_t last = floorDiv(end - 1 - offset, pitch);
  return {std::max<int64_t>(first, 0), std::min(last + 1, buffer.getRows())};
}

static bool hasRowIn(BufferAttr buffer, int64_t begin, int64_t end) {
  auto [first, after] = rowsIn(buffer, begin, end);
  return first < after;
}

BufferAttr BufferAttr::withStrides(ArrayRef<int64_t> strides) const {
  while (!strides.empty() && strides.back() == 0)
    strides = strides.drop_back();
  return get(getContext(), getSpace(), getIndex(), getOffset(), getSize(),
             getRun(), getPitch(), strides);
}

bool BufferAttr::overlaps(BufferAttr other) const {
  if (!sameMemory(*this, other) || getSize() == 0 || other.getSize() == 0 ||
      getOffset() >= other.getEnd() || other.getOffset() >= getEnd())
    return false;
  if (isContiguous())
    return other.isContiguous() || hasRowIn(other, getOffset(), getEnd());
  if (other.isContiguous())
    return hasRowIn(*this, other.getOffset(), other.getEnd());
  // Rows repeat with what divides both pitches. How far do the other's begin
  // behind those of this one?
  int64_t pitch = std::gcd(getPitch(), other.getPitch());
  int64_t distance = other.getOffset() - getOffset();
  distance -= floorDiv(distance, pitch) * pitch;
  return distance < getRun() || distance + other.getRun() > pitch;
}

bool BufferAttr::contains(BufferAttr other) const {
  return covers(*this, other);
}

namespace {

/// What of one buffer others leave.
class Rest {
public:
  explicit Rest(BufferAttr buffer) { add(buffer); }
  bool empty() const { return parts.empty(); }

  void subtract(BufferAttr other) {
    SmallVector<BufferAttr> before;
    std::swap(before, parts);
    for (BufferAttr part : before) {
      if (!part.overlaps(other))
        add(part);
      else if (other.isContiguous())
        subtractBytes(part, other);
      else if (part.isContiguous())
        subtractRowsFromBytes(part, other);
      else
        subtractRows(part, other);
    }
  }

  /// Leaves what may lie in `gaps`: bytes there, and rows that have some.
  void intersect(const Rest &gaps) {
    SmallVector<BufferAttr> before;
    std::swap(before, parts);
    for (BufferAttr part : before)
      for (BufferAttr gap : gaps.parts)
        if (part.overlaps(gap))
          addIn(part, gap.getOffset(), gap.getEnd());
  }

private:
  void add(BufferAttr part) {
    if (part && part.getSize() > 0)
      parts.push_back(part);
  }
  void addBytes(BufferAttr of, int64_t begin, int64_t end) {
    add(rowsOf(of, begin, end - begin, end - begin, 1));
  }
  void addIn(BufferAttr part, int64_t begin, int64_t end) {
    if (part.isContiguous())
      return addBytes(part, std::max(begin, part.getOffset()),
                      std::min(end, part.getEnd()));
    auto [first, after] = rowsIn(part, begin, end);
    add(rowRange(part, first, after));
  }

  /// `other` is contiguous: of rows, those that lie in it as a whole go.
  void subtractBytes(BufferAttr part, BufferAttr other) {
    if (part.isContiguous()) {
      addBytes(part, part.getOffset(), other.getOffset());
      addBytes(part, other.getEnd(), part.getEnd());
      return;
    }
    int64_t pitch = part.getPitch();
    int64_t first = -floorDiv(part.getOffset() - other.getOffset(), pitch);
    int64_t end =
        floorDiv(other.getEnd() - part.getOffset() - part.getRun(), pitch) + 1;
    if (std::max<int64_t>(first, 0) >= std::min(end, part.getRows()))
      return add(part);
    add(rowRange(part, 0, first));
    add(rowRange(part, end, part.getRows()));
  }

  /// The gaps between those of `other`'s rows that lie in `part` as a whole,
  /// and what is before and after them.
  void subtractRowsFromBytes(BufferAttr part, BufferAttr other) {
    int64_t pitch = other.getPitch();
    int64_t begin = part.getOffset(), after = part.getEnd();
    int64_t first = -floorDiv(other.getOffset() - part.getOffset(), pitch);
    int64_t end =
        floorDiv(part.getEnd() - other.getOffset() - other.getRun(), pitch) + 1;
    // Rows that reach over an end of `part` take that off.
    if (BufferAttr row = rowRange(other, first - 1, first))
      begin = std::max(begin, row.getEnd());
    if (BufferAttr row = rowRange(other, end, end + 1))
      after = std::min(after, row.getOffset());
    BufferAttr inside = rowRange(other, first, end);
    if (!inside)
      return addBytes(part, begin, after);
    int64_t rows = inside.getRows();
    addBytes(part, begin, inside.getOffset());
    add(rowsOf(part, inside.getOffset() + other.getRun(),
               pitch - other.getRun(), pitch, rows - 1));
    addBytes(part, inside.getEnd(), after);
  }

  /// Both are rows; of the same pitch if this is to take anything off. What
  /// rows of another one cover together, `intersect` takes off.
  void subtractRows(BufferAttr part, BufferAttr other) {
    int64_t pitch = part.getPitch(), run = part.getRun();
    if (pitch != other.getPitch())
      return add(part);
    // Row i of `part` meets row i + shift of `other`, `begin` bytes from its
    // own beginning, and no other if that lies where both have bytes.
    int64_t shift =
        floorDiv(part.getOffset() + run - 1 - other.getOffset(), pitch);
    int64_t begin = other.getOffset() + shift * pitch - part.getOffset();
    int64_t end = begin + other.getRun();
    int64_t firstRow = std::max<int64_t>(-shift, 0);
    int64_t endRow = std::min(part.getRows(), other.getRows() - shift);
    if (firstRow >= endRow || end <= 0)
      return add(part);
    add(rowRange(part, 0, firstRow));
    add(rowRange(part, endRow, part.getRows()));
    int64_t offset = part.getOffset() + firstRow * pitch;
    int64_t rows = endRow - firstRow;
    add(rowsOf(part, offset, begin, pitch, rows));
    add(rowsOf(part, offset + end, run - end, pitch, rows));
  }

  SmallVector<BufferAttr> parts;
};

} // namespace

/// What rows of `pitch`, and contiguous ones, leave of all bytes from the first
/// to the last one of `buffer`.
static Rest gapsIn(BufferAttr buffer, ArrayRef<BufferAttr> buffers,
                   int64_t pitch) {
  Rest gaps(rowsOf(buffer, buffer.getOffset(), buffer.getSize(),
                   buffer.getSize(), 1));
  for (BufferAttr other : buffers)
    if (other.isContiguous() || other.getPitch() == pitch)
      gaps.subtract(other);
  return gaps;
}

bool tinh::plan::covers(ArrayRef<BufferAttr> buffers, BufferAttr buffer) {
  Rest rest(buffer);
  // The parts of a tensor are what was written last where they lie.
  for (BufferAttr other : llvm::reverse(buffers)) {
    if (rest.empty())
      return true;
    rest.subtract(other);
  }
  // A tensor that was written in rows may be read in longer or shorter ones.
  llvm::SmallSetVector<int64_t, 4> pitches;
  for (BufferAttr other : buffers)
    if (!other.isContiguous())
      pitches.insert(other.getPitch());
  for (int64_t pitch : pitches)
    if (!rest.empty())
      rest.intersect(gapsIn(buffer, buffers, pitch));
  return rest.empty();
}

std::optional<BufferAttr> tinh::plan::allIterations(BufferAttr buffer,
                                                    ArrayRef<int64_t> lengths,
                                                    unsigned depth) {
  if (buffer.getStrides().size() <= depth)
    return buffer;
  int64_t begin = buffer.getOffset(), end = buffer.getEnd();
  for (unsigned d = depth; d < buffer.getStrides().size(); ++d) {
    int64_t stride = buffer.getStrides()[d], way;
    int64_t &side = stride < 0 ? begin : end;
    if (lengths[d] > 1 && (llvm::MulOverflow(stride, lengths[d] - 1, way) ||
                           llvm::AddOverflow(side, way, side)))
      return std::nullopt;
  }
  if (begin < 0)
    return std::nullopt;
  return BufferAttr::get(buffer.getContext(), buffer.getSpace(),
                         buffer.getIndex(), begin, end - begin)
      .withStrides(buffer.getStrides().take_front(depth));
}

BufferAttr tinh::plan::repeated(BufferAttr buffer, int64_t length) {
  ArrayRef<int64_t> strides = buffer.getStrides();
  if (length == 1)
    return buffer.withStrides(strides.drop_back());
  int64_t stride = strides.back(), distance = std::abs(stride);
  int64_t offset = stride < 0 ? buffer.getOffset() + stride * (length - 1)
                              : buffer.getOffset();
  int64_t run = buffer.getRun(), pitch = distance, rows = length;
  if (!buffer.isContiguous()) {
    // Rows of an iteration must follow those of the one before.
    if (distance != buffer.getRows() * buffer.getPitch())
      return {};
    pitch = buffer.getPitch();
    rows *= buffer.getRows();
  } else if (distance < run) {
    run = pitch = distance * (length - 1) + run;
    rows = 1;
  }
  BufferAttr all = rowsOf(buffer, offset, run, pitch, rows);
  return all ? all.withStrides(strides.drop_back()) : all;
}
