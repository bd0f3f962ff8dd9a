//===- ShownProblems.h - How many errors are said ------------- -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_SHOWNPROBLEMS_H
#define TINH_COMPILER_IMPORT_SHOWNPROBLEMS_H

#include <cstddef>
#include <string>

namespace tinh {

/// Importers say so many errors of a model, and count the others.
inline constexpr size_t kShownProblems = 20;

/// "there are 7 more errors", of those that are not shown.
inline std::string describeRest(size_t rest) {
  return rest == 1 ? "there is 1 more error"
                   : "there are " + std::to_string(rest) + " more errors";
}

} // namespace tinh

#endif // TINH_COMPILER_IMPORT_SHOWNPROBLEMS_H
