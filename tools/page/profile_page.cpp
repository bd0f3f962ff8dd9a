//===- profile_page.cpp - A profile as a page -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//
#include "profile_page.h"

#include "inputs.h"
#include "page.h"

namespace tinh::tools {

ProfilePage::ProfilePage(const std::string &report, const Module &module,
                         const Context &context)
    : data(artifact_data(module, context.info().uses_cuda)) {
  if (report.empty())
    return;
  Json compiled;
  std::string message;
  if (!read_page(report, &compiled, &message))
    throw UserError("--report: " + message);
  if (!is_about(compiled, data))
    throw UserError("--report: '" + report +
                    "' is not about what runs here, but about another "
                    "artifact, another compilation of its model, or its "
                    "kernels for a GPU where there is none; write it by "
                    "graph-compile --report=FILE.html together with the "
                    "artifact");
  data = std::move(compiled);
}

void ProfilePage::write(const std::string &path, const Context &context,
                        uint32_t function, const FunctionProfile &profile) {
  add_profile(data, function, profile, context);
  std::string message;
  if (!write_page(path, data, &message))
    throw UserError("--profile: " + message);
}

} // namespace tinh::tools
