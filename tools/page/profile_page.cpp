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
#include "run_data.h"

namespace tinh::tools {

/// The model's name, and how many steps its functions have.
static Json outline_of(const Json &page) {
  Json outline = {{"model", page.at("model")}};
  for (const Json &function : page.at("functions"))
    outline[function.at("name").get<std::string>()] =
        function.at("steps").size();
  return outline;
}

/// What the page of --report says, if it is about what was run.
static Json read_report(const std::string &path, const Json &artifact) {
  Json report;
  std::string message;
  if (!read_page(path, &report, &message))
    throw UserError("--report: " + message);
  try {
    if (outline_of(report) == outline_of(artifact))
      return report;
  } catch (const Json::exception &) { // It was written by another hand.
  }
  throw UserError(
      "--report: '" + path +
      "' is about another artifact, or another compilation of its "
      "model; write it by graph-compile --report=FILE.html together "
      "with the artifact");
}

void write_profile_page(const ProfilePage &page, const Module &module,
                        const Context &context, uint32_t function,
                        const FunctionProfile &profile) {
  Json data = artifact_data(module, context.info().uses_cuda);
  if (!page.report.empty())
    data = read_report(page.report, data);
  add_profile(data, function, profile, context);
  std::string message;
  if (!write_page(page.path, data, &message))
    throw UserError("--profile: " + message);
}

} // namespace tinh::tools
