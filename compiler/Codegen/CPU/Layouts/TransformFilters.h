//===- TransformFilters.h - Filters for Winograd's algorithms ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_LAYOUTS_TRANSFORMFILTERS_H
#define TINH_CODEGEN_CPU_LAYOUTS_TRANSFORMFILTERS_H

#include "compiler/Codegen/CPU/Target.h"
#include "compiler/Codegen/CPU/Winograd/Transforms.h"
#include "compiler/Codegen/Kernel/Strategy.h"

namespace tinh::cpu {

/// If the kernel is a convolution of filters in panels, and one of the allowed
/// transforms makes it cost less, lets a kernel of its own transform them. With
/// `remarks`, says why.
void transformFilters(DispatchedKernel dispatched, AllowedTransforms allowed,
                      const Target &target, bool remarks);

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_LAYOUTS_TRANSFORMFILTERS_H
