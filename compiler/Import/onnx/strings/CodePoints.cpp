//===- CodePoints.cpp - The characters of strings -------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/strings/CodePoints.h"

#include "compiler/Import/onnx/strings/Strings.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/ConvertUTF.h"

#include <map>

using namespace mlir;

namespace tinh::onnx {

namespace {

struct Letters {
  uint32_t first, last, step;
  int32_t distance;
};

ArrayRef<Letters> lettersToChange(Case to) {
  static const Letters lower[] = {
#define PAIR(first, last, step, distance) {first, last, step, distance},
#define LOWER PAIR
#define UPPER(...)
#include "compiler/Import/onnx/strings/Casing.inc"
#undef PAIR
#undef LOWER
#undef UPPER
  };
  static const Letters upper[] = {
#define PAIR(first, last, step, distance)                                      \
  {first + distance, last + distance, step, -(distance)},
#define LOWER(...)
#define UPPER(first, last, step, distance) {first, last, step, distance},
#include "compiler/Import/onnx/strings/Casing.inc"
#undef PAIR
#undef LOWER
#undef UPPER
  };
  return to == Case::Lower ? ArrayRef(lower) : ArrayRef(upper);
}

using Distances = llvm::DenseMap<uint32_t, int32_t>;

/// How far the other case of each letter is.
const Distances &distancesTo(Case to) {
  auto make = [](Case to) {
    std::map<uint32_t, int32_t> ordered;
    for (const Letters &letters : lettersToChange(to))
      for (uint32_t x = letters.first; x <= letters.last; x += letters.step)
        ordered[x] = letters.distance;
    Distances distances;
    for (auto [letter, distance] : ordered)
      distances[letter] = distance;
    return distances;
  };
  static const Distances lower = make(Case::Lower), upper = make(Case::Upper);
  return to == Case::Lower ? lower : upper;
}

/// The code point that begins at each byte, and how many bytes it has; 0 where
/// none begins, as in bytes that are no UTF-8. All are i32.
struct CodePoints {
  Value number, size;
};

constexpr int kLongestCodePoint = 4;

class Utf8 {
public:
  explicit Utf8(GraphOps &b) : b(b), i32(b.graph.raw().getI32Type()) {}

  CodePoints decode(Value bytes);
  /// Byte k of code points, wherever these begin.
  Value byte(CodePoints points, int k);

private:
  Value number(double value) { return b.scalar(i32, value); }
  Value shiftRight(Value x, Value by) {
    return b.create<graph::ShiftRightOp>({x, by});
  }
  Value lowBits(Value x, double mask) {
    return b.create<graph::AndOp>({x, number(mask)});
  }
  /// Whether a byte may be one behind the first.
  Value isBehind(Value byte) {
    return b.compare(Predicate::Equal, lowBits(byte, 0xc0), number(0x80));
  }
  /// x with six bits of a byte behind its own.
  Value append(Value x, Value byte) {
    return b.add(b.mul(x, number(64)), lowBits(byte, 63));
  }

