//===- Plan.h - The plan dialect --------------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Schedules of kernels over planned memory; the ops' definitions are in
// PlanOps.td.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_DIALECTS_PLAN_PLAN_H
#define TINH_DIALECTS_PLAN_PLAN_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"

#include "dialects/plan/PlanDialect.h.inc"
#include "dialects/plan/PlanEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/plan/PlanAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/plan/PlanTypes.h.inc"

#define GET_OP_CLASSES
#include "dialects/plan/PlanOps.h.inc"

namespace tinh::plan {

/// What a step does to memory.
struct StepAccess {
  llvm::SmallVector<BufferAttr> reads, writes;
  /// The step that it waits for, or null.
  mlir::Operation *after = nullptr;
};
StepAccess accessOf(mlir::Operation *step);

/// Whether all bytes of `buffer` are bytes of one of `buffers`.
bool covers(llvm::ArrayRef<BufferAttr> buffers, BufferAttr buffer);

/// All bytes that `buffer` finds in the iterations of the loops from depth
/// `depth` on, of which those around it have `lengths`; without strides by
/// these. With rows or gaps, also bytes between them. Nothing if an offset is
/// beyond 63 bits.
std::optional<BufferAttr> allIterations(BufferAttr buffer,
                                        llvm::ArrayRef<int64_t> lengths,
                                        unsigned depth);

/// All bytes that `buffer`, which moves, has in so many iterations of the
/// innermost loop that it moves with, by the strides of those around. Null if
/// they are no rows of one pitch.
BufferAttr repeated(BufferAttr buffer, int64_t length);

/// "arena[0 to 64]", for messages.
std::string toString(BufferAttr buffer);

} // namespace tinh::plan

#endif // TINH_DIALECTS_PLAN_PLAN_H
