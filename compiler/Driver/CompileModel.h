//===- CompileModel.h - compileModel, watched -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_DRIVER_COMPILEMODEL_H
#define TINH_DRIVER_COMPILEMODEL_H

#include "compiler/Pipelines/Compile.h"

namespace tinh {

/// What compileModel does, for who wants to see what is made on the way.
/// `arrange` may change the options that the request stands for. `whenDone` is
/// told how that ended, while there is still the context.
CompileResult
compileModel(const CompileRequest &request,
             llvm::function_ref<void(CompileOptions &)> arrange,
             llvm::function_ref<void(const CompileResult &)> whenDone);

} // namespace tinh

#endif // TINH_DRIVER_COMPILEMODEL_H
