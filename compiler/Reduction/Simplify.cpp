//===- Simplify.cpp - Smaller shapes, defaults, equal elements --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/json/Attributes.h"
#include "compiler/Reduction/Reducer.h"

#include <set>

using namespace mlir;

namespace tinh::reduction {

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// Where shapes come from: inputs and constants.
static SmallVector<Value> rootsOf(const Candidate &model) {
  SmallVector<Value> roots(model.main().getArguments());
  llvm::append_range(roots, model.constants());
  return roots;
}

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// The extent in shapes that nodes have written down, which are not inferred.
static void resizeWritten(Operation *node, int64_t from, int64_t to) {
  auto replaced = [&](ArrayRef<int64_t> shape) {
    SmallVector<int64_t> changed(shape);
    llvm::replace(changed, from, to);
    return changed;
  };
  if (auto slice = dyn_cast<graph::SliceOp>(node))
    return slice.setSizes(replaced(slice.getSizes()));
  if (!isa<graph::ReshapeOp, graph::BroadcastOp, graph::IotaOp>(node))
    return;
  Value result = node->getResult(0);
  auto type = cast<RankedTensorType>(result.getType());
  result.setType(type.clone(replaced(type.getShape())));
}

/// Makes each extent `from` another one: what has to be equal often is.
bool Reducer::resizeAll(int64_t from, int64_t to) {
  return attempt([&](Candidate &next) {
    for (Value root : rootsOf(next))
      for (int64_t axis = 0; axis < std::ssize(shapeOf(root)); ++axis)
        if (shapeOf(root)[axis] == from && !next.resize(root, axis, to, files))
          return false;
    for (Operation *node : next.nodes())
      resizeWritten(node, from, to);
    return true;
  });
}

/// Tries 1 first, since most extents do not matter.
bool Reducer::shrinkExtent(int64_t extent) {
  if (resizeAll(extent, 1))
    return true;
  bool any = false;
  for (; extent > 3 && resizeAll(extent, extent / 2); extent /= 2)
    any = true;
  return any;
}

bool Reducer::shrinkDimension(size_t root, int64_t axis) {
  return attempt([&](Candidate &next) {
    Value value = rootsOf(next)[root];
    return next.resize(value, axis, shapeOf(value)[axis] / 2, files);
  });
}

bool Reducer::shrinkShapes() {
  bool any = false;
  std::set<int64_t, std::greater<>> extents;
  for (Value root : rootsOf(best))
    extents.insert(shapeOf(root).begin(), shapeOf(root).end());
  for (int64_t extent : extents)
    any |= extent > 1 && shrinkExtent(extent);
  for (size_t root = 0; root < rootsOf(best).size(); ++root)
    for (int64_t axis = 0; axis < std::ssize(shapeOf(rootsOf(best)[root]));
         ++axis)
      while (shapeOf(rootsOf(best)[root])[axis] > 1 &&
             shrinkDimension(root, axis))
        any = true;
  return any;
}

//===----------------------------------------------------------------------===//
// Attributes and constants
//===----------------------------------------------------------------------===//

bool Reducer::resetAttribute(size_t node, StringAttr name) {
  return attempt([&](Candidate &next) {
    Operation *op = next.nodes()[node];
    if (!op->getNumOperands() || !op->getAttr(name))
      return false;
    int64_t rank = std::ssize(shapeOf(op->getOperand(0)));
    Attribute value = json::defaultFor(name, rank, *op->getContext());
    if (!value || value == op->getAttr(name))
      return false;
    op->setAttr(name, value);
    return true;
  });
}

/// Defaults are those of the JSON format.
bool Reducer::resetAttributes() {
  bool any = false;
  for (size_t i = 0; i < best.nodes().size(); ++i)
    for (StringAttr name : best.nodes()[i]->getName().getAttributeNames())
      any |= resetAttribute(i, name);
  return any;
}

bool Reducer::splatConstants() {
  auto splat = [&](Candidate &next, size_t begin, size_t end) {
    bool any = false;
    for (size_t i = begin; i < end; ++i)
      any |= makeSplat(next.constants()[i], files);
    return any;
  };
  size_t count = best.constants().size();
  bool any = attempt([&](Candidate &next) { return splat(next, 0, count); });
  for (size_t i = 0; i < count && !any; ++i)
    any = attempt([&](Candidate &next) { return splat(next, i, i + 1); });
  return any;
}

} // namespace tinh::reduction
