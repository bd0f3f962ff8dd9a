//===- planted-fault.cpp - Models that are compiled wrong on purpose ------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   planted-fault NODE [OP] -- MODEL
//   planted-fault NODE [OP] --bisect MODEL [LOSS OPTIMIZER]
//
// The first ends with 0 if the model's compiled results diverge from the
// reference's where the kernel of a node adds 0.5, or what PLANTED_FAULT says,
// to each element of its value; with OP, such as arith.subf, only where that is
// part of the node's computation. The second bisects that, of a model or of its
// training step, and prints what was found.
//
//===----------------------------------------------------------------------===//
#include "compiler/Bisection/Bisection.h"
#include "compiler/Pipelines/Kernels/KernelCache.h"
#include "compiler/Pipelines/Registration.h"
#include "compiler/Support/ElementTypes.h"
#include "compiler/Training/Training.h"
#include "inputs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

#include <cstdlib>

using namespace mlir;
using namespace tinh;
using namespace tinh::bisection;

namespace {

/// Whether it computes each element of the node's value, and does not just
/// move them.
bool isOf(linalg::GenericOp op, StringRef node, StringRef inner) {
  Operation *yield = op.getBody()->getTerminator();
  return graph::nodeName(op.getLoc()) == node &&
         op.getNumParallelLoops() == op.getNumLoops() &&
         yield->getNumOperands() == 1 && yield != &op.getBody()->front() &&
         (isa<FloatType>(yield->getOperand(0).getType()) ||
          yield->getOperand(0).getType().isInteger(8)) &&
         (inner.empty() || llvm::any_of(*op.getBody(), [&](Operation &part) {
            return part.getName().getStringRef() == inner;
          }));
}

double addend() {
  const char *text = std::getenv("PLANTED_FAULT");
  return text ? std::strtod(text, nullptr) : 0.5;
}

/// Breaks the kernel of a node, in phase kernels.
LogicalResult plant(ModuleOp module, StringRef node, StringRef inner) {
  module.walk([&](linalg::GenericOp op) {
    if (!isOf(op, node, inner))
      return;
    Operation *yield = op.getBody()->getTerminator();
    ImplicitLocOpBuilder b(op.getLoc(), yield);
    Type type = yield->getOperand(0).getType();
    Value right = yield->getOperand(0), wrong;
    if (isa<FloatType>(type))
      wrong = arith::AddFOp::create(
          b, right,
          arith::ConstantOp::create(b, type, b.getFloatAttr(type, addend())));
    else
      wrong = arith::AddIOp::create(
          b, right,
          arith::ConstantOp::create(
              b, type, b.getIntegerAttr(type, static_cast<int64_t>(addend()))));
    yield->setOperand(0, wrong);
  });
  return success();
}

FailureOr<std::vector<char>> randomInput(StringRef name,
                                         RankedTensorType type) {
  std::string text = name.str();
  tinh_tensor_info_t info = {};
  info.name = text.c_str();
  info.dtype = dtypeOf(type.getElementType());
  info.rank = static_cast<uint32_t>(type.getRank());
  info.dims = type.getShape().data();
  info.size = static_cast<uint64_t>(graph::tensorSize(type));
  return tools::make_input(info, "random");
}

void print(const BisectReport &report) {
  llvm::outs() << "nodes " << report.nodes << "\n";
  if (!report.culprit)
    return;
  const Culprit &culprit = *report.culprit;
  llvm::outs() << "node " << culprit.value.name << "\nop " << culprit.value.op
               << "\nposition " << culprit.position << "\nkernels "
               << llvm::join(culprit.kernels, " ") << "\nabsolute "
               << culprit.alone.difference.absolute << "\neager "
               << (culprit.other && !culprit.other->mismatches() ? "right"
                                                                 : "wrong")
               << "\n";
  for (const ValueReport &read : culprit.feeding)
    llvm::outs() << "reads " << read.name
                 << (read.mismatches() ? " wrong\n" : " right\n");
  if (report.reproducer.module)
    llvm::outs() << "ops " << report.reproducer.report.ops << "\n";
}

/// What the command line says.
struct Job {
  std::string node, inner, model;
  bool bisects = false;
  training::TrainingOptions training;
};

Job parse(int argc, char **argv) {
  Job job;
  int at = 1;
  job.node = argv[at++];
  if (std::string(argv[at]).rfind("--", 0) != 0)
    job.inner = argv[at++];
  job.bisects = std::string(argv[at++]) == "--bisect";
  job.model = argv[at++];
  if (at + 1 < argc)
    job.training = {.loss = argv[at], .optimizer = argv[at + 1]};
  return job;
}

/// 0 if the model mismatches, with the fault.
int check(ModuleOp module, const CompileOptions &options) {
  OwningOpRef<ModuleOp> copy = module.clone();
  auto main = module.lookupSymbol<func::FuncOp>(graph::names::kMain);
  Data data;
  for (auto [i, type] : llvm::enumerate(main.getArgumentTypes())) {
    auto tensor = cast<RankedTensorType>(type);
    std::string name = inputName(main, i);
    data[name] = {tensor, *randomInput(name, tensor)};
  }
  MappedFiles files(options.phases.modelDirectory);
  auto expected = evaluate(main, data, files);
  auto found =
      runCompiled(*copy, Phase::Graph, graph::names::kMain, data, {options, 1});
  if (failed(expected) || failed(found))
    return 2;
  for (auto [x, y] : llvm::zip_equal(found->results, *expected))
    if (largestDifference(x, y).relative > 1e-3)
      return 0;
  return 1;
}

int bisectModule(ModuleOp module, const Job &job,
                 const CompileOptions &options) {
  bool trains = options.phases.training.has_value();
  CompileReport unused;
  if (trains && failed(runPhases(module, Phase::Graph, Phase::Differentiated,
                                 options.phases, unused)))
    return 2;
  Subject subject{module, trains ? Phase::Differentiated : Phase::Graph,
                  trains ? "train_step" : "main"};
  BisectReport report;
  if (failed(
          bisect(subject, {options, 1, std::nullopt, randomInput, {}}, report)))
    return 2;
  print(report);
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 4)
    return 2;
  Job job = parse(argc, argv);
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  CompileOptions options;
  KernelCache cache(KernelCache::defaultDirectory());
  options.cache = &cache;
  options.phases.modelDirectory = llvm::sys::path::parent_path(job.model).str();
  options.phases.choosePlans = [&](ModuleOp module) {
    return plant(module, job.node, job.inner);
  };
  ImportOptions importing;
  TrainingInfo info;
  if (!job.training.loss.empty()) {
    importing.training = &info;
    options.phases.training = training::trainingSteps(job.training, info);
  }
  auto module = readModel(job.model, importing, Phase::Graph, context);
  if (!module || failed(annotateModule(*module, Phase::Graph, options)))
    return 2;
  return job.bisects ? bisectModule(*module, job, options)
                     : check(*module, options);
}
