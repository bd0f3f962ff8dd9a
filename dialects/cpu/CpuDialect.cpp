//===- CpuDialect.cpp - Registration, and checks of plans -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/cpu/Cpu.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tinh::cpu;

#include "dialects/cpu/CpuDialect.cpp.inc"
#include "dialects/cpu/CpuEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/cpu/CpuAttrs.cpp.inc"

using EmitError = function_ref<InFlightDiagnostic()>;

/// Whether a list of a plan has as many numbers as `what` says.
static LogicalResult checkList(EmitError emitError, StringRef name,
                               DenseI64ArrayAttr list, int64_t size,
                               StringRef what) {
  if (list.size() == size)
    return success();
  return emitError() << name << " has " << list.size() << " numbers; expected ["
                     << what << "]";
}

LogicalResult ContractionPlanAttr::verify(EmitError emitError,
                                          DenseI64ArrayAttr tile,
                                          DenseI64ArrayAttr block, int64_t,
                                          LeftAccess, RightAccess) {
  if (failed(checkList(emitError, "tile", tile, 2, "rows, columns")))
    return failure();
  return checkList(emitError, "block", block, 3, "lines, tiles, panels");
}

LogicalResult OuterProductsPlanAttr::verify(EmitError emitError, LanesOf,
                                            DenseI64ArrayAttr tile, int64_t,
                                            DenseI64ArrayAttr block, int64_t,
                                            int64_t) {
  if (failed(checkList(emitError, "tile", tile, 2, "rows, columns")))
    return failure();
  return checkList(emitError, "block", block, 2, "rows, lanes");
}

LogicalResult DepthwiseGradientPlanAttr::verify(EmitError emitError,
                                                DenseI64ArrayAttr tile, int64_t,
                                                int64_t) {
  return checkList(emitError, "tile", tile, 2, "taps, channels");
}

LogicalResult RowsPlanAttr::verify(EmitError emitError, int64_t, int64_t,
                                   int64_t, int64_t, int64_t, int64_t,
                                   ArrayAttr products) {
  if (!products || llvm::all_of(products, llvm::IsaPred<ContractionPlanAttr>))
    return success();
  return emitError() << "products = " << products
                     << "; expected [#cpu.contraction<…>, …]";
}

void CpuDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/cpu/CpuAttrs.cpp.inc"
      >();
}
