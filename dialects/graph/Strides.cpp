//===- Strides.cpp - Tensors that are parts of larger ones ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Strides.h"

using namespace mlir;

namespace tinh::graph {

SmallVector<int64_t> denseStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return strides;
}

std::optional<Rows> rowsOf(RankedTensorType type, ArrayRef<int64_t> strides) {
  int64_t bytes = elementSize(type.getElementType());
  if (type.getNumElements() == 0)
    return Rows{};
  constexpr int64_t kMostStride = int64_t(1) << 48;
  Rows rows{1, bytes, 0};
  for (size_t i = strides.size(); i-- > 0;) {
    if (strides[i] < 0 || strides[i] > kMostStride)
      return std::nullopt;
    int64_t extent = type.getDimSize(i), stride = strides[i] * bytes;
    if (extent == 1)
      continue;
    if (rows.count == 1 && stride == rows.run) {
      rows.run *= extent;
      continue;
    }
    if (rows.count == 1)
      rows.pitch = stride;
    if (stride != rows.count * rows.pitch || stride < rows.run)
      return std::nullopt;
    rows.count *= extent;
  }
  if (rows.count == 1)
    rows.pitch = rows.run;
  return rows;
}

bool isDense(RankedTensorType type, ArrayRef<int64_t> strides) {
  std::optional<Rows> rows = rowsOf(type, strides);
  return rows && rows->count == 1;
}

static SmallVector<int64_t> stridesOr(Attribute attribute, Type type) {
  if (auto strides = dyn_cast_or_null<DenseI64ArrayAttr>(attribute))
    return llvm::to_vector(strides.asArrayRef());
  return denseStrides(cast<RankedTensorType>(type).getShape());
}

SmallVector<int64_t> argumentStrides(FunctionOpInterface kernel,
                                     unsigned argument) {
  return stridesOr(kernel.getArgAttr(argument, names::kStrides),
                   kernel.getArgumentTypes()[argument]);
}

SmallVector<int64_t> resultStrides(FunctionOpInterface kernel,
                                   unsigned result) {
  return stridesOr(kernel.getResultAttr(result, names::kStrides),
                   kernel.getResultTypes()[result]);
}

} // namespace tinh::graph
