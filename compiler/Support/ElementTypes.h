//===- ElementTypes.h - Element types of IR and of the runtime --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_SUPPORT_ELEMENTTYPES_H
#define TINH_SUPPORT_ELEMENTTYPES_H

#include "tinh/types.h"

#include "mlir/IR/Types.h"

namespace tinh {

tinh_dtype_t dtypeOf(mlir::Type element);
mlir::Type elementType(mlir::MLIRContext *context, tinh_dtype_t dtype);

} // namespace tinh

#endif // TINH_SUPPORT_ELEMENTTYPES_H