  GraphOps &b;
  Type i32;
};

CodePoints Utf8::decode(Value bytes) {
  Value next[kLongestCodePoint];
  for (int k = 0; k < kLongestCodePoint; ++k)
    next[k] = b.cast(movedBy(b, bytes, -k), i32);
  Value first = next[0], zero = number(0);
  Value two = append(lowBits(first, 31), next[1]);
  Value three = append(append(lowBits(first, 15), next[1]), next[2]);
  Value four =
      append(append(append(lowBits(first, 7), next[1]), next[2]), next[3]);
  // What a first byte says, from the largest on, and the smallest number that
  // so many bytes are for.
  struct Lead {
    double from;
    Value number;
    int size;
    double least;
  };
  CodePoints points{zero, zero};
  for (const Lead &lead :
       {Lead{0, first, 1, 0}, Lead{0x80, zero, 0, 0}, Lead{0xc0, two, 2, 0x80},
        Lead{0xe0, three, 3, 0x800}, Lead{0xf0, four, 4, 0x10000},
        Lead{0xf8, zero, 0, 0}}) {
    Value isThat = b.compare(Predicate::GreaterEqual, first, number(lead.from));
    Value isRight =
        b.compare(Predicate::GreaterEqual, lead.number, number(lead.least));
    for (int k = 1; k < lead.size; ++k)
      isRight = b.create<graph::AndOp>({isRight, isBehind(next[k])});
    Value size = b.where(isRight, number(lead.size), zero);
    points.number = b.where(isThat, lead.number, points.number);
    points.size = b.where(isThat, size, points.size);
  }
  return points;
}

Value Utf8::byte(CodePoints points, int k) {
  Value behind = b.sub(points.size, number(k + 1));
  Value bits = b.mul(b.max(behind, number(0)), number(6));
  Value part = shiftRight(points.number, bits);
  if (k > 0)
    return b.add(lowBits(part, 63), number(0x80));
  Value mark = number(0);
  for (auto [size, bits] : {std::pair(2, 0xc0), {3, 0xe0}, {4, 0xf0}})
    mark = b.where(b.compare(Predicate::Equal, points.size, number(size)),
                   number(bits), mark);
  return b.add(part, mark);
}

/// How far the other case of code points is: looked up in pages of 64, of which
/// most are one and the same.
Value findDistances(GraphOps &b, Value points, Case to) {
  constexpr int64_t kPage = 64;
  const Distances &distances = distancesTo(to);
  uint32_t last = 0;
  for (auto [letter, distance] : distances)
    last = std::max(last, letter);
  std::vector<double> pages(last / kPage + 2, 0);
  std::vector<double> table(kPage, 0);
  for (auto [letter, distance] : distances) {
    double &page = pages[letter / kPage];
    if (page == 0) {
      page = static_cast<double>(table.size() / kPage);
      table.resize(table.size() + kPage);
    }
    table[static_cast<size_t>(page) * kPage + letter % kPage] = distance;
  }
  Type i32 = b.graph.raw().getI32Type();
  auto constant = [&](ArrayRef<double> values) {
    return b.constantFloats(i32, static_cast<int64_t>(values.size()), values);
  };
  auto count = static_cast<double>(pages.size());
  Value size = b.scalar(i32, kPage);
  Value page = b.min(b.div(points, size), b.scalar(i32, count - 1));
  Value place = b.add(b.mul(b.gather(constant(pages), page, 0), size),
                      b.create<graph::ModOp>({points, size}));
  return b.gather(constant(table), place, 0);
}

} // namespace

std::string encode(uint32_t codePoint) {
  char bytes[UNI_MAX_UTF8_BYTES_PER_CODE_POINT];
  char *end = bytes;
  llvm::ConvertCodePointToUTF8(codePoint, end);
  return {bytes, end};
}

uint32_t changeCase(uint32_t letter, Case to) {
  return letter + distancesTo(to).lookup(letter);
}

std::string changeCase(StringRef string, Case to) {
  std::string result;
  auto *at = string.bytes_begin(), *end = string.bytes_end();
  while (at != end) {
    llvm::UTF32 letter;
    auto *next = at;
    if (llvm::convertUTF8Sequence(&next, end, &letter,
                                  llvm::strictConversion) == llvm::conversionOK)
      result += encode(changeCase(letter, to));
    else
      result.append(at, next = at + 1);
    at = next;
  }
  return result;
}

Value changeCase(GraphOps &b, Value bytes, Case to) {
  if (!bytes)
    return {};
  Utf8 utf8(b);
  Type i32 = b.graph.raw().getI32Type();
  CodePoints points = utf8.decode(bytes);
  Value distance = findDistances(b, points.number, to);
  CodePoints changed{b.add(points.number, distance), points.size};
  // How many bytes are written from here on.
  Value written =
      b.where(b.compare(Predicate::NotEqual, distance, b.scalar(i32, 0)),
              points.size, b.scalar(i32, 0));
  for (int k = 0; k < kLongestCodePoint && !b.failed(); ++k) {
    Value isWritten =
        b.compare(Predicate::Greater, movedBy(b, written, k), b.scalar(i32, k));
    Value byte = b.cast(movedBy(b, utf8.byte(changed, k), k), b.element(bytes));
    bytes = b.where(isWritten, byte, bytes);
  }
  return bytes;
}

Value isWhiteSpace(GraphOps &b, Value bytes) {
  if (!bytes)
    return {};
  static constexpr std::pair<uint32_t, uint32_t> kSpaces[] = {
      {0x9, 0xd},       {0x1c, 0x20},     {0x85, 0x85},     {0xa0, 0xa0},
      {0x1680, 0x1680}, {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f},
      {0x205f, 0x205f}, {0x3000, 0x3000}};
  Type i32 = b.graph.raw().getI32Type();
  CodePoints points = Utf8(b).decode(bytes);
  Value isSpace;
  for (auto [first, last] : kSpaces) {
    Value isHere = b.create<graph::AndOp>(
        {b.compare(Predicate::GreaterEqual, points.number,
                   b.scalar(i32, first)),
         b.compare(Predicate::LessEqual, points.number, b.scalar(i32, last))});
    isSpace = isSpace ? b.create<graph::OrOp>({isSpace, isHere}) : isHere;
  }
  Value sizes = b.where(isSpace, points.size, b.scalar(i32, 0));
  Value result;
  for (int k = 0; k < kLongestCodePoint - 1 && !b.failed(); ++k) {
    Value isPart =
        b.compare(Predicate::Greater, movedBy(b, sizes, k), b.scalar(i32, k));
    result = result ? b.create<graph::OrOp>({result, isPart}) : isPart;
  }
  return result;
}

} // namespace tinh::onnx
