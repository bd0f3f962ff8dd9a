//===- HottestLoop.h - Where a kernel's time probably goes ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of the machine code of a kernel, the loop in which most arithmetic is done:
// loops are backward jumps, what is in a deeper one is executed more often, and
// of the deepest ones that with the most vector arithmetic is taken. That is a
// guess by the code alone; no run is needed for it.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_REPORT_HOTTESTLOOP_H
#define TINH_REPORT_HOTTESTLOOP_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <map>
#include <string>

namespace tinh::report {

struct HottestLoop {
  std::string text; ///< An instruction a line, Intel's syntax.
  size_t depth = 0; ///< Loops around its instructions; 0: there is no loop.
  size_t instructions = 0, arithmetic = 0; ///< The latter: of vectors.
};

/// Those of the functions in `objects`, ELF files, by name; none of what is no
/// code for x86-64.
std::map<std::string, HottestLoop>
findHottestLoops(llvm::ArrayRef<llvm::StringRef> objects);

} // namespace tinh::report

#endif // TINH_REPORT_HOTTESTLOOP_H
