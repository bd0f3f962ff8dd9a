//===- main.cpp - gpu-check: what benchmarks/gpu.sh computes --------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A bundle is run where there may be nothing but a shell and a GPU: weights,
// comparisons and the file of results are made here.
//
//===----------------------------------------------------------------------===//
#include "command_line.h"
#include "inputs.h"
#include "report.h"
#include "tensors.h"

#include <cstdio>
#include <fstream>

using namespace tinh;
using namespace tinh::tools;

namespace {

struct Options {
  std::string header, file, got, expected, bundle, results;
  uint64_t seed = 1;
};

void define(CLI::App &app, Options &options) {
  app.require_subcommand(1);
  CLI::App *weights = app.add_subcommand(
      "weights", "write random tensors as a .safetensors file");
  weights->add_option("HEADER", options.header)->required();
  weights->add_option("FILE", options.file)->required();
  weights->add_option("--seed", options.seed)->capture_default_str();
  CLI::App *compare =
      app.add_subcommand("compare", "compare the outputs in two folders");
  compare->add_option("GOT", options.got)->required();
  compare->add_option("EXPECTED", options.expected)->required();
  CLI::App *report = app.add_subcommand(
      "report", "collect what the models of a bundle have given; the exit "
                "code is 1 if something was wrong");
  report->add_option("BUNDLE", options.bundle)->required();
  report->add_option("RESULTS", options.results)->required();
  report->add_option("FILE", options.file)->required();
}

std::string text(const benchmarks::Json &json) {
  return json.dump(2, ' ', false, benchmarks::Json::error_handler_t::replace) +
         "\n";
}

ExitCode run(const CLI::App &app, const Options &options) {
  if (app.got_subcommand("weights")) {
    benchmarks::write_random_tensors(options.header, options.seed,
                                     options.file);
    return exit_success;
  }
  if (app.got_subcommand("compare")) {
    auto result = benchmarks::compare_folders(options.got, options.expected);
    std::fputs(text(result).c_str(), stdout);
    return exit_success;
  }
  auto all = benchmarks::collect_results(options.bundle, options.results);
  std::ofstream file(options.file);
  file << text(all);
  if (!file.flush())
    throw UserError("cannot write '" + options.file + "'");
  return all["ok"] ? exit_success : exit_wrong_input;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  CLI::App app("Weights, comparisons and results of a run on a GPU.",
               "gpu-check");
  define(app, options);
  if (auto done = parse(app, argc, argv))
    return *done;
  try {
    return run(app, options);
  } catch (const UserError &error) {
    std::fprintf(stderr, "gpu-check: error: %s\n", error.what());
    return exit_wrong_input;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "gpu-check: internal error: %s\n", error.what());
    return exit_internal;
  }
}
