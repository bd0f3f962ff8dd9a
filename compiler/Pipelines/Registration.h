//===- Registration.h - All dialects and passes of the compiler -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_PIPELINES_REGISTRATION_H
#define TINH_PIPELINES_REGISTRATION_H

#include "mlir/IR/DialectRegistry.h"

namespace tinh {

/// Adds what any phase's IR may consist of, with the interfaces that the
/// compiler attaches to it.
void registerDialects(mlir::DialectRegistry &registry);

/// Makes the compiler's passes known to textual pipelines (graph-opt).
void registerPasses();

} // namespace tinh

#endif // TINH_PIPELINES_REGISTRATION_H
