//===- Print.cpp - Tensors as text ------------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// After numpy/_core/arrayprint.py, with its default options.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Tensor/Device.h"
#include "compiler/Eager/Tensor/Half.h"
#include "compiler/Eager/Tensor/Printing/PrintNumbers.h"
#include "compiler/Eager/Tensor/Support.h"

#include <cstring>
#include <iostream>

using namespace tinh;
using namespace tinh::eager;

constexpr int64_t kThreshold = 1000; // Elements, beyond which "..." stands.
constexpr int64_t kEdgeItems = 3;
constexpr int kLineWidth = 75;

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

template <typename T> static T load(const char *address) {
  T value;
  std::memcpy(&value, address, sizeof value);
  return value;
}

static PrintedNumber loadNumber(const char *at, tinh_dtype_t dtype) {
  switch (dtype) {
  case TINH_DTYPE_BOOL:
  case TINH_DTYPE_U8:
    return {0, load<uint8_t>(at)};
  case TINH_DTYPE_I8:
    return {0, load<int8_t>(at)};
  case TINH_DTYPE_I16:
    return {0, load<int16_t>(at)};
  case TINH_DTYPE_U16:
    return {0, load<uint16_t>(at)};
  case TINH_DTYPE_I32:
    return {0, load<int32_t>(at)};
  case TINH_DTYPE_U32:
    return {0, load<uint32_t>(at)};
  case TINH_DTYPE_I64:
  case TINH_DTYPE_U64:
    return {0, load<int64_t>(at)};
  case TINH_DTYPE_F16:
    return {halfToFloat(load<uint16_t>(at)), 0};
  case TINH_DTYPE_BF16:
    return {bfloat16ToFloat(load<uint16_t>(at)), 0};
  case TINH_DTYPE_F32:
    return {load<float>(at), 0};
  case TINH_DTYPE_F64:
    return {load<double>(at), 0};
  default: // Tensors have no others.
    __builtin_unreachable();
  }
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

namespace {

class ArrayPrinter {
public:
  ArrayPrinter(const TensorImpl &x, const char *elements)
      : x(x), elements(elements), elementSize(int64_t(DType(x.dtype).size())),
        summarizes(x.numElements() > kThreshold) {
    std::vector<PrintedNumber> shown;
    collect(0, 0, shown);
    format = makeNumberFormat(shown, x.dtype);
  }

  std::string print() const { return part(0, 0, " ", kLineWidth); }

private:
  bool isCut(uint32_t axis) const {
    return summarizes && x.sizes[axis] > 2 * kEdgeItems;
  }
  PrintedNumber at(int64_t offset) const {
    return loadNumber(elements + offset * elementSize, x.dtype);
  }

  /// All numbers that are shown.
  void collect(uint32_t axis, int64_t offset,
               std::vector<PrintedNumber> &shown) const {
    if (axis == x.rank()) {
      shown.push_back(at(offset));
      return;
    }
    for (int64_t i = 0; i < x.sizes[axis]; ++i) {
      if (isCut(axis) && i == kEdgeItems)
        i = x.sizes[axis] - kEdgeItems;
      collect(axis + 1, offset + i * x.strides[axis], shown);
    }
  }

  /// The part of the tensor from `offset` on, its first line without `indent`.
  std::string part(uint32_t axis, int64_t offset, const std::string &indent,
                   int width) const {
    std::string text = axis + 1 == x.rank() ? row(offset, indent, width)
                                            : rows(axis, offset, indent, width);
    return "[" + text.substr(indent.size()) + "]";
  }

  std::string rows(uint32_t axis, int64_t offset, const std::string &indent,
                   int width) const {
    std::string text, separator(x.rank() - axis - 1, '\n');
    for (int64_t i = 0; i < x.sizes[axis]; ++i) {
      if (isCut(axis) && i == kEdgeItems) {
        text += indent + "..." + separator;
        i = x.sizes[axis] - kEdgeItems;
      }
      text += indent + part(axis + 1, offset + i * x.strides[axis],
                            indent + " ", width - 1);
      if (i + 1 < x.sizes[axis])
        text += separator;
    }
    return text;
  }

  std::string row(int64_t offset, const std::string &indent, int width) const {
    std::string text, line = indent;
    auto add = [&](const std::string &word) {
      if (line.size() + word.size() > size_t(width - 1) &&
          line.size() > indent.size()) {
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
        line = indent;
      }
      line += word;
    };
    uint32_t axis = x.rank() - 1;
    for (int64_t i = 0; i < x.sizes[axis]; ++i) {
      if (isCut(axis) && i == kEdgeItems) {
        add("...");
        line += " ";
        i = x.sizes[axis] - kEdgeItems;
      }
      add(format(at(offset + i * x.strides[axis])));
      if (i + 1 < x.sizes[axis])
        line += " ";
    }
    return text + line;
  }

  const TensorImpl &x;
  const char *elements;
  int64_t elementSize;
  bool summarizes;
  NumberFormat format;
};

} // namespace

//===----------------------------------------------------------------------===//
// Interface
//===----------------------------------------------------------------------===//

static std::string toText(const Tensor &tensor, const Call &call) {
  Tensor here = onCpu(use(tensor, call), call);
  const TensorImpl &x = *TensorAccess::get(here);
  auto *base =
      static_cast<const char *>(Backend::current().waitToRead(x, call));
  if (x.numElements() == 0)
    return "[]";
  const char *elements = base + x.offset * int64_t(DType(x.dtype).size());
  if (x.rank() == 0)
    return formatNumber(loadNumber(elements, x.dtype), x.dtype);
  return ArrayPrinter(x, elements).print();
}

std::string tinh::to_string(const Tensor &x, At at) {
  return toText(x, {"to_string", at});
}

std::ostream &tinh::operator<<(std::ostream &stream, Printed x) {
  return stream << toText(x.tensor, {"operator<<", x.at});
}

void tinh::print(const Tensor &x, At at) {
  std::cout << toText(x, {"print", at}) << std::endl;
}

std::string tinh::to_string(const IntArray &values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i)
    text.append(i ? ", " : "").append(std::to_string(values[i]));
  return text + "]";
}

std::ostream &tinh::operator<<(std::ostream &stream, const IntArray &values) {
  return stream << to_string(values);
}

std::ostream &tinh::operator<<(std::ostream &stream, DType dtype) {
  return stream << dtype.name();
}
