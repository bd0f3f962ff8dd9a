//===- Composites.h - Operations that take several graph ops ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What has no graph op of its own, for whoever builds graphs. A failure is left
// in the builder.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_COMPOSITES_H
#define TINH_COMPILER_IMPORT_COMPOSITES_H

#include "compiler/Import/GraphOps.h"

namespace tinh {

/// The indices (i64) of the `count` largest or smallest elements along `axis`,
/// in order; of equal ones the first comes first, and NaN counts as the largest
/// or smallest. As ONNX TopK.
mlir::Value topK(GraphOps &b, mlir::Value x, int64_t axis, int64_t count,
                 bool largest);

} // namespace tinh

#endif // TINH_COMPILER_IMPORT_COMPOSITES_H
