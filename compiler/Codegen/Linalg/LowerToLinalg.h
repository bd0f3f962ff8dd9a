//===- LowerToLinalg.h - Graph ops as linalg on tensors ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A lowering is a function from an op and its operands, already in linalg, to
// the op's result; `attachLowerings<lowerFoo>(context)` makes it the op's
// LowerToLinalgInterface.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_LINALG_LOWERTOLINALG_H
#define TINH_CODEGEN_LINALG_LOWERTOLINALG_H

#include "compiler/Codegen/Linalg/Emitter.h"
#include "dialects/graph/Graph.h"

namespace tinh::codegen {

template <typename Op>
using Lowering = llvm::FailureOr<mlir::Value> (*)(Op, Emitter &,
                                                  mlir::ValueRange);

/// Whether the elements of `tensorType` are unsigned integers.
inline bool hasUnsignedElements(mlir::Type tensorType) {
  return mlir::getElementTypeOrSelf(tensorType).isUnsignedInteger();
}

template <typename Op, Lowering<Op> lowering>
struct Model
    : graph::LowerToLinalgInterface::ExternalModel<Model<Op, lowering>, Op> {
  llvm::FailureOr<llvm::SmallVector<mlir::Value>>
  lowerToLinalg(mlir::Operation *op, mlir::OpBuilder &builder,
                mlir::ValueRange operands) const {
    Emitter e(builder, op->getLoc(),
              llvm::any_of(op->getOperandTypes(), hasUnsignedElements));
    auto result = lowering(mlir::cast<Op>(op), e, operands);
    if (llvm::failed(result))
      return llvm::failure();
    return llvm::SmallVector<mlir::Value>{*result};
  }
};

template <auto lowering, typename Op>
void attachLowering(mlir::MLIRContext *context, Lowering<Op> /*same*/) {
  Op::template attachInterface<Model<Op, lowering>>(*context);
}
template <auto... lowerings> void attachLowerings(mlir::MLIRContext *context) {
  (attachLowering<lowerings>(context, lowerings), ...);
}

// One for each family, in the file of its name.
void attachElementwiseLowerings(mlir::MLIRContext *context);
void attachQuantizationLowerings(mlir::MLIRContext *context);
void attachContractionLowerings(mlir::MLIRContext *context);
void attachPoolingLowerings(mlir::MLIRContext *context);
void attachReductionLowerings(mlir::MLIRContext *context);
void attachNormalizationLowerings(mlir::MLIRContext *context);
void attachMovementLowerings(mlir::MLIRContext *context);
void attachGatherLowerings(mlir::MLIRContext *context);
void attachScatterLowerings(mlir::MLIRContext *context);

/// Lowers `op`, for whose operands `values` has what they have become, and adds
/// its results.
llvm::LogicalResult lowerOp(mlir::Operation &op, mlir::OpBuilder &builder,
                            llvm::DenseMap<mlir::Value, mlir::Value> &values);

/// Attaches LowerToLinalgInterface to all ops of the graph dialect.
void registerLowerToLinalgModels(mlir::DialectRegistry &registry);

} // namespace tinh::codegen

#endif // TINH_CODEGEN_LINALG_LOWERTOLINALG_H
