//===- FusionRoles.h - What part an op has in a kernel ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TRANSFORMS_FUSION_FUSIONROLES_H
#define TINH_TRANSFORMS_FUSION_FUSIONROLES_H

#include "mlir/IR/Operation.h"

namespace tinh::transforms {

bool isElementwise(mlir::Operation *op);
/// Whether `op` gives elements of its operands, at other places.
bool isMovement(mlir::Operation *op);
/// Whether `op` is computed by loops of its own, which other ops join.
bool isAnchor(mlir::Operation *op);
bool isContraction(mlir::Operation *op);

/// Whether no element of the anchor's operand is read for two of its results,
/// other than along the outputs of a contraction.
bool readsOnce(mlir::Operation *anchor);

/// Whether kernels that take `op` in would compute it again for each of several
/// indices at which they read it: chains of such ops double with each link.
bool isReadAtSeveralIndices(mlir::Operation *op);

/// A constant that each kernel gets for itself: one value.
bool isCloned(mlir::Value value);

} // namespace tinh::transforms

#endif // TINH_TRANSFORMS_FUSION_FUSIONROLES_H
