//===- compile_page.h - Compiling, with a page about it ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For programs that know the public headers alone, as the Python package does.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_COMPILE_PAGE_H
#define TINH_TOOLS_COMPILE_PAGE_H

#include "tinh/compiler.h"

#include <string>

namespace tinh::tools {

/// compileModel, which leaves in `data` what a page draws of it
/// (docs/report.md), as JSON.
CompileResult compile_with_page(const CompileRequest &request,
                                std::string *data);

} // namespace tinh::tools

#endif // TINH_TOOLS_COMPILE_PAGE_H
