//===- NodeNames.h - Nodes of the model behind an op ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_SUPPORT_NODENAMES_H
#define TINH_SUPPORT_NODENAMES_H

#include "mlir/IR/Location.h"

namespace tinh {

/// The names of the model's nodes in `location`, each once, in their order.
llvm::SmallVector<llvm::StringRef> nodeNames(mlir::Location location);

} // namespace tinh

#endif // TINH_SUPPORT_NODENAMES_H
