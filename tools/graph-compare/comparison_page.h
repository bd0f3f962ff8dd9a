//===- comparison_page.h - A comparison as a page ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_GRAPH_COMPARE_COMPARISON_PAGE_H
#define TINH_GRAPH_COMPARE_COMPARISON_PAGE_H

#include "comparison.h"
#include "compiler/Report/Recorder.h"
#include "tinh/runtime.h"

namespace tinh::tools {

/// What was compiled, and where it was run.
struct ComparedArtifact {
  std::string path;
  std::vector<tinh_buffer_t> inputs, outputs;
};

/// Writes the page that shows both ways, what was compiled, and where the time
/// of some more runs of it goes. False, and why, if that cannot be done.
bool writePage(const std::string &path, const Comparison &comparison,
               report::Recorder &recorder, const ComparedArtifact &artifact,
               std::string *message);

} // namespace tinh::tools

#endif // TINH_GRAPH_COMPARE_COMPARISON_PAGE_H
