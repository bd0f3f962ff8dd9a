//===- Constants.cpp - Smaller and simpler constants ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Reduction/Candidate.h"

using namespace mlir;

namespace tinh::reduction {

ArrayRef<char> bytesOf(graph::ConstantOp op, MappedFiles &files) {
  TypedAttr value = graph::elementsOf(op.getValue());
  if (getElementTypeOrSelf(value.getType()).isInteger(1))
    return {}; // Of which attributes do not hold the bytes that files do.
  if (auto external = dyn_cast<graph::ExternalAttr>(value)) {
    auto bytes = llvm::expectedToOptional(files.read(external));
    return bytes.value_or(ArrayRef<char>());
  }
  auto dense = cast<DenseElementsAttr>(value);
  if (dense.isSplat())
    return {};
  return dense.getRawData();
}

std::vector<char> leadingBox(ArrayRef<char> bytes, ArrayRef<int64_t> from,
                             ArrayRef<int64_t> to, int64_t size) {
  std::vector<char> kept(bytes.begin(), bytes.end());
  int64_t inner = size; // Bytes of an index of the axis.
  for (size_t axis = from.size(); axis-- > 0;) {
    std::vector<char> next;
    int64_t step = inner * from[axis], taken = inner * to[axis];
    for (int64_t at = 0; at < static_cast<int64_t>(kept.size()); at += step)
      next.insert(next.end(), kept.begin() + at, kept.begin() + at + taken);
    kept = std::move(next);
    inner = taken;
  }
  return kept;
}

static bool resizeConstant(graph::ConstantOp op, RankedTensorType type,
                           MappedFiles &files) {
  auto known = cast<RankedTensorType>(op.getType());
  auto dense = dyn_cast<DenseElementsAttr>(graph::elementsOf(op.getValue()));
  if (dense && dense.isSplat()) {
    op.setValueAttr(dense.resizeSplat(type));
    return true;
  }
  ArrayRef<char> bytes = bytesOf(op, files);
  if (bytes.empty())
    return false;
  op.setValueAttr(DenseElementsAttr::getFromRawBuffer(
      type, leadingBox(bytes, known.getShape(), type.getShape(),
                       graph::elementSize(type.getElementType()))));
  return true;
}

bool Candidate::resize(Value root, int64_t axis, int64_t extent,
                       MappedFiles &files) {
  auto known = cast<RankedTensorType>(root.getType());
  SmallVector<int64_t> shape(known.getShape());
  shape[axis] = extent;
  RankedTensorType type = known.clone(shape);
  if (auto constant = root.getDefiningOp<graph::ConstantOp>())
    if (!resizeConstant(constant, type, files))
      return false;
  root.setType(type);
  return true;
}

bool makeSplat(graph::ConstantOp op, MappedFiles &files) {
  auto type = cast<RankedTensorType>(op.getType());
  ArrayRef<char> bytes = bytesOf(op, files);
  if (bytes.empty())
    return false;
  op.setValueAttr(DenseElementsAttr::getFromRawBuffer(
      type, bytes.take_front(graph::elementSize(type.getElementType()))));
  return true;
}

} // namespace tinh::reduction
