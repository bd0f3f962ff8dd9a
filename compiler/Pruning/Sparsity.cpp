//===- Sparsity.cpp - What 2:4 sparsity would keep --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Calibration/Constants.h"
#include "compiler/Pruning/Groups.h"
#include "compiler/Pruning/Pruning.h"
#include "compiler/Transforms/Constants/Constants.h"

#include <algorithm>
#include <array>

using namespace mlir;

namespace tinh::pruning {

using transforms::tensorType;

/// Squares of weights that follow one another along a layer's inputs, four at a
/// time; fewer at the end stay as they are.
struct Energy {
  double all = 0, kept = 0;
  double values = 0, fours = 0; ///< How many are kept, and blocks.

  void add(MutableArrayRef<double> squares) {
    llvm::sort(squares, std::greater<>());
    for (double square : squares)
      all += square;
    size_t count = squares.size() == 4 ? 2 : squares.size();
    for (double square : squares.take_front(count))
      kept += square;
    values += static_cast<double>(count);
    fours += squares.size() == 4;
  }
};

static Energy energyOf(ArrayRef<float> weights, ArrayRef<int64_t> shape,
                       int64_t axis) {
  int64_t extent = shape[axis],
          stride = ShapedType::getNumElements(shape.drop_front(axis + 1)),
          all = static_cast<int64_t>(weights.size());
  Energy energy;
  for (int64_t outer = 0; outer < all; outer += extent * stride)
    for (int64_t inner = 0; inner < stride; ++inner)
      for (int64_t i = 0; i < extent; i += 4) {
        SmallVector<double, 4> squares;
        for (int64_t j = i; j < std::min(i + 4, extent); ++j) {
          double weight = weights[outer + j * stride + inner];
          squares.push_back(weight * weight);
        }
        energy.add(squares);
      }
  return energy;
}

FailureOr<std::vector<SparsityReport>>
reportSparsity(ModuleOp module, const std::string &modelDirectory) {
  MappedFiles files(modelDirectory);
  std::vector<SparsityReport> report;
  func::FuncOp main = findMain(module);
  if (!main)
    return failure();
  for (const Layer &layer : findLayers(main)) {
    Value weights = layer.inputs.value;
    auto elements = calibration::evaluate(weights, files);
    if (failed(elements))
      return failure();
    auto type = tensorType(weights);
    Energy energy = energyOf(*elements, type.getShape(), layer.inputs.axis);
    auto size = static_cast<double>(graph::elementSize(type.getElementType()));
    // Two bits say where each of the two values of a block was.
    report.push_back({layer.name, layer.op->getName().stripDialect().str(),
                      energy.all > 0 ? energy.kept / energy.all : 1,
                      static_cast<double>(elements->size()) * size,
                      energy.values * size + energy.fours / 2});
  }
  if (report.empty())
    return emitError(UnknownLoc::get(module.getContext()),
                     "no matmul or convolution has constant weights");
  return report;
}

} // namespace tinh::pruning
