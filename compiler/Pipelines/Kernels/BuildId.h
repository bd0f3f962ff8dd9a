//===- BuildId.h - Which compiler this is -----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_PIPELINES_KERNELS_BUILDID_H
#define TINH_PIPELINES_KERNELS_BUILDID_H

#include "llvm/Support/Error.h"

#include <string>

namespace tinh {

/// Bytes that differ between two builds of the compiler, or of the MLIR and
/// LLVM that it runs on, if their code differs: the linker's build ids of these
/// libraries, as they are loaded. Fails if one was linked without.
llvm::Expected<std::string> compilerBuildId();

} // namespace tinh

#endif // TINH_PIPELINES_KERNELS_BUILDID_H
