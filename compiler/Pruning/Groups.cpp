//===- Groups.cpp - What can be cut from a model ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Pruning/Groups.h"

#include "compiler/Pruning/Coupling.h"
#include "compiler/Transforms/Constants/Constants.h"

#include "llvm/ADT/MapVector.h"

#include <map>
#include <numeric>

using namespace mlir;

namespace tinh::pruning {

using transforms::tensorType;

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

graph::ConstantOp constantBehind(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && isa<graph::ReshapeOp, graph::TransposeOp>(op))
    op = op->getOperand(0).getDefiningOp();
  return dyn_cast_or_null<graph::ConstantOp>(op);
}

func::FuncOp findMain(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>(graph::names::kMain);
  if (!main)
    module.emitError("only a model with a function @main can be pruned; this "
                     "module has functions of its own");
  return main;
}

static std::optional<Layer> layerOf(Operation *op) {
  std::string name = graph::nodeName(op->getLoc()).str();
  if (auto conv = dyn_cast<graph::ConvOp>(op))
    return Layer{op, {conv.getWeights(), 1}, {conv.getWeights(), 0}, name};
  if (auto conv = dyn_cast<graph::ConvTransposeOp>(op))
    return Layer{op, {conv.getWeights(), 0}, {conv.getWeights(), 1}, name};
  auto matmul = dyn_cast<graph::MatmulOp>(op);
  if (!matmul)
    return std::nullopt;
  MatmulAxes axes = axesOf(matmul);
  Value b = matmul.getB();
  return axes.bColumns < 0
             ? std::nullopt
             : std::optional<Layer>(
                   {op, {b, axes.bDepth}, {b, axes.bColumns}, name});
}

std::vector<Layer> findLayers(func::FuncOp main) {
  std::vector<Layer> layers;
  for (Operation &op : main.front())
    if (auto layer = layerOf(&op);
        layer && constantBehind(layer->outputs.value) &&
        isa<FloatType>(tensorType(layer->outputs.value).getElementType())) {
      if (layer->name.empty())
        layer->name =
            (op.getName().stripDialect() + " " + Twine(layers.size())).str();
      layers.push_back(*layer);
    }
  return layers;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

namespace {

class GroupFinder {
public:
  GroupFinder(const Slots &slots, ArrayRef<Layer> layers) : slots(slots) {
    for (const Layer &layer : layers)
      for (Dimension dimension : {layer.inputs, layer.outputs})
        ofLayers.insert(slots.numberOf(dimension));
  }
  std::vector<Group> run(const llvm::DenseSet<size_t> &kept);

private:
  /// The slots of each class that may be cut, and the dimensions they are of.
  struct Class {
    Unit unit;
    std::map<size_t, int64_t> dimensions; ///< How many slots of each.
  };
  llvm::MapVector<size_t, Class>
  findClasses(const llvm::DenseSet<size_t> &kept) const;
  int64_t widthOf(const Class &found) const;

  const Slots &slots;
  llvm::DenseSet<size_t> ofLayers; ///< Dimensions of what products read.
};

llvm::MapVector<size_t, GroupFinder::Class>
GroupFinder::findClasses(const llvm::DenseSet<size_t> &kept) const {
  llvm::MapVector<size_t, Class> classes;
  for (auto [number, dimension] : llvm::enumerate(slots.dimensions()))
    for (int64_t i = 0; i < dimension.extent(); ++i) {
      size_t slot = slots.firstSlot(number) + i, root = slots.classOf(slot);
      if (slots.whyKept(root) || kept.contains(root))
        continue;
      Class &found = classes[root];
      found.unit.slots.push_back(slot);
      ++found.dimensions[number];
    }
  return classes;
}

/// 0 if no layer has part in it.
int64_t GroupFinder::widthOf(const Class &found) const {
  int64_t width = 0;
  for (auto [number, count] : found.dimensions)
    if (ofLayers.contains(number))
      width = std::gcd(width, count);
  return width;
}

std::vector<Group> GroupFinder::run(const llvm::DenseSet<size_t> &kept) {
  llvm::MapVector<std::vector<size_t>, Group,
                  std::map<std::vector<size_t>, unsigned>>
      groups;
  for (auto &[root, found] : findClasses(kept)) {
    int64_t width = widthOf(found);
    if (width == 0)
      continue;
    std::vector<size_t> dimensions;
    for (auto [number, count] : found.dimensions)
      dimensions.push_back(number);
    Group &group = groups[dimensions];
    group.dimensions = dimensions;
    group.width = width;
    group.units.push_back(found.unit);
  }
  std::vector<Group> all;
  for (auto &[dimensions, group] : groups)
    if (group.units.size() > 1)
      all.push_back(std::move(group));
  return all;
}

} // namespace

std::vector<Group> findGroups(const Slots &slots, ArrayRef<Layer> layers,
                              llvm::function_ref<bool(const Layer &)> isKept) {
  llvm::DenseSet<size_t> kept;
  for (const Layer &layer : layers)
    if (isKept(layer))
      for (int64_t i = 0; i < layer.outputs.extent(); ++i)
        kept.insert(
            slots.classOf(slots.firstSlot(slots.numberOf(layer.outputs)) + i));
  return GroupFinder(slots, layers).run(kept);
}

//===----------------------------------------------------------------------===//
// Cut
//===----------------------------------------------------------------------===//

Cut::Cut(const Slots &slots) : slots(slots) {
  for (auto [number, dimension] : llvm::enumerate(slots.dimensions())) {
    extents.push_back(dimension.extent());
    dimensionOf.insert(dimensionOf.end(), dimension.extent(), number);
  }
  gone.resize(dimensionOf.size(), false);
}

void Cut::add(const Unit &unit) {
  for (size_t slot : unit.slots) {
    gone[slot] = true;
    --extents[dimensionOf[slot]];
  }
}

int64_t Cut::extent(Dimension dimension) const {
  return extents[slots.numberOf(dimension)];
}

SmallVector<int64_t> Cut::shape(Value value) const {
  SmallVector<int64_t> shape;
  for (int64_t axis = 0; axis < tensorType(value).getRank(); ++axis)
    shape.push_back(extent({value, axis}));
  return shape;
}

std::vector<int64_t> Cut::left(Dimension dimension) const {
  size_t first = slots.firstSlot(slots.numberOf(dimension));
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < dimension.extent(); ++i)
    if (!gone[first + i])
      indices.push_back(i);
  return indices;
}

int64_t Cut::leftOf(Dimension dimension, int64_t count) const {
  size_t first = slots.firstSlot(slots.numberOf(dimension));
  return std::count(gone.begin() + first, gone.begin() + first + count, false);
}

bool Cut::isCut(Value value) const {
  return ArrayRef(shape(value)) != tensorType(value).getShape();
}

} // namespace tinh::pruning
