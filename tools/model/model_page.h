//===- model_page.h - A compilation, as a page's data -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_MODEL_PAGE_H
#define TINH_TOOLS_MODEL_PAGE_H

#include "compiler/Report/Recorder.h"

#include <nlohmann/json.hpp>

namespace tinh::tools {

/// What a page (tools/page) draws of a compilation: the graph before and after
/// fusion, kernels with their code, the arena, and where the time went.
nlohmann::ordered_json compilation_data(const report::Recorder &recorder,
                                        const CompileReport &report);

} // namespace tinh::tools

#endif // TINH_TOOLS_MODEL_PAGE_H
