//===- random-graphs.cpp - Random graphs, run in every way ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   random-graphs [--first SEED] [--count N] [--cpu CPU] [--print]
//
// Makes a module of random graphs from each seed and compares what compiled
// code, eager execution and the reference interpreter make of it. Exits with 1
// if any differ, after printing each graph that does.
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/Registration.h"
#include "tests/end-to-end/random-graphs/Check.h"
#include "tests/end-to-end/random-graphs/Generator.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

#include <CLI/CLI.hpp>

using namespace mlir;
using namespace tinh::test;

namespace {

constexpr unsigned kGraphs = 8; // Of a module.

struct Arguments {
  uint64_t first = 0, count = 10;
  Machine machine;
  bool print = false;
};

void report(uint64_t seed, ModuleOp module, const Problem &problem) {
  llvm::outs() << "seed " << seed << ": " << problem.what << "\n"
               << module << "\n";
}

/// How many outputs of the module are wrong.
unsigned checkSeed(uint64_t seed, const Arguments &arguments) {
  DialectRegistry registry;
  tinh::registerDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module = Generator(seed, context).make(kGraphs);
  if (arguments.print) {
    llvm::outs() << *module << "\n";
    return 0;
  }
  if (failed(verify(*module)))
    return 1;
  std::vector<Problem> problems = check(*module, seed, arguments.machine);
  bool isWhole = !problems.empty() && !problems[0].output;
  for (const Problem &problem : problems)
    if (problem.output)
      report(seed, *keepOutput(*module, *problem.output), problem);
  // What cannot be compiled is looked for in each output.
  auto function = module->lookupSymbol<func::FuncOp>(tinh::graph::names::kMain);
  for (unsigned i = 0; isWhole && i < function.getNumResults(); ++i) {
    OwningOpRef<ModuleOp> part = keepOutput(*module, i);
    for (const Problem &problem : check(*part, seed, arguments.machine))
      report(seed, *part, problem);
  }
  if (isWhole)
    llvm::outs() << "seed " << seed << ": " << problems[0].what << "\n";
  return problems.size();
}

} // namespace

int main(int argc, char **argv) {
  Arguments arguments;
  CLI::App app("Compares compiled code, eager execution and the reference on "
               "random graphs.");
  app.add_option("--first", arguments.first, "the first seed");
  app.add_option("--count", arguments.count, "how many seeds, a module each");
  app.add_option("--cpu", arguments.machine.cpu, "the CPU to compile for");
  app.add_flag("--gpu", arguments.machine.hasGpu,
               "run the kernels on an emulated GPU, by way of the driver that "
               "TINH_CUDA_DRIVER names");
  app.add_flag("--split", arguments.machine.splits,
               "with --gpu: leave the kernels of random ops to the CPU");
  app.add_flag("--print", arguments.print, "print the modules only");
  CLI11_PARSE(app, argc, argv);
  unsigned wrong = 0;
  for (uint64_t i = 0; i < arguments.count; ++i) {
    // Known even if the compiler crashes.
    llvm::outs() << "seed " << arguments.first + i << "\n";
    llvm::outs().flush();
    wrong += checkSeed(arguments.first + i, arguments);
  }
  llvm::outs() << arguments.count * kGraphs << " graphs, " << wrong
               << " wrong\n";
  return wrong != 0;
}
