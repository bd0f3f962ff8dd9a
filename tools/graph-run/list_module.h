//===- list_module.h - What an artifact has ---------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_LIST_MODULE_H
#define TINH_TOOLS_LIST_MODULE_H

#include "tinh/runtime.h"

namespace tinh::tools {

/// Prints all functions of the module with their signatures and sizes, and its
/// variables.
void print_module(const tinh_module_t *module);
/// The same as JSON.
void print_module_json(const tinh_module_t *module);

} // namespace tinh::tools

#endif // TINH_TOOLS_LIST_MODULE_H
