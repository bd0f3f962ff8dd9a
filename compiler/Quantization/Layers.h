//===- Layers.h - Products with constant weights ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_QUANTIZATION_LAYERS_H
#define TINH_COMPILER_QUANTIZATION_LAYERS_H

#include "compiler/Calibration/Constants.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

#include <string>

namespace tinh::quantization {

using calibration::createFloats;
using calibration::evaluate;

/// A convolution or matrix product whose weights are constant.
struct Layer {
  mlir::Operation *op;
  mlir::OpOperand *input, *weights;
  /// Where outputs are in the weights, and in the result.
  int64_t weightsAxis, resultAxis;
  std::string name;

  mlir::Value result() const { return op->getResult(0); }
  int64_t channels() const;
  /// The addition of a constant for each channel that alone reads the result;
  /// null if there is none.
  graph::AddOp bias() const;
  /// The shape of a constant for each channel that broadcasts to the result.
  llvm::SmallVector<int64_t> vectorShape() const;
};

std::vector<Layer> findLayers(mlir::func::FuncOp main);

/// A sum of activations, one of which has to be stored, and is so as bytes if
/// what follows reads bytes: the one that is computed first.
llvm::SetVector<mlir::Value>
activationsOf(llvm::ArrayRef<const Layer *> layers);

/// Whether `use` of a value reads the bytes where there are any.
bool readsBytes(mlir::OpOperand &use);

/// The layer in a copy of its model.
Layer copied(const Layer &layer, const mlir::IRMapping &copy);

/// Makes a bias another one: of a channel and what it was. Fails, after a
/// diagnostic, if it cannot be read.
mlir::LogicalResult changeBias(const Layer &layer,
                               llvm::function_ref<float(size_t, float)> changed,
                               MappedFiles &files);

/// The name of a model's input, which its location, the function's, has not.
llvm::StringRef inputName(mlir::BlockArgument argument);

/// The location of what is made of `value`, called after it.
mlir::Location locationFor(mlir::Value value, llvm::StringRef role);

} // namespace tinh::quantization

#endif // TINH_COMPILER_QUANTIZATION_LAYERS_H
