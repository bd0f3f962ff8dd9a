//===- Constants.h - The values of a model's constants -------- -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_CALIBRATION_CONSTANTS_H
#define TINH_COMPILER_CALIBRATION_CONSTANTS_H

#include "compiler/Graph/ExternalData.h"
#include "dialects/graph/Graph.h"

#include <vector>

namespace tinh::calibration {

/// The elements of an expression of constants, as floats, or nothing after a
/// diagnostic.
mlir::FailureOr<std::vector<float>> evaluate(mlir::Value value,
                                             MappedFiles &files);

/// A constant with these elements.
mlir::Value createFloats(mlir::OpBuilder &builder, mlir::Location location,
                         llvm::ArrayRef<int64_t> shape,
                         llvm::ArrayRef<float> values);

} // namespace tinh::calibration

#endif // TINH_COMPILER_CALIBRATION_CONSTANTS_H
